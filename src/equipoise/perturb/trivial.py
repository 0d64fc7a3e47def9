"""Positives that are right and hardly test a model: the same content words in another form.

They are written only where a caption has no other positive, and counted. The kinds: a verb's form ("is parked",
"parked"), "there is a", photo / picture / image, "that has" / "with", a number and its digit, articles and prepositions
("in", "at"), a spelling ("hot dog", "hotdog"; "tv", "television"), a word more or less ("bat", "baseball bat").
"""

from __future__ import annotations

import functools
import re

from equipoise.data.items import Edit
from equipoise.language.forms import noun_lemma, verb_lemma
from equipoise.language.vocabulary import word_map, word_set

_WORD = re.compile(r"[\w'’-]+")
_ARTICLES = frozenset(("a", "an", "the", "some"))
_DIGITS = {word: str(n) for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}
_KINDS = {
    "there is": frozenset(("there",)),
    "photo, picture, image": word_set("words for a photo"),
    "with or has": frozenset(("has", "have", "having")),
    "prepositions": word_set("prepositions that say little"),
}
_LITTLE = _ARTICLES.union(word_set("forms of be"), ("that", "which", "who", "of"), *_KINDS.values())
_SPELLINGS = word_map("other spellings")


@functools.lru_cache(maxsize=1 << 14)
def trivial_kind(before: str, after: str, by: str | None = None) -> str | None:
    """The kind of a trivial change, None where a content word changes. What another caption adds (`by`) is no
    trivial change."""
    old, new = (_WORD.findall(text.lower().removeprefix("in this ")) for text in (before, after))
    if _content(old) != _content(new):
        one, two = (list(map(noun_lemma, re.findall(r"\w+", text.lower()))) for text in (before, after))
        if "".join(one) == "".join(two) or _joined(one) == _joined(two):
            return "a spelling"
        contained = bool(one and two) and (set(one) < set(two) or set(two) < set(one))
        return "a word more or less" if contained and by != "captions" else None
    changed = set(old) ^ set(new)
    if changed & {*_DIGITS, *_DIGITS.values()}:
        return "a number or its digit"
    other = "articles" if changed <= _ARTICLES else "a verb's form"
    return next((kind for kind, words in _KINDS.items() if changed & words), other)


def _content(words: list[str]) -> list[str]:
    return sorted(verb_lemma(noun_lemma(_DIGITS.get(word, word))) for word in words if word not in _LITTLE)


def _joined(words: list[str]) -> str:
    return "".join(_SPELLINGS.get(word, word) for word in words if word not in _ARTICLES)


def kind_of_edit(edit: Edit) -> str | None:
    return trivial_kind(edit.source or "", edit.to or "", edit.by) if edit.op == "replace" else None


@functools.lru_cache(maxsize=1 << 14)
def change(before: str, after: str) -> int:
    """How many content words come and go."""
    old, new = (set(_content(_WORD.findall(text.lower()))) for text in (before, after))
    return len(old ^ new)
