"""Words from the other captions of the same photo: what these say is true of it, what excludes that is not.

"A bird on a branch": where another caption says "an owl", the owl is a positive and a parrot a negative; of another
photo it is the other way round. So the same substitution is right in one place and wrong in the next, and nobody can
tell by the words alone. A kind of thing (data/kinds.txt), or its colour. Without other captions there is nothing here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.perturb.english.evidence import FUR, seen_pair
from equipoise.perturb.english.forms import inflect, noun_lemma
from equipoise.perturb.english.noun_classes import is_animate, is_person, is_thing
from equipoise.perturb.english.word_lists import Section, count, members, read_text
from equipoise.perturb.sources.base import Proposal

_COLOURS = (  # those in one group are called by each other's names
    ("white", "cream", "ivory"), ("black",), ("red",), ("blue",), ("green",), ("yellow", "gold", "golden", "blonde"),
    ("brown", "tan"), ("orange",), ("pink",), ("purple",), ("gray", "grey", "silver"),
)  # fmt: skip
_GROUP_OF = {colour: number for number, group in enumerate(_COLOURS) for colour in group}
_ALIKE = frozenset(  # colours that people mix up in a photo
    frozenset(pair)
    for pair in (
        (0, 10),
        (1, 10),
        (2, 7),
        (2, 8),
        (2, 6),
        (5, 7),
        (6, 7),
        (1, 6),
        (3, 9),
        (8, 9),
        (5, 6),
        (0, 5),
        (4, 3),
    )
)
_COLOURLESS = frozenset(
    "person people man woman boy girl child kid group couple crowd player surfer skier water snow sky air day night "
    "picture photo image view street road field grass beach ocean room kitchen bathroom hair background track path "
    "trail pool court sidewalk dirt hill rock mountain sand floor ground lake river".split()
)


class OtherCaptions:
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
    if target == "attribute" and caption.other_words.isdisjoint(_GROUP_OF):
        return
    for phrase in caption.phrases:
        head = caption.units[phrase.head]
        if target == "object":
            if (head.word in kinds() or head.lemma in kinds()) and _is_free(caption, phrase):
                yield from _kinds(caption, phrase, true)
        elif head.lemma in caption.other_words and _is_free(caption, phrase):
            yield from _colours(caption, phrase, true)


def _is_free(caption: Caption, phrase: NounPhrase) -> bool:
    """The only phrase with this noun, not part of a longer name, and nothing that stands for many."""
    units, head = caption.units, caption.units[phrase.head]
    if head.lemma in COLLECTIVES or caption.is_name(phrase.head) or head.kind != "noun":
        return False
    after = units[phrase.end] if phrase.end < len(units) else None
    if after is not None and (after.pos == "POS" or after.kind == "noun" or after.word in {"-", "'s"}):
        return False
    if any(
        unit.word in {"other", "another", "one", "no", "each", "every"} for unit in units[phrase.start : phrase.end]
    ):
        return False
    return sum(unit.lemma == head.lemma for unit in units) == 1


def _kinds(caption: Caption, phrase: NounPhrase, true: bool) -> Iterator[Proposal]:
    head = caption.units[phrase.head]
    if phrase.head > phrase.core and caption.units[phrase.head - 1].kind == "noun":
        return  # a police dog
    if is_person(head.lemma) and not caption.words.isdisjoint({"his", "her", "he", "she", "him", "hers"}):
        return  # a pronoun tells already
    if is_person(head.lemma) and not caption.words.isdisjoint({"female", "male", "woman", "man", "lady"}):
        return  # a female player
    known = kinds().get(head.word) or ({} if head.word == "people" else kinds()).get(head.lemma, ())
    said = [group for group in known if any(noun_lemma(name) in caption.other_words for name in group)]
    if len(said) != 1 or any(noun_lemma(name) in caption.words for group in known for name in group):
        return
    many = caption.is_plural(phrase)
    if not many and not _MANY.isdisjoint(caption.other_words):
        return  # which of them is meant is not known
    bare = not many and phrase.start == phrase.core and head.lemma in members("@mass")
    for group in known:
        if (group is said[0]) != true or (not true and not set(group).isdisjoint(said[0])):
            continue
        for name in group:
            if not true or name in caption.other_words:
                to = inflect(name, "NNS") if many and noun_lemma(name) == name else name
                if bare and to not in members("@mass"):
                    continue  # she holds food, but not "holds hot dog"
                yield Proposal(head.start, head.end, to, "object", OtherCaptions.name, float(count(to)))


_MANY = frozenset("two three four five several many some other another group people couple both others".split())


def _colours(caption: Caption, phrase: NounPhrase, true: bool) -> Iterator[Proposal]:
    units, head = caption.units, caption.units[phrase.head]
    if phrase.start == phrase.core and not caption.is_plural(phrase):
        return
    if head.lemma in _COLOURLESS or is_person(head.lemma) or not is_thing(head.lemma):
        return
    inside = {unit.word for unit in units[phrase.start : phrase.end]}
    if any(unit.kind == "adjective" and unit.word not in _BEFORE_COLOUR for unit in units[phrase.core : phrase.head]):
        return
    if not inside.isdisjoint(_GROUP_OF) or "and" in inside:
        return
    found = [colour for text in caption.others for colour in _colours_of(text, head.lemma)]
    if not found or None in found or len({_GROUP_OF[c] for c in found if c}) != 1:
        return
    mine = found[0]
    place = next((i for i in range(phrase.core, phrase.head + 1) if units[i].word not in _BEFORE_COLOUR), phrase.head)
    start, old = units[place].start, caption.text[units[place].start : head.end]
    for number, group in enumerate(_COLOURS):
        if (number == _GROUP_OF[mine or ""]) != true or frozenset((number, _GROUP_OF[mine or ""])) in _ALIKE:
            continue
        for colour in (mine,) if true else group[:1]:
            if colour and is_animate(head.lemma) and colour not in FUR:
                continue
            if colour and seen_pair("modifier", colour, head.lemma, free=not is_animate(head.lemma)):
                yield Proposal(
                    start, head.end, f"{colour} {old}", "attribute", OtherCaptions.name, float(count(colour))
                )


_BEFORE_COLOUR = frozenset("large big small little tiny huge tall short long old young new giant".split())


@functools.lru_cache(maxsize=4096)
def _colours_of(text: str, noun: str) -> tuple[str | None, ...]:
    """The colours right before a noun in a text; None for two at once ("black and white cat")."""
    words = re.findall(r"[a-z'-]+", text.lower())
    found: list[str | None] = []
    for place, word in enumerate(words):
        if noun_lemma(word) == noun and place and not _goes_on(words[place + 1 : place + 2]):
            near = words[max(0, place - 4) : place]
            colours = [w for w in near if w in _GROUP_OF]
            if near[-1:] and near[-1] in _GROUP_OF and len(colours) == 1 and near[-2:-1] not in (["light"], ["dark"]):
                found.append(near[-1])
            elif colours:
                found.append(None)
    return tuple(found)


def _goes_on(after: list[str]) -> bool:
    """a yellow bubble | wand: the noun may be part of a longer name."""
    return bool(after) and not after[0].endswith(("ing", "ed", "s")) and is_thing(after[0])


@functools.cache
def kinds() -> dict[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for raw in read_text("kinds.txt").splitlines():
        line = raw.strip()
        if line and not line.startswith("#"):
            name, _, rest = line.partition(":")
            if "!" not in rest:
                groups = tuple(tuple(word.strip() for word in group.split("/")) for group in rest.split(","))
                found[name.strip()] = groups
    return found
