"""Published scores -> the numbers of their benchmark, as far as what was published goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from equipoise.benchmarks import reading, registry
from equipoise.benchmarks.base import Benchmark
from equipoise.core.errors import UserError
from equipoise.data.items import Item
from equipoise.evaluation.averages import measure_elsewhere
from equipoise.evaluation.foreign.sheets import Foreign
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import ROWS
from equipoise.evaluation.record import Elsewhere, ItemNumbers, MacroNumbers, MeanScores, Metrics, Numbers
from equipoise.evaluation.scores import ItemScores

OUTCOMES_ONLY = "outcomes only: no score was published, so a tie cannot be told from a wrong answer"
_NO_SCORES = MeanScores(caption=None, positive=None, negative=None)


def measure_foreign(
    foreign: Foreign,
    benchmark: Benchmark,
    items: Sequence[Item] | None = None,
    splits: Sequence[str] = (),
    rule: str | None = None,
    seed: int = 0,
    subject: str = "the scores",
    own: Sequence[Metric] = (),
) -> Elsewhere:
    """The benchmark's numbers of a published file; with `items` by their tags and images, ids matched one by one."""
    rows, notes = foreign.rows, [OUTCOMES_ONLY] if foreign.outcomes_only else []
    if splits and foreign.layout != "equipoise":
        kept = [row for row in rows if row.tags.get("split") in splits]
        if not kept:
            raise UserError(f"{subject}: none of its {len(rows):,} scores is of {', '.join(splits)}")
        if len(kept) < len(rows):
            notes.append(f"{len(rows) - len(kept):,} scores of other splits than {', '.join(splits)} are left out")
        rows = kept
    if items is None:
        _refuse_another(foreign.rows, benchmark, subject)
        notes += _too_few(rows, benchmark)
    else:
        rows, fitting = foreign.fit(rows, items)
        items = fitting or None  # none: all that they say is in the rows already
    metrics = measure_elsewhere(rows, benchmark, items, rule, seed, subject, [*ROWS, *own])
    if foreign.outcomes_only:
        metrics = _without_scores(metrics)
    return Elsewhere(
        **(dict(metrics) | {"paper": {**metrics.paper, **foreign.paper}}),
        layout=foreign.layout,
        outcomes_only=foreign.outcomes_only,
        notes=[*notes, *filter(None, foreign.notes)],
    )


def _refuse_another(rows: Sequence[ItemScores], benchmark: Benchmark, subject: str) -> None:
    """Without items nothing is matched, but ids that name another benchmark (NAME-SPLIT/KEY) say whose they are."""
    named = tuple(reading.item_id(benchmark.name, split, "") for split in benchmark.splits)
    rest = [row.id for row in rows if not row.id.startswith(named)]
    for name in registry.names() if rest else ():
        starts = tuple(reading.item_id(name, split, "") for split in registry.get(name).splits)
        if others := [id_ for id_ in rest if id_.startswith(starts)]:
            raise UserError(
                f"{subject}: {len(others):,} of {len(rows):,} scores are of {name} and not of {benchmark.name}, for "
                f"instance {others[0]!r}. Name --bench {name}, or another file."
            )


def _too_few(rows: Sequence[ItemScores], benchmark: Benchmark) -> list[str]:
    """Splits of which there is only a part: somebody's first look, or half of a file."""
    counts = Counter(row.tags.get("split", "") for row in rows)
    few = [
        f"{split} {counts[split]:,} of {published:,}"
        for split, published in benchmark.splits.items()
        if published is not None and 0 < counts[split] < published
    ]
    return [f"not all of {benchmark.name} is here: {', '.join(few)}"] if few else []


def _without_scores(metrics: Metrics) -> Metrics:
    """Ties, mean scores and graded numbers of the ones and zeros that stand for outcomes would be an invention."""

    def _unknown(numbers: Numbers) -> dict[str, Any]:
        metrics = {name: one.model_copy(update={"chance": None}) for name, one in numbers.metrics.items()}
        return {"ties": None, "mean_scores": _NO_SCORES, "metrics": metrics}

    def plain(numbers: ItemNumbers) -> ItemNumbers:
        return numbers.model_copy(update=_unknown(numbers) | {"graded": None})

    def macro(numbers: MacroNumbers) -> MacroNumbers:
        return numbers.model_copy(update=_unknown(numbers))

    return metrics.model_copy(
        update={
            "overall": plain(metrics.overall),
            "by": {tag: {value: plain(one) for value, one in found.items()} for tag, found in metrics.by.items()},
            "macro": macro(metrics.macro) if metrics.macro else None,
            "averages": {rule: macro(one) for rule, one in metrics.averages.items()},
        }
    )
