"""SWAP (Kamath et al. 2024): "the A1 O1 and the A2 O2", made from ARO's Visual Genome Attribution.

The hard negative swaps the attributes (ARO's own false caption), the hard positive swaps the two things, which
changes every position and no meaning. Neither the paper's file nor ARO's says where O1 ends; a record is
taken apart only if its own fields leave one way to do it.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.benchmarks.aro import Attribution
from equipoise.benchmarks.reading import Case, choose, read
from equipoise.core.errors import UserError, listed
from equipoise.data.items import Edit, Item, texts

log = logging.getLogger(__name__)


class _Record(Attribution):
    obj1_name: str | None = None
    obj2_name: str | None = None
    image_id: int | str | None = None


@dataclass(frozen=True)
class Conjuncts:
    """Attribute and object of each of the two things, in the order of the caption."""

    first: tuple[str, str]  # attribute, object
    second: tuple[str, str]

    @property
    def positive(self) -> str:
        return _phrase(self.second, self.first)

    @property
    def negative(self) -> str:
        (attribute1, object1), (attribute2, object2) = self.first, self.second
        return _phrase((attribute2, object1), (attribute1, object2))


def _phrase(first: tuple[str, str], second: tuple[str, str]) -> str:
    return f"the {' '.join(first)} and the {' '.join(second)}"


def take_apart(record: _Record) -> Conjuncts | str:
    """The two things of a caption, or why there is not exactly one way to see them.

    Attributes and objects may hold several words, even "and the", so every place to divide is tried, and what the
    record's other fields contradict is left out.
    """
    caption = record.true_caption
    first_attribute, second_attribute = record.attributes
    swaps = {
        ways
        for middle in re.finditer(" and the ", caption)
        for attributes in ((first_attribute, second_attribute), (second_attribute, first_attribute))
        if (ways := _divide(caption, middle.span(), attributes))
    }
    if not swaps:
        return f'expected "the A1 O1 and the A2 O2" with the attributes {first_attribute!r} and {second_attribute!r}'
    named = (record.obj1_name, record.obj2_name)
    if None not in named:
        by_name = {ways for ways in swaps if (ways.first[1], ways.second[1]) in (named, named[::-1])}
        if not by_name:
            return f"the objects are named {named[0]!r} and {named[1]!r}, which the caption does not say"
        swaps = by_name
    fitting = [ways for ways in swaps if ways.negative == record.false_caption]
    if not fitting:
        return (
            f"false_caption is {record.false_caption!r}; swapping the attributes gives {min(swaps, key=str).negative!r}"
        )
    if len(fitting) > 1:
        return f"{len(fitting)} ways to divide it, and no object names that decide"
    return fitting[0]


def _divide(caption: str, middle: tuple[int, int], attributes: tuple[str, str]) -> Conjuncts | None:
    start, end = f"the {attributes[0]} ", f"{attributes[1]} "
    left, right = caption[: middle[0]], caption[middle[1] :]
    if not (left.startswith(start) and right.startswith(end)):
        return None
    objects = left.removeprefix(start), right.removeprefix(end)
    return Conjuncts((attributes[0], objects[0]), (attributes[1], objects[1])) if all(objects) else None


def load(source: Path, splits: Sequence[str] = ()) -> list[Item]:
    """The items of ARO's file below `source`; records that do not fit are logged as a warning, never guessed."""
    misfits: list[str] = []
    numbers = itertools.count()

    def build(_split: str, _key: str, record: _Record) -> Iterator[Case]:
        index, parts = next(numbers), take_apart(record)
        if isinstance(parts, str):
            misfits.append(f"record {index} ({record.true_caption!r}): {parts}")
        else:
            yield _case(index, record, parts)

    files = choose("swap", source, {"swap": "visual_genome_attribution.json"}, splits)
    try:
        items = read("swap", files, _Record, build)
    except UserError as error:
        raise UserError(f"{error}\n{_summary(misfits)}" if misfits else str(error)) from None
    if misfits:
        log.warning("swap: %s", _summary(misfits))
    return items


def _summary(misfits: list[str]) -> str:
    return f"{len(misfits)} records do not fit and are left out:\n{listed(misfits)}"


def _case(index: int, record: _Record, parts: Conjuncts) -> Case:
    (attribute1, _), (attribute2, _) = parts.first, parts.second
    moved = Edit(op="swap", target="order", source=" ".join(parts.first), to=" ".join(parts.second), by="rule")
    exchanged = Edit(op="swap", target="attribute", source=attribute1, to=attribute2, by="rule")
    tags = {"pair": f"{attribute1}_{attribute2}"}
    if record.image_id is not None:
        tags["image_id"] = str(record.image_id)
    return Case(
        f"{index + 1:05}",
        image=record.image(),
        caption=record.true_caption,
        positives=texts(parts.positive, edit=moved),
        negatives=texts(record.false_caption, edit=exchanged),
        tags=tags,
    )
