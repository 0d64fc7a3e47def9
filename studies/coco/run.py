"""Finetune bases on COCO's photos by every recipe of the papers and ours: choose on dev, then measure on test.

    python -m studies.coco.base DATA --wheel LITE2.whl --minilm FOLDER --out OUT
    python -m studies.coco.run DATA --out OUT --device cuda --jobs 12      resumes
    python -m studies.coco.keep OUT/m --out studies/coco/results/m.jsonl

`every` (--only every): each recipe that the package has, on the same texts, steps and rate, then what CE-CLIP's paper
claims, on three bases; nothing is chosen (device.sh).

`search`: every recipe of the contest has the same 20 settings on one base of each text tower: four kinds of training
(`TRIED`), each averaged with the base in five shares. `chosen` has the rule. `final`: everything that is in the tables,
on nine bases of each text tower, each with its own seed; the kept results have not every model on every base. Models
with a chosen setting are also averaged with the model finetuned on captions alone, in the same five shares, on dev
(`shares`) and on test; table.py chooses the share on dev. Several of these commands may work on one OUT. A model needs
up to 10 GB of memory.

Training texts: NegCLIP's, which exchange words; `balanced`, which replaces words (2.1 % exchange); `both`, balanced
with exchanges added; `phrases`, balanced with short phrases added (phrases.py); `thesaurus`, more of them
(thesaurus.py); `known`, the same with the words that REPLACE uses.
"""

from __future__ import annotations

import gc
import json
import math
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from equipoise.core.files import atomic_write
from equipoise.data.items import Item
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.train.recipes import get_recipe
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Hardware, Saving, train
from studies.coco import judging
from studies.coco.bases import named
from studies.coco.choice import worth
from studies.coco.models import (
    AS_OURS,
    BEST,
    EQUAL,
    EVERY,
    MAIN,
    MODELS,
    OTHERS,
    PAPERS,
    SCRATCH,
    SEARCH,
    SEEDS,
    SHARES,
    Model,
)
from studies.coco.scores import in_short, write_line
from studies.coco.texts import training_texts, with_hard_images
from studies.harness import jobs
from studies.harness.inputs import arguments, existing, made_from
from studies.harness.jobs import Work

RATE, BATCH = 5e-5, 256
TEXTS: dict[str, list[Item]] = {}
Weights = dict[str, torch.Tensor]


class Where(NamedTuple):
    data: Path
    out: Path
    device: str
    start: str  # letter of the bases, where neither the model nor the text tower says it


class Task(NamedTuple):
    tower: str
    stage: str
    model: Model
    seed: int


def chosen(out: Path, name: str) -> dict[str, Any]:
    """The setting of a recipe: of those that keep the mean of six recalls within 0.3 of the control's, and no kind of
    dev items more than 2 points below it, the one with the highest mean Augmented accuracy. Where none keeps all of
    that, the one that misses by the fewest points in all."""
    rows = {path.stem: json.loads(path.read_text()) for path in (out / "search").glob("*.json")}
    if len(rows) != len(SHARES) * (len(SEARCH) - 1) + 1:
        raise RuntimeError(f"{name}: the search is not finished")  # the next round tries again
    control = rows["control-0"]["found"]
    own = [row for row in rows.values() if row["name"].startswith(f"{name}.")]
    best = max(own, key=lambda row: worth(row["found"], control, 0.3))
    return {key: best[key] for key in ("train", "speed", "options", "wise")}


def setting(out: Path, model: Model) -> tuple[Model, float]:
    """A model whose setting is chosen, with this setting; and its share of the finetuned weights."""
    tuned, _, changed = model.name.partition("-best")
    found = chosen(out, "ours" if changed else tuned)
    texts = "known" if changed == "-known" else found["train"]
    return replace(
        model, texts=texts, speed=found["speed"], options=tuple(found["options"].items())
    ), found["wise"]  # fmt: skip


def loaded(folder: Path, device: str) -> ClipModel:
    model = load_model(f"hf:{folder}", device=device)
    assert isinstance(model, ClipModel)
    return model


def finetuned(model: Model, base: ClipModel, rows: judging.Vectors, folder: Path, where: Where, seed: int) -> ClipModel:
    batch = min(BATCH, len({item.image for item in TEXTS["balanced"]}))
    settings: dict[str, Any] = {
        "batch_size": batch, "weight_decay": 0.1, "freeze": "vision_backbone", "distinct_images": True,
        "epochs": 1, "lr": model.speed * RATE, "warmup_steps": 50, "seed": seed,
    } | dict(model.options)  # fmt: skip
    settings["max_steps"] = settings["epochs"] * len(TEXTS["balanced"]) // batch
    assert model.recipe
    recipe, items = get_recipe(model.recipe, **settings), TEXTS[model.texts]
    if recipe.needs.hard_images:
        items = with_hard_images(items, base, rows, where.device)
    train(
        recipe,
        items,
        base,
        folder,
        images=judging.source(f"{where.data}/photos"),
        hardware=Hardware(device=where.device, compiled=False),
        saving=Saving(every=10**6, keep=1),
        show=False,
    )
    return loaded(folder / "model", where.device)


def line_of(where: Where, task: Task) -> Path:
    return where.out / task.tower / task.stage / f"{task.model.name}-{task.seed}.json"


def base_of(where: Where, task: Task) -> str:
    return named(task.model.start or where.start or {"m": "t", "s": "s"}[task.tower], task.seed)


def make(where: Where, task: Task) -> str:
    """One model: trained, measured as it is or averaged with its base, its lines written."""
    tower, stage, model, seed = task
    own, device, started = where.out / tower, where.device, time.monotonic()
    base, line = base_of(where, task), line_of(where, task)
    final, best, control = stage == "final", "-best" in model.name, model.name == "control"
    shares = list(SHARES) if stage == "search" and not control else [1.0]
    if best:
        model, wise = setting(own, model)
        shares = [wise]
    rows, words = judging.pooled(str(where.out / f"pooled-{base}.npz")), judging.tokens(tower)
    judging.remember(rows)
    judging.know(words)
    network = loaded(where.out / "base" / f"{base}-0" / "model", "cpu" if model.recipe else device)
    row: dict[str, Any] = {"recipe": model.recipe, "options": dict(model.options), "train": model.texts}
    row |= {"speed": model.speed, "base": base, "seed": seed}
    before, after = network.network.state_dict(), {}
    if model.recipe:
        folder = line.with_suffix("")
        network = finetuned(model, network, rows, folder, where, seed)
        last = read_log(folder)[-1]  # where it ended: losses, CE-CLIP's thresholds, the scale
        row |= {"steps": last["step"], "scale": last["scale"], "parts": last["parts"]}
        after = {name: value.clone() for name, value in network.network.state_dict().items()}
        shutil.rmtree(folder, ignore_errors=True)
    if final and control:
        with atomic_write(own / f"captions-{seed}.pt", "wb", flush=False) as handle:
            torch.save(after, handle)

    def measured(stage: str, name: str, split: str, scores: bool = False, **more: Any) -> dict[str, float]:
        kept = own / "scores" / f"{name}-{seed}.npz" if scores else None
        found = judging.judge(network, str(where.data), f"{where.data}/photos", split, rows, words, kept)
        path = own / stage / f"{name}-{seed}.json"
        write_line(path, {"name": name} | row | {"split": split} | more | {"found": found})
        return found

    if final and control:
        measured("shares", "control", "dev")
    if final and best:
        for share in SHARES if (alone := captions_alone(where, task)) else ():
            average(network, alone, after, share)
            name = f"{model.name}+captions.{share}"
            measured("shares", name, "dev", wise=share)
            measured("final", name, "test", scores=True, wise=share)
    for share in shares:  # the setting that was chosen comes last: its line says that all are done
        if len(shares) > 1 or best:
            average(network, before, after, share)
        done = share == shares[-1]
        seconds = round(time.monotonic() - started, 1)
        name = model.name if done else f"{model.name}.{share}"
        found = measured(stage, name, "test" if final else "dev", final and done, wise=share, seconds=seconds)
    return in_short(found)


def captions_alone(where: Where, task: Task) -> Weights:
    """The weights after finetuning on captions alone; while another process trains that model, it waits."""
    path = where.out / task.tower / f"captions-{task.seed}.pt"
    line = line_of(where, task._replace(model=MODELS["control"]))
    while not path.exists() and jobs.claim_of(line).exists() and not line.exists():
        time.sleep(2)
    if not path.exists():
        print(f"{task.model.name}-{task.seed}: no {path.name}, so not averaged with captions alone", flush=True)
        return {}
    weights: Weights = torch.load(path, weights_only=True, map_location=where.device)
    return weights


@torch.no_grad()
def average(model: ClipModel, before: Weights, after: Weights, share: float) -> None:
    """The weights: `share` of those after finetuning, the rest of the others."""
    for name, value in model.network.state_dict().items():
        if value.is_floating_point():
            value.copy_(torch.lerp(before[name].to(value.device), after[name], share))


def tasks_of(seeds: Sequence[int], only: Sequence[str] | None) -> Iterator[Task]:
    if only is not None:
        for name in only:
            tower = "s" if name.startswith("s/") else "m"
            yield from (Task(tower, "final", MODELS[name.removeprefix("s/")], seed) for seed in seeds)
        return
    if 0 in seeds:
        yield from (Task(tower, "search", model, 0) for tower in "ms" for model in SEARCH)
    scratch = [Task("s", "final", model, seed) for seed in seeds for model in MAIN if model.name in SCRATCH]
    yield from (Task("m", "final", model, seed) for seed in seeds for model in MAIN)
    yield from scratch[: len(SCRATCH)]  # until these are done, so is the search
    yield from (Task(tower, "final", model, seed) for tower in "ms" for seed in seeds for model in BEST)
    yield from scratch[len(SCRATCH) :]
    yield from (Task("m", "final", model, seed) for model in (*AS_OURS, *EQUAL, *PAPERS, *OTHERS) for seed in seeds)


def known(out: Path, until: float) -> None:
    """The tokens of all training texts, once for all models that start from MiniLM; base.py begins with `words`."""
    while not (found := sorted([*out.glob("words"), *(out / "base").glob("[emt]*-0/model")])):
        print(f"waiting for a base in {out / 'base'}, which base.py writes", flush=True)
        if time.time() > until:
            raise SystemExit(1)
        time.sleep(2)
    model = loaded(found[-1], "cpu")
    items = (item for listed in TEXTS.values() for item in listed)
    texts = {text for item in items for text in (item.caption, *(one.text for one in item.positives + item.negatives))}
    ordered = sorted(texts)
    judging.tokens("m").update(zip(ordered, (model.truncate(row) for row in model.tokenize(ordered)), strict=True))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", type=existing("train-balanced.jsonl"))
    parser.add_argument("--out", type=Path, required=True, help="what base.py writes, or is still writing")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=2, help="models at a time")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, choices=SEEDS, help="of the bases")
    parser.add_argument(
        "--only", nargs="+", help="models for the tables, in this order; s/NAME: of the scratch bases; every: see above"
    )
    parser.add_argument(
        "--start", default="", help="letter of the bases, where a model has no own; t, or s from scratch"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="no model is begun later")
    options = parser.parse_args()
    until = time.time() + options.seconds
    if options.only == ["every"]:
        options.only = EVERY
    if unknown := {name.removeprefix("s/") for name in options.only or ()} - MODELS.keys():
        parser.error(f"--only: no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    made_from(options.out / "texts.sha256", sorted(options.data.glob("*.jsonl")))
    for split in ("dev", "test"):
        for kind in ("captions", *judging.kinds(str(options.data), split)):
            judging.items_of(f"{options.data}/{split}-{kind}.jsonl")
    where = Where(options.data, options.out, options.device, options.start)
    tasks = list(tasks_of(options.seeds, options.only))
    wanted = {"phrases" if "-best" in task.model.name else task.model.texts for task in tasks if task.model.recipe}
    TEXTS.update(training_texts(options.data, wanted))
    if any(task.tower == "m" for task in tasks):
        known(options.out, until)
    listed = [
        Work(
            f"{task.tower}/{task.model.name}-{task.seed}", partial(make, where, task), (line_of(where, task),),
            options.out / f"pooled-{base_of(where, task)}.npz",
        )
        for task in tasks
    ]  # fmt: skip
    gc.freeze()
    for _ in range(2):  # what failed is tried again; the texts are loaded once for all
        jobs.run(listed, options.jobs, "fork", until, claim=True)


if __name__ == "__main__":
    main()
