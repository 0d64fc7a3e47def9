"""Train bases on COCO's photos: plain ones of each text tower, and bases taught by three plain ones of MiniLM.

    python -m studies.coco.base DATA --wheel LITE2.whl --minilm FOLDER --out OUT --device cuda --jobs 3

OUT/views/                  what the frozen Lite2 sees (views.py)
OUT/base/NAME-0/model       m, m.1 ... m.8: MiniLM; t ... t.8: MiniLM, taught by those; s ... s.8: from scratch;
                            e, e.1, e.2: MiniLM, of one epoch, so that a recipe begins before COCO is learnt
OUT/pooled-NAME.npz         what the image tower of each base says of every photo
OUT/words/                  an untrained base: its tokens are MiniLM's, so run.py need not wait for a trained one

A taught base learns from the labels and from the mean preferences of its three teachers, which gained 1.4 points of
recall@1 on Flickr8k's photos: t, t.1 and t.2 from m, m.1 and m.2, and so on. Texts are cut at 32 tokens.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from equipoise.core.files import atomic_write
from equipoise.train.run.checkpoints import whole_folder
from studies.coco import parts, trained
from studies.coco.bases import MINILM, SCRATCH, Base, named
from studies.coco.views import AT_ONCE, FIXED, photos_of, see
from studies.harness import jobs
from studies.harness.inputs import arguments, existing, made_from

VIEWS = {"train": FIXED + 3, "dev": FIXED, "test": 1, "extra": 1, "more": 1}
SEEDS = range(9)
TEACHERS = 3
TAUGHT = 0.7


class Where(NamedTuple):
    data: Path
    out: Path
    wheel: Path
    minilm: Path
    device: str


# The later bases (3 to 8) have more epochs, as in the kept results.
PLAIN = [replace(MINILM, name=named("m", seed), seed=seed, epochs=6 if seed in (1, 2) else 8) for seed in SEEDS]
STUDENTS = [
    replace(
        PLAIN[0], name=named("t", seed), seed=10 + seed, epochs=8 if seed < 3 else 10, taught=TAUGHT,
        teachers=tuple(teacher.name for teacher in PLAIN if teacher.seed // TEACHERS == seed // TEACHERS),
    )
    for seed in SEEDS
]  # fmt: skip
EARLY = [replace(MINILM, name=named("e", seed), seed=seed, epochs=1) for seed in range(3)]
FROM_SCRATCH = [replace(SCRATCH, name=named("s", seed), seed=seed) for seed in SEEDS]


def chosen(options: argparse.Namespace) -> tuple[list[Base], list[Base]]:
    """The bases that are asked for, and those that they teach."""
    plain = [replace(base, epochs=options.epochs or base.epochs) for base in PLAIN]
    first, then = (
        [base for base in bases if options.only is None or base.name in options.only]
        for bases in (plain + EARLY + FROM_SCRATCH, STUDENTS)
    )
    return first, then


def work(base: Base, where: Where, teaches: bool) -> str:
    """One base, and what others need of it."""
    said = ""
    if not trained.line_of(where.out, base.name).exists():
        if where.device == "cuda":
            torch.cuda.set_per_process_memory_fraction(0.5)
        said = trained.make(base, where.data, where.out, where.wheel, where.minilm, where.device)
    own = trained.finished(where.out, base.name, where.device)
    if teaches:
        trained.teach(own, str(where.data), str(where.out))
    pool(own, where)
    return said


@torch.inference_mode()
def pool(own: trained.Trained, where: Where) -> None:
    """What the base's image tower says of every photo before the projection."""
    names: list[str] = []
    rows = []
    for split in VIEWS:
        names += photos_of(where.data, split)
        for part in sorted((where.out / "views").glob(f"{split}-*.pt")):
            grid = torch.load(part, mmap=True, weights_only=True)[0].to(own.device).float()
            rows.append(own.pooled(grid).cpu().numpy())
    with atomic_write(where.out / f"pooled-{own.base.begin}.npz", "wb", flush=False) as handle:
        np.savez(handle, names=np.array(names), rows=np.concatenate(rows))


def looks(where: Where) -> Iterator[partial[None]]:
    """At the photos, some at a time."""
    for split, views in VIEWS.items():
        names = photos_of(where.data, split)
        for start in range(0, len(names), AT_ONCE):
            path, photos = where.out / "views" / f"{split}-{start:05d}.pt", f"{where.data}/photos"
            yield partial(see, str(where.wheel), photos, names[start : start + AT_ONCE], path, views, where.device)


def call(do: partial[None]) -> None:
    do()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", type=existing("train-captions.jsonl"))
    parser.add_argument("--wheel", type=existing(), required=True)
    parser.add_argument("--minilm", type=existing(), required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="bases at a time")
    parser.add_argument("--only", nargs="*", help="names of bases; the others are not trained")
    parser.add_argument("--epochs", type=int, help="of m, m.1 ... m.8, in place of their own 6 or 8")
    parser.add_argument("--readers", type=int, default=2, help="processes that decode photos")
    options = parser.parse_args()
    where = Where(options.data, options.out, options.wheel, options.minilm, options.device)
    captions = [where.data / f"{split}-captions.jsonl" for split in VIEWS]
    made_from(where.out / "captions.sha256", [*captions, *sorted((where.data / "photos").glob("*.tar"))])
    if not (where.out / "words").exists():  # a base before training, for its tokenizer
        with whole_folder(where.out / "words") as folder:
            parts.dual_encoder(where.wheel, (), folder, pretrained=where.minilm).save(folder)
    for _ in jobs.each(call, looks(where), options.readers, "fork"):
        pass
    trained.texts(str(where.data), "train"), trained.texts(str(where.data), "dev")  # once for all processes
    first, then = chosen(options)
    teachers = {name for base in then for name in base.teachers}
    for bases in (first, then):
        listed = []
        for base in bases:
            taught = (Path(trained.taught_by(str(where.out), base.name)),) if base.name in teachers else ()
            done = (where.out / f"pooled-{base.name}.npz", *taught)
            listed.append(jobs.Work(base.name, partial(work, base, where, bool(taught)), done))
        jobs.run(listed, options.jobs, "fork")


if __name__ == "__main__":
    main()
