"""Finetune a base on COCO's photos by every recipe of the papers and ours, and measure all of them on test.

    python runs/flickr8k/base.py DATA --photos DATA/photos --wheel LITE2.whl --minilm FOLDER --out OUT --tails \\
        --only m+text-6e4 --parts 3
    python runs/coco/run.py DATA --out OUT --jobs 9 --seconds 560      resumes: a finished model is not trained again
    python runs/flickr8k/keep.py OUT/m --stages final --out runs/coco/results/m.jsonl

Every recipe trains on three sets of texts: NegCLIP's, which exchange words; those of `balanced`, which replace words
(1.6 % exchange); and those of `balanced` with exchanges added. The settings are Flickr8k's with one epoch. Nothing was
chosen on COCO.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "flickr8k"))

import run  # of runs/flickr8k
from jobs import OURS, SEEDS, Job
from needs import existing

from equipoise.data.items import Item, Text, load_items

BASE, RATE = "m+text-6e4", "5e-5"
PAPER, CE = "hard_positives_kamath_2024", "ce_clip_zhang_2024"
JOBS = [
    Job("base"),
    Job("control", "control", train="train-balanced"),
    Job("hn-negclip", "hn_only", train="train-negclip"),
    Job("hp-hn", PAPER, train="train-balanced"),
    Job("ours", OURS, train="train-balanced"),
    Job("hn", "hn_only", train="train-balanced"),
    Job("ours-human", OURS, train="train-human"),
    Job("ce-clip", CE, train="train-balanced"),
    Job("ours-swaps", OURS, train="train-both"),
    Job("hp-hn-negclip", PAPER, train="train-negclip"),
    Job("hp-hn-swaps", PAPER, train="train-both"),
    Job("hn-swaps", "hn_only", train="train-both"),
    Job("ce-clip-swaps", CE, train="train-both"),
]


def training_texts(data: Path) -> dict[str, list[Item]]:
    """What the jobs train on, by path: the files of data.py; `balanced` with swaps; `balanced` with the other human
    captions of the photo among the positives."""
    balanced, swaps, negclip = (load_items(data / f"train-{name}.jsonl") for name in ("balanced", "swaps", "negclip"))
    captions: dict[str, list[str]] = {}
    for item in balanced:
        captions.setdefault(item.image.path if item.image else "", []).append(item.caption)
    both, human = [], []
    for one, two in zip(balanced, swaps, strict=True):
        own = captions[one.image.path if one.image else ""]
        others = tuple(Text(text=text) for text in own if text != one.caption)
        more = {"positives": one.positives + two.positives, "negatives": one.negatives + two.negatives}
        both.append(one.model_copy(update=more))
        human.append(one.model_copy(update={"positives": one.positives + others}))
    found = {"balanced": balanced, "negclip": negclip, "both": both, "human": human}
    return {f"{data}/train-{name}.jsonl": items for name, items in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=existing("train-balanced.jsonl"))
    parser.add_argument("--out", type=existing("base"), required=True, help="what base.py wrote")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=2, help="models at a time")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no model is begun later")
    options = parser.parse_args()
    folder = options.out / "m"
    folder.mkdir(exist_ok=True)
    if not (folder / "base").exists():
        (folder / "base").symlink_to("../base")
    where = {
        "data": str(options.data), "photos": str(options.data / "photos"), "device": options.device, "base": BASE,
        "out": str(folder), "lr": RATE, "epochs": "1", "batch": "256", "weights": "drop",
        "until": str(time.time() + options.seconds),
    }  # fmt: skip
    known, own = training_texts(options.data), run.items_of
    run.items_of = lambda path: known[path] if path in known else own(path)
    tasks = [("final", job, seed, where) for seed in SEEDS for job in JOBS if job.recipe or seed == 0]
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:  # the texts are loaded once for all
        pool.map(run.prepare, [where])
        for _ in pool.imap_unordered(run.work, tasks, chunksize=1):
            pass


if __name__ == "__main__":
    main()
