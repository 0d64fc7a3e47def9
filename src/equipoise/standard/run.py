"""A standard evaluation from a set to a run on disk: whose folder, scores, numbers, result.json last.

As `evaluation/run.py` does it for items: a folder that holds this very run is read (and judged again from its rows),
one that holds another is refused with what differs, and nothing is visible as finished before everything is on disk.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, JsonValue, ValidationError

from equipoise import run_folder, stats
from equipoise.errors import Problems, UserError
from equipoise.evaluation.embedding.cache import EmbeddingCache
from equipoise.evaluation.embedding.processes import ALONE, Ranks
from equipoise.evaluation.record import Arguments, FullArguments
from equipoise.evaluation.run_id import images_id, model_card, refuse_other, settings_of
from equipoise.evaluation.scoring import default_batch, default_workers
from equipoise.files import atomic_write, read_json, sha256_file, write_json
from equipoise.models.base import NEEDS_NEGATIVES, kind_of, reads_images
from equipoise.provenance import environment
from equipoise.readers.records import explain, jsonl_lines
from equipoise.readers.sets.kinds import AnySet, Kind, content_hash
from equipoise.standard import analysis, classification, ratings, retrieval
from equipoise.standard.asking import How, Told, digests
from equipoise.standard.measured import Measured, numbers
from equipoise.standard.record import SCHEMA, Level, Numbers, SetId, StandardRecord

ROWS = "rows.jsonl"


@dataclass(frozen=True)
class Evaluation:
    """How one kind is done: what a row is, how rows are made, what is measured of them."""

    row: type[BaseModel]
    score: Callable[[Any, Any, How, Told], Sequence[Any]]
    measure: Callable[[Sequence[Any], Mapping[str, int], int, int], tuple[dict[str, Measured], Any, int]]
    level: float = stats.LEVEL
    resamples: int = stats.RESAMPLES
    groups: Callable[[Sequence[Any]], dict[str, dict[str, list[Any]]]] | None = None  # parts measured by themselves


KINDS: dict[Kind, Evaluation] = {
    "classification": Evaluation(classification.ClassRow, classification.score, classification.measure),
    "retrieval": Evaluation(retrieval.RetrievalRow, retrieval.score, retrieval.measure),
    "ratings": Evaluation(ratings.RatingRow, ratings.score, ratings.measure),
    "analysis": Evaluation(
        analysis.AnalysisRow, analysis.score, analysis.measure, analysis.LEVEL, analysis.RESAMPLES, analysis.groups
    ),
}


@dataclass(frozen=True)
class StandardResult:
    """What was found. `record` is result.json."""

    record: StandardRecord
    rows: Sequence[Any]
    read_from: Path | None = None  # the folder of a finished run that this is, where nothing was computed


def run_standard(
    model: Any,
    data: AnySet,
    *,
    out: str | Path | None = None,
    cache: EmbeddingCache | None = None,
    batch_size: int | None = None,
    workers: int | None = None,
    allow_missing: bool = False,
    seed: int = 0,
    arguments: Mapping[str, JsonValue] | None = None,
    ranks: Ranks = ALONE,
) -> StandardResult | None:
    """Evaluate `model` (anything that `evaluate` takes) on a set of `open_set`; kept in `out` where that is given.

    Of several `ranks` that all call this, the first gets the result, the others help it and get None.
    """
    kind = KINDS[data.kind]
    if data.kind != "analysis" and kind_of(model) in NEEDS_NEGATIVES:
        spec = (getattr(model, "card", None) or {}).get("spec", type(model).__name__)
        raise UserError(
            f"{spec} compares a caption with hard negatives, and {data.name} ({data.kind}) has none; it is for "
            "`equipoise eval`. A score for any text comes from blind:lm:FOLDER or blind:classifier:FOLDER"
        )
    batch, hands = batch_size or default_batch(model), workers or default_workers()
    how = How(batch, hands, cache, allow_missing, ranks)
    if ranks.number > 0:
        if ranks.follow():
            kind.score(model, data, how, Told())
        return None
    folder = None if out is None else Path(out)
    with contextlib.nullcontext() if folder is None else run_folder.locked(folder):
        started = time.monotonic()
        about = SetId(name=data.name, split=data.split, sha256=content_hash(data), counts=data.counts())
        card = model_card(model, probe=folder is not None)
        settings = settings_of(model, seed, allow_missing, batch)
        identity = {
            "standard": data.kind,
            "data": about.model_dump(mode="json", include={"name", "sha256"}),
            "model": card.model_dump(mode="json"),
            "settings": settings.model_dump(mode="json"),
        }
        if folder is not None and _claimed(folder, identity):
            ranks.lead(scores=False)
            photos = images_id(digests(data.refs(), data.source, how) if reads_images(model) else {})
            return _finished(folder, identity | {"images": photos.model_dump(mode="json")})
        ranks.lead(scores=True)
        told = Told()
        rows = kind.score(model, data, how, told)
        record = StandardRecord(
            standard=data.kind,
            date=datetime.now(UTC).replace(microsecond=0),
            data=about,
            images=images_id(told.digests),
            model=card,
            settings=settings,
            intervals=Level(level=kind.level, resamples=kind.resamples),
            numbers=measure(data.kind, rows, about.counts, seed),
            by=breakdown(data.kind, rows, about.counts, seed),
            skipped=dict(list(told.skipped.items())[:100]),
            counts=told.counts | {"skipped": len(told.skipped), "rows": len(rows)},
            arguments=Arguments(
                passed=dict(arguments or {}),
                in_full=FullArguments(
                    images=str(data.source),
                    out=None if out is None else str(out),
                    cache=None if cache is None or cache.path is None else str(cache.path),
                    batch_size=batch,
                    workers=hands,
                ),
            ),
            environment=environment(),
            seconds=round(time.monotonic() - started, 3),
            rows_sha256=None,
        )
        if folder is not None:
            record = write_standard(folder, record, rows)
        return StandardResult(record, rows)


def measure(kind: Kind, rows: Sequence[Any], counts: Mapping[str, int], seed: int) -> Numbers:
    """The numbers of rows, with the intervals of their kind."""
    how = KINDS[kind]
    found, cluster, ties = how.measure(rows, counts, seed, how.resamples)
    return numbers(found, cluster, ties, how.level)


def breakdown(kind: Kind, rows: Sequence[Any], counts: Mapping[str, int], seed: int) -> dict[str, dict[str, Numbers]]:
    """The numbers of each part that a kind has."""
    how = KINDS[kind]
    parts = how.groups(rows) if how.groups else {}

    def of(members: Sequence[Any]) -> Numbers:
        found, cluster, ties = how.measure(members, counts, seed, stats.RESAMPLES)
        return numbers(found, cluster, ties, how.level)

    return {tag: {value: of(members) for value, members in values.items()} for tag, values in parts.items()}


# ---------------------------------------------------------------------------- on disk


def _claimed(folder: Path, identity: Mapping[str, Any]) -> bool:
    """Take the folder; True where a finished run is in it. An unfinished one leaves nothing: the cache has it all."""
    if (folder / "result.json").exists():
        _refuse_other(folder, identity)
        return True
    run_folder.take(folder, "standard", identity, writes=(ROWS, "result.json"), resumes=False)
    return False


def _refuse_other(folder: Path, identity: Mapping[str, Any]) -> None:
    record = read_standard(folder)
    there = {
        "standard": record.standard,
        "data": record.data.model_dump(mode="json", include={"name", "sha256"}),
        "model": record.model.model_dump(mode="json"),
        "settings": record.settings.model_dump(mode="json"),
        "images": record.images.model_dump(mode="json"),
    }
    refuse_other(folder, there, identity)


def _finished(folder: Path, identity: Mapping[str, Any]) -> StandardResult:
    _refuse_other(folder, identity)
    record, rows, fresh = judged_again(folder)
    parts = breakdown(record.standard, rows, record.data.counts, record.settings.seed)
    return StandardResult(record.model_copy(update={"numbers": fresh, "by": parts}), rows, folder)


def judged_again(folder: Path) -> tuple[StandardRecord, list[Any], Numbers]:
    """A finished run with the numbers of its rows; where result.json has others, somebody wrote them there."""
    record, rows = read_rows(folder)
    fresh = measure(record.standard, rows, record.data.counts, record.settings.seed)
    wrong = [
        name
        for name in sorted(record.numbers.metrics.keys() | fresh.metrics.keys())
        if not _equal(record.numbers, fresh, name)
    ]
    if wrong:
        raise UserError(
            f"{folder / 'result.json'}: changed after the run: {ROWS} gives other numbers for {', '.join(wrong)}. "
            "Evaluate again into another folder (--out)."
        )
    return record, rows, fresh


def _equal(first: Numbers, second: Numbers, name: str) -> bool:
    one, other = first.metrics.get(name), second.metrics.get(name)
    if one is None or other is None or one.value is None or other.value is None:
        return one == other
    return math.isclose(one.value, other.value, abs_tol=1e-9) and one.n == other.n


def write_standard(folder: Path, record: StandardRecord, rows: Sequence[BaseModel]) -> StandardRecord:
    """Write a finished run, and return its record as it was written."""
    with atomic_write(folder / ROWS) as handle:
        for row in rows:
            handle.write(json.dumps(row.model_dump(mode="json"), ensure_ascii=False) + "\n")
    record = record.model_copy(update={"rows_sha256": sha256_file(folder / ROWS)})
    write_json(folder / "result.json", record.model_dump(mode="json", by_alias=True))
    return record


def read_rows(folder: Path) -> tuple[StandardRecord, list[Any]]:
    """A finished run; rows that are not the ones its result was made from are refused."""
    record = read_standard(folder)
    path = folder / ROWS
    if not path.exists() or sha256_file(path) != record.rows_sha256:
        raise UserError(
            f"{path}: missing, or changed after the run (its sha256 is not the one in result.json). Evaluate again "
            "into another folder (--out)."
        )
    problems = Problems(str(path))
    # The hash says that we wrote them, so nothing in a line is doubled; one photo may have rows of the same id.
    lines = ((where, raw) for where, raw in jsonl_lines(path, problems))
    rows = []
    for where, raw in lines:
        try:
            rows.append(KINDS[record.standard].row.model_validate_json(raw))
        except ValidationError as error:
            explain(error, where, problems)
    problems.raise_if_any()
    return record, rows


def read_standard(folder: Path) -> StandardRecord:
    """The result of a standard evaluation's folder."""
    path = folder / "result.json"
    if not path.exists():
        raise UserError(f"{folder}: no finished run here (result.json is missing); make one with `equipoise standard`")
    value = read_json(path)
    if not isinstance(value, dict) or "standard" not in value:
        raise UserError(f"{path}: not the result of a standard evaluation (the field 'standard' is missing)")
    if type(schema := value.get("schema")) is not int or schema > SCHEMA:
        raise UserError(f"{path}: schema {schema}, written by a newer equipoise; this one reads up to {SCHEMA}")
    problems = Problems(f"{path}: not a whole result of a standard evaluation")
    try:
        return StandardRecord.model_validate_json(json.dumps(value))
    except ValidationError as error:
        explain(error, "", problems)
    problems.raise_if_any("The file was changed or damaged after the run. Evaluate again into another folder (--out).")
    raise AssertionError("a result that does not validate has problems")


def standard_runs(folder: Path) -> list[tuple[Path, StandardRecord]]:
    """Every standard evaluation in or below a folder, in order."""
    found = []
    for path in sorted(folder.rglob("result.json")) if folder.is_dir() else []:
        value = read_json(path)
        if isinstance(value, dict) and "standard" in value:
            found.append((path.parent, judged_again(path.parent)[0]))
    return found


def find_standard(folder: Path) -> dict[str, Path]:
    """The standard evaluations in or below a folder, by kind and name."""
    found: dict[str, Path] = {}
    for place, record in standard_runs(folder):
        name = f"{record.standard} {record.data.name}"
        if name in found:
            raise UserError(f"{folder}: holds more than one run of {name}: {found[name]} and {place}")
        found[name] = place
    return found
