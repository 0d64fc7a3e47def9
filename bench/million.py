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
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any

from PIL import Image

from equipoise.core.files import sha256_file
from equipoise.data.items import Edit, ImageRef, Item, Text, load_items, write_items
from equipoise.evaluation.averages import measure
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import read_scores

MOST_SECONDS, MOST_MB = {"compare": 180, "report": 300}, 1500
LOAD = "import sys; from equipoise.data.items import load_items; print(len(load_items(sys.argv[1])))"
SPLITS, TYPES = ("attributes", "relations", "objects"), ("action", "color", "material", "size", "state", "spatial")
WORDS = "man woman dog cat horse bicycle bench table street field umbrella surfboard red green old large riding".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--images", type=int, help="that the items are of; default: a fifth")
    parser.add_argument("--keep", type=Path, help="where the files are made, and left for another time")
    arguments = parser.parse_args()
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
        fine = [measured(name, folder, *verb) for name, verb in verbs.items()]
    sys.exit(0 if all(fine) else 1)


def measured(name: str, folder: Path, arguments: list[str], files: list[str]) -> bool:
    """Run one verb and print its row; whether it keeps the limits."""
    started = time.monotonic()
    with (folder / f"{name}.out").open("w") as out:
        child = subprocess.Popen([sys.executable, *arguments], cwd=folder, stdout=out)
        together = [0]
        threading.Thread(target=watch, args=(child.pid, together), daemon=True).start()
        _, status, usage = os.wait4(child.pid, 0)
    wall, cpu = time.monotonic() - started, usage.ru_utime + usage.ru_stime
    peak = max(usage.ru_maxrss, *together) / 1024
    size = sum((folder / file).stat().st_size for file in files) / 2**20
    print(f"{name:<24}{size:>9,.0f}{wall:>9.1f}{cpu:>9.1f}{peak:>9,.0f}", flush=True)
    return status == 0 and wall < MOST_SECONDS.get(name, 60) and peak < MOST_MB


def watch(process: int, together: list[int]) -> None:
    """Note what a process and all below it need, in kB, until it ends: wait4 tells the largest of them alone."""
    while Path(f"/proc/{process}/task").exists():
        below, peaks = [process], 0
        for one in below:
            with contextlib.suppress(OSError, IndexError):  # it has just ended
                below += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
                peaks += int(Path(f"/proc/{one}/status").read_text().split("VmHWM:")[1].split()[0])
        together.append(peaks)
        time.sleep(0.02)


# ---------------------------------------------------------------------------- the files


def make(folder: Path, count: int, images: int) -> None:
    if (folder / "made").exists():
        return
    rng = random.Random(0)
    with contextlib.ExitStack() as stack:
        names = ("items.jsonl", "scores.jsonl", "a/items.jsonl", "b/items.jsonl")
        records = [record(folder / run, next(items(1, 1))) for run in "ab"]
        lines, scores, *runs = [stack.enter_context((folder / name).open("w")) for name in names]
        for item in items(count, images):
            lines.write(json.dumps(item.to_json()) + "\n")
            scores.write(json.dumps(scored(item, rng)) + "\n")
            texts = {"caption": item.caption}
            texts |= {kind: [text.text for text in getattr(item, kind)] for kind in ("positives", "negatives")}
            outcome = {"original": True, "augmented": False, "brittle": False, "tie": False}  # judged again when read
            for run in runs:
                run.write(json.dumps({**scored(item, rng), "outcome": outcome, "texts": texts}) + "\n")
    for run, result in zip("ab", records, strict=True):
        path = folder / run / "items.jsonl"
        rows = read_scores(path, doubled=False)
        result["scores_sha256"] = sha256_file(path)
        result["metrics"] = measure(rows, outcomes_of(rows), None).model_dump(mode="json")
        (folder / run / "result.json").write_text(json.dumps(result))
    write_items(folder / "items.parquet", load_items(folder / "items.jsonl"))
    (folder / "made").touch()


def items(count: int, images: int) -> Iterator[Item]:
    """One positive and one to three negatives each, about as long as those that `perturb` writes."""
    rng = random.Random(0)
    for number in range(count):
        caption = "A " + " ".join(rng.choices(WORDS, k=8)) + " near a " + rng.choice(WORDS)
        word, *other = rng.sample(WORDS, 4 if number % 8 == 0 else 2 if number % 2 else 3)
        yield Item(
            id=f"made-{SPLITS[number % 3]}/{number:07d}",
            image=ImageRef(path=f"photos/{number % images:09d}.jpg"),
            caption=caption,
            positives=(Text(text=f"{caption} again", edit=Edit(op="add", target="attribute", to="again", by="rule")),),
            negatives=tuple(
                Text(text=f"{caption} without {new}", edit=Edit(op="replace", target="object", source=word, to=new))
                for new in other
            ),
            tags={"split": SPLITS[number % 3], "type": TYPES[number % 6]},
        )


def scored(item: Item, rng: random.Random) -> dict[str, object]:
    values = [rng.gauss(0.25, 0.05) for _ in item.texts()]
    split = 1 + len(item.positives)
    lists = {"positives": values[1:split], "negatives": values[split:]}
    image = item.image.path if item.image else None
    return {"id": item.id, "image": image, "caption": values[0], **lists, "tags": item.tags}


def record(folder: Path, item: Item) -> dict[str, Any]:
    """The result.json of a run on one item; the run's scores are replaced by those of all."""
    from equipoise.evaluation.run import evaluate

    evaluate(OnePhoto(), [item], images=OnePhoto(), name="made", out=folder)
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


class OnePhoto:
    """A model and its photos, to make a record with."""

    card = MappingProxyType({"spec": "made", "digest": "made"})

    def read(self, path: str) -> bytes:
        Image.new("RGB", (8, 8)).save(buffer := io.BytesIO(), "PNG")
        return buffer.getvalue()

    def score_pairs(self, images: list[object], texts: list[str]) -> list[float]:
        return [0.1 * place for place, _ in enumerate(texts)]


if __name__ == "__main__":
    main()
