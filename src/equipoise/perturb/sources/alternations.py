"""The same verb in another form that says the same: "a man riding a horse", "a man rides", "a man is riding".

Captions use all three for what goes on in a photo. Only the verb of the caption's first noun, only one such verb, and
only verbs of what is done or of how something lies: there the forms mean the same in a caption. A sentence becomes a
noun phrase only where something follows the verb and the noun has no "the": "The player is looking." may not become
"The player looking.". Relative clauses are shortened ("a man who is riding") and, of those who are alive, made.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import pairwise

from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase, Unit
from equipoise.perturb.english.forms import inflect, verb_lemma
from equipoise.perturb.english.vocabulary import Section, count, word_set
from equipoise.perturb.english.wordnet import is_animate, is_garment, is_person
from equipoise.perturb.recipe import Proposal

_VERBS = word_set("verbs of captions")
# Verbs of what is, not of what goes on: "a photo is showing a cat" is not said.
_STATES = word_set("verbs of what is")
# What things do in captions; of other verbs the tagger may have taken a noun for a participle.
_OF_THINGS = _STATES | word_set("verbs of things")
_NOUNS_TOO = _VERBS | word_set("nouns that are verbs")
_NOT_AFTER = word_set("not before a finite verb")
_JOINING = frozenset(("and", ",", "or", ";", "."))
_LEAST_AFTER = 2  # words that must follow a verb that a sentence loses


class Alternations:
    name = "rules"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        if target == "action":
            yield from _alternations(caption)
            yield from _participles(caption)
            yield from _shortened(caption)
            yield from _with_who(caption)
            yield from _there_is(caption)

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return iter(())


def _alternations(caption: Caption) -> Iterator[Proposal]:
    units = caption.units
    first = _subject(caption)
    if (
        first is None
        or (first.start > 0 and not _is_of_group(caption, first))
        or caption.is_name(first.head)
        or _has_clause(units)
        or caption.is_title
    ):
        return
    finite = [place for place, unit in enumerate(units) if unit.kind == "be" or unit.pos in {"VBZ", "VBP", "VBD", "MD"}]
    verbs = [place for place, unit in enumerate(units) if unit.kind == "verb" and unit.pos in {"VBG", "VBZ", "VBP"}]
    place = min([*finite, *verbs], default=-1)
    if place < first.end or len(finite) > 1 or not _is_of(caption, first, place):
        return
    many = caption.is_plural(first)
    if many and units[first.start].word in {"a", "an", "one", "this"}:
        return  # "a boy sits": the tagger took the verb for a noun
    own = first.core > first.start or many or is_animate(units[first.head].lemma)  # man riding a wave
    if units[first.head].lemma in COLLECTIVES or not own or units[first.head].lemma in _NOUNS_TOO:
        return
    unit = units[place]
    verb = units[place + 1] if unit.kind == "be" and place + 1 < len(units) else unit
    if not is_animate(units[first.head].lemma) and verb.lemma not in _OF_THINGS:
        return  # a dart throwing game
    if _has_partner(caption, place):
        return  # a horse standing and a small one sitting: both would have to change
    if (
        unit.kind == "be"
        and unit.word in {"is", "are"}
        and place + 1 < len(units)
        and _is_alone(units, place + 1, "VBG")
    ):
        verb = units[place + 1]
        if _may_be_phrase(caption, first, place + 1):
            yield _proposal(unit.start, verb.end, verb.word)
        yield _proposal(unit.start, verb.end, _finite(verb.lemma, many))
    elif not finite and _is_alone(units, place, "VBG") and not _hides_verb(caption, place):
        yield _proposal(unit.start, unit.end, _finite(unit.lemma, many))
        if unit.lemma not in _STATES and (many or first.core > first.start):  # "girl is blowing" is a telegram
            yield _proposal(unit.start, unit.end, f"{'are' if many else 'is'} {unit.word}")
    elif unit.pos == ("VBP" if many else "VBZ") and _is_alone(units, place, unit.pos):
        going = inflect(unit.lemma, "VBG")
        if _may_be_phrase(caption, first, place):
            yield _proposal(unit.start, unit.end, going)
        if unit.lemma not in _STATES:
            yield _proposal(unit.start, unit.end, f"{'are' if many else 'is'} {going}")


def _has_clause(units: tuple[Unit, ...]) -> bool:
    """A second clause has a verb of its own; "while running" and "shakes it" have none."""
    for place, unit in enumerate(units):
        after = units[place + 1] if place + 1 < len(units) else None
        if unit.kind == "pronoun" and (
            unit.word not in _OBJECTS or (after is not None and after.kind in {"verb", "be"})
        ):
            return True
        if unit.kind == "relative" and not (unit.word == "while" and after is not None and after.pos == "VBG"):
            return True
    return False


_OBJECTS = word_set("object pronouns")


def _is_of_group(caption: Caption, phrase: NounPhrase) -> bool:
    """A group of people, or groups, but not a close up of a child; "large group of people" is no sentence's subject."""
    units, before = caption.units, phrase.start - 2
    if before < 0 or units[before + 1].word != "of" or units[before].lemma not in COLLECTIVES:
        return False
    outer = caption.phrase_at.get(before)
    return outer is not None and (outer.core > outer.start or caption.is_plural(outer))


def _has_partner(caption: Caption, verb: int) -> bool:
    units = caption.units
    for place in range(verb + 1, len(units) - 1):
        if (
            units[place].kind == "and"
            and units[place - 1].kind == "verb"
            and verb_lemma(units[place + 1].word) in _VERBS
        ):
            return True  # sing and work: both again, where the tagger took the second for a noun
        phrase = caption.phrase_at.get(place + 1) if units[place].kind == "and" else None
        if phrase is not None and units[phrase.start].word == "another" and is_animate(caption.head_lemma(phrase)):
            return True  # a dog jumping and another dog on the grass
        if phrase is not None and phrase.end < len(units) and units[phrase.end].kind in {"verb", "be"}:
            return is_animate(caption.head_lemma(phrase))
    return False


def _may_be_phrase(caption: Caption, first: NounPhrase, verb: int) -> bool:
    """Whether the sentence may lose its verb: "The girl swinging." and "A man looking." are left unfinished."""
    after = sum(unit.kind != "mark" for unit in caption.units[verb + 1 :])
    return after >= _LEAST_AFTER and caption.units[first.start].word not in {"the", "this", "that", "his", "her"}


def _hides_verb(caption: Caption, participle: int) -> bool:
    """A verb that the tagger took for a noun follows: "a child wearing orange balances on a ledge".

    After what is worn any word that goes on with the sentence may be one.
    """
    units = caption.units
    for place in range(participle + 2, len(units)):
        unit, before = units[place], units[place - 1]
        may_be = unit.kind == "noun" or (unit.kind == "verb" and unit.pos in {"VB", "VBD", "VBN"})
        if may_be and before.kind in {"noun", "adjective"} and verb_lemma(unit.word) in _NOUNS_TOO:
            return True
    later = any(unit.pos == "VBG" and unit.kind == "verb" for unit in units[participle + 1 :])
    if later and units[participle].lemma in {"wear", "hold", "carry"}:
        return True  # "people carrying umbrellas walking": what they do is to walk
    worn = caption.phrase_at.get(participle + 1)
    if units[participle].lemma in {"wear", "hold", "carry"} and worn is not None and worn.end < len(units):
        after = units[worn.end]
        held = units[participle].lemma != "wear" or is_garment(units[worn.head].lemma)
        return not held or not (after.kind in {"preposition", "mark", "and", "relative"} or after.pos == "VBG")
    return units[participle].lemma == "wear" and worn is None


def _participles(caption: Caption) -> Iterator[Proposal]:
    """A bus parked by a fence: a bus that is parked, is parked by a fence; and the other way round."""
    units, first = caption.units, _subject(caption)
    if first is None or first.end + 2 >= len(units) or caption.is_title or _has_clause(units):
        return
    if caption.is_name(first.head) or (first.start > 0 and not _is_of_group(caption, first)):
        return
    be = units[first.end] if units[first.end].word in {"is", "are"} else None
    place = first.end + (1 if be else 0)
    verb, many = units[place], caption.is_plural(first)
    if verb.word not in _LYING or units[place + 1].kind != "preposition" or units[first.head].lemma in COLLECTIVES:
        return
    rest = units[place + 1 :]
    if any(u.kind == "be" or u.pos in {"VBZ", "VBP", "VBD", "MD"} for u in rest) or any(u.kind == "and" for u in rest):
        return
    if be is not None:
        if _may_be_phrase(caption, first, place):
            yield _proposal(be.start, verb.end, verb.word)
    elif first.core > first.start or many:
        is_so = f"{'are' if many else 'is'} {verb.word}"
        if not _hides_verb(caption, place):
            yield _proposal(verb.start, verb.end, is_so)
        if first.core > first.start:
            yield _proposal(verb.start, verb.end, f"{'who' if is_person(units[first.head].lemma) else 'that'} {is_so}")


_LYING = word_set("participles of lying")


def _shortened(caption: Caption) -> Iterator[Proposal]:
    """A dog that is running, people who are seated: the participle says it alone."""
    units = caption.units
    for place in range(1, len(units) - 2):
        relative, be, verb = units[place : place + 3]
        if relative.word not in {"who", "that", "which"} or be.word not in {"is", "are"}:
            continue
        if units[place - 1].kind != "noun" or verb.kind != "verb" or verb.pos not in {"VBG", "VBN"}:
            continue
        if sum(unit.kind == "noun" and _is_somebody(unit.lemma) for unit in units[:place]) > 1:
            continue  # a man with a dog who is jumping
        yield _proposal(relative.start, verb.end, verb.word)


def _is_somebody(noun: str) -> bool:
    return is_animate(noun) and noun not in COLLECTIVES


def _with_who(caption: Caption) -> Iterator[Proposal]:
    """A man holding a bag: a man who is holding a bag. Of somebody whose verb it surely is."""
    units = caption.units
    if any(unit.kind == "relative" or unit.word in {"who", "that"} for unit in units):
        return
    for place in range(1, len(units) - 1):
        unit, phrase = units[place], caption.phrase_at.get(place - 1)
        if unit.pos != "VBG" or unit.kind != "verb" or unit.lemma not in _VERBS or phrase is None:
            continue
        head = units[phrase.head]
        if phrase.head != place - 1 or not is_animate(head.lemma) or head.lemma in COLLECTIVES:
            continue
        if not _is_plain_subject(caption, phrase) or units[place + 1].kind in {"and", "mark"}:
            continue
        be = "are" if caption.is_plural(phrase) else "is"
        who = "who" if is_person(head.lemma) else "that"
        yield _proposal(unit.start, unit.end, f"{who} {be} {unit.word}")


def _there_is(caption: Caption) -> Iterator[Proposal]:
    """A dog with a ball: there is a dog with a ball, a photo of a dog with a ball; and without "there is". For captions
    that have nothing else: a word as common as "a" is drawn last. Which of them is told by the text alone."""
    units, first = caption.units, caption.phrases[0] if caption.phrases else None
    if first is None or len(units) < first.end + _LEAST_AFTER or any(unit.word in _PICTURES for unit in units):
        return
    opening = units[first.start]
    if caption.is_title or units[first.head].lemma in {"number", "couple", "lot", "pair", "variety"}:
        return  # there is a number of cows, or there are?
    quarter = zlib.crc32(caption.text.encode("utf-8", "surrogatepass")) % 4
    there = first.start == 2 and units[0].word == "there" and units[1].word in {"is", "are"} and opening.word != "no"
    if there and quarter < 2:  # else it would be one positive in sixty
        yield _proposal(units[0].start, opening.end, opening.word)
    if first.start or any(unit.kind in {"be", "relative", "pronoun"} or unit.pos in _FINITE for unit in units):
        return
    listed = units[first.end].word in {"and", ","}  # "there is a dog and two cats": is, or are?
    if units[first.end].kind not in {"preposition", "verb"} and not listed:
        return
    if units[first.end].pos in {"VB", "VBN"} and units[first.end].word not in _LYING:
        return  # a verb that the tagger did not know may follow
    many = caption.is_plural(first)
    if opening.word not in {"a", "an"} and not (opening.kind == "number" and many):
        return
    if any(verb_lemma(unit.word) in _NOUNS_TOO and unit.kind == "noun" for unit in units):
        return  # which may be its verb
    if any(one.pos == "NNS" and two.kind == "noun" for one, two in pairwise(units)):
        return  # protesters picket
    is_there = f"there {'are' if many else 'is'}"
    fronts = ("a photo of", "a picture of") * 2 if listed else (is_there, is_there, "a photo of", "a picture of")
    front = fronts[quarter]
    yield _proposal(opening.start, opening.end, f"{front} {opening.word}")


_FINITE = frozenset(("VBZ", "VBP", "VBD", "MD"))
_PICTURES = word_set("pictures of anything")


def _is_plain_subject(caption: Caption, phrase: NounPhrase) -> bool:
    """At the front, or of the group that stands there, or counted there; with an article, so that it can be one of
    several: "man who is holding" is no English."""
    units = caption.units
    many = caption.is_plural(phrase)
    counted = phrase.core > phrase.start
    if not many and units[phrase.start].word not in {"a", "an", "the"}:
        return False
    if phrase.start == 0:
        return counted  # "dogs that are racing" speaks of dogs in general
    if units[phrase.start - 1].word == "of" and phrase.start > 1:
        outer = caption.phrase_at.get(phrase.start - 2)
        return outer is not None and outer.start == 0 and units[outer.head].lemma in COLLECTIVES and many
    return phrase.start == 2 and units[0].word == "there"


def _subject(caption: Caption) -> NounPhrase | None:
    """The first noun phrase; of "a group of people" the people."""
    if not caption.phrases:
        return None
    first, units = caption.phrases[0], caption.units
    inner = caption.phrase_at.get(first.end + 1)
    if first.start == 0 and units[first.head].lemma in COLLECTIVES and inner is not None:
        return inner if units[first.end].word == "of" and caption.is_plural(inner) else None
    return first


def _is_of(caption: Caption, first: NounPhrase, place: int) -> bool:
    """The verb is the first noun's: it follows it, or what is worn or had ("a man in a suit holding a bag")."""
    if place == first.end:
        return True
    units = caption.units
    inner = [phrase for phrase in caption.phrases if first.end <= phrase.start < place]
    if len(inner) != 1 or units[first.end].word not in {"in", "with", "on"} or inner[0].start != first.end + 1:
        return False
    lifeless = not is_animate(caption.head_lemma(inner[0])) and is_animate(caption.head_lemma(first))
    if inner[0].end != place or not lifeless:
        return False
    alike = caption.is_plural(inner[0]) == caption.is_plural(first)
    return alike or units[place].pos == ("VBP" if caption.is_plural(first) else "VBZ")  # pigtails do not "plays"


def _is_alone(units: tuple[Unit, ...], place: int, pos: str) -> bool:
    """No second verb is joined to it, which would have to change too."""
    unit = units[place]
    if unit.pos != pos or unit.lemma not in _VERBS or unit.word in {"laying", "lays", "lay"}:
        return False
    if units[place - 1].word in _NOT_AFTER:
        return False
    if unit.lemma == "look" and place + 1 < len(units) and units[place + 1].kind in {"adjective", "adverb", "verb"}:
        return False  # looks surprised
    if unit.lemma == "look" and all(after.kind == "mark" for after in units[place + 1 :]):
        return False  # The player looks.
    after_it = units[place + 1] if place + 1 < len(units) else None
    if after_it is not None and (
        after_it.pos in {"VBN", "VBG"} or (unit.lemma in {"go", "try"} and after_it.kind == "to")
    ):
        return False  # hanging attached to a line; are going to go
    if unit.lemma == "stand" and after_it is not None and after_it.word in {"up", "out"}:
        return False  # who stands up has been sitting
    for after in range(place + 1, len(units) - 1):
        joined = units[after].word in _JOINING or units[after].kind == "and"
        following = units[after + 1]
        if joined and (following.kind in {"verb", "be"} or following.pos in {"RB"}):
            return False
        if joined and verb_lemma(following.word) in _VERBS and following.word != following.lemma:
            return False  # "and balances": taken for a noun
    return True


def _finite(lemma: str, many: bool) -> str:
    return lemma if many else inflect(lemma, "VBZ")


def _proposal(start: int, end: int, to: str) -> Proposal:
    return Proposal(start, end, to, "action", Alternations.name, float(count(to.split()[-1])))
