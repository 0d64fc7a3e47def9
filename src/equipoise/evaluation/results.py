"""A run on disk: result.json (the record one can trust in a year) and items.jsonl (scores and outcomes).

Both are written atomically and result.json last, so a folder that has it is whole. It holds the hash of items.jsonl.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

import equipoise
from equipoise.benchmarks.base import Average, Benchmark
from equipoise.core import stats
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import atomic_write, read_json, sha256_file, write_json
from equipoise.data.items import IMAGES, Item
from equipoise.data.readers.records import checked, explain, jsonl_lines
from equipoise.evaluation.averages import NEED_SCORES, measure
from equipoise.evaluation.metrics import Metric, kept
from equipoise.evaluation.outcomes import ROWS, Outcomes, outcomes_of
from equipoise.evaluation.record import SCHEMA, BenchmarkId, Metrics, Numbers, RunRecord
from equipoise.evaluation.scores import ItemScores, Scores, read_scores


class Texts(BaseModel):
    """What the scores of an item were given to."""

    model_config = ConfigDict(strict=True, frozen=True)
    caption: str
    positives: list[str]
    negatives: list[str]


class Shown(BaseModel):
    """What a run keeps next to the scores of an item, to look at."""

    model_config = ConfigDict(strict=True, frozen=True)
    id: str
    texts: Texts | None = None
    boxes: list[
        list[float] | None
    ] = []  # x, y, width, height in pixels, as `Item.images()`; none where no image has one


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def write_run(
    folder: Path,
    record: RunRecord,
    rows: Sequence[ItemScores],
    outcomes: Outcomes,
    items: Mapping[str, Item],
    metrics: Sequence[Metric] = ROWS,
) -> RunRecord:
    """Write a finished run, and return its record as it was written.

    Nothing of it is visible as finished before everything is on disk. The texts go next to their scores, so that a run
    can be read, and its failures looked at, without the benchmark.
    """
    return _write(folder, record, _lines(rows, outcomes, items, metrics))


def write_set(folder: Path, record: RunRecord, rows: Sequence[BaseModel]) -> RunRecord:
    """The same of a run that is not of items."""
    return _write(folder, record, (row.model_dump(mode="json") for row in rows))


def _write(folder: Path, record: RunRecord, lines: Iterable[Mapping[str, Any]]) -> RunRecord:
    with atomic_write(folder / "items.jsonl") as handle:
        for line in lines:
            handle.write(_ENCODER.encode(line) + "\n")
    record = record.model_copy(update={"scores_sha256": sha256_file(folder / "items.jsonl")})
    write_json(folder / "result.json", record.model_dump(mode="json", by_alias=True))
    return record


def _lines(
    rows: Sequence[ItemScores], outcomes: Outcomes, items: Mapping[str, Item], metrics: Sequence[Metric]
) -> Iterator[dict[str, Any]]:
    for fields, outcome in zip(Scores.of(rows).fields(), outcomes.each(metrics), strict=True):
        line = {name: value for name, value in fields.items() if value is not None}
        if "text" in line:
            line["text"] = line["text"].model_dump()
        if not line.get("paired"):
            line.pop("paired", None)
        for kind in (*IMAGES, "answers"):  # left out where there are none
            if others := line.pop(kind, ()):
                line[kind] = [other.model_dump() for other in others]
        line["outcome"] = outcome
        if item := items.get(line["id"]):
            line["texts"] = {
                "caption": item.caption,
                "positives": [text.text for text in item.positives],
                "negatives": [text.text for text in item.negatives],
            }
            boxes = [ref.box for ref in item.images()]
            if any(boxes):
                line["boxes"] = boxes
        yield line


_SCORE_FILES = {".jsonl", ".csv", ".tsv"}


def read_run(folder: Path) -> tuple[RunRecord, Sequence[Any]]:
    """A finished run and its rows (scores of items, or the rows of a set); others than its own are refused."""
    record = read_result(folder)
    path = (folder if folder.is_dir() else folder.parent) / "items.jsonl"
    written = record.scores_sha256  # by us, line for line
    if written is not None and path.exists() and sha256_file(path) != written:
        raise UserError(
            f"{path}: changed after the run (its sha256 is not the one in result.json), so its scores are not used. "
            "Evaluate again into another folder (--out)."
        )
    if record.kind == "items":
        return record, read_scores(path, doubled=written is None)
    if record.kind == "aggregate":
        return record, []
    from equipoise.evaluation.sets.kinds import KINDS

    problems = Problems(str(path))
    rows = []
    for where, raw in jsonl_lines(path, problems):  # one photo may have rows of the same id
        try:
            rows.append(KINDS[record.kind].row.model_validate_json(raw))
        except ValidationError as error:
            explain(error, where, problems)
    problems.raise_if_any()
    return record, rows


def measured_again(
    folder: Path, own: Sequence[Metric] | None = None
) -> tuple[RunRecord, Sequence[Any], Outcomes | None]:
    """A finished run with the numbers of its rows, so that a number that someone wrote into result.json is refused.

    `own` are the user's metrics, to be asked again; without them their outcomes are read.
    """
    record, rows = read_run(folder)
    if record.kind == "aggregate":
        return record, rows, None
    if record.kind != "items":
        from equipoise.evaluation.sets.kinds import measure as measure_set

        fresh = measure_set(record.kind, rows, record.benchmark.counts, record.settings.seed)
        refuse_edited(folder, record, fresh)
        return record.model_copy(update={"metrics": fresh}), rows, None
    outcomes = read_outcomes(folder, record, rows) if own is None else outcomes_of(rows)
    metrics = metrics_of(record) if own is None else [*ROWS, *own]
    resamples = 0 if own is None else stats.RESAMPLES
    fresh = measure(
        rows, outcomes, _benchmark(record.benchmark), record.settings.seed, resamples, metrics, is_outcomes_only(record)
    )
    refuse_edited(folder, record, fresh)
    return (record if own is None else record.model_copy(update={"metrics": fresh})), rows, outcomes


def metrics_of(record: RunRecord) -> list[Metric]:
    """The metrics of a run that was read back: ours, and the user's own as it kept them."""
    ours = [row for row in ROWS if not (is_outcomes_only(record) and row.name in NEED_SCORES)]
    return [*ours, *map(kept, record.settings.metrics)]


def is_outcomes_only(record: RunRecord) -> bool:
    """Whether its scores stand for right and wrong, because no others were published."""
    return record.published is not None and record.published.outcomes_only


class _Outcome(BaseModel):
    id: str
    outcome: dict[str, bool | float]


def read_outcomes(folder: Path, record: RunRecord, rows: Sequence[ItemScores]) -> Outcomes:
    """The outcomes of a run's scores; those of the user's own metrics are read, as only the user's code makes them."""
    outcomes = outcomes_of(rows)
    if not record.settings.metrics:
        return outcomes
    path = (folder if folder.is_dir() else folder.parent) / "items.jsonl"
    problems = Problems(str(path))
    lines = [line.outcome for _, line in checked(jsonl_lines(path, problems), _Outcome, problems, doubled=False)]
    problems.raise_if_any()
    own = {
        metric.name: np.array([line.get(metric.name, math.nan) for line in lines], dtype=np.float64)
        for metric in record.settings.metrics
    }
    return replace(outcomes, own=own)


def read_result(folder: Path) -> RunRecord:
    """The result of a run folder (or of a result.json named itself); a schema from the future is refused."""
    path = folder / "result.json" if folder.is_dir() else folder
    if not path.exists():
        raise UserError(f"{folder}: no finished run here (result.json is missing); make one with `equipoise eval`")
    if path.suffix in _SCORE_FILES:
        raise UserError(
            f"{path}: a file, where the folder of a run was expected, which `equipoise eval MODEL --bench B --out RUN` "
            f"writes. Scores become one with `equipoise metrics {path} --bench B --out RUN`"
        )
    value = read_json(path)
    if not isinstance(value, dict) or type(schema := value.get("schema")) is not int:
        raise UserError(f"{path}: not a result of equipoise (the field 'schema' is missing)")
    if schema != SCHEMA:
        fix = "Upgrade: pip install --upgrade equipoise" if schema > SCHEMA else "Evaluate again into another folder"
        raise UserError(
            f"{path}: schema {schema}, written by another version of equipoise; this one "
            f"({equipoise.__version__}) reads schema {SCHEMA}. {fix}"
        )
    problems = Problems(f"{path}: not a whole result of equipoise")
    try:
        return RunRecord.model_validate_json(json.dumps(value))
    except ValidationError as error:
        explain(error, "", problems)
    except RecursionError:
        problems.add("", "JSON nested too deeply")
    problems.raise_if_any("The file was changed or damaged after the run. Evaluate again into another folder (--out).")
    raise AssertionError("a result that does not validate has problems")


def find_runs(folders: Sequence[Path], sets: bool = False) -> list[tuple[Path, RunRecord]]:
    """Every finished run of items in or below the folders, in order; with `sets` those of other kinds too."""
    found = []
    for folder in folders:
        places = _places(folder) if folder.is_dir() else [folder]
        records = [(place, read_result(place)) for place in places]
        wanted = [(place, record) for place, record in records if sets or record.kind == "items"]
        if not wanted:
            other = f"; {records[0][0]} is a run of {records[0][1].kind}" if records else " (no result.json)"
            raise UserError(f"{folder}: no finished run in it{other}; make one with `equipoise eval`")
        found += wanted
    return found


def read_texts(folder: Path, places: Collection[int] | None = None) -> dict[str, Texts]:
    """The texts that a run keeps next to its scores (of the items in these places, or of all)."""
    return {line.id: line.texts for line in read_shown(folder, places) if line.texts}


def read_shown(folder: Path, places: Collection[int] | None = None) -> Iterator[Shown]:
    """Texts and boxes of every item that a run scored, or of those in some places, counted from 0 as its scores are;
    what is wrong with the file is raised at its end."""
    path = (folder if folder.is_dir() else folder.parent) / "items.jsonl"
    problems = Problems(str(path))
    for _, line in checked(jsonl_lines(path, problems, places), Shown, problems, doubled=False):
        yield line
    problems.raise_if_any()


def _places(folder: Path) -> list[Path]:
    return [path.parent for path in sorted(folder.rglob("result.json"))]


def refuse_edited(folder: Path, record: RunRecord, fresh: Metrics) -> None:
    """Raise where result.json says something else than its rows, whose numbers are `fresh`.

    Intervals are left out: they take a while, and differ in the last digits between versions of numpy.
    """
    measured = {name for part in _parts(record.metrics).values() for name in part.metrics}  # now there may be more
    there, here = _flat(record.metrics, measured), _flat(fresh, measured)
    wrong = sorted(name for name in there.keys() | here.keys() if not _equal(there.get(name), here.get(name)))
    if wrong:
        raise UserError(
            f"{folder / 'result.json'}: changed after the run: items.jsonl gives other numbers for "
            f"{', '.join(wrong[:5])}. Evaluate again into another folder (--out)."
        )


def _benchmark(about: BenchmarkId) -> Benchmark:
    """The part of the benchmark's facts that its numbers need."""
    averages = {rule: Average(tuple(one.over), one.cite, one.least) for rule, one in about.averages.items()}
    return Benchmark(
        name=about.name,
        title=about.name,
        splits={},
        chance=about.chance,
        ties="",
        licence="",
        citation="",
        url="",
        get="",
        load=lambda source, splits: (),
        averages=averages,
        metrics=tuple(about.metrics),
    )


def _parts(metrics: Metrics) -> dict[str, Numbers]:
    found: dict[str, Numbers] = {"overall": metrics.overall} | ({"macro": metrics.macro} if metrics.macro else {})
    found |= {f"by.{tag}.{value}": one for tag, values in metrics.by.items() for value, one in values.items()}
    return found | {f"averages.{rule}": one for rule, one in metrics.averages.items()}


def _flat(metrics: Metrics, measured: Collection[str]) -> dict[str, Any]:
    """Every number of these metrics but the intervals, by its place."""
    found: dict[str, Any] = {}
    for part, one in _parts(metrics).items():
        found |= {f"{part}.{name}": getattr(one, name) for name in ("n", "ties", "image_ties")}
        known = {name: number for name, number in one.metrics.items() if name in measured}
        found |= {f"{part}.{name}": number.value for name, number in known.items()}
        found |= {f"{part}.{name}.n": number.n for name, number in known.items()}
    papers = {f"paper.{paper}.{name}": one for paper, all_ in metrics.paper.items() for name, one in all_.items()}
    return found | {name: one for name, one in papers.items() if not isinstance(one, tuple)}


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, int | float) and isinstance(second, int | float):
        return math.isclose(first, second, abs_tol=1e-9)
    return bool(first == second)
