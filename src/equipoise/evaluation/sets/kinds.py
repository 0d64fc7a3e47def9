"""Classification, retrieval and ratings as kinds of runs: what `--bench` names, how rows are scored and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from equipoise.benchmarks import registry
from equipoise.core import stats
from equipoise.core.errors import UserError, did_you_mean
from equipoise.core.files import read_text
from equipoise.data.images import open_source
from equipoise.data.readers.sets.captions import (
    caption_set,
    from_file,
    from_flickr8k,
    from_items,
    from_karpathy,
    is_karpathy,
)
from equipoise.data.readers.sets.classes import is_class_folder, read_classes
from equipoise.data.readers.sets.kinds import AnySet, content_hash
from equipoise.data.readers.sets.ratings import flickr8k_experts, read_ratings
from equipoise.embedding.cache import ScoringOptions
from equipoise.evaluation.record import BenchmarkId, Change, Interval, Metrics
from equipoise.evaluation.scoring import Scoring
from equipoise.evaluation.sets import classification, ratings, retrieval
from equipoise.evaluation.sets.scoring import digests, numbers
from equipoise.evaluation.task import Fields, FromTexts, Lines, Task
from equipoise.models.base import NEEDS_NEGATIVES, Model, kind_of, spec_of

# Each module scores its set, and measures the rows.
SETS = {"classification": classification, "retrieval": retrieval, "ratings": ratings}


class SetTask(Task):
    """A set of `readers.sets` as something to evaluate a model on."""

    def __init__(self, data: AnySet) -> None:
        self.data, self.kind, self.name, self.images = data, data.kind, data.name, data.source

    def about(self) -> BenchmarkId:
        return BenchmarkId(
            name=self.data.name,
            items_sha256=content_hash(self.data),
            splits=[self.data.split] if self.data.split else [],
            counts=self.data.counts(),
        )

    def photos(self, how: ScoringOptions, folder: Path) -> dict[str, bytes]:
        return digests(self.data.refs(), self.data.source, how)

    def score(self, model: Model, how: ScoringOptions, seed: int = 0) -> Scoring:
        if kind_of(model) in NEEDS_NEGATIVES:
            raise UserError(
                f"{spec_of(model)} compares a caption with hard negatives, and {self.data.name} ({self.kind}) has "
                "none; it is for items. A score for any text comes from blind:lm:FOLDER"
            )
        scoring = Scoring([])
        scoring.rows = SETS[self.kind].score(model, self.data, how, scoring)
        return scoring

    def lines(self, scoring: Scoring) -> Lines:
        return set_lines(scoring.rows)

    def measure(
        self, model: Model, scoring: Scoring, context: int | None, seed: int, from_texts: Callable[[], FromTexts | None]
    ) -> Fields:
        estimates, cluster, ties = SETS[self.kind].measure(scoring.rows, self.data.counts(), seed, stats.RESAMPLES)
        metrics = Metrics(overall=numbers(estimates, cluster, ties), by={})
        return {"metrics": metrics, "counts": scoring.counts}


def set_lines(rows: Sequence[BaseModel]) -> Lines:
    return (row.model_dump(mode="json") for row in rows)


def changes(
    kind: str, first: Sequence[object], second: Sequence[object], counts: Mapping[str, int], seed: int
) -> dict[str, Change]:
    """second - first of every number. Both see the same resamples of photos, so what both find hard cancels out."""
    before, _, _ = SETS[kind].measure(first, counts, seed, stats.RESAMPLES)
    after, _, _ = SETS[kind].measure(second, counts, seed, stats.RESAMPLES)
    changes = {}
    for name, estimate in before.items():
        value, spread = after[name].value - estimate.value, after[name].spread - estimate.spread
        known = spread[~np.isnan(spread)]
        if not np.isfinite(value) or not len(known):
            continue
        low, high = stats.percentile_interval(known)
        if estimate.share:
            low, high = stats.difference_interval(float(value), known, estimate.images)
        changes[name] = Change(difference=float(value), interval=Interval(low, high))
    return changes


NAMED = {  # name: the file below --source that it is read from
    "coco-retrieval": "dataset_coco.json",
    "flickr30k-retrieval": "dataset_flickr30k.json",
    "flickr8k-retrieval": "captions.tsv",
    "flickr8k-ratings": "ExpertAnnotations.txt",
}
FORMS = (
    f"{', '.join(NAMED)} or NAME-zeroshot (with --source DIR), BENCHMARK-retrieval (the captions of a benchmark), "
    "zeroshot:DIR (a folder for each class, or CLIP_benchmark's webdataset folder), retrieval:FILE (captions or items, "
    "with --images), ratings:FILE (image, caption, rating, with --images)"
)


def open_set(
    bench: str,
    *,
    source: Path | None = None,
    data: Path | None = None,
    split: str = "test",
    templates: Path | None = None,
) -> AnySet:
    """The set that `bench` names, read and checked; `source` holds annotation files, `data` photos: one is both."""
    opened = _open(bench, source, data, split, templates)
    if templates is not None and opened.kind != "classification":
        raise UserError(f"--templates is only for zero-shot classification; {bench} is {opened.kind}")
    return opened


def _open(bench: str, source: Path | None, data: Path | None, split: str, templates: Path | None) -> AnySet:
    if bench in NAMED:
        return _named(bench, source or data, data or source, split)
    kind, colon, rest = bench.partition(":")
    path = Path(rest)
    if not colon:
        name, _, kind = bench.rpartition("-")
        if kind == "retrieval":
            return _benchmark(name, source, data)
        if kind == "ratings" or source is None:
            hint = did_you_mean(bench, [*NAMED, *(f"{benchmark}-retrieval" for benchmark in registry.names())])
            need = "" if kind == "ratings" else f" {bench} needs its folder: --source DIR."
            raise UserError(f"--bench {bench}:{need}{hint} Expected: {FORMS}")
        return _folder(source, split, templates, bench)
    if path.is_dir():
        return _folder(path, split, templates, f"{path.name}-{kind}")
    if path.is_file():
        return _file(path, kind, data, split)
    raise UserError(f"--bench {bench}: no such file or folder. Expected: {FORMS}")


def _folder(path: Path, split: str, templates: Path | None, name: str) -> AnySet:
    shards = path / "dataset_type.txt"
    if name.endswith("-retrieval") or (shards.is_file() and read_text(shards).strip().lower() == "retrieval"):
        raise UserError(
            f"{path}: retrieval is read from a file of captions, not from a folder; CLIP_benchmark's retrieval shards "
            "are not read. Write retrieval:FILE and name the photos' folder or shards with --images"
        )
    if is_class_folder(path) or is_class_folder(path / split):
        return replace(read_classes(path, split, templates), name=name)
    raise UserError(f"{path}: nothing in this folder that is read here. --bench is one of: {FORMS}")


def _named(name: str, source: Path | None, data: Path | None, split: str) -> AnySet:
    if source is None or data is None:
        raise UserError(f"{name}: name the folder of {NAMED[name]} with --source (that of the photos with --images)")
    if name in {"coco-retrieval", "flickr30k-retrieval"}:
        return caption_set(name, split, open_source(data), from_karpathy(source / NAMED[name], split))
    if name == "flickr8k-ratings":
        return flickr8k_experts(source, name, open_source(data))
    left_out: dict[str, str] = {}
    return caption_set(name, split, open_source(data), from_flickr8k(source, split, left_out), left_out)


def _file(path: Path, kind: str, data: Path | None, split: str) -> AnySet:
    if data is None:
        raise UserError(f"{path}: name the folder (or shards) of its photos with --images")
    name = f"{path.stem}-{kind}"
    if kind == "ratings":
        return read_ratings(path, name, open_source(data))
    if is_karpathy(path):
        return caption_set(name, split, open_source(data), from_karpathy(path, split))
    left_out: dict[str, str] = {}
    return caption_set(name, None, open_source(data), from_file(path, left_out), left_out)


def _benchmark(name: str, source: Path | None, data: Path | None) -> AnySet:
    """The captions of a benchmark's items, to be retrieved."""
    if name not in registry.names() and not name.startswith("py:"):
        hint = did_you_mean(
            f"{name}-retrieval", [*NAMED, *(f"{benchmark}-retrieval" for benchmark in registry.names())]
        )
        raise UserError(f"--bench {name}-retrieval: no benchmark {name!r}.{hint} Expected: {FORMS}")
    folder = registry.folder_of(name, source or data)
    items, benchmark = registry.load(name, folder, ())
    place = data or folder
    if place is None:
        raise UserError(f"{name}: name the folder of its photos with --images")
    return caption_set(f"{benchmark.name}-retrieval", None, open_source(place), from_items(items))
