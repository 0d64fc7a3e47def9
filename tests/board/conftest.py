"""Run folders for leaderboards: models of a given accuracy on a benchmark's own splits, written as an evaluation's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import registry
from equipoise.evaluation.measure import measure
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import ItemCounts, RunRecord
from equipoise.evaluation.results import write_run
from equipoise.evaluation.run_id import benchmark_id
from equipoise.evaluation.scores import ImageScores, ItemScores

MakeRuns = Callable[..., Path]


@pytest.fixture
def make_runs(tmp_path: Path, make_record: Callable[..., RunRecord]) -> MakeRuns:
    """A folder of runs: model -> share of items that it gets right, drawn by its name, on `count` items a split."""

    def make(
        right: Mapping[str, float],
        benchmark: str = "sugarcrepe",
        count: int = 40,
        specs: Mapping[str, str] | None = None,
        folder: str = "runs",
        **changes: Any,
    ) -> Path:
        facts = registry.get(benchmark)
        for place, (model, share) in enumerate(right.items()):
            rng = np.random.default_rng(place)
            rows = []
            for split in facts.splits:
                for number in range(count):
                    wins = rng.random(2) < share
                    tags = {"split": split, "group": split.partition("_")[0]}
                    common = {"id": f"{split}/{number}", "image": f"{number}.jpg", "tags": tags}
                    rows.append(_paired(common, *wins) if benchmark == "winoground" else _pair(common, wins[0]))
            outcomes = outcomes_of(rows)
            golden = make_record(benchmark, items_sha256="0" * 64)
            spec = (specs or {}).get(model, f"py:{model}")
            about = benchmark_id([], facts).model_copy(
                update={"splits": list(facts.splits), "items_sha256": "0" * 64} | changes
            )
            record = golden.model_copy(
                update={
                    "benchmark": about,
                    "metrics": measure(rows, outcomes, facts, resamples=100),
                    "n": ItemCounts(items=len(rows), scored=len(rows), skipped=0),
                    "model": golden.model.model_copy(update={"spec": spec, "weight_sha256": f"{place:064}"}),
                }
            )
            write_run(tmp_path / folder / model / benchmark, record, rows, outcomes, {})
        return tmp_path / folder

    return make


def _pair(common: dict[str, Any], right: bool) -> ItemScores:
    return ItemScores(**common, caption=0.3, positives=[], negatives=[0.2 if right else 0.4])


def _paired(common: dict[str, Any], text: bool, image: bool) -> ItemScores:
    """Winoground's two by two: text score where each image prefers its own text, image score the other way round."""
    own, wrong = 0.5, 0.4
    negative = wrong if text else 0.6
    other = ImageScores(image=f"other-{common['image']}", caption=wrong if image else 0.7, negatives=[0.9])
    return ItemScores(**common, caption=own, positives=[], negatives=[negative], negative_images=(other,), paired=True)
