"""The registry of benchmarks: names, facts, and items by name, by path, or from the user's own module (py:)."""

from __future__ import annotations

import dataclasses
import importlib
import logging
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter, ValidationError

from equipoise.benchmarks import by_fields, own, reading
from equipoise.benchmarks.base import DATA, PAPER_METRICS, PLAIN, Benchmark, stored
from equipoise.benchmarks.ceilings import Ceilings, ceilings
from equipoise.core.errors import Problems, UserError, did_you_mean
from equipoise.core.plugins import is_named, load_named, own_code
from equipoise.data.items import Item
from equipoise.data.readers.records import explain, kind_of

log = logging.getLogger(__name__)

_NAMES = sorted(path.stem for path in DATA.glob("*.toml"))
KINDS = ("zeroshot", "retrieval", "ratings")  # of sets that are not items: NAME-KIND or KIND:PATH
ALIASES = {
    "aro": ("aro-vg-r", "aro-vg-a", "aro-coco-order", "aro-flickr-order"),
    "world": ("world-replace-attributes", "world-replace-relations", "world-swap", "world-unseen", "world-balanced"),
}


def names() -> list[str]:
    """Every benchmark: each has a file of facts."""
    return _NAMES


def expand(name: str) -> tuple[str, ...]:
    """The benchmarks behind an alias ("aro" is four); a name stands for itself."""
    return ALIASES.get(name, (name,))


def get(name: str) -> Benchmark:
    """The benchmark of that name, or the user's own that `py:module:name` names."""
    if is_named(name):
        return _own(name)
    name = name.lower() if name.lower() in {*_NAMES, *ALIASES} else name
    if name in ALIASES:
        raise UserError(f"{name} is {len(ALIASES[name])} benchmarks; name one of {', '.join(ALIASES[name])}")
    if name not in _NAMES:
        files = [path.name for path in Path().iterdir() if kind_of(path) in own.SUFFIXES]
        if kind_of(Path(name)) in {*own.SUFFIXES, ".json"}:
            raise UserError(f"{name}: no such file.{did_you_mean(name, files)}")
        hint = did_you_mean(name, [*_NAMES, *ALIASES, *files])
        raise UserError(
            f"no benchmark {name!r}.{hint} `equipoise bench list` shows all; items of your own are named by the path "
            "of their file (.jsonl, .parquet, .csv, .tsv), a benchmark of your own by py:module:name."
        )
    if "item" in stored(name):
        return by_fields.benchmark(name)
    module, _, variable = stored(name)["place"].partition(":")  # imported when it is asked for
    return cast(Benchmark, getattr(importlib.import_module(f"equipoise.{module}"), variable))


def _own(spec: str) -> Benchmark:
    """A benchmark of the user's own, with what would go wrong later said now."""
    what = "a benchmark (equipoise.benchmarks.base.Benchmark)"
    benchmark = cast(Benchmark, load_named(spec, what, lambda value: isinstance(value, Benchmark)))
    problems = Problems(f"{spec}: not a benchmark that can be run")
    if not re.fullmatch(r"\w[\w.-]*", benchmark.name):
        problems.add("name", f"expected letters, digits, '-', '_' and '.', found {benchmark.name!r}")
    elif benchmark.name in _NAMES or benchmark.name in ALIASES:
        problems.add("name", f"{benchmark.name!r} is a benchmark of this package; results would be taken for its own")
    try:
        benchmark = TypeAdapter(Benchmark).validate_python(benchmark)
    except ValidationError as error:
        explain(error, "", problems)
        problems.raise_if_any()
    if not benchmark.splits:
        problems.add("splits", 'expected each split with its number of items, e.g. {"test": 100} (None: not published)')
    if PLAIN in benchmark.averages:
        problems.add(f"averages.{PLAIN}", "this name is the plain mean's; choose another")
    for metric in benchmark.metrics:
        if metric not in PAPER_METRICS:
            problems.add("metrics", f"no metric {metric!r} ({', '.join(PAPER_METRICS)})")
    problems.raise_if_any()
    return benchmark


def load(name_or_path: str, source: Path | None = None, splits: Sequence[str] = ()) -> tuple[Sequence[Item], Benchmark]:
    """Items and facts of a benchmark by name, from the files below `source`, or of the user's own file by path.

    A file that `bench build` wrote is known by the ids of its items and keeps its benchmark's averages and metrics.
    """
    path = Path(name_or_path)
    if is_file(name_or_path):
        items = own.load(path, splits)
        return items, _origin(path, items)
    if path.exists() and name_or_path not in _NAMES:
        raise UserError(f"{path}: neither a benchmark nor a file of items (.jsonl, .parquet, .csv, .tsv)")
    benchmark = get(name_or_path)
    reading.check_splits(benchmark.name, splits, benchmark.splits)
    if source is None:
        raise UserError(
            f"{benchmark.name}: name the folder of its annotation files with --source. To get them: {benchmark.get}"
        )
    if is_named(name_or_path):
        with own_code(name_or_path, f"the loader of your benchmark {benchmark.name} failed"):
            items = benchmark.load(source, splits)
    else:
        items = benchmark.load(source, splits)
    _check(benchmark, items, splits)
    return items, benchmark


def is_file(name_or_path: str) -> bool:
    """Whether this names a file of items, not a benchmark."""
    return kind_of(Path(name_or_path)) in own.SUFFIXES and not is_named(name_or_path)


def is_set(bench: str) -> bool:
    """Whether `--bench` names zero-shot classification, retrieval or ratings, and not items."""
    return bench.partition(":")[0] in KINDS or (bench.rpartition("-")[2] in KINDS and not is_file(bench))


def require_images(name_or_path: str, items: Sequence[Item]) -> None:
    """Refuse a user's file none of whose items names an image, for commands that look at images."""
    if is_file(name_or_path):
        own.require_images(Path(name_or_path), items)


def show(name_or_path: str, source: Path | None = None) -> tuple[Benchmark, Ceilings | None]:
    """The facts of a benchmark, of a file with the splits that are in it, counted; and what its texts alone decide,
    where they are there."""
    if not is_file(name_or_path) and source is None:
        return get(name_or_path), None
    items, benchmark = load(name_or_path, source)
    if is_file(name_or_path):
        counts = Counter(item.tags.get("split", "all") for item in items)
        benchmark = dataclasses.replace(benchmark, splits=counts)
    return benchmark, ceilings(items)


def keep_facts(path: Path, items: Sequence[Item], benchmark: Benchmark) -> Path | None:
    """Beside a built file of a benchmark that this package does not know: its facts, so that they are not lost."""
    if benchmark.name in _NAMES or not own.named_by_ids(benchmark.name, items):
        return None
    return own.write_facts(path, benchmark)


def _check(benchmark: Benchmark, items: Sequence[Item], splits: Sequence[str]) -> None:
    """Refuse items whose averages would be lost: without the tags they are averaged by, or with ids that a built file
    is not known by. `reading.read` makes both; this is for loaders that are written without it."""
    if not (isinstance(items, list) and items and all(isinstance(item, Item) for item in items)):
        raise UserError(f"{benchmark.name}: its loader gave no list of Items")
    problems = Problems(f"{benchmark.name}: items that its loader should not have made")
    wanted, lost = splits or benchmark.splits, bool(benchmark.averages or benchmark.metrics)
    read = {tag: rule for rule, average in benchmark.averages.items() for tag in average.path}
    for item in items:
        split = item.tags.get("split", "")
        if split not in wanted:
            problems.add(item.id, f"tag split: expected one of {', '.join(list(wanted)[:8])}, found {split!r}")
        elif lost and not item.id.startswith(start := reading.item_id(benchmark.name, split, "")):
            problems.add(item.id, f"id: expected {start}KEY (equipoise.benchmarks.reading.read makes it)")
        for tag, rule in read.items():
            if tag not in item.tags:
                problems.add(item.id, f"tag {tag}: missing, and the average {rule!r} is over it")
    problems.raise_if_any()


def _origin(path: Path, items: Sequence[Item]) -> Benchmark:
    """The benchmark whose items these are, by their ids; else what a file can say about itself."""
    for name in sorted(_NAMES, key=len, reverse=True):
        if own.named_by_ids(name, items):
            return get(name)
    if (stored := own.read_facts(path, items)) is not None:
        return stored
    ending = f"-{items[0].tags.get('split')}/"
    name = items[0].id.partition(ending)[0]
    if ending in items[0].id and own.named_by_ids(name, items):
        log.warning(
            "%s: items of %s, a benchmark that is not known here: its own averages and metrics are left out, the "
            "headline is the plain mean. Keep %s next to the file, or name the benchmark itself (py:module:name).",
            path,
            name,
            own.beside(path).name,
        )
    return own.benchmark(path, items)
