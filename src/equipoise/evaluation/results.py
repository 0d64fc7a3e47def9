"""A run on disk: result.json (the record one can trust in a year) and items.jsonl (scores and outcomes).

Both are written atomically and result.json last, so a folder that has it is whole. It holds the hash of items.jsonl
and of its own numbers, so what was edited is refused. Only the same run (items, photos, model, settings) stands for
another.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

import equipoise
from equipoise.core import run_folder
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import atomic_write, parse_json, read_text, sha256_file, sha256_json, write_json
from equipoise.data import identity
from equipoise.data.items import IMAGES, Item
from equipoise.data.readers.records import checked, chosen_lines, explain, jsonl_lines
from equipoise.evaluation import older
from equipoise.evaluation.averages import NEED_SCORES
from equipoise.evaluation.metrics import METRICS, ROWS, Metric, kept
from equipoise.evaluation.outcomes import Outcomes, outcomes_of
from equipoise.evaluation.record import SCHEMA, BenchmarkId, RunRecord
from equipoise.evaluation.scores import ItemScores, Scores, read_scores


class ItemTexts(BaseModel):
    """The texts that were scored."""

    model_config = ConfigDict(strict=True, frozen=True)
    caption: str
    positives: list[str]
    negatives: list[str]
    question: str | None = None  # of the user's own, its rewordings, and where the right option stood
    rewordings: list[str] = []
    place: int = 0


class Shown(BaseModel):
    """Texts, boxes and outcome of an item, kept next to its scores."""

    model_config = ConfigDict(strict=True, frozen=True)
    id: str
    texts: ItemTexts | None = None
    boxes: list[list[float] | None] = []  # x, y, width, height in pixels, as `Item.images()`; none: no image has one
    outcome: dict[str, bool | float] = {}  # by metric


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def write_run(
    folder: Path, record: RunRecord, outcomes: Outcomes, items: Mapping[str, Item], metrics: Sequence[Metric] = ROWS
) -> RunRecord:
    """Write a finished run, and return its record as it was written.

    Nothing of it is visible as finished before everything is on disk. The texts go next to their scores, so that a run
    can be read, and its failures looked at, without the benchmark.
    """
    return write(folder, record, item_lines(outcomes, items, metrics))


def write(folder: Path, record: RunRecord, lines: Iterable[Mapping[str, object]]) -> RunRecord:
    return write_record(folder, record, write_lines(folder, lines))


def write_lines(folder: Path, lines: Iterable[Mapping[str, object]]) -> str:
    """Write items.jsonl; its SHA-256."""
    with atomic_write(folder / "items.jsonl") as handle:
        for line in lines:
            handle.write(_ENCODER.encode(line) + "\n")
    return sha256_file(folder / "items.jsonl")


def write_record(folder: Path, record: RunRecord, scores_sha256: str) -> RunRecord:
    """Write result.json, by which a run is finished."""
    record = record.model_copy(update={"scores_sha256": scores_sha256})
    written = record.model_dump(mode="json", by_alias=True)
    written["record_sha256"] = record_hash(written)
    write_json(folder / "result.json", written)
    return record.model_copy(update={"record_sha256": written["record_sha256"]})


def record_hash(value: Mapping[str, object]) -> str:
    """Hash of result.json and, through `scores_sha256`, of the scores next to it."""
    return sha256_json({name: part for name, part in value.items() if name != "record_sha256"})


def each_outcome(outcomes: Outcomes, metrics: Sequence[Metric] = ROWS) -> Iterator[dict[str, Any]]:
    """The outcome of every item by metric, as written next to its scores."""
    columns = {row.name: row.column(outcomes) for row in metrics if row.less is None or row.own}
    asked = {name: column.tolist() for name, column in columns.items() if not np.isnan(column).all()}
    images = outcomes.images
    ties = {"tie": (outcomes.has_negative, outcomes.tie), "image_tie": (images.asked, images.tie)}
    level = {name: (there.tolist(), tie.tolist()) for name, (there, tie) in ties.items() if there.any()}
    for index in range(len(outcomes)):
        shown: dict[str, Any] = {}
        for name, values in asked.items():
            if not math.isnan(values[index]):
                yes_or_no = name in METRICS and METRICS[name].side != "answers"
                shown[name] = bool(values[index]) if yes_or_no else values[index]
        yield shown | {name: tie[index] for name, (there, tie) in level.items() if there[index]}


def item_lines(outcomes: Outcomes, items: Mapping[str, Item], metrics: Sequence[Metric]) -> Iterator[dict[str, Any]]:
    for fields, outcome in zip(outcomes.rows.fields(), each_outcome(outcomes, metrics), strict=True):
        line = {name: value for name, value in fields.items() if value is not None}
        if math.isnan(line["caption"]):  # answers alone
            line = {name: value for name, value in line.items() if name not in ("caption", "positives", "negatives")}
        if "text" in line:
            line["text"] = line["text"].model_dump()
        if not line.get("paired"):
            line.pop("paired", None)
        for kind in (*IMAGES, "answers"):  # left out where there are none
            if others := line.pop(kind, ()):
                line[kind] = [other.model_dump(exclude_defaults=kind == "answers") for other in others]
        line["outcome"] = outcome
        if item := items.get(line["id"]):
            line["texts"] = {
                "caption": item.caption,
                "positives": [text.text for text in item.positives],
                "negatives": [text.text for text in item.negatives],
            }
            if item.question is not None:
                line["texts"] |= {"question": item.question, "rewordings": item.rewordings, "place": item.place}
            boxes = [ref.box for ref in item.images()]
            if any(boxes):
                line["boxes"] = boxes
        yield line


_SCORE_FILES = {".jsonl", ".csv", ".tsv"}


def read_run(folder: Path) -> tuple[RunRecord, Sequence[Any]]:
    """A finished run and its rows (scores of items, or the rows of a set); others than its own are refused."""
    record = read_result(folder)
    path = _items_file(folder)
    written = record.scores_sha256  # by us, line for line
    if written is not None and path.exists() and sha256_file(path) != written:
        raise UserError(
            f"{path}: changed after the run (its sha256 is not the one in result.json), so its scores are not used. "
            "Evaluate again into another folder (--out)."
        )
    if record.kind == "items":
        return record, read_scores(path, doubled=written is None)
    from equipoise.evaluation.sets import ROW

    problems = Problems(str(path))
    rows = []
    for where, raw in jsonl_lines(path, problems):  # one photo may have rows of the same id
        try:
            rows.append(ROW[record.kind].model_validate_json(raw))
        except ValidationError as error:
            explain(error, where, problems)
    problems.raise_if_any()
    return record, rows


def _items_file(folder: Path) -> Path:
    return (folder if folder.is_dir() else folder.parent) / "items.jsonl"


def metrics_of(record: RunRecord) -> list[Metric]:
    """The metrics of a run that was read back: ours, and the user's own as it kept them."""
    ours = [row for row in ROWS if not (is_outcomes_only(record) and row.name in NEED_SCORES)]
    return [*ours, *map(kept, record.settings.metrics)]


def is_outcomes_only(record: RunRecord) -> bool:
    """Whether its scores stand for right and wrong, because no others were published."""
    return record.published is not None and record.published.outcomes_only


def read_outcomes(folder: Path, record: RunRecord, rows: Sequence[ItemScores]) -> Outcomes:
    """The outcomes of a run's scores; those of the user's own metrics are read, as only the user's code makes them."""
    outcomes = outcomes_of(rows)
    if not record.settings.metrics:
        return outcomes
    lines = [line.outcome for line in read_shown(folder)]
    own = {
        metric.name: np.array([line.get(metric.name, math.nan) for line in lines], dtype=np.float64)
        for metric in record.settings.metrics
    }
    return replace(outcomes, own=own)


def refuse_other_metrics(folder: Path, record: RunRecord, outcomes: Outcomes, own: Sequence[Metric]) -> None:
    """Raise where metrics of the user's own give other values than in the finished run: code that they call changed."""
    kept = read_outcomes(folder, record, outcomes.rows).own if own else {}
    other = [row.name for row in own if not np.array_equal(kept[row.name], row.column(outcomes), equal_nan=True)]
    run_folder.refuse_other(folder, {}, {}, also=[f"metric {name}: its code gives other values now" for name in other])


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
    return _record(str(path), read_text(path))


@functools.lru_cache(maxsize=256)  # a page of many runs reads each four times
def _record(path: str, text: str) -> RunRecord:
    value = parse_json(text, path)
    if not isinstance(value, dict) or type(schema := value.get("schema")) is not int:
        raise UserError(f"{path}: not a result of equipoise (the field 'schema' is missing)")
    if schema not in (SCHEMA, older.SCHEMA):
        fix = "Upgrade: pip install --upgrade equipoise" if schema > SCHEMA else "Evaluate again into another folder"
        raise UserError(
            f"{path}: schema {schema}, written by another version of equipoise; this one "
            f"({equipoise.__version__}) reads schema {SCHEMA}. {fix}"
        )
    problems = Problems(f"{path}: not a whole result of equipoise")
    try:
        record = RunRecord.model_validate_json(json.dumps(older.read(value) if schema == older.SCHEMA else value))
        if record.scores_sha256 is None or record.record_sha256 != record_hash(value):
            raise UserError(
                f"{path}: it was changed after the run (the sha256 in it is of another result). Evaluate again into "
                "another folder (--out)."
            )
        return record
    except ValidationError as error:
        explain(error, "", problems)
    except RecursionError:
        problems.add("", "JSON nested too deeply")
    except (AttributeError, KeyError, TypeError) as error:
        problems.add("", f"no whole record of schema {schema} ({error})")
    problems.raise_if_any("The file was changed or damaged after the run. Evaluate again into another folder (--out).")
    raise AssertionError("a result that does not validate has problems")


def find_runs(folders: Sequence[Path]) -> list[tuple[Path, RunRecord]]:
    """Every finished run in or below the folders, in order."""
    runs = []
    for folder in folders:
        places = [path.parent for path in sorted(folder.rglob("result.json"))] if folder.is_dir() else [folder]
        if not places:
            raise UserError(f"{folder}: no finished run in it (no result.json); make one with `equipoise eval`")
        runs += [(place, read_result(place)) for place in places]
    return runs


@dataclass(frozen=True)
class LoadedRun:
    """One finished run, read back; or several benchmarks of one model, `joined`."""

    folder: Path
    records: tuple[RunRecord, ...]  # one, or that of each benchmark
    outcomes: Outcomes

    @property
    def name(self) -> str:
        return "+".join(record.benchmark.name for record in self.records)

    @property
    def rows(self) -> Scores:
        return self.outcomes.rows

    @property
    def items(self) -> list[str]:
        """Hashes of the items that were to be scored."""
        return [record.benchmark.items_sha256 for record in self.records]

    @property
    def images(self) -> list[str | None]:
        """Digests of the photos; None where a blind model read none."""
        return [record.images.sha256 if record.images.count else None for record in self.records]

    def where(self, tag: str, value: str) -> LoadedRun:
        rows = [row for row in self.rows if row.tags.get(tag) == value]
        return LoadedRun(self.folder, self.records, outcomes_of(rows))

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that were measured: ours, and the user's own. Of joined runs ours alone."""
        if self.outcomes.own:
            return metrics_of(self.records[0])
        left_out = NEED_SCORES if any(map(is_outcomes_only, self.records)) else ()
        return [row for row in ROWS if row.name not in left_out]


def load_run(folder: str | Path) -> LoadedRun:
    """A run folder's result and scores; what was edited is refused."""
    folder = Path(folder)
    record, rows = read_run(folder)
    if record.kind != "items":
        raise UserError(f"{folder}: a run of {record.kind}, where one of items was expected")
    return LoadedRun(folder, (record,), read_outcomes(folder, record, rows))


def joined(runs: Sequence[LoadedRun]) -> LoadedRun:
    """Several benchmarks of one model as one run, each item tagged with its `benchmark`: REPLACE is such a pair."""
    rows = [
        row.model_copy(update={"id": f"{run.name}/{row.id}", "tags": {**row.tags, "benchmark": run.name}})
        for run in runs
        for row in run.rows
    ]
    records = tuple(record for run in runs for record in run.records)
    return LoadedRun(runs[0].folder.parent, records, outcomes_of(rows))


def find_item_runs(folders: Sequence[Path]) -> list[tuple[Path, RunRecord]]:
    """The finished runs of items in or below the folders; UserError if there are none."""
    runs = [(place, record) for place, record in find_runs(folders) if record.kind == "items"]
    if not runs:
        raise UserError(f"{folders[0]}: no finished run of items in it; make one with `equipoise eval`")
    return runs


def read_shown(folder: Path, places: Collection[int] | None = None) -> Iterator[Shown]:
    """Texts and boxes of every item that a run scored, or of those in some places, counted from 0 as its scores are;
    what is wrong with the file is raised at its end."""
    path = _items_file(folder)
    problems = Problems(str(path))
    lines = jsonl_lines(path, problems) if places is None else chosen_lines(path, places)
    for _, line in checked(lines, Shown, problems, doubled=False):
        yield line
    problems.raise_if_any()


# Only these fields identify a benchmark.
_COUNTED: Any = dict.fromkeys(("name", "items_sha256", "macro", "least", "metrics"), True)
_COUNTED |= {"averages": {"__all__": {"over", "least"}}}


def of_run(run: RunRecord | Mapping[str, Any]) -> dict[str, Any]:
    """Everything that a run's numbers depend on. Accepts a record or a dict of its parts."""
    parts = run if isinstance(run, Mapping) else {part: getattr(run, part) for part in _PARTS}
    return {
        part: value.model_dump(mode="json", include=_COUNTED if part == "benchmark" else None)
        for part, value in parts.items()
    }


_PARTS = ("benchmark", "model", "settings", "images")


_WRITES = ("items.jsonl", "result.json")


def claim(folder: Path, parts: Mapping[str, Any], command: str = "eval") -> None:
    """Take the folder for this run; an unfinished one leaves nothing to keep, its embeddings are in the cache."""
    refuse_other_run(folder, parts)
    if not (folder / "result.json").exists():
        run_folder.take(folder, command, of_run(parts), writes=_WRITES, resumes=False)


def refuse_other_run(folder: Path, parts: Mapping[str, Any]) -> None:
    """Raise where the finished run in `folder` is not this one, or cannot be known to be; photos that nobody has read
    yet are not compared."""
    if (folder / "result.json").exists():
        there, here = of_run(read_result(folder)), of_run(parts)
        also = ['the model has no identity of its own: give it a card, {"digest": "..."}']
        unknown = identity.of_card(here["model"]) is None
        run_folder.refuse_other(folder, {part: there[part] for part in here}, here, also=also if unknown else ())


def refuse_early(folder: Path, spec: str, benchmark: BenchmarkId | None) -> None:
    """Refuse what `claim` would refuse, before the model is loaded."""
    if not (folder / "result.json").exists():
        run_folder.refuse_early(folder, "eval", {}, writes=_WRITES)
        return
    record = read_result(folder)
    there, here = of_run(record), {} if benchmark is None else of_run({"benchmark": benchmark})
    if record.arguments.get("model") == record.model.spec != spec:
        there["model"], here["model"] = {"spec": record.model.spec}, {"spec": spec}
    run_folder.refuse_other(folder, {part: there[part] for part in here}, here)


def is_finished(folder: Path) -> bool:
    return (folder / "result.json").exists() and (folder / "items.jsonl").exists()
