"""What sort of thing a noun names: told from our sets first, from WordNet's lexicographer files else."""

from __future__ import annotations

import functools

from equipoise.perturb.english.vocabulary import word_set
from equipoise.perturb.english.word_lists import exclusive, members
from equipoise.perturb.english.wordnet import VISIBLE, WordNet

_ANIMAL, _ARTIFACT, _FOOD, _PERSON, _PLANT = 5, 6, 13, 18, 20
_WORDNET = WordNet()
# What WordNet's rarer senses get wrong: a trick is also a customer, a guide also a book.
_NOT_ALIVE = word_set("not alive")
_ALIVE = word_set("alive")
_WORN_TOO = word_set("worn too")
_EATABLE = word_set("sets of food")


@functools.lru_cache(maxsize=1 << 16)
def is_animate(noun: str) -> bool:
    last = noun.split()[-1]
    if noun in _NOT_ALIVE:
        return False
    if noun in _ALIVE or noun in members("@animate") or last in members("@person"):
        return True
    senses = [_WORDNET.data.synsets[synset].lexfile for synset, _ in _WORDNET.senses(noun, "n")]
    if not senses:  # a baby giraffe; but our sets know that a stuffed bear is none
        return last != noun and not sets_of(noun) and is_animate(last)
    if _ARTIFACT in senses or _FOOD in senses:  # a toaster also gives toasts, an egg is also an animal
        return False
    return _WORDNET.lexfile(noun) in {_ANIMAL, _PERSON}


@functools.lru_cache(maxsize=1 << 16)
def is_person(noun: str) -> bool:
    return noun in members("@person") or noun.split()[-1] in members("@person") or _WORDNET.lexfile(noun) == _PERSON


@functools.lru_cache(maxsize=1 << 16)
def is_food(noun: str) -> bool:
    """Eatable: by our sets, or a plant or food of which WordNet knows a dish."""
    if sets_of(noun) & _EATABLE or noun in {"fry", "french fry", "hash brown"}:
        return True
    senses = {_WORDNET.data.synsets[synset].lexfile for synset, _ in _WORDNET.senses(noun, "n")}
    return _FOOD in senses and _WORDNET.lexfile(noun) in {_FOOD, _PLANT}


@functools.lru_cache(maxsize=1 << 16)
def is_thing(noun: str) -> bool:
    """Something to be seen, and surely a noun: the tagger takes some verbs of captions for nouns."""
    if sets_of(noun):
        return True
    synset = _WORDNET.sense(noun, "n")
    return synset is not None and _WORDNET.data.synsets[synset].lexfile in VISIBLE


@functools.lru_cache(maxsize=1 << 16)
def is_garment(noun: str) -> bool:
    last = noun.split()[-1]
    return noun in members("@garment") or last in members("@garment") or last in _WORN_TOO


def sets_of(noun: str) -> frozenset[str]:
    """Names of the object sets that hold the noun."""
    return _sets().get(noun, frozenset())


@functools.cache
def _sets() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in exclusive():
        if line.section == "object" and all(guard.name != "wide" for guard in line.guards):
            for group in line.groups:
                for member in group:
                    found.setdefault(member.entry.text, set()).add(line.name)
    return {noun: frozenset(names) for noun, names in found.items()}


@functools.lru_cache(maxsize=1 << 16)
def same_sort(first: str, second: str, strict: bool = False) -> bool:
    """Whether two nouns are of a kind, so that a list may hold both; strictly: more than just two artifacts."""
    if is_animate(first) != is_animate(second):
        return False
    if sets_of(first) & sets_of(second):
        return True
    a, b = _WORDNET.lexfile(first), _WORDNET.lexfile(second)
    if a is None or b is None:
        return not strict
    return a == b and not (strict and a == _ARTIFACT and not _close(first, second))


def _close(first: str, second: str) -> bool:
    one, other = _WORDNET.sense(first, "n"), _WORDNET.sense(second, "n")
    return bool(one and other and len(_WORDNET.above(one) & _WORDNET.above(other)) >= 7)
