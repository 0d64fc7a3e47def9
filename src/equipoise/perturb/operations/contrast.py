"""Pairs of the same words: "a red car, not a blue one" is true, "a blue car, not a red one" is false.

A negative that replaces a quality, a number or an action, and of which the judge is sure, gives both: its two words
exclude each other. Only the place of "not" tells the texts apart. This is no exchange of roles: what the positive
denies is not in the photo. No things: readers of "a zebra, not a giraffe" ask why anybody would say so.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from equipoise.language.caption import Caption, Kept, NounPhrase
from equipoise.language.forms import article_for, write_edit
from equipoise.language.vocabulary import SECTIONS, members, word_set
from equipoise.perturb.dial import Dial, accepted, rate_of
from equipoise.perturb.operations.replace import (
    BOUNDED,
    UNKNOWN,
    dial_for,
    is_bounded,
    judged_of,
    noun_kind,
    with_doubt,
)
from equipoise.perturb.recipe import Candidate, EditCheck, Kind, Made, Proposal, Refused, Sources, edited, replaced

SHARE = 0.5  # of the captions; with the swaps, one in eleven then has a negative that replaces no word
SURE = 0.95  # how likely readers must be to accept the replaced word
_LONGEST = 22  # words and marks; more are hard to read with a contrast in them
_NUMBERS = word_set("number words")
_DENIALS = frozenset(("not", "n't", "n’t", "never", "no", "nobody", "without"))
WordsAfterNot = tuple[str, str] | None  # the old and the new word as they follow "not": "a red one", "a blue one"


def contrast(
    checks: Sequence[EditCheck], caption: Caption, sources: Sources, rng: random.Random, kind: Kind, dial: Dial
) -> Made:
    """The positive's slot draws the pair; the negative's slot, which comes later, takes its other half."""
    drawn = _PAIRS.get(caption)
    if kind == "positive" or drawn is None:
        drawn = _PAIRS.put(caption, _draw(caption, sources, rng, dial, checks))
    yield drawn if isinstance(drawn, Refused) else drawn[kind]


_PAIRS: Kept[dict[Kind, Candidate] | Refused] = Kept()


def _draw(
    caption: Caption, sources: Sources, rng: random.Random, dial: Dial, checks: Sequence[EditCheck]
) -> dict[Kind, Candidate] | Refused:
    caption_dial, text = dial_for(caption, dial), caption.text
    if rng.random() >= SHARE:
        return Refused("only some captions are drawn to get a contrast")
    if caption_dial is None or is_bounded(text):
        return Refused(UNKNOWN if caption_dial is None else BOUNDED)
    if not (caption_dial.allows("contrast positive") and caption_dial.allows("contrast negative")):
        return Refused("readers accept contrasts less often than asked")
    hard = caption.is_title or '"' in text or not _DENIALS.isdisjoint(caption.words) or text.count(",") > 1
    for proposal in () if hard or len(caption.units) > _LONGEST else _sure(caption, sources, rng):
        if pair := _pair(caption, proposal):
            every = replaced(text, "negative", proposal), *pair.values()
            if not any(check(caption, candidate) for candidate in every for check in checks):
                return pair
    return Refused("no word has a sure opposite where a contrast would read well")


def _sure(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Proposal]:
    """Words that readers are likely enough to accept; one target after the other, in a drawn order."""
    judged = judged_of(caption, sources)
    for target in rng.sample(SECTIONS[1:3], 2):
        chances = [(proposal, row[0]) for tier in judged[target] for proposal, row in tier if proposal.by != "captions"]
        for proposal, chance in rng.sample(chances, len(chances)):
            likely = "people" not in (kind := noun_kind(proposal, caption.text)) and accepted(kind, chance) >= SURE
            if likely and accepted(with_doubt(caption, proposal), chance) >= SURE:  # doubts take long
                yield proposal


def _pair(caption: Caption, proposal: Proposal) -> dict[Kind, Candidate] | None:
    """The pair; None where it would read badly: in a list, before "of", in a compound, with an uncountable noun."""
    text, units, place = caption.text, caption.units, caption.units_of((proposal.start, proposal.end))
    if place is None or place[1] != place[0] + 1 or " " in proposal.to:
        return None
    at, phrase = place[0], caption.phrase_at.get(place[0])
    if proposal.target == "action":
        down = at + 1 < len(units) and units[at + 1].kind == "preposition" and at + 2 not in caption.phrase_at
        last, denied = at, None if phrase or down or units[at].pos != "VBG" else (units[at].word, proposal.to.lower())
    elif phrase is None or (phrase.start and units[phrase.start - 1].kind in {"and", "mark"}):
        return None
    else:
        last, denied = phrase.head, _of_quality(caption, phrase, at, proposal.to.lower())
    if denied is None or not _can_pause(caption, last + 1):
        return None
    end, wrong = units[last].end, write_edit(text, proposal.start, proposal.end, proposal.to)
    comma = "," if text[end:].strip(" .") else ""
    halves: tuple[tuple[Kind, str, int, str], ...] = (
        ("positive", text, proposal.start, denied[1]),
        ("negative", wrong, proposal.end + len(wrong) - len(text) - len(proposal.to), denied[0]),
    )
    pair: dict[Kind, Candidate] = {}
    for kind, said, start, word in halves:
        stop = end + len(said) - len(text)
        to = f"{said[start:stop]}, not {word}{comma}"
        new = said[:start] + to + said[stop:]
        candidate = edited(text, kind, "contrast", proposal.target, (proposal.start, end), to, proposal.by, new)
        pair[kind] = candidate._replace(expected=rate_of(f"contrast {kind}"))
    return pair


def _can_pause(caption: Caption, place: int) -> bool:
    """Whether the caption may pause before this unit: its end, a verb, a preposition other than "of"."""
    rest = caption.units[place:]
    goes_on = rest and rest[0].kind in {"verb", "be", "preposition"} and rest[0].text[0].isalpha()
    return [unit.word for unit in rest] in ([], ["."]) or (bool(goes_on) and rest[0].word != "of")


def _of_quality(caption: Caption, phrase: NounPhrase, at: int, new: str) -> WordsAfterNot:
    units, old, first = caption.units, caption.units[at].word, caption.units[phrase.start].word
    many = units[phrase.head].pos == "NNS"
    if at == phrase.head or any(unit.word == "and" or unit.pos == "NNS" for unit in units[phrase.start : phrase.head]):
        return None  # black and white, four giraffes tower
    if old in _NUMBERS:
        whole = at and units[at - 1].word == "of"  # two out of three dogs
        return (old, new) if at == phrase.start and not whole and "one" not in (old, new) else None
    if many or caption.is_plural(phrase):
        return (f"{old} ones", f"{new} ones") if many and first != "the" else None
    counted = first in {"a", "an"} and units[phrase.head].lemma not in members("@mass")
    return (f"{article_for(old)} {old} one", f"{article_for(new)} {new} one") if counted else None
