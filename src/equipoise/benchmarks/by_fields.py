"""Benchmarks in which each record is one item: the table [item] of data/NAME.toml says which field is what.

Its values are templates of the record's fields; {key} is the record's key or number, {split} its split. A record
with `negative_image` is two images and two captions; an image without an ending is a PNG file. `edit` names what the
negative changes, as SugarCrepe calls it: "swap_att". Fields of tags and of `defaults` may be missing. Files are `file`,
one for each split, or `hub`: one of these names, else the hub's Parquet files. A user's own file of facts has the same
form, with `file`, and its name ends in .toml; `_Facts` is what it may say.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from equipoise.benchmarks.base import Benchmark, called, check_splits, described, stored
from equipoise.benchmarks.reading import Case, Raw, choose, hub_files, read, read_through
from equipoise.data.items import Edit, ImageRef, Item, Target, texts
from equipoise.data.readers.records import validated

_TARGETS: dict[str, Target] = {"att": "attribute", "obj": "object", "rel": "relation"}
_NEEDED = ("key", "image", "caption", "positive", "negative", "negative_image", "edit")
_KNOWN = ("key", "split", "op")  # what a template may name that is no field of the record


def own(path: str) -> Benchmark:
    """The benchmark of a user's file of facts, whose mistakes are all reported."""
    validated(_Facts, stored(path), path, "Correct them; docs/extending.md has an example.")
    unsaid = {
        "title": f"items of {Path(path).name}",
        "ties": "not said",
        "licence": "the user's own",
        "citation": "none",
        "url": path,
        "get": "The files are there.",
    }
    more = {fact: words for fact, words in unsaid.items() if fact not in stored(path)}
    return described(path, functools.partial(load, path), **more)


def load(place: str, source: Path, splits: Sequence[str]) -> list[Item]:
    """`place` is a benchmark's name or the path of a user's file of facts."""
    name, facts, (kind, cases) = called(place), stored(place), reader(place)
    if "hub" in facts["item"]:
        check_splits(name, splits, facts["splits"])
        return read_through(name, "test", hub_files(name, source, facts["item"]["hub"]), kind, cases)
    files = {split: facts["item"]["file"].format(split=split) for split in facts["splits"]}
    return read(name, choose(name, source, files, splits), kind, cases)


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


def _is_template(text: str) -> str:
    try:
        fields = [field for _, field, _, _ in Formatter().parse(text) if field is not None]
    except ValueError as error:
        raise ValueError(f"{error}: a field of the record stands in braces, as {{caption}}") from None
    if unknown := [field for field in fields if not re.fullmatch(r"[^\W\d_][^.\[]*", field)]:
        raise ValueError(f"expected the name of a field in braces, found {{{unknown[0]}}}")
    return text


def _is_file(text: str) -> str:
    others = {field for _, field, _, _ in Formatter().parse(_is_template(text)) if field is not None} - {"split"}
    if others:
        raise ValueError(f"expected a path with no field but {{split}}, found {{{min(others)}}}")
    return text


def _is_fraction(text: str) -> str:
    if not re.fullmatch(r"[1-9]\d*/[1-9]\d*", text):
        raise ValueError(f'expected a fraction, as "1/2", found {text!r}')
    return text


_Template = Annotated[str, AfterValidator(_is_template)]
_Written = ConfigDict(extra="forbid", strict=True)


class _Item(BaseModel):
    model_config = _Written
    file: Annotated[str, AfterValidator(_is_file)]
    image: _Template
    caption: _Template
    negative: _Template
    key: _Template | None = None
    positive: _Template | None = None
    negative_image: _Template | None = None
    edit: _Template | None = None
    by: str | None = None
    tags: dict[str, _Template] = {}
    defaults: dict[str, _Template] = {}


class _Average(BaseModel):
    model_config = _Written
    path: list[str] = Field(min_length=1)
    cite: str = ""
    least: int = 1


class _Facts(BaseModel):
    """The fields allowed in a user's own file of facts."""

    model_config = _Written
    title: str = ""
    ties: str = ""
    licence: str = ""
    citation: str = ""
    url: str = ""
    get: str = ""
    notes: str = ""
    splits: dict[str, int | Literal["unknown"]] = Field(min_length=1)
    chance: dict[str, Annotated[str, AfterValidator(_is_fraction)]]
    averages: dict[str, _Average] = {}
    metrics: list[str] = []
    item: _Item


def _fields(templates: Sequence[str]) -> list[str]:
    fields = [field for template in templates for _, field, _, _ in Formatter().parse(template) if field]
    return [field for field in fields if field not in _KNOWN]


def _image(name: str) -> ImageRef:
    return ImageRef(path=name if PurePosixPath(name).suffix else f"{name}.png")


def _edit(name: str, by: str | None) -> Edit | None:
    operation, _, target = name.partition("_")
    return Edit(op=operation, target=_TARGETS[target], by=by) if target in _TARGETS else None
