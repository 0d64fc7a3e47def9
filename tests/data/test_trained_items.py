"""The items that a model was finetuned on lie in its folder: counted one by one, passed on, and never too large."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from equipoise.data import identity
from equipoise.data.identity import trained_keys, trained_on, write_trained
from equipoise.data.items import ImageRef, Item, texts


def _items(*numbers: int, negative: str = "a dog") -> list[Item]:
    return [
        Item(id=str(n), image=ImageRef(path=f"{n}.png"), caption=f"a cat {n}", negatives=texts(negative))
        for n in numbers
    ]


def test_items_are_counted_whatever_was_written_for_them_since(tmp_path: Path) -> None:
    model = SimpleNamespace(folder=tmp_path)
    assert trained_on(model, _items(1)) is None and trained_on(object(), _items(1)) is None  # nobody says
    write_trained(tmp_path, trained_keys(object(), _items(1, 2, 3)))
    assert trained_on(model, _items(2, 3, 4, 5, negative="a fox")) == 2
    moved = [item.model_copy(update={"image": ImageRef(path="other.png")}) for item in _items(2)]
    assert trained_on(model, moved) == 0


def test_what_the_base_was_trained_on_is_passed_on(tmp_path: Path) -> None:
    write_trained(tmp_path, trained_keys(object(), _items(1)))
    again = tmp_path / "again"
    again.mkdir()
    write_trained(again, trained_keys(SimpleNamespace(folder=tmp_path), _items(2)))
    assert trained_on(SimpleNamespace(folder=again), _items(1, 2, 3)) == 2


def test_too_many_are_not_kept_and_a_strangers_file_is_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "MOST_TRAINED", 2)
    write_trained(tmp_path, trained_keys(object(), _items(1, 2, 3)))
    assert not (tmp_path / identity.TRAINED).exists()
    (tmp_path / identity.TRAINED).write_bytes(b"\xff\x1b[2J not a hash")
    assert trained_on(SimpleNamespace(folder=tmp_path), _items(1)) == 0
    (tmp_path / identity.TRAINED).write_bytes(b"0" * 100)
    assert trained_on(SimpleNamespace(folder=tmp_path), _items(1)) is None  # larger than any of ours
