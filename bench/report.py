"""A report over 5 runs of 27,443 items, REPLACE's size: seconds, memory and bytes of the page.

    python bench/report.py [--keep DIR]

Items, scores and photos are made up: captions of REPLACE's length, two splits, six types, ninety phrases, 3,000 photos
of 500 x 375 pixels. The report is made
in a process of its own, whose memory is measured.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ITEMS, RUNS, PHOTOS = 27_443, 5, 3_000
TINY = 300, 2, 20
LIMITS = {"seconds": 60.0, "gigabytes": 2.0, "megabytes of the page": 5.0}


def draw(folder: Path) -> None:
    """Photos as hard to compress as real ones: large patches, small patches and grain."""
    from PIL import Image

    for number in range(PHOTOS):
        noise = np.random.default_rng(number)
        picture = np.zeros((375, 500, 3), dtype=np.float64)
        for cells, weight in ((4, 0.55), (24, 0.3), (96, 0.15)):
            patches = Image.fromarray(noise.integers(0, 256, (cells, cells, 3), dtype=np.uint8))
            picture += weight * np.asarray(patches.resize((500, 375), Image.Resampling.BICUBIC))
        target = folder / f"{number:04}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture.astype(np.uint8)).save(target, "JPEG", quality=85)


def write_runs(out: Path, photos: Path) -> None:
    """Write run folders with the function that writes them after an evaluation."""
    from equipoise.data.items import ImageRef, Item, texts
    from equipoise.evaluation.averages import summarise
    from equipoise.evaluation.outcomes import outcomes_of
    from equipoise.evaluation.record import ItemCounts, Metrics, RunRecord
    from equipoise.evaluation.results import read_result, write_run
    from equipoise.evaluation.scores import ItemScores

    golden = read_result(Path(__file__).resolve().parents[1] / "tests" / "golden" / "run")
    words = random.Random(0)
    nouns = [f"{a}{b}" for a in ("lamp", "dog", "tree", "cup", "boat", "road") for b in ("", "s", " post", " side")]
    items = []
    for number in range(ITEMS):
        phrase = number % 90
        caption = f"the {words.choice(nouns)} is standing by the {words.choice(nouns)} number {phrase}"
        items.append(
            Item(
                id=f"made-up/{number:05}",
                image=ImageRef(path=f"{words.randrange(PHOTOS):04}.jpg"),
                caption=caption,
                positives=texts(caption.replace("by", "near")),
                negatives=texts(caption.replace("by", "on")),
                tags={"split": f"split {number % 2}", "type": f"type {number % 6}", "phrase": str(phrase)},
            )
        )
    for run in range(RUNS):
        scores = np.random.default_rng(run).normal([0.30, 0.29 - 0.005 * run, 0.28], 0.02, (ITEMS, 3)).tolist()
        rows = [
            ItemScores(id=item.id, image=item.image.path, caption=c, positives=[p], negatives=[n], tags=item.tags)
            for item, (c, p, n) in zip(items, scores, strict=True)
            if item.image
        ]
        outcomes = outcomes_of(rows)
        summary = summarise(outcomes)
        metrics = Metrics(overall=summary.overall, by=summary.by)
        full = golden.arguments | {"images": str(photos)}
        record: RunRecord = golden.model_copy(
            update={
                "benchmark": golden.benchmark.model_copy(update={"name": "made-up", "items_sha256": "0" * 64}),
                "metrics": metrics,
                "n": ItemCounts(items=ITEMS, scored=ITEMS, skipped=0),
                "arguments": full,
                "model": golden.model.model_copy(update={"spec": f"model {run}"}),
            }
        )
        write_run(out / f"model-{run}" / "made-up", record, outcomes, {item.id: item for item in items})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="folder for runs, photos and page; used again where it is there")
    parser.add_argument("--tiny", action="store_true", help="300 items: does the script run?")
    chosen = parser.parse_args()
    if chosen.tiny:
        global ITEMS, RUNS, PHOTOS
        ITEMS, RUNS, PHOTOS = TINY
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        if not (folder / "runs").exists():
            draw(folder / "photos")
            write_runs(folder / "runs", folder / "photos")
        page = folder / "report.html"
        started = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "equipoise", "report", str(folder / "runs"), "--out", str(page)], check=True
        )
        seconds, used = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        values = {
            "seconds": seconds,
            "gigabytes": used.ru_maxrss / 2**20,
            "megabytes of the page": page.stat().st_size / 1e6,
        }
        text = page.read_text(encoding="utf-8")
        if missing := [run for run in range(RUNS) if f"model {run}" not in text]:
            sys.exit(f"the page lacks the models {missing}")
    for name, value in values.items():
        print(f"{name:22} {value:8.2f}   limit {LIMITS[name]:g}")
    print(f"of the seconds, this process's own on the CPU: {used.ru_utime + used.ru_stime:.1f}")
    return int(any(value > LIMITS[name] for name, value in values.items()))


if __name__ == "__main__":
    raise SystemExit(main())
