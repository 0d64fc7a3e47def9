"""Entailed pairs from VSR (Liu et al. 2023): a true statement, the same said the other way round, and a false one.

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

from equipoise.benchmarks import vsr
from equipoise.benchmarks.facts import described, stored
from equipoise.benchmarks.reading import Case, read
from equipoise.data.items import Edit, ImageRef, Item, texts

INVERSE, SYMMETRIC = (stored("vsr-pairs")["tables"][law] for law in ("inverse", "symmetric"))


def _parts(row: vsr.Statement) -> tuple[str, str, str]:
    """A, the verb phrase and B of "The A is above the B."."""
    found = re.fullmatch(rf"The (.+?) ((?:is )?{re.escape(row.relation)}) the (.+?)\.?", row.caption)
    if found is None:
        raise ValueError(f'expected a caption "The A is {row.relation} the B.", found {row.caption!r}')
    return found[1], found[2], found[3]


def _items(_split: str, key: str, row: vsr.Statement) -> Iterator[Case]:
    inverse = row.relation in INVERSE
    if not row.label or not (inverse or row.relation in SYMMETRIC):
        return
    one, phrase, other = _parts(row)
    if inverse:
        positive, negative = _say(other, INVERSE[row.relation], one), _say(other, phrase, one)
    else:
        positive, negative = _say(other, phrase, one), _say(one, SYMMETRIC[row.relation], other)
    swap, replace = (Edit(op=op, target="relation", by="rules") for op in ("swap", "replace"))
    first = Case(
        key,
        image=ImageRef(path=row.path()),
        caption=_say(one, phrase, other),
        positives=texts(positive, edit=swap),
        negatives=texts(negative, edit=swap if inverse else replace),
        tags={"law": "inverse" if inverse else "symmetric", "relation": row.relation},
    )
    yield first
    if inverse:
        turned = texts(_say(one, INVERSE[row.relation], other), edit=replace)
        tags = {"law": "complement", "relation": row.relation}
        yield first._replace(key=f"{key}-complement", negatives=turned, tags=tags)


def _say(one: str, phrase: str, other: str) -> str:
    return f"The {one} {phrase} the {other}."


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From the same files as the benchmark vsr."""
    return read("vsr-pairs", vsr.files("vsr-pairs", source, splits), vsr.Statement, _items)


BENCHMARK = described("vsr-pairs", load)
SPLITS = BENCHMARK.splits
