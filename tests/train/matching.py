"""A tiny BLIP with a matching head, and photos with captions and negatives in its words."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from tests.models.scorers.conftest import MADE, bert_tokenizer
from tests.models.scorers.test_xvlm import layout

from equipoise.data.items import Edit, ImageRef, Item, texts
from equipoise.models import load_model
from equipoise.models.scorers.itm import MatchingModel


def blip(folder: Path) -> MatchingModel:
    """Width 32, 2 layers, 32 px; saved as transformers does."""
    if not folder.exists():
        torch.manual_seed(0)
        network, image_processor = MADE["blip"]()
        for weight in network.parameters():
            if weight.dim() > 1:
                torch.nn.init.normal_(weight, std=0.2)
        for part in (network, bert_tokenizer(), image_processor):
            part.save_pretrained(folder)
    loaded = load_model(f"itm:{folder}", device="cpu")
    assert isinstance(loaded, MatchingModel)
    return loaded


def xvlm(folder: Path) -> MatchingModel:
    """A random file in X-VLM's layout."""
    folder.mkdir(exist_ok=True)
    state = {name: 0.3 * weight if weight.dim() > 1 else weight for name, weight in layout().items()}
    torch.save({"model": state | {"temp": torch.tensor(0.07)}}, folder / "xvlm.pth")
    bert_tokenizer().save_pretrained(folder)
    loaded = load_model(f"itm:{folder / 'xvlm.pth'}", device="cpu")
    assert isinstance(loaded, MatchingModel)
    return loaded


def items(folder: Path, count: int = 8) -> list[Item]:
    """Each photo is four fields of colour, with a caption of its own; some have one negative, some two."""
    folder.mkdir(exist_ok=True)
    found = []
    for number, (colour, thing) in enumerate(list(product(("red", "blue"), ("cup", "dog", "bird", "table")))[:count]):
        pixels = np.random.default_rng(number).integers(0, 255, (2, 2, 3), np.uint8)
        Image.fromarray(pixels).resize((40, 32 + number), Image.Resampling.NEAREST).save(folder / f"{number}.png")
        other = "blue" if colour == "red" else "red"
        negatives = texts(f"a {other} {thing} on the table", edit=Edit(op="replace", target="attribute"))
        if number % 3:
            longer = " and two small cup" if number == 1 else ""
            swapped = f"a table on the {colour} {thing}{longer}"
            negatives += texts(swapped, edit=Edit(op="swap", target="object"))
        found.append(
            Item(
                id=f"item-{number}",
                image=ImageRef(path=f"{number}.png"),
                caption=f"a {colour} {thing} on the table",
                negatives=negatives,
            )
        )
    return found
