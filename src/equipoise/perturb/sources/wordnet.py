"""WordNet as a word source: co-hyponyms and antonyms as contrasts."""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.language.caption import Caption
from equipoise.language.forms import inflect
from equipoise.language.vocabulary import Section, count, word_set
from equipoise.language.wordnet import LETTERS, WORDNET
from equipoise.perturb.recipe import Proposal

_NO_ANTONYM = word_set("no antonym beside")
_RARE = 5  # a word seen less often in captions than this sounds bookish


class WordNetSource:
    name = "wordnet"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return iter(())

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        letter = LETTERS.get(target)
        if letter is None or letter == "v":
            return  # a clock that sits also stands: antonyms of verbs need a subject, which WordNet does not know
        kind = {"n": "noun", "a": "adjective"}[letter]
        context = frozenset(unit.lemma for unit in caption.units if unit.kind == "noun")
        for place, unit in enumerate(caption.units):
            if unit.kind != kind or not unit.word.isascii() or caption.is_name(place):
                continue
            phrase = caption.phrase_at.get(place)
            if letter == "n" and (phrase is None or phrase.head != place or unit.pos == "NNP"):
                continue
            neighbours = {other.word for other in caption.units[max(0, place - 1) : place + 2]}
            if letter == "n" and not WORDNET.is_plain(unit.lemma, letter):
                continue
            if letter == "n":
                words = WORDNET.co_hyponyms(unit.lemma, context)
            else:  # black and white: the antonym stands there already
                words = [] if neighbours & _NO_ANTONYM else WORDNET.antonyms(unit.lemma, letter)
            pos = ("NNS" if phrase and caption.is_plural(phrase) else "NN") if letter == "n" else unit.pos
            for word in words:
                if letter == "n" and not WORDNET.is_plain(word, letter):
                    continue
                to = inflect(word, pos)
                if count(to) >= _RARE and to != unit.word:
                    yield Proposal(unit.start, unit.end, to, target, self.name, float(count(to)))
