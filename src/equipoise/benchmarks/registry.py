"""Benchmarks and their items by name, by path, or from the user's own module (py:).

A file of items is JSONL or Parquet, as `bench build` and `perturb` write them, or a table (readers/item_tables.py).
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import logging
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter, ValidationError

from equipoise.benchmarks import by_fields, reading
from equipoise.benchmarks.base import DATA, PAPER_METRICS, PLAIN, Benchmark, check_splits, described, is_facts, stored
from equipoise.benchmarks.ceilings import Ceilings, ceilings
from equipoise.benchmarks.facts import facts
from equipoise.core.errors import Problems, UserError, did_you_mean
from equipoise.core.files import read_json, write_json
from equipoise.core.plugins import is_named, load_named, own_code
from equipoise.data.items import Item
from equipoise.data.readers.item_tables import TABLES, load_item_file, require_image_column
from equipoise.data.readers.records import explain, suffix_of, validated

log = logging.getLogger(__name__)

_NAMES = sorted(path.stem for path in DATA.glob("*.toml"))
KINDS = ("zeroshot", "retrieval", "ratings")  # of sets that are not items: NAME-KIND or KIND:PATH
ALIASES = {
    "aro": ("aro-vg-r", "aro-vg-a", "aro-coco-order", "aro-flickr-order"),
    "world": ("world-replace-attributes", "world-replace-relations", "world-swap", "world-unseen", "world-balanced"),
}
SUFFIXES = {".jsonl", ".parquet", *TABLES}


def names() -> list[str]:
    """Every benchmark: each has a file of facts."""
    return _NAMES


def expand(name: str) -> tuple[str, ...]:
    """The benchmarks behind an alias ("aro" is four); a name stands for itself."""
    return ALIASES.get(name, (name,))


def get(name: str) -> Benchmark:
    """The benchmark of that name, or the user's own: `py:module:name`, or a file of facts (.toml)."""
    if is_named(name):
        what = "a benchmark (equipoise.benchmarks.base.Benchmark)"
        return _own(name, cast(Benchmark, load_named(name, what, lambda value: isinstance(value, Benchmark))))
    if is_facts(name):
        return _own(name, by_fields.own(name))
    name = name.lower() if name.lower() in {*_NAMES, *ALIASES} else name
    if name in ALIASES:
        raise UserError(f"{name} is {len(ALIASES[name])} benchmarks; name one of {', '.join(ALIASES[name])}")
    if name not in _NAMES:
        files = [path.name for path in Path().iterdir() if suffix_of(path) in SUFFIXES]
        if suffix_of(Path(name)) in {*SUFFIXES, ".json"}:
            raise UserError(f"{name}: no such file.{did_you_mean(name, files)}")
        hint = did_you_mean(name, [*_NAMES, *ALIASES, *files])
        raise UserError(
            f"no benchmark {name!r}.{hint} `equipoise bench list` shows all; items of your own are named by the path "
            "of their file (.jsonl, .parquet, .csv, .tsv), a benchmark of your own by py:module:name or the path "
            "of its facts (.toml)."
        )
    return _with_loader(name)


@functools.cache
def _with_loader(name: str) -> Benchmark:
    return described(name, functools.partial(by_fields.load if "item" in stored(name) else _load, name))


def _load(name: str, source: Path, splits: Sequence[str]) -> Sequence[Item]:
    """The items, by the function that the facts name; its module is imported now, because lists of benchmarks need
    none."""
    module, _, function = stored(name)["place"].partition(":")
    items: Sequence[Item] = getattr(importlib.import_module(f"equipoise.{module}"), function)(source, splits)
    return items


def _own(spec: str, benchmark: Benchmark) -> Benchmark:
    """A benchmark of the user's own; what would go wrong later is refused now."""
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
        items = load_file(path, splits)
        return items, _origin(path, items)
    if path.exists() and name_or_path not in _NAMES and not is_facts(name_or_path):
        raise UserError(f"{path}: neither a benchmark nor a file of items (.jsonl, .parquet, .csv, .tsv)")
    benchmark = get(name_or_path)
    check_splits(benchmark.name, splits, benchmark.splits)
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


def folder_of(name: str, source: Path | None) -> Path | None:
    """The folder of a benchmark's files; without one drawn pictures are kept in the cache, apart for each version of
    the code that draws them."""
    if source is not None or name not in _NAMES or not get(name).drawn:
        return source
    from equipoise.core.provenance import default_cache
    from equipoise.data.identity import of_code  # `bench list` needs none of it

    return default_cache() / f"world-{of_code('world')}"


def is_file(name_or_path: str) -> bool:
    """Whether this names a file of items, not a benchmark."""
    return suffix_of(Path(name_or_path)) in SUFFIXES and not is_named(name_or_path)


def is_set(bench: str) -> bool:
    """Whether `--bench` names zero-shot classification, retrieval or ratings, and not items."""
    return bench.partition(":")[0] in KINDS or (bench.rpartition("-")[2] in KINDS and not is_file(bench))


def require_images(name_or_path: str, items: Sequence[Item]) -> None:
    """Refuse a user's file none of whose items names an image, before anything is loaded for it."""
    path = Path(name_or_path)
    if not is_file(name_or_path) or any(item.images() for item in items):
        return
    if suffix_of(path) in TABLES:
        require_image_column(path)
    raise UserError(
        f"{path}: none of its {len(items):,} items names an image, and a model is judged by images. Captions get "
        "theirs from the file they are perturbed from: a table with the columns image and caption"
    )


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
    if benchmark.name in _NAMES or not named_by_ids(benchmark.name, items):
        return None
    write_json(_beside(path), facts(benchmark))
    return _beside(path)


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
        if named_by_ids(name, items):
            return get(name)
    if (kept := _read_facts(path, items)) is not None:
        return kept
    ending = f"-{items[0].tags.get('split')}/"
    name = items[0].id.partition(ending)[0]
    if ending in items[0].id and named_by_ids(name, items):
        log.warning(
            "%s: items of %s, a benchmark that is not known here: its own averages and metrics are left out, the "
            "headline is the plain mean. Keep %s next to the file, or name the benchmark itself (py:module:name).",
            path,
            name,
            _beside(path).name,
        )
    return of_file(path, items)


def load_file(path: Path, splits: Sequence[str]) -> Sequence[Item]:
    """The items of a user's own file, of the named splits where some are named."""
    items = load_item_file(path)
    if splits:
        check_splits(str(path), splits, dict.fromkeys(item.tags.get("split", "all") for item in items))
        items = [item for item in items if item.tags.get("split", "all") in splits]
    return items


def of_file(path: Path, items: Sequence[Item]) -> Benchmark:
    """The facts of a user's file: its splits, and chance, the mean over its items."""
    import numpy as np  # `bench list` needs none of it

    from equipoise.core import stats

    shapes = np.array([(1 + len(item.positives), len(item.negatives)) for item in items if item.negatives])
    chance = {}
    if len(shapes):
        each = stats.chance_of_orders(*shapes.T)
        chance["original"] = float(each[:, 0].mean())
        if (reworded := shapes[:, 0] > 1).any():
            chance["augmented"], chance["brittleness"] = each[reworded, 1:].mean(axis=0).tolist()
    return Benchmark(
        name=path.stem if path.stem.strip(".") else "items",  # "...jsonl" would be ".."
        title=f"items of {path.name}",
        splits=dict.fromkeys(item.tags.get("split", "all") for item in items),
        chance=chance,
        ties="never a win",
        licence="the user's own",
        citation="none",
        url=str(path),
        get="The file is there.",
        load=load_file,
    )


# A built file is known by its ids, which name the benchmark. A benchmark of this package is found again by that name
# alone; one of the user's own (`py:`) is not, so its facts are written next to the file, and a result of it keeps its
# averages.


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".benchmark.json")


def named_by_ids(name: str, items: Sequence[Item]) -> bool:
    """Whether all items are the benchmark's, by their ids: NAME-SPLIT/KEY."""
    return all(item.id.startswith(f"{name}-{item.tags.get('split')}/") for item in items)


def _read_facts(path: Path, items: Sequence[Item]) -> Benchmark | None:
    """The benchmark that was written next to `path`, if these are its items still."""
    if not _beside(path).is_file():
        return None
    value, fix = read_json(_beside(path)), "Build the file again with `equipoise bench build`, or delete this one."
    value = value | {"load": load_file} if isinstance(value, dict) else value
    benchmark = validated(Benchmark, value, str(_beside(path)), fix)
    return benchmark if named_by_ids(benchmark.name, items) else None
