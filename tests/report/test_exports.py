"""Exports: the fields that each format asks for, the numbers of result.json, no text that becomes a field.

The official packages were tried by hand (docs/report.md); here their documented fields are checked one by one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from equipoise.benchmarks import registry
from equipoise.benchmarks.base import Average, Benchmark
from equipoise.cli import main
from equipoise.core.errors import InTheWay, UserError
from equipoise.data.items import Item, texts
from equipoise.evaluation.averages import measure
from equipoise.evaluation.metrics import METRICS, SHARES, shown
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Interval, Number, RunRecord
from equipoise.evaluation.results import read_result, record_hash, write_run
from equipoise.evaluation.scores import ItemScores
from equipoise.evaluation.task import benchmark_id
from equipoise.report import exports
from equipoise.report.exports import (
    Export,
    eval_results,
    every_eval_ever,
    export,
    model_id,
    write,
)

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "run"
HOSTILE = 'a "dog"\n- dataset: {id: evil}\n\x85\u2028\x1b[31m <b>&é 🐶'


@pytest.fixture
def folder(tmp_path: Path, make_record: Callable[..., RunRecord]) -> Path:
    """A run of five items: two splits of unequal size, a tie, an item without a positive, hostile words."""
    values = [  # caption, positives, negatives, split
        (0.9, [0.8], [0.1], "a"),
        (0.9, [0.0], [0.1], "a"),
        (0.1, [0.3], [0.1], "a"),  # a tie
        (0.2, [], [0.5, 0.1], HOSTILE),
        (0.5, [0.4, 0.6], [0.1, 0.2], HOSTILE),
    ]
    rows = [
        ItemScores(id=f"{HOSTILE}{k}", image=f"{k}.jpg", caption=c, positives=p, negatives=n, tags={"split": split})
        for k, (c, p, n, split) in enumerate(values)
    ]
    items = {
        row.id: Item(
            id=row.id,
            caption=f"{HOSTILE} {k}",
            positives=texts(*(f"right {k} {one}" for one in row.positives)),
            negatives=texts(*(f"wrong {k} {one}" for one in row.negatives)),
        )
        for k, row in enumerate(rows)
    }
    outcomes = outcomes_of(rows)
    benchmark = Benchmark(
        "mine", "Mine", {}, {}, "", "", "", "", "", lambda *_: [], averages={"paper": Average(("split",), HOSTILE)}
    )
    record = make_record(
        metrics=measure(outcomes, benchmark, resamples=50),
        date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        benchmark=benchmark_id([], benchmark),
    )
    write_run(tmp_path / "run", record, outcomes, items)
    return tmp_path / "run"


def exported(folder: Path, **more: Any) -> Export:
    record = read_result(folder)
    return Export(folder, record, model_id(record.model.spec), **{"by": "us", "dataset": "org/data"} | more)


# ---------------------------------------------------------------------------- each format


def test_the_three_scores_of_winoground(make_record: Callable[..., RunRecord]) -> None:
    golden = read_result(GOLDEN)
    shares = {"image_original": 0.2, "text": 0.3075, "image": 0.105, "group": 0.08}
    side = {name: Number(value=value, interval=Interval(0.26, 0.35), n=400) for name, value in shares.items()}
    numbers = golden.metrics.overall.model_copy(
        update={"metrics": golden.metrics.overall.metrics | side, "image_ties": 0}
    )
    metrics = golden.metrics.model_copy(update={"overall": numbers, "rule": None})
    record = make_record("winoground", metrics=metrics)
    items = sum(count or 0 for count in registry.get("winoground").splits.values())
    record = record.model_copy(update={"n": record.n.model_copy(update={"items": items})})
    run = Export(GOLDEN, record, "openai/clip", "us")
    assert "facebook/winoground" in eval_results(run)[1]
    aggregate = json.loads(every_eval_ever(run)[1])
    scores = {one["evaluation_result_id"]: one["score_details"]["score"] for one in aggregate["evaluation_results"]}
    assert len(scores) == len(aggregate["evaluation_results"])
    assert (scores["winoground/group"], scores["winoground/text"]) == (0.08, 0.3075)


def test_eval_results(folder: Path) -> None:
    record = read_result(folder)
    path, text = eval_results(exported(folder))
    assert path == ".eval_results/mine.yaml"
    found = yaml.safe_load(text)
    values = {one["dataset"]["task_id"]: one["value"] for one in found}
    assert len(values) == len(found) == 3 * len(SHARES)  # headline and two splits
    for one in found:
        assert set(one) == {"dataset", "value", "date", "notes"}
        assert one["dataset"]["id"] == "org/data" and set(one["dataset"]) == {"id", "task_id"}
        assert isinstance(one["value"], float) and one["date"] == "2026-01-02"
        assert record.benchmark.items_sha256 in one["notes"]
    for metric in SHARES:
        assert values[metric] == pytest.approx(100 * record.metrics.headline[metric], abs=1e-5)
        hostile = record.metrics.by["split"][HOSTILE][metric]
        assert values[f"{HOSTILE}_{metric}"] == pytest.approx(100 * hostile, abs=1e-5)
    with pytest.raises(UserError, match="--dataset ORGANISATION/NAME"):
        eval_results(exported(folder, dataset=None))


AGGREGATE = {"schema_version", "evaluation_id", "evaluation_timestamp", "retrieved_timestamp", "source_metadata"} | {
    "eval_library", "model_info", "evaluation_results"
}  # fmt: skip


def test_every_eval_ever_aggregate(folder: Path) -> None:
    record = read_result(folder)
    path, text = every_eval_ever(exported(folder))
    found = json.loads(text)
    assert set(found) == AGGREGATE and found["schema_version"] == "0.3.0"
    assert found["retrieved_timestamp"] == str(int(record.date.timestamp()))
    assert found["evaluation_id"] == f"mine/equipoise/world/{found['retrieved_timestamp']}"
    assert found["source_metadata"]["source_type"] == "evaluation_run"
    assert found["source_metadata"]["source_organization_name"] == "us"
    assert found["eval_library"]["name"] == "equipoise"
    details = found["model_info"]["additional_details"]
    assert (details["deployment_type"], details["model_availability"]) == ("self_deployed", "unknown")
    _all_strings(details, found["eval_library"]["additional_details"])
    uuid4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert re.fullmatch(rf"data/equipoise/equipoise/world/{uuid4}\.json", path)
    for one in found["evaluation_results"]:
        assert {"evaluation_name", "source_data", "metric_config", "score_details"} <= set(one)
        config, details = one["metric_config"], one["score_details"]
        assert config["score_type"] == "continuous" and config["min_score"] <= details["score"] <= config["max_score"]
        assert config["lower_is_better"] is (METRICS[config["metric_id"].rpartition(".")[2]].better == "low")
        _all_strings(details["details"], one["source_data"]["additional_details"])
    by_id = {one["evaluation_result_id"]: one["score_details"] for one in found["evaluation_results"]}
    assert len(by_id) == len(found["evaluation_results"])
    for metric in [row.name for row in shown([record.metrics.headline.metrics])]:
        assert by_id[f"mine/{metric}"]["score"] == record.metrics.headline[metric]
        assert by_id[f"mine/a/{metric}"]["score"] == record.metrics.by["split"]["a"][metric]
        interval = by_id[f"mine/{metric}"]["uncertainty"]["confidence_interval"]
        assert (interval["lower"], interval["upper"]) == record.metrics.headline.interval(metric)


def _all_strings(*tables: dict[str, Any]) -> None:
    assert all(isinstance(value, str) for table in tables for value in table.values())


def test_lone_surrogates_can_be_written(tmp_path: Path) -> None:
    text = exports._json({"a": "\ud800"})
    assert json.loads(text) == {"a": "\ud800"}
    write({"x.json": text}, tmp_path)


# ---------------------------------------------------------------------------- names, files, the verb


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("world", "equipoise/world"),
        ("hf:openai/clip-vit-base-patch32", "openai/clip-vit-base-patch32"),
        ("hf:/models/mine", "hf/mine"),
        ("hf:../mine", "hf/mine"),
        ("paper:negclip@/x/negclip.pth", "paper/negclip"),
        ("checkpoint:/x/my model.pt?act=gelu", "checkpoint/my-model.pt"),
        ("py:mine:Model", "py/mine.Model"),
    ],
)
def test_model_ids(spec: str, name: str) -> None:
    assert model_id(spec) == name
    with pytest.raises(UserError, match="no finished run"):  # and it is a name that a user may give
        export([Path("nowhere")], "every-eval-ever", Path(), name, "us", None)


def test_the_same_run_gives_the_same_bytes(folder: Path) -> None:
    assert every_eval_ever(exported(folder)) == every_eval_ever(exported(folder))


def test_nothing_is_written_where_something_is_in_the_way(tmp_path: Path) -> None:
    files = {"a.json": "1", "b/c.json": "2"}
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.json").write_text("another's")
    with pytest.raises(InTheWay, match=r"c\.json"):
        write(files, tmp_path)
    assert not (tmp_path / "a.json").exists()
    (tmp_path / "b" / "c.json").write_text("2")
    assert len(write(files, tmp_path)) == 2 and (tmp_path / "a.json").read_text() == "1"


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="could not be written"):
        write({"a.json": "1"}, tmp_path)
    assert list(tmp_path.iterdir()) == []


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, " ".join(printed.err.split())

    return command


def test_the_verb(run: Run, folder: Path, tmp_path: Path) -> None:
    assert run("report", "run", "--to", "every-eval-ever", "--out", "out")[0] == 0
    code, out, _ = run("report", "run", "--to", "eval-results", "--dataset", "a/b", "--out", "x.yaml")
    assert (code, out) == (0, "x.yaml written\n") and yaml.safe_load((tmp_path / "x.yaml").read_text())
    assert len(list((tmp_path / "out").rglob("*.json*"))) == 1
    assert run("report", "run", "--to", "every-eval-ever", "--model", "us/mine")[0] == 0
    assert (tmp_path / "data" / "equipoise" / "us" / "mine").is_dir()


def test_what_the_verb_refuses(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "result.json").write_text('{"schema": 4, "metrics": {}}')
    shutil.copytree(folder, tmp_path / "two" / "a")
    shutil.copytree(folder, tmp_path / "two" / "b")
    other = json.loads((path := tmp_path / "two" / "b" / "result.json").read_text())
    other["n"]["skipped"] = 1
    path.write_text(json.dumps(other | {"record_sha256": record_hash(other)}))
    cases = [
        (("empty", "--to", "every-eval-ever"), "no finished run"),
        (("nowhere", "--to", "every-eval-ever"), "no finished run"),
        (("wrong", "--to", "every-eval-ever"), "not a whole result of equipoise"),
        (("run", "--to", "eval-result"), "Did you mean eval-results"),
        (("run", "--to", "eval-results"), "--dataset ORGANISATION/NAME"),
        (("run", "--to", "every-eval-ever", "--dataset", "a/b"), "--dataset is only for --to eval-results"),
        (("run", "--to", "every-eval-ever", "--model", "../x"), "expected ORGANISATION/NAME"),
        (("two", "--to", "every-eval-ever", "--out", "x.json"), "name a folder"),
        (("two", "--to", "eval-results", "--dataset", "a/b"), "export them one by one"),
    ]
    for arguments, words in cases:
        code, _, error = run("report", *arguments)
        assert code == 2 and words in error, (arguments, error)
