"""A caption as the operations see it: words and fixed compounds, each with its kind and lemma, and noun phrases.

A caption is tagged once. Compounds ("hot dog", "in front of") become one unit, so that no operation can
edit a part of them: "within front of" and "hot cat" cannot be written at all.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from equipoise.core.errors import UserError
from equipoise.language.forms import noun_lemma, verb_lemma
from equipoise.language.tagging import Token, tag
from equipoise.language.vocabulary import compounds, word_set

T = TypeVar("T")
Kind = Literal[
    "noun", "adjective", "verb", "be", "preposition", "determiner", "number", "and", "pronoun", "adverb", "to", "mark",
    "relative", "fixed", "other",
]  # fmt: skip


class Unit(NamedTuple):
    """One word, mark or compound: `caption.text[start:end] == text`."""

    text: str
    word: str  # in lower case
    start: int
    end: int
    kind: Kind
    lemma: str
    pos: str


class NounPhrase(NamedTuple):
    """Units `start:end`; `head` is the last noun, `core` the first unit after the determiner."""

    start: int
    core: int
    head: int

    @property
    def end(self) -> int:
        return self.head + 1


_WORD = re.compile(r"[\w'’-]+")
_BE, _CLAUSE = word_set("forms of be"), word_set("clause openers")
_ARTICLES = (["a"], ["an"], ["the"], ["some"])
_NO_NAMES = frozenset(("frisbee", "frisbees"))  # brands that everybody writes for the thing itself
_QUANTITY = word_set("vague numbers")
_VERBS_ALSO = word_set("participles that are adjectives")
_HAVING = frozenset("wear hold carry have eat".split())  # a boy wearing a hat sitting: the boy sits
# Heads as in "a group of people": the main noun follows "of".
COLLECTIVES = word_set("collectives")


def _kind(token: Token, word: str) -> Kind:
    pos = token.pos
    if word in _BE or (word in {"has", "have", "had"} and pos.startswith("VB")):
        return "be" if word in _BE else "verb"
    if word in {"and", "&", "or"}:
        return "and"
    if word in _CLAUSE and pos != "DT":
        return "relative"
    if word in _QUANTITY:
        return "number"
    if word in _VERBS_ALSO:
        return "verb" if pos != "JJ" else "adjective"
    if kind := _OF_POS.get(pos) or _OF_POS.get(pos[:2]):
        return kind
    return "mark" if pos in _MARKS or not word[:1].isalnum() else "other"


_OF_POS: dict[str, Kind] = {
    "NN": "noun", "JJ": "adjective", "VB": "verb", "DT": "determiner", "PRP$": "determiner", "WP$": "determiner",
    "PDT": "determiner", "PRP": "pronoun", "EX": "pronoun", "WP": "pronoun", "CD": "number", "IN": "preposition",
    "RP": "preposition", "TO": "to", "RB": "adverb", "WRB": "adverb",
}  # fmt: skip
_MARKS = frozenset((".", ",", ":", "(", ")", '"', "``", "''", "SYM", "#", "$"))


_LETTER = re.compile("[a-zA-Z]")
LONGEST = 2000  # characters; a longer text is no caption, and would take minutes to read


def unusable(text: str) -> str | None:
    """The reason why a text cannot be perturbed, or None."""
    if not text.strip():
        return "empty"
    if len(text) > LONGEST:
        return f"{len(text)} characters, more than {LONGEST}"
    if reason := not_a_caption(text):
        return reason
    if text.isascii() and text.isprintable() and _LETTER.search(text):
        return None  # nearly every caption, without looking at each letter
    if any(unicodedata.category(letter) == "Cc" and not letter.isspace() for letter in text):
        return "holds control characters"
    letters = sum(letter.isalpha() for letter in text)
    if letters == 0 or sum(letter.isascii() and letter.isalpha() for letter in text) < letters / 2:
        return "not written in Latin letters"
    return None


@dataclass(frozen=True)
class Caption:
    """The text, and the other captions of the same image if they are known."""

    text: str
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for text in (self.text, *self.others):
            if not isinstance(text, str):
                raise UserError(f"a caption is text; found {text!r} ({type(text).__name__})")

    @functools.cached_property
    def _kept(self) -> dict[Kept[Any], Any]:
        return {}

    @functools.cached_property
    def tokens(self) -> tuple[Token, ...]:
        quiet = self.text.lower()  # a shouted caption would be read as one long name
        return tuple(tag(quiet if self.text.isupper() and len(quiet) == len(self.text) else self.text))

    @functools.cached_property
    def units(self) -> tuple[Unit, ...]:
        return tuple(self._read_units())

    def _read_units(self) -> Iterator[Unit]:
        tokens, place = self.tokens, 0
        words = [token.text.lower() for token in tokens]
        while place < len(tokens):
            token, word = tokens[place], words[place]
            if compound := _compound_at(words, tokens, place, self.text):
                length, kind_here, lemma = compound
                last = tokens[place + length - 1]
                pos = "IN" if kind_here == "preposition" else "FW"
                if kind_here == "noun":
                    pos = "NNS" if words[place + length - 1] != lemma.split()[-1] else "NN"
                text = self.text[token.start : last.end]
                yield Unit(text, " ".join(words[place : place + length]), token.start, last.end, kind_here, lemma, pos)
                place += length
                continue
            kind = _kind(token, word)
            after = words[place + 1 : place + 3]
            if word == "orange" and after[:1] == ["and"] and after[1:] in _ARTICLES:
                kind = "noun"  # an orange and a banana
            lemma = noun_lemma(word) if kind == "noun" else verb_lemma(word) if kind == "verb" else word
            text = self.text[token.start : token.end]
            yield Unit(text, word, token.start, token.end, kind, lemma, token.pos)
            place += 1

    @functools.cached_property
    def keys(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """(unit, the keys of entries that may begin there: one word or two), without marks and names."""
        keys = []
        for place, unit in enumerate(self.units):
            if unit.kind != "mark" and not self.is_name(place) and not (place and self.units[place - 1].word == "#"):
                first, lemma = unit.word.partition(" ")[0], unit.lemma.partition(" ")[0]
                after = self.units[place + 1].word if place + 1 < len(self.units) else ""
                two = " ".join(f"{unit.word} {after}".split(" ", 2)[:2])
                keys.append((place, (first, two) if first == lemma else (first, lemma, two)))
        return tuple(keys)

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """Every word and lemma of the caption."""
        tokens = {token.text.lower() for token in self.tokens}
        return frozenset(tokens | {unit.lemma for unit in self.units} | {unit.word for unit in self.units})

    @functools.cached_property
    def other_words(self) -> frozenset[str]:
        """Every word and lemma of the other captions of the image."""
        return frozenset().union(*map(_words_of, self.others))

    @functools.cached_property
    def phrases(self) -> tuple[NounPhrase, ...]:
        return tuple(_noun_phrases(self.units))

    @functools.cached_property
    def phrase_at(self) -> dict[int, NounPhrase]:
        """Unit -> the noun phrase it belongs to."""
        return {place: phrase for phrase in self.phrases for place in range(phrase.start, phrase.end)}

    def is_name(self, place: int) -> bool:
        """A capital inside a sentence marks a name (Big Ben), unless all words of the caption have one."""
        unit = self.units[place]
        if not unit.text[0].isupper() or self.text.isupper() or unit.kind == "preposition":
            return False  # Visual Genome shouts its relations: "man ON horse"
        if self.is_title:  # Two Bedroom House in Navy Blue: any of it may be a name
            return True
        if unit.word in _NO_NAMES:
            return False
        return place > 0 and self.units[place - 1].word not in {".", "!", "?", '"', "'"}

    @functools.cached_property
    def is_title(self) -> bool:
        """Whether it is Written Like a Headline, or shouted: then capitals mean nothing."""
        words = [token.text for token in self.tokens if token.text[0].isalpha()]
        return sum(word[0].isupper() for word in words) * 2 > len(words) > 2 or self.text.isupper()

    def unit_at(self, place: int) -> Unit | None:
        """The unit at `place`; None before the first and after the last."""
        return self.units[place] if 0 <= place < len(self.units) else None

    def words_of(self, start: int, end: int) -> tuple[str, ...]:
        """The words of units `start:end`."""
        return tuple(unit.word for unit in self.units[start:end])

    def text_of(self, start: int, end: int) -> str:
        """The text of units `start:end`."""
        return self.text[self.units[start].start : self.units[end - 1].end]

    def units_of(self, span: tuple[int, int]) -> tuple[int, int] | None:
        """The units that characters `span` cover, if they begin with one."""
        starts = [unit.start for unit in self.units]
        start = bisect_left(starts, span[0])
        return (start, bisect_left(starts, span[1])) if start < len(starts) and starts[start] == span[0] else None

    def is_plural(self, phrase: NounPhrase) -> bool:
        head = self.units[phrase.head]
        if head.pos in {"NNS", "NNPS"} or head.word in {"people", "cattle", "police"}:
            return True
        first = self.units[phrase.start]
        if first.kind == "number" and first.word not in {"one", "1"}:
            return True  # two zebra
        bare = phrase.start == phrase.core and phrase.start > 1 and self.units[phrase.start - 1].word == "of"
        if bare and self.units[phrase.start - 2].lemma in _PLURAL_OF:
            return True  # a couple of zebra
        return head.word in SAME_PLURAL and self.units[phrase.start].word not in {"a", "an", "one", "this", "another"}

    def object_of(self, place: int) -> str | None:
        """Head lemma of the noun phrase that begins right after unit `place`."""
        units, after = self.units, place + 1
        while after < len(units) and units[after].kind == "adverb":
            after += 1
        phrase = self.phrase_at.get(after)
        return None if phrase is None or phrase.start != after else self.head_lemma(phrase)

    def head_lemma(self, phrase: NounPhrase) -> str:
        """The main noun of a phrase: people, in "a group of people"."""
        units, head = self.units, self.units[phrase.head]
        after = phrase.end
        if head.lemma in COLLECTIVES and after + 1 < len(units) and units[after].word == "of":
            inner = self.phrase_at.get(after + 1)
            if inner is not None:
                return units[inner.head].lemma
        return head.lemma

    def subjects_of(self, place: int) -> tuple[str, ...]:
        """Head lemmas that may be the subject of the verb or preposition at `place`, the nearest first."""
        if place not in self._subjects:  # many guards ask for the same
            self._subjects[place] = self._find_subjects(place)
        return self._subjects[place]

    @functools.cached_property
    def _subjects(self) -> dict[int, tuple[str, ...]]:
        return {}

    def _find_subjects(self, place: int) -> tuple[str, ...]:
        units, before = self.units, place - 1
        while before >= 0 and (units[before].kind in {"be", "adverb", "relative", "to"} or units[before].word == "has"):
            before -= 1
        phrase = self.phrase_at.get(before) if before >= 0 else None
        if phrase is None or phrase.head != before:
            return (self.head_lemma(self.phrases[0]),) if self.phrases and self.phrases[0].end <= place else ()
        subjects = [units[phrase.head].lemma]
        while phrase.start >= 2 and (
            units[phrase.start - 1].kind == "preposition" or units[phrase.start - 1].lemma in _HAVING
        ):
            outer = self.phrase_at.get(phrase.start - 2)
            if outer is None or outer.head != phrase.start - 2:
                break
            phrase = outer
            if units[phrase.head].lemma not in COLLECTIVES or units[phrase.end].word != "of":  # a couple of monitors
                subjects.append(units[phrase.head].lemma)
        return tuple(subjects)


class Kept(Generic[T]):
    """Values that a module computes once for each caption; they are freed with the caption."""

    def get(self, caption: Caption) -> T | None:
        value: T | None = caption._kept.get(self)
        return value

    def put(self, caption: Caption, value: T) -> T:
        caption._kept[self] = value
        return value

    def once(self, caption: Caption, make: Callable[[], T]) -> T:
        return self.put(caption, make()) if (value := self.get(caption)) is None else value


@functools.lru_cache(maxsize=1024)  # the captions of an image come one after the other and share their others
def _words_of(text: str) -> frozenset[str]:
    """Words, their lemmas as nouns and as verbs, and pairs of neighbours; no tagging, which would double the cost."""
    words = _WORD.findall(text.lower())
    nouns = [noun_lemma(word) for word in words]
    pairs = [f"{first} {second}" for first, second in itertools.pairwise(words)]
    lemmas = [f"{first} {second}" for first, second in zip(words, nouns[1:], strict=False)]
    return frozenset((*words, *nouns, *map(verb_lemma, words), *pairs, *lemmas))


_PLURAL_OF = frozenset("couple pair herd flock group".split())
SAME_PLURAL = word_set("same plural")


def _compound_at(
    words: list[str], tokens: tuple[Token, ...], place: int, text: str
) -> tuple[int, Literal["noun", "fixed", "preposition"], str] | None:
    """(tokens, kind, lemma) of the longest compound that begins at `place`."""
    for compound in compounds().get(words[place], ()):
        length = len(compound.words)
        here = words[place : place + length]
        if len(here) < length or here[:-1] != list(compound.words[:-1]):
            continue
        last = here[-1]
        if last != compound.words[-1] and not (compound.kind == "noun" and noun_lemma(last) == compound.words[-1]):
            continue
        if any(not text[tokens[i].end : tokens[i + 1].start].isspace() for i in range(place, place + length - 1)):
            continue
        return length, compound.kind, " ".join(compound.words)
    return None


def _noun_phrases(units: tuple[Unit, ...]) -> Iterator[NounPhrase]:
    place = 0
    while place < len(units):
        start = place
        while place < len(units) and (
            units[place].kind in {"determiner", "number"} or units[place].word in {"other", "dozen"}
        ):
            place += 1
        core, head = place, -1
        while place < len(units) and _in_phrase(units, place, core, start):
            if units[place].kind == "noun":
                head = place
            place += 1
        if head >= 0:
            yield NounPhrase(start, core, head)
            owner = head + 2 < len(units) and units[head + 1].pos == "POS"  # a man's hand: one phrase with two heads
            place = head + 2 if owner else head + 1
        else:
            place = start + 1


def _in_phrase(units: tuple[Unit, ...], place: int, core: int, start: int) -> bool:
    unit = units[place]
    if unit.kind in {"noun", "adjective", "number"}:
        return True
    following = units[place + 1].kind if place + 1 < len(units) else "mark"
    if unit.kind == "adverb":
        return following in {"adjective", "verb"} and place == core and core > start
    if unit.word in {"and", ","}:  # a black and white cat
        joined = place > core and units[place - 1].kind == "adjective" and following == "adjective"
        return joined and _ends_in_noun(units, place)
    if unit.pos in {"VBN", "VBD", "VBG"} and following in {"noun", "adjective"}:
        opens = place == core and core > start and units[core - 1].kind in {"determiner", "number"}
        before = units[place - 1].kind if place > core else "determiner"
        return opens or (unit.pos != "VBG" and place > core and before in {"noun", "adverb", "adjective"})
    return False


def _ends_in_noun(units: tuple[Unit, ...], place: int) -> bool:
    """Whether the adjectives after this "and" end in a noun, so that the phrase goes on."""
    place += 1
    while place < len(units) and (units[place].kind == "adjective" or units[place].word in {"and", ","}):
        place += 1
    return place < len(units) and units[place].kind == "noun"


# Little words of other languages; those that are English words too are left out.
_FOREIGN, _ENGLISH = word_set("foreign little words"), word_set("english little words")
_ASKING = word_set("question words")
_PLAIN = re.compile(r"[^\W\d_]+")


def not_a_caption(text: str) -> str | None:
    """Whether the text is a question or in another language: rules for English captions would spoil it."""
    if "?" in text and (text.rstrip(" \"'”)").endswith("?") or text.split()[0].lower() in _ASKING):
        return "a question"
    words = [word.lower() for word in _PLAIN.findall(text)]
    foreign = sum(word in _FOREIGN for word in words)
    if foreign >= 2 and foreign > sum(word in _ENGLISH for word in words):
        return "not in English"
    return None
