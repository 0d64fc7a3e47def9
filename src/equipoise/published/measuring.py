"""Measures published scores, outcomes and answers as their benchmark does, and writes a run like any other.

run = published_run(["clip.jsonl"], "winoground", out="runs/clip", origin="e-bug/fine-grained-evals")
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from equipoise.benchmarks import reading, registry
from equipoise.benchmarks.base import Benchmark, check_splits
from equipoise.core import run_folder
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import sha256_file, sha256_json
from equipoise.data.items import Item
from equipoise.evaluation.averages import measure
from equipoise.evaluation.metrics import ROWS, Metric
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import BenchmarkId, Kind, Metrics, ModelCard, Published, RunRecord, Seconds, Settings
from equipoise.evaluation.results import claim, item_lines, read_result, write
from equipoise.evaluation.run import Result, images_id, new_record
from equipoise.evaluation.scores import ItemScores, Scores
from equipoise.evaluation.task import benchmark_id
from equipoise.published import aggregates
from equipoise.published.logs.groups import items_of
from equipoise.published.logs.said import Log
from equipoise.published.reading import read_any
from equipoise.published.sheets import PublishedScores

OUTCOMES_ONLY = "outcomes only: no score was published, so a tie counts as a wrong answer"
UNKNOWN = "unknown"


class About(TypedDict, total=False):
    """Where a run is kept, and what its files do not say: the model's name, their repository or address."""

    out: str | Path | None
    model: str | None
    origin: str
    commit: str
    licence: str
    seed: int
    metrics: Sequence[Metric]  # the user's own


def published_run(
    paths: Sequence[str | Path],
    bench: str | None,
    *,
    source: str | Path | None = None,
    splits: Sequence[str] = (),
    average: str | None = None,
    **about: Unpack[About],
) -> Result:
    """Measure what others published of one model on one benchmark, as a run; with `out` it is written there.

    Without `bench` the file alone says what was scored. `source` is the folder of the benchmark's annotation files:
    tags, texts and photos are then its items', and ids must match one by one. Without `model` it is called as in the
    file, or after the file.
    """
    files = [Path(path) for path in paths]
    if bench is None:
        items, benchmark = None, registry.of_file(files[0], ())
    elif source is None and not registry.is_file(bench):
        items, benchmark = None, registry.get(bench)
        check_splits(benchmark.name, splits, benchmark.splits)
    else:
        items, benchmark = registry.load(bench, None if source is None else Path(source), splits)
    benchmark.require_rule(average)
    subject = " and ".join(map(str, files))
    read = read_any(files, None if bench is None else benchmark.name)
    published = fitted(read, benchmark, items, splits, subject)
    return _run(published, benchmark, files, subject, average, about)


def log_runs(logs: Sequence[Log], **about: Unpack[About]) -> list[Result]:
    """A run for each log of a harness: in OUT itself, or of several in OUT/MODEL/DATASET."""
    out = about.get("out")
    results: list[Result] = []
    taken: set[Path] = set()
    for log in logs:
        benchmark = replace(registry.of_file(Path(log.dataset), ()), name=_folder(log.dataset))
        folder = None if out is None else Path(out)
        if folder is not None and len(logs) > 1:
            folder /= _folder(about.get("model") or log.model) + f"/{benchmark.name}"
            folder = next(
                place for n in range(1, 99) if (place := folder if n == 1 else Path(f"{folder}_{n}")) not in taken
            )
            taken.add(folder)
        here: About = {**about, "out": folder}
        results.append(_run(items_of(log), benchmark, log.files, str(log.files[0]), None, here))
    return results


def _folder(name: str) -> str:
    return re.sub(r"[^\w.@-]+|^\.+", "_", name) or "log"


def _run(
    scores: PublishedScores,
    benchmark: Benchmark,
    files: Sequence[Path],
    subject: str,
    average: str | None,
    about: About,
) -> Result:
    called = about.get("model") or scores.model or " + ".join(path.name.partition(".")[0] for path in files)
    seed, own, outcomes_only = about.get("seed", 0), about.get("metrics", ()), scores.outcomes_only
    parts = _parts(_benchmark_id(scores, benchmark), called, files, seed, own)
    require_groups(scores.rows, benchmark, average, subject)
    rows, outcomes = [*ROWS, *own], outcomes_of(scores.rows)
    measured = measure(outcomes, benchmark, seed, metrics=rows, outcomes_only=outcomes_only)
    said = {
        "layout": scores.layout,
        "notes": [*scores.notes],
        "unknown": _unknown(scores),
        "outcomes_only": outcomes_only,
    }
    lines = item_lines(outcomes, {item.id: item for item in scores.items}, rows)
    return Result(_finished("items", parts, measured, files, said, about, lines, len(scores.rows)), scores.rows)


def published_tables(paths: Sequence[str | Path], bench: str | None = None, **about: Unpack[About]) -> list[Result]:
    """Read tables of results (aggregates.py): a run for each model and benchmark, in OUT/MODEL/BENCHMARK."""
    files, out, results = [Path(path) for path in paths], about.get("out"), []
    unknown = ["items", "intervals", "ties", "the model's weights and preprocessing"]
    for row in aggregates.read_tables(files, bench):
        measured, notes = aggregates.metrics_of(row)
        benchmark = registry.get(aggregates.TASKS[row.task][0])
        items = sha256_json([row.task, row.revision])
        parts = _parts(benchmark_id([], benchmark).model_copy(update={"items_sha256": items}), row.called, files)
        said = {"layout": "mteb's results", "notes": notes, "unknown": unknown, "outcomes_only": False}
        here: About = {**about, "out": None if out is None else Path(out) / row.folder / benchmark.name}
        results.append(Result(_finished("aggregate", parts, measured, files, said, here, (), measured.overall.n), []))
    return results


def _finished(
    kind: Kind, parts: dict[str, object], measured: Metrics, files: Sequence[Path], said: dict[str, Any], about: About,
    lines: Iterable[Mapping[str, object]], n: int,
) -> RunRecord:  # fmt: skip
    """The record of a run, which is written where `out` is given."""
    origin = {
        "source": about.get("origin", UNKNOWN), "commit": about.get("commit", UNKNOWN),
        "licence": about.get("licence", UNKNOWN),
    }  # fmt: skip
    folder = None if (out := about.get("out")) is None else Path(out)
    with contextlib.nullcontext() if folder is None else run_folder.locked(str(folder)):
        if folder is not None:
            claim(folder, parts, command="metrics")
            origin = _kept_origin(folder, origin)
        published = Published(files={path.name: sha256_file(path) for path in files}, **{**origin, **said})
        arguments = {"out": None if out is None else str(out)}
        record = new_record(
            kind, parts, n, arguments=arguments, counts={}, metrics=measured, published=published,
            seconds=Seconds(score=0.0, measure=0.0),
        )  # fmt: skip
        return record if folder is None else write(folder, record, lines)


def _kept_origin(folder: Path, given: dict[str, str]) -> dict[str, str]:
    """Where scores came from, as said now or, if nothing is said now, in the run that `folder` holds already."""
    there = read_result(folder).published if (folder / "result.json").exists() else None
    for name, new in given.items():
        old = str(getattr(there, name, UNKNOWN))
        if UNKNOWN not in (old, new) and old != new:
            raise UserError(
                f"{folder}: its scores have the {name} {old!r}, not {new!r}; write to another folder (--out)"
            )
        given[name] = old if new == UNKNOWN else new
    return given


def _parts(
    about: BenchmarkId, spec: str, files: Sequence[Path], seed: int = 0, metrics: Sequence[Metric] = ()
) -> dict[str, object]:
    digest = sha256_json([spec, *sorted(sha256_file(path) for path in files)])
    own = [metric.own for metric in metrics if metric.own]
    return {
        "benchmark": about,
        "model": ModelCard(spec=spec, device=UNKNOWN, digest=digest),
        "settings": Settings(seed=seed, allow_missing=False, batch_size=None, embedding_code=0, metrics=own),
        "images": images_id({}),
    }


def _benchmark_id(scores: PublishedScores, benchmark: Benchmark) -> BenchmarkId:
    """Which items; where their texts were not published, they are known by their ids."""
    about = benchmark_id(scores.items, benchmark)
    if not scores.items:
        splits = sorted({row.tags["split"] for row in scores.rows if "split" in row.tags})
        about = about.model_copy(
            update={"items_sha256": sha256_json([row.id for row in scores.rows]), "splits": splits}
        )
    return about


def _unknown(scores: PublishedScores) -> list[str]:
    """The facts that the record of a run scored here would hold."""
    lacking = ["the photos' bytes", "the model's weights and preprocessing"]
    lacking += [] if scores.items else ["texts"]
    return lacking + (["scores", "ties"] if scores.outcomes_only else [])


def fitted(
    foreign: PublishedScores, benchmark: Benchmark, items: Sequence[Item] | None, splits: Sequence[str], subject: str
) -> PublishedScores:
    """With rows under the ids of the benchmark's items, and the items as far as they are known."""
    rows, notes = foreign.rows, [OUTCOMES_ONLY] if foreign.outcomes_only else []
    if splits and foreign.layout == "equipoise" and items is None:
        raise UserError("--splits chooses items of the annotation files: name their folder with --source")
    if splits and foreign.layout != "equipoise":
        kept = [row for row in rows if row.tags.get("split") in splits]
        if not kept:
            raise UserError(f"{subject}: none of its {len(rows):,} scores belongs to {', '.join(splits)}")
        if len(kept) < len(rows):
            notes.append(f"{len(rows) - len(kept):,} scores of other splits than {', '.join(splits)} are left out")
        rows = kept
    if items is None:
        _refuse_another(foreign.rows, benchmark, subject)
        notes += _too_few(rows, benchmark)
        ids = {row.id for row in rows}
        known: Sequence[Item] = [item for item in foreign.items if item.id in ids]
    else:
        _refuse_other_texts(foreign.items, items, subject)
        rows, known = foreign.fit(rows, items)
        rows = with_items(rows, known, subject) if known else rows  # none: all that they say is in the rows already
    return replace(foreign, rows=rows, items=known, notes=[*notes, *filter(None, foreign.notes)])


def require_groups(rows: Sequence[ItemScores], benchmark: Benchmark, rule: str | None, subject: str) -> None:
    """Refuse scores without the tags that the benchmark's average and the paper's metrics need."""
    average = benchmark.averages.get(rule or benchmark.rule)
    if average is not None and (without := [row for row in rows if any(tag not in row.tags for tag in average.path)]):
        raise UserError(
            f"{subject}: {len(without):,} of {len(rows):,} scores lack a tag of {', '.join(average.path)}, over which "
            f"{benchmark.name} is averaged ({rule or benchmark.rule}), for instance {without[0].id!r}. Name the folder "
            'of the annotation files with --source, or put the tags into the file: "tags": {"split": "..."}'
        )
    benchmark.require_tags(rows)


def with_items(rows: Sequence[ItemScores], items: Sequence[Item], subject: str) -> Sequence[ItemScores]:
    """The scores in the items' order with their tags and images; ids that do not match are refused, all at once."""
    scores = Scores.of(rows)
    given = {id_: place for place, id_ in enumerate(scores.ids)}
    wanted = {item.id: item for item in items}
    problems = Problems(f"{subject}: not the scores of these {len(items):,} items")
    problems.add_some("doubled", [id_ for id_, count in Counter(scores.ids).items() if count > 1])
    problems.add_some("unknown: no such item", [id_ for id_ in scores.ids if id_ not in wanted])
    problems.add_some("missing: item without a score", [id_ for id_ in wanted if id_ not in given])
    other = [id_ for id_ in given.keys() & wanted.keys() if _shape(rows[given[id_]]) != _shape(wanted[id_])]
    problems.add_some("another number of positives, negatives or images than the item", sorted(other))
    problems.raise_if_any('Expected one score per item: {"id": "...", "caption": 0.31, "negatives": [0.28]}')

    def with_item(score: ItemScores, item: Item) -> ItemScores:
        image = item.image.path if item.image else score.image
        return score.model_copy(update={"tags": item.tags, "paired": item.paired, "image": image})

    return Scores(with_item(rows[given[id_]], item) for id_, item in wanted.items())


def _shape(scored: ItemScores | Item) -> tuple[int, ...]:
    return len(scored.positives), len(scored.negatives), len(scored.positive_images), len(scored.negative_images)


def _refuse_other_texts(published: Sequence[Item], items: Sequence[Item], subject: str) -> None:
    """Answers to other texts are not answers to these items, whatever their ids are."""
    texts = {item.id: (item.caption, [text.text for text in item.negatives]) for item in items}
    other = [
        item.id
        for item in published
        if item.id in texts and texts[item.id] != (item.caption, [text.text for text in item.negatives])
    ]
    problems = Problems(f"{subject}: not the texts of --source")
    problems.add_some("items with other texts", other)
    problems.raise_if_any("Without --source the run has the texts that the file holds.")


def _refuse_another(rows: Sequence[ItemScores], benchmark: Benchmark, subject: str) -> None:
    """Without items nothing is matched, but ids that name another benchmark (NAME-SPLIT/KEY) say whose they are."""
    named = tuple(reading.item_id(benchmark.name, split, "") for split in benchmark.splits)
    rest = [row.id for row in rows if not row.id.startswith(named)]
    for name in registry.names() if rest else ():
        starts = tuple(reading.item_id(name, split, "") for split in registry.get(name).splits)
        if others := [id_ for id_ in rest if id_.startswith(starts)]:
            raise UserError(
                f"{subject}: {len(others):,} of {len(rows):,} scores belong to {name}, not to {benchmark.name}, for "
                f"instance {others[0]!r}. Name --bench {name}, or another file."
            )


def _too_few(rows: Sequence[ItemScores], benchmark: Benchmark) -> list[str]:
    """Splits of which there is only a part: a user's first look, or half of a file."""
    counts = Counter(row.tags.get("split", "") for row in rows)
    few = [
        f"{split} {counts[split]:,} of {published:,}"
        for split, published in benchmark.splits.items()
        if published is not None and 0 < counts[split] < published
    ]
    return [f"not all of {benchmark.name} is here: {', '.join(few)}"] if few else []
