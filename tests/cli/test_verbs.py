"""The command line as a user meets it: what it prints, and with which exit code."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import typer.main
from PIL import Image
from tests.cli.commands import EVAL, Run, refused


def test_eval_prints_a_table_and_keeps_the_run(run: Run, photos: Path, tmp_path: Path) -> None:
    code, out, said = run(*EVAL, "--out", "run")
    assert code == 0 and "not computed" not in said
    assert "12 items are too few" in " ".join(out.split()), (
        "a gain over judges who learned from twelve items says nothing"
    )
    assert "saved in run; view it with: equipoise report run --out report.html" in said
    for part in ("Orig.", "Aug. (drop)", "Brittleness", "ties", "items", "  a", "  b"):
        assert part in out
    record = json.loads((tmp_path / "run" / "items" / "result.json").read_text())
    assert record["n"]["scored"] == 12 and record["arguments"]["bench"] == "items.jsonl"
    passed = record["arguments"]
    assert (passed["limit"], passed["seed"], passed["no_cache"], passed["data"]) == (None, 0, False, "photos")
    before = (tmp_path / "run" / "items" / "result.json").read_bytes()
    code, again, said = run(*EVAL, "--out", "run")
    assert code == 0 and again == out and f"items: read from {Path('run') / 'items'}, not computed" in said
    assert (tmp_path / "run" / "items" / "result.json").read_bytes() == before


@pytest.mark.parametrize(("form", "mark"), [("md", "| Orig. |"), ("latex", r"\toprule"), ("csv", "original_low")])
def test_formats(form: str, mark: str, run: Run, photos: Path) -> None:
    code, out, _ = run(*EVAL, "--format", form)
    assert code == 0 and mark in out


def test_eval_as_json(run: Run, photos: Path) -> None:
    rows = json.loads(run(*EVAL, "--json")[1])
    assert rows[0]["n"] == 12 and 0 <= rows[0]["metrics"]["original"]["value"] <= 1


def test_several_benchmarks_are_one_document(run: Run, photos: Path, tmp_path: Path) -> None:
    (photos / "5.png").unlink()
    (tmp_path / "more.jsonl").write_text((tmp_path / "items.jsonl").read_text())
    command = ("eval", "py:mine:Model", "--bench", "items.jsonl,more.jsonl", "--images", "photos", "--allow-missing")
    caveat = "more: 2 of 12 items were NOT scored"
    code, out, err = run(*command, "--json")
    rows = json.loads(out)
    assert code == 0 and caveat in err
    assert [row["benchmark"] for row in rows if "skipped" in row] == ["items", "more"] and rows[0]["skipped"] == 2
    _, out, err = run(*command, "--format", "csv")
    assert out.count("original_low") == 1 and {row["benchmark"] for row in csv.DictReader(io.StringIO(out))} == {
        "items",
        "more",
    }
    assert caveat in err
    _, out, err = run(*command, "--format", "latex")
    assert out.count(r"\begin{tabular}") == 1 and caveat in err
    _, out, err = run(*command, "--format", "md")
    assert out.count("| Orig. |") == 2 and out.count("warning: 2 of 12 items were NOT scored") == 2
    assert caveat not in err, "it stands below each table, once"


def test_metrics_of_scores_made_elsewhere(run: Run, tmp_path: Path) -> None:
    lines = [
        {"id": "1", "image": "x", "caption": 0.3, "positives": [0.2], "negatives": [0.1], "tags": {"split": "a"}},
        {"id": "2", "image": "x", "caption": 0.3, "positives": [0.0], "negatives": [0.1], "tags": {"split": "b"}},
        {"id": "3", "image": "y", "caption": 0.1, "positives": [0.2], "negatives": [0.1], "tags": {"split": "b"}},
    ]
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, _ = run("metrics", "scores.jsonl", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["overall"]["n"], found["overall"]["ties"]) == (3, 1)
    shares = {name: number["value"] for name, number in found["overall"]["metrics"].items()}
    assert shares["original"] == pytest.approx(2 / 3)
    assert shares["augmented"] == shares["brittleness"] == pytest.approx(1 / 3)
    assert found["by"]["split"]["a"]["metrics"]["original"]["value"] == 1
    assert "split=b" in run("metrics", "scores.jsonl")[1]


def test_compare(run: Run, photos: Path, tmp_path: Path) -> None:
    (tmp_path / "mine2.py").write_text((tmp_path / "mine.py").read_text().replace("size=8", "size=9"))
    run(*EVAL, "--out", "one")
    run("eval", "py:mine2:Model", *EVAL[2:], "--out", "two")
    code, out, _ = run("compare", "one", "two")
    assert code == 0 and "]~" in out and "items" in out
    assert json.loads(run("compare", "one", "two", "--json")[1])["differences"][0]["n"] == 12


def _other_photos(photos: Path) -> None:
    other = photos.with_name("other")
    other.mkdir()
    for path in photos.iterdir():
        Image.open(path).rotate(180).save(other / path.name)


def test_other_photos_never_print_the_numbers_of_the_first(run: Run, photos: Path) -> None:
    _other_photos(photos)
    assert run(*EVAL, "--out", "run")[0] == 0
    code, out, error = run(*EVAL[:-1], "other", "--out", "run")
    assert (code, out) == (2, "") and "holds another run" in error and "images sha256" in " ".join(error.split())


def test_compare_refuses_other_photos(run: Run, photos: Path) -> None:
    _other_photos(photos)
    run(*EVAL, "--out", "one")
    run(*EVAL[:-1], "other", "--out", "two")
    refused(run("compare", "one", "two"), "were scored on different photos", "with the same --images")


def test_compare_does_not_choose_between_two_runs_of_one_benchmark(run: Run, photos: Path) -> None:
    for out in ("all/a", "all/b", "ref"):
        run(*EVAL, "--out", out)
    both = (str(Path("all/a/items")), str(Path("all/b/items")))
    refused(run("compare", "all", "ref"), "all: holds more than one run of items", *both)
    refused(run("compare", "ref", "all"), "all: holds more than one run of items", *both)
    assert run("compare", "ref", "all/b")[0] == 0


def test_build_and_check_ones_own_csv(run: Run, tmp_path: Path, photos: Path) -> None:
    (tmp_path / "mine.csv").write_text("image,caption,negative\n0.png,a cat,a dog\n1.png,a cow,a pig\n")
    code, out, _ = run("bench", "build", "mine.csv", "--out", "built.jsonl")
    assert code == 0 and "wrote 2 items" in out
    assert run("bench", "check", "built.jsonl", "--images", "photos")[0] == 0
    (photos / "1.png").unlink()
    code, out, _ = run("bench", "check", "built.jsonl", "--images", "photos")
    assert code == 1 and "1.png" in out


def test_no_flag_is_negated_twice() -> None:
    from equipoise.cli import app

    def options(command: Any) -> list[Any]:
        below = getattr(command, "commands", {}).values()
        return [*command.params, *(option for one in below for option in options(one))]

    found = [option for option in options(typer.main.get_command(app)) if getattr(option, "is_flag", False)]
    assert len(found) > 5
    for option in found:
        assert not any(name.startswith("--no-no") for name in (*option.opts, *option.secondary_opts))
        assert not option.secondary_opts or option.default, f"{option.opts} is off anyway"


def test_bench_list_has_a_word_on_every_size_and_chance(run: Run) -> None:
    parts = {line.split("  ")[0]: line for line in run("bench", "list")[1].splitlines()}
    assert "chance: original 16.7" in parts["crepe"] and "chance: see `bench show`" in parts["ce-clip"]
    assert "size not published" in parts["aro-vg-r"]
    assert "28,748 items; chance: original 50.0" in parts["aro-vg-a"]


def test_build_replace_clean_cleans_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.benchmarks.replace import build as replace
    from equipoise.benchmarks.replace import clean as replace_clean

    red = [["VG_100K/1.jpg", {"POS": ["red car"], "NEG": ["green car"]}]]
    other = [["VG_100K/2.jpg", {"POS": ["a dog"], "NEG": ["a cat"]}]]
    for kind in replace.LEXICON["attributes"]:
        path = tmp_path / "vlc" / "Attribute" / "vg" / f"{kind}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(red * 2 if kind == "color" else other))
    calls, records = [], replace.load(tmp_path / "vlc", ["attributes"])
    verdicts = {
        "sha256": {"attributes": replace_clean.fingerprint(records)},
        "dropped": {records[1].id: ["duplicate"]},
        "lost article": {},
    }
    (tmp_path / "verdicts.json").write_text(json.dumps(verdicts))
    monkeypatch.setattr(replace_clean, "VERDICTS", tmp_path / "verdicts.json")
    clean = replace_clean.clean
    monkeypatch.setattr(replace_clean, "clean", lambda items: calls.append(1) or clean(items))
    build = ("bench", "build", "replace-clean", "--source", "vlc", "--splits", "attributes", "--out", "clean.jsonl")
    code, out, _ = run(*build)
    assert code == 0 and len(calls) == 1 and "wrote 1 items of replace-clean" in out
    assert "duplicate │ 1 │ 0 │" in " ".join(out.split())
    assert '"replace-clean-attributes/' in (tmp_path / "clean.jsonl").read_text()
