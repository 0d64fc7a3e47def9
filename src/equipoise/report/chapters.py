"""Run folders -> chapters of a report: one for each test set, with every model that was measured on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.errors import Problems, UserError, printable
from equipoise.core.files import read_json
from equipoise.data.readers.records import validated
from equipoise.evaluation.comparing import models
from equipoise.evaluation.comparing.differences import shared_metrics
from equipoise.evaluation.comparing.folders import corrected, rule_of
from equipoise.evaluation.metrics import METRICS, SHARES
from equipoise.evaluation.record import Comparison, Interval, Number, Numbers
from equipoise.evaluation.results import LoadedRun, find_item_runs, load_run
from equipoise.evaluation.scores import ItemScores, Scores, kinds_of
from equipoise.report.orderings import NOT_COMPARED, classify_all
from equipoise.report.tables import Line, average_words, baselines_words, by_chance, caveats, gain_words, result_rows

Kind = TypeVar("Kind", bound=np.generic)
Numbered = Mapping[str, Mapping[str, Numbers]]  # tag -> value -> numbers


@dataclass(frozen=True)
class Entry:
    """One model on one test set: what it is called, a word on what it is, its numbers, and the run they come from."""

    label: str
    about: str
    numbers: Numbers
    run: LoadedRun
    by: Numbered = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)  # by metric: those that share one do not differ


class Point(BaseModel):
    """Numbers from elsewhere: people, a blind baseline, what a paper reported. Fractions.

    They are never tested against a run: nobody published the answers behind them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
    label: str
    benchmark: str
    metrics: dict[str, float]
    average: str | None = None  # the rule, of `bench show`; None: the source does not say
    source: str = ""  # who measured it
    intervals: dict[str, Interval] = Field(default_factory=dict)

    @property
    def numbers(self) -> Numbers:
        numbers = {
            name: Number(value=value, interval=self.intervals.get(name), n=0) for name, value in self.metrics.items()
        }
        return Numbers(n=0, ties=None, metrics=numbers)


@dataclass(frozen=True)
class Chapter:
    """One test set. Items are those of all its runs, in the order of the first; a run may have skipped some."""

    title: str
    average: str  # how the headline is averaged
    chance: Mapping[str, float]
    entries: Sequence[Entry]
    points: Sequence[Point] = ()  # all of the plane
    elsewhere: Sequence[Point] = ()  # those that the user gave: rows of the table too
    notes: Sequence[str] = ()
    about: str = ""  # what was changed in the captions, in a few words
    change: Comparison | None = None  # of two models: the second against the first
    kept: Sequence[Markup] = ()  # figures of what the same models did elsewhere (`retention`)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Item id -> its number in this chapter."""
        ids: dict[str, int] = {}
        for scores in self.scores:
            for name in scores.ids:
                ids.setdefault(name, len(ids))
        return ids

    @cached_property
    def scores(self) -> list[Scores]:
        """For each entry: its scores, as columns. A row of them is made when it is shown, never a million at once."""
        return [entry.run.rows for entry in self.entries]

    @cached_property
    def places(self) -> list[NDArray[np.int64]]:
        """For each entry: where in its scores each item is; -1 where it was not scored."""
        return [self._by_number(np.arange(len(scores)), scores, -1) for scores in self.scores]

    @cached_property
    def kinds(self) -> list[tuple[list[Mapping[str, str]], NDArray[np.int64]]]:
        """For each entry: its distinct tags, and which of them each row has. Every tag asks for them."""
        return [kinds_of(scores.tags) for scores in self.scores]

    @cached_property
    def codes(self) -> list[NDArray[np.uint8]]:
        """For each entry: the class of each item (see `orderings`)."""
        return [self._by_number(classify_all(scores), scores, NOT_COMPARED) for scores in self.scores]

    def _by_number(self, values: NDArray[Kind], scores: Scores, absent: int) -> NDArray[Kind]:
        column = np.full(len(self.ids), absent, values.dtype)
        column[np.fromiter(map(self.ids.__getitem__, scores.ids), np.int64, len(scores))] = values
        return column

    def tagged(self, tag: str) -> NDArray[np.int64]:
        """For each item: which of `values(tag)` it has by the first run that has the item; -1 for none of them."""
        number = {value: index for index, value in enumerate(self.values(tag))}
        numbers = np.full(len(self.ids), -1)
        for (kinds, of_row), places in reversed(list(zip(self.kinds, self.places, strict=True))):
            codes = np.array([number.get(tags.get(tag, ""), -1) for tags in kinds], np.int64)
            numbers[places >= 0] = codes[of_row[places[places >= 0]]]
        return numbers

    def tags(self) -> list[str]:
        """The breakdowns with more than one value."""
        names = dict.fromkeys(tag for entry in self.entries for tag in entry.by)
        return [tag for tag in names if len(self.values(tag)) > 1]

    def values(self, tag: str) -> list[str]:
        return list(dict.fromkeys(value for entry in self.entries for value in entry.by.get(tag, {})))

    def rows(self, number: int) -> Iterator[ItemScores | None]:
        """An item's scores by each run, made when asked for; None by one that did not score it."""
        for scores, places in zip(self.scores, self.places, strict=True):
            yield scores[int(places[number])] if places[number] >= 0 else None

    def row(self, number: int) -> ItemScores:
        """An item's scores by the first run that has it, for what all runs share: image and tags."""
        return next(row for row in self.rows(number) if row is not None)


def read_chapters(
    folders: Sequence[Path], points: Sequence[Point] = (), names: Mapping[Path, str] | None = None
) -> list[Chapter]:
    """The runs in or below the folders, apart by test set. One name with other items is another test set.

    `names` are what to call runs by their resolved folders; the others are called after their folders.
    """
    runs = find_item_runs(folders)
    given = {place.resolve(): place for place, _ in runs}
    records = {place.resolve(): record for place, record in runs}
    called = labels({place: record.benchmark.name for place, record in records.items()}) | dict(names or {})
    groups: dict[tuple[str, str], list[Path]] = {}
    for place, record in records.items():
        groups.setdefault((record.benchmark.name, record.benchmark.items_sha256), []).append(place)
    benchmarks = [name for name, _ in groups]
    if unknown := sorted({point.benchmark for point in points} - set(benchmarks)):
        raise UserError(f"--points: no run of {', '.join(unknown)}; measured are {', '.join(sorted(set(benchmarks)))}")
    chapters = [
        _chapter(name, items, [(called[place], given[place]) for place in places], points, benchmarks.count(name) > 1)
        for (name, items), places in groups.items()
    ]
    found_changes = [_change(chapter) for chapter in chapters]
    if not any(found_changes):
        return chapters
    tested = iter(corrected([change for change in found_changes if change]))  # for all that the page prints
    pairs = zip(chapters, found_changes, strict=True)
    return [replace(chapter, change=next(tested)) if change else chapter for chapter, change in pairs]


def _change(chapter: Chapter) -> Comparison | None:
    """The second of two models against the first, item by item."""
    if len(chapter.entries) != 2:
        return None
    first, second = chapter.entries
    try:
        rule, path, least = rule_of(first.run, None)
        comparison = models.compare_models([first.run], [second.run], 0, path, least)
    except UserError:  # other photos, or no record of the rule: they cannot be paired
        return None
    title, before, after = chapter.title, first.label, second.label
    return Comparison(benchmark=title, average=rule, before=before, after=after, **dict(comparison))


def _chapter(
    name: str, items: str, places: Sequence[tuple[str, Path]], points: Sequence[Point], several: bool
) -> Chapter:
    entries, notes = [], []
    for label, place in places:
        run = load_run(place)
        record = run.records[0]
        entries.append(
            Entry(printable(label), printable(record.model.spec), record.metrics.headline, run, record.metrics.by)
        )
        if record.preflight and record.preflight.checks:
            notes.append(f"{label}: checked: {record.preflight.words()}.")
        notes += [f"{label}: {caveat}." for caveat in caveats(record)]
        if record.of_answers:
            guessed = ", ".join(
                f"{METRICS[metric].title} {100 * value:.1f}"
                for metric, value in by_chance(record.metrics.headline, {}).items()
                if metric in SHARES
            )
            notes.append(f"{label} answers questions instead of giving scores; by chance: {guessed}.")
    if len({image for entry in entries for image in entry.run.images if image is not None}) > 1:
        notes.append("These runs were scored on different photos: the paths are the same, the files are not.")
    if len(rules := dict.fromkeys(average_words(entry.numbers) for entry in entries)) > 1:
        notes.append(f"The headlines are averaged in different ways and not comparable: {', '.join(rules)}.")
    if several:
        notes.append(f"Runs of {name} on other items have a part of their own: they cannot be compared with these.")
    record = entries[0].run.records[0]
    if record.ceilings and any(count for name, count in record.ceilings if name not in ("items", "with_positives")):
        notes.append(f"What the texts alone decide: {record.ceilings.line()}.")
    notes += _blind_notes(entries)
    given = [point for point in points if point.benchmark == name]
    if record.benchmark.limit:
        notes.append(f"Only the first {record.benchmark.limit:,} items of the test set, for a first look.")
    return Chapter(
        title=printable(f"{name} ({items[:7]})" if several else name),
        average=average_words(entries[0].numbers),
        chance=by_chance(entries[0].numbers, record.benchmark.chance),
        entries=_lettered(entries),
        points=[*given, *_blind_points(name, entries)],
        elsewhere=given,
        notes=notes,
    )


def _blind_notes(entries: Sequence[Entry]) -> list[str]:
    """The shares of the best baselines without images, and each model's gain over them."""
    gains: dict[str, list[str]] = {}
    for entry in entries:
        if (blind := entry.run.records[0].blind) is not None:
            numbers = blind.by_rule(None)
            gains.setdefault(baselines_words(numbers), []).append(f"{entry.label}: {gain_words(numbers)}")
    return [
        f"Baselines that read the texts and never see the picture get (Orig. / Aug.) {baselines}. Gain over the "
        f"best of them: {'; '.join(by_model)}. Where its interval contains zero, this test set does not show that a "
        "model looked."
        for baselines, by_model in gains.items()
    ]


def _best_blind(entries: Sequence[Entry]) -> tuple[str, dict[str, Number]] | None:
    """The baseline that saw no image with the highest Original accuracy, and its numbers."""
    blind = entries[0].run.records[0].blind if entries else None
    best = blind.by_rule(None).best() if blind else None
    return None if blind is None or best is None else (best[0], blind.by_rule(None).baselines[best[0]])


def _blind_points(name: str, entries: Sequence[Entry]) -> list[Point]:
    """That baseline for the plane; none where such a one is one of the models."""
    best = _best_blind(entries)
    if best is None or "brittleness" not in best[1] or any(entry.about.startswith("blind:") for entry in entries):
        return []
    label = f"without the image ({best[0].removeprefix('blind:').partition(':')[0]})"
    source = "taught on the texts of other images (docs/appendix/blind.md)"
    shares = {metric: best[1][metric].value for metric in ("original", "brittleness")}
    return [Point(label=label, benchmark=name, metrics=shares, source=source)]


def _lettered(entries: Sequence[Entry]) -> list[Entry]:
    """The entries with their letters, where there are three or more: every pair is tested on the same items."""
    if len(entries) < 3:
        return list(entries)
    compared = [models.ComparedModel(entry.label, [entry.run]) for entry in entries]
    try:
        _, path, least = rule_of(entries[0].run, None)
        metrics = [row.name for row in shared_metrics([entry.run for entry in entries]) if row.less is None]
        placed = {metric: models.place(compared, metric, path, least) for metric in metrics}
    except UserError:  # other photos, or no record of the rule: they cannot be paired
        return list(entries)
    letters = {metric: {model.model: model.letters for model in groups} for metric, groups in placed.items()}
    return [
        replace(entry, letters={metric: of[entry.label] for metric, of in letters.items() if entry.label in of})
        for entry in entries
    ]


def labels(places: Mapping[Path, str]) -> dict[Path, str]:
    """The name of each run: its folder without the benchmark's name, with as much of the path as tells it apart."""
    bases = {place: place.parent if place.name == name else place for place, name in places.items()}
    distinct = set(bases.values())

    def named(base: Path) -> str:
        for depth in range(1, len(base.parts)):
            tail = base.parts[-depth:]
            if sum(other.parts[-depth:] == tail for other in distinct) == 1:
                return "/".join(tail)
        return str(base)

    return {place: named(base) for place, base in bases.items()}


def floors(chapter: Chapter) -> list[tuple[str, str, Numbers]]:
    """Numbers that a model must beat: chance, and the best baseline that reads only the texts."""
    chance = {name: Number(value=value, interval=None, n=0) for name, value in chapter.chance.items()}
    rows = [("chance", "an item's texts in random order", chance)]
    if best := _best_blind(chapter.entries):
        rows.append(("without the image", *best))
    return [
        (
            label,
            words,
            Numbers(n=0, ties=None, metrics={name: number for name, number in by.items() if name in METRICS}),
        )
        for label, words, by in rows
        if by
    ]


def lines(chapters: Sequence[Chapter]) -> list[Line]:
    """The headline table as lines for `tables.render`: one for each model on each test set."""
    several = len(chapters) > 1
    lines = []
    for chapter in chapters:
        before = f"{chapter.title}: " if several else ""
        for entry in chapter.entries:
            first = result_rows(entry.run.records[0])[0]
            letters = entry.letters or None
            lines.append(replace(first, label=before + entry.label, benchmark=chapter.title, letters=letters))
        for point in chapter.elsewhere:
            label, by = before + point.label, point.source or "by others"
            lines.append(Line(label, point.numbers, chapter.title, average=point.average, reported=by))
    return lines


class _Points(BaseModel):
    points: list[Point]


def read_points(path: Path) -> list[Point]:
    """The points of a JSON file: a list of {"label", "benchmark", "metrics", "average", "source"}."""
    fix = 'Expected a list: [{"label": "people", "benchmark": "replace", "metrics": {"original": 0.97}}], as fractions.'
    points, problems = validated(_Points, {"points": read_json(path)}, str(path), fix).points, Problems(str(path))
    for place, point in enumerate(points):
        for name, value in point.metrics.items():
            if name not in METRICS:
                problems.add(f"[{place}].metrics", f"no metric {name!r} ({', '.join(METRICS)})")
            elif not -1 <= value <= 1:
                problems.add(f"[{place}].metrics.{name}", f"{value:g} is no fraction; 76.6 percent is 0.766")
    problems.raise_if_any(fix)
    return points
