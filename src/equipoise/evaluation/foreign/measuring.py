"""Published scores, outcomes and answers -> the numbers of their benchmark, and a run like any other.

run = published_run([Path("clip.jsonl")], "winoground", out="runs/clip", source="e-bug/fine-grained-evals")
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from equipoise.benchmarks import reading, registry
from equipoise.benchmarks.base import Benchmark
from equipoise.core import run_folder
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import sha256_file, sha256_json
from equipoise.core.provenance import environment
from equipoise.data.items import Item
from equipoise.evaluation.averages import measure_elsewhere, with_items
from equipoise.evaluation.foreign import aggregates
from equipoise.evaluation.foreign.reading import read_any
from equipoise.evaluation.foreign.sheets import Foreign, name_some
from equipoise.evaluation.metrics import Metric, order_flips
from equipoise.evaluation.outcomes import ROWS, outcomes_of
from equipoise.evaluation.record import (
    Arguments,
    BenchmarkId,
    FullArguments,
    ItemCounts,
    Metrics,
    ModelCard,
    Published,
    RunRecord,
    Seconds,
    Settings,
)
from equipoise.evaluation.results import write_run, write_set
from equipoise.evaluation.run import Result
from equipoise.evaluation.run_id import benchmark_id, claim, images_id
from equipoise.evaluation.scores import ItemScores

OUTCOMES_ONLY = "outcomes only: no score was published, so a tie counts as a wrong answer"
UNKNOWN = "unknown"


def published_run(
    paths: Sequence[str | Path],
    bench: str,
    *,
    out: str | Path | None = None,
    source: str | Path | None = None,
    splits: Sequence[str] = (),
    average: str | None = None,
    model: str | None = None,
    origin: str = UNKNOWN,
    commit: str = UNKNOWN,
    licence: str = UNKNOWN,
    seed: int = 0,
    metrics: Sequence[Metric] = (),
    arguments: Mapping[str, JsonValue] | None = None,
) -> Result:
    """What others published of one model on one benchmark, as a run; with `out` it is written there.

    `source` is the folder of the benchmark's annotation files: tags, texts and photos are then its items', and ids must
    match one by one. `origin`, `commit` and `licence` are kept in the record, as is the name of the `model`, which else
    is the file's own word or its name.
    """
    files = [Path(path) for path in paths]
    if source is None and not registry.is_file(bench):
        items, benchmark = None, registry.get(bench)
        reading.check_splits(benchmark.name, splits, benchmark.splits)
    else:
        items, benchmark = registry.load(bench, None if source is None else Path(source), splits)
    benchmark.require_rule(average)
    subject = " and ".join(map(str, files))
    foreign = read_any(files, benchmark.name)
    found = fitted(foreign, benchmark, items, splits, subject)
    parts = _parts(
        _benchmark_id(found, benchmark), model or foreign.model or " + ".join(map(_stem, files)), files, seed, metrics
    )
    published = _published(files, origin, commit, licence, foreign.layout, _unknown(foreign, found), found.notes)
    published = published.model_copy(update={"outcomes_only": foreign.outcomes_only})
    folder = None if out is None else Path(out)
    with contextlib.nullcontext() if folder is None else run_folder.locked(str(folder)):
        if folder is not None:
            claim(folder, parts, command="metrics")
        outcomes = outcomes_of(found.rows)
        measured = measure(foreign, found, benchmark, average, seed, subject, metrics)
        counted = len(found.rows), _choices(found.rows)
        record = _record("items", parts, measured, published, counted, out, arguments)
        if folder is not None:
            texts = {item.id: item for item in found.items}
            record = write_run(folder, record, found.rows, outcomes, texts, [*ROWS, *metrics])
        return Result(record, found.rows, outcomes)


def published_tables(
    paths: Sequence[str | Path],
    bench: str | None = None,
    *,
    out: str | Path | None = None,
    origin: str = UNKNOWN,
    commit: str = UNKNOWN,
    licence: str = UNKNOWN,
    arguments: Mapping[str, JsonValue] | None = None,
) -> list[Result]:
    """The same of a table of results (aggregates.py): a run for each model and benchmark, in OUT/MODEL/BENCHMARK."""
    files = [Path(path) for path in paths]
    found = []
    for row in aggregates.read_tables(files, bench):
        measured, notes = aggregates.metrics_of(row)
        benchmark = aggregates.benchmark_of(row)
        about = benchmark_id([], benchmark).model_copy(update={"items_sha256": aggregates.items_of(row)})
        parts = _parts(about, row.called, files, 0)
        unknown = ["items", "intervals", "ties", "the model's weights and preprocessing"]
        published = _published(files, origin, commit, licence, "mteb's results", unknown, notes)
        record = _record("aggregate", parts, measured, published, (measured.overall.n, {}), out, arguments)
        if out is not None:
            folder = Path(out) / row.folder / benchmark.name
            with run_folder.locked(str(folder)):
                claim(folder, parts, command="metrics")
                record = write_set(folder, record, [])
        found.append(Result(record, []))
    return found


def _parts(
    about: BenchmarkId, spec: str, files: Sequence[Path], seed: int, metrics: Sequence[Metric] = ()
) -> dict[str, Any]:
    """The fields that identify a run."""
    digest = sha256_json([spec, *sorted(sha256_file(path) for path in files)])
    own = [own for metric in metrics if (own := metric.own)]
    return {
        "benchmark": about,
        "model": ModelCard(spec=spec, device=UNKNOWN, digest=digest),
        "settings": Settings(seed=seed, allow_missing=False, batch_size=None, embedding_code=0, metrics=own),
        "images": images_id({}),
    }


def _published(
    files: Sequence[Path],
    origin: str,
    commit: str,
    licence: str,
    layout: str,
    unknown: list[str],
    notes: Sequence[str],
) -> Published:
    return Published(
        layout=layout,
        files={path.name: sha256_file(path) for path in files},
        source=origin,
        commit=commit,
        licence=licence,
        unknown=unknown,
        outcomes_only=False,
        notes=list(notes),
    )


def _record(
    kind: Any,
    parts: Mapping[str, Any],
    measured: Metrics,
    published: Published,
    counted: tuple[int, dict[str, int]],
    out: str | Path | None,
    arguments: Mapping[str, JsonValue] | None,
) -> RunRecord:
    n, counts = counted
    kept = None if out is None else str(out)
    return RunRecord(
        kind=kind,
        date=datetime.now(UTC).replace(microsecond=0),
        **parts,
        metrics=measured,
        n=ItemCounts(items=n, scored=n, skipped=0),
        skipped={},
        counts=counts,
        arguments=Arguments(
            passed=dict(arguments or {}),
            in_full=FullArguments(images=None, out=kept, cache=None, batch_size=0, workers=0),
        ),
        environment=environment(),
        seconds=Seconds(score=0.0, measure=0.0),
        scores_sha256=None,
        published=published,
    )


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _benchmark_id(found: Fitted, benchmark: Benchmark) -> BenchmarkId:
    """Which items; where nobody published their texts, they are known by their ids."""
    about = benchmark_id(found.items, benchmark)
    if not found.items:
        splits = sorted({row.tags["split"] for row in found.rows if "split" in row.tags})
        about = about.model_copy(update={"items_sha256": sha256_json([row.id for row in found.rows]), "splits": splits})
    return about


def _unknown(foreign: Foreign, found: Fitted) -> list[str]:
    """What the record of a run that was scored here would say."""
    lacking = ["the photos' bytes", "the model's weights and preprocessing"]
    lacking += [] if found.items else ["texts"]
    return lacking + (["scores", "ties"] if foreign.outcomes_only else [])


def _choices(rows: Sequence[ItemScores]) -> dict[str, int]:
    """Counts of a generative model's answers, as `eval` has them of its forced choices; none where nothing was asked
    with options."""
    asked = [row.answers for row in rows if row.answers]
    answers = [answer for one in asked for answer in one]
    if not any(answer.place is not None for answer in answers):
        return {}
    flips = [flipped for one in asked if (flipped := order_flips(one)) is not None]
    return {
        "choices": len(answers),
        "choices_unclear": sum(answer.choice is None for answer in answers),
        "choices_first": sum(answer.place == 0 for answer in answers),
        "duels": len(flips),
        "duels_by_position": int(sum(flips)),
    }


@dataclass(frozen=True)
class Fitted:
    """Rows under the ids of the benchmark's items, and the items as far as they are known."""

    rows: Sequence[ItemScores]
    items: Sequence[Item]
    notes: list[str]


def fitted(
    foreign: Foreign, benchmark: Benchmark, items: Sequence[Item] | None, splits: Sequence[str], subject: str
) -> Fitted:
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
    return Fitted(rows, known, [*notes, *filter(None, foreign.notes)])


def measure(
    foreign: Foreign,
    found: Fitted,
    benchmark: Benchmark,
    rule: str | None = None,
    seed: int = 0,
    subject: str = "the scores",
    own: Sequence[Metric] = (),
) -> Metrics:
    return measure_elsewhere(found.rows, benchmark, None, rule, seed, subject, [*ROWS, *own], foreign.outcomes_only)


def _refuse_other_texts(published: Sequence[Item], items: Sequence[Item], subject: str) -> None:
    """Answers to other texts are not answers to these items, whatever their ids are."""
    texts = {item.id: (item.caption, [text.text for text in item.negatives]) for item in items}
    other = [
        item.id
        for item in published
        if item.id in texts and texts[item.id] != (item.caption, [text.text for text in item.negatives])
    ]
    problems = Problems(f"{subject}: not the texts of --source")
    name_some(problems, "items with other texts", other)
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
