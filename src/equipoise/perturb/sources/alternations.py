"""The same verb in another form that says the same: "a man riding a horse", "a man rides", "a man is riding".

Only the verb of the caption's first noun, only one such verb, and only of those who are alive and of what is parked or
seated: there the forms mean the same in a caption. A sentence becomes a noun phrase only where something follows the
verb and the noun has no "the". Also "there is", before a noun phrase. All of these are trivial (trivial.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.perturb.english.forms import inflect, verb_lemma
from equipoise.perturb.english.vocabulary import Section, count, word_set
from equipoise.perturb.english.wordnet import is_animate
from equipoise.perturb.recipe import Proposal

_VERBS = word_set("verbs of captions")
# Verbs of what is, not of what goes on: "a photo is showing a cat" is not said.
_STATES = word_set("verbs of what is")
_NOUNS_TOO = _VERBS | word_set("nouns that are verbs")
_PICTURES = word_set("pictures of anything")
_LYING = word_set("participles of lying")
_HOLDING = frozenset(("wear", "hold", "carry"))
_FINITE = frozenset(("VBZ", "VBP", "VBD", "MD"))
_LEAST_AFTER = 2  # words that must follow a verb that a sentence loses


class Alternations:
    name = "rules"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        if target == "action":
            first = _subject(caption)
            found = [*(_forms(caption, first) if first is not None else ()), *_there_is(caption)]
            yield from found or _in_this_photo(caption)

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return iter(())


def _subject(caption: Caption) -> NounPhrase | None:
    """The noun phrase that a plain caption begins with; of "a group of people" the people."""
    units = caption.units
    if not caption.phrases or caption.phrases[0].start or caption.is_title:
        return None
    if any(unit.kind in {"relative", "pronoun"} for unit in units):
        return None  # a second clause has a verb of its own
    first = caption.phrases[0]
    if units[first.head].lemma in COLLECTIVES:
        inner = caption.phrase_at.get(first.end + 1)
        if inner is None or units[first.end].word != "of" or not caption.is_plural(inner):
            return None
        first = inner
    tagged_wrongly = caption.is_plural(first) and units[first.start].word in {"a", "an", "one", "this"}
    bare = first.core == first.start and not caption.is_plural(first)  # "man riding a wave" is a telegram
    if tagged_wrongly or bare or caption.is_name(first.head) or units[first.head].lemma in _NOUNS_TOO:
        return None
    return first


def _forms(caption: Caption, first: NounPhrase) -> Iterator[Proposal]:
    units, place = caption.units, first.end
    if place + _LEAST_AFTER >= len(units):
        return
    be = units[place] if units[place].word in {"is", "are"} else None
    verb = units[place + 1] if be else units[place]
    rest = units[place + (2 if be else 1) :]
    if not rest or any(unit.kind == "be" or unit.pos in _FINITE or _may_be_verb(unit.kind, unit.word) for unit in rest):
        return
    joined = any(unit.kind == "and" for unit in rest)  # sings and works, a horse standing and one sitting: both change
    if any(u.kind == "verb" for u in rest) and (joined or verb.lemma in _HOLDING or verb.pos in {"VBP", "VB"}):
        return  # people carrying umbrellas walking: what they do is to walk
    many = caption.is_plural(first)
    is_, may_be_phrase = "are" if many else "is", _may_be_phrase(caption, first, place + bool(be))
    if verb.word in _LYING and rest[0].kind == "preposition":
        if be is None:
            yield _proposal(verb.start, verb.end, f"{is_} {verb.word}")
        elif may_be_phrase:
            yield _proposal(be.start, verb.end, verb.word)
    if verb.kind != "verb" or verb.lemma not in _VERBS or not is_animate(units[first.head].lemma):
        return
    finite, going = verb.lemma if many else inflect(verb.lemma, "VBZ"), inflect(verb.lemma, "VBG")
    start = be.start if be else verb.start
    if verb.word == going:
        yield _proposal(start, verb.end, finite)
        if be is not None and may_be_phrase:
            yield _proposal(start, verb.end, going)
        elif be is None and verb.lemma not in _STATES:
            yield _proposal(start, verb.end, f"{is_} {going}")
    elif be is None and verb.word == finite:
        if may_be_phrase:
            yield _proposal(start, verb.end, going)
        if verb.lemma not in _STATES:
            yield _proposal(start, verb.end, f"{is_} {going}")


def _may_be_verb(kind: str, word: str) -> bool:
    """What the tagger took for a noun: "a child wearing orange balances on a ledge"."""
    return kind == "noun" and word.endswith("s") and verb_lemma(word) in _VERBS


def _may_be_phrase(caption: Caption, first: NounPhrase, verb: int) -> bool:
    """Whether the sentence may lose its verb: "The girl swinging." and "A man looking." are left unfinished."""
    after = sum(unit.kind != "mark" for unit in caption.units[verb + 1 :])
    return after >= _LEAST_AFTER and caption.units[first.start].word not in {"the", "this", "that", "his", "her"}


def _there_is(caption: Caption) -> Iterator[Proposal]:
    """A dog with a ball: there is a dog with a ball; and the other way round. Of a list, for is there, or are there, a
    dog and two cats?, and of captions that name no place: a photo of a dog and two cats."""
    units, first = caption.units, caption.phrases[0] if caption.phrases else None
    if first is None or caption.is_title or any(unit.word in _PICTURES or unit.kind == "relative" for unit in units):
        return
    if first.start == 2 and units[0].word == "there" and units[1].word in {"is", "are"}:
        opening = units[2]
        if opening.word != "no" and not any(unit.kind == "be" or unit.pos in _FINITE for unit in units[2:]):
            yield _proposal(units[0].start, opening.end, opening.word)
        return
    opening, many = units[0], caption.is_plural(first)
    if any(
        unit.kind in {"be", "pronoun"} or unit.pos in _FINITE or _may_be_verb(unit.kind, unit.word) for unit in units
    ):
        return
    if first.start or not (opening.word in {"a", "an"} or (opening.kind == "number" and many)):
        return
    after = units[first.end] if first.end + 1 < len(units) else None
    if after is None or (after.pos in {"VB", "VBN", "VBD"} and after.word not in _LYING):
        return
    there = after.kind in {"preposition", "verb"} and not any(unit.kind == "and" for unit in units)
    front = f"there {'are' if many else 'is'}" if there else "a photo of"
    yield _proposal(opening.start, opening.end, f"{front} {opening.word}")


def _in_this_photo(caption: Caption) -> Iterator[Proposal]:
    """Of any other sentence that begins with a noun phrase: in this photo, the dog is asleep."""
    units, first = caption.units, caption.phrases[0] if caption.phrases else None
    if first is None or first.start or caption.is_title or any(unit.word in _PICTURES for unit in units):
        return
    if units[0].kind in {"determiner", "number"} and any(u.kind == "be" or u.pos in {"VBZ", "VBP"} for u in units):
        yield _proposal(units[0].start, units[0].end, f"in this photo, {units[0].word}")


def _proposal(start: int, end: int, to: str) -> Proposal:
    return Proposal(start, end, to, "action", Alternations.name, float(count(to.split()[0])))
