"""Tasks to evaluate a model on: items (`ItemsTask`) or a set (`sets.kinds.SetTask`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.benchmarks.base import Benchmark
from equipoise.benchmarks.ceilings import CONTEXT, Ceilings, ceilings
from equipoise.core.errors import UserError
from equipoise.data.identity import of_items, trained_on
from equipoise.data.images import ImageSource
from equipoise.data.items import Item
from equipoise.embedding.cache import ScoringOptions
from equipoise.evaluation.asking.until import Until
from equipoise.evaluation.asking.variants import Ask
from equipoise.evaluation.averages import mean_number, measure
from equipoise.evaluation.baselines import Blinds, add_baselines, blind_averages
from equipoise.evaluation.metrics import ROWS, Metric
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import AverageId, BenchmarkId, Kind
from equipoise.evaluation.results import item_lines, read_run
from equipoise.evaluation.scoring import Scoring, check_photos, score_items, scored_photos

if TYPE_CHECKING:
    from equipoise.models.base import Model

FromTexts = tuple[Blinds, Ceilings]
Fields = dict[str, object]  # of a record
Lines = Iterable[Mapping[str, object]]  # of items.jsonl


class Task:
    """Something to evaluate a model on. The defaults are those of a set, which has no items."""

    kind: Kind
    name: str
    images: str | Path | ImageSource | None
    items: Sequence[Item] = ()
    own: tuple[Metric, ...] = ()  # metrics of the user's
    ask: Ask | None = None  # of a model that answers
    until: Until | None = None

    def limited(self, limit: int | None) -> Task:
        """Only its first items."""
        if limit is not None:
            raise UserError(f"--limit counts items; {self.name} is measured as a whole")
        return self

    def chosen(self, metrics: Sequence[Metric], ask: Ask | None, until: Until | None) -> Task:
        return self

    def about(self) -> BenchmarkId:
        raise NotImplementedError

    def check_photos(self, allow_missing: bool) -> None:
        """Refuse early what scoring would refuse."""

    def photos(self, how: ScoringOptions, folder: Path) -> dict[str, bytes]:
        """The SHA-256, as of now, of each photo that the finished run in `folder` was scored on."""
        raise NotImplementedError

    def from_texts(self, context: int | None, seed: int) -> FromTexts | None:
        """Results that need the texts alone, for a model that reads `context` tokens."""
        return None

    def score(self, model: Model, how: ScoringOptions, seed: int = 0) -> Scoring:
        raise NotImplementedError

    def lines(self, scoring: Scoring) -> Lines:
        """The lines of items.jsonl."""
        raise NotImplementedError

    def measure(
        self, model: Model, scoring: Scoring, context: int | None, seed: int, from_texts: Callable[[], FromTexts | None]
    ) -> Fields:
        """The fields of the record."""
        raise NotImplementedError


@dataclass(frozen=True)
class ItemsTask(Task):
    """Items to evaluate a model on, and where their images lie."""

    kind: ClassVar[Kind] = "items"  # type: ignore[misc]
    name: str
    items: Sequence[Item]
    images: str | Path | ImageSource | None = None
    benchmark: Benchmark | None = None
    limit: int | None = None
    own: tuple[Metric, ...] = ()
    ask: Ask | None = None
    until: Until | None = None

    def limited(self, limit: int | None) -> ItemsTask:
        return replace(self, items=self.items[:limit], limit=limit)

    def chosen(self, metrics: Sequence[Metric], ask: Ask | None, until: Until | None) -> ItemsTask:
        return replace(self, own=tuple(metrics), ask=ask, until=until)

    def about(self) -> BenchmarkId:
        return benchmark_id(self.items, self.benchmark, self.name, self.limit)

    def check_photos(self, allow_missing: bool) -> None:
        check_photos(self.items, self.images, allow_missing)

    def photos(self, how: ScoringOptions, folder: Path) -> dict[str, bytes]:
        items = self.items
        if self.until is not None:  # only a part was asked
            there = {row.id for row in read_run(folder)[1]}
            items = [item for item in items if item.id in there]
        return scored_photos(items, self.images, how.workers, how.allow_missing)

    def from_texts(self, context: int | None, seed: int) -> FromTexts:
        """The baselines' averages, and the ceilings."""
        metrics = [*ROWS, *self.own]
        return blind_averages(self.items, self.benchmark, seed, metrics), ceilings(self.items, context or CONTEXT)

    def score(self, model: Model, how: ScoringOptions, seed: int = 0) -> Scoring:
        asked = self.benchmark is not None and "tot" in self.benchmark.metrics
        return score_items(
            model, self.items, images=self.images, text_scores=asked, ask=self.ask, until=self.until, seed=seed,
            **vars(how),
        )  # fmt: skip

    def lines(self, scoring: Scoring) -> Lines:
        items = {item.id: item for item in self.items}
        return item_lines(outcomes_of(scoring.rows), items, [*ROWS, *self.own])

    def measure(
        self, model: Model, scoring: Scoring, context: int | None, seed: int, from_texts: Callable[[], FromTexts | None]
    ) -> Fields:
        metrics, outcomes, items = [*ROWS, *self.own], outcomes_of(scoring.rows), self.items
        known = from_texts() if len(outcomes) == len(items) else None
        if known is None:  # the baselines learn only from items that were scored, and the ceilings bound those
            there = set(outcomes.rows.ids)
            items = [item for item in items if item.id in there]
            known = replace(self, items=items).from_texts(context, seed)
        blind, bounds = known
        measured = measure(outcomes, self.benchmark, seed, metrics=metrics)
        cosines = {name: mean_number(values, outcomes.cluster) for name, values in scoring.text_cosines.items()}
        seen = trained_on(model, self.items)
        return {
            "metrics": measured.also({name: number for name, number in cosines.items() if number is not None}),
            "edits": dict(sorted(Counter(_edits(items)).items())),
            "ceilings": bounds,
            "blind": add_baselines(outcomes, blind, self.benchmark, seed, metrics),
            "counts": scoring.counts
            | ({} if seen is None else {"trained_on": seen})
            | ({"read_alike": len(scoring.read_alike)} if scoring.read_alike else {}),
        }


def _edits(items: Iterable[Item]) -> Iterator[str]:
    """The edit of each text, where the items name it: "negative swap object"."""
    for item in items:
        for kind, texts in (("positive", item.positives), ("negative", item.negatives)):
            for edit in (text.edit for text in texts if text.edit is not None):
                yield " ".join(filter(None, (kind, edit.op, edit.target)))


def benchmark_id(
    items: Sequence[Item], benchmark: Benchmark | None, name: str | None = None, limit: int | None = None
) -> BenchmarkId:
    """Which items these are; without a benchmark they are a caller's own list, averaged plainly."""
    about: dict[str, Any] = {}
    if benchmark is not None:
        averages = benchmark.averages.items()
        about = {
            "chance": dict(benchmark.chance),
            "macro": list(benchmark.macro),
            "least": benchmark.least,
            "averages": {rule: AverageId(over=list(a.path), least=a.least, cite=a.cite) for rule, a in averages},
            "metrics": list(benchmark.metrics),
            **{fact: getattr(benchmark, fact) for fact in ("ties", "citation", "notes")},
        }
    splits = sorted({item.tags["split"] for item in items if "split" in item.tags})
    name = name or (benchmark.name if benchmark else "items")
    return BenchmarkId(name=name, items_sha256=of_items(items), splits=splits, limit=limit, **about)
