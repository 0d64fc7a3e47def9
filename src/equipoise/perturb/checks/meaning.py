"""Checks of the meaning: a negative is false, plausible and not in the photo anyway, a positive is true."""

from __future__ import annotations

import functools
import random
import re

from equipoise.language.caption import Caption, NounPhrase
from equipoise.language.collocations import governor_of, is_seen_with
from equipoise.language.forms import lemma_of, noun_lemma
from equipoise.language.plausibility import IMPOSSIBLE, doubts
from equipoise.language.vocabulary import are_exclusive, exclusive, synonyms, word_list, word_set
from equipoise.language.wordnet import LETTERS, WORDNET, is_animate, is_garment, is_person, sets_of
from equipoise.perturb.operations.swap_positive import swap_positive
from equipoise.perturb.recipe import Candidate

_COMMON = word_set("little words of an edit")


def shares_sense(caption: Caption, candidate: Candidate) -> str | None:
    """A replacement must come from the lexicon or from another caption of the photo, or be a synonym in WordNet."""
    edit = candidate.edit
    if candidate.kind != "positive" or edit.op != "replace" or edit.by in {"lexicon", "captions", "rules"}:
        return None
    letter = LETTERS.get(edit.target or "")
    first, second = lemma_of(edit.source or "", edit.target), lemma_of(edit.to or "", edit.target)
    if letter is None or second in listed_synonyms(first):
        return None
    return None if WORDNET.related(first, second, letter) else f"no WordNet synonym: {edit.to!r} for {edit.source!r}"


def not_true_already(caption: Caption, candidate: Candidate) -> str | None:
    """A negative's new word may not be a synonym, or stand above or below the old one."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or not edit.source or not edit.to or edit.by == "captions":
        return None  # the excluded thing may be a kind of this caption's: a parrot for a bird that is an owl
    first, second = lemma_of(edit.source, edit.target), lemma_of(edit.to, edit.target)
    if second in listed_synonyms(first):
        return f"the negative would stay true, as the words are synonyms: {edit.to!r} for {edit.source!r}"
    letter = LETTERS.get(edit.target or "")
    if letter == "n" and WORDNET.related(first, second, letter) and not are_exclusive(first, second):
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
    """A negative may not change words that leave the truth open: negated or guessed, one of two mentions, an origin."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.span is None or edit.op not in {"replace", "swap"}:
        return None
    start, end = edit.span
    before = _words(caption.text[:start])[-3:]
    if not _NEGATIONS.isdisjoint(_words(caption.text[:start])) or not _NOBODY.isdisjoint(caption.words):
        return "the caption negates the words that would change"
    first = (_words(caption.text[start:end]) or [""])[0]  # of the changed words: "about" and "to" bound only numbers
    bounds = _BOUNDS if first in _NUMBERS or first[:1].isdigit() else _NEARLY
    if edit.target == "attribute" and not bounds.isdisjoint(before[-2:]):
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


_SAME_NUMBER = {name: frozenset(line.split()) for line in word_list("names of a number") for name in line.split()[:2]}
_MALE, _FEMALE = word_set("male words"), word_set("female words")
_YOUNG = word_set("young nouns")
_GROWN = frozenset("man woman lady guy adult".split())
_CHILDISH, _BETWEEN = word_set("childish words"), word_set("half-grown words")


def confirmed(caption: Caption, candidate: Candidate) -> str | None:
    """A negative may deny a number, or that a person is a man, a woman or a child, only where another caption says so
    too: people miscount and guess, and readers find such negatives true ten times as often as others. A player may be
    a woman, unless a caption says a man."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or not edit.source or edit.by == "captions":
        return None
    words = caption.other_words
    same = _SAME_NUMBER.get(edit.source.lower()) if edit.target == "attribute" and caption.others else None
    if same is not None and words.isdisjoint(same):
        return "no other caption of the image confirms the number"
    if edit.target == "relation" and _is_named_near(caption, candidate):
        return "another caption of the image has something near the same thing"
    if edit.target != "object":
        return None
    old, new = lemma_of(edit.source, "object"), lemma_of(edit.to or "", "object")
    for sex, opposite in ((_MALE, _FEMALE), (_FEMALE, _MALE)):
        if new in sex and _has_no_sex(old) and (caption.words | words).isdisjoint(opposite):
            return f"may be true of the same person: {edit.to!r}"
    if len(caption.others) < 2:
        return None
    if len(caption.others) > 2 and any(old in listed and words.isdisjoint(listed) for listed in (_MALE, _FEMALE)):
        return "no other caption of the image confirms that it is a man or a woman"
    grown = old in _YOUNG and new in _GROWN
    if grown and (words.isdisjoint(_CHILDISH) or words & _BETWEEN):
        return "no other caption of the image confirms that it is a child"
    return None


def _is_named_near(caption: Caption, candidate: Candidate) -> bool:
    """Whether another caption has it near the thing: a dog on a pillow, "between two pillows", may be near it too."""
    place = caption.units_of(candidate.edit.span or (0, 0))
    phrase = caption.phrase_at.get(place[1]) if place else None
    if phrase is None or (_words(candidate.edit.to or "") or [""])[0] not in _NEAR:
        return False
    noun, other_captions = caption.units[phrase.head].lemma.split()[-1], map(_words, caption.others)
    after = (words[at + 1 : at + 5] for words in other_captions for at, word in enumerate(words) if word in _NEAR)
    return any(noun in map(noun_lemma, near) for near in after)


_NEAR = word_set("first words of nearness")


def _has_no_sex(noun: str) -> bool:
    """Whether the word is for a grown person who may be a man or a woman: a player, not a fireman."""
    return is_person(noun) and not noun.endswith("man") and noun.split()[-1] not in _MALE | _FEMALE | _YOUNG


def not_true_elsewhere(caption: Caption, candidate: Candidate) -> str | None:
    """No caption of the image may name a negative's new thing, under any of its names."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op not in {"replace", "add"} or not edit.to:
        return None
    if edit.target == "relation":
        said = any(f" {edit.to} " in f" {' '.join(_words(text))} " for text in caption.others)
        return f"another caption of the image says the new word: {edit.to!r}" if said else None
    new = lemma_of(edit.to, edit.target)
    names = {new, edit.to, *listed_synonyms(new)} - _COMMON
    if edit.target == "action" and " " in edit.to:
        names |= {edit.to.split()[0], lemma_of(edit.to.split()[0], "action")} - _OFTEN_DONE
    if edit.target == "object":
        names |= set(new.split()[-1:])
    if shared := names & caption.other_words:
        return f"another caption of the image says the new word: {min(shared)!r}"
    if edit.target in {"object", "action"} and (shared := names & caption.words):
        return f"the caption already says the new word: {min(shared)!r}"
    return None


_OFTEN_DONE = word_set("verbs often done")


def really_swapped(caption: Caption, candidate: Candidate) -> str | None:
    """A swap negative may not say what another caption of the image says, word for word."""
    if candidate.kind != "negative" or candidate.edit.op != "swap":
        return None
    new = _words(candidate.text)
    same = any(new == _words(text) for text in caption.others)
    return "another caption of the image says what the swap would say" if same else None


def not_a_positive(caption: Caption, candidate: Candidate) -> str | None:
    """A swap negative may not be one of our own swap positives: the sides of an "and", members of a list."""
    if candidate.kind != "negative" or candidate.edit.op != "swap":
        return None
    new = _words(candidate.text)
    positives = (each for each in swap_positive(caption, (), random.Random(0)) if isinstance(each, Candidate))
    same = any(new == _words(positive.text) for positive in positives)
    return "the swap would keep the meaning" if same else None


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'’-]+", text.lower())


def listed_synonyms(word: str) -> frozenset[str]:
    return _synonym_index().get(word, frozenset())


@functools.cache
def _synonym_index() -> dict[str, frozenset[str]]:
    """Word -> the words that some line of the lexicon lists beside it."""
    by_word: dict[str, set[str]] = {}
    for line in synonyms():
        if any(guard.name in {"context", "said"} for guard in line.guards):
            continue  # true only under this guard
        listed = {line.source.text, *(entry.text for entry in line.targets)}
        for word in listed:
            by_word.setdefault(word, set()).update(listed - {word})
    return {word: frozenset(others) for word, others in by_word.items()}


def plausible(caption: Caption, candidate: Candidate) -> str | None:
    """A negative's new word must have been seen in its place: with its verb, its colour, its noun, its location, and
    with the other things of the caption. What was never counted is not known to be possible."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or edit.span is None or not edit.to:
        return None
    place = caption.units_of(edit.span)
    if place is None or (edit.by == "captions" and edit.target == "attribute"):
        return None  # a colour is only added where captions have it with its noun; man and woman are seen everywhere
    word = lemma_of(edit.to, edit.target)
    all_doubts = doubts(caption, *place, word, edit.target or "")
    return next((doubt.reason for doubt in all_doubts if doubt.weight == IMPOSSIBLE), None)


def not_there_too(caption: Caption, candidate: Candidate) -> str | None:
    """A new thing "with" or "near" something else, or in a list, may well be in the photo together with the old thing,
    if captions of such photos often name it: a street with cars has bikes too. A thing with a person or an animal is
    held or worn, and a pizza is the meal: there the new thing replaces the old."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or edit.target != "object" or not edit.span or not edit.to:
        return None
    place = caption.units_of(edit.span)
    phrase = caption.phrase_at.get(place[1] - 1) if place else None
    if phrase is None:
        return None
    governor = governor_of(caption, phrase)
    unit = caption.units[governor] if governor >= 0 else None
    if not (unit is not None and unit.lemma in _BESIDE) and not _is_listed(caption, phrase):
        return None
    if unit is not None and unit.lemma in _HAVING and any(map(is_animate, caption.subjects_of(governor))):
        return None
    new = lemma_of(edit.to, "object")
    old = caption.units[phrase.head].lemma
    if _INGREDIENTS & sets_of(new) or old in {"floor", "ground"}:
        return f"the new thing may be in the photo as well: {new!r} beside {old!r}"
    if is_animate(new) or "food-piece" in sets_of(new):
        return None
    beside = _is_listed(caption, phrase) or (unit is not None and unit.lemma in _BESIDE - _HAVING)
    if beside and not is_garment(new) and sets_of(new) & _SMALL:
        return f"the new thing may be in the photo as well: {new!r}"  # luggage and a box, a knife and a board
    names = _names(new)
    for other in caption.phrases:
        noun = caption.units[other.head].lemma
        if any(is_seen_with(noun, name) or is_seen_with(noun.split()[-1], name) for name in names):
            return f"such photos often show the new thing too: {new!r} with {noun!r}"
    return None


def _names(noun: str) -> frozenset[str]:
    """The noun and the nouns of its groups: a pick up truck is seen where trucks are."""
    return _groups().get(noun, frozenset()) | {noun, noun.split()[-1]}


@functools.cache
def _groups() -> dict[str, frozenset[str]]:
    """Noun -> all nouns that are in one group with it."""
    groups: dict[str, frozenset[str]] = {}
    for group in (group for line in exclusive() if line.section == "object" for group in line.groups):
        members = frozenset(m.entry.text for m in group if m.replaced or m.chosen)
        groups |= {noun: groups.get(noun, frozenset()) | members for noun in members}
    return groups


def _is_listed(caption: Caption, phrase: NounPhrase) -> bool:
    """Whether the phrase is one of several in a list: "a plate with meat, carrots and a roll"."""
    units = caption.units
    before = units[phrase.start - 1].word if phrase.start else ""
    after = units[phrase.end].word if phrase.end < len(units) else ""
    return before in {"and", ","} or (after in {"and", ","} and phrase.end + 1 in caption.phrase_at)


_SMALL = word_set("sets of small things")
_INGREDIENTS = frozenset(("vegetable", "mass-food", "fruit", "covering"))
_HAVING = word_set("having")
_BESIDE = _HAVING | word_set("beside")
