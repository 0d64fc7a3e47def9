"""Finetune both bases on COCO's photos by every recipe of the papers, three seeds each, and measure all on test.

    python runs/flickr8k/base.py DATA --photos DATA/photos --wheel LITE2.whl --minilm FOLDER --out OUT --tails
    python runs/coco/run.py DATA --out OUT --jobs 16 --seconds 560      resumes: a finished model is not trained again
    python runs/flickr8k/keep.py OUT/s --out runs/coco/results/s.jsonl  (and OUT/m)

The settings are Flickr8k's with two epochs (four times as many captions); nothing was chosen on test.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "flickr8k"))

from jobs import OURS, SEEDS, Job, job
from needs import existing

TOWERS = {"m": ("minilm", "5e-5"), "s": ("scratch", "2e-4")}
JOBS = [
    job("base"),
    job("control", "control"),
    job("hn", "hn_only"),
    job("hp-hn", "hard_positives_kamath_2024"),
    Job("hn-negclip", "hn_only", train="train-negclip"),
    job("ours", OURS),
    job("ce-clip", "ce_clip_zhang_2024"),
    Job("hp-hn-negclip", "hard_positives_kamath_2024", train="train-negclip"),
]


def main() -> None:
    from run import prepare, work  # of runs/flickr8k

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=existing("train.jsonl"))
    parser.add_argument("--out", type=existing("chosen.json"), required=True, help="what base.py wrote")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=2, help="models at a time")
    parser.add_argument("--epochs", default="2")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no model is begun later")
    options = parser.parse_args()
    names = json.loads((options.out / "chosen.json").read_text())
    where = {}
    for tower, (kind, rate) in TOWERS.items():
        (options.out / tower).mkdir(exist_ok=True)
        if not (options.out / tower / "base").exists():
            (options.out / tower / "base").symlink_to("../base")
        where[tower] = {
            "data": str(options.data), "photos": str(options.data / "photos"), "device": options.device,
            "out": str(options.out / tower), "base": names[kind], "lr": rate, "epochs": options.epochs, "batch": "256",
            "weights": "drop", "until": str(time.time() + options.seconds),
        }  # fmt: skip
    tasks = [
        ("final", one, seed, where[tower])
        for seed in SEEDS
        for one in JOBS
        for tower in TOWERS
        if one.recipe or seed == 0
    ]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        pool.map(prepare, where.values())
        for _ in pool.imap_unordered(work, tasks, chunksize=1):
            pass


if __name__ == "__main__":
    main()
