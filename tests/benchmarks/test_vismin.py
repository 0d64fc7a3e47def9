"""On made-up rows in the documented layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError

vismin = registry.get("vismin")


def row(number: int, category: str) -> dict[str, object]:
    return {"id": number, "text_0": "two cats", "text_1": "three cats", "category": category, "question_1": "?"}


def test_ids_start_again_in_every_category(tmp_path: Path) -> None:
    rows = [row(0, "counting"), row(0, "object")]
    (tmp_path / "vismin.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    first, second = vismin.load(tmp_path, [])
    assert (first.id, second.id) == ("vismin-test/counting-0", "vismin-test/object-0")
    assert [ref.path for ref in first.images()] == ["counting-0_0.png", "counting-0_1.png"]
    assert first.texts() == ["two cats", "three cats"] and first.tags == {"split": "test", "category": "counting"}


def test_a_row_without_its_category_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vismin.jsonl").write_text(json.dumps({"id": 1, "text_0": "a", "text_1": "b"}) + "\n")
    with pytest.raises(UserError, match="line 1: category: field required"):
        vismin.load(tmp_path, [])
