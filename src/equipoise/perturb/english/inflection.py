"""Lemmas and inflected forms of single words: a table of exceptions, and endings for every other word.

The answers are those of lemminflect 0.2.3, for any word (data/FORMS_LICENSE.txt). The library itself is not a
dependency: it imports spaCy where that is installed, and with it torch, which costs each worker 300 MB and three
seconds. runs/make_forms_table.py makes the two data files. A net with one hidden layer sees the last letters of a word
and picks its ending; the table holds the words of lemminflect's dictionary for which that goes wrong.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import re
from importlib import resources
from typing import Any, Literal

import numpy as np

_LETTERS = 8  # so many the net sees, counted from the end
_CODES = 28  # for each of them: one per letter, one for every other character, one that is not used


def lemma(word: str, pos: Literal["NOUN", "VERB"]) -> str:
    """The base form of a noun or a verb: stools -> stool, running -> run."""
    found = _table()[pos].get(word.lower())
    if found is None:
        cut, add, undouble = _table()["endings"][_picked("lemma", word.lower(), pos == "VERB")]
        found = word[: max(len(word) - cut, 0)] + add
        found = found[:-1] if undouble else found  # runn-ing
    return _like(word, found)


def inflections(word: str, tag: str) -> tuple[str, ...]:
    """The spellings of a base form's NNS, VBZ, VBD, VBN or VBG, the usual one first: antenna -> antennas, antennae."""
    lower = word.lower()
    found: list[str] = _table()[tag].get(lower) or [_regular(lower, tag)]
    return tuple(_like(word, form) for form in found)


def _regular(word: str, tag: str) -> str:
    picked = _picked("form", word, tag != "NNS")  # 0: regular; 1: the last letter is doubled; 2: Greek or Latin
    if tag == "NNS" and picked:
        for singular, plural in _GREEK_AND_LATIN:
            if word.endswith(singular):
                return word.removesuffix(singular) + plural
    if tag in {"NNS", "VBZ"}:
        if re.search("[^aeiou]y$", word):
            return word[:-1] + "ies"
        return word + ("es" if word.endswith(("s", "z", "x", "ch", "sh")) else "s")
    if picked:
        return word + word[-1:] + ("ing" if tag == "VBG" else "ed")
    if tag == "VBG":
        if word.endswith("ie"):
            return word[:-2] + "ying"
        return (word[:-1] if re.search("[^iyeo]e$", word) else word) + "ing"
    if re.search("[^aeiou]y$", word):
        return word[:-1] + "ied"
    return word + ("d" if re.search(".e$", word) else "ed")


_GREEK_AND_LATIN = (
    ("us", "i"), ("ma", "mata"), ("a", "ae"), ("um", "a"), ("on", "a"), ("sis", "ses"), ("is", "ides"),
    ("men", "mina"), ("ex", "ices"), ("x", "ces"),
)  # fmt: skip


def _picked(net: str, word: str, verb: bool) -> int:
    """The ending that a net picks for a word. Its input is one-hot, so that its first layer is a sum of rows."""
    rows = [int(verb)]
    for place, letter in enumerate(reversed(word[-_LETTERS:]), 1):
        rows.append(_CODES * place + (ord(letter) - ord("a") + 2 if "a" <= letter <= "z" else 1))
    first, first_bias, second, second_bias = _nets()[net]
    hidden = np.maximum(first[rows].sum(axis=0) + first_bias, 0)
    return int(np.argmax(hidden @ second + second_bias))


def _like(original: str, new: str) -> str:
    """`new` with the capitals of `original`, as lemminflect does it: iPhones counts as small letters."""
    if original.isupper():
        return new.upper()
    return new.capitalize() if original[:1].isupper() else new.lower()


@functools.cache
def _table() -> dict[str, Any]:
    """ "NOUN" and "VERB": word -> lemma; a tag: lemma -> spellings; "endings": (letters cut, added, undouble?)."""
    table: dict[str, Any] = json.loads(gzip.decompress(_data("forms.json.gz")))
    return table


@functools.cache
def _nets() -> dict[str, list[Any]]:
    with np.load(io.BytesIO(_data("forms.npz"))) as arrays:
        return {net: [arrays[f"{net}_{index}"] for index in range(4)] for net in ("lemma", "form")}


def _data(name: str) -> bytes:
    return resources.files("equipoise.perturb").joinpath("data", name).read_bytes()
