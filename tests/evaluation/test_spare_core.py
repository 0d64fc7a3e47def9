"""With a spare core the texts are measured in other processes, and the record is the same."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import UserError
from equipoise.core.files import sha256_file
from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation import run
from equipoise.evaluation.results import read_run
from equipoise.evaluation.scoring import Scoring
from equipoise.evaluation.task import ItemsTask
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


@pytest.mark.parametrize("many", [1, 1_000])
def test_a_run_that_finishes_meanwhile_keeps_its_items(
    many: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk without locks two runs may write into one folder; the later one is refused."""
    image = ImageRef(path="a.png")
    items = [Item(id=str(n), image=image, caption="a cat", negatives=texts("a dog")) for n in range(3)]
    other = [Item(id=str(n), image=image, caption="a cow", negatives=texts("a horse that eats")) for n in range(3)]
    blind = load_blind("length", spec="blind:length")
    begun, lines = ItemsTask.lines, []

    def overtaken(self: ItemsTask, scoring: Scoring) -> Any:
        if self.items[0].caption == "a cat":
            (tmp_path / "run" / "items.jsonl").write_bytes((tmp_path / "other" / "items.jsonl").read_bytes())
            (tmp_path / "run" / "result.json").write_bytes((tmp_path / "other" / "result.json").read_bytes())
        lines.append(self)
        return begun(self, scoring)

    run.evaluate(blind, other, out=tmp_path / "other", workers=1)
    (tmp_path / "run").mkdir()
    monkeypatch.setattr(run.run_folder, "locked", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(run, "MANY", many)
    monkeypatch.setattr(ItemsTask, "lines", overtaken)
    with pytest.raises(UserError, match="another run"):
        run.evaluate(blind, items, out=tmp_path / "run", workers=3)
    assert lines and len(read_run(tmp_path / "run")[1]) == 3
