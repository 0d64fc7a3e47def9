"""equipoise compare as a user meets it: seeds, groups, gates with their exit code, what flipped."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from equipoise import compare
from equipoise.cli import main
from equipoise.core.errors import UserError
from equipoise.data.items import Item, texts
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Metrics, RunRecord
from equipoise.evaluation.results import record_hash, write_run
from equipoise.evaluation.scores import ItemScores

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., None]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", "compare", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, " ".join(printed.err.split())

    return command


@pytest.fixture
def write(tmp_path: Path, make_record: Callable[..., RunRecord]) -> Write:
    """Write a run of items that are right (1) or wrong (0), with weights of their own; the positive is always right."""

    def make(name: str, original: Sequence[int], benchmark: str = "x", weights: str = "") -> None:
        rows = [
            ItemScores(
                id=str(k), image=str(k), caption=float(v), positives=[1.0], negatives=[0.5], tags={"type": "ab"[k % 2]}
            )
            for k, v in enumerate(original)
        ]
        outcomes = outcomes_of(rows)
        summary = summarise(outcomes, resamples=10)
        record = make_record(benchmark, metrics=Metrics(overall=summary.overall, by=summary.by))
        card = record.model.model_copy(update={"weight_sha256": weights or name})
        items = {
            row.id: Item(
                id=row.id, caption="a [bold]dog[/bold]\x1b[31m", positives=texts("p"), negatives=texts("a cat")
            )
            for row in rows
        }
        write_run(tmp_path / name / benchmark, record.model_copy(update={"model": card}), outcomes, items)

    return make


def test_two_runs(run: Run, write: Write) -> None:
    write("one", [1] * 40 + [0] * 20)
    write("two", [1] * 20 + [0] * 40)
    code, out, _ = run("one", "two")
    assert code == 0
    for words in ("smallest detectable", "p (Holm)", "0 items became right", "20 became wrong", "type=a", "a cat"):
        assert words in out
    assert "\x1b" not in out and "[bold]dog[/bold]" in out  # somebody's words, not codes
    assert "share a letter" not in out
    found = json.loads(run("one", "two", "--json", "--flips", "3")[1])
    (one,) = found["differences"]
    assert one["changes"]["original"]["difference"] == pytest.approx(-1 / 3) and one["changes"]["original"]["p"] < 0.001
    assert one["changes"]["original"]["adjusted"] >= one["changes"]["original"]["p"]
    assert len(found["flips"][0]["items"]) == 3 and found["flips"][0]["lost"] == 20
    assert found["flips"][0]["items"][0]["texts"]["negatives"] == ["a cat"]
    assert found["groups"] == {} and found["gates"] == []


def test_p_values_are_corrected_over_benchmarks_and_metrics(run: Run, write: Write) -> None:
    for bench in "xyz":
        write("one", [1] * 30 + [0] * 30, bench)
        write("two", [1] * 22 + [0] * 38, bench)
    found = json.loads(run("one", "two", "--json")[1])["differences"]
    for one in (difference["changes"]["original"] for difference in found):
        assert one["p"] < one["adjusted"] + 1e-12
    first = found[0]["changes"]["original"]
    tests = sum(len(difference["changes"]) for difference in found)
    assert tests >= 3 * 4 and first["adjusted"] == pytest.approx(min(1, tests * first["p"]))
    assert run("one", "two", "--correct", "fdr")[0] == 2


def test_more_than_two_runs_have_groups(run: Run, write: Write) -> None:
    for name, right in (("low", 10), ("high", 50), ("higher", 52)):
        write(name, [1] * right + [0] * (60 - right))
    code, out, _ = run("low", "high", "higher")
    lines = [line for line in out.split("\n") if line.startswith("│ high") or line.startswith("│ low")]
    assert code == 0 and "share a letter" in out
    placed = [line.split("│")[1:3] for line in lines][-3:]
    assert [(name.strip(), value.split()) for name, value in placed] == [
        ("higher", ["86.7", "a"]), ("high", ["83.3", "a"]), ("low", ["16.7", "b"])
    ]  # fmt: skip
    found = json.loads(run("low", "high", "higher", "--json")[1])
    assert [one["model"] for one in found["groups"]["x"]["original"]] == ["higher", "high", "low"]
    assert len(found["differences"]) == 2


def test_seeds_are_joined_by_commas(run: Run, write: Write) -> None:
    rng = np.random.default_rng(0)
    write("base", [1] * 30 + [0] * 30)
    for seed in range(3):
        write(f"s{seed}", rng.permutation([1] * (34 + 4 * seed) + [0] * (26 - 4 * seed)).tolist())
    code, out, _ = run("base", "s0,s1,s2")
    assert code == 0 and "seeds" in out and "s0,s1,s2" in out
    (one,) = json.loads(run("base", "s0,s1,s2", "--json")[1])["differences"]
    assert one["runs"] == [1, 3] and one["changes"]["original"]["seed_error"] >= 0
    write("again", [1] * 60, weights="s0")
    code, _, error = run("base", "s0,again")
    assert code == 2 and "same weights, not two seeds" in error
    code, _, error = run("base", "s0,nowhere")
    assert code == 2 and "nowhere: no finished run" in error
    write("a,b", [1] * 60)
    assert run("base", "a,b")[0] == 0  # a folder of that name


def test_a_gate(run: Run, write: Write) -> None:
    write("one", [1] * 55 + [0] * 5)
    write("worse", [1] * 25 + [0] * 35)
    write("hardly", [1] * 53 + [0] * 7)
    code, out, _ = run("one", "worse", "--fail-if-worse", "original:5")
    assert code == 1 and "original:5 FAILED" in out
    code, out, _ = run("one", "hardly", "--fail-if-worse", "original:1", "--fail-if-worse", "brittleness:20")
    assert code == 0 and "original:1 passed: the loss may be smaller than the limit" in out
    assert "brittleness:20 passed" in out
    assert run("worse", "one", "--fail-if-worse", "original:0")[0] == 0  # better is never worse
    assert run("one", "one", "--fail-if-worse", "original:0")[0] == 0
    code, out, error = run("one", "worse", "--fail-if-worse", "augmented:5", "--json")
    assert code == 1 and json.loads(out)["gates"][0]["verdict"] == "worse" and "FAILED" in error
    assert run("one", "hardly", "worse", "--fail-if-worse", "original:5")[0] == 1
    code, _, error = run("one", "worse", "--fail-if-worse", "orig:5")
    assert code == 2 and "METRIC one of original, augmented, brittleness, drop" in error


def test_a_gate_on_too_few_items_is_refused(run: Run, write: Write) -> None:
    for items, expected in ((1, 2), (7, 2), (8, 1)):
        write(f"one{items}", [1] * items)
        write(f"two{items}", [0] * items)
        code, out, error = run(f"one{items}", f"two{items}", "--fail-if-worse", "original:1")
        assert code == expected and ("FAILED" in out) == (expected == 1) and ("decides nothing" in error) == (code == 2)
    write("one", [1] * 50 + [0] * 50)
    write("far", [0] * 50 + [1] * 12 + [0] * 38, weights="other")
    write("same", [1] * 50 + [0] * 50, weights="third")
    assert run("one", "far,same", "--fail-if-worse", "original:1")[0] == 2  # two seeds that differ by 38 points


def test_other_items_are_refused_with_the_reason(run: Run, write: Write) -> None:
    write("one", [1, 0, 1])
    write("two", [1, 0])
    write("three", [1, 0], "y")
    code, _, error = run("one", "two")
    assert code == 2 and "were not scored on the same items" in error and "same --bench" in error
    code, _, error = run("one", "three")
    assert code == 2 and "share no benchmark" in error


def test_a_benchmark_of_one_folder_alone_is_named_and_no_gate_passes_it(run: Run, write: Write) -> None:
    for name, benches in (("one", "xy"), ("two", "xz")):
        for bench in benches:
            write(name, [1] * 40 + [0] * 20, bench)
    code, out, _ = run("one", "two")
    assert code == 0 and "y is left out: two has no run of it" in out and "z is left out: one has no run of it" in out
    assert json.loads(run("one", "two", "--json")[1])["left_out"] == [
        "y is left out: two has no run of it",
        "z is left out: one has no run of it",
    ]
    for gate in ("--fail-if-worse", "--fail-unless-shown"):
        code, out, error = run("one", "two", gate, "original:50")
        assert code == 2 and "passed" not in out and "y is left out: two has no run of it" in error
        assert "equipoise eval MODEL --bench" in error and "equipoise compare one/x two/x" in error
    assert run("one/x", "two/x", "--fail-if-worse", "original:50")[0] == 0
    with pytest.raises(UserError, match="y is left out"):
        compare("one", "two").worse("original")


def test_the_gate_and_the_conclusion_do_not_contradict(run: Run, write: Write) -> None:
    """Six images lost and none gained: the interval excludes zero, the corrected p is above 0.05."""
    write("one", [1] * 60)
    write("two", [1] * 54 + [0] * 6)
    code, out, _ = run("one", "two", "--fail-if-worse", "original:0.5")
    told = " ".join(out.split())
    assert code == 1 and "no significant difference" in told
    assert (
        "the gate uses the interval alone, not the corrected p = 0." in told.partition("no significant difference")[0]
    )
    write("three", [0] * 60)
    assert "the interval alone" not in run("one", "three", "--fail-if-worse", "original:0.5")[1]


def test_items_that_were_trained_on_are_named(run: Run, write: Write, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(name, [1] * 40 + [0] * 20)
    place = tmp_path / "two" / "x" / "result.json"
    record = json.loads(place.read_text())
    record["counts"]["trained_on"] = 7
    record["record_sha256"] = record_hash(record)
    place.write_text(json.dumps(record))
    warning = f"two/x: 7 of {record['n']['items']} items were trained on: no test of this model"
    assert f"warning: {warning}" in run("one", "two")[1]
    assert json.loads(run("one", "two", "--json")[1])["warnings"] == [warning]


def test_tables_of_chosen_columns(run: Run, write: Write) -> None:
    """p values reached no LaTeX table, no CSV file and no chat."""
    write("one", [1] * 40 + [0] * 20)
    write("two", [1] * 20 + [0] * 40)
    code, out, _ = run("one", "two", "--format", "latex", "--columns", "metric,change,p_corrected")
    rows = list(csv.DictReader(run("one", "two", "--format", "csv")[1].splitlines()))
    assert [row["metric"] for row in rows][:4] == ["original", "augmented", "brittleness", "drop"]
    assert code == 0 and r"metric & change & p (corrected) \\" in out and out.count(r" \\") == 1 + len(rows)
    assert rows[0]["verdict"] == "worse" and float(rows[0]["p_corrected"]) < 0.05
    assert float(rows[0]["difference"]) == pytest.approx(-100 / 3)
    assert json.loads(run("one", "two", "--format", "json", "--columns", "n,p")[1])[0].keys() == {"n", "p"}
    assert json.loads(run("one", "two", "--format", "json")[1]) == json.loads(run("one", "two", "--json")[1])
    assert "| metric | verdict |" in run("one", "two", "--format", "md", "--columns", "metric,verdict")[1]
    code, _, error = run("one", "two", "--format", "md", "--columns", "verdct")
    assert code == 2 and "verdict" in error
    code, _, error = run("one", "two", "--format", "csv", "--fail-if-worse", "original:1")
    assert code == 1 and "original:1 FAILED" in error


def test_flips_of_any_metric_with_gains_and_losses_apart(run: Run, write: Write) -> None:
    """A wrong caption next to a right rewording is brittle: nobody listed the items that became so."""
    write("one", [0] * 5 + [1] * 55)
    write("two", [1] * 5 + [0] * 9 + [1] * 46)
    code, out, _ = run("one", "two", "--flips", "brittleness:3")
    assert code == 0 and "5 items no longer brittle, 9 became brittle" in out
    gains, losses = out.index("┃ no longer brittle"), out.index("┃ became brittle")
    assert gains < losses and "6 of the 14 that changed" in out
    (found,) = json.loads(run("one", "two", "--json", "--flips", "brittleness:3")[1])["flips"]
    assert [one["id"] for one in found["items"]] == ["0", "1", "2", "5", "6", "7"]
    assert found["metric"] == "brittleness"
    for wrong in ("brittlenes", "brittleness:x", "-1"):
        code, _, error = run("one", "two", f"--flips={wrong}")
        assert code == 2 and "--flips" in error


def test_a_summary_has_five_lines(run: Run, write: Write) -> None:
    write("one", [1] * 40 + [0] * 20)
    write("two", [1] * 20 + [0] * 40)
    code, out, error = run("one", "two", "--summary", "--fail-if-worse", "original:1")
    lines = out.splitlines()
    assert code == 1 and len(lines) == 5 and "original:1" in error
    assert lines[0].startswith("**x**: two against one, 60 items.") and "Gate failed: original:1" in lines[0]
    assert lines[1].startswith("- Original accuracy -33.3 [") and ", p " in lines[1] and lines[1].endswith(": worse")
    assert lines[4].startswith("- 0 items became right, 20 became wrong: ")


def test_no_word_contradicts_its_interval(run: Run, write: Write) -> None:
    """Where an interval excludes zero and the corrected p decides otherwise, that p stands next to the word."""
    write("one", [1] * 60)
    write("two", [1] * 54 + [0] * 6)
    line = run("one", "two", "--summary")[1].splitlines()[1]
    _, high = map(float, line.partition("[")[2].partition("]")[0].split(", "))
    assert high < 0 and line.endswith("not significant") and "p = 0.1" in line
    assert "no significant difference in Original accuracy (p = 0.1" in run("one", "two")[1]
