"""What a model kept: retrieval, zero-shot classification and ratings, against composition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from equipoise.core.errors import UserError, printable
from equipoise.core.files import sha256_json
from equipoise.data.identity import of_card
from equipoise.evaluation.comparing.folders import compare_sets
from equipoise.evaluation.metrics import METRICS, SET_METRICS
from equipoise.evaluation.record import Change, ModelCard, RunRecord
from equipoise.evaluation.results import find_runs
from equipoise.report.chapters import Chapter
from equipoise.report.comparison import points
from equipoise.report.plane import Mark, scatter
from equipoise.report.svg import figure, model_mark, table
from equipoise.report.tables import percent

FIRST = {"classification": "accuracy@1", "retrieval": "text_to_image_recall@1", "ratings": "spearman"}  # what is drawn


@dataclass(frozen=True)
class Kept:
    """One set of the models of a chapter: by the number of an entry, its folder and record."""

    title: str
    kind: str
    runs: dict[int, tuple[Path, RunRecord]]


def with_retention(chapters: Sequence[Chapter], folders: Sequence[Path]) -> list[Chapter]:
    """The chapters, each with a figure for every set (retrieval, classification, ratings) of its models below the
    folders. Whose run it is, the weights say; where they are not recorded, the spec does."""
    places = dict.fromkeys(folders)
    found = [(place, record) for place, record in find_runs(list(places), sets=True) if record.kind in FIRST]
    if not found:
        return list(chapters)
    known = {_identity(entry.run.records[0].model) for chapter in chapters for entry in chapter.entries}
    lost = [str(place) for place, record in found if _identity(record.model) not in known]
    notes = [f"No run of the model, so not shown: {', '.join(lost)}."] if lost else []
    return [
        replace(
            chapter,
            kept=[drawn for one in _kept(chapter, found) if (drawn := retention(chapter, one)) is not None],
            notes=[*chapter.notes, *notes],
        )
        for chapter in chapters
    ]


def _identity(card: ModelCard) -> str:
    return sha256_json(of_card(card.model_dump(mode="json", exclude={"device"})) or card.spec)


def _kept(chapter: Chapter, found: Sequence[tuple[Path, RunRecord]]) -> list[Kept]:
    sets: dict[tuple[str, str], Kept] = {}
    for number, entry in enumerate(chapter.entries):
        wanted = _identity(entry.run.records[0].model)
        for place, record in found:
            if record.kind in FIRST and _identity(record.model) == wanted:
                key = (record.kind, record.benchmark.items_sha256)
                title = f"{record.benchmark.name} ({record.kind})"
                sets.setdefault(key, Kept(title, record.kind, {})).runs.setdefault(number, (place, record))
    return list(sets.values())


def retention(chapter: Chapter, kept: Kept) -> Markup | None:
    """The plane of one set and composition; None where fewer than two models have both."""
    metric = "augmented" if any(entry.numbers["augmented"] is not None for entry in chapter.entries) else "original"
    first = FIRST[kept.kind]
    marks, rows = [], []
    shown = list(dict.fromkeys(name for _, record in kept.runs.values() for name in record.metrics.overall.metrics))
    base = min(kept.runs)
    for number, (place, record) in kept.runs.items():
        entry = chapter.entries[number]
        one, y = record.metrics.overall.metrics.get(first), entry.numbers[metric]
        if one is not None and y is not None:
            spread = (one.interval, entry.numbers.interval(metric))
            marks.append(Mark(entry.label, one.value, y, *model_mark(number), spread))
        changes = _changes(kept.runs[base][0], place) if number != base else {}
        cells = [
            " ".join(
                part
                for part in (
                    percent(record.metrics.overall, name),
                    points(changes[name]).strip() if name in changes else "",
                )
                if part
            )
            for name in shown
        ]
        rows.append([entry.label, *cells])
    if len(marks) < 2:
        return None
    label, task = printable(chapter.entries[base].label), SET_METRICS[first].title
    return figure(
        f"What was kept? {printable(kept.title)}",
        f"Right: better at {task}, the ordinary task; up: better here. A model that moved up and left gained "
        f"composition and forgot. Lines: 95% intervals. The table has the change from {label}, paired over photos; ~ "
        "may be nothing.",
        scatter(
            marks,
            (f"{printable(kept.title)}: {SET_METRICS[first].title}", METRICS[metric].title),
            _floor(mark.y for mark in marks),
        ),
        table(["model", *(SET_METRICS[name].title for name in shown)], rows),
    )


def _floor(values: Iterable[float]) -> float:
    """The multiple of 20 percent below all of them: differences are small next to the distance from zero."""
    return float(20 * max(0, int(100 * min(values) * 0.9 // 20)))


def _changes(before: Path, after: Path) -> dict[str, Change]:
    """Paired; nothing where the two were not asked the same."""
    try:
        return compare_sets("", "", "", [[before], [after]], 0).changes
    except UserError:
        return {}
