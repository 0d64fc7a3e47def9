"""The models of docs/beyond_dual_encoders.md, as they stand there: one tower for both, and late interaction."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tests.models.scorers.conftest import TEXTS

from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.scoring import score_items
from equipoise.models import kind_of, load_model

DOCS = Path(__file__).resolve().parents[3] / "docs" / "beyond_dual_encoders.md"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for code in re.findall(r"(?s)```python\n(.*?)```", DOCS.read_text()):
        (tmp_path / code.split()[1]).write_text(code)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def items(photos: list[Image.Image], folder: Path) -> list[Item]:
    for index, photo in enumerate(photos):
        photo.save(folder / f"{index}.png")
    return [
        Item(id=str(n), image=ImageRef(path=f"{n}.png"), caption=TEXTS[0], negatives=texts(*TEXTS[1:]))
        for n in range(len(photos))
    ]


def test_one_tower(
    written: Path, chats: Callable[[str], Path], photos: list[Image.Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONE_TOWER", str(chats("llava")))
    model: Any = load_model("py:onetower:make")
    assert kind_of(model) == "embeds"
    rows = score_items(model, items(photos, written), images=written).rows
    image, text = model.embed_images(photos[:1])[0], model.embed_texts(TEXTS[:1])[0]
    cosine = image @ text / np.linalg.norm(image) / np.linalg.norm(text)
    assert rows[0].caption == pytest.approx(cosine, abs=1e-5)
    assert len({round(row.caption, 6) for row in rows}) == len(rows)


def test_late_interaction(
    written: Path, clip_folder: Path, photos: list[Image.Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAX_SIM", str(clip_folder))
    model: Any = load_model("py:maxsim:make")
    assert kind_of(model) == "pairs"
    rows = score_items(model, items(photos, written), images=written, batch_size=3).rows
    with torch.inference_mode():
        patches, tokens = model.patches(photos[1]).numpy(), model.tokens(TEXTS[2]).numpy()
    assert len(patches) == 4 and len(tokens) == len(TEXTS[2].split())
    best = [max(float(token @ patch) for patch in patches) for token in tokens]
    assert rows[1].negatives[1] == pytest.approx(sum(best) / len(best), abs=1e-5)
    assert len({round(row.caption, 6) for row in rows}) == len(rows)
