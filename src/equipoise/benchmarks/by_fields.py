"""Benchmarks in which each record is one item: the table [item] of data/NAME.toml says which field is what.

Its values are templates of the record's fields; {key} is the record's key or number, {split} its split. A record
with `negative_image` is two images and two captions; an image without an ending is a PNG file. `edit` names what the
negative changes, as SugarCrepe calls it: "swap_att". Fields of tags and of `defaults` may be missing. Files are `file`,
one for each split, or `hub`: one of these names, else the hub's Parquet files.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Any

from pydantic import create_model

from equipoise.benchmarks.base import Benchmark, described, stored
from equipoise.benchmarks.reading import Case, Raw, check_splits, choose, hub_files, read, read_through
from equipoise.data.items import Edit, ImageRef, Item, Target, texts

_TARGETS: dict[str, Target] = {"att": "attribute", "obj": "object", "rel": "relation"}
_NEEDED = ("key", "image", "caption", "positive", "negative", "negative_image", "edit")
_KNOWN = ("key", "split", "op")  # what a template may name that is no field of the record


@functools.cache
def benchmark(name: str) -> Benchmark:
    return described(name, functools.partial(load, name))


def load(name: str, source: Path, splits: Sequence[str]) -> list[Item]:
    facts, (kind, cases) = stored(name), reader(name)
    if "hub" in facts["item"]:
        check_splits(name, splits, facts["splits"])
        return read_through(name, "test", hub_files(name, source, facts["item"]["hub"]), kind, cases)
    files = {split: facts["item"]["file"].format(split=split) for split in facts["splits"]}
    return read(name, choose(name, source, files, splits), kind, cases)


@functools.cache
def reader(name: str) -> tuple[type[Raw], Callable[[str, str, Raw], Iterator[Case]]]:
    """The record of a benchmark, and what makes its case."""
    item: dict[str, Any] = stored(name)["item"]
    defaults: dict[str, str] = item.get("defaults", {})
    fields: dict[str, Any] = dict.fromkeys(_fields(item.get("tags", {}).values()), (str | None, None))
    for field in _fields([item[part] for part in _NEEDED if part in item]):
        fields[field] = (str, "") if field in defaults else (int | str if field == "id" else str, ...)
    kind = create_model("Record", __base__=Raw, **fields)

    def cases(split: str, key: str, record: Raw) -> Iterator[Case]:
        values = {field: "" if value is None else value for field, value in record.model_dump().items()}
        values |= {"split": split, "key": key}
        values |= {field: text.format_map(values) for field, text in defaults.items() if not values[field]}
        edit = _edit(item.get("edit", "").format_map(values), item.get("by"))
        values["op"] = edit.op if edit else ""
        filled = {part: text.format_map(values) for part, text in item.items() if isinstance(text, str)}
        tags = {tag: text.format_map(values) for tag, text in item.get("tags", {}).items()}
        yield Case(
            filled.get("key", key),
            image=_image(filled["image"]),
            caption=filled["caption"],
            positives=texts(filled["positive"]) if "positive" in item else (),
            negatives=texts(filled["negative"], edit=edit),
            negative_images=(_image(filled["negative_image"]),) if "negative_image" in item else (),
            paired="negative_image" in item,
            tags={tag: value for tag, value in tags.items() if value},
        )

    return kind, cases


def _fields(templates: Sequence[str]) -> list[str]:
    found = [field for template in templates for _, field, _, _ in Formatter().parse(template) if field]
    return [field for field in found if field not in _KNOWN]


def _image(name: str) -> ImageRef:
    return ImageRef(path=name if PurePosixPath(name).suffix else f"{name}.png")


def _edit(name: str, by: str | None) -> Edit | None:
    operation, _, target = name.partition("_")
    return Edit(op=operation, target=_TARGETS[target], by=by) if target in _TARGETS else None
