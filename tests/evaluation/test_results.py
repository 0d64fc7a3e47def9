"""result.json: what is written is read back, old files still read, damaged ones are refused with every field named."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.comparing.folders import compare_folders
from equipoise.errors import UserError
from equipoise.evaluation.comparison import load_run
from equipoise.evaluation.record import METRICS, SHARES, Difference, Interval, Numbers, RunRecord
from equipoise.evaluation.results import find_runs, read_result
from equipoise.files import read_json, write_json

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "run_schema_1"  # written by the code of commit 71b1c78


def test_a_result_of_schema_1_still_reads() -> None:
    old, record = read_json(GOLDEN / "result.json"), read_result(GOLDEN)
    assert old["schema"] == 1 and record.schema_version == 2
    assert record.metrics.model_dump(mode="json", exclude_unset=True) == old["metrics"]  # what came later is empty
    assert (record.benchmark.name, record.benchmark.items_sha256) == ("sugarcrepe-pp", old["benchmark"]["items_sha256"])
    assert (record.settings.seed, record.settings.allow_missing) == (0, False)
    assert record.model.model_dump(exclude_none=True) == old["model"]
    assert record.environment.model_dump() == old["environment"]
    assert record.date is None and record.benchmark.splits is None and record.benchmark.citation is None
    assert record.arguments.passed == old["arguments"]["passed"]
    assert len(load_run(GOLDEN).rows) == 12
    (same,) = compare_folders([GOLDEN, GOLDEN]).differences
    assert same.original is not None and same.original.difference == 0
    assert same.notes == [f"{GOLDEN}: photos not recorded: made by an older version"] * 2


def test_a_record_comes_back_from_json(make_record: Callable[..., RunRecord]) -> None:
    record = make_record()
    assert RunRecord.model_validate_json(record.model_dump_json(by_alias=True)) == record


def test_the_schema_file_is_that_of_the_classes() -> None:
    written = runpy.run_path(str(ROOT / "runs" / "write_schemas.py"))
    message = "docs/result.schema.json is not that of the classes: run `python runs/write_schemas.py`"
    assert read_json(written["RESULT"]) == written["result_schema"](), message


def test_one_list_of_metrics() -> None:
    assert set(SHARES) < set(METRICS) <= set(Numbers.model_fields) & set(Difference.model_fields)


def test_numbers_by_name_and_by_attribute(make_record: Callable[..., RunRecord]) -> None:
    numbers = make_record().metrics.headline
    assert numbers["original"] == numbers.original == 0.5625
    assert isinstance(numbers.intervals["original"], Interval)
    with pytest.raises(KeyError):
        numbers["n"]  # type: ignore[index]


@pytest.mark.parametrize("value", [[1, 2], {"schema": True}, {"schema": "2"}, {"n": 1}])
def test_what_is_no_result(value: Any, tmp_path: Path) -> None:
    write_json(tmp_path / "result.json", value)
    with pytest.raises(UserError, match="not a result of equipoise"):
        read_result(tmp_path)


@pytest.mark.parametrize("schema", [1, 2])
def test_every_damaged_field_is_named_at_once(schema: int, tmp_path: Path, make_record: Callable[..., Any]) -> None:
    value = (
        read_json(GOLDEN / "result.json") if schema == 1 else json.loads(make_record().model_dump_json(by_alias=True))
    )
    value["metrics"]["overall"]["original"] = "0.99"
    value["metrics"]["macro"]["intervals"]["drop"] = [0.1]
    value["benchmark"] = value["benchmark"] | {"name": None, "nmae": "x"}
    del value["n"], value["environment"]["python"]
    write_json(tmp_path / "result.json", value)
    with pytest.raises(UserError) as caught:
        read_result(tmp_path)
    message = str(caught.value)
    assert f"{tmp_path / 'result.json'}: not a whole result of equipoise: 6 problems" in message
    for part in (
        'metrics.overall.original: input should be a valid number; found "0.99"',
        "metrics.macro.intervals.drop.1: field required",
        "benchmark.name: input should be a valid string; found null",
        "benchmark.nmae: extra inputs are not permitted",
        "n: field required",
        "environment.python: field required",
        "Evaluate again into another folder",
    ):
        assert part in message


@pytest.mark.parametrize(
    "text",
    ['{"schema": 2', '{"schema": 2}', '{"schema": 1, "benchmark": [], "arguments": 3}', '{"schema": 0}']
    + ['{"schema": 2, "n": ' + "[" * depth + "]" * depth + "}" for depth in (500, 100_000)]
    + ['{"schema": 2, "n": ' + "9" * 5000 + "}", '{"schema": 2, "n": NaN}', '{"schema": 2, "date": "\\ud800"}'],
)
def test_whatever_the_file_holds_it_is_an_error_for_people(text: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(UserError, match=r"result\.json"):
        read_result(tmp_path)


def test_a_schema_from_the_future_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "result.json", {"schema": 99})
    with pytest.raises(UserError, match="schema 99, written by a newer equipoise"):
        read_result(tmp_path)
    with pytest.raises(UserError, match="no finished run"):
        find_runs([tmp_path / "empty"])
