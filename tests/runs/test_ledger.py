"""runs/ledger: the scripts behind the ledger page, on the shared files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.conftest import modules_of

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not (SHARED / "published_scores").is_dir(), reason="needs ../shared/data")


@pytest.fixture(scope="module")
def ledger() -> Iterator[Any]:
    yield from modules_of("ledger")


def test_courts_find_planted_labels_sooner_than_counting(ledger: Any) -> None:
    courts = ledger("courts")
    outcomes, items = courts.result_sets(SHARED)
    counts = {name: len(one) for name, one in outcomes.items()}
    assert len(items) == 7512 and list(counts.values()) == [7511, 7266, 7266, 7512, 7512, 2931, 2931, 2931]
    answers, raw, notes = courts.tables(outcomes, items)
    assert len(answers.models) == 6 and len(notes) == 2
    trials = [courts.trial(answers, raw, seed) for seed in range(3)]
    by_model, by_count, by_all = (100 * np.mean([one[name] for one in trials]) for name in trials[0])
    assert by_model > 80 and by_model > by_count > by_all
    failed = np.flatnonzero((raw.right == 0).all(1))
    assert len(failed) == 9
