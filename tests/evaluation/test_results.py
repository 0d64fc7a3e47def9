"""result.json: what is written is read back, old files still read, damaged ones are refused with every field named."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import UserError
from equipoise.core.files import read_json, write_json
from equipoise.evaluation.record import Interval, RunRecord
from equipoise.evaluation.results import find_runs, read_result

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "run"


def test_a_record_comes_back_from_json(make_record: Callable[..., RunRecord]) -> None:
    record = make_record()
    assert RunRecord.model_validate_json(record.model_dump_json(by_alias=True)) == record


def test_the_schema_file_is_that_of_the_classes() -> None:
    written = runpy.run_path(str(ROOT / "studies" / "write_schemas.py"))
    message = "docs/result.schema.json is not that of the classes: run `python -m studies.write_schemas`"
    assert read_json(written["RESULT"]) == written["result_schema"](), message


def test_numbers_by_name(make_record: Callable[..., RunRecord]) -> None:
    numbers = make_record().metrics.headline
    assert numbers["original"] == numbers.metrics["original"].value == 0.5625
    assert isinstance(numbers.interval("original"), Interval)
    assert numbers["group"] is None  # a metric that was not measured
    with pytest.raises(KeyError):
        numbers["nothing"]


@pytest.mark.parametrize("value", [[1, 2], {"schema": True}, {"schema": "3"}, {"n": 1}])
def test_what_is_no_result(value: Any, tmp_path: Path) -> None:
    write_json(tmp_path / "result.json", value)
    with pytest.raises(UserError, match="not a result of equipoise"):
        read_result(tmp_path)


def test_every_damaged_field_is_named_at_once(tmp_path: Path, make_record: Callable[..., Any]) -> None:
    value = json.loads(make_record().model_dump_json(by_alias=True))
    value["metrics"]["overall"]["metrics"]["original"]["value"] = "0.99"
    value["metrics"]["averages"]["equipoise"]["metrics"]["drop"]["interval"] = [0.1]
    value["benchmark"] = value["benchmark"] | {"name": None, "nmae": "x"}
    del value["n"], value["environment"]["python"]
    write_json(tmp_path / "result.json", value)
    with pytest.raises(UserError) as caught:
        read_result(tmp_path)
    message = str(caught.value)
    assert f"{tmp_path / 'result.json'}: not a whole result of equipoise: 6 problems" in message
    for part in (
        'metrics.overall.metrics.original.value: input should be a valid number; found "0.99"',
        "metrics.averages.equipoise.metrics.drop.interval.1: field required",
        "benchmark.name: input should be a valid string; found null",
        "benchmark.nmae: extra inputs are not permitted",
        "n: field required",
        "environment.python: field required",
        "Evaluate again into another folder",
    ):
        assert part in message


@pytest.mark.parametrize(
    "text",
    ['{"schema": 4', '{"schema": 4}', '{"schema": 1, "benchmark": [], "arguments": 3}', '{"schema": 0}']
    + ['{"schema": 4, "n": ' + "[" * depth + "]" * depth + "}" for depth in (500, 100_000)]
    + ['{"schema": 4, "n": ' + "9" * 5000 + "}", '{"schema": 4, "n": NaN}', '{"schema": 4, "date": "\\ud800"}']
    + [
        '{"schema": 5}',
        '{"schema": 4, "metrics": {"macro": 1, "paper": {}}}',
        '{"schema": 4, "metrics": {"macro": []}}',
    ],
)
def test_whatever_the_file_holds_it_is_an_error_for_people(text: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(UserError, match=r"result\.json"):
        read_result(tmp_path)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "result.json", {"schema": 99})
    with pytest.raises(UserError, match="schema 99, written by another version of equipoise"):
        read_result(tmp_path)
    write_json(tmp_path / "result.json", {"schema": 2})
    with pytest.raises(UserError, match=r"reads schema 5\. Evaluate again into another folder"):
        read_result(tmp_path)
    with pytest.raises(UserError, match="no finished run"):
        find_runs([tmp_path / "empty"])


def test_schema_4_is_read() -> None:
    """It kept mean scores, graded numbers, the paper's metrics and the headline's average apart."""
    written = json.loads((GOLDEN / "result.json").read_text())
    metrics, found = written["metrics"], read_result(GOLDEN).metrics
    assert written["schema"] == 4 and found.rule == metrics["macro"]["rule"]
    assert found.headline["original"] == metrics["macro"]["metrics"]["original"]["value"]
    old, numbers = metrics["overall"], found.overall
    assert numbers["mean_score_caption"] == old["mean_scores"]["caption"]
    assert numbers["margin"] == old["graded"]["margin"]
    assert numbers.interval("sensitivity_gap") == tuple(old["graded"]["intervals"]["sensitivity_gap"])
    assert numbers.count("sensitivity_gap") == old["graded"]["n_negatives"]
    paper = metrics["paper"]["tot"]
    assert (numbers["tot"], numbers.count("tot")) == (paper["tot"], paper["n"])
