"""Checks of the text alone: it changed, only a little, and no article, agreement or word was broken by it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from equipoise.language.caption import Caption
from equipoise.language.forms import article_for, noun_lemma, verb_lemma
from equipoise.language.vocabulary import members, word_set
from equipoise.perturb.recipe import Candidate

_WORD = re.compile(r"[\w'’-]+")
_NEAR = 30  # characters on either side of an edit: three words or more
_MOST = 6  # words that may come or go
_ARTICLE = re.compile(r"\b(an?)\s+([\w'’-]+)", re.IGNORECASE)
_DOUBLED = re.compile(r"\b(\w+)\s+\1\b", re.IGNORECASE)
_BROKEN = re.compile(
    r"\b(?:a|an|the)\s+(?:a|an|the|some)\b|\bwithin (?:front|between|the background|middle)\b|\bof of\b|\bto to\b"
    r"|\b(?:two|three|four|five|six|several|many)\s+(?:a|an|the)\b"
    r"|\bvery (?:giant|gigantic|miniature|huge|enormous|massive|overcast|wooden|dead|empty)\b",
    re.IGNORECASE,
)
_PLURAL_AFTER_A = re.compile(
    r"\ban?\s+(?:people|men|women|children|kids|cattle|pants|jeans|shorts|scissors|glasses|sunglasses)\b(?!-)(?:\s+(\w+))?",
    re.IGNORECASE,
)


def changed(caption: Caption, candidate: Candidate) -> str | None:
    same = len(candidate.text) == len(caption.text) or candidate.edit.op == "shuffle"
    if same and _WORD.findall(candidate.text.lower()) == _WORD.findall(caption.text.lower()):
        return "the edit changes nothing"
    return None


def small_edit(caption: Caption, candidate: Candidate) -> str | None:
    """A swap keeps the words; any other edit exchanges a few."""
    edit = candidate.edit
    if edit.op == "replace" and edit.source and edit.to and edit.source.count(" ") + edit.to.count(" ") + 2 <= _MOST:
        grown = len(candidate.text) - len(caption.text)
        if abs(grown - len(edit.to) + len(edit.source)) <= 1:  # the edit's words and no others; an article may differ
            return None
    before, after = _plain_words(caption.text), _plain_words(candidate.text)
    if edit.op in {"swap", "shuffle"}:
        return None if before == after or _lemmas(before) == _lemmas(after) else "the swap changed other words"
    if len(before) == len(after) and sum(map(str.__ne__, before, after)) <= _MOST:
        return None
    first, second = Counter(before), Counter(after)
    differing = sum(((first - second) + (second - first)).values())
    return None if differing <= _MOST else f"too many words differ for a small edit: {differing}, more than {_MOST}"


def _lemmas(words: list[str]) -> list[str]:
    """The words without their number: "two men and a dog" and "two dogs and a man" have the same."""
    listed = ("person" if word == "people" else word for word in words if word not in _OF_NUMBER)
    return sorted(verb_lemma(noun_lemma(word)) for word in listed)


_OF_NUMBER = word_set("forms of be") | word_set("words for a number")


def _plain_words(text: str) -> list[str]:
    """The words, sorted, without the articles that an edit fixes."""
    return sorted(word for word in _WORD.findall(text.lower()) if word not in {"a", "an"})


def grammar(caption: Caption, candidate: Candidate) -> str | None:
    """Only mistakes of the edit count: captions come with mistakes of their own."""
    broken = broken_by_edit(*_around_edit(caption, candidate))
    return broken or _wrong_form(caption, candidate) or _wrong_number(caption, candidate)


def broken_by_edit(before: str, after: str) -> str | None:
    """A mistake (a/an, doubled word, phrase, plural) of `after` that `before` does not have."""
    for name, find in _WRONG.items():
        mistakes = find(after)
        if mistakes and (new := Counter(mistakes) - Counter(find(before))):
            return f"{name}: {next(iter(new))}"
    return None


def _around_edit(caption: Caption, candidate: Candidate) -> tuple[str, str]:
    """Both texts from a few words before a replacement to a few after it; the rest cannot have changed."""
    span = candidate.edit.span
    if candidate.edit.op != "replace" or span is None:
        return caption.text, candidate.text
    first, last = max(0, span[0] - _NEAR), span[1] + _NEAR
    return caption.text[first:last], candidate.text[first : last + len(candidate.text) - len(caption.text)]


def _wrong_form(caption: Caption, candidate: Candidate) -> str | None:
    """After "to" stands the plain verb: the tagger takes some ("to hit") for participles."""
    edit = candidate.edit
    if edit.op != "replace" or edit.target != "action" or edit.span is None or not edit.to:
        return None
    verb = edit.to.split()[0].lower()
    if caption.text[: edit.span[0]].lower().endswith(" to ") and verb != verb_lemma(verb):
        return f"after to the plain verb is needed: {verb!r}"
    return None


def _wrong_number(caption: Caption, candidate: Candidate) -> str | None:
    """A noun after "a" can be counted and is one ("a wine", "a guys"); one without it, among others with, cannot."""
    edit = candidate.edit
    if edit.op != "replace" or edit.target != "object" or edit.span is None or not edit.to:
        return None
    phrase = next((p for p in caption.phrases if caption.units[p.head].end == edit.span[1]), None)
    if phrase is None:
        return None
    new = edit.to.lower()
    before = caption.unit_at(phrase.start - 1)
    bare = phrase.start == phrase.core and before is not None and before.kind == "preposition" and before.word != "of"
    if bare and not caption.is_plural(phrase) and not _ARTICLES.isdisjoint(caption.words):
        return None if new in members("@mass") else f"the new word needs an article: {new!r}"  # in bed, at bat
    if caption.units[phrase.start].word == "some" and not caption.is_plural(phrase):
        return None if new in members("@mass") else f"the new word must be plural: {new!r}"  # some cake, not some taco
    if caption.units[phrase.start].word not in {"a", "an"}:
        return None
    if new in members("@mass") and new not in _BY_THE_GLASS:
        return f"the new word cannot be counted: {new!r}"
    last = new.split()[-1]
    if last != noun_lemma(last) and caption.units[phrase.start + 1 : phrase.end] == (caption.units[phrase.head],):
        return f"article before a plural: {new}"
    return None


_ARTICLES = frozenset(("a", "an", "the"))
_BY_THE_GLASS = frozenset("beer coffee soda salad".split())


def _wrong_articles(text: str) -> list[str]:
    return [
        match[0].lower()
        for match in _ARTICLE.finditer(text)
        if match[1].lower() != article_for(match[2]) and match[2].lower() not in {"and", "is", "on", "in", "of"}
    ]


_WRONG: dict[str, Callable[[str], list[str]]] = {
    "wrong article": _wrong_articles,
    "doubled word": lambda text: [match[0].lower() for match in _DOUBLED.finditer(text)],
    "broken phrase": lambda text: [match[0].lower() for match in _BROKEN.finditer(text)],
    "article before a plural": lambda text: [
        m[0].lower() for m in _PLURAL_AFTER_A.finditer(text) if m[1] is None or len(m[1]) <= 4
    ],
}
