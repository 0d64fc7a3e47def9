"""Made-up items, photos and models, for benches that need no download."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SPLITS, TYPES = ("attributes", "relations", "objects"), ("action", "color", "material", "size", "state", "spatial")
WORDS = "man woman dog cat horse bicycle bench table street field umbrella surfboard red green old large riding".split()


def items(count: int, images: int, tags: int = 2) -> Iterator[Any]:
    """One positive and one to three negatives each, about as long as those that `perturb` writes."""
    from equipoise import Edit, ImageRef, Item, Text

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
            tags={"split": SPLITS[number % 3], "type": TYPES[number % 6]}
            | {f"tag {at}": f"value {number * at % 7}" for at in range(2, tags)},
        )


def replace_items(source: Path, records: int) -> tuple[list[Any], Any]:
    """REPLACE's records of random images, so that a sample has as many records an image as the whole benchmark."""
    from equipoise.benchmarks import registry

    loaded, benchmark = registry.load("replace", source, ())
    by_image: dict[str, list[Any]] = {}
    for item in loaded:
        by_image.setdefault(item.image.path if item.image else "", []).append(item)
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


def clip(device: str = "cpu", dtype: str = "float32", tiny: bool = False) -> Any:
    """A random-weight ViT-B/32, or one with a layer of 64, with CLIP's real tokenizer and preprocessing."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    from equipoise.models.clip import ClipModel
    from equipoise.models.inputs import clip_preprocess, clip_tokenizer

    torch.manual_seed(0)
    small = {"num_hidden_layers": 1, "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 2}
    network = CLIPModel(CLIPConfig(text_config=small, vision_config=small) if tiny else CLIPConfig())
    return ClipModel("random ViT-B/32", network, clip_tokenizer(), clip_preprocess(224), device=device, dtype=dtype)
