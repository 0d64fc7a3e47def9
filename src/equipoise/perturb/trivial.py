"""Positives that are right and hardly test a model: the same content words in another form.

They are written only where a caption has no other positive, and counted. The kinds: a verb's form ("is parked",
"parked"), "there is a", photo / picture / image, "that has" / "with", a number and its digit, articles and prepositions
("in", "at"), a spelling ("hot dog", "hotdog"; "tv", "television"), a word more or less ("bat", "baseball bat").

`Alternations` proposes another opening, for captions where nothing else can be reworded: "there is a dog", "a photo of
two dogs", "in this photo, the dog sleeps".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import pairwise

from equipoise.data.items import Edit
from equipoise.language.caption import Caption, NounPhrase
from equipoise.language.forms import noun_lemma, verb_lemma
from equipoise.language.vocabulary import Section, count, word_map, word_set
from equipoise.perturb.recipe import Proposal, Source

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
        old_lemmas, new_lemmas = (list(map(noun_lemma, re.findall(r"\w+", text.lower()))) for text in (before, after))
        if "".join(old_lemmas) == "".join(new_lemmas) or _joined(old_lemmas) == _joined(new_lemmas):
            return "a spelling"
        contained = bool(old_lemmas and new_lemmas) and (
            set(old_lemmas) < set(new_lemmas) or set(new_lemmas) < set(old_lemmas)
        )
        return "a word more or less" if contained and by != "captions" else None
    changed = set(old) ^ set(new)
    if changed & {*_DIGITS, *_DIGITS.values()}:
        return "a number or its digit"
    default = "articles" if changed <= _ARTICLES else "a verb's form"
    return next((kind for kind, words in _KINDS.items() if changed & words), default)


def _content(words: list[str]) -> list[str]:
    return sorted(verb_lemma(noun_lemma(_DIGITS.get(word, word))) for word in words if word not in _LITTLE)


def _joined(words: list[str]) -> str:
    return "".join(_SPELLINGS.get(word, word) for word in words if word not in _ARTICLES)


def kind_of_edit(edit: Edit) -> str | None:
    return trivial_kind(edit.source or "", edit.to or "", edit.by) if edit.op == "replace" else None


@functools.lru_cache(maxsize=1 << 14)
def change(before: str, after: str) -> int:
    """The number of content words that come and go."""
    old, new = (set(_content(_WORD.findall(text.lower()))) for text in (before, after))
    return len(old ^ new)


_NOUNS_TOO = word_set("verbs of captions") | word_set("nouns that are verbs")
_PICTURES, _LYING = word_set("pictures of anything"), word_set("participles of lying")
_FINITE = frozenset(("VBZ", "VBP", "VBD", "MD"))
_AMOUNTS = frozenset(("number", "couple", "lot", "pair", "variety"))  # there is a number of cows, or there are?


class Alternations(Source):
    name = "rules"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        units, first = caption.units, caption.phrases[0] if caption.phrases else None
        if target != "action" or first is None or caption.is_title or any(unit.word in _PICTURES for unit in units):
            return
        there_is = units[0].word == "there" and units[1].word in {"is", "are"} and first.start == 2
        front = None if there_is or first.start else _front(caption, first)
        if there_is and units[2].word != "no" and not _has_verb(caption, 2):
            yield _proposal(units[0].start, units[2].end, units[2].word)
        elif front is not None:
            yield _proposal(units[0].start, units[0].end, f"{front} {units[0].word}")


def _front(caption: Caption, first: NounPhrase) -> str | None:
    """An opening for a caption that begins with a noun phrase."""
    units, many = caption.units, caption.is_plural(first)
    if units[0].kind not in {"determiner", "number"} or units[first.head].lemma in _AMOUNTS:
        return None
    if any(unit.kind == "be" or unit.pos in {"VBZ", "VBP"} for unit in units):  # a sentence of what is there now
        unlike = any(unit.word in {"was", "were", "this", ","} or unit.pos in {"VBD", "MD"} for unit in units)
        rest = units[first.end : first.end + 1]
        goes_on = any(unit.kind in {"verb", "be"} or unit.word in {"in", "on", "with"} for unit in rest)
        return "in this photo," if goes_on and not unlike else None
    if _has_verb(caption, 0) or not (units[0].word in {"a", "an"} or (units[0].kind == "number" and many)):
        return None
    after = units[first.end] if first.end + 1 < len(units) else None
    if after is None or (after.pos in {"VB", "VBN"} and after.word not in _LYING):
        return None
    listed = any(unit.kind == "and" or unit.word == "," for unit in units)  # there is, or are, a dog and two cats?
    if after.kind in {"preposition", "verb"} and not listed:
        return f"there {'are' if many else 'is'}"
    return "a photo of"


def _has_verb(caption: Caption, start: int) -> bool:
    """Whether the units have a finite verb, or a noun that may be one: "a child wearing orange balances"."""
    units = caption.units[start:]
    if any(unit.kind in {"be", "relative", "pronoun"} or unit.pos in _FINITE for unit in units):
        return True
    if any(unit.kind == "noun" and verb_lemma(unit.word) in _NOUNS_TOO for unit in units):
        return True
    return any(
        unit.pos == "NNS" and following.kind == "noun" for unit, following in pairwise(units)
    )  # protesters picket


def _proposal(start: int, end: int, to: str) -> Proposal:
    return Proposal(start, end, to, "action", Alternations.name, float(count(to.split()[-1])))
