"""Speed and memory of `equipoise perturb`: captions per second on N cores, and peak memory from few captions to many.

    python bench/perturb.py --captions COCO.json [--workers 2] [--sizes 10000,600000] [--recipes balanced]

The captions of the file are repeated (as new images) until there are enough; from the second turn on with variation, so
that a cache without a limit would be seen. Every run is a process of its own, so that its peak memory is its own. On a
busy machine read the captions per second of CPU, which other work disturbs less.

First it compares the CPU time of 2,000 captions under default threads with one BLAS thread: at most 1.15 times as much,
and the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

from equipoise.data.readers.captions.groups import read_captions
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.engine import perturb_file

FLAT = 1.25  # the larger run may need so much more memory than the smaller one
THREADED, MOST_THREADED = 2_000, 1.15  # captions; CPU time of default threads over that of one BLAS thread
BLAS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captions", required=True, type=Path)
    parser.add_argument("--recipes", default="hard_positives_rules,balanced")
    parser.add_argument("--sizes", default="10000,600000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", nargs=3, metavar=("RECIPE", "CAPTIONS", "OUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(*arguments.one, arguments.workers)
        return
    sizes = [int(size) for size in arguments.sizes.split(",")]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {arguments.workers} workers")
    with tempfile.TemporaryDirectory() as folder:
        threads_cost_little = compare_threads(arguments.captions, Path(folder))
    print(f"{'recipe':<24}{'captions':>10}{'captions/s':>12}{'per CPU s':>11}{'main MB':>9}{'worker MB':>11}  memory")
    steady = True
    with tempfile.TemporaryDirectory() as folder:
        for recipe in arguments.recipes.split(","):
            first = None
            for size in sizes:
                path = repeated(arguments.captions, size, Path(folder) / f"{size}.jsonl")
                found = run(recipe, path, Path(folder) / "items.jsonl", arguments.workers)
                peak = found["main_mb"] + arguments.workers * found["worker_mb"]
                first = first or peak
                steady &= peak <= FLAT * first
                print(
                    f"{recipe:<24}{size:>10,}{found['rate']:>12,.0f}{found['cpu_rate']:>11,.0f}{found['main_mb']:>9,.0f}"
                    f"{found['worker_mb']:>11,.0f}  {peak / first:.2f} of the first",
                    flush=True,
                )
    print("memory is flat" if steady else f"memory GROWS: more than {FLAT} of the smallest run")
    sys.exit(0 if steady and threads_cost_little else 1)


def compare_threads(captions: Path, folder: Path) -> bool:
    """Whether default threads cost at most MOST_THREADED times the CPU time of one BLAS thread, for the same bytes."""
    path = repeated(captions, THREADED, folder / "threads.jsonl")
    plain = {name: value for name, value in os.environ.items() if name not in BLAS}
    found = [
        run("balanced", path, folder / f"{name}.items.jsonl", 1, environment)
        for name, environment in (("default", plain), ("one", plain | dict.fromkeys(BLAS, "1")))
    ]
    default, one = (THREADED / each["cpu_rate"] for each in found)
    same = found[0]["sha256"] == found[1]["sha256"]
    print(
        f"balanced, {THREADED:,} captions: {default:.1f} CPU seconds with default threads, {one:.1f} with one BLAS "
        f"thread: {default / one:.2f} times, at most {MOST_THREADED} expected; {'the same' if same else 'OTHER'} bytes"
    )
    return same and default <= MOST_THREADED * one


def repeated(captions: Path, size: int, path: Path) -> Path:
    """`size` captions as JSONL: those of the file again and again, each time of other images and in other words."""
    if path.exists():
        return path
    groups = list(read_captions(captions))
    known = [record.text for group in groups for record in group.records]
    with path.open("w", encoding="utf-8") as handle:
        left = size
        for turn in count():
            for number, group in enumerate(groups):
                texts = [varied(record.text, known, turn, left - place) for place, record in enumerate(group.records)]
                texts = texts[:left]
                handle.write(json.dumps({"image": f"{turn}/{number}.jpg", "caption": texts}) + "\n")
                left -= len(texts)
                if not left:
                    return path
    raise AssertionError


def varied(text: str, known: list[str], turn: int, key: int) -> str:
    """`text` with the second half of another caption; each twentieth also with a word that no other caption has."""
    if turn == 0:
        return text
    here, there = text.split(), known[(key * 7919 + turn * 104729) % len(known)].split()
    mixed = [*here[: len(here) // 2], *there[len(there) // 2 :]]
    if key % 20 == 0:
        mixed[-1] = "".join("bcdfglmnprstvz"[int(mark, 16) % 14] + "aeiou"[int(mark, 16) % 5] for mark in f"{key:x}")
    return " ".join(mixed)


def run(
    recipe: str, captions: Path, out: Path, workers: int, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    command = [sys.executable, __file__, "--captions", str(captions), "--workers", str(workers)]
    command += ["--one", recipe, str(captions), str(out)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(recipe: str, captions: str, out: str, workers: int) -> None:
    started = time.monotonic()
    report = perturb_file(captions, out, Setup(recipe), workers=workers)
    seconds = time.monotonic() - started
    mine, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in (mine, theirs))
    found = {
        "rate": report["captions"] / seconds,
        "cpu_rate": report["captions"] / cpu,
        "main_mb": mine.ru_maxrss / 1024,
        "worker_mb": theirs.ru_maxrss / 1024,  # the largest of them
        "sha256": hashlib.sha256(Path(out).read_bytes()).hexdigest(),
    }
    Path(out).unlink()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
