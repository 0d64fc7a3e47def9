"""All 27,443 REPLACE items from cached embeddings: seconds and memory of scoring and judging, with intervals.

    python bench/eval_cached.py --source DIR-of-vl_checklist

Random 512-dimensional vectors stand in for a model's embeddings and small drawn files for its photos: neither
changes what is read, looked up, multiplied and resampled. The second of two processes is measured.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


class Stand:
    """Random vectors by content, as wide as ViT-B/32's."""

    card = {"spec": "stand-in", "weight_sha256": "0" * 64}  # noqa: RUF012

    def _vectors(self, inputs: Sequence[bytes]) -> Any:
        seeds = [int.from_bytes(hashlib.sha256(value).digest()[:8], "little") for value in inputs]
        return np.stack([np.random.default_rng(seed).normal(size=512) for seed in seeds])

    def embed_images(self, images: Sequence[Any]) -> Any:
        return self._vectors([image.tobytes() for image in images])

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return self._vectors([text.encode() for text in texts])


def draw(root: Path, paths: Sequence[str]) -> None:
    from PIL import Image

    for number, path in enumerate(paths):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (32, 32), (number % 256, number // 256 % 256, 7)).save(target, "PNG")


def work(source: Path, folder: Path) -> None:
    started = time.monotonic()
    from equipoise.benchmarks import registry
    from equipoise.evaluation.embedding.cache import EmbeddingCache
    from equipoise.evaluation.run import evaluate

    items, benchmark = registry.load("replace", source, ())
    if not (folder / "photos").exists():
        draw(folder / "photos", sorted({item.image.path for item in items if item.image}))
    read = time.monotonic()
    cache = EmbeddingCache(folder / "cache")
    out = tempfile.mkdtemp(dir=folder)  # a finished run would be read, and nothing measured
    result = evaluate(Stand(), items, images=folder / "photos", benchmark=benchmark, cache=cache, out=out)
    ended = time.monotonic()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{len(result.rows):,} items, {result.record.counts['images_encoded']:,} images and "
        f"{result.record.counts['texts_encoded']:,} texts embedded: "
        f"reading {read - started:.1f} s, scoring, judging and writing {ended - read:.1f} s, "
        f"together {ended - started:.1f} s, peak memory {memory:.2f} GiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder:
        work(arguments.source, arguments.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--source", str(arguments.source), "--folder", folder]
        print("filling the cache:", end=" ", flush=True)
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        print("from the cache:   ", end=" ", flush=True)
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
