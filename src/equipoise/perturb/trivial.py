"""Positives that are right and hardly test a model: the same content words in another form.

They are written only where a caption has no other positive, and counted. The kinds: a verb's form ("is parked",
"parked"), "there is a", photo / picture / image, "that has" / "with", a number and its digit, articles.
"""

from __future__ import annotations

import functools
import re

from equipoise.data.items import Edit
from equipoise.perturb.english.forms import noun_lemma, verb_lemma
from equipoise.perturb.english.vocabulary import word_set

_WORD = re.compile(r"[\w'’-]+")
_THERE = frozenset(("there",))
_PICTURES = word_set("words for a photo")
_HAVING = frozenset(("has", "have", "having", "with"))
_FORMS = word_set("forms of be") | {"that", "which", "who", "of"}
_ARTICLES = frozenset(("a", "an", "the", "some"))
_DIGITS = {word: str(n) for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}
_LITTLE = _THERE | _PICTURES | _HAVING | _FORMS | _ARTICLES


@functools.lru_cache(maxsize=1 << 14)
def trivial_kind(before: str, after: str) -> str | None:
    """The kind of a trivial change, None where a content word changes."""
    old, new = (_WORD.findall(text.lower().removeprefix("in this ")) for text in (before, after))
    if _content(old) != _content(new):
        return None
    changed = set(old) ^ set(new)
    for kind, words in (
        ("there is", _THERE),
        ("photo, picture, image", _PICTURES),
        ("a number or its digit", _DIGITS.keys() | set(_DIGITS.values())),
        ("with or has", _HAVING),
    ):
        if changed & words:
            return kind
    return "articles" if changed <= _ARTICLES else "a verb's form"


def _content(words: list[str]) -> list[str]:
    return sorted(verb_lemma(noun_lemma(_DIGITS.get(word, word))) for word in words if word not in _LITTLE)


def kind_of_edit(edit: Edit) -> str | None:
    return trivial_kind(edit.source or "", edit.to or "") if edit.op == "replace" else None


@functools.lru_cache(maxsize=1 << 14)
def change(before: str, after: str) -> int:
    """How many content words come and go."""
    old, new = (set(_content(_WORD.findall(text.lower()))) for text in (before, after))
    return len(old ^ new)
