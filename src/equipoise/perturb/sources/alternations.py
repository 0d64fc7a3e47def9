"""The same verb in another form that says the same: "a man riding a horse", "a man rides", "a man is riding".

Captions use all three for what goes on in a photo. Only the verb of the caption's first noun, only one such verb, and
only verbs of what is done or of how something lies: there the forms mean the same in a caption.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase, Unit
from equipoise.perturb.english.forms import inflect
from equipoise.perturb.english.noun_classes import is_animate
from equipoise.perturb.english.word_lists import Section, count
from equipoise.perturb.sources.base import Proposal

_VERBS = frozenset(
    "sit stand lie ride hold walk run play eat fly look wear talk watch jump swim sleep smile laugh carry push pull "
    "throw catch hit swing ski surf skate skateboard snowboard drive travel pose wait work cook cut read drink graze "
    "hang rest lean climb cross chase lead feed pet brush wash paddle float perform kick hug kiss dance sing point "
    "stare gaze reach roll bite chew lick sniff dig splash slide race leap type use speak chat gather perch crouch "
    "kneel squat relax nap grin wave cheer march hike cycle jog wade dive pedal grind dribble bat pitch blow clean fix "
    "prepare serve draw paint make move cover show display take try attempt enjoy get go come head pass surround line "
    "fill contain feature include approach leave enter exit board stick peer peek sniff nuzzle groom browse shop "
    "practice compete celebrate participate".split()
)
_BREAKS = frozenset(("relative", "pronoun"))
_NOT_AFTER = frozenset("to be being been can will could may might must not have had".split())
_JOINING = frozenset(("and", ",", "or", ";", "."))


class Alternations:
    name = "rules"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        if target == "action":
            yield from _alternations(caption)

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return iter(())


def _alternations(caption: Caption) -> Iterator[Proposal]:
    units = caption.units
    first = _subject(caption)
    if (
        first is None
        or (first.start > 0 and units[first.start - 1].word != "of")
        or caption.is_name(first.head)
        or any(u.kind in _BREAKS for u in units)
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
    if units[first.head].lemma in COLLECTIVES or not own:
        return
    unit = units[place]
    if (
        unit.kind == "be"
        and unit.word in {"is", "are"}
        and place + 1 < len(units)
        and _is_alone(units, place + 1, "VBG")
    ):
        verb = units[place + 1]
        yield _proposal(unit.start, verb.end, verb.word)
        yield _proposal(unit.start, verb.end, _finite(verb.lemma, many))
    elif not finite and _is_alone(units, place, "VBG"):
        yield _proposal(unit.start, unit.end, _finite(unit.lemma, many))
        yield _proposal(unit.start, unit.end, f"{'are' if many else 'is'} {unit.word}")
    elif unit.pos == ("VBP" if many else "VBZ") and _is_alone(units, place, unit.pos):
        going = inflect(unit.lemma, "VBG")
        yield _proposal(unit.start, unit.end, going)
        yield _proposal(unit.start, unit.end, f"{'are' if many else 'is'} {going}")


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
    if len(inner) != 1 or units[first.end].word not in {"in", "with"} or inner[0].start != first.end + 1:
        return False
    lifeless = not is_animate(caption.head_lemma(inner[0])) and is_animate(caption.head_lemma(first))
    return inner[0].end == place and lifeless and caption.is_plural(inner[0]) == caption.is_plural(first)


def _is_alone(units: tuple[Unit, ...], place: int, pos: str) -> bool:
    """No second verb is joined to it, which would have to change too."""
    unit = units[place]
    if unit.pos != pos or unit.lemma not in _VERBS or unit.word in {"laying", "lays", "lay"}:
        return False
    if units[place - 1].word in _NOT_AFTER:
        return False
    for after in range(place + 1, len(units) - 1):
        joined = units[after].word in _JOINING or units[after].kind == "and"
        if joined and (units[after + 1].kind in {"verb", "be"} or units[after + 1].pos in {"RB"}):
            return False
    return True


def _finite(lemma: str, many: bool) -> str:
    return lemma if many else inflect(lemma, "VBZ")


def _proposal(start: int, end: int, to: str) -> Proposal:
    return Proposal(start, end, to, "action", Alternations.name, float(count(to.split()[-1])))
