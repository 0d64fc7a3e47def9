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

import made
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
    """Draw small files: the timed code reads and hashes them, and decodes none."""
    from PIL import Image

    for number, path in enumerate(paths):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (32, 32), (number % 256, number // 256 % 256, 7)).save(target, "PNG")


def work(source: Path | None, folder: Path) -> None:
    started = time.monotonic()
    from equipoise.core.garbage import seldom_collected
    from equipoise.embedding.cache import EmbeddingCache
    from equipoise.evaluation.run import evaluate

    with seldom_collected():  # as in the command line and the Python interface
        items, benchmark = made.replace_items(source, 1_000_000) if source else (list(made.items(300, 60)), None)
        if not (folder / "photos").exists():
            draw(folder / "photos", sorted({item.image.path for item in items if item.image}))
        read = time.monotonic()
        cache = EmbeddingCache(folder / "cache")
        out = Path(tempfile.mkdtemp(dir=folder))  # a finished run would be read, and nothing measured
        result = evaluate(Stand(), items, images=folder / "photos", benchmark=benchmark, cache=cache, out=out)
    ended = time.monotonic()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    scores = hashlib.sha256((out / "items.jsonl").read_bytes()).hexdigest()[:12]
    counts = result.record.counts
    print(
        f"{len(result.rows):,} items, {counts['images_encoded']:,} images and {counts['texts_encoded']:,} texts "
        f"embedded: reading {read - started:.1f} s, scoring, measuring and writing {ended - read:.1f} s, "
        f"together {ended - started:.1f} s, peak memory {memory:.2f} GiB; scores {scores}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--tiny", action="store_true", help="300 made-up items: does the script run?")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not (arguments.source or arguments.tiny):
        parser.error("--source is missing: the folder of VL-CheckList's annotations (or --tiny)")
    if arguments.folder:
        work(arguments.source, arguments.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--folder", folder]
        command += ["--source", str(arguments.source)] if arguments.source else ["--tiny"]
        said = []
        for what in ("filling the cache", "from the cache"):
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            said.append(done.stdout)
            print(f"{what + ':':18} {done.stdout}", end="", flush=True)
    if " 0 images and 0 texts" not in said[1] or said[0].split()[-1] != said[1].split()[-1]:
        sys.exit("the second run should embed nothing and have the same scores")


if __name__ == "__main__":
    main()
