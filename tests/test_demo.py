"""The demo end to end, at a size for tests: same code, fewer items and steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise import demo
from equipoise.errors import UserError
from equipoise.files import read_json
from equipoise.run_folder import locked


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.train import recipes
    from equipoise.world import benchmarks, splits

    get_recipe, finetuning_items = recipes.get_recipe, splits.finetuning_items

    def few_steps(name: str, **options: Any) -> Any:
        return replace(get_recipe(name, **options), max_steps=3, batch_size=16)

    monkeypatch.setattr(recipes, "get_recipe", few_steps)
    monkeypatch.setattr(splits, "finetuning_items", lambda: finetuning_items(n=48))
    monkeypatch.setattr(benchmarks, "SIZE", 40)


def test_the_whole_story_and_a_second_call_that_resumes(
    small: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown = demo.run_demo(tmp_path)
    page = tmp_path / "report.html"
    text = page.read_text()
    for part in ("REPLACE", "SWAP", "HP+HN", "unseen synonyms", "world-unseen", "hard negative", "points ["):
        assert part in text
    results = sorted((tmp_path / "runs").rglob("result.json"))
    assert len(results) == len(demo.MODELS) * len(demo.TESTS)
    assert len({read_json(path)["model"]["weight_sha256"] for path in results}) == len(demo.MODELS)
    rows = demo.table_rows(shown)
    assert [row.label for row in rows][:2] == ["base REPLACE", "control REPLACE"]
    assert rows[0].numbers.n == 80 and rows[-1].numbers.n == 40
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file() and path != page}
    assert "not computed" not in caplog.text
    demo.run_demo(tmp_path)
    assert f"16 of 16 evaluations read from {tmp_path / 'runs'}, not computed" in caplog.text
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert page.read_text() == text


def test_the_demo_takes_only_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(UserError, match=r"no run of equipoise demo: report\.html would be overwritten"):
        demo.run_demo(tmp_path)
    assert (tmp_path / "report.html").read_text() == "mine"
    with locked(tmp_path / "out"), pytest.raises(UserError, match="another run is writing it now"):
        demo.run_demo(tmp_path / "out")
