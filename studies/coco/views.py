"""What the frozen Lite2 sees of every photo: its last block's 9 x 9 x 352 values, of the whole, the middle, and parts.

They are made once and lie in files of 500 photos, (views, photos, 352, 9, 9) in half precision, which every base that
is tried then reads. Views 0 and 1 are the photo squeezed to a square and its middle; the others, of training photos
alone, are parts of 70 to 100 % of each side, mirrored or not, drawn by the photo's name.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps

from equipoise.core.files import atomic_write
from equipoise.data.images import TarImages
from equipoise.data.items import load_items
from studies.coco.parts import PREPROCESS, WHOLE, lite2

FIXED = 2  # whole and middle
AT_ONCE = 500  # photos of a file


def photos_of(data: str | Path, split: str) -> list[str]:
    """The photos of a split, in the order of its captions."""
    items = load_items(f"{data}/{split}-captions.jsonl")
    return list(dict.fromkeys(item.image.path for item in items if item.image))


def view(image: Image.Image, name: str, number: int) -> Image.Image:
    if number < FIXED:
        return (WHOLE, PREPROCESS)[number].pixels(image)
    rng = random.Random(f"{name}/{number}")
    wide, high = (round(side * (0.7 + 0.3 * rng.random())) for side in image.size)
    left, top = int(rng.random() * (image.width - wide + 1)), int(rng.random() * (image.height - high + 1))
    part = image.crop((left, top, left + wide, top + high))
    return WHOLE.pixels(ImageOps.mirror(part) if rng.random() < 0.5 else part)


@torch.inference_mode()
def see(wheel: str, photos: str, names: Sequence[str], out: Path, views: int, device: str, at_once: int = 50) -> None:
    """Write `out`, a part of the photos; a file that is there is left as it is."""
    if out.exists():
        return
    source = TarImages(sorted(Path(photos).glob("*.tar")))
    network = lite2(Path(wheel)).to(device, memory_format=torch.channels_last).eval()
    mean, deviation = (torch.tensor(v, device=device).view(3, 1, 1) for v in (PREPROCESS.mean, PREPROCESS.std))
    found = []

    def read(name: str) -> Any:
        image = Image.open(BytesIO(source.read(name))).convert("RGB")
        return np.stack([np.asarray(view(image, name, number)) for number in range(views)])

    for start in range(0, len(names), at_once):
        pixels = torch.from_numpy(np.stack([read(name) for name in names[start : start + at_once]])).to(device)
        floats = (pixels.flatten(0, 1).permute(0, 3, 1, 2).float() / 255 - mean) / deviation
        with torch.autocast(device, torch.float16, enabled=device == "cuda"):
            states = network.embeddings(floats.contiguous(memory_format=torch.channels_last))
            for block in network.encoder.blocks:
                states = block(states)
        found.append(states.half().view(len(pixels), views, *states.shape[1:]).transpose(0, 1).cpu())
    with atomic_write(out, "wb", flush=False) as handle:
        torch.save(torch.cat(found, 1).contiguous(), handle)
    if device == "cuda":
        torch.cuda.empty_cache()


@cache
def grids(out: str, splits: tuple[str, ...], device: str, views: tuple[int, ...] = ()) -> torch.Tensor:
    """All parts of these splits as one, (views, photos, 352, 9, 9); some views alone, or all. Once per process."""
    files = [path for split in splits for path in sorted((Path(out) / "views").glob(f"{split}-*.pt"))]
    parts = [torch.load(path, mmap=True, weights_only=True) for path in files]
    count, views = [part.shape[1] for part in parts], views or tuple(range(len(parts[0])))
    whole = torch.empty((len(views), sum(count), *parts[0].shape[2:]), dtype=parts[0].dtype, device=device)
    for part, to in zip(parts, torch.split(whole, count, 1), strict=True):  # not torch.cat: the memory twice
        for number, view in enumerate(views):
            to[number].copy_(part[min(view, len(part) - 1)])
    return whole
