"""Pretrains the world's base model by plain contrastive learning on noisy captions, and scores it on validation scenes.

    python -m studies.world_base OUT            # minutes on a GPU; OUT/run/model is the base model
    python -m studies.world_base OUT --steps 20 --scenes 2000 --batch 64 --device cpu    # does it run?

Nothing is downloaded or written beside OUT: training pictures are drawn into memory. The test sets are not touched
here; score them once, with `equipoise eval hf:OUT/run/model --bench world-swap,...`.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

from equipoise.core.files import write_json
from equipoise.data.items import Item
from equipoise.evaluation.metrics import SHARES
from equipoise.evaluation.run import evaluate
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.train.data.batches import Part
from equipoise.train.run.loop import Hardware, train
from equipoise.world.splits import TESTS, UNSEEN, world_items, write_world
from studies import world_model as world
from studies.harness.inputs import arguments
from studies.harness.jobs import each
from studies.world_captions import PretrainingImages, PretrainingItems

CHUNK = 2000
VALIDATION = 2000  # items of each validation set


def _chunk(total: int, start: int) -> list[Item]:
    return PretrainingItems(total, int(world.PRETRAINING["seed"]))[start : start + CHUNK]


def _pictures(total: int, start: int) -> list[bytes]:
    return [PretrainingImages().read(item.image.path) for item in _chunk(total, start) if item.image is not None]


class Drawn:
    """Every picture drawn once and kept: 400,000 of 48 pixels take 3 GB, and are read eleven times."""

    def __init__(self, items: list[Item], pictures: list[bytes]) -> None:
        paths = [item.image.path for item in items if item.image is not None]
        self.pictures = dict(zip(paths, pictures, strict=True))

    def read(self, path: str) -> bytes:
        return self.pictures[path]


def pretraining_part(total: int) -> Part:
    starts, processes = range(0, total, CHUNK), os.cpu_count() or 1
    items = [item for chunk in each(partial(_chunk, total), starts, processes) for item in chunk]
    pictures = [picture for chunk in each(partial(_pictures, total), starts, processes) for picture in chunk]
    return Part(items, Drawn(items, pictures))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("out", type=Path)
    for name in ("scenes", "steps", "batch"):
        parser.add_argument(f"--{name}", type=int, default=world.PRETRAINING[name])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    out: Path = options.out
    started = time.monotonic()

    seed, warmup = (int(world.PRETRAINING[name]) for name in ("seed", "warmup_steps"))
    world.save(world.build_model(seed), out / "untrained")
    part = pretraining_part(options.scenes)
    print(f"{len(part.items):,} pictures drawn after {time.monotonic() - started:.0f} s", flush=True)
    untrained = load_model(f"hf:{out / 'untrained'}", device=options.device)
    assert isinstance(untrained, ClipModel)
    folder = train(
        world.pretraining("world_base", options.steps, options.batch, min(warmup, options.steps), seed),
        [part],
        untrained,
        out / "run",
        # compiling takes longer than so small a model gains by it
        hardware=Hardware(options.device, options.workers, compiled=False),
    )
    trained = time.monotonic()
    print(f"trained after {trained - started:.0f} s", flush=True)

    base = load_model(f"hf:{folder}", device=options.device)
    by_test = {}
    for test in (*TESTS, *UNSEEN):
        items = list(world_items("validation", VALIDATION, 0, (test,)))
        write_world(items, out / "world", f"validation-{test}")
        by_test[test] = evaluate(base, items, images=out / "world", name=f"validation-{test}").numbers
        line = "  ".join(f"{name} {100 * value:.1f}" for name in SHARES if (value := by_test[test][name]) is not None)
        print(f"{test:20} {line}")
    scores = {test: numbers.model_dump(mode="json") for test, numbers in by_test.items()}
    write_json(out / "validation.json", {"seconds": round(trained - started), "scores": scores})


if __name__ == "__main__":
    main()
