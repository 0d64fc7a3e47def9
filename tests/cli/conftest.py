"""A folder with photos, items and a model of the user's own, and commands that are run in it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.cli.commands import Run

from equipoise.data.items import ImageRef, Item, texts, write_items


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, command_line: Run, tmp_path: Path) -> Run:
    """Run a command in an empty folder with a cache of its own: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine.py").write_text(
        "import hashlib, numpy as np\n"
        "class Model:\n"
        "    def embed_images(self, images): return np.stack([self.v(im.tobytes()) for im in images])\n"
        "    def embed_texts(self, texts): return np.stack([self.v(t.encode()) for t in texts])\n"
        "    def v(self, raw): return np.random.default_rng(list(hashlib.sha256(raw).digest())).normal(size=8)\n"
    )

    yield command_line  # type: ignore[misc]
    sys.modules.pop("mine", None)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for index in range(6):
        pixels = np.random.default_rng(index).integers(0, 255, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{index}.png")
    items = [
        Item(
            id=str(index),
            image=ImageRef(path=f"{index % 6}.png"),
            caption=f"a cat {index}",
            positives=texts(f"one cat {index}"),
            negatives=texts(f"a dog {index}"),
            tags={"split": "ab"[index % 2]},
        )
        for index in range(12)
    ]
    write_items(tmp_path / "items.jsonl", items)
    return folder
