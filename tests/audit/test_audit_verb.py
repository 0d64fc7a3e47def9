"""`equipoise audit`: the page, the record, and what it refuses."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path

import pytest
from PIL import Image

from equipoise import cli
from equipoise.audit.checks import audit
from equipoise.audit.page import markdown
from equipoise.audit.record import Audit
from equipoise.data.items import ImageRef, Item, load_items, texts, write_items


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
    assert "1 of 2 items is bad" in page and "read the same: 1 of 1" in page and "Fix: " in page
    for _ in range(2):  # the same command again replaces its own
        assert run("audit", str(items), "--out", str(tmp_path / "page.md"), monkeypatch=monkeypatch) == 0
        assert run("audit", str(items), "--json", "--out", str(tmp_path / "r.json"), monkeypatch=monkeypatch) == 0
    assert (tmp_path / "page.md").read_text() == f"<!-- equipoise audit -->\n\n{markdown(record)}"
    assert Audit.model_validate_json((tmp_path / "r.json").read_text()) == record
    shown = {path.name for path in tmp_path.iterdir() if path.name[0] != "."}
    assert shown == {"items.jsonl", "page.md", "r.json"}


@pytest.mark.parametrize("name", ["README.md", "README.json"])
def test_nothing_that_a_user_wrote_is_overwritten(
    name: str, items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / name
    out.write_text("precious notes on equipoise audit")
    more = ["--json"] if out.suffix == ".json" else []
    assert run("audit", str(items), *more, "--out", str(out), monkeypatch=monkeypatch) == 2
    assert f"{name}: already there, and not written by this command" in capsys.readouterr().err
    assert out.read_text() == "precious notes on equipoise audit"


def test_html_in_tags_and_names_is_text() -> None:
    tag = "<script>document.title='x'</script> [a](javascript:b)"
    same = [Item(id=str(n), caption="a cat", negatives=texts("a cat"), tags={"split": tag + str(n)}) for n in range(2)]
    page = markdown(audit(same, tag))
    assert "<script" not in page and "[a](" not in page.replace("\\[a](", "")
    assert "&lt;script&gt;" in page


def test_texts_of_strangers_stay_code(items: Path) -> None:
    page = markdown(audit([Item(id="`1`\n# x", caption="a `b`\n# c", negatives=texts("A `b` # c"))], "x"))
    assert "\n# x" not in page and "\n# c" not in page and "`b`" not in page


def test_every_number_of_the_page_is_in_the_record(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.benchmarks import registry

    sugarcrepe_pp = registry.get("sugarcrepe-pp")

    found = audit(sugarcrepe_pp.load(samples / "sugarcrepe_pp", []), "sugarcrepe-pp")
    page = markdown(found)
    assert "must rank a caption above all negatives of its item" in page, "why the numbers of `eval` differ"
    for one in found.shortcuts:
        assert f"{100 * one.result.share:.1f} [{100 * one.result.interval[0]:.1f}" in page
    assert found.reuse is not None and f"Effective sample size {found.reuse.effective:,.0f}" in page


def test_refusals(items: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", str(items), "--out", "page.txt", monkeypatch=monkeypatch) == 2
    assert "ends in .html or .md" in capsys.readouterr().err
    assert run("audit", str(items), "--json", "--out", "page.md", monkeypatch=monkeypatch) == 2
    assert "ends in .json" in capsys.readouterr().err
    assert run("audit", "sugarcrep", monkeypatch=monkeypatch) == 2
    assert "sugarcrepe" in capsys.readouterr().err
    assert run("audit", "sugarcrepe", monkeypatch=monkeypatch) == 2
    assert "--source" in capsys.readouterr().err


def test_it_has_a_page_and_ends_with_a_verdict(
    items: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(items.parent)
    assert run("audit", str(items), monkeypatch=monkeypatch) == 0
    ending = capsys.readouterr().out.rpartition("Verdict")[2]
    assert "1 of 2 items is bad" in ending and "irregular spaces (1 of 2" in ending
    assert run("audit", str(items), "--out", "audit.html", monkeypatch=monkeypatch) == 0
    page = (items.parent / "audit.html").read_text()
    assert "1 of 2 items is bad" in page and "<script" not in page
    (items.parent / "audit.html").write_text("mine")
    assert run("audit", str(items), "--out", "audit.html", monkeypatch=monkeypatch) == 2


def test_every_finding_is_listed_and_the_rest_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five of them were, nowhere all."""
    picture = ImageRef(path="a.jpg")
    copies = [Item(id=f"copy{n}", caption="a cat", negatives=texts("a dog"), image=picture) for n in range(10)]
    wrong = [Item(id=f"no{n}", caption=f"a hen {n}", negatives=texts("a cat"), image=picture) for n in range(8)]
    ties = [Item(id=f"tie{n}", caption=f"a rat {n}", negatives=texts(f"a rat {n}")) for n in range(7)]
    good = [Item(id="good", caption="a pig", negatives=texts("a fox"), image=ImageRef(path="b.jpg"))]
    path, clean, table = tmp_path / "items.jsonl", tmp_path / "clean.jsonl", tmp_path / "bad.csv"
    write_items(path, [*copies, *wrong, *ties, *good])
    for _ in range(2):
        assert run("audit", str(path), "--clean", str(clean), "--out", str(table), monkeypatch=monkeypatch) == 0
    assert [item.id for item in load_items(clean)] == ["copy0", "good"]
    rows = [line.split(",")[:2] for line in table.read_text().splitlines()]
    assert rows[0] == ["audit_check", "id"]
    assert [row for row in rows if row[0] == "duplicates"] == [["duplicates", f"copy{n}"] for n in range(1, 10)]
    assert [row for row in rows if row[0] == "forced_ties"] == [["forced_ties", f"tie{n}"] for n in range(7)]
    capsys.readouterr()
    assert run("audit", str(path), "--json", monkeypatch=monkeypatch) == 0
    record = Audit.model_validate_json(capsys.readouterr().out)
    (twice,) = (check for check in record.checks if check.name == "duplicates")
    assert [one.id for one in twice.found] == [f"copy{n}" for n in range(1, 10)] and len(twice.examples) <= 5
    assert run("bench", "check", str(path), "--json", monkeypatch=monkeypatch) == 0
    found = {one["what"]: one["examples"] for one in json.loads(capsys.readouterr().out)["findings"]}
    assert any(len(examples) == 9 for what, examples in found.items() if what.startswith("items twice"))
    assert run("bench", "check", str(path), monkeypatch=monkeypatch) == 0
    assert "... and 4 more" in capsys.readouterr().out
    table.write_text("mine")
    assert run("audit", str(path), "--out", str(table), monkeypatch=monkeypatch) == 2 and table.read_text() == "mine"
    assert run("audit", str(path), "--clean", str(path), monkeypatch=monkeypatch) == 2  # another file, not this one
    assert len(load_items(path)) == 26


def test_the_page_opens_with_the_bad_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It led with internal names, showed five examples and no photo, and nothing could be downloaded."""
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (40, 30), "red").save(tmp_path / "a.png")
    photo = ImageRef(path="a.png")
    copies = [Item(id=f"copy{n}", caption="a cat", negatives=texts("a dog"), image=photo) for n in range(12)]
    items = [*copies, Item(id="<b>tie", caption="a cup", negatives=texts("A cup"))]
    write_items(tmp_path / "items.jsonl", items)
    command = ("audit", "items.jsonl", "--images", ".", "--out", "audit.html")
    assert run(*command, monkeypatch=monkeypatch) == 0
    page = (tmp_path / "audit.html").read_text()
    assert "<h1>12 of 13 items are bad</h1>" in page
    files = {
        name: base64.b64decode(data).decode()
        for data, name in re.findall(r'href="data:text/plain;base64,([^"]*)" download="([^"]*)"', page)
    }
    assert files["bad_ids.txt"].split() == [*(f"copy{n}" for n in range(1, 12)), "<b>tie"]
    (tmp_path / "clean.jsonl").write_text(files["clean.jsonl"])
    assert load_items(tmp_path / "clean.jsonl") == items[:1]
    cards = page.split('<article class="card">')[1:]
    assert len(cards) == 12 and sum("<img src=" in card for card in cards) == 11
    assert "copy of another item: is copy0 again" in cards[0] and "a dog" in cards[0] and "<b>tie" not in page
    assert page.count("Looked for and not found: ") == 1 and "wrong a or an" in page and "0 of" not in page
    assert "sub_word" not in page and "sub word" not in page and "forced tie" not in page
    assert run("audit", "items.jsonl", "--images", ".", monkeypatch=monkeypatch) == 2
    assert "--out" in capsys.readouterr().err
