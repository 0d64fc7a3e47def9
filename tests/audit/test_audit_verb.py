"""`equipoise audit`: the page, the record, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from equipoise import cli
from equipoise.audit.page import markdown
from equipoise.audit.record import Audit
from equipoise.audit.run import audit
from equipoise.items import Item, texts, write_items


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    hostile = "a `cup` | <b>on</b>\na mat"
    write_items(
        path, [Item(id="1", caption=hostile, negatives=texts(hostile)), Item(id="2", caption="x", negatives=())]
    )
    return path


def test_the_page_and_the_record(
    items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("audit", str(items), "--json", monkeypatch=monkeypatch) == 0
    record = Audit.model_validate_json(capsys.readouterr().out)
    assert {check.name: check.count for check in record.checks if check.count} == {"forced_ties": 1, "spaces": 1}
    assert run("audit", str(items), monkeypatch=monkeypatch) == 0
    page = capsys.readouterr().out
    assert page.startswith("# Audit of items")
    assert "### forced ties: 1 of 1" in page and "Fix: " in page
    out = tmp_path / "page.md"
    assert run("audit", str(items), "--json", "--out", str(out), monkeypatch=monkeypatch) == 0
    assert out.read_text() == markdown(record)
    assert Audit.model_validate_json(out.with_suffix(".json").read_text()) == record


def test_texts_of_strangers_stay_code(items: Path) -> None:
    page = markdown(audit([Item(id="`1`\n# x", caption="a `b`\n# c", negatives=texts("A `b` # c"))], "x"))
    assert "\n# x" not in page and "\n# c" not in page and "`b`" not in page


def test_every_number_of_the_page_is_in_the_record(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.benchmarks import sugarcrepe_pp

    found = audit(sugarcrepe_pp.load(samples / "sugarcrepe_pp", []), "sugarcrepe-pp")
    page = markdown(found)
    assert "must put a caption above all negatives of its item" in page, "why eval's blind judges have other shares"
    for one in found.shortcuts:
        assert f"{100 * one.result.share:.1f} [{100 * one.result.interval[0]:.1f}" in page
    assert found.reuse is not None and f"Effective sample size {found.reuse.effective:,.0f}" in page


def test_refusals(items: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", str(items), "--out", "page.html", monkeypatch=monkeypatch) == 2
    assert "ends in .md" in capsys.readouterr().err
    assert run("audit", "sugarcrep", monkeypatch=monkeypatch) == 2
    assert "sugarcrepe" in capsys.readouterr().err
    assert run("audit", "sugarcrepe", monkeypatch=monkeypatch) == 2
    assert "--source" in capsys.readouterr().err
