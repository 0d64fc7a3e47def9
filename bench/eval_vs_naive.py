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
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np


def sample(source: Path, records: int) -> tuple[Any, Any]:
    from equipoise.benchmarks import registry

    items, benchmark = registry.load("replace", source, ())
    by_image: dict[str, list[Any]] = {}
    for item in items:
        by_image.setdefault(item.image.path, []).append(item)
    names = sorted(by_image)
    chosen: list[Any] = []
    for index in np.random.default_rng(0).permutation(len(names)):
        chosen += by_image[names[index]]
        if len(chosen) >= records:
            break
    return chosen[:records], benchmark


def draw(root: Path, paths: list[str]) -> None:
    """Photos of the usual size (500 x 375): smooth colours with a few edges, so that JPEG has work to do."""
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(len(os.sched_getaffinity(0))) as pool:
        pool.starmap(draw_some, [(root, paths[start : start + 50]) for start in range(0, len(paths), 50)])


def draw_some(root: Path, paths: list[str]) -> None:
    from PIL import Image, ImageDraw

    for path in paths:
        rng = np.random.default_rng(zlib.crc32(path.encode()))
        coarse = rng.integers(0, 255, (6, 8, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((500, 375), Image.Resampling.BICUBIC)
        pen = ImageDraw.Draw(image)
        for _ in range(8):
            x, y = (int(value) for value in rng.integers(0, 400, 2))
            pen.ellipse((x, y, x + 90, y + 70), fill=tuple(int(value) for value in rng.integers(0, 255, 3)))
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        image.save(target, "JPEG", quality=90)


def vit_b_32(device: str = "cpu", dtype: str = "float32") -> Any:
    """A random-weight ViT-B/32 with CLIP's real tokenizer and preprocessing."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    from equipoise.models.clip import ClipModel
    from equipoise.models.preprocess import clip_preprocess
    from equipoise.models.tokens import clip_tokenizer

    torch.manual_seed(0)
    network = CLIPModel(CLIPConfig())
    spec = "random ViT-B/32"
    return ClipModel(spec, network, clip_tokenizer(), clip_preprocess(224), device=device, dtype=dtype)


def ours(model: Any, items: Any, benchmark: Any, root: Path) -> dict[str, dict[str, bool]]:
    from equipoise.evaluation.run import evaluate

    result = evaluate(model, items, images=root, benchmark=benchmark)
    print(f"encoded: {result.record.counts}")
    return {row.id: result.outcomes.of(index) for index, row in enumerate(result.rows)}


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
            "brittle": (c > again > p) or (p > again > c),
            "tie": tie,
        }
    return outcomes


def work(way: str, source: Path, records: int, folder: Path) -> None:
    items, benchmark = sample(source, records)
    model = vit_b_32()
    model.encode_texts([[49406, 320, 49407]] * 2)  # the first call pays for set-up, in both ways
    started = time.monotonic()
    root = folder / "photos"
    outcomes = ours(model, items, benchmark, root) if way == "ours" else naive(model, items, root)
    seconds = time.monotonic() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    (folder / f"{way}.json").write_text(json.dumps({"seconds": seconds, "memory": memory, "outcomes": outcomes}))


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
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--way", choices=["ours", "naive"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        work(arguments.way, arguments.source, arguments.records, arguments.folder)
        return
    all_records(arguments.source)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        items, _ = sample(arguments.source, arguments.records)
        draw(folder / "photos", sorted({item.image.path for item in items}))
        found = {}
        for way in ("ours", "naive"):
            command = [sys.executable, __file__, "--source", str(arguments.source), "--records", str(arguments.records)]
            subprocess.run([*command, "--way", way, "--folder", name], check=True, stderr=subprocess.DEVNULL)
            found[way] = json.loads((folder / f"{way}.json").read_text())
            print(f"{way:5} {found[way]['seconds']:8.1f} s, peak memory {found[way]['memory']:.2f} GiB")
        same = found["ours"]["outcomes"] == found["naive"]["outcomes"]
        ratio = found["naive"]["seconds"] / found["ours"]["seconds"]
        print(f"{len(items):,} records: {ratio:.1f} times faster, {'the same' if same else 'DIFFERENT'} outcomes")
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
