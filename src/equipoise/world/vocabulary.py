"""The world's vocabulary: every value has one common word and rarer synonyms.

The first word of a value is the common one; clean captions use only it. Of the rarer words, finetuning positives may
use all but the last ("seen"), and never the last ("unseen"), so that a test can tell a learned word from a learned
rule. A synonym is a word that a person would accept for this world's pictures (every crimson thing here is red).

The shapes of each kind are on a 100 by 100 board with y downwards. A line of data/art.txt is (ink, form, numbers). The
ink "body" takes the object's colour and texture, "shade" a darker tone of it; other inks are fixed. Later shapes cover
earlier ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).with_name("data")
Values = dict[str, tuple[str, ...]]
Shape = tuple[str, str, tuple[float, ...]]


def _read() -> dict[str, Values]:
    families: dict[str, Values] = {}
    for line in (DATA / "vocabulary.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            family = families[line.strip("[]")] = {}
        elif line and not line.startswith("#"):
            value, _, words = line.partition(": ")
            family[value] = tuple(words.split(", "))
    return families


FAMILIES = _read()
KINDS, COLOURS, SIZES, TEXTURES, RELATIONS, PLACES, NUMBERS, ABSENCE, ACTIONS = FAMILIES.values()
ATTRIBUTES = ("size", "texture", "colour")  # in their order before a noun


def _read_art() -> tuple[dict[str, list[Shape]], dict[str, tuple[float, float]]]:
    art: dict[str, list[Shape]] = {}
    extents = {}
    for line in (DATA / "art.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            first, *rest = line.split()
            if first not in INKS:
                shapes = art[first] = []
                extents[first] = (float(rest[0]), float(rest[1]))
            else:
                shapes.append((first, rest[0], tuple(map(float, rest[1:]))))
    return art, extents


INKS = ("none", "body", "shade", "dark", "light", "wood")
ART, EXTENTS = _read_art()  # of each kind: its shapes; how wide and how high it is
CONTAINERS = ("box", "ring")

# Words of web captions that no picture shows.
FILLERS = ("photo", "stock", "image", "hd", "wallpaper", "free", "cute", "nice", "new", "art", "print", "vector")


class Word(NamedTuple):
    """A value, and the word chosen for it in the text."""

    family: str
    value: str
    text: str


def common(family: str, value: str) -> Word:
    return Word(family, value, FAMILIES[family][value][0])


def seen(family: str, value: str) -> tuple[str, ...]:
    return FAMILIES[family][value][1:-1]


def unseen(family: str, value: str) -> tuple[str, ...]:
    return FAMILIES[family][value][-1:]


def plural(noun: str) -> str:
    if noun.endswith(("sh", "x", "s", "ch")):
        return noun + "es"
    return noun if noun == "headgear" else noun + "s"


def article(following: str) -> str:
    return "an" if following[0] in "aeiou" and not following.startswith("uni") else "a"
