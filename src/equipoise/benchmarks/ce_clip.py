"""CE-CLIP's generated training captions (Zhang et al. 2024): COCO captions with four hard negatives each.

generated_data/coco_train/processed_dataset{k}.npy, each an object array of at most 50,000 dicts: COCO's image_id, id
and caption, four texts, and `valid_caption` (five 0/1: the caption, then relation, adjective, noun, verb). The arrays
are pickles; only numpy's own arrays and plain values are let out of them, so nothing in them is ever run.

Left out, and counted in a warning, is what the published code keeps: flags 0, placeholders ("###", and the one-word
texts that stand for "no such word" and are flagged as valid), and texts that equal their caption because the masked
language model guessed the word that was there.
"""

from __future__ import annotations

import io
import logging
import pickle
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from equipoise.benchmarks.base import check_splits, splits_of, stored
from equipoise.benchmarks.reading import Raw
from equipoise.core.errors import Problems, UserError
from equipoise.data.items import Edit, ImageRef, Item, Operation, Target, Text
from equipoise.data.readers.records import explain

log = logging.getLogger(__name__)

# In the order of the flags. The relation negative swaps two nouns, the others replace a word.
_NEGATIVES: dict[str, tuple[Operation, Target]] = {
    "relation_aug_caption": ("swap", "relation"),
    "adj_aug_caption": ("replace", "attribute"),
    "noun_aug_caption": ("replace", "object"),
    "verb_aug_caption": ("replace", "action"),
}
_SHARD = re.compile(r"processed_dataset(\d+)\.npy")


class _Row(Raw):
    image_id: int
    id: int
    caption: str
    relation_aug_caption: str
    adj_aug_caption: str
    noun_aug_caption: str
    verb_aug_caption: str
    valid_caption: list[int]


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    check_splits("ce-clip", splits, splits_of("ce-clip"))
    items: list[Item] = []
    left_out: Counter[str] = Counter()
    problems = Problems(str(source))
    for path in _shards(source):
        for place, value in enumerate(_records(path)):
            try:
                items.append(_item(_Row.model_validate(_plain(value)), left_out))
            except ValidationError as error:
                explain(error, f"{path.name}, record {place}", problems)
    problems.raise_if_any("Get the file again.")
    if left_out:
        log.warning("ce-clip: left out of the negatives: %s", ", ".join(f"{n:,} {why}" for why, n in left_out.items()))
    return items


def _shards(source: Path) -> list[Path]:
    for folder in (source, source / "coco_train", source / "generated_data" / "coco_train"):
        shards = [(int(match[1]), path) for path in folder.glob("*.npy") if (match := _SHARD.fullmatch(path.name))]
        if shards:
            return [path for _, path in sorted(shards)]
    raise UserError(f"{source}: no processed_dataset0.npy there. To get them: {stored('ce-clip')['get']}")


def _item(row: _Row, left_out: Counter[str]) -> Item:
    negatives = []
    for flag, (name, (op, target)) in zip(row.valid_caption[1:], _NEGATIVES.items(), strict=False):
        text = getattr(row, name).strip()
        if not flag or text == "###":
            left_out["flagged as not valid"] += 1
        elif len(text.split()) < 2 <= len(row.caption.split()):
            left_out["placeholders"] += 1
        elif " ".join(text.lower().split()) == " ".join(row.caption.lower().split()):
            left_out["the same as their caption"] += 1
        else:
            negatives.append(Text(text=text, edit=Edit(op=op, target=target, by="distilroberta-base")))
    fields = {
        "id": f"ce-clip-train/{row.id}",
        "image": ImageRef(path=f"train2014/COCO_train2014_{row.image_id:012d}.jpg"),
        "caption": row.caption,
        "negatives": tuple(negatives),
        "tags": {"split": "train"},
    }
    return Item.model_validate(fields)


class _Unpickler(pickle.Unpickler):
    """Numpy's arrays and numbers, and nothing that could be called."""

    _ARRAYS = frozenset(
        (f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")
    ) | {("numpy", "ndarray"), ("numpy", "dtype")}

    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in self._ARRAYS:
            raise pickle.UnpicklingError(f"asks for {module}.{name}, which no array of captions needs")
        return super().find_class(module, name)


def _records(path: Path) -> Iterator[object]:
    from numpy.lib import format as npy

    stream = io.BytesIO(path.read_bytes())
    try:
        version = npy.read_magic(stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        _, _, kind = read_header(stream)
        if not kind.hasobject:
            raise ValueError(f"an array of {kind}, not of records")
        yield from _Unpickler(stream).load().ravel()
    except (ValueError, EOFError, AttributeError, TypeError, IndexError, KeyError, pickle.UnpicklingError) as error:
        raise UserError(f"{path}: not one of CE-CLIP's arrays ({error})") from None


def _plain(value: object) -> object:
    """A record with its flags as whole numbers, whether they were a list or an array."""
    if isinstance(value, dict) and "valid_caption" in value:
        flags = value["valid_caption"]
        flags = flags.tolist() if hasattr(flags, "tolist") else flags
        return {**value, "valid_caption": [int(flag) for flag in flags] if isinstance(flags, list | tuple) else flags}
    return value
