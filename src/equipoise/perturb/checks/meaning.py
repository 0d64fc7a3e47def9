"""Checks of the meaning: a negative is false, a positive is true."""

from __future__ import annotations

import functools
import random
import re

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.forms import lemma_of
from equipoise.perturb.english.noun_classes import sets_of
from equipoise.perturb.english.vocabulary import word_set
from equipoise.perturb.english.word_lists import exclusive, synonyms
from equipoise.perturb.english.wordnet import Letter, WordNet
from equipoise.perturb.operations.swap_positive import swap_positive

_WORDNET = WordNet()
_LETTERS: dict[str, Letter] = {"object": "n", "attribute": "a", "action": "v"}
_COMMON = word_set("little words of an edit")


def shares_sense(caption: Caption, candidate: Candidate) -> str | None:
    """A replacement must come from the lexicon or from another caption of the photo, or be a synonym in WordNet."""
    edit = candidate.edit
    if candidate.kind != "positive" or edit.op != "replace" or edit.by in {"lexicon", "captions", "rules"}:
        return None
    letter = _LETTERS.get(edit.target or "")
    first, second = lemma_of(edit.source or "", edit.target), lemma_of(edit.to or "", edit.target)
    if letter is None or second in _synonyms(first):
        return None
    return None if _WORDNET.related(first, second, letter) else f"no WordNet synonym: {edit.to!r} for {edit.source!r}"


def not_true_already(caption: Caption, candidate: Candidate) -> str | None:
    """A negative's new word may not be a synonym, or stand above or below the old one."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or not edit.source or not edit.to or edit.by == "captions":
        return None  # what another caption excludes may be a kind of what this one says: a parrot, where it is an owl
    first, second = lemma_of(edit.source, edit.target), lemma_of(edit.to, edit.target)
    if second in _synonyms(first):
        return f"the negative would stay true, as the words are synonyms: {edit.to!r} for {edit.source!r}"
    letter = _LETTERS.get(edit.target or "")
    if letter == "n" and _WORDNET.related(first, second, letter) and not _are_exclusive(first, second):
        return f"the negative may stay true, as one word is a kind of the other: {edit.to!r} for {edit.source!r}"
    return None


_NEGATIONS = word_set("negations")
_NOBODY = frozenset("nobody nothing none nowhere noone".split())
_BOUNDS = word_set("bounds")
_NEARLY = frozenset("almost nearly approximately".split())  # before a look too: almost white
_NUMBERS = word_set("number words")
_AND_OTHERS = re.compile(r"[^.]{0,40}\band (?:some |many |several |the )?other\b")
_TAG = re.compile(r"#(\w+)")
_PARTS = frozenset("edge side end corner border".split())


def can_be_told(caption: Caption, candidate: Candidate) -> str | None:
    """A negative may not change what leaves the truth open: a negation, a guess, one of two mentions, an origin."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.span is None or edit.op not in {"replace", "swap"}:
        return None
    start, end = edit.span
    before = _words(caption.text[:start])[-3:]
    if not _NEGATIONS.isdisjoint(_words(caption.text[:start])) or not _NOBODY.isdisjoint(caption.words):
        return "the caption negates the words that would change"
    first = (_words(caption.text[start:end]) or [""])[0]  # of what changes: of looks nothing is "about" or "to"
    if (
        not (_BOUNDS if first in _NUMBERS or first[:1].isdigit() else _NEARLY).isdisjoint(before[-2:])
        and edit.target == "attribute"
    ):
        return "a word such as about, under or to before it may make it inexact"
    if any(word in _words(edit.source or "") for word in _TAG.findall(caption.text.lower())):
        return "a hash tag says it too"
    if before[-1:] == ["or"] or _words(caption.text[end:])[:1] == ["or"] or " or " in f" {edit.source} ":
        return "the caption leaves open which of two it is (a cat or a dog)"
    if edit.target == "relation" and before[-1:] in (["another"], ["other"]):
        return "of two things one may be in front and the other behind"
    if edit.op != "replace" or edit.target != "object" or not edit.source:
        return None
    old = lemma_of(edit.source, "object").split()[-1]
    if sum(old in unit.lemma.split() for unit in caption.units if unit.kind == "noun") > 1:
        return f"the caption names the changed thing twice: {old!r}"
    units = [unit for unit in caption.units if unit.end <= start]
    while units and units[-1].kind in {"determiner", "adjective", "number", "noun"}:
        units.pop()
    if _AND_OTHERS.match(caption.text[end:].lower()):
        return "the caption speaks of others of the same kind"  # a couch, a chair and other furniture
    if start and _words(caption.text[:start])[-1:] == ["another"]:
        return "the caption speaks of another one of the same kind"
    if len(units) > 1 and units[-1].word == "from" and units[-2].kind == "noun":
        return "a photo does not show where something comes from"
    if units and units[-1].word == "on" and "phone" in sets_of(old):
        return "on the phone says what somebody does, not where something is"
    part = " ".join(unit.word for unit in units[-2:]).split()[-2:]
    if part[-1:] == ["of"] and part[0] in _PARTS:
        return f"a part of one place may also be that of another: the {part[0]} of"
    return None


_SAME_NUMBER = {
    name: frozenset((word, digit, *more))
    for word, digit, *more in (
        ("two", "2", "couple", "pair", "both"),
        ("three", "3", "trio"),
        ("four", "4"),
        ("five", "5"),
        ("six", "6"),
        ("seven", "7"),
        ("eight", "8"),
    )
    for name in (word, digit)
}
_MALE = word_set("male words")
_FEMALE = word_set("female words")
_YOUNG = word_set("young nouns")
_GROWN = frozenset("man woman lady guy adult".split())
_CHILDISH = word_set("childish words")
_BETWEEN = word_set("half-grown words")


def confirmed(caption: Caption, candidate: Candidate) -> str | None:
    """A negative may deny a number, or that somebody is a man, a woman or a child, where another caption says so too.

    People miscount, and guess who somebody is whom others call a person: readers find such negatives true ten times as
    often as others (docs/perturbation.md).
    """
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or not edit.source or edit.by == "captions":
        return None
    words = caption.other_words
    same = _SAME_NUMBER.get(edit.source.lower()) if edit.target == "attribute" and caption.others else None
    if same is not None and words.isdisjoint(same):
        return "no other caption of the image confirms the number"
    if edit.target != "object" or len(caption.others) < 2:
        return None
    old = lemma_of(edit.source.split()[0] if edit.by == "gender" else edit.source, "object")
    if len(caption.others) > 2 and any(old in listed and words.isdisjoint(listed) for listed in (_MALE, _FEMALE)):
        return "no other caption of the image confirms that it is a man or a woman"
    grown = old in _YOUNG and lemma_of(edit.to or "", "object") in _GROWN
    if grown and (words.isdisjoint(_CHILDISH) or words & _BETWEEN):
        return "no other caption of the image confirms that it is a child"
    return None


def not_true_elsewhere(caption: Caption, candidate: Candidate) -> str | None:
    """What a negative brings in may not be named, under any of its names, in this or another caption of the image."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op not in {"replace", "add"} or not edit.to:
        return None
    if edit.target == "relation":
        said = any(f" {edit.to} " in f" {' '.join(_words(text))} " for text in caption.others)
        return f"another caption of the image says the new word: {edit.to!r}" if said else None
    new = lemma_of(edit.to, edit.target)
    names = {new, edit.to, *_synonyms(new)} - _COMMON
    if edit.target == "action" and " " in edit.to:
        names |= {edit.to.split()[0], lemma_of(edit.to.split()[0], "action")} - _OFTEN_DONE
    if edit.target == "object":
        names |= set(new.split()[-1:])
    if found := names & caption.other_words:
        return f"another caption of the image says the new word: {min(found)!r}"
    if edit.target in {"object", "action"} and (found := names & caption.words):
        return f"the caption already says the new word: {min(found)!r}"
    return None


_OFTEN_DONE = word_set("verbs often done")


def really_swapped(caption: Caption, candidate: Candidate) -> str | None:
    """A swap negative may not say what another caption of the image says, word for word."""
    if candidate.kind != "negative" or candidate.edit.op != "swap":
        return None
    new = _words(candidate.text)
    if any(new == _words(text) for text in caption.others):
        return "another caption of the image says what the swap would say"
    return None


def not_a_positive(caption: Caption, candidate: Candidate) -> str | None:
    """A swap negative may not be what our own swap positives say: the sides of an "and", members of a list."""
    if candidate.kind != "negative" or candidate.edit.op != "swap":
        return None
    new = _words(candidate.text)
    positives = (each for each in swap_positive(caption, (), random.Random(0)) if isinstance(each, Candidate))
    same = any(new == _words(positive.text) for positive in positives)
    return "the swap would keep the meaning" if same else None


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'’-]+", text.lower())


def _synonyms(word: str) -> frozenset[str]:
    return _synonym_index().get(word, frozenset())


@functools.cache
def _synonym_index() -> dict[str, frozenset[str]]:
    """Word -> the words that some line of the lexicon lists beside it."""
    found: dict[str, set[str]] = {}
    for line in synonyms():
        if any(guard.name in {"context", "said"} for guard in line.guards):
            continue  # of other things it is not true
        listed = {line.source.text, *(entry.text for entry in line.targets)}
        for word in listed:
            found.setdefault(word, set()).update(listed - {word})
    return {word: frozenset(others) for word, others in found.items()}


@functools.lru_cache(maxsize=1 << 16)
def _are_exclusive(first: str, second: str) -> bool:
    """Our own lists say so, which goes before WordNet (where a lady is a woman)."""
    for line in exclusive():
        groups = [{member.entry.text for member in group} for group in line.groups]
        mine = [group for group in groups if first in group]
        if mine and any(second in group for group in groups) and not any(second in group for group in mine):
            return True
    return False
