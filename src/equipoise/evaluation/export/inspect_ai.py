"""The task file of inspect_ai. Its scorer reads answers as `eval` does; its metrics are ours."""

from __future__ import annotations

RUN = "inspect eval task.py --model MODEL"
TASK = '''\
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


def files(name: str) -> dict[str, str]:
    return {"task.py": TASK.replace("{name!r}", repr(name))}
