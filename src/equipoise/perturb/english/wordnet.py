"""WordNet 3.0 as a judge of what two words have to do with each other.

The sense of a word is chosen among the things a photo can show (animals, artifacts, food, ...), by how often
WordNet's corpus tagged it and by how close it stands to the other nouns of the caption: a bat beside a ball is
a club. The first synset alone would make a mouse of every computer mouse, or a person of every cook.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Literal

from equipoise.perturb.english.wordnet_files import Data, read_extract, read_folder

Letter = Literal["n", "v", "a"]
VISIBLE = frozenset(
    {5, 6, 8, 13, 15, 17, 18, 20, 27}
)  # animal artifact body food location object person plant substance
_TOO_GENERAL = 6  # synsets less deep (object, artifact, ...) say nothing about what two things share


class WordNet:
    """The shipped extract, or a whole WordNet folder where the user names one."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = folder
        self._above: dict[str, frozenset[str]] = {}
        self._senses: dict[str, list[tuple[str, int]]] = {}

    @functools.cached_property
    def data(self) -> Data:
        return read_extract() if self._folder is None else read_folder(Path(self._folder))

    # ------------------------------------------------------------------------ senses

    def above(self, synset: str) -> frozenset[str]:
        """Every synset above this one, itself included."""
        found = self._above.get(synset)
        if found is None:
            chain = {synset}
            for parent in self.data.synsets[synset].above:
                chain |= self.above(parent)
            found = self._above[synset] = frozenset(chain)
        return found

    def senses(self, word: str, letter: Letter) -> list[tuple[str, int]]:
        """(synset, how often tagged) of a common word; names (Wade, Turkey) are left out."""
        key = f"{letter}:{word}"
        found = self._senses.get(key)
        if found is None:
            listed = self.data.senses.get(key)
            if listed is None:
                return []
            found = self._senses[key] = [pair for pair in listed if word in self.data.synsets[pair[0]].lemmas]
        return found

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
        """How deep, past the most general synsets, a sense of `other` runs together with this synset."""
        chain = self.above(synset)
        depths = [len(chain & self.above(sense)) - _TOO_GENERAL for sense, _ in self.senses(other, "n")[:3]]
        return max(0, min(4, max(depths, default=0)))

    def lexfile(self, word: str) -> int | None:
        """Lexicographer file of a noun's usual visible sense."""
        synset = self.sense(word, "n")
        return None if synset is None else self.data.synsets[synset].lexfile

    # ------------------------------------------------------------------------ relations

    def related(self, word: str, other: str, letter: Letter = "n") -> bool:
        """Synonyms, or one above the other, in any usual sense of both: such a word cannot make a negative."""
        if word == other:
            return True
        for first, _ in self._usual(word, letter):
            for second, _ in self._usual(other, letter):
                if first in self.above(second) or second in self.above(first):
                    return True
        return False

    def _usual(self, word: str, letter: Letter) -> list[tuple[str, int]]:
        """Senses that captions may mean: visible ones for nouns, and not those tagged far less than the first."""
        found = self.senses(word, letter)
        if letter == "n":
            found = [pair for pair in found if self.data.synsets[pair[0]].lexfile in VISIBLE] or found
        most = max((tagged for _, tagged in found), default=0)
        return [pair for pair in found if pair[1] * 10 >= most]

    def is_plain(self, word: str, letter: Letter) -> bool:
        """Only one usual sense, so that a synonym or a co-hyponym cannot miss it."""
        return len(self._usual(word, letter)) == 1

    def synonym_words(self, word: str, letter: Letter, context: frozenset[str] = frozenset()) -> list[str]:
        """Words whose own usual sense is the sense meant here, so that they cannot be read as something else."""
        synset = self.sense(word, letter, context)
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
        found = []
        for parent in self.data.synsets[synset].above:
            if len(self.above(parent)) < _TOO_GENERAL:
                continue
            for child in self._below.get(parent, ()):
                if child == synset:
                    continue
                for lemma in self.data.synsets[child].lemmas:
                    if lemma.islower() and self.sense(lemma, "n") == child and not self.related(word, lemma):
                        found.append(lemma)
        return found

    @functools.cached_property
    def _below(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, synset in self.data.synsets.items():
            for parent in synset.above:
                found.setdefault(parent, []).append(name)
        return found

    def antonyms(self, word: str, letter: Letter) -> list[str]:
        synset = self.sense(word, letter)
        if synset is None:
            return []
        return [lemma for other in self.data.synsets[synset].against for lemma in self.data.synsets[other].lemmas[:1]]
