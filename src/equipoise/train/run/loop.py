"""The training loop: `train(recipe, items, model, out, images=...)` returns the folder of the finished model.

A run depends only on recipe, items, model and seed. It can be killed at any step and resumed with the same call. On the
same machine it then ends with exactly the same weights, because batches, draws and learning rate depend only on the
step number, and the rest (weights, optimizer, state of the loss) is in the checkpoint.
"""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from equipoise.core import run_folder
from equipoise.core.errors import Stopped, UserError
from equipoise.core.files import atomic_write
from equipoise.core.progress import is_quiet
from equipoise.data.identity import trained_keys, write_trained
from equipoise.data.images import ImageSource, open_source
from equipoise.data.items import Item
from equipoise.embedding.cache import EmbeddingCache
from equipoise.models.clip import ClipModel, pick_device
from equipoise.models.scorers.itm import MatchingModel
from equipoise.train.data.batches import Batch, Part, TextChunks, Trainable, TrainingData
from equipoise.train.recipe import Recipe
from equipoise.train.run.check import MAX_SKIPPED, check_items, read_photos, refuse_skipped, run_identity
from equipoise.train.run.checkpoints import Checkpoints, interpolate, model_card, saved_spec, whole_folder
from equipoise.train.run.interrupt import Interrupt, worker_signals
from equipoise.train.run.log import RunLog, check_loggers, open_loggers, write_summary
from equipoise.train.run.watch import Watch, left_out, read_skipped
from equipoise.train.step import distributed
from equipoise.train.step.backward import adamw, backward, clamp_scale, learning_rate, warmup_used
from equipoise.train.step.lora import add_lora, freeze, merged, trained_weights
from equipoise.train.step.matching import MatchingTowers, add_scale
from equipoise.train.step.towers import Teacher, Towers

if TYPE_CHECKING:
    from equipoise.evaluation.record import Number

# Options of a run that do not change its training.


@dataclass(frozen=True)
class Hardware:
    """Changes only rounding."""

    device: str = "auto"
    workers: int | None = None  # processes that decode images; None: chosen
    chunk: int | None = None  # samples a tower sees at once (GradCache): less memory, the same gradients
    compiled: bool | None = None  # None: on a GPU


@dataclass(frozen=True)
class Saving:
    every: int | None = None  # steps between checkpoints; None: an epoch, at most 1,000
    keep: int = 2  # the latest; the best stays too
    exit_within: float | None = None  # seconds from Ctrl-C or SIGTERM to the end; None: the step is finished first
    cache: EmbeddingCache | None = None  # for the output of a frozen vision tower, also of later runs
    log: Sequence[str] = ()  # where the log is mirrored to: "tensorboard", "wandb"

    def __post_init__(self) -> None:
        check_loggers(self.log)


@dataclass(frozen=True)
class Evaluation:
    judge: Callable[[Trainable], Mapping[str, float | Number]]  # the current model -> named numbers
    every: int | None = None  # steps; None: an epoch. Always at the end
    best: str | None = None  # the metric that chooses the best checkpoint
    identity: Mapping[str, object] | None = None  # the numbers depend on it: resuming with another one is refused


def train(
    recipe: Recipe,
    items: Sequence[Item] | Sequence[Part],
    model: Trainable,
    out: str | Path,
    *,
    images: str | Path | ImageSource | None = None,
    evaluation: Evaluation | None = None,
    saving: Saving = Saving(),
    hardware: Hardware = Hardware(),
    max_skipped: float = MAX_SKIPPED,
    show: bool = True,
) -> Path:
    """Finetune a copy of `model` and return the folder of the result, OUT/model.

    The same call resumes a stopped run, and returns at once if the run is finished.

    images        folder, tar or Parquet shards of the items' images (`Part`s have their own)
    evaluation    what is measured during the run, and the metric of the best checkpoint
    saving        how often checkpoints are written, and how many are kept
    hardware      device, workers, chunk (GradCache), compiled
    max_skipped   largest share of items whose image is unreadable
    show          print the progress bar and notes

    Steps, batch size, seed and crops are settings of the recipe: `get_recipe(name, max_steps=100)`.
    """
    where = distributed.local_device(torch.device(pick_device(hardware.device)))
    parts = _parts(items, images)
    notes = check_items(recipe, parts, model)
    if show and os.environ.get("RANK", "0") == "0":
        notes = [line for line in notes if line.startswith("warning") or not is_quiet()]
        print(*notes, sep="\n", end="\n" if notes else "", file=sys.stderr)
    with (
        Interrupt(saving.exit_within) as interrupt,
        distributed.started(where),
        run_folder.locked(out) if distributed.rank() == 0 else nullcontext(),
        _determinism(),
    ):
        run = _Run(recipe, parts, model, Path(out), where, hardware, saving, show)
        return run.go(evaluation, max_skipped, interrupt)


def _parts(items: Sequence[Item] | Sequence[Part], images: str | Path | ImageSource | None) -> list[Part]:
    if not items:
        raise UserError("no items to train on")
    if isinstance(items[0], Part):
        return [part for part in items if isinstance(part, Part)]
    if images is None:
        raise UserError("expected the folder or the shards of the items' images (--images)")
    return [Part([item for item in items if isinstance(item, Item)], open_source(images))]


@contextmanager
def _determinism() -> Iterator[None]:
    """Deterministic algorithms where the device has them, without a warning at every step where it has not."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*(non-)?deterministic", category=UserWarning)
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.utils.deterministic.fill_uninitialized_memory = filled  # type: ignore[attr-defined]


class _Run:
    def __init__(
        self,
        recipe: Recipe,
        parts: list[Part],
        model: Trainable,
        out: Path,
        device: torch.device,
        hardware: Hardware,
        saving: Saving,
        show: bool,
    ) -> None:
        self.base, self.device, self.saving = model, device, saving
        self.main = distributed.rank() == 0
        self.show = show and self.main
        self.data = TrainingData(
            parts,
            recipe,
            model.preprocess,
            TextChunks(model),
            chunk=hardware.chunk,
            rank=distributed.rank(),
            processes=distributed.processes(),
        )
        self.steps = len(self.data)
        self.warmup_asked = recipe.warmup_steps
        self.recipe = recipe = replace(recipe, warmup_steps=warmup_used(recipe, self.steps))
        self.parts = parts
        self.identity: dict[str, Any] = {}  # of the first process, once the photos are hashed
        self.checkpoints = Checkpoints(out, saving.keep)
        self.trained = trained_keys(model, self.data.items)
        self.network = copy.deepcopy(model.network).to(device, torch.float32)
        if recipe.needs.matching:
            add_scale(self.network)
        self.model = model.holding(self.network)
        if recipe.lora is not None:
            add_lora(self.network, recipe.lora, recipe.seed)
        if recipe.freeze is not None:
            freeze(self.network, recipe.freeze)
        self.loss = recipe.loss()
        self.optimizer = adamw(self.network, recipe)
        on_gpu = device.type == "cuda"
        compiled = on_gpu if hardware.compiled is None else hardware.compiled
        if isinstance(model, MatchingModel):
            self.towers: Towers = MatchingTowers(model, self.network)
        else:
            self.towers = Towers(
                self.network,
                model.preprocess,
                tokens=recipe.needs.tokens,
                compiled=compiled,
                graphed=compiled and on_gpu and hardware.chunk is None,
            )
        decay = recipe.needs.teacher
        self.teacher = None if decay is None else Teacher(self.network, model.preprocess, decay)
        free = hardware.workers is None and device.type == "cpu" and self.data.fits_in_memory()
        workers = min(8, os.cpu_count() or 1) if hardware.workers is None else hardware.workers
        self.workers = 0 if recipe.freeze is not None or free else workers
        self.data.keeps_images = self.workers == 0
        self.step = 0
        self.metrics: dict[str, float] = {}
        self.best: float | None = None

    def go(self, evaluation: Evaluation | None, max_skipped: float, interrupt: Interrupt) -> Path:
        if self.main:  # after all checks: a refused run must not claim the folder
            photos = read_photos(self.parts, show=self.show)
            refuse_skipped(photos.unread, len(self.data.items), max_skipped)
            self.identity = run_identity(self.recipe, self.parts, self.base, photos)
            if unknown := run_folder.differences(self.identity, self.identity):
                self._say(f"warning: {unknown[0]}; so this run can be neither resumed nor read again")
            self.checkpoints.claim(self.identity)
            if evaluation is not None and evaluation.identity is not None:
                self.checkpoints.watch(evaluation.identity)
        distributed.barrier()
        if self.checkpoints.model.is_dir():
            return self.checkpoints.model
        self._resume()
        if self.recipe.freeze is not None and isinstance(self.model, ClipModel):  # check_items refuses others
            self._say("the vision tower is frozen: it sees every photo once")
            self.data.pool(self.model, self.saving.cache, self.show)
        if self.recipe.warmup_steps < self.warmup_asked:
            self._say(
                f"warning: warm-up shortened from {self.warmup_asked:,} to {self.recipe.warmup_steps:,} steps, "
                f"because this run has only {self.steps:,}"
            )
        save_every = self.saving.every or min(self.data.first_steps[1], 1000)
        self.network.train()
        out = self.checkpoints.out
        mirrors = open_loggers(self.saving.log if self.main else (), out, self.step, self.identity)
        with RunLog(out, self.step, self.steps, self.show, self.main, mirrors) as log:
            every = 10 if self.device.type == "cuda" else 1
            watch = Watch(self.checkpoints, log, every, len(self.data.items), max_skipped)
            self._loop(evaluation, watch, interrupt, save_every)
        return self._finish(watch)

    def _loop(self, evaluation: Evaluation | None, watch: Watch, interrupt: Interrupt, save_every: int) -> None:
        epoch_steps = self.data.first_steps[1]
        with interrupt.steps(lambda: self._hurried(watch)):
            if evaluation is not None and self.step == 0:  # the base, for comparison
                self._evaluate(evaluation, watch.log)
                self.metrics = {}  # they are not those of the next checkpoint
                watch.log.pause()
            for batch in self._batches():
                try:
                    self._update(batch, watch, interrupt)
                except torch.OutOfMemoryError as error:
                    raise UserError(self._out_of_memory()) from error
                last = self.step == self.steps
                stop = interrupt.asked()
                due = evaluation is not None and (last or self.step % (evaluation.every or epoch_steps) == 0)
                judged = evaluation if due else None
                if judged or last or stop or self.step % save_every == 0:
                    watch.flush()
                    if judged:
                        self._evaluate(judged, watch.log)
                    with interrupt.whole:
                        self._save(judged.best if judged else None)
                    watch.log.pause()
                if stop and not last:
                    raise Stopped(interrupt.code, self._stopped("after"))

    def _stopped(self, when: str) -> str:
        step = self.step if when == "after" else self.step + 1
        kept = f"saved in {self.checkpoints.out}" if self.step else "nothing to save yet"
        return f"stopped {when} step {step} of {self.steps}; {kept}. The same command resumes."

    def _hurried(self, watch: Watch) -> str:
        """Save the last complete step from another thread, while the main thread is in the next."""
        watch.log.stop()
        if self.main and self.step:
            watch.flush()
            self._save_step(False)
        return self._stopped("within")

    def _batches(self) -> Iterator[Batch]:
        ahead = range(self.step, self.steps)
        if self.workers == 0:
            yield from (self.data[step].to(self.device) for step in ahead)
            return
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # workers are already processes
        loader = torch.utils.data.DataLoader(
            self.data,
            batch_size=None,
            sampler=ahead,
            num_workers=self.workers,
            prefetch_factor=4,
            worker_init_fn=worker_signals,
        )
        for batch in loader:
            # not pinned by the loader's thread, which would disturb the recording of CUDA graphs
            yield (batch.pin_memory() if self.device.type == "cuda" else batch).to(self.device)

    def _update(self, batch: Batch, watch: Watch, interrupt: Interrupt) -> None:
        rate = learning_rate(self.recipe, self.step, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        teacher = None if self.teacher is None else self.teacher.towers
        parts = backward(self.towers, self.loss, batch, self.recipe.seed * 1_000_003 + self.step, teacher)
        distributed.sum_gradients(self.network.parameters())
        if self.recipe.grad_clip is not None:
            norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.grad_clip)
        else:
            gradients = [parameter.grad for parameter in self.network.parameters() if parameter.grad is not None]
            norm = torch.nn.utils.get_total_norm(gradients)
        scale = self.network.logit_scale.detach().exp()
        with interrupt.whole:
            self.optimizer.step()
            clamp_scale(self.network, self.recipe.max_scale)
            self.loss.step()
            if self.teacher is not None:
                self.teacher.follow(self.network)
            self.step += 1
            watched = {"loss": parts.total, "scale": scale, "gradient_norm": norm}
            watched |= {f"parts/{name}": value for name, value in parts.parts.items()}
            watch.step(self.step, self.data.place(self.step - 1)[0], batch, watched, rate)

    def _evaluate(self, evaluation: Evaluation, log: RunLog) -> None:
        if self.main:
            self.network.eval()
            with torch.no_grad():
                judged = evaluation.judge(self.model.holding(self.network))
            self.network.train()
            self.metrics = log.evaluation(self.step, judged)
        distributed.barrier()

    def _out_of_memory(self) -> str:
        size, chunk = self.recipe.batch_size, self.data.chunk or self.recipe.batch_size
        tried = f"--chunk {chunk}" if self.data.chunk else f"a batch of {size}"
        last = self.checkpoints.pointed("latest")
        return (
            f"out of GPU memory at step {self.step + 1} with {tried}; try --chunk {max(1, chunk // 2)}, "
            "which needs about half the memory and gives the same gradients"
            + (f". Steps up to {last.name} are saved; the same command with --chunk resumes" if last else "")
        )

    def _resume(self) -> None:
        latest = self.checkpoints.load_latest(self._read, show=self.main)
        if latest is None:
            return
        folder, (weights, state) = latest
        self.network.load_state_dict(weights, strict=False)
        self.optimizer.load_state_dict(state["optimizer"])
        self.loss.load_state_dict(state["loss"])
        if self.teacher is not None:
            self.teacher.load_state_dict(state["teacher"])
        self.step, self.metrics, self.best = state["step"], state["metrics"], state["best"]
        self._say(f"resuming after step {self.step} of {self.steps} ({folder})")

    def _say(self, line: str) -> None:
        if self.show and (line.startswith("warning") or not is_quiet()):
            print(line, file=sys.stderr)

    def _read(self, folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        state = self.checkpoints.state(folder)
        if self.recipe.lora is not None:
            return state["adapters"], state
        from safetensors.torch import load_file

        named = getattr(self.network, "ours", dict)  # X-VLM's file has its authors' weight names
        return named(load_file(folder / "model.safetensors")), state

    def _save(self, best: str | None) -> None:
        is_best = False
        if best is not None and self.main:
            if best not in self.metrics:
                raise UserError(f"best={best!r} is not among the metrics of evaluate: {', '.join(self.metrics)}")
            is_best = self.best is None or self.metrics[best] > self.best
            self.best = self.metrics[best] if is_best else self.best
        if self.main:
            self._save_step(is_best)
        distributed.barrier()

    def _save_step(self, is_best: bool) -> None:
        state = {
            "step": self.step,
            "optimizer": self.optimizer.state_dict(),
            "loss": self.loss.state_dict(),
            "adapters": {} if self.recipe.lora is None else trained_weights(self.network),
            "teacher": {} if self.teacher is None else self.teacher.state_dict(),
            "metrics": self.metrics,
            "best": self.best,
        }
        self.checkpoints.save(self.step, lambda folder: self._write(self._plain(), folder), state, is_best)

    def _write(self, model: Trainable, folder: Path) -> None:
        model.save(folder)
        write_trained(folder, self.trained)
        with atomic_write(folder / "README.md") as handle:
            spec = saved_spec(model, "THIS_FOLDER")
            about = (self.identity, self.base.spec, spec, self.recipe.citation, self.step, self.steps, self.metrics)
            handle.write(model_card(*about, skipped=len(left_out(read_skipped(self.checkpoints.out)))))

    def _plain(self) -> Trainable:
        if self.recipe.lora is None:
            return self.model
        return self.model.holding(merged(self.network, self.base.network))

    def _finish(self, watch: Watch) -> Path:
        if self.main:
            model = self._plain()
            if self.recipe.wise_ft is not None:
                interpolate(self.base.network, model.network, self.recipe.wise_ft)
            write_summary(self.checkpoints.out)
            with whole_folder(self.checkpoints.model) as folder:
                self._write(model, folder)
            if watch.skipped:
                self._say(f"warning: {len(watch.skipped)} images could not be read; see {watch.skipped_path}")
        distributed.barrier()
        return self.checkpoints.model
