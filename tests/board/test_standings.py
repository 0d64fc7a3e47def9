"""Who can be told apart, and what was reported beside it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.board.conftest import MakeRuns
from typer.testing import CliRunner

from equipoise.board.record import Board, Reported, TestSet
from equipoise.board.standings import build_board
from equipoise.board.tables import render_board
from equipoise.cli import app
from equipoise.errors import UserError

MODELS = {"weak": 0.3, "strong": 0.8, "like-strong": 0.8}


def reported(model: str, value: float, **fields: Any) -> Reported:
    return Reported(**{"model": model, "benchmark": "sugarcrepe", "value": value, "average": "vl_compo"} | fields)


def only(board: Board) -> TestSet:
    (test,) = board.tests
    return test


def test_groups_in_place_of_ranks(make_runs: MakeRuns) -> None:
    board = build_board([str(make_runs(MODELS))])
    test = only(board)
    assert "letters hold for this list of models" in render_board(board, "md")
    letters = {row.model: row.numbers["original"].letters for row in test.rows}
    assert letters == {"strong": "a", "like-strong": "a", "weak": "b"}
    assert (test.first, test.n, test.average) == ("original", 280, "vl_compo: mean of 3 group groups")
    assert test.rows[-1].model == "weak" and not test.notes and not test.reported
    one = test.rows[0].numbers["original"]
    assert one.interval and one.interval.low < one.value < one.interval.high


def test_image_scores_have_groups_too(make_runs: MakeRuns) -> None:
    test = only(build_board([str(make_runs(MODELS, "winoground", count=200))]))
    letters = {row.model: row.numbers["image"].letters for row in test.rows}
    assert letters["strong"] == letters["like-strong"] == "a" and letters["weak"] == "b"
    names = [column.name for column in test.columns]
    assert names == ["original", "image_original", "text", "image", "group", "group_match"]


def test_a_model_alone_is_in_no_group(make_runs: MakeRuns) -> None:
    (row,) = only(build_board([str(make_runs({"one": 0.5}))])).rows
    assert row.numbers["original"].letters is None


def test_seeds_are_one_model(make_runs: MakeRuns) -> None:
    folder = make_runs({"base": 0.3, "ours_s0": 0.8, "ours_s1": 0.8, "ours_s2": 0.8})
    seeds = ",".join(str(folder / f"ours_s{seed}") for seed in range(3))
    test = only(build_board([str(folder), seeds]))
    assert [(row.model, row.runs) for row in test.rows] == [("ours_s (3 seeds)", 3), ("base", 1)]
    assert test.rows[0].numbers["original"].letters == "a" and test.rows[1].numbers["original"].letters == "b"


def test_other_items_are_another_table(make_runs: MakeRuns) -> None:
    folder = make_runs({"one": 0.5, "two": 0.5})
    make_runs({"three": 0.5}, folder="runs/more", count=10)
    tests = build_board([str(folder)]).tests
    assert [len(test.rows) for test in tests] == [2, 1] and len({test.title for test in tests}) == 2
    assert "were not scored on the same items" in tests[1].notes[0]


# ---------------------------------------------------------------------------- reported numbers


def test_reported_beside_measured(make_runs: MakeRuns) -> None:
    folder = make_runs(MODELS, specs={"strong": "openclip:ViT-B-32/openai"})
    given = [
        reported("ViT-B-32 openai", 0.75),
        reported("ViT-B-32 openai", 0.5, average=None, split="add_att"),
        reported("ViT-B-32 openai", 0.5, average="another"),
        reported("Somebody's", 0.9),
        reported("Somebody's", 0.6, benchmark="imagecode", metric="score", average=None),
        reported("NegCLIP", 0.4),
    ]
    board = build_board([str(folder)], given, {"NegCLIP": "weak"})
    test = only(board)
    rows = {row.model: row for row in test.rows}
    whole, split, other = rows["strong"].beside
    assert whole.measured == rows["strong"].numbers["original"].value
    assert whole.difference == pytest.approx(whole.measured - 0.75) and whole.why == ""
    assert split.measured is not None and split.difference == pytest.approx(split.measured - 0.5)
    assert (other.measured, other.difference, other.why) == (None, None, "the rule another was not measured")
    assert [one.reported.model for one in rows["weak"].beside] == ["NegCLIP"]
    assert [(row.model, row.numbers) for row in test.reported] == [("Somebody's", {"Original (vl_compo)": 0.9})]
    assert [one.benchmark for one in board.elsewhere] == ["imagecode"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"limit": 100}, "only the first 100 items were measured"), ({"splits": ["add_att"]}, "measured without")],
)
def test_numbers_of_other_items_have_no_difference(make_runs: MakeRuns, changes: dict[str, Any], why: str) -> None:
    folder = make_runs({"one": 0.5}, **changes)
    (row,) = only(build_board([str(folder)], [reported("one", 0.5)])).rows
    (one,) = row.beside
    assert one.difference is None and one.measured is None and one.why.startswith(why)


def test_a_rule_that_nobody_states_is_said(make_runs: MakeRuns) -> None:
    (row,) = only(build_board([str(make_runs({"one": 0.5}))], [reported("one", 0.5, average=None)])).rows
    assert row.beside[0].difference is not None and row.beside[0].why == "their rule is not stated"


@pytest.mark.parametrize(
    ("same", "message"),
    [({"NegCLP": "one"}, "no reported model 'NegCLP'"), ({"NegCLIP": "two"}, "no run 'two'; there are one")],
)
def test_names_that_are_not_there(make_runs: MakeRuns, same: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_board([str(make_runs({"one": 0.5}))], [reported("NegCLIP", 0.5)], same)


# ---------------------------------------------------------------------------- the verb, and the formats


def call(*arguments: str) -> str:
    found = CliRunner().invoke(app, ["board", *arguments], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def test_the_numbers_of_all_formats_are_equal(make_runs: MakeRuns, tmp_path: Path) -> None:
    """Every number, interval, letter and difference of the JSON is in each of the other forms."""
    folder = make_runs(MODELS)
    given = [{"model": "strong", "benchmark": "sugarcrepe", "value": 0.7501, "average": "vl_compo"}]
    given += [{"model": "other", "benchmark": "sugarcrepe", "value": 0.9, "average": "vl_compo"}]
    (tmp_path / "p.json").write_text(json.dumps(given))
    options = [str(folder), "--published", str(tmp_path / "p.json")]
    forms = {form: call(*options, "--format", form) for form in ("json", "csv", "md", "latex", "text")}
    assert call(*options, "--json") == forms["json"]
    call(*options, "--out", str(tmp_path / "b.html"))
    forms["html"] = re.sub(r"<[^>]+>", " ", (tmp_path / "b.html").read_text())
    (test,) = json.loads(forms["json"])["tests"]
    lines = {(line["model"], line["kind"]): line for line in csv.DictReader(io.StringIO(forms["csv"]))}
    for row in test["rows"]:
        one, line = row["numbers"]["original"], lines[row["model"], "measured"]
        assert [float(line[name]) for name in ("value", "low", "high")] == [one["value"], *one["interval"]]
        assert line["letters"] == one["letters"]
        low, high = (f"{100 * end:.1f}" for end in one["interval"])
        shown = rf"{row['model']}\b.*?{100 * one['value']:.1f}.*?\[{low}, {high}\].*?\b{one['letters']}\b"
        ordered = rf"{row['model']}\b.*?{100 * one['value']:.1f}.*?{one['letters']}\b.*?\[{low}, {high}\]"
        for form in ("md", "latex", "text"):
            assert re.search(shown, forms[form]), form
        assert re.search(ordered, forms["html"], re.DOTALL)
    (both,) = [one for row in test["rows"] for one in row["beside"]]
    assert float(lines["strong", "beside"]["difference"]) == both["difference"]
    for form in ("md", "latex", "text", "html"):
        assert "75.0" in forms[form] and f"{100 * both['difference']:+.1f}" in forms[form] and "90.0" in forms[form]
    assert lines["other", "reported"]["reported"] == "0.9"


def test_only_what_others_reported(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('[{"model": "a", "benchmark": "b", "value": 0.5, "metric": "score"}]')
    assert "| a | 50.0 |" in call("--published", str(tmp_path / "p.json"), "--format", "md")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--out: name the page to write"),
        (["--format", "md"], "name a folder of runs, or numbers of others"),
        (["--format", "md", "--correct", "x"], "--correct x: expected one of holm, fdr"),
        (["--format", "md", "--same", "x"], "--same x: expected REPORTED=RUN"),
        (["--format", "md", "--published", "none.json"], "none.json: no such file"),
    ],
)
def test_errors(options: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        CliRunner().invoke(app, ["board", *options], catch_exceptions=False)


def test_same_runs_same_page(make_runs: MakeRuns, tmp_path: Path) -> None:
    folder = str(make_runs(MODELS))
    for name in ("a.html", "b.html"):
        call(folder, "--out", str(tmp_path / name))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert render_board(build_board([folder]), "md").count("\n| ") == 2 + len(MODELS)  # two lines of the head
