"""The files of `bench export`, without any harness; test_round_trips.py runs the folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.evaluation.export.exporting import ASK, Mock, exported, items, said

import equipoise
from equipoise.benchmarks.registry import of_file
from equipoise.core.errors import UserError
from equipoise.data.images import FolderImages
from equipoise.data.items import load_items
from equipoise.evaluation.asking.shipped import SHARES
from equipoise.evaluation.asking.variants import parse_ask
from equipoise.evaluation.export.folder import TARGETS, Origin, export
from equipoise.evaluation.export.rows import row_of
from equipoise.published.logs.reading import read_logs
from equipoise.published.measuring import log_runs


@pytest.mark.parametrize("to", TARGETS)
def test_every_folder_has_its_photos_and_a_card(to: str, tmp_path: Path) -> None:
    given = items(tmp_path / "photos")
    folder, lines = exported(to, tmp_path, given)
    card = (folder / "README.md").read_text()
    assert "CC-BY-4.0" in card and "https://example.org/pets" in card and TARGETS[to].format(name="pets") in card
    assert len(list((folder / "images").glob("*.png"))) == 10
    assert f"cd {folder}" in lines[-1] and not any("unknown" in line for line in lines)
    assert not list(tmp_path.glob(".*"))
    with pytest.raises(UserError, match="already there"):
        exported(to, tmp_path, given)


def test_the_hubs_items_are_the_same_items(tmp_path: Path) -> None:
    given = items(tmp_path / "photos")
    folder, _ = exported("hub", tmp_path, given)
    found = load_items(folder / "items.jsonl")
    assert [one.model_copy(update={"image": None}) for one in found] == [
        one.model_copy(update={"image": None}) for one in given
    ]
    assert all((folder / one.image.path).is_file() for one in found if one.image)


def test_the_shipped_metrics_are_those_of_eval(tmp_path: Path) -> None:
    """The file that is part of every export runs without this package, and says what `eval` says of the same model;
    so does a log that repeats the rows."""
    given = items(tmp_path / "photos")
    folder, _ = exported("inspect", tmp_path, given)
    rows = [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines()]
    answers = [said(row["prompt"]) for row in rows]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    code = (
        "import json, sys; from equipoise_answers import *; "
        "rows = [json.loads(line) for line in open('data.jsonl')]; said = json.load(open(sys.argv[1])); "
        "print(json.dumps(shares((row, choice_of(row, one)) for row, one in zip(rows, said)))); "
        "assert not any(name.startswith('equipoise.') for name in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "answers.json"],
        cwd=folder, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": "."},
    )  # fmt: skip
    found = json.loads(done.stdout)
    overall = equipoise.evaluate(Mock(), given, images=tmp_path / "photos", ask=ASK).record.metrics.overall
    assert {name: pytest.approx(overall[name]) for name in SHARES} == found
    assert len(set(found.values())) > 4  # they do not agree because all are 0

    samples = [
        {"id": row["id"], "epoch": 1, "input": row["prompt"], "target": row["target"], "metadata": row,
         "output": {"completion": one}}
        for row, one in zip(rows, answers, strict=True)
    ]  # fmt: skip
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"eval": {"task": "pets", "model": "mock"}, "samples": samples}))
    logs = read_logs([log])
    assert logs is not None
    (run,) = log_runs(logs[0])
    assert run.record.metrics.overall.metrics == overall.metrics
    assert run.rows[0].id == "pets/0"


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    given = items(tmp_path / "photos")
    with pytest.raises(UserError, match=r"expected one of inspect.*Did you mean inspect"):
        exported("inspct", tmp_path, given)
    (tmp_path / "photos" / "2.png").write_bytes(b"no photo")
    (tmp_path / "photos" / "5.png").unlink()
    with pytest.raises(UserError, match=r"(?s)2\.png.*5\.png.*--images"):
        exported("hub", tmp_path, given)
    assert not (tmp_path / "hub").exists() and not list(tmp_path.glob(".*"))
    captions = [item.model_copy(update={"negatives": ()}) for item in given]
    with pytest.raises(UserError, match="nothing to ask"):
        exported("inspect", tmp_path, captions)


def test_another_benchmarks_rows_are_not_taken_for_ours() -> None:
    assert row_of({"item": 1, "names": "x", "lettered": 3}) is None
    assert row_of(["item"]) is None


@pytest.mark.parametrize("to", ["lm-eval", "lmms-eval"])
def test_the_task_names_functions_that_are_there(to: str, tmp_path: Path) -> None:
    folder, _ = exported(to, tmp_path, items(tmp_path / "photos"))
    task, functions = (folder / "pets.yaml").read_text(), (folder / "utils.py").read_text()
    named = {word.removeprefix("utils.") for word in task.split() if word.startswith("utils.")}
    assert named and all(f"def {name}(" in functions or f"{name} = of(" in functions for name in named)


def test_only_a_new_folder_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = items(tmp_path / "photos")
    (tmp_path / ".hub.part").mkdir()
    (tmp_path / ".hub.part" / "mine").touch()
    exported("hub", tmp_path, given)
    assert (tmp_path / ".hub.part" / "mine").exists()
    (tmp_path / "lm-eval").symlink_to("nowhere")
    with pytest.raises(UserError, match="already there"):
        exported("lm-eval", tmp_path, given)
    (tmp_path / "inspect").mkdir()
    monkeypatch.chdir(tmp_path / "inspect")
    with pytest.raises(UserError, match="already there"):
        export(
            given, of_file(Path("a"), given), FolderImages(tmp_path / "photos"), "hub", Path(), parse_ask(ASK), Origin()
        )


def test_names_that_a_shell_or_yaml_would_read_otherwise(tmp_path: Path) -> None:
    below = tmp_path / "two words"
    below.mkdir()
    folder, lines = exported("lm-eval", below, items(below / "photos"), "123.jsonl")
    assert f"cd '{folder}' &&" in lines[-1]
    assert 'task: "123"\n' in (folder / "123.yaml").read_text()
