"""The world's vocabulary: every value has one common word and rarer synonyms.

The first word of a value is the common one; clean captions use only it. Of the rarer words, finetuning positives may
use all but the last ("seen"), and never the last ("unseen"), so that a test can tell a learned word from a learned
rule. A synonym is a word that a person would accept for this world's pictures (every crimson thing here is red).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

Values = dict[str, tuple[str, ...]]


def _read() -> dict[str, Values]:
    families: dict[str, Values] = {}
    for line in (Path(__file__).with_name("data") / "vocabulary.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            family = families[line.strip("[]")] = {}
        elif line and not line.startswith("#"):
            value, _, words = line.partition(": ")
            family[value] = tuple(words.split(", "))
    return families


FAMILIES = _read()
KINDS, COLOURS, SIZES, TEXTURES, RELATIONS, PLACES, NUMBERS, ABSENCE, ACTIONS = FAMILIES.values()
ATTRIBUTES = ("size", "texture", "colour")  # in their order before a noun

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
