"""The same questions for Label Studio and Potato. Label Studio's own reader is asked where it is installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.study.conftest import Make

from equipoise.errors import UserError
from equipoise.items import texts
from equipoise.study.exporting import export_study, label_studio_config, label_studio_tasks
from equipoise.study.questions import Study, read_study
from equipoise.study.store import Store

Open = Callable[[Path, Study], Store]
SAID = {"same": "no", "grammatical": ["yes", "no"], "plausible": ["unsure", "yes"]}


def test_label_studio(make: Make, tmp_path: Path) -> None:
    study = read_study(folder := make())
    told = export_study(folder, study, {"anna": {2: [1, 1, 2]}, "ben": {}}, "label-studio", tmp_path / "out")
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_text())
    assert len(tasks) == 8 and "config.xml" in told[0]
    for task, question in zip(tasks, study.questions, strict=True):
        data = task["data"]
        assert [one["body"] for one in data["captions"]] == [text.text for text in question.texts]
        name = data["image"].removeprefix("/data/local-files/?d=")
        assert (tmp_path / "out" / name).is_file() and data["question"] == question.number
    (given,) = tasks[2]["annotations"]
    assert given["result"][0]["value"] == {"ranker": {"1": ["1", "2"], "2": ["3"]}}
    text = (tmp_path / "out" / "tasks.json").read_text()
    assert '"role"' not in text and "made/" not in text and ".png" not in text  # blind there too
    tree = ElementTree.fromstring((tmp_path / "out" / "config.xml").read_text())
    assert [one.get("name") for one in tree.iter("Bucket")] == ["1", "2", "3"]


def test_label_studio_pairs(make: Make) -> None:
    study = read_study(make(ask="pairs"))
    tasks = label_studio_tasks(study, {"anna": {0: SAID}})
    said = {one["from_name"]: one["value"]["choices"] for one in tasks[0]["annotations"][0]["result"]}
    assert said["same"] == ["no"] and said["grammatical_2"] == ["no"] and said["plausible_1"] == ["unsure"]
    named = {one.get("name") for one in ElementTree.fromstring(label_studio_config(study)).iter("Choices")}
    assert named == set(said)


def test_label_studios_own_reader(make: Make) -> None:
    interface = pytest.importorskip("label_studio_sdk.label_interface", reason="needs label-studio-sdk")
    for ask, value in (("rank", [1, 1, 2]), ("pairs", SAID)):
        study = read_study(make(ask=ask, name=ask))
        reader = interface.LabelInterface(label_studio_config(study))
        reader.validate()
        for task in label_studio_tasks(study, {"anna": {0: value}}):
            assert reader.validate_task({"data": task["data"]})  # with annotations it raises, in 2.1.2
            assert all(reader.validate_annotation(one) for one in task["annotations"])
            wrong = {"result": [{"from_name": "nothing", "to_name": "image", "type": "choices", "value": {}}]}
            assert not reader.validate_annotation(wrong)


def test_potato(make: Make, tmp_path: Path) -> None:
    study = read_study(folder := make(n=20, negatives=texts("a dog", "a horse")))
    export_study(folder, study, {}, "potato", tmp_path / "out")
    project = tmp_path / "out" / "texts-4"
    config = json.loads((project / "config.yaml").read_text())
    (scheme,) = config["annotation_schemes"]
    assert scheme["annotation_type"] == "multirate" and scheme["options"][3] == "caption 4"
    assert {"annotation_task_name", "task_dir", "output_annotation_dir", "item_properties"} <= set(config)
    rows = [json.loads(line) for line in (project / "data" / "questions.jsonl").read_text().splitlines()]
    assert len(rows) == 20 and rows[0]["text"].count("\n") == 3
    for row in rows:
        assert (project / row["image"].lstrip("/")).is_file()
    assert "role" not in json.dumps(rows)


def test_potato_pairs(make: Make, tmp_path: Path) -> None:
    study = read_study(folder := make(ask="pairs"))
    export_study(folder, study, {}, "potato", tmp_path / "out")
    config = json.loads((tmp_path / "out" / "texts-2" / "config.yaml").read_text())
    names = [scheme["name"] for scheme in config["annotation_schemes"]]
    assert names == ["same", "grammatical_1", "grammatical_2", "plausible_1", "plausible_2"]


def test_refusals(make: Make, tmp_path: Path) -> None:
    study = read_study(folder := make())
    with pytest.raises(UserError, match="expected label-studio or potato"):
        export_study(folder, study, {}, "doccano", tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="thesis"):
        export_study(folder, study, {}, "potato", tmp_path / "mine")
