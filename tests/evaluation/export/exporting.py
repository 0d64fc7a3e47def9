"""Items to export, and a model whose answer depends on the prompt alone, so that any harness gets the same one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from equipoise.benchmarks.registry import of_file
from equipoise.data.images import FolderImages
from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.asking.variants import parse_ask
from equipoise.evaluation.export.folder import Origin, export

ASK = "wordings,orders,prompts:2"


def said(prompt: str) -> str:
    """Mostly the right letter or word, now and then a wrong one or none."""
    number = hashlib.sha256(prompt.removeprefix("<image>").encode()).digest()[0]
    if number % 16 == 0:
        return "I cannot tell."
    options = dict(re.findall(r"^([A-Z]): (.*)$", prompt, re.MULTILINE)) or {"yes": "a dog", "no": "a cat"}
    right = next(name for name, text in options.items() if "dog" in text)
    return right if number % 5 else next(name for name in options if name != right)


class Mock:
    def answer(self, images: Sequence[Any], prompts: Sequence[str]) -> list[str]:
        return [said(prompt) for prompt in prompts]


def items(photos: Path) -> list[Item]:
    """Captions, questions with options and yes/no questions; tags that not all of them have."""
    photos.mkdir()
    found = []
    for number in range(10):
        Image.new("RGB", (32, 32), (20 * number, 0, 0)).save(photos / f"{number}.png")
        image = ImageRef(path=f"{number}.png", box=(4, 4, 16, 16) if number == 3 else None)
        more: dict[str, Any] = {}
        if number % 3 == 1:
            more = {"question": f"What is in picture {number}?", "rewordings": ("What do you see?",), "place": 1}
        elif number % 3 == 2:
            more = {"question": "Is this red?", "caption": "yes", "negatives": texts("no")}
        about = {
            "caption": f"a dog | number {number}", "positives": texts(f"one dog, {number}") if number % 3 == 0 else (),
            "negatives": texts("a cat", "a bird"), "tags": {"split": "ab"[number % 2], f"tag{number % 2}": "x"},
        }  # fmt: skip
        found.append(Item(id=f"pets/{number}", image=image, **(about | more)))
    return found


def exported(to: str, below: Path, given: Sequence[Item], name: str = "pets.jsonl") -> tuple[Path, list[str]]:
    out = below / to
    benchmark = of_file(Path(name), given)
    origin = Origin("https://example.org/pets", "CC-BY-4.0")
    return out, export(given, benchmark, FolderImages(below / "photos"), to, out, parse_ask(ASK), origin)
