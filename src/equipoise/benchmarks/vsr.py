"""VSR, Visual Spatial Reasoning (Liu et al. 2023): is this sentence about two objects true of this photo?

A model that only scores has no threshold, so true and false cannot be read from a score. Two questions that need none:

- AUC (the metric `truth`): how often a true sentence with its photo scores above a false one with its own.
- Original accuracy: the sentence against itself with "not", of which the right one is the caption. The second sentence
  is ours. A model that does not hear "not" and prefers the shorter text gets the share of true sentences.

The tag `label` says whether the published sentence is true, the tag `statement` is that sentence.

`vsr-pairs` has entailed pairs: a true statement, the same said the other way round, and a false one.

- inverse: "A is above B" entails "B is below A" (hard positive) and excludes "B is above A" (hard negative).
- complement: the same statement and hard positive; the hard negative is "A is below B".
- symmetric: "A is near B" entails "B is near A" (hard positive) and excludes "A is far away from B" (hard negative).

False statements are left out, because "not above" does not entail "below". So are relations for which nothing follows:
left, right, in front of and behind may be seen from the viewer or from the object, "on" may be on a wall, and "facing",
"at the edge of" and the like have no converse; and symmetric ones without a contrary (across from, opposite to, with).
There are no items of mirrored photos; `equipoise metrics --bench vsr-pairs` reads published answers about those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from equipoise.benchmarks.base import check_splits, splits_of, stored
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import Edit, ImageRef, Item, texts

SPLITS = splits_of("vsr")

_VERBS = {  # of every relation the verb, negated
    " contains ": " does not contain ",
    " consists of ": " does not consist of ",
    " has as a part ": " does not have as a part ",
    " is ": " is not ",
    " are ": " are not ",
}


def negated(statement: str) -> str:
    """The sentence with "not" after its verb."""
    for verb, instead in _VERBS.items():
        if verb in statement:
            return statement.replace(verb, instead, 1)
    raise ValueError(f"caption: expected one of the verbs {', '.join(word.strip() for word in _VERBS)}, to be negated")


class Statement(Raw):
    image: str
    image_link: str
    caption: str
    label: Literal[0, 1]
    relation: str

    def path(self) -> str:
        """The photo below the folder that holds train2017 and val2017."""
        return ("val2017/" if "/val2017/" in self.image_link else "train2017/") + self.image


def _items(_split: str, key: str, row: Statement) -> Iterator[Case]:
    right, wrong = row.caption, negated(row.caption)
    if not row.label:
        right, wrong = wrong, right
    yield Case(
        key,
        image=ImageRef(path=row.path()),
        caption=right,
        negatives=texts(wrong, edit=Edit(op="negate", target="relation", by="rules")),
        tags={"label": "true" if row.label else "false", "relation": row.relation, "statement": row.caption},
    )


def files(benchmark: str, source: Path, splits: Sequence[str]) -> dict[str, Path]:
    """In the repository, its folder data/splits, or one split's test.jsonl, which its folder's name tells apart."""
    check_splits(benchmark, splits, SPLITS)
    alone = source if source.is_file() else source / "test.jsonl"
    if alone.is_file():
        only = "zeroshot" if "zeroshot" in alone.resolve().parent.name else "random"
        return choose(benchmark, alone, {only: "test.jsonl"}, splits)
    root = source / "splits" if (source / "splits").is_dir() else source
    root = source / "data" / "splits" if (source / "data" / "splits").is_dir() else root
    return choose(benchmark, root, {split: f"{split}/test.jsonl" for split in SPLITS}, splits)


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read("vsr", files("vsr", source, splits), Statement, _items)


_TABLES = stored("vsr-pairs")["tables"]
INVERSE, SYMMETRIC = _TABLES["inverse"], _TABLES["symmetric"]


def _parts(row: Statement) -> tuple[str, str, str]:
    """A, the verb phrase and B of "The A is above the B."."""
    match = re.fullmatch(rf"The (.+?) ((?:is )?{re.escape(row.relation)}) the (.+?)\.?", row.caption)
    if match is None:
        raise ValueError(f'expected a caption "The A is {row.relation} the B.", found {row.caption!r}')
    return match[1], match[2], match[3]


def _entailed(_split: str, key: str, row: Statement) -> Iterator[Case]:
    inverse = row.relation in INVERSE
    if not row.label or not (inverse or row.relation in SYMMETRIC):
        return
    subject, phrase, thing = _parts(row)
    if inverse:
        positive, negative = _say(thing, INVERSE[row.relation], subject), _say(thing, phrase, subject)
    else:
        positive, negative = _say(thing, phrase, subject), _say(subject, SYMMETRIC[row.relation], thing)
    swap = Edit(op="swap", target="relation", by="rules")
    replace = Edit(op="replace", target="relation", by="rules")
    first = Case(
        key,
        image=ImageRef(path=row.path()),
        caption=_say(subject, phrase, thing),
        positives=texts(positive, edit=swap),
        negatives=texts(negative, edit=swap if inverse else replace),
        tags={"law": "inverse" if inverse else "symmetric", "relation": row.relation},
    )
    yield first
    if inverse:
        turned = texts(_say(subject, INVERSE[row.relation], thing), edit=replace)
        tags = {"law": "complement", "relation": row.relation}
        yield first._replace(key=f"{key}-complement", negatives=turned, tags=tags)


def _say(subject: str, phrase: str, thing: str) -> str:
    return f"The {subject} {phrase} the {thing}."


def load_pairs(source: Path, splits: Sequence[str]) -> list[Item]:
    return read("vsr-pairs", files("vsr-pairs", source, splits), Statement, _entailed)
