"""Time and peak memory of the verbs that read large files: items as JSONL and Parquet, `metrics`, `compare`, `report`.

    python bench/million.py [--items 1000000] [--images 200000] [--keep FOLDER]

Makes the files, then runs each verb in a process of its own, so that its peak is its own; of a verb that starts other
processes the peaks of all that live at a time are added up, as if they had come at once. On a busy machine read the CPU
seconds, which other work disturbs less than the wall clock. Exits with 1 where a verb needs more than the limits.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType

import made
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from equipoise.data.items import Item, load_items, write_items
from equipoise.evaluation.averages import measure
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import ItemCounts
from equipoise.evaluation.results import write_run
from equipoise.evaluation.run import evaluate
from equipoise.evaluation.scores import Scores

MOST_SECONDS, MOST_MB = 60, 1500
LOAD = "import sys, equipoise as eq; print(f'{len(eq.load_items(sys.argv[1])):,}')"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--images", type=int, help="that the items are of; default: a fifth")
    parser.add_argument("--keep", type=Path, help="where the files are made, and left for another time")
    parser.add_argument("--tiny", action="store_true", help="500 items: does the script run?")
    arguments = parser.parse_args()
    if arguments.tiny:
        arguments.items = 500
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        making = (folder, arguments.items, arguments.images or max(1, arguments.items // 5))
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # a child's peak is never below its parent's
            pool.submit(make, *making).result()
        print(f"{arguments.items:,} items, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        print(f"{'verb':<24}{'file MB':>9}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}")
        verbs = {
            "load_items, JSONL": (["-c", LOAD, "items.jsonl"], ["items.jsonl"]),
            "load_items, Parquet": (["-c", LOAD, "items.parquet"], ["items.parquet"]),
            "metrics": (["-m", "equipoise", "metrics", "scores.jsonl"], ["scores.jsonl"]),
            "compare": (["-m", "equipoise", "compare", "a", "b"], ["a/items.jsonl", "b/items.jsonl"]),
            "report": (["-m", "equipoise", "report", "a", "b", "--out", "r.html"], ["a/items.jsonl", "b/items.jsonl"]),
        }
        (folder / "r.html").unlink(missing_ok=True)
        fine = [measured(name, folder, *verb, f"{arguments.items:,}") for name, verb in verbs.items()]
    sys.exit(0 if all(fine) else 1)


def measured(name: str, folder: Path, arguments: list[str], files: list[str], says: str) -> bool:
    """Run one verb and print its row; return whether it ended well, printed the number of items and kept the limits."""
    started = time.monotonic()
    with (folder / f"{name}.out").open("w") as out:
        child = subprocess.Popen([sys.executable, *arguments], cwd=folder, stdout=out)
        together = [0]
        threading.Thread(target=watch, args=(child.pid, together), daemon=True).start()
        _, status, usage = os.wait4(child.pid, 0)
    wall, cpu = time.monotonic() - started, usage.ru_utime + usage.ru_stime
    page = folder / "r.html"
    said = (folder / f"{name}.out").read_text() + (page.read_text(encoding="utf-8") if name == "report" else "")
    if status != 0 or says not in said:
        print(f"{name:<24} FAILED: exit status {status}, {says!r} {'not ' * (says not in said)}printed")
        return False
    peak = max(usage.ru_maxrss, *together) / 1024
    size = sum((folder / file).stat().st_size for file in files) / 2**20
    print(f"{name:<24}{size:>9,.0f}{wall:>9.1f}{cpu:>9.1f}{peak:>9,.0f}", flush=True)
    return wall < MOST_SECONDS and peak < MOST_MB


def watch(process: int, together: list[int]) -> None:
    """Note the memory in kB of a process and all its children together until it ends: wait4 gives only the largest."""
    while Path(f"/proc/{process}/task").exists():
        below, peaks = [process], 0
        for pid in below:
            with contextlib.suppress(OSError, IndexError):  # it has just ended
                below += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
                peaks += int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0])
        together.append(peaks)
        time.sleep(0.02)


# ---------------------------------------------------------------------------- the files


def make(folder: Path, count: int, images: int) -> None:
    if (folder / "made").exists():
        return
    write_items(folder / "items.jsonl", made.items(count, images, tags=20))
    items = load_items(folder / "items.jsonl")
    write_items(folder / "items.parquet", items)
    by_id = Items(items)
    for number, run in enumerate("ab"):
        rng = np.random.default_rng(number)
        texts = sum(len(item.texts()) for item in items)
        scores = Scores.of_items(items, rng.normal(0.25, 0.05, texts))
        outcomes = outcomes_of(scores)
        result = evaluate(OnePhoto(), [items[0]], images=OnePhoto(), name="made").record
        counts = ItemCounts(items=count, scored=count, skipped=0)
        record = result.model_copy(update={"metrics": measure(outcomes, None), "n": counts})
        write_run(folder / run, record, outcomes, by_id)
    with (folder / "scores.jsonl").open("w") as handle:
        for fields in scores.fields():
            handle.write(json.dumps(fields) + "\n")
    (folder / "made").touch()


class Items(Mapping[str, Item]):
    """Items by their id, which ends with their place: a dict of a million would be the peak."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items

    def __getitem__(self, name: str) -> Item:
        return self._items[int(name.rpartition("/")[2])]

    def __iter__(self) -> Iterator[str]:
        return (item.id for item in self._items)

    def __len__(self) -> int:
        return len(self._items)


class OnePhoto:
    """A model and its photos, to make a record with."""

    card = MappingProxyType({"spec": "made", "digest": "made"})

    def read(self, path: str) -> bytes:
        Image.new("RGB", (8, 8)).save(buffer := io.BytesIO(), "PNG")
        return buffer.getvalue()

    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> NDArray[np.floating]:
        return 0.1 * np.arange(len(texts))


if __name__ == "__main__":
    main()
