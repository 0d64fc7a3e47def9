"""A user's own items: JSONL or Parquet as `bench build` and `perturb` write them, or a plain table.

A table (.csv, .tsv) has the columns `image` (path below --images; may be empty), `caption`, any number of columns whose
name begins with `negative`, any number that begin with `positive`, and optionally `id` (else the number of
the row). Empty cells are skipped. Every other column becomes a tag, `split` among them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from equipoise.benchmarks.base import Benchmark
from equipoise.benchmarks.facts import facts
from equipoise.benchmarks.reading import check_splits
from equipoise.core import stats
from equipoise.core.errors import Problems, UserError, did_you_mean, missing_columns
from equipoise.core.files import read_json, write_json
from equipoise.data.items import ImageRef, Item, load_items, texts
from equipoise.data.readers.records import explain, kind_of, table

_Row = TypeVar("_Row")
_TABLES = {".csv", ".tsv"}
SUFFIXES = {".jsonl", ".parquet", *_TABLES}
_SEVERAL = ("negative", "positive")
_IMAGE_NAMES = {"img", "image_path", "image_name", "filename", "file_name", "filepath", "file", "path", "photo"}


def load(path: Path, splits: Sequence[str]) -> Sequence[Item]:
    """The items of `path`, of the named splits where some are named."""
    items: Sequence[Item] = read_table(path, _item) if kind_of(path) in _TABLES else load_items(path)
    if splits:
        check_splits(str(path), splits, dict.fromkeys(item.tags.get("split", "all") for item in items))
        items = [item for item in items if item.tags.get("split", "all") in splits]
    return items


def require_images(path: Path, items: Sequence[Item]) -> None:
    """Refuse a file none of whose items names an image, before anything is loaded for it."""
    if any(item.images() for item in items):
        return
    if kind_of(path) not in _TABLES or "image" in (header := table(path, several=_SEVERAL)[0]):
        raise UserError(
            f"{path}: none of its {len(items):,} items names an image, and a model is judged by images. Captions get "
            "theirs from the file they are perturbed from: a table with the columns image and caption"
        )
    near = next((name for name in header if name.lower() in _IMAGE_NAMES), None)
    meant = f" Did you mean {near}?" if near else did_you_mean("image", header)
    call = " Call it image." if meant else ""
    raise UserError(f"{path}, line 1: no column image (paths below --images); found {', '.join(header)}.{meant}{call}")


def read_table(path: Path, build: Callable[[dict[str, Any]], _Row]) -> list[_Row]:
    """What `build` makes of the fields of each row: id, image, caption, positives, negatives, tags. All problems of the
    file at once."""
    header, rows = table(path, several=_SEVERAL)
    if "caption" not in header or not any(name.startswith("negative") for name in header):
        raise UserError(
            f"{path}, line 1: {missing_columns(header)} Expected the columns image, caption, "
            f"negative (also negative_2, positive, split, ...), found {', '.join(header)}. To write "
            f"hard negatives and positives for its captions: equipoise perturb {shlex.quote(str(path))}"
        )
    found: list[_Row] = []
    lines: dict[str, int] = {}
    problems = Problems(str(path))
    for number, (line, row) in enumerate(rows, 1):
        filled = [(name, value) for name, value in zip(header, row, strict=True) if value.strip()]
        fields: dict[str, Any] = {"id": str(number)} | {k: v for k, v in filled if k in ("id", "image", "caption")}
        for kind in _SEVERAL:
            fields[f"{kind}s"] = [value for name, value in filled if name.startswith(kind)]
        fields["tags"] = {k: v for k, v in filled if k not in fields and not k.startswith(_SEVERAL)}
        first = lines.setdefault(fields["id"], line)
        if first != line:
            problems.add(f"line {line}", f"id: {fields['id']!r} is already used in line {first}; ids must be unique")
        try:
            found.append(build(fields))
        except ValidationError as error:
            explain(error, f"line {line}", problems)
    problems.raise_if_any()
    return found


def _item(fields: dict[str, Any]) -> Item:
    image = ImageRef(path=fields["image"]) if "image" in fields else None
    made = {kind: texts(*fields[kind]) for kind in ("positives", "negatives")}
    tags = {"split": "all"} | fields["tags"]
    return Item.model_validate(fields | made | {"image": image, "caption": fields.get("caption", ""), "tags": tags})


def benchmark(path: Path, items: Sequence[Item]) -> Benchmark:
    """What can be said about a user's file: its splits, and chance, the mean over its items."""
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
        load=load,
    )


# A built file is known by its ids, which name the benchmark. A benchmark of this package is found again by that name
# alone; one of the user's own (`py:`) is not, so its facts are written next to the file, and a result of it keeps its
# averages.


def beside(path: Path) -> Path:
    return path.with_name(path.name + ".benchmark.json")


def named_by_ids(name: str, items: Sequence[Item]) -> bool:
    """Whether all items are the benchmark's, by their ids: NAME-SPLIT/KEY."""
    return all(item.id.startswith(f"{name}-{item.tags.get('split')}/") for item in items)


def write_facts(path: Path, benchmark: Benchmark) -> Path:
    """Beside the built file `path`, what its ids cannot say."""
    write_json(beside(path), facts(benchmark))
    return beside(path)


def read_facts(path: Path, items: Sequence[Item]) -> Benchmark | None:
    """The benchmark that was written next to `path`, if these are its items still."""
    if not beside(path).is_file():
        return None
    value = read_json(beside(path))
    try:
        found = TypeAdapter(Benchmark).validate_python(value | {"load": load} if isinstance(value, dict) else value)
    except ValidationError as error:
        problems = Problems(str(beside(path)))
        explain(error, "", problems)
        problems.raise_if_any("Build the file again with `equipoise bench build`, or delete this one.")
        raise  # never: a ValidationError has a problem at least
    return found if named_by_ids(found.name, items) else None
