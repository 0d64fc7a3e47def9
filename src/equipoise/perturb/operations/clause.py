"""A caption as one clause: its parts in order, each with a letter, so that patterns of letters tell plain captions.

n a noun phrase with its "of"; m several of a kind joined by "and", k several of other kinds; g, d and z a verb in -ing,
a participle, a finite verb; b a form of be; r "that is"; p a preposition; w "with" or "that has"; i "it" or "them"; c
"while" or "as"; a an adverb; & an "and" of other things; x anything else.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from equipoise.language.caption import Caption, Unit
from equipoise.language.vocabulary import word_set
from equipoise.language.wordnet import is_thing, same_sort

_PICTURES = word_set("filmed") | {"view"}
_KEEP_PLACE = word_set("words that keep their place")
_VERBS = word_set("verbs taken for nouns")
_OWN = frozenset(("his", "her", "its", "their"))
_LONGEST = 24  # words; a long sentence turned round is hard to read


class ClausePart(NamedTuple):
    """Units `start:end`; `head` is the lemma of a noun phrase's main noun, or of the verb."""

    letter: str
    start: int
    end: int
    head: str = ""
    plural: bool = False
    members: tuple[tuple[int, int], ...] = ()  # the units of each of several


class Clause:
    """The parts of a caption after "there is" or "a photo of", without the last full stop."""

    def __init__(self, caption: Caption, parts: list[ClausePart], opening: str) -> None:
        self.caption, self.parts, self.opening = caption, parts, opening
        self.letters = "".join(part.letter for part in parts)
        self.points_back = any(unit.word in _OWN for unit in caption.units)

    def match(self, pattern: str, subject_first: bool = False) -> list[list[ClausePart]] | None:
        """The parts of each group of a pattern that fits all letters; "his" only where the subject stays first."""
        match = re.fullmatch(pattern, self.letters)
        if match is None or (self.points_back and not subject_first):
            return None
        groups = range(1, len(match.groups()) + 1)
        return [self.parts[match.start(group) : match.end(group)] if match[group] else [] for group in groups]

    def say(self, parts: list[ClausePart]) -> str:
        """The words of the parts, as inside a sentence."""
        if not parts:
            return ""
        text = self.caption.text_of(parts[0].start, parts[-1].end)
        return inside(self.caption, text) if parts[0].start == 0 else text

    def word(self, part: ClausePart) -> str:
        return " ".join(self.caption.words_of(part.start, part.end))

    def units(self, part: ClausePart) -> tuple[Unit, ...]:
        return self.caption.units[part.start : part.end]


def inside(caption: Caption, text: str) -> str:
    """The caption's first words as they are written inside a sentence."""
    first = caption.units[0]
    name = first.pos.startswith("NNP") and not is_thing(first.lemma)
    keeps = name or first.text == "I" or (first.text.isupper() and len(first.text) > 1) or caption.text.isupper()
    return text if keeps else text[:1].lower() + text[1:]


@functools.lru_cache(maxsize=2)
def clause_of(caption: Caption) -> Clause | None:
    """The clause; None if the caption is long, points to text before it, or is no plain clause."""
    units = caption.units
    end = len(units) - (bool(units) and units[-1].word == ".")
    if not 2 < end <= _LONGEST or caption.is_title or any(unit.word in _KEEP_PLACE for unit in units[:end]):
        return None
    if any(unit.kind == "mark" and unit.word != "," for unit in units[:end]):
        return None
    parts = _joined(caption, _parts(caption, end))
    opening = ""
    if [unit.word for unit in units[:3]] == ["a", "close up", "of"] and 3 in caption.phrase_at:
        return Clause(caption, parts[3:], caption.text_of(0, 3))
    if len(parts) > 2 and units[0].word == "there" and parts[1].letter == "b":
        return Clause(caption, parts[2:], "there")
    if parts and parts[0].letter in "nmk":
        phrase = caption.phrase_at[parts[0].start]
        if units[phrase.head].lemma in _PICTURES:
            if parts[0].members or phrase.end + 1 >= parts[0].end:
                return None
            opening = caption.text_of(0, phrase.end + 1)
            parts[0] = noun_part(caption, phrase.end + 1)
    return Clause(caption, parts, opening)


def _parts(caption: Caption, end: int) -> list[ClausePart]:
    parts: list[ClausePart] = []
    place = 0
    while place < end:
        unit = caption.units[place]
        phrase = caption.phrase_at.get(place)
        after = caption.units[place + 1].word if place + 1 < end else ""
        if phrase is not None and phrase.start == place:
            parts.append(noun_part(caption, place))
        elif unit.word == "that" and after in {"is", "are", "has", "have"}:
            parts.append(ClausePart("r" if after in {"is", "are"} else "w", place, place + 2, "have"))
        else:
            parts.append(ClausePart(_letter(unit), place, place + 1, unit.lemma))
        place = parts[-1].end
    return parts


_WORDS = {"with": "w", "it": "i", "them": "i", "while": "c", "as": "c", "and": ",", ",": ",", "high": "a"}


def _letter(unit: Unit) -> str:
    if letter := _WORDS.get(unit.word):
        return letter
    if unit.kind == "verb":
        return {"VBG": "g", "VBN": "d", "VBD": "d", "VBZ": "z", "VBP": "z"}.get(unit.pos, "x")
    return {"be": "b", "preposition": "p", "adverb": "a"}.get(unit.kind, "x")


def noun_part(caption: Caption, start: int) -> ClausePart:
    """The noun phrase that begins here, with the phrases that "of" adds."""
    units = caption.units
    phrase = caption.phrase_at[start]
    head, end, plural = caption.head_lemma(phrase), phrase.end, caption.is_plural(phrase)
    of = end < len(units) and units[end].word == "of"
    plural |= of and units[phrase.head].word in {"couple", "pair", "lot", "number"}
    while end + 1 < len(units) and units[end].word == "of" and (inner := caption.phrase_at.get(end + 1)):
        if inner.start != end + 1:
            break
        end = inner.end
    after = caption.unit_at(end)
    odd = after is not None and (after.pos == "POS" or after.word in {"of", "-", "'"})
    odd |= units[phrase.head].word in _VERBS and phrase.head > phrase.core  # two giraffe stand
    odd |= units[start].word in {"a", "an"} and units[phrase.head].pos == "NNS" and units[start + 1].kind != "number"
    return ClausePart("x" if odd else "n", start, end, head, plural)


def _joined(caption: Caption, parts: list[ClausePart]) -> list[ClausePart]:
    """Noun phrases with commas and "and" between them become one part, if they are of a kind."""
    merged: list[ClausePart] = []
    place = 0
    while place < len(parts):
        end = place + 1
        while parts[place].letter == "n" and end + 1 < len(parts):
            after = end
            while parts[after].letter == "," and after + 1 < len(parts):
                after += 1
            if after == end or parts[after].letter != "n":
                break
            end = after + 1
        members = [part for part in parts[place:end] if part.letter == "n"]
        links = [caption.units[part.start].word for part in parts[place:end] if part.letter == ","]
        if len(members) > 1 and "and" in links[-2:]:
            alike = all(same_sort(members[0].head, member.head) for member in members)
            spans = tuple((member.start, member.end) for member in members)
            first, last = parts[place].start, parts[end - 1].end
            merged.append(ClausePart("m" if alike else "k", first, last, members[0].head, True, spans))
        else:
            merged += [part._replace(letter=_lone(caption, part)) for part in parts[place:end]]
        place = end
    return merged


def _lone(caption: Caption, part: ClausePart) -> str:
    """The letter of a part that joins no noun phrases."""
    if part.letter != ",":
        return part.letter
    return "&" if caption.units[part.start].word == "and" else "x"
