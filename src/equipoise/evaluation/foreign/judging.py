"""Published scores -> the numbers of their benchmark, as far as what was published goes."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.benchmarks.base import Benchmark
from equipoise.errors import UserError
from equipoise.evaluation.foreign.base import Foreign
from equipoise.evaluation.measure import measure_elsewhere
from equipoise.evaluation.record import Elsewhere, ItemNumbers, MacroNumbers, MeanScores, Metrics
from equipoise.items import Item

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
    if items is not None:
        rows, fitting = foreign.fit(rows, items)
        items = fitting or None  # none: all that they say is in the rows already
    metrics = measure_elsewhere(rows, benchmark, items, rule, seed, subject)
    if foreign.outcomes_only:
        metrics = _without_scores(metrics)
    return Elsewhere(
        **(dict(metrics) | {"paper": {**metrics.paper, **foreign.paper}}),
        layout=foreign.layout,
        outcomes_only=foreign.outcomes_only,
        notes=[*notes, *foreign.notes],
    )


def _without_scores(metrics: Metrics) -> Metrics:
    """Ties and mean scores of the ones and zeros that stand for outcomes would be somebody's invention."""

    def plain(numbers: ItemNumbers) -> ItemNumbers:
        return numbers.model_copy(update={"ties": None, "mean_scores": _NO_SCORES})

    def macro(numbers: MacroNumbers) -> MacroNumbers:
        return numbers.model_copy(update={"ties": None, "mean_scores": _NO_SCORES})

    return metrics.model_copy(
        update={
            "overall": plain(metrics.overall),
            "by": {tag: {value: plain(one) for value, one in found.items()} for tag, found in metrics.by.items()},
            "macro": macro(metrics.macro) if metrics.macro else None,
            "averages": {rule: macro(one) for rule, one in metrics.averages.items()},
        }
    )
