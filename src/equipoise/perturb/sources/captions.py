"""Words that are true or false of a photo by its other captions.

"A bird on a branch": where another caption says "an owl", the owl is a positive and a parrot a negative; of another
photo it is the other way round. So the same substitution is right in one place and wrong in the next, and nobody can
tell by the words alone. A kind of thing (data/kinds.txt), or its colour. Without other captions there is nothing here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.perturb.english.forms import inflect, noun_lemma
from equipoise.perturb.english.plausibility import FUR, seen_pair
from equipoise.perturb.english.vocabulary import Kinds, Section, count, kinds, members, word_list, word_map, word_set
from equipoise.perturb.english.wordnet import is_animate, is_person, is_thing
from equipoise.perturb.recipe import Proposal

HE, SHE = frozenset(("he", "his", "him", "himself")), frozenset(("she", "her", "hers", "herself"))
MALE, FEMALE = word_set("male nouns"), word_set("female nouns")

_COLOURS = tuple(tuple(line.split()) for line in word_list("colours of one name"))
GROUP_OF = {colour: number for number, group in enumerate(_COLOURS) for colour in group}
ALIKE = frozenset(  # colours that people mix up in a photo, by their groups
    frozenset(GROUP_OF[colour] for colour in pair.split()) for pair in word_list("colours mixed up")
)
_COLOURLESS = word_set("colourless things")


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
    if target == "attribute" and caption.other_words.isdisjoint(GROUP_OF):
        return
    for phrase in caption.phrases:
        head = caption.units[phrase.head]
        if target == "object":
            for listed in (kinds(), kinds("roles.txt")):
                known = listed.get(head.word) or ({} if head.word == "people" else listed).get(head.lemma, ())
                if not known or caption.other_words.isdisjoint(_names_of(known)):
                    continue
                if is_free(caption, phrase) and _is_of_ground(caption, phrase):
                    yield from _kinds(caption, phrase, known, true)
        elif head.lemma in caption.other_words and is_free(caption, phrase):
            yield from _colours(caption, phrase, true)


@functools.cache
def _names_of(known: Kinds) -> frozenset[str]:
    lemmas = {noun_lemma(name) for group in known for name in group}
    return frozenset(lemmas | {inflect(lemma, "NNS") for lemma in lemmas})


def is_free(caption: Caption, phrase: NounPhrase) -> bool:
    """The only phrase with this noun, not part of a longer name, and nothing that stands for many."""
    units, head = caption.units, caption.units[phrase.head]
    if head.lemma in COLLECTIVES or caption.is_name(phrase.head) or head.kind != "noun":
        return False
    after = units[phrase.end] if phrase.end < len(units) else None
    if after is not None and (after.pos == "POS" or after.kind == "noun" or after.word in {"-", "'s"}):
        return False
    inside = {unit.word for unit in units[phrase.start : phrase.end]}
    if not inside.isdisjoint(("other", "another", "one", "no", "each", "every")):
        return False
    return sum(unit.lemma == head.lemma for unit in units) == 1


def _is_of_ground(caption: Caption, phrase: NounPhrase) -> bool:
    """Which water, which ground: only of where something is, "in the water"; a glass of water is no lake."""
    if caption.units[phrase.head].lemma not in {"water", "ground"}:
        return True
    plain = phrase.head == phrase.core == phrase.start + 1 and caption.units[phrase.start].word == "the"
    before = caption.units[phrase.start - 1].word if plain and phrase.start else ""
    return before in {"in", "into", "through", "near", "by", "on", "across", "along", "out of", "from", "next to"}


def _kinds(caption: Caption, phrase: NounPhrase, known: Kinds, true: bool) -> Iterator[Proposal]:
    head = caption.units[phrase.head]
    before = caption.units[phrase.head - 1] if phrase.head > phrase.core else None
    if before is not None and before.word in {"male", "female"}:
        return  # a female tennis player is no female woman
    if before is not None and (before.kind == "noun" or any(before.word in n.split() for g in known for n in g)):
        return  # a police dog, a military uniform
    if is_person(head.lemma) and not caption.words.isdisjoint(_TELLING):
        return  # a pronoun tells already; a female player
    gear = _GEAR.get(head.lemma)
    if gear is not None and gear.isdisjoint(caption.words):
        return  # a skier in the air: that it is one would be lost
    many = caption.is_plural(phrase)
    said = [group for group in known if any(_is_named(caption, name, many) for name in group)]
    if len(said) != 1 or any(noun_lemma(name) in caption.words for group in known for name in group):
        return
    if many and any(_is_mixed(caption, noun_lemma(name)) for name in said[0]):
        return  # one says women, another a man and a woman
    if any(_has_gear_of_others(caption, name) for name in said[0]):
        return  # one says a skier, another a snowboard
    if many and not any(_is_as_many(caption, phrase, name) for name in said[0]):
        return  # of many people some are women
    if not many and not _MANY.isdisjoint(caption.other_words):
        return  # which of them is meant is not known
    if not true and not _is_sure(caption, head.lemma, said[0], many):
        return
    bare = not many and phrase.start == phrase.core and head.lemma in members("@mass")
    for group in known:
        if (group is said[0]) != true or (not true and not set(group).isdisjoint(said[0])):
            continue
        for name in group:
            if not true and is_person(head.lemma) and (not _may_be_instead(name) or _has_other_gear(caption, name)):
                continue
            if not true or _is_named(caption, name, many):
                to = inflect(name, "NNS") if many and noun_lemma(name) == name else name
                if bare and to not in members("@mass"):
                    continue  # she holds food, but not "holds hot dog"
                to = _CAPITAL.get(to, to)
                yield Proposal(head.start, head.end, to, "object", OtherCaptions.name, float(count(to)))


def _has_other_gear(caption: Caption, role: str) -> bool:
    """A skier on a snowboard: what the caption goes on to say belongs to somebody else."""
    mine = _GEAR.get(noun_lemma(role), frozenset())
    return noun_lemma(role) in _OWN and any(not (gear - mine).isdisjoint(caption.words) for gear in _OWN.values())


def _may_be_instead(name: str) -> bool:
    """A skier is no surfer; but a climber may be a runner at other times, and a hiker a biker."""
    lemma = noun_lemma(name)
    return lemma in _OWN or lemma in _SEXES | {"lady", "guy", "gentleman"} or lemma.endswith(" player")


def _is_sure(caption: Caption, general: str, group: tuple[str, ...], many: bool) -> bool:
    """What another caption calls somebody excludes the rest: two must say man or woman, and who hikes may bike."""
    if not is_person(general):
        return True
    if not set(map(noun_lemma, group)).isdisjoint(_SEXES):
        forms = {inflect(noun_lemma(name), "NNS") if many else noun_lemma(name) for name in group}
        said = sum(not forms.isdisjoint(re.findall(r"[a-z'-]+", text.lower())) for text in caption.others)
        return said >= min(2, len(caption.others))
    return any(noun_lemma(name) in _OWN for name in group)


_TELLING = word_set("words that tell the sex")
_SEXES = frozenset(("man", "woman", "boy", "girl"))
_CAPITAL = {"german shepherd": "German shepherd", "labrador": "Labrador"}


def _is_named(caption: Caption, name: str, many: bool) -> bool:
    """Of several things several must be named: of two dogs one may be a puppy."""
    lemma = noun_lemma(name)
    return (inflect(lemma, "NNS") if many else lemma) in caption.other_words


def _is_mixed(caption: Caption, name: str) -> bool:
    """Whether others name somebody of the other sex, or couples."""
    other = (FEMALE if name in MALE else MALE if name in FEMALE else frozenset[str]()) - _NOT_PEOPLE
    return bool(other) and (
        not other.isdisjoint(caption.other_words) or any(_COUPLE.search(text.lower()) for text in caption.others)
    )


_NOT_PEOPLE = frozenset(("groom", "king", "queen"))  # who grooms a horse; a king size bed
_COUPLE = re.compile(r"\bcouples?\b(?! of)")


def _has_gear_of_others(caption: Caption, role: str) -> bool:
    mine = _GEAR.get(noun_lemma(role))
    if mine is None:
        return False
    words = caption.words | caption.other_words
    return any(not (_OWN[name] - mine).isdisjoint(words) for name in _OWN if name != noun_lemma(role))


# What tells who somebody is by what is done: the name may be lost where this stands, and is doubtful beside another's.
_OWN = {role: frozenset(gear.split(" + ")) for role, gear in word_map("own gear").items()}
_GEAR = {role: frozenset(gear.split(" + ")) for role, gear in word_map("gear").items()}


def _is_as_many(caption: Caption, phrase: NounPhrase, name: str) -> bool:
    """Whether another caption names as many of the kind: "two people" and "two men", a group and a group."""
    units = caption.units
    counted = [unit.word for unit in units[phrase.start : phrase.core] if unit.kind == "number"]
    if not counted and phrase.start > 1 and units[phrase.start - 1].word == "of":
        counted = [units[phrase.start - 2].word.split()[-1]]
    if len(counted) != 1:
        return False
    many = "|".join(_AS_MANY.get(counted[0], (counted[0],)))
    kind = inflect(noun_lemma(name), "NNS")
    return any(re.search(rf"\b(?:{many})(?: of)?(?: \w+)? {kind}\b", text.lower()) for text in caption.others)


_AS_MANY = {name: tuple(listed.split()) for name, listed in word_map("names of as many").items()}
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
        return  # a police car: what of it is red is not known
    form = head.word if caption.is_plural(phrase) else None
    found = [colour for text in caption.others for colour in _colours_of(text, head.lemma, form)]
    if not found or None in found or len({GROUP_OF[c] for c in found if c}) != 1:
        return
    mine = found[0]
    if mine in caption.words:
        return  # a dog with black fur
    place = next((i for i in range(phrase.core, phrase.head + 1) if units[i].word not in _BEFORE_COLOUR), phrase.head)
    start, old = units[place].start, caption.text[units[place].start : head.end]
    for number, group in enumerate(_COLOURS):
        if (number == GROUP_OF[mine or ""]) != true or frozenset((number, GROUP_OF[mine or ""])) in ALIKE:
            continue
        for colour in (mine,) if true else group[:1]:
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
    found: list[str | None] = []
    for place, word in enumerate(words):
        if form is not None and noun_lemma(word) == noun and word != form:
            found.append(None)  # one of them is red
        elif noun_lemma(word) == noun and place and not _goes_on(words[place + 1 : place + 2]):
            near = words[max(0, place - 4) : place]
            colours = [w for w in near if w in GROUP_OF]
            if near[-1:] and near[-1] in GROUP_OF and len(colours) == 1 and near[-2:-1] not in (["light"], ["dark"]):
                found.append(near[-1])
            elif colours:
                found.append(None)
    return tuple(found)


def _goes_on(after: list[str]) -> bool:
    """a yellow bubble | wand: the noun may be part of a longer name."""
    return bool(after) and not after[0].endswith(("ing", "ed", "s")) and is_thing(after[0])
