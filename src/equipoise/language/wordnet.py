"""An extract of WordNet 3.0, and the sort of thing that a noun names: by our sets first, else by WordNet.

The sense of a word is chosen among the things a photo can show (animals, artifacts, food, ...), by how often
WordNet's corpus tagged it and by how close it is to the other nouns of the caption: a bat with a ball is a club.
The first synset alone would make an animal of every computer mouse, or a person of every cook.
"""

from __future__ import annotations

import functools
import json
import math
from typing import Literal, NamedTuple

from equipoise.language.vocabulary import exclusive, members, read_data, word_set

EXTRACT = "wordnet.json.gz"


class Synset(NamedTuple):
    lexfile: int  # lexicographer file: 5 animals, 6 artifacts, 13 food, ...
    lemmas: tuple[str, ...]
    above: tuple[str, ...]  # hypernyms
    against: tuple[str, ...]  # antonyms, as lemmas


class Data(NamedTuple):
    senses: dict[str, list[tuple[str, int]]]  # "n:couch" -> (synset, how often tagged), in WordNet's order
    synsets: dict[str, Synset]


Letter = Literal["n", "v", "a"]
LETTERS: dict[str, Letter] = {"object": "n", "attribute": "a", "action": "v"}
# Animal, artifact, body, food, location, object, person, plant, substance.
VISIBLE = frozenset({5, 6, 8, 13, 15, 17, 18, 20, 27})
_TOO_GENERAL = 6  # synsets less deep (object, artifact, ...) are shared by things that have nothing in common


class WordNet:
    """The shipped extract."""

    def __init__(self) -> None:
        self._above: dict[str, frozenset[str]] = {}
        self._senses: dict[str, list[tuple[str, int]]] = {}

    @functools.cached_property
    def data(self) -> Data:
        record = json.loads(read_data(EXTRACT))
        senses = {word: [(str(name), tagged) for name, tagged in listed] for word, listed in record["senses"].items()}
        synsets = {
            str(number): Synset(lexfile, tuple(lemmas), tuple(map(str, above)), tuple(map(str, against)))
            for number, (lexfile, lemmas, above, against) in enumerate(record["synsets"])
        }
        return Data(senses, synsets)

    def above(self, synset: str) -> frozenset[str]:
        """Every synset above this one, itself included."""
        synsets = self._above.get(synset)
        if synsets is None:
            chain = {synset}
            for parent in self.data.synsets[synset].above:
                chain |= self.above(parent)
            synsets = self._above[synset] = frozenset(chain)
        return synsets

    def senses(self, word: str, letter: Letter) -> list[tuple[str, int]]:
        """(synset, how often tagged) of a common word; names (Wade, Turkey) are left out."""
        key = f"{letter}:{word}"
        senses = self._senses.get(key)
        if senses is None:
            listed = self.data.senses.get(key)
            if listed is None:
                return []
            senses = self._senses[key] = [pair for pair in listed if word in self.data.synsets[pair[0]].lemmas]
        return senses

    def sense(self, word: str, letter: Letter, context: frozenset[str] = frozenset()) -> str | None:
        """The sense that fits a caption with these other nouns; None where WordNet does not know the word."""
        best, best_score = None, -math.inf
        for rank, (synset, tagged) in enumerate(self.senses(word, letter)):
            score = math.log1p(tagged) - 0.1 * rank
            if letter == "n":
                score += 2.0 if self.data.synsets[synset].lexfile in VISIBLE else 0.0
                score += 1.5 * min(4, sum(self._shared(synset, other) for other in context if other != word))
            if score > best_score:
                best, best_score = synset, score
        return best

    def _shared(self, synset: str, other: str) -> int:
        """The number of synsets, without the most general, that a sense of `other` shares with this synset."""
        chain = self.above(synset)
        depths = [len(chain & self.above(sense)) - _TOO_GENERAL for sense, _ in self.senses(other, "n")[:3]]
        return max(0, min(4, max(depths, default=0)))

    def lexfile(self, word: str) -> int | None:
        """Lexicographer file of a noun's usual visible sense."""
        synset = self.sense(word, "n")
        return None if synset is None else self.data.synsets[synset].lexfile

    def related(self, word: str, other: str, letter: Letter = "n") -> bool:
        """Whether they are synonyms, or one is above the other, in any usual sense: no negative for each other."""
        if word == other:
            return True
        for first, _ in self._usual(word, letter):
            for second, _ in self._usual(other, letter):
                if first in self.above(second) or second in self.above(first):
                    return True
        return False

    def says_as_much(self, word: str, other: str, letter: Letter) -> bool:
        """Whether the other is a synonym in a usual sense, or for a noun the next wider word: a child for a boy."""
        meant = {synset for synset, _ in self._usual(word, letter)}
        if letter == "n":
            wider = {parent for synset in meant for parent in self.data.synsets[synset].above}
            meant |= {parent for parent in wider if len(self.above(parent)) >= _TOO_GENERAL}
        return any(synset in meant for synset, _ in self._usual(other, letter))

    def _usual(self, word: str, letter: Letter) -> list[tuple[str, int]]:
        """Senses that captions may mean: visible ones for nouns, and not those tagged far less than the first."""
        senses = self.senses(word, letter)
        if letter == "n":
            senses = [pair for pair in senses if self.data.synsets[pair[0]].lexfile in VISIBLE] or senses
        most = max((tagged for _, tagged in senses), default=0)
        return [pair for pair in senses if pair[1] * 10 >= most]

    def is_plain(self, word: str, letter: Letter) -> bool:
        """Whether the word has only one usual sense, so that a synonym or a co-hyponym cannot miss it."""
        return len(self._usual(word, letter)) == 1

    def synonym_words(self, word: str, letter: Letter) -> list[str]:
        """Words whose own usual sense is the sense meant here, so that they cannot be read as something else."""
        synset = self.sense(word, letter)
        if synset is None or (letter == "n" and self.data.synsets[synset].lexfile not in VISIBLE):
            return []
        return [
            lemma
            for lemma in self.data.synsets[synset].lemmas
            if lemma != word and lemma.islower() and self.sense(lemma, letter) == synset
        ]

    def co_hyponyms(self, word: str, context: frozenset[str] = frozenset()) -> list[str]:
        """Nouns under the same parent, in their usual sense, and neither above nor below nor beside the word."""
        synset = self.sense(word, "n", context)
        if synset is None or self.data.synsets[synset].lexfile not in VISIBLE:
            return []
        lemmas = []
        for parent in self.data.synsets[synset].above:
            if len(self.above(parent)) < _TOO_GENERAL:
                continue
            for child in self._below.get(parent, ()):
                if child == synset:
                    continue
                for lemma in self.data.synsets[child].lemmas:
                    if lemma.islower() and self.sense(lemma, "n") == child and not self.related(word, lemma):
                        lemmas.append(lemma)
        return lemmas

    @functools.cached_property
    def _below(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {}
        for name, synset in self.data.synsets.items():
            for parent in synset.above:
                children.setdefault(parent, []).append(name)
        return children

    def antonyms(self, word: str, letter: Letter) -> list[str]:
        synset = self.sense(word, letter)
        if synset is None:
            return []
        return [lemma for other in self.data.synsets[synset].against for lemma in self.data.synsets[other].lemmas[:1]]


_ANIMAL, _ARTIFACT, _FOOD, _PERSON, _PLANT = 5, 6, 13, 18, 20
WORDNET = WordNet()
# Nouns that WordNet's rarer senses put in the wrong sort: a trick is also a customer, a guide also a book.
_NOT_ALIVE, _ALIVE = word_set("not alive"), word_set("alive")
_WORN_TOO = word_set("worn too")
_EATABLE = word_set("sets of food")


@functools.lru_cache(maxsize=1 << 16)
def is_animate(noun: str) -> bool:
    last = noun.split()[-1]
    if noun in _NOT_ALIVE:
        return False
    if noun in _ALIVE or noun in members("@animate") or last in members("@person"):
        return True
    senses = [WORDNET.data.synsets[synset].lexfile for synset, _ in WORDNET.senses(noun, "n")]
    if not senses:  # a baby giraffe; but our sets know that a stuffed bear is none
        return last != noun and not sets_of(noun) and is_animate(last)
    if _ARTIFACT in senses or _FOOD in senses:  # a toaster also gives toasts, an egg is also an animal
        return False
    return WORDNET.lexfile(noun) in {_ANIMAL, _PERSON}


@functools.lru_cache(maxsize=1 << 16)
def is_person(noun: str) -> bool:
    return noun in members("@person") or noun.split()[-1] in members("@person") or WORDNET.lexfile(noun) == _PERSON


@functools.lru_cache(maxsize=1 << 16)
def is_food(noun: str) -> bool:
    """Whether it can be eaten: by our sets, or as a plant or food that has a sense of food in WordNet."""
    if sets_of(noun) & _EATABLE or noun in {"fry", "french fry", "hash brown"}:
        return True
    senses = {WORDNET.data.synsets[synset].lexfile for synset, _ in WORDNET.senses(noun, "n")}
    return _FOOD in senses and WORDNET.lexfile(noun) in {_FOOD, _PLANT}


@functools.lru_cache(maxsize=1 << 16)
def is_thing(noun: str) -> bool:
    """Whether it is something visible, and surely a noun: the tagger takes some verbs of captions for nouns."""
    if sets_of(noun):
        return True
    synset = WORDNET.sense(noun, "n")
    return synset is not None and WORDNET.data.synsets[synset].lexfile in VISIBLE


@functools.lru_cache(maxsize=1 << 16)
def is_garment(noun: str) -> bool:
    last = noun.split()[-1]
    return noun in members("@garment") or last in members("@garment") or last in _WORN_TOO


def sets_of(noun: str) -> frozenset[str]:
    """Names of the object sets that hold the noun."""
    return _sets().get(noun, frozenset())


@functools.cache
def _sets() -> dict[str, frozenset[str]]:
    names_of: dict[str, set[str]] = {}
    for line in exclusive():
        if line.section == "object" and all(guard.name != "wide" for guard in line.guards):
            for group in line.groups:
                for member in group:
                    names_of.setdefault(member.entry.text, set()).add(line.name)
    return {noun: frozenset(names) for noun, names in names_of.items()}


@functools.lru_cache(maxsize=1 << 16)
def same_sort(first: str, second: str, strict: bool = False) -> bool:
    """Whether two nouns are of a kind, so that a list may hold both; strictly: more than just two artifacts."""
    if is_animate(first) != is_animate(second):
        return False
    if sets_of(first) & sets_of(second):
        return True
    a, b = WORDNET.lexfile(first), WORDNET.lexfile(second)
    if a is None or b is None:
        return not strict
    return a == b and not (strict and a == _ARTIFACT and not _close(first, second))


def _close(first: str, second: str) -> bool:
    first_sense, second_sense = WORDNET.sense(first, "n"), WORDNET.sense(second, "n")
    return bool(first_sense and second_sense and len(WORDNET.above(first_sense) & WORDNET.above(second_sense)) >= 7)
