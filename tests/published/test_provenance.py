"""Facts about published scores are kept, and scores that floats cannot tell apart are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts, write_items
from equipoise.evaluation.scores import read_scores
from equipoise.published.measuring import UNKNOWN, published_run


def files(folder: Path) -> tuple[Path, Path]:
    items = [
        Item(id=str(n), image=ImageRef(path=f"{n}.jpg"), caption=f"cat {n}", negatives=texts("a dog")) for n in range(9)
    ]
    write_items(folder / "items.jsonl", items)
    lines = [json.dumps({"id": item.id, "image": "x", "caption": 0.5, "negatives": [0.1]}) for item in items]
    (folder / "s.jsonl").write_text("\n".join(lines))
    return folder / "s.jsonl", folder / "items.jsonl"


def test_the_source_is_kept_and_another_is_refused(tmp_path: Path) -> None:
    scores, items = files(tmp_path)

    def source(**origin: str) -> str:
        published_run([scores], str(items), out=tmp_path / "run", **origin)
        return str(json.loads((tmp_path / "run" / "result.json").read_text())["published"]["source"])

    assert source() == UNKNOWN
    assert source(origin="some/repository") == "some/repository"
    assert source() == "some/repository"
    with pytest.raises(UserError, match="some/repository"):
        source(origin="another/repository")


def test_integers_that_no_float_holds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"id": "1", "image": "12345678901234567, x", "caption": 9007199254740993, "negatives": [1]}')
    with pytest.raises(UserError, match="9007199254740993"):
        read_scores(path)
    path.write_text('{"id": "1", "caption": 9007199254740992, "negatives": [1]}')
    assert read_scores(path)[0].caption == 2**53
