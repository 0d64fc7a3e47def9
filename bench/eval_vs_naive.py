"""Our evaluator against the straightforward way, on a random-weight ViT-B/32 and REPLACE records.

    python bench/eval_vs_naive.py --source DIR-of-vl_checklist [--records 1000]

The straightforward way is what the published code does: every record, both passes (caption against negative, hard
positive against the same negative), each image decoded and encoded in each pass, 77 tokens, batch 16. Photos are
drawn stand-ins (the same path gives the same photo). Images, not records, are drawn at random, so that the sample
has as many records per image as the whole benchmark. Each way runs in its own process on the same cores, one after the
other, and both must come to the same outcomes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import made
import numpy as np


def sample(source: Path | None, records: int) -> tuple[Any, Any]:
    """REPLACE's records, or made-up records that also have one negative each."""
    if source:
        return made.replace_items(source, records)
    return [item.model_copy(update={"negatives": item.negatives[:1]}) for item in made.items(records, 6)], None


def ours(model: Any, items: Any, benchmark: Any, root: Path) -> dict[str, dict[str, bool]]:
    from equipoise.core.garbage import seldom_collected
    from equipoise.evaluation.run import evaluate

    with seldom_collected():  # as in the command line and the Python interface
        result = evaluate(model, items, images=root, benchmark=benchmark)
    print(f"encoded: {result.record.counts}")
    return outcomes_of(result)


def outcomes_of(result: Any) -> dict[str, dict[str, bool]]:
    """The outcomes that the straightforward way has too, by item."""
    from equipoise.evaluation import outcomes
    from equipoise.evaluation.results import each_outcome

    names = ("original", "augmented", "brittleness", "tie")
    each = zip((row.id for row in result.rows), each_outcome(outcomes.outcomes_of(result.rows)), strict=True)
    return {item: {name: bool(outcome[name]) for name in names} for item, outcome in each}


def naive(model: Any, items: Any, root: Path) -> dict[str, dict[str, bool]]:
    """Two passes over every record; nothing is shared between passes, records or batches."""
    from PIL import Image

    def one_pass(right: list[str], wrong: list[str]) -> list[tuple[float, float]]:
        scores: list[tuple[float, float]] = []
        for start in range(0, len(items), 16):
            stop = start + 16
            pictures = [Image.open(root / item.image.path).convert("RGB") for item in items[start:stop]]
            image = model.encode_images(np.stack([model.preprocess(picture) for picture in pictures])).astype(float)
            pair = [
                (image * model.encode_texts(model.tokenize(texts[start:stop]), pad_to=77).astype(float)).sum(1)
                for texts in (right, wrong)
            ]
            scores += list(zip(*(values.tolist() for values in pair), strict=True))
        return scores

    negatives = [item.negatives[0].text for item in items]
    first = one_pass([item.caption for item in items], negatives)
    second = one_pass([item.positives[0].text for item in items], negatives)
    outcomes = {}
    for item, (c, n), (p, again) in zip(items, first, second, strict=True):
        tie = c == n or p == again
        outcomes[item.id] = {
            "original": c > n,
            "augmented": c > again and p > again,
            "brittleness": (c > again > p) or (p > again > c),
            "tie": tie,
        }
    return outcomes


def work(way: str, source: Path | None, records: int, folder: Path) -> None:
    items, benchmark = sample(source, records)
    model = made.clip(tiny=source is None)
    model.encode_texts([[49406, 320, 49407]] * 2)  # the first call pays for set-up, in both ways
    started = time.monotonic()
    root = folder / "photos"
    outcomes = ours(model, items, benchmark, root) if way == "ours" else naive(model, items, root)
    seconds = time.monotonic() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    (folder / f"{way}.json").write_text(json.dumps({"seconds": seconds, "memory": memory, "outcomes": outcomes}))


def forked(command: list[str]) -> None:
    process = multiprocessing.get_context("fork").Process(target=called, args=(command,))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"exit status {process.exitcode}: {' '.join(command)}")


def called(command: list[str]) -> None:
    sys.argv = command
    main()


def all_records(source: Path) -> None:
    from equipoise.benchmarks import registry

    items, _ = registry.load("replace", source, ())
    images = len({item.image.path for item in items if item.image})
    texts = {
        " ".join(text.lower().split())
        for item in items
        for text in (item.caption, *(t.text for t in item.positives), *(t.text for t in item.negatives))
    }
    n = len(items)
    print(
        f"all {n:,} records: the straightforward way encodes {2 * n:,} images and {4 * n:,} texts, ours {images:,} and "
        f"{len(texts):,}: {2 * n / images:.1f} and {4 * n / len(texts):.1f} times fewer"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--tiny", action="store_true", help="made-up items and a tiny model: does the script run?")
    parser.add_argument("--way", choices=["ours", "naive"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        work(arguments.way, arguments.source, arguments.records, arguments.folder)
        return
    if arguments.tiny:
        arguments.source, arguments.records = None, 24
    elif arguments.source:
        all_records(arguments.source)
    else:
        parser.error("--source is missing: the folder of VL-CheckList's annotations (or --tiny)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        items, _ = sample(arguments.source, arguments.records)
        made.draw(folder / "photos", sorted({item.image.path for item in items}))
        runs = {}
        for way in ("ours", "naive"):
            command = [__file__, "--records", str(len(items)), "--way", way, "--folder", name]
            if arguments.source:
                command += ["--source", str(arguments.source)]
            if arguments.tiny:  # a new process would load torch for longer than it works
                forked(command)
            else:
                subprocess.run([sys.executable, *command], check=True, stderr=subprocess.DEVNULL)
            runs[way] = json.loads((folder / f"{way}.json").read_text())
            print(f"{way:5} {runs[way]['seconds']:8.1f} s, peak memory {runs[way]['memory']:.2f} GiB")
        same = runs["ours"]["outcomes"] == runs["naive"]["outcomes"]
        ratio = runs["naive"]["seconds"] / runs["ours"]["seconds"]
        print(f"{len(items):,} records: {ratio:.1f} times faster, {'the same' if same else 'DIFFERENT'} outcomes")
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
