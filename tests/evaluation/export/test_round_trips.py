"""An exported benchmark runs in each harness, and its log has the numbers of our own `eval` of the same model.

`make test-extras` installs the harnesses; where one is missing its test is skipped.
"""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.export.exporting import ASK, Mock, exported, items, said

import equipoise
from equipoise.evaluation.asking.shipped import SHARES
from equipoise.published.logs.reading import read_logs
from equipoise.published.measuring import log_runs


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")


def check(below: Path, log: Path, given: Any, printed: dict[str, float]) -> None:
    """The log against `eval`: the same answers of the same items, and so the same numbers; and the harness prints
    them."""
    found = read_logs([log])
    assert found is not None
    ((one,), _) = found
    (read,) = log_runs([one])
    own = equipoise.evaluate(Mock(), given, images=below / "photos", ask=ASK)
    answers = {row.id: row.answers for row in own.rows}
    assert {row.id: sorted(row.answers, key=repr) for row in read.rows} == {
        id_: sorted(some, key=repr) for id_, some in answers.items()
    }
    tags = {row.id: {name: one for name, one in row.tags.items() if name != "question"} for row in read.rows}
    assert tags == {item.id: item.tags for item in given}
    assert read.record.metrics.overall.metrics == own.record.metrics.overall.metrics
    overall = own.record.metrics.overall
    for name in SHARES:
        assert math.isclose(printed[name], overall[name] or 0), name
    assert all(math.isclose(one.scores[name], 100 * printed[name]) for name in SHARES)


@needs("inspect_ai")
def test_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai import eval as run
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(asked: Any, *_: Any) -> ModelOutput:
        output = ModelOutput.from_content("mockllm", said(asked[-1].text))
        output.usage = ModelUsage()  # without it, tokens are counted with a file from the network
        return output

    given = items(tmp_path / "photos")
    folder, _ = exported("inspect", tmp_path, given)
    monkeypatch.chdir(folder)
    model = get_model("mockllm/model", custom_outputs=answer)
    (log,) = run("task.py", model=model, log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "success", log.error
    assert log.results is not None
    (score,) = log.results.scores
    printed = {name: metric.value for name, metric in score.metrics.items()}
    check(tmp_path, tmp_path / "logs", given, printed)


@needs("lm_eval")
def test_lm_eval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lm_eval import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.models.dummy import DummyLM
    from lm_eval.tasks import TaskManager

    class Answers(DummyLM):
        MULTIMODAL = True
        tokenizer = None  # its own is on the hub

        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            assert all(request.args[2]["visual"][0].size for request in requests)
            return [said(request.args[0]) for request in requests]

    given = items(tmp_path / "photos")
    folder, _ = exported("lm-eval", tmp_path, given)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    tracker = EvaluationTracker(output_path=str(tmp_path / "logs"))
    manager = TaskManager(include_path=".", include_defaults=False)
    found = simple_evaluate(
        Answers(), tasks=["pets"], task_manager=manager, log_samples=True, evaluation_tracker=tracker
    )
    samples = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=samples)
    for name, some in samples.items():
        tracker.save_results_samples(task_name=name, samples=some)
    printed = {name.partition(",")[0]: value for name, value in found["results"]["pets"].items()}
    check(tmp_path, tmp_path / "logs", given, printed)


@needs("datasets")
def test_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    given = items(tmp_path / "photos")
    folder, _ = exported("hub", tmp_path, given)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    found = datasets.load_dataset("imagefolder", data_dir=str(folder / "images"), split="train")
    assert [row["id"] for row in found] == [item.id for item in given]
    assert found[3]["image"].size == (16, 16)
    assert json.loads(found[0]["tags"]) == given[0].tags


@needs("lmms_eval")
def test_lmms_eval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_eval.api.model import lmms
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.loggers import EvaluationTracker
    from lmms_eval.tasks import TaskManager

    class Answers(lmms):
        is_simple = True

        def generate_until(self, requests: Any) -> list[str]:
            for request in requests:
                _, _, shown, number, task, split = request.args
                assert shown(self.task_dict[task][split][number])[0].size
            return [said(request.args[0]) for request in requests]

        def loglikelihood(self, requests: Any) -> Any:
            raise NotImplementedError

        generate_until_multi_round = loglikelihood

    given = items(tmp_path / "photos")
    folder, _ = exported("lmms-eval", tmp_path, given)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    tracker = EvaluationTracker(output_path=str(tmp_path / "logs"))
    manager = TaskManager(include_path=".", include_defaults=False)
    found = simple_evaluate(
        Answers(), tasks=["pets"], task_manager=manager, log_samples=True, evaluation_tracker=tracker
    )
    samples = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=samples, datetime_str="20261118_120000")
    for name, some in samples.items():
        tracker.save_results_samples(task_name=name, samples=some)
    printed = {name.partition(",")[0]: value for name, value in found["results"]["pets"].items()}
    check(tmp_path, tmp_path / "logs", given, printed)
