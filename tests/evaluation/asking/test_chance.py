"""The table of chance in docs/metrics.md, by enumerating what three guessers may say."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from equipoise.evaluation.answers import Answer, verdict

ROOT = Path(__file__).parents[3]
ROWS = re.findall(
    r"^\| (\d),(\d) \| ([\d.]+)/([\d.]+)/([\d.]+) \|$",
    (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def _answers(said: dict[tuple[int, int, int], bool]) -> list[Answer]:
    return [
        Answer(right=right, wording=str(k), question=str(m), order=str(order), options=2)
        for (k, m, order), right in said.items()
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}, {row[1]}")
def test_the_table_of_chance(row: tuple[str, ...]) -> None:
    positives, negatives = int(row[0]), int(row[1])
    asked = list(product(range(1 + positives), range(negatives), range(2)))
    first = verdict(_answers({one: one[2] == 0 for one in asked}))  # right where the right option comes first
    assert not (first.original or first.augmented or first.brittle)
    found = verdict(_answers(dict.fromkeys(asked, True))).chance
    assert [f"{100 * value:.1f}" for value in found] == [*row[2:]]
    if len(asked) <= 12:
        drawn = [
            verdict(_answers(dict(zip(asked, said, strict=True)))) for said in product([False, True], repeat=len(asked))
        ]
        mean = np.mean([(one.original, one.augmented, one.brittle) for one in drawn], axis=0)
        assert mean == pytest.approx(found)


def test_every_row_and_always_yes() -> None:
    assert len(ROWS) == 9
    for right in (True, False):
        found = verdict([Answer(right=right, wording=str(k), options=2) for k in range(3)])
        assert (found.original, found.augmented, found.brittle) == (right, right, False)
