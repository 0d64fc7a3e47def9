"""How many images per second one core can read, decode, resize and crop to 224 for training, from tar shards.

    python bench/input_pipeline.py FLICKR8K [--seconds 10]

The same functions as in equipoise.train, in one process: shard -> bytes -> RGB -> (random crop) -> 224 x 224
bytes (the device makes floats of them). A second is one of processor time, so that a shared machine gives the
same numbers as an idle one. Divide the pairs/s of train_step.py by this number for the cores that keep a GPU
busy. Flickr8k's photos there are 128 px at the shorter side, so for full-size photos decoding takes longer:
`--enlarge 4` writes the photos four times as large into a temporary shard first and reads those.
"""

from __future__ import annotations

import argparse
import io
import random
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import made
from PIL import Image

from equipoise.data.images import TarImages, decode_image
from equipoise.data.items import ImageRef
from equipoise.models.inputs import clip_preprocess
from equipoise.train.data.batches import random_crop


def rate(work: Callable[[str], object], names: list[str], seconds: float) -> float:
    """Images a second of processor time, going round the names until the time is over."""
    for name in names[:20]:
        work(name)
    done, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        work(names[done % len(names)])
        done += 1
    return done / spent


def enlarged(source: TarImages, names: list[str], factor: int, target: Path) -> TarImages:
    with tarfile.open(target, "w") as archive:
        for name in names:
            image = decode_image(source.read(name), ImageRef(path=name))
            buffer = io.BytesIO()
            image.resize((image.width * factor, image.height * factor)).save(buffer, "JPEG", quality=90)
            info = tarfile.TarInfo(name)
            info.size = buffer.tell()
            archive.addfile(info, io.BytesIO(buffer.getvalue()))
    return TarImages([target])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shards", type=Path, nargs="?", help="a folder of tar shards with photos")
    parser.add_argument("--tiny", action="store_true", help="four drawn photos: does the script run?")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--enlarge", type=int, default=1)
    options = parser.parse_args()
    if options.tiny:
        with tempfile.TemporaryDirectory() as folder:
            made.draw_some(Path(folder), ["1.jpg", "2.jpg", "3.jpg", "4.jpg"])
            with tarfile.open(Path(folder) / "x.tar", "w") as archive:
                for path in sorted(Path(folder).glob("*.jpg")):
                    archive.add(path, path.name)
            options.shards, options.seconds = Path(folder), 0.4
            measure(options)
    elif options.shards:
        measure(options)
    else:
        parser.error("name a folder of tar shards with photos (or --tiny)")


def measure(options: argparse.Namespace) -> None:
    shards = sorted(options.shards.glob("*.tar"))
    start = time.perf_counter()
    source = TarImages(shards)
    indexed = time.perf_counter() - start
    photos = [name for name in source.members if name.lower().endswith((".jpg", ".jpeg", ".png"))]
    names = random.Random(0).sample(photos, min(options.images, len(photos)))
    print(f"{len(source.members)} members of {len(shards)} shards indexed in {indexed:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        if options.enlarge > 1:
            source = enlarged(source, names, options.enlarge, Path(folder) / "large.tar")
        preprocess, rng = clip_preprocess(224), random.Random(0)

        def decode(name: str) -> Image.Image:
            return decode_image(source.read(name), ImageRef(path=name))

        sizes = [decode(name).size for name in names[:50]]
        shorter = sorted(min(size) for size in sizes)[len(sizes) // 2]
        print(f"{len(names)} photos, the median {shorter} px at the shorter side, one process:")
        for label, work in {
            "read": source.read,
            "read, decode": decode,
            "read, decode, resize, cut": lambda name: preprocess.pixels(decode(name)),
            "read, decode, random crop, resize": lambda name: preprocess.pixels(
                random_crop(decode(name), (0.9, 1.0), rng)
            ),
        }.items():
            print(f"  {label:35s} {rate(work, names, options.seconds / 4):8.0f} images/s")


if __name__ == "__main__":
    main()
