"""REPLACE (Kamath et al. 2024): one word of a VL-CheckList caption is replaced by a synonym.

The paper published four files but not the code that made them. The rules below rebuild all four byte for byte
from VL-CheckList's annotations, accidents included: case decides what matches, edits reach into other
words, nothing is deduplicated. `replace-clean` is the benchmark without those accidents; this one is
for numbers that must be comparable with the paper's.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints, model_validator

from equipoise.benchmarks.base import check_splits, splits_of, stored
from equipoise.benchmarks.reading import Raw, item_id, records
from equipoise.benchmarks.vl_checklist import Record as Annotation
from equipoise.core import run_folder
from equipoise.core.errors import Problems, UserError
from equipoise.data.items import Edit, Item, NonEmpty, Target, Text, Words

SPLITS = splits_of("replace")

LEXICON: dict[str, dict[str, dict[str, str]]] = stored("replace/words")["lexicon"]
_FOLDER = {"relations": "Relation/vg", "attributes": "Attribute/vg"}


@dataclass(frozen=True)
class Triple:
    """One record of the two files that belong together."""

    image: str  # "VG_100K/2361911.jpg"
    caption: str
    positive: str
    negative: str


def rebuild(split: str, annotations: dict[str, list[Triple]]) -> list[Triple]:
    """The published records of a split, in their order, from VL-CheckList's records by type."""
    if split == "attributes":
        return [triple for kind in LEXICON[split] for triple in _attributes(kind, annotations[kind])]
    return [*_in(annotations["spatial"]), *_relations("spatial", annotations), *_relations("action", annotations)]


def _in(records: list[Triple]) -> Iterator[Triple]:
    """Visual Genome's canonical IN against "out of" comes first, and only the first "in" is replaced."""
    for record in records:
        if " IN " in record.caption and " out of " in record.negative:
            caption = record.caption.lower()
            yield Triple(record.image, caption, caption.replace(" in ", " within ", 1), record.negative.lower())


def _relations(kind: str, annotations: dict[str, list[Triple]]) -> Iterator[Triple]:
    """The first phrase of the lexicon between spaces, in the case it is written in; all of its occurrences."""
    phrases = list(LEXICON["relations"][kind].items())
    if kind == "action":
        phrases.insert(0, ("WEARING", "in"))
    for record in annotations[kind]:
        for phrase, synonym in phrases:
            if f" {phrase} " in record.caption:
                positive = record.caption.replace(f" {phrase} ", f" {synonym} ")
                yield Triple(record.image, record.caption.lower(), positive.lower(), record.negative.lower())
                break


def _attributes(kind: str, records: list[Triple]) -> Iterator[Triple]:
    """Records whose negative lost one word of the lexicon.

    What is replaced is not that word but the first one of the lexicon that occurs as a substring.
    """
    lexicon = LEXICON["attributes"][kind]
    for record in records:
        kept = record.negative.split()
        gone = [word for word in record.caption.split() if word not in kept]
        if len(gone) == 1 and gone[0] in lexicon:
            word = next(word for word in lexicon if word in record.caption)
            yield Triple(record.image, record.caption, record.caption.replace(word, lexicon[word]), record.negative)


def _read_annotations(folder: Path, split: str) -> dict[str, list[Triple]]:
    problems = Problems(str(folder / _FOLDER[split]))
    annotations = {
        kind: records(folder / _FOLDER[split] / f"{kind}.json", Annotation, problems) for kind in LEXICON[split]
    }
    problems.raise_if_any("Get the annotations again from https://github.com/om-ai-lab/VL-CheckList.")
    return {
        kind: [Triple(image, captions.POS[0], "", captions.NEG[0]) for image, captions in (row.root for row in listed)]
        for kind, listed in annotations.items()
    }


class _Published(Raw):
    image_id: NonEmpty
    true_caption: Words
    false_caption: Words
    image_path: Annotated[str, StringConstraints(pattern=r"^data/(?:[\w-]+/)*[\w-]+\.\w+$")]  # data/VG_100K/2361911.jpg

    @model_validator(mode="after")
    def _named_by_its_image(self) -> _Published:
        if _stem(self.image_path) != self.image_id:
            raise ValueError(f"image_id: expected the name of {self.image_path}, found {self.image_id!r}")
        return self


_FIX = "Write the files again: equipoise bench build replace --source VL_CHECKLIST --out DIR --layout published"


def write_published(source: Path, out: Path) -> list[Path]:
    """Write the four files of the paper's repository below `out`; the bytes are those of the published ones."""
    files: dict[Path, str] = {}
    for split, triples in [(split, read_triples(source, split)) for split in SPLITS]:
        for folder, which in (("data", "caption"), ("swapped_data", "positive")):
            path = out / folder / _file_name(split)
            records = [
                {
                    "image_id": _stem(triple.image),
                    "true_caption": getattr(triple, which),
                    "false_caption": triple.negative,
                    "image_path": f"data/{triple.image}",
                }
                for triple in triples
            ]
            files[path] = json.dumps(records)
    for path, text in files.items():
        run_folder.refuse_foreign(path, "", text)
    for path, text in files.items():
        run_folder.write_own(path, text)
    return list(files)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _file_name(split: str) -> str:
    return f"vl_checklist_{split}.json"


def _read_published(folder: Path, split: str) -> list[Triple]:
    """The records of data/ and swapped_data/, which belong together by their index."""
    problems = Problems(f"{folder}, split {split}")
    originals = records(folder / "data" / _file_name(split), _Published, problems)
    swapped = records(folder / "swapped_data" / _file_name(split), _Published, problems)
    problems.raise_if_any(_FIX)
    if len(originals) != len(swapped):
        problems.add("", f"data/ holds {len(originals)} records and swapped_data/ {len(swapped)}; expected as many")
    for number, (original, twin) in enumerate(zip(originals, swapped, strict=False)):
        for key in ("image_id", "false_caption", "image_path"):
            if (first := getattr(original, key)) != (second := getattr(twin, key)):
                problems.add(f"record {number}", f"{key}: data/ has {first!r} and swapped_data/ {second!r}")
    problems.raise_if_any(_FIX)
    return [
        Triple(first.image_path.removeprefix("data/"), first.true_caption, twin.true_caption, first.false_caption)
        for first, twin in zip(originals, swapped, strict=True)
    ]


def read_triples(source: Path, split: str) -> list[Triple]:
    """The records of one split, from VL-CheckList's annotations or from the published files."""
    if (source / "swapped_data").is_dir():
        return _read_published(source, split)
    for folder in (source, source / "data"):
        if any((folder / below).is_dir() for below in _FOLDER.values()):
            return rebuild(split, _read_annotations(folder, split))
    raise UserError(
        f"{source}: no REPLACE data here. Expected either VL-CheckList's annotations (Relation/vg/*.json and "
        "Attribute/vg/*.json, maybe below data/) or the paper's files (data/vl_checklist_*.json and "
        "swapped_data/vl_checklist_*.json). `equipoise bench fetch replace` gets them."
    )


def load(source: Path, splits: Sequence[str] = ()) -> list[Item]:
    """The items of the named splits (none named: all), the same from either source."""
    check_splits("replace", splits, SPLITS)
    return [
        _item(split, number, triple)
        for split in SPLITS
        if not splits or split in splits
        for number, triple in enumerate(read_triples(source, split), 1)
    ]


def _item(split: str, number: int, triple: Triple) -> Item:
    kind, edit = explain(split, triple.caption, triple.positive)
    tags = {"split": split, "type": kind, "image_id": _stem(triple.image)}
    return Item.model_validate(
        {
            "id": item_id("replace", split, f"{number:05}"),
            "image": {"path": triple.image},
            "caption": triple.caption,
            "positives": (Text(text=triple.positive, edit=edit),),
            "negatives": (Text(text=triple.negative),),
            "tags": {tag: value for tag, value in tags.items() if value},
        }
    )


def explain(split: str, caption: str, positive: str) -> tuple[str, Edit]:
    """Type and edit, found from the texts alone: the published files do not tell them.

    A text that no entry of the lexicon explains (somebody's own file) gets an empty type.
    """
    for kind, lexicon in LEXICON[split].items():
        for phrase, synonym in lexicon.items():
            if _comes_from(caption, positive, phrase, synonym, whole=split == "relations"):
                return kind, _edit(split, kind, phrase, synonym)
    return "", Edit(op="replace")


@functools.cache
def _edit(split: str, kind: str, phrase: str, synonym: str) -> Edit:
    target: Target = "attribute"
    if split == "relations":
        target = "action" if kind == "action" else "relation"
    return Edit(op="replace", target=target, source=phrase, to=synonym, by="lexicon")


def _comes_from(caption: str, positive: str, phrase: str, synonym: str, whole: bool) -> bool:
    """Whether replacing some occurrences gives `positive`: case, lost by lowering, chose which ones."""
    if phrase not in caption or caption == positive:
        return False
    parts = re.split(f"(?<= ){phrase}(?= )", caption) if whole else caption.split(phrase)
    if len(parts) <= 2:
        return synonym.join(parts) == positive
    return re.fullmatch(f"(?:{phrase}|{synonym})".join(map(re.escape, parts)), positive) is not None
