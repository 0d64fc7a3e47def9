"""Words that are true or false of a photo by its other captions.

"A bird on a branch": where another caption says "an owl", the owl is a positive and a parrot a negative; of another
photo it is the other way round. So the same substitution is right in one place and wrong in the next, and the words
alone do not show which. A kind of thing (data/kinds.txt), or its colour. Without other captions there is nothing here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from equipoise.language.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.language.forms import noun_lemma
from equipoise.language.plausibility import FUR, seen_pair
from equipoise.language.vocabulary import Kinds, Section, count, kinds, members, word_list, word_set
from equipoise.language.wordnet import is_animate, is_person, is_thing
from equipoise.perturb.recipe import Proposal, Source

_COLOURS = tuple(tuple(line.split()) for line in word_list("colours of one name"))
GROUP_OF = {colour: number for number, group in enumerate(_COLOURS) for colour in group}
ALIKE = frozenset(  # colours that people mix up in a photo, by their groups
    frozenset(GROUP_OF[colour] for colour in pair.split()) for pair in word_list("colours mixed up")
)
_COLOURLESS = word_set("colourless things")


class OtherCaptions(Source):
    """Kinds and colours that the other captions name."""

    name = "captions"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        yield from _proposals(caption, target, true=True)

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        yield from _proposals(caption, target, true=False)


def _proposals(caption: Caption, target: Section, true: bool) -> Iterator[Proposal]:
    if not caption.others or target not in {"object", "attribute"}:
        return
    if target == "attribute" and "black and white" in caption.text.lower().replace("-", " "):
        return  # a photo without colours
    if target == "attribute" and caption.other_words.isdisjoint(GROUP_OF):
        return
    for phrase in caption.phrases:
        head = caption.units[phrase.head]
        if target == "object":
            known = kinds().get(head.word) or kinds().get(head.lemma, ())
            if known and is_free(caption, phrase):
                yield from _kinds(caption, phrase, known, true)
        elif head.lemma in caption.other_words and is_free(caption, phrase):
            yield from _colours(caption, phrase, true)


def is_free(caption: Caption, phrase: NounPhrase) -> bool:
    """The only phrase with this noun, not part of a longer name, and nothing that stands for many."""
    units, head = caption.units, caption.units[phrase.head]
    if head.lemma in COLLECTIVES or caption.is_name(phrase.head) or head.kind != "noun":
        return False
    after = caption.unit_at(phrase.end)
    if after is not None and (after.pos == "POS" or after.kind == "noun" or after.word in {"-", "'s"}):
        return False
    inside = {unit.word for unit in units[phrase.start : phrase.end]}
    if not inside.isdisjoint(("other", "another", "one", "no", "each", "every")):
        return False
    return sum(unit.lemma == head.lemma for unit in units) == 1


def _kinds(caption: Caption, phrase: NounPhrase, known: Kinds, true: bool) -> Iterator[Proposal]:
    """Kinds of a single thing: of several, some may be of another kind. No people: captions guess men and women."""
    head = caption.units[phrase.head]
    if caption.is_plural(phrase) or not _MANY.isdisjoint(caption.other_words):
        return  # which of them is meant is not known
    before = caption.units[phrase.head - 1] if phrase.head > phrase.core else None
    if before is not None and (before.kind == "noun" or any(before.word in n.split() for g in known for n in g)):
        return  # a police dog, a military uniform
    said = [group for group in known if any(noun_lemma(name) in caption.other_words for name in group)]
    if len(said) != 1 or any(noun_lemma(name) in caption.words for group in known for name in group):
        return
    bare = phrase.start == phrase.core and head.lemma in members("@mass")
    for group in known:
        if (group is said[0]) != true or (not true and not set(group).isdisjoint(said[0])):
            continue
        for name in group:
            if bare and name not in members("@mass"):
                continue  # she holds food, but not "holds hot dog"
            if not true or noun_lemma(name) in caption.other_words:
                yield Proposal(head.start, head.end, name, "object", OtherCaptions.name, float(count(name)))


_MANY = word_set("words for several")


def _colours(caption: Caption, phrase: NounPhrase, true: bool) -> Iterator[Proposal]:
    units, head = caption.units, caption.units[phrase.head]
    if phrase.start == phrase.core and not caption.is_plural(phrase):
        return
    if head.lemma in _COLOURLESS or is_person(head.lemma) or not is_thing(head.lemma):
        return
    inside = {unit.word for unit in units[phrase.start : phrase.end]}
    if not inside.isdisjoint(GROUP_OF) or "and" in inside:
        return
    if any(unit.word not in _BEFORE_COLOUR for unit in units[phrase.core : phrase.head]):
        return  # a police car: it is not known which part is red
    form = head.word if caption.is_plural(phrase) else None
    named = [colour for text in caption.others for colour in _colours_of(text, head.lemma, form)]
    if not named or None in named or len({GROUP_OF[c] for c in named if c}) != 1:
        return
    said = named[0]
    if said in caption.words:
        return  # a dog with black fur
    place = next((i for i in range(phrase.core, phrase.head + 1) if units[i].word not in _BEFORE_COLOUR), phrase.head)
    start, old = units[place].start, caption.text[units[place].start : head.end]
    for number, group in enumerate(_COLOURS):
        if (number == GROUP_OF[said or ""]) != true or frozenset((number, GROUP_OF[said or ""])) in ALIKE:
            continue
        for colour in (said,) if true else group[:1]:
            if colour and is_animate(head.lemma) and colour not in FUR:
                continue
            if colour and seen_pair("modifier", colour, head.lemma, free=not is_animate(head.lemma)):
                to, weight = f"{colour} {old}", float(count(colour))
                yield Proposal(start, head.end, to, "attribute", OtherCaptions.name, weight)


_BEFORE_COLOUR = word_set("before a colour")


@functools.lru_cache(maxsize=4096)
def _colours_of(text: str, noun: str, form: str | None = None) -> tuple[str | None, ...]:
    """The colours right before a noun in a text (in this form); None for two at once ("black and white cat")."""
    words = re.findall(r"[a-z'-]+", text.lower())
    named: list[str | None] = []
    for place, word in enumerate(words):
        if form is not None and noun_lemma(word) == noun and word != form:
            named.append(None)  # one of them is red
        elif noun_lemma(word) == noun and place and not _goes_on(words[place + 1 : place + 2]):
            near = words[max(0, place - 4) : place]
            colours = [w for w in near if w in GROUP_OF]
            if near[-1:] and near[-1] in GROUP_OF and len(colours) == 1 and near[-2:-1] not in (["light"], ["dark"]):
                named.append(near[-1])
            elif colours:
                named.append(None)
    return tuple(named)


def _goes_on(after: list[str]) -> bool:
    """Whether the noun may be part of a longer name: a yellow bubble | wand."""
    return bool(after) and not after[0].endswith(("ing", "ed", "s")) and is_thing(after[0])
