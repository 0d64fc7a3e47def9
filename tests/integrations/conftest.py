"""A small random CLIP as the packages know it, and items with pictures."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

if find_spec("torchvision"):  # without two operators a build for another torch breaks transformers and open_clip
    _library = torch.library.Library("torchvision", "FRAGMENT")
    for _operator in ("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", "qnms(Tensor dets) -> Tensor"):
        with contextlib.suppress(RuntimeError):  # this one has it
            _library.define(_operator)
from tests.train.conftest import tiny_items, tiny_model

from equipoise.data.items import Item

__all__ = ["tiny_items", "tiny_model"]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def clip(tiny_model: Callable[..., Any]) -> Callable[[], tuple[Any, Any]]:
    """Makes transformers' model, with dropout, and its processor."""
    from transformers import CLIPImageProcessorPil, CLIPProcessor

    def make() -> tuple[Any, Any]:
        made = tiny_model()
        images = CLIPImageProcessorPil(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
        for module in made.network.modules():
            if hasattr(module, "dropout"):
                module.dropout = 0.2  # of the attention
        return made.network.train(), CLIPProcessor(image_processor=images, tokenizer=made.tokenizer)

    return make


@pytest.fixture
def batches(tmp_path: Path, tiny_items: Callable[..., list[Item]]) -> Callable[[Any], list[dict[str, Any]]]:
    """The batches that a Trainer trains on: pixel_values and input_ids of each item."""

    def make(processor: Any) -> list[dict[str, Any]]:
        found = []
        for item in tiny_items(24):
            picture = Image.open(tmp_path / "images" / item.image.path)
            read = {"return_tensors": "pt", "padding": "max_length", "max_length": 20}
            whole = processor(text=item.caption, images=picture, **read)
            found.append({name: value[0] for name, value in whole.items()})
        return found

    return make


def same(ours: Any, theirs: Any) -> bool:
    """Whether two networks have the same weights and buffers, bit for bit."""
    left, right = ours.state_dict(), theirs.state_dict()
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
