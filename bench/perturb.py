"""Speed and memory of `equipoise perturb --recipe balanced`, against an earlier commit in the same run.

    python bench/perturb.py --captions COCO.json [--count 20000] [--workers 2] [--against b88ec84]

The captions of the file are repeated (as new images) until there are enough; from the second turn on with variation, so
that a cache without a limit would be seen. Every run is a process of its own. The earlier commit is checked out into a
temporary folder and perturbs a tenth of the captions, in turns with this one. Times are CPU times, so that other work
on the machine changes them little. Expected: 600,000 captions in at most 25 minutes of all workers, extrapolated; at
least 3 times as fast as the earlier commit; a start in less than a second; memory that does not grow.
"""

from __future__ import annotations

import argparse
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

ALL, MINUTES, FASTER, START = 600_000, 25.0, 3.0, 1.0
TURNS = 2
FLAT = 1.25  # all captions may need so much more memory than a quarter of them
ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captions", type=Path)
    parser.add_argument("--tiny", action="store_true", help="80 captions, this commit alone: does the script run?")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--against", default="b88ec84", help="a commit")
    parser.add_argument("--one", nargs=2, metavar=("CAPTIONS", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        captions, out = options.one
        measure(captions, out, options.workers)
        return
    if options.tiny:
        options.captions, options.count, options.against = ROOT / "tests/data/own_web_captions.txt", 80, "HEAD"
    elif not options.captions:
        parser.error("--captions is missing: a file of captions (or --tiny)")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {options.workers} workers")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {n: repeated(options.captions, n, folder / f"{n}.jsonl") for n in quarters(options.count)}
        print(f"{'commit':<10}{'captions':>10}{'captions/s':>12}{'CPU ms each':>13}{'main MB':>9}{'worker MB':>11}")
        runs = [run("here", n, files[n], folder, options.workers) for n in quarters(options.count)[1:]]
        with checked_out(options.against, folder / "before") as before:
            n = quarters(options.count)[0]
            each = n, files[n], folder, options.workers
            turns = [
                (run(options.against, *each, before), run("here", *each)) for _ in range(1 if options.tiny else TURNS)
            ]
        start = started()
    new = runs[-1]
    old_rate, new_rate = (sum(turn[which]["cpu_rate"] for turn in turns) for which in (0, 1))
    minutes, faster = ALL / new["cpu_rate"] / options.workers / 60, new_rate / old_rate
    grown = (new["main_mb"] + new["worker_mb"]) / (runs[0]["main_mb"] + runs[0]["worker_mb"])
    lines = [
        (minutes <= MINUTES, f"{ALL:,} captions would take {minutes:.1f} minutes; at most {MINUTES:.0f} expected"),
        (faster >= FASTER, f"{faster:.1f} times as fast as {options.against}; at least {FASTER:.0f} expected"),
        (start <= START, f"`equipoise perturb --list` takes {start:.2f} s; at most {START:.0f} expected"),
        (grown <= FLAT, f"memory with four times the captions: {grown:.2f} times; at most {FLAT} expected"),
    ]
    if options.tiny:  # too few captions to time
        return
    for passed, line in lines:
        print(f"{'ok  ' if passed else 'FAIL'} {line}")
    sys.exit(0 if all(passed for passed, _ in lines) else 1)


def quarters(count: int) -> tuple[int, int, int]:
    return count // 10, count // 4, count


class checked_out:
    """A commit in a folder of its own, as long as it is needed."""

    def __init__(self, commit: str, folder: Path) -> None:
        self.commit, self.folder = commit, folder

    def __enter__(self) -> Path:
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", str(self.folder), self.commit], cwd=ROOT, check=True
        )
        return self.folder

    def __exit__(self, *_: object) -> None:
        subprocess.run(["git", "worktree", "remove", "--force", str(self.folder)], cwd=ROOT, check=True)


def started() -> float:
    """The fastest of three: seconds until the command has listed its recipes."""
    times = []
    for _ in range(3):
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "equipoise", "perturb", "--list"], stdout=subprocess.DEVNULL, check=True, cwd=ROOT
        )
        times.append(time.monotonic() - began)
    return min(times)


def repeated(captions: Path, size: int, path: Path) -> Path:
    """`size` captions as JSONL: those of the file again and again, each time of other images and in other words."""
    from equipoise.data.readers.captions.groups import read_captions

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


def run(name: str, size: int, captions: Path, folder: Path, workers: int, root: Path = ROOT) -> dict[str, Any]:
    """Perturb in a process of its own, with the package of `root`."""
    command = [sys.executable, __file__, "--captions", str(captions), "--workers", str(workers)]
    command += ["--one", str(captions), str(folder / "items.jsonl")]
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    figures: dict[str, Any] = json.loads(done.stdout)
    print(
        f"{name:<10}{size:>10,}{figures['rate']:>12,.0f}{1000 / figures['cpu_rate']:>13.1f}{figures['main_mb']:>9,.0f}"
        f"{figures['worker_mb']:>11,.0f}",
        flush=True,
    )
    return figures


def measure(captions: str, out: str, workers: int) -> None:
    """In the process that is measured; also of the earlier commit, so with what both have."""
    from equipoise.perturb import Setup, perturb_file

    began = time.monotonic()
    report = perturb_file(captions, out, Setup("balanced"), workers=workers)
    seconds = time.monotonic() - began
    mine, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in (mine, theirs))
    figures = {
        "rate": report["captions"] / seconds,
        "cpu_rate": report["captions"] / cpu,
        "main_mb": mine.ru_maxrss / 1024,
        "worker_mb": theirs.ru_maxrss / 1024,  # the largest of them
    }
    lines = Path(captions).read_text(encoding="utf-8").splitlines()
    if report["captions"] != sum(len(json.loads(line)["caption"]) for line in lines):
        sys.exit("not every caption was perturbed")
    for path in (Path(out), Path(out + ".report.json")):
        path.unlink()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
