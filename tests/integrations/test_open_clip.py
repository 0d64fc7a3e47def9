"""watch_open_clip in a loop with open_clip's model, preprocessing and tokenizer."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from tests.integrations.conftest import same

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("open_clip") is None, reason="make test-extras"),
]
TOWERS = {"vision_cfg": {"image_size": 32, "layers": (1, 1, 1, 1), "width": 16, "patch_size": None, "head_width": 16}}
TOWERS |= {"text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1}}


@pytest.fixture
def open_clip() -> Any:
    return importlib.import_module("open_clip")


def trained(open_clip: Any, items: list[Any], folder: Path, watching: dict[str, Any] | None) -> tuple[Any, dict]:
    from equipoise.integrations import watch_open_clip

    torch.manual_seed(0)
    model = open_clip.model.CLIP(embed_dim=16, **TOWERS).train()  # a ResNet: its BatchNorm has statistics
    transform, tokenizer = open_clip.transform.image_transform, open_clip.SimpleTokenizer()
    noisy = transform(32, is_train=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of, seen = open_clip.loss.ClipLoss(), {}
    if watching is not None:
        watch = watch_open_clip(model, transform(32, is_train=False), tokenizer, items, out=folder, **watching)
    for step in range(1, 13):
        batch = items[(step * 6) % 24 : (step * 6) % 24 + 6]
        pixels = torch.stack([noisy(Image.open(folder.parent / "images" / one.image.path)) for one in batch])
        image, text, scale = model(pixels, tokenizer([one.caption for one in batch]))
        optimizer.zero_grad()
        loss_of(image, text, scale).backward()
        optimizer.step()
        if watching is not None and (found := watch(step)):
            seen[step] = found
    return model, seen


class Writer:
    """A writer such as the loop has as `tb_writer`."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.rows.append((name, value, step))


def test_training_is_bit_for_bit_that_without_it(open_clip, tiny_items, tmp_path) -> None:
    items, writer = tiny_items(24), Writer()
    plain, _ = trained(open_clip, items, tmp_path / "a", None)
    watching = {"images": tmp_path / "images", "every": 2, "seconds": 5, "writer": writer}
    model, seen = trained(open_clip, items, tmp_path / "b", watching)
    assert same(plain, model) and list(seen) == [2, 4, 6, 8, 10, 12]
    names = {f"equipoise/{name}" for name in ("original", "augmented", "brittleness", "drop", "n")}
    assert all(found.keys() == names for found in seen.values())
    assert writer.rows == [(name, value, step) for step, found in seen.items() for name, value in found.items()]
    kept = torch.load(tmp_path / "b" / "equipoise-best.pt", weights_only=True)
    assert kept["step"] == max(seen, key=lambda step: seen[step]["equipoise/augmented"])
    again = open_clip.model.CLIP(embed_dim=16, **TOWERS)
    open_clip.load_checkpoint(again, str(tmp_path / "b" / "equipoise-best.pt"))
