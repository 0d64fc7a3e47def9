"""The task files of inspect_ai, of lm-evaluation-harness, and of lmms-eval, which grew out of it and takes nearly the
same.

The scorer of inspect_ai reads answers as `eval` does; the metrics are ours everywhere. The latter two look for the data
from the folder in which they are started, so the command begins with `cd`.
"""

from __future__ import annotations

from equipoise.evaluation.asking.shipped import SHARES

RUN_INSPECT = "inspect eval task.py --model MODEL"
_INSPECT = '''\
"""A benchmark of Equipoise for inspect_ai: inspect eval task.py --model MODEL"""

import json
import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import CORRECT, INCORRECT, SampleScore, Score, Value, metric, scorer
from inspect_ai.solver import generate

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from equipoise_answers import choice_of, shares  # noqa: E402


def sample(row):
    pictures = [ContentImage(image=str(HERE / path)) for path in row["images"]]
    content = [*pictures, ContentText(text=row["prompt"])]
    return Sample(id=row["id"], input=[ChatMessageUser(content=content)], target=row["target"], metadata=row)


@metric
def shares_of_items():
    def measured(scores: list[SampleScore]) -> Value:  # inspect reads these annotations
        return shares((one.sample_metadata, one.score.answer) for one in scores)

    return measured


@scorer(metrics=[shares_of_items()])
def named_option():
    async def score(state, target):
        choice = choice_of(state.metadata, state.output.completion)
        right = choice == state.metadata["truth"]
        return Score(value=CORRECT if right else INCORRECT, answer=choice)

    return score


@task(name={name!r})
def benchmark():
    with (HERE / "data.jsonl").open(encoding="utf-8") as lines:
        samples = [sample(json.loads(line)) for line in lines]
    return Task(dataset=MemoryDataset(samples, name={name!r}), solver=generate(), scorer=named_option())
'''


def inspect_files(name: str) -> dict[str, str]:
    return {"task.py": _INSPECT.replace("{name!r}", repr(name))}


_OPTIONS = "--tasks {name} --include_path . --log_samples --output_path OUT"
RUN_LM = f"lm_eval --model hf-multimodal --model_args pretrained=MODEL {_OPTIONS}"
RUN_LMMS = f"python -m lmms_eval --model MODEL {_OPTIONS}"
_TASK = """\
task: "{name}"
dataset_path: json
dataset_kwargs:
  data_files:
    test: data.jsonl
test_split: test
output_type: generate_until
{own}doc_to_text: !function utils.doc_to_text
doc_to_target: target
generation_kwargs:
  max_new_tokens: 64
  do_sample: false
  until: []
process_results: !function utils.process_results
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
{metrics}metadata:
  version: 1
"""
_METRIC = """\
  - metric: {name}
    aggregation: !function utils.{name}
    higher_is_better: {high}
"""
_UTILS = '''\
"""Functions of the task: prompt, photos, and the metrics, which need all answers about an item."""

import functools
import json
import sys
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from equipoise_answers import SHARES, choice_of, shares  # noqa: E402


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return {placeholder}doc["prompt"]


def doc_to_visual(doc):
    return [Image.open(HERE / path).convert("RGB") for path in doc["images"]]


def process_results(doc, results):
    choice = choice_of(doc, results[0])
    found = {"acc": float(choice == doc["truth"])} | dict.fromkeys(SHARES, f"{doc['id']} {choice or ''}")
    return found | {SHARES[0]: dict(doc, choice=choice)}  # lmms-eval's log has no other copy of the question


@functools.cache
def rows():
    with (HERE / "data.jsonl").open(encoding="utf-8") as lines:
        return {row["id"]: row for row in map(json.loads, lines)}


@functools.cache
def measured(said):
    pairs = (one.split(" ", 1) for one in said)
    return shares((rows()[row], choice or None) for row, choice in pairs)


def of(name):
    def measure(said):
        plain = (one if isinstance(one, str) else f"{one['id']} {one['choice'] or ''}" for one in said)
        return measured(tuple(plain)).get(name, float("nan"))

    return measure


'''


def _files(name: str, placeholder: str, own: str) -> dict[str, str]:
    metrics = "".join(
        _METRIC.format(name=one, high=str(one not in ("brittleness", "order_flips")).lower()) for one in SHARES
    )
    functions = "".join(f'{one} = of("{one}")\n' for one in SHARES)
    return {
        f"{name}.yaml": _TASK.format(name=name, own=own, metrics=metrics),
        "utils.py": _UTILS.replace("{placeholder}", placeholder) + functions,
    }


def lm_files(name: str) -> dict[str, str]:
    return _files(name, '"<image>" * len(doc["images"]) + ', "doc_to_image: !function utils.doc_to_visual\n")


def lmms_files(name: str) -> dict[str, str]:
    return _files(name, "", "doc_to_visual: !function utils.doc_to_visual\n")
