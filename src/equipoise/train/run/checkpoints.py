"""Checkpoints that survive a kill at any moment.

    OUT/run.json                the run's identity (see run_folder.py): another run's folder is refused
    OUT/watched.json            what the steps are evaluated on
    OUT/checkpoints/step-N/     a standard transformers folder plus training_state.pt
    OUT/latest, OUT/best        the name of a checkpoint folder, changed only when that folder is complete
    OUT/model/                  the finished model

A folder is written under a temporary name, flushed to disk and renamed; then the pointer is changed, and only then are
older folders removed. A checkpoint that cannot be read is skipped for the one before it.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError

import equipoise
from equipoise.core import run_folder
from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write, read_text
from equipoise.core.provenance import code_revision
from equipoise.models.scorers.itm import MatchingModel
from equipoise.train.data.batches import Trainable
from equipoise.train.run.log import in_words, read_log

STATE = "training_state.pt"
CLAIM = "run.json"
WATCHED = "watched.json"
_DAMAGE = (OSError, EOFError, RuntimeError, ValueError, KeyError, pickle.UnpicklingError, SafetensorError)
_Loaded = TypeVar("_Loaded")


class Checkpoints:
    """The folders of one run; the `keep` latest and the best are kept."""

    def __init__(self, out: Path, keep: int = 2) -> None:
        self.out, self.keep = out, max(1, keep)
        self.folder, self.model = out / "checkpoints", out / "model"
        self.damaged: set[Path] = set()

    def claim(self, identity: dict[str, object]) -> None:
        run_folder.take(self.out, "train", identity, claim=CLAIM)

    def refuse_early(self, known: dict[str, object]) -> None:
        """Raise what `claim` would raise, before the model is loaded and the photos are hashed."""
        known.pop("warmup_steps", None)  # depends on the number of steps, and so on the photos
        run_folder.refuse_early(self.out, "train", known, claim=CLAIM)

    def watch(self, identity: Mapping[str, object]) -> None:
        """Fix the test set of `best`, so that log and `best` never mix two."""
        run_folder.take(self.out, "train --watch", identity, writes=(), claim=WATCHED)

    def save(self, step: int, write_model: Callable[[Path], None], state: dict[str, object], best: bool) -> Path:
        target = self.folder / f"step-{step:08d}"
        if not target.exists() or target in self.damaged:
            with whole_folder(target) as part:
                write_model(part)
                try:
                    torch.save(state, part / STATE)
                except RuntimeError as error:  # torch does not pass on the reason
                    raise OSError("torch could not write all of it; most likely the disk is full") from error
            self.damaged.discard(target)
        for pointer in ("latest", "best") if best else ("latest",):
            with atomic_write(self.out / pointer) as handle:
                handle.write(target.name + "\n")
        done = [path for path in self._steps() if path not in self.damaged]
        kept = {*done[-self.keep :], self.pointed("latest"), self.pointed("best"), *self.damaged}
        for path in set(self.folder.iterdir()) - kept:  # old checkpoints and half-written folders
            _remove(path)
        return target

    def _steps(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.name.startswith("step-"))

    def load_latest(self, load: Callable[[Path], _Loaded], show: bool = True) -> tuple[Path, _Loaded] | None:
        """The newest checkpoint that `load` can read, and its result; None if there is none."""
        latest = self.pointed("latest")
        if latest is None:
            return None
        for folder in [path for path in reversed(self._steps()) if path <= latest]:
            try:
                return folder, load(folder)
            except PermissionError:
                raise
            except _DAMAGE as error:
                self.damaged.add(folder)
                if show:
                    why = " ".join(str(error).split())[:100]
                    print(f"{folder}: cannot be read ({why}); using the one before it", file=sys.stderr)
        if show:
            print("no checkpoint can be read; the run starts over", file=sys.stderr)
        return None

    def pointed(self, pointer: str) -> Path | None:
        path = self.out / pointer
        folder = self.folder / read_text(path).strip() if path.exists() else None
        return folder if folder is not None and folder.is_dir() else None

    def best(self, metric: str) -> Path | str | None:
        """The best checkpoint, or a message that no step beat the base; None if nothing was evaluated."""
        values = [record["metrics"][metric] for record in read_log(self.out) if "metrics" in record]
        beaten = len(values) < 2 or max(values[1:]) > values[0]
        return self.pointed("best") if beaten else "no step beat the base"

    def state(self, folder: Path) -> dict[str, Any]:
        state: dict[str, object] = torch.load(folder / STATE, map_location="cpu", weights_only=True)
        return state


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A new folder to write into; it replaces `target` once everything is on disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}.*"):  # of a killed run; this one has the lock
        shutil.rmtree(left, ignore_errors=True)
    part = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield part
        part.chmod(0o755)
        for path in (*part.rglob("*"), part):
            _flush(path)
        if target.exists():
            _remove(target)
        os.replace(part, target)
        _flush(target.parent)
    except (OSError, SafetensorError, RuntimeError) as error:
        full = "No space left" in str(error) or (isinstance(error, OSError) and error.errno == errno.ENOSPC)
        if full or isinstance(error, OSError):
            why = "the disk is full" if full else error
            raise UserError(f"{target}: could not be written ({why}); earlier checkpoints are complete") from error
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Rename first, so that a kill cannot leave half a checkpoint under its name."""
    gone = folder if folder.name.startswith(".") else folder.with_name(f".{folder.name}.gone")
    if gone != folder:
        shutil.rmtree(gone, ignore_errors=True)
        os.replace(folder, gone)
    shutil.rmtree(gone, ignore_errors=True)


def _flush(path: Path) -> None:
    if os.name == "nt":  # Windows flushes neither folders nor files that are open for reading
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def saved_spec(model: Trainable, folder: object) -> str:
    return f"{'itm' if isinstance(model, MatchingModel) else 'hf'}:{folder}"


_revision = functools.cache(code_revision)  # calling git takes time


def model_card(
    identity: Mapping[str, Any],
    base: str,
    spec: str,
    citation: str,
    step: int,
    steps: int,
    metrics: Mapping[str, float],
    skipped: int = 0,
) -> str:
    """README.md of a model folder, with front matter for the hub."""
    code = _revision()
    revision = "" if code is None else f" at {code.revision}{' (with local changes)' if code.dirty else ''}"
    scores = ["| measured during training | |", "| --- | --- |"]
    scores += [f"| {name} | {in_words(name, value)} |" for name, value in metrics.items()]
    measured = "\n".join(scores) if metrics else "Not evaluated during training."
    left_out = f"{skipped:,} of them were skipped: their image could not be read" if skipped else "none was skipped"
    network = identity["model"]["architecture"]["class"]
    library = "X-VLM's own code" if network == "XVLM" else f"`transformers.{network}.from_pretrained`"
    dual = "pipeline_tag: zero-shot-image-classification\ntags: [clip, equipoise]"
    return f"""---
library_name: transformers
{dual if spec.startswith("hf:") else "tags: [equipoise]"}
---

# {base} finetuned by `{identity["recipe"]}`

Recipe: `{identity["recipe"]}` ({citation}), step {step} of {steps}.
Data: {identity["items"]["count"]} items, sha256 `{identity["items"]["sha256"]}`; {left_out}.
Images: {identity["images"]["count"]}, sha256 `{identity["images"]["sha256"]}`.
Base: `{base}`, weights sha256 `{identity["model"]["weight_sha256"]}`.
Code: equipoise {equipoise.__version__}{revision}.

{measured}

Load it with `equipoise eval {spec} --bench ...` or {library}.

## Everything the run was started with

```json
{json.dumps(identity, indent=2, ensure_ascii=False)}
```
"""


@torch.no_grad()
def interpolate(base: torch.nn.Module, tuned: torch.nn.Module, alpha: float) -> None:
    """WiSE-FT (Wortsman et al. 2022): set the weights of `tuned` to (1 - alpha) base + alpha tuned."""
    if not 0 <= alpha <= 1:
        raise UserError(f"WiSE-FT's weight of the finetuned model must lie between 0 and 1, found {alpha}")
    old = base.state_dict()
    new = tuned.state_dict()
    if odd := sorted((old.keys() ^ new.keys()) - {"logit_scale"}):  # training may have added it
        raise UserError(f"base and finetuned model have different architectures ({len(odd)} weights, first {odd[0]})")
    for name, weight in new.items():
        if weight.is_floating_point() and name in old:
            weight.lerp_(old[name].to(weight), 1 - alpha) if alpha != 1 else None
