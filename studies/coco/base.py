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
import multiprocessing
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from equipoise.core.files import atomic_write
from equipoise.train.run.checkpoints import whole_folder
from studies.coco import parts, trained
from studies.coco.bases import MINILM, SCRATCH, Base
from studies.coco.views import AT_ONCE, FIXED, photos_of, see
from studies.needs import existing, made_from

VIEWS = {"train": FIXED + 3, "dev": FIXED, "test": 1, "extra": 1, "more": 1}
SEEDS = range(9)
TEACHERS = 3
TAUGHT = 0.7


def named(letter: str, seed: int) -> str:
    return f"{letter}.{seed}" if seed else letter


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


def write_words(where: dict[str, str]) -> None:
    """A base before training, for its tokenizer."""
    out = Path(where["out"])
    if not (out / "words").exists():
        with whole_folder(out / "words") as folder:
            parts.dual_encoder(Path(where["wheel"]), (), folder, pretrained=Path(where["minilm"])).save(folder)


def work(task: tuple[Base, dict[str, str]]) -> None:
    """One base, and what others need of it."""
    base, where = task
    out, device = Path(where["out"]), where["device"]
    trained.work((base, where))
    if not (out / "base" / f"{base.name}-0.json").exists():
        return
    own = trained.finished(out, base.name, device)
    if base.name in where["teachers"].split():
        trained.teach(own, where["data"], where["out"])
    pool(own, out, where["data"])
    print(f"{base.name} pooled {time.time() - float(where['began']):.0f} s", flush=True)


@torch.inference_mode()
def pool(own: trained.Trained, out: Path, data: str) -> None:
    """What the base's image tower says of every photo before the projection."""
    path = out / f"pooled-{own.base.begin}.npz"
    if path.exists():
        return
    names: list[str] = []
    rows = []
    for split in VIEWS:
        names += photos_of(data, split)
        for part in sorted((out / "views").glob(f"{split}-*.pt")):
            grid = torch.load(part, mmap=True, weights_only=True)[0].to(own.device).float()
            rows.append(own.pooled(grid).cpu().numpy())
    with atomic_write(path, "wb", flush=False) as handle:
        np.savez(handle, names=np.array(names), rows=np.concatenate(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
    began = time.time()
    captions = [options.data / f"{split}-captions.jsonl" for split in VIEWS]
    made_from(options.out / "captions.sha256", [*captions, *sorted((options.data / "photos").glob("*.tar"))])
    where = {name: str(getattr(options, name)) for name in ("data", "wheel", "minilm", "out", "device")}
    first, then = chosen(options)
    teachers = " ".join(sorted({name for base in then for name in base.teachers}))
    where |= {"share": "0.5", "began": str(began), "teachers": teachers}
    todo = []
    for split, views in VIEWS.items():
        names = photos_of(options.data, split)
        for start in range(0, len(names), AT_ONCE):
            path = options.out / "views" / f"{split}-{start:05d}.pt"
            photos = names[start : start + AT_ONCE]
            todo.append((where["wheel"], f"{options.data}/photos", photos, path, views, options.device))
    fork = multiprocessing.get_context("fork")
    with fork.Pool(options.readers) as readers:
        words = readers.apply_async(write_words, [where])
        readers.starmap(see, todo, chunksize=1)
        words.get()
    print(f"photos seen after {time.time() - began:.0f} s", flush=True)
    trained.texts(where["data"], "train"), trained.texts(where["data"], "dev")  # once for all processes
    for bases in filter(None, (first, then)):
        with fork.Pool(options.jobs) as pool_of:
            pool_of.map(work, [(base, where) for base in bases], chunksize=1)
        print(f"{bases[0].name} and its seeds after {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
