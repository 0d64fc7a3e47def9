"""Everything a benchmark asks of scores: plain numbers, every average, the metrics of its paper.

`eval` calls it on what it scored, `metrics --bench` on scores that were made elsewhere.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence

from equipoise import stats
from equipoise.benchmarks.base import Average, Benchmark
from equipoise.errors import Problems, UserError
from equipoise.evaluation.averages import macro, summarise
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import ROWS, Outcomes, outcomes_of
from equipoise.evaluation.paper_metrics import PAPER_METRICS, require_tags
from equipoise.evaluation.record import MacroNumbers, Metrics
from equipoise.evaluation.scores import ItemScores, Scores, kinds_of
from equipoise.items import ImageRef, Item

log = logging.getLogger(__name__)

_NAMED = 5  # ids of one kind in a message; all are counted


def measure(
    rows: Sequence[ItemScores],
    outcomes: Outcomes,
    benchmark: Benchmark | None,
    seed: int = 0,
    resamples: int = stats.RESAMPLES,
    metrics: Sequence[Metric] = ROWS,
) -> Metrics:
    """The numbers of scored items; without a benchmark the plain mean alone."""
    summary = summarise(outcomes, seed, resamples, metrics)
    averages = _averages(outcomes, benchmark, seed, resamples, metrics) if benchmark else {}
    paper = {wanted: PAPER_METRICS[wanted](rows) for wanted in (benchmark.metrics if benchmark else ())}
    headline = averages.get(benchmark.rule) if benchmark else None
    return Metrics(overall=summary.overall, by=summary.by, macro=headline, averages=averages, paper=paper)


def _averages(
    outcomes: Outcomes, benchmark: Benchmark, seed: int, resamples: int, metrics: Sequence[Metric]
) -> dict[str, MacroNumbers]:
    """The numbers by each rule; two papers with one rule share the work.

    A rule is left out where no group is large enough, and where items lack its tags: all items without the tag would
    pass for one group.
    """
    known: dict[tuple[tuple[str, ...], int], MacroNumbers | None] = {}
    found = {}
    for rule, average in benchmark.averages.items():
        if rule != benchmark.rule and _lacking(outcomes.tags, average):
            log.warning("%s: no average %r: items lack the tag %s", benchmark.name, rule, "/".join(average.path))
            continue
        key = (average.path, average.least)
        if key not in known:
            known[key] = macro(outcomes, average.path, average.least, seed, resamples, metrics)
        if (numbers := known[key]) is not None:
            found[rule] = numbers.model_copy(update={"rule": rule})
    return found


def _lacking(tags: Sequence[Mapping[str, str]], average: Average) -> bool:
    return any(tag not in one for one in kinds_of(tags)[0] for tag in average.path)


# ---------------------------------------------------------------------------- scores made elsewhere


def measure_elsewhere(
    rows: Sequence[ItemScores],
    benchmark: Benchmark,
    items: Sequence[Item] | None = None,
    rule: str | None = None,
    seed: int = 0,
    subject: str = "the scores",
    metrics: Sequence[Metric] = ROWS,
) -> Metrics:
    """A benchmark's numbers of anybody's scores, whose tags are their own, or those of `items` where they are given.

    With `items` the ids of both must be the same: a score too few would be another benchmark.
    """
    if items is not None:
        rows = with_items(rows, items, subject)
    average = benchmark.averages.get(rule or benchmark.rule)
    if average is not None and (without := [row for row in rows if any(tag not in row.tags for tag in average.path)]):
        raise UserError(
            f"{subject}: {len(without):,} of {len(rows):,} scores lack a tag of {', '.join(average.path)}, over which "
            f"{benchmark.name} is averaged ({rule or benchmark.rule}), for instance {without[0].id!r}. Name the folder "
            'of the annotation files with --source, or put the tags into the file: "tags": {"split": "..."}'
        )
    require_tags(benchmark.metrics, rows)
    return measure(rows, outcomes_of(rows), benchmark, seed, metrics=metrics)


def with_items(rows: Sequence[ItemScores], items: Sequence[Item], subject: str) -> Sequence[ItemScores]:
    """The scores in the items' order with their tags and images; ids that do not match are refused, all at once."""
    scores = Scores.of(rows)
    given = {id_: place for place, id_ in enumerate(scores.ids)}
    wanted = {item.id: (_shape(item), {"tags": item.tags, "paired": item.paired}, item.image) for item in items}
    problems = Problems(f"{subject}: not the scores of these {len(items):,} items")
    _name(problems, "doubled", [id_ for id_, count in Counter(scores.ids).items() if count > 1])
    _name(problems, "unknown: no such item", [id_ for id_ in scores.ids if id_ not in wanted])
    _name(problems, "missing: item without a score", [id_ for id_ in wanted if id_ not in given])
    other = [id_ for id_ in given.keys() & wanted.keys() if _shape(scores[given[id_]]) != wanted[id_][0]]
    _name(problems, "another number of positives, negatives or images than the item", sorted(other))
    problems.raise_if_any('Expected one score per item: {"id": "...", "caption": 0.31, "negatives": [0.28]}')

    def with_item(score: ItemScores, update: dict[str, object], image: ImageRef | None) -> ItemScores:
        return score.model_copy(update=update | {"image": image.path if image else score.image})

    return Scores(with_item(scores[given[id_]], update, image) for id_, (_, update, image) in wanted.items())


def _name(problems: Problems, what: str, ids: Sequence[str]) -> None:
    if ids:
        more = ", ..." if len(ids) > _NAMED else ""
        problems.add("", f"{len(ids):,} {what}: {', '.join(map(repr, ids[:_NAMED]))}{more}")


def _shape(one: ItemScores | Item) -> tuple[int, ...]:
    return len(one.positives), len(one.negatives), len(one.positive_images), len(one.negative_images)
