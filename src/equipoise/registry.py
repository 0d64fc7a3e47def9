"""The registry of benchmarks: names, facts, and items by name or path."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from equipoise.benchmarks import own, reading
from equipoise.benchmarks.base import Benchmark
from equipoise.errors import UserError, did_you_mean
from equipoise.items import Item

_ROWS = {  # name: module, below equipoise, and its variable; modules are imported when they are asked for
    "replace": ("benchmarks.replace.build", "BENCHMARK"),
    "replace-clean": ("benchmarks.replace.clean", "BENCHMARK"),
    "swap": ("benchmarks.swap", "BENCHMARK"),
    "sugarcrepe": ("benchmarks.sugarcrepe", "BENCHMARK"),
    "sugarcrepe-pp": ("benchmarks.sugarcrepe_pp", "BENCHMARK"),
    "aro-vg-r": ("benchmarks.aro", "RELATION"),
    "aro-vg-a": ("benchmarks.aro", "ATTRIBUTION"),
    "aro-coco-order": ("benchmarks.aro_order", "COCO"),
    "aro-flickr-order": ("benchmarks.aro_order", "FLICKR"),
    "valse": ("benchmarks.valse", "BENCHMARK"),
    "vl-checklist": ("benchmarks.vl_checklist", "BENCHMARK"),
    "winoground": ("benchmarks.winoground", "BENCHMARK"),
    "crepe": ("benchmarks.crepe", "BENCHMARK"),
    "negclip": ("benchmarks.negclip", "BENCHMARK"),
    "ce-clip": ("benchmarks.ce_clip", "BENCHMARK"),
    "hard-positives-ft": ("benchmarks.hard_positives_ft", "BENCHMARK"),
    "world-replace-attributes": ("world.benchmarks", "REPLACE_ATTRIBUTES"),
    "world-replace-relations": ("world.benchmarks", "REPLACE_RELATIONS"),
    "world-swap": ("world.benchmarks", "SWAP"),
    "world-unseen": ("world.benchmarks", "UNSEEN_TYPE"),
}
ALIASES = {"aro": ("aro-vg-r", "aro-vg-a", "aro-coco-order", "aro-flickr-order")}


def names() -> list[str]:
    """Every benchmark, in the order in which people should see them."""
    return list(_ROWS)


def expand(name: str) -> tuple[str, ...]:
    """The benchmarks behind an alias ("aro" is four); a name stands for itself."""
    return ALIASES.get(name, (name,))


def get(name: str) -> Benchmark:
    """The benchmark of that name."""
    if name in ALIASES:
        raise UserError(f"{name} is {len(ALIASES[name])} benchmarks; name one of {', '.join(ALIASES[name])}")
    if name not in _ROWS:
        hint = did_you_mean(name, [*_ROWS, *ALIASES])
        raise UserError(
            f"no benchmark {name!r}.{hint} `equipoise bench list` shows all; items of your own are named by the path "
            "of their file (.jsonl, .parquet, .csv, .tsv)."
        )
    module, variable = _ROWS[name]
    return cast(Benchmark, getattr(importlib.import_module(f"equipoise.{module}"), variable))


def load(name_or_path: str, source: Path | None = None, splits: Sequence[str] = ()) -> tuple[list[Item], Benchmark]:
    """Items and facts of a benchmark by name, from the files below `source`, or of the user's own file by path.

    A file that `bench build` wrote is known by the ids of its items and keeps its benchmark's averages and metrics.
    """
    path = Path(name_or_path)
    if path.suffix in own.SUFFIXES:
        items = own.load(path, splits)
        return items, _with_chance(_origin(items) or own.benchmark(path, items), items)
    if path.exists() and name_or_path not in _ROWS:
        raise UserError(f"{path}: neither a benchmark nor a file of items (.jsonl, .parquet, .csv, .tsv)")
    benchmark = get(name_or_path)
    reading.check_splits(benchmark.name, splits, benchmark.splits)
    if source is None:
        raise UserError(
            f"{benchmark.name}: name the folder of its annotation files with --source. To get them: {benchmark.get}"
        )
    items = benchmark.load(source, splits)
    return items, _with_chance(benchmark, items)


def _with_chance(benchmark: Benchmark, items: Sequence[Item]) -> Benchmark:
    """Where chance differs between the parts of a benchmark (CREPE), that of the parts that were loaded."""
    return benchmark if benchmark.chance else replace(benchmark, chance=own.chance(items))


def _origin(items: Sequence[Item]) -> Benchmark | None:
    """The benchmark whose items these are, by their ids: "NAME-SPLIT/KEY"."""
    for name in sorted(_ROWS, key=len, reverse=True):
        if all(item.id.startswith(f"{name}-{item.tags.get('split')}/") for item in items):
            return get(name)
    return None
