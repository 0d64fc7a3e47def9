"""Run folders and reported numbers -> a leaderboard."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise import __version__
from equipoise.board import vl_compo
from equipoise.board.beside import beside, missing_splits
from equipoise.board.record import Board, Measured, Reported, ReportedRow, Row, TestSet
from equipoise.comparing.folders import by_benchmark, rule_of, seeds_of
from equipoise.comparing.inference import CORRECTIONS
from equipoise.comparing.models import Model, place, require_seeds
from equipoise.errors import UserError, did_you_mean
from equipoise.evaluation.comparison import average, load_run, same_items, shared_metrics
from equipoise.evaluation.record import Numbers
from equipoise.evaluation.results import find_runs
from equipoise.report.chapters import labels
from equipoise.report.tables import average_words

FIRST = (
    "augmented",
    "group",
    "original",
    "image",
    "text",
)  # what a table is sorted by: the hardest


@dataclass(frozen=True)
class _Set:
    """Models that were measured on the same items and photos; `apart`: why they are not with others of that name."""

    models: list[Model]
    apart: str


def build_board(
    folders: Sequence[str],
    reported: Sequence[Reported] = (),
    same: Mapping[str, str] | None = None,
    average_rule: str | None = None,
    correction: str = "holm",
    seed: int = 0,
) -> Board:
    """The leaderboard of all runs in or below the folders; seeds of one configuration come with commas between.

    `same` maps the name of a reported model to the run that it is, where spec or folder do not say it.
    """
    if correction not in CORRECTIONS:
        raise UserError(f"--correct {correction}: expected one of {', '.join(CORRECTIONS)}")
    if not folders and not reported:
        raise UserError("board: name a folder of runs, or numbers of others: equipoise board RUNS --published FILE")
    models = _models(folders)
    called = _called(models, same or {}, reported)
    tests = []
    measured: set[str] = set()
    for benchmark, sets in _sets(models).items():
        measured.add(benchmark)
        theirs = [one for one in reported if one.benchmark == benchmark]
        for number, found in enumerate(sets):
            title = (
                benchmark if len(sets) == 1 else f"{benchmark} ({found.models[0].runs[0].items[0][:7]}, {number + 1})"
            )
            tests.append(_test(title, found, theirs, called, average_rule, correction, seed))
    elsewhere = [one for one in reported if one.benchmark not in measured]
    sources = list(dict.fromkeys(one.source for one in reported if one.source))
    return Board(correction=correction, tests=tests, elsewhere=elsewhere, sources=sources, equipoise=__version__)


# ---------------------------------------------------------------------------- the models


def _models(folders: Sequence[str]) -> list[Model]:
    """Every model on every benchmark: a run alone, or the seeds of one configuration."""
    several = [seeds for text in folders if len(seeds := seeds_of(text)) > 1]
    alone = [Path(text) for text in folders if len(seeds_of(text)) == 1]
    places = {place.resolve(): record.benchmark.name for place, record in find_runs(alone)} if alone else {}
    found: list[Model] = []
    for seeds in several:
        runs = [by_benchmark(folder) for folder in seeds]
        name = _shared_start([folder.name for folder in seeds])
        if not name or any(model.name == f"{name} ({len(seeds)} seeds)" for model in found):
            name = "+".join(map(str, seeds))
        for benchmark in [one for one in runs[0] if all(one in of_seed for of_seed in runs)]:
            model = Model(f"{name} ({len(seeds)} seeds)", [load_run(of_seed[benchmark]) for of_seed in runs])
            require_seeds(model)
            found.append(model)
            for of_seed in runs:  # a folder that holds them all may be named as well
                places.pop(of_seed[benchmark].resolve(), None)
    return found + [Model(name, [load_run(place)]) for place, name in labels(places).items()]


def _shared_start(names: Sequence[str]) -> str:
    """'ours_s' of ours_s0 and ours_s1."""
    alike = itertools.takewhile(lambda signs: len(set(signs)) == 1, zip(*names, strict=False))
    return "".join(signs[0] for signs in alike).rstrip("-_. ")


def _sets(models: Sequence[Model]) -> dict[str, list[_Set]]:
    """By benchmark: models that can be paired, the largest set first."""
    found: dict[str, list[list[Model]]] = {}
    for model in models:
        sets = found.setdefault(model.runs[0].name, [])
        home = next((one for one in sets if not _apart(one[0], model)), None)
        if home is None:
            sets.append([model])
        else:
            home.append(model)
    ordered = {name: sorted(sets, key=lambda one: -len(one)) for name, sets in found.items()}
    return {
        name: [_Set(one, "" if one is sets[0] else _apart(sets[0][0], one[0])) for one in sets]
        for name, sets in ordered.items()
    }


def _apart(first: Model, second: Model) -> str:
    """Why two models cannot be paired; "" where they can."""
    try:
        same_items([*first.runs, *second.runs])
    except UserError as error:
        return str(error)
    return ""


def _called(models: Sequence[Model], same: Mapping[str, str], reported: Sequence[Reported]) -> dict[str, set[str]]:
    """A model's name -> what a reported number may call it."""
    found: dict[str, set[str]] = {}
    for model in models:
        spec = model.runs[0].records[0].model.spec
        found[model.name] = {_plain(name) for name in (model.name, spec, *vl_compo.names_of(spec))}
    theirs = {one.model for one in reported}
    for name, run in same.items():
        if name not in theirs:
            raise UserError(f"--same {name}={run}: no reported model {name!r}.{did_you_mean(name, theirs)}")
        if run not in found:
            raise UserError(f"--same {name}={run}: no run {run!r}; there are {', '.join(found) or 'none'}")
        found[run].add(_plain(name))
    return found


def _plain(name: str) -> str:
    """Letters and digits alone: NegCLIP, negclip and Neg-CLIP are one."""
    return re.sub(r"[^0-9a-z]+", "", name.lower()) or name


# ---------------------------------------------------------------------------- one test set


def _test(
    title: str,
    found: _Set,
    reported: Sequence[Reported],
    called: Mapping[str, set[str]],
    average_rule: str | None,
    correction: str,
    seed: int,
) -> TestSet:
    models = found.models
    first = models[0].runs[0]
    rule, path, least = rule_of(first, average_rule)
    numbers = [_numbers(model, rule, path, least) for model in models]
    shared = shared_metrics([run for model in models for run in model.runs])
    columns = [row.name for row in shared if row.less is None]
    letters = {column: _letters(models, column, path, least, seed, correction) for column in columns}
    rows = []
    for model, own in zip(models, numbers, strict=True):
        record = model.runs[0].records[0]
        theirs = [one for one in reported if _plain(one.model) in called[model.name]]
        rows.append(
            Row(
                model=model.name,
                spec=record.model.spec,
                runs=len(model.runs),
                n=own.n,
                ties=own.ties,
                numbers=_cells(own, {column: by_model.get(model.name) for column, by_model in letters.items()}),
                beside=[beside(one, model) for one in theirs],
            )
        )
    ours = {one.reported.model for row in rows for one in row.beside}
    sort = next((column for column in FIRST if any(column in row.numbers for row in rows)), "original")
    rows.sort(key=lambda row: -row.numbers[sort].value if sort in row.numbers else 1.0)  # stable: missing ones last
    return TestSet(
        title=title,
        benchmark=first.name,
        items_sha256=first.items[0],
        n=len(first.rows),
        average=average_words(numbers[0]),
        first=sort,
        rows=rows,
        reported=_reported_rows(one for one in reported if one.model not in ours and one.split is None),
        notes=_notes(found, models),
    )


def _numbers(model: Model, rule: str, path: Sequence[str], least: int) -> Numbers:
    """As the run has them; of several seeds computed."""
    metrics = model.runs[0].records[0].metrics
    if len(model.runs) > 1:
        return average(model.runs, path, least)
    return metrics.by_rule(rule) if path else metrics.overall


def _cells(numbers: Numbers, letters: Mapping[str, str | None]) -> dict[str, Measured]:
    return {
        column: Measured(value=one.value, interval=one.interval, letters=letters[column], own=one.own)
        for column in letters
        if (one := numbers.metrics.get(column)) is not None
    }


def _letters(
    models: Sequence[Model], column: str, path: Sequence[str], least: int, seed: int, correction: str
) -> dict[str, str]:
    """A model's letters in a column; nothing where it is alone or where that was not measured."""
    if len(models) < 2:
        return {}
    return {one.model: one.letters for one in place(models, column, path, least, seed, correction)}


def _reported_rows(numbers: Iterable[Reported]) -> list[ReportedRow]:
    found: dict[str, list[Reported]] = {}
    for one in numbers:
        found.setdefault(one.model, []).append(one)
    rows = [
        ReportedRow(
            model=model,
            numbers={one.what: one.value for one in given},
            sources=list(dict.fromkeys(one.source for one in given if one.source)),
        )
        for model, given in found.items()
    ]
    return sorted(rows, key=lambda row: -next(iter(row.numbers.values())))


def _notes(found: _Set, models: Sequence[Model]) -> list[str]:
    notes = [f"Not in one table with the others of that name: {found.apart}"] if found.apart else []
    for model in models:
        for run in model.runs:
            record = run.records[0]
            if record.n.skipped:
                notes.append(f"{model.name}: {record.n.skipped:,} of {record.n.items:,} items were NOT scored.")
    record = models[0].runs[0].records[0]
    if record.benchmark.limit:
        notes.append(f"Only the first {record.benchmark.limit:,} items of the test set, for a first look.")
    elif missing := missing_splits(record.benchmark.name, record.benchmark.splits):
        notes.append(f"Measured without {', '.join(missing)}: the average is not that of the whole benchmark.")
    return notes
