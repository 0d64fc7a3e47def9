"""With a spare core the texts are measured in other processes, and the record is the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.core.files import sha256_file
from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation import run
from equipoise.models.blind import load_blind


def test_the_record_is_the_same_with_and_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        Item(
            id=str(n), image=ImageRef(path=f"{n % 7}.png"), caption=f"a {n} cat", positives=texts(f"{n} cats"),
            negatives=texts(f"a {n} dog that barks")
        )
        for n in range(30)
    ]  # fmt: skip
    records = []
    for many in (1, 1_000):
        monkeypatch.setattr(run, "MANY", many)
        run.evaluate(load_blind("length", spec="blind:length"), items, out=tmp_path / str(many), workers=3)
        record = json.loads((tmp_path / str(many) / "result.json").read_text())
        fields = ("benchmark", "model", "metrics", "blind", "ceilings", "edits", "scores_sha256")
        records.append({name: record[name] for name in fields})
        assert sha256_file(tmp_path / str(many) / "items.jsonl") == record["scores_sha256"]
    assert records[0] == records[1]
    monkeypatch.setattr(run, "MANY", 1)
    with pytest.raises(UserError):  # also then another run's folder is refused
        run.evaluate(load_blind("length", spec="blind:length"), items[1:], out=tmp_path / "1", workers=3)
