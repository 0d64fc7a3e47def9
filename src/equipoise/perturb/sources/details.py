"""Details that other captions of the photo name, where this caption says nothing of them: what is worn, how many, what
size or stuff, whether somebody sits or stands.

"A man rides a bike": where another caption says "a man in a red shirt", that is a positive and the green shirt a
negative; of another photo it is the other way round (as in captions.py, whose kinds and colours these go with).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from equipoise.perturb.english.articles import article_for
from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.perturb.english.collocations import seen_in
from equipoise.perturb.english.forms import noun_lemma
from equipoise.perturb.english.plausibility import seen_pair
from equipoise.perturb.english.vocabulary import Entry, ExclusiveSet, Member, Section, count, exclusive, word_set
from equipoise.perturb.english.wordnet import is_animate, is_garment, is_person
from equipoise.perturb.recipe import Proposal
from equipoise.perturb.sources.captions import ALIKE, GROUP_OF, OtherCaptions, is_free

_WORD = re.compile(r"[a-z'-]+")
_ONE = word_set("single persons")
_OTHERS = word_set("words for other people")
_SINGLE = word_set("garments")
_ON_HEAD = frozenset("hat helmet cap".split())
_PLURAL = frozenset("shorts pants jeans".split())
_WORN = re.compile(r"\b(?:in|wearing|wears|with) (?:an? |the )?([a-z]+) ([a-z-]+)\b(?! [a-z]*(?:hat|suit|cap|shirt)\b)")
_GOES_ON = frozenset(("verb", "be", "preposition", "mark"))
_NUMBERS = ("two", "three", "four", "five", "six")
_POSTURES = {
    "sit": frozenset("sitting sits sit seated".split()),
    "stand": frozenset("standing stands stand".split()),
    "lie": frozenset("lying laying lies lays lay sleeping asleep sleeps".split()),
    "walk": frozenset("walking walks walk".split()),
    "run": frozenset("running runs run".split()),
}
_GOING = {"sit": "sitting", "stand": "standing", "lie": "lying", "walk": "walking", "run": "running"}
_AGAINST = {  # what nobody takes for the other in a photo
    "sit": ("stand", "walk", "run"),
    "stand": ("sit", "lie", "run"),
    "lie": ("stand", "walk", "run"),
    "walk": ("sit", "lie"),
    "run": ("sit", "lie", "stand"),
}
_MOVING = word_set("moving")
_WHERE = word_set("places of a posture")
_LAST = frozenset(("material", "material-floor", "pattern"))  # stand after a colour
_SETS = _LAST | word_set("sets of qualities")
_FAR = 3  # words before a noun among which another caption may say the opposite
_NOT_OF = word_set("collectives of many")


class Details:
    """What other captions add. `by` is the same as of their kinds and colours: the truth comes from the same place."""

    name = OtherCaptions.name

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        yield from _proposals(caption, target, true=True)

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        yield from _proposals(caption, target, true=False)


def _proposals(caption: Caption, target: Section, true: bool) -> Iterator[Proposal]:
    if not caption.others:
        return
    if target == "attribute":
        yield from _worn(caption, true)
        yield from _counted(caption, true)
        yield from _qualities(caption, true)
        yield from _two_colours(caption, true)
    elif target == "action":
        yield from _postures(caption, true)


def _worn(caption: Caption, true: bool) -> Iterator[Proposal]:
    """A man rides: a man in a red shirt rides. Only of the one person of the photo, of whom no garment is told."""
    people = [phrase for phrase in caption.phrases if is_person(caption.units[phrase.head].lemma)]
    if len(people) != 1 or not _OTHERS.isdisjoint(caption.words) or not _OTHERS.isdisjoint(caption.other_words):
        return
    phrase, units = people[0], caption.units
    head = units[phrase.head]
    if head.lemma not in _ONE or head.word != head.lemma or caption.is_name(phrase.head):
        return
    if phrase.start or units[0].word not in {"a", "an", "the"} or any(is_garment(unit.lemma) for unit in units):
        return
    after = units[phrase.end] if phrase.end < len(units) else None
    if after is not None and (after.kind not in _GOES_ON or after.word in {"in", "with", "of", "wearing"}):
        return
    found = {pair for text in caption.others for pair in _worn_in(text)}
    for colour, garment in sorted(found):
        groups = {GROUP_OF[other] for other, worn in found if worn == garment}
        if len(groups) != 1:
            continue
        mine = GROUP_OF[colour]
        colours = (colour,) if true else (group[0] for group in _colour_groups())
        for new in colours:
            number = GROUP_OF[new]
            if not true and (number == mine or frozenset((number, mine)) in ALIKE or new in caption.other_words):
                continue  # a red jacket over a black sweatshirt
            if seen_pair("modifier", new, garment, free=True):
                article = "" if garment in _PLURAL else f"{article_for(new)} "
                verb = "wearing" if garment in _ON_HEAD else "in"
                to = f"{head.word} {verb} {article}{new} {garment}"
                yield Proposal(head.start, head.end, to, "attribute", Details.name, float(count(new)))


@functools.lru_cache(maxsize=4096)
def _worn_in(text: str) -> tuple[tuple[str, str], ...]:
    """(colour, garment) that a text says somebody wears."""
    found = _WORN.findall(text.lower())
    return tuple((c, g) for c, g in found if c in GROUP_OF and g in _SINGLE | _ON_HEAD | _PLURAL)


@functools.cache
def _colour_groups() -> tuple[tuple[str, ...], ...]:
    groups: dict[int, list[str]] = {}
    for colour, number in GROUP_OF.items():
        groups.setdefault(number, []).append(colour)
    return tuple(map(tuple, groups.values()))


def _counted(caption: Caption, true: bool) -> Iterator[Proposal]:
    """Dogs play: two dogs play; a group of people: a group of four people."""
    units = caption.units
    for phrase in caption.phrases[:2]:
        first, head = units[phrase.start], units[phrase.head]
        if phrase.start != phrase.core or not caption.is_plural(phrase) or not is_animate(head.lemma):
            continue
        grouped = phrase.start > 1 and units[phrase.start - 1].word == "of" and units[phrase.start - 2].word == "group"
        if (phrase.start and not grouped) or first.kind not in {"noun", "adjective"} or not is_free(caption, phrase):
            continue
        said = [number for text in caption.others for number in _numbers_of(text, head.lemma)]
        if len(set(said)) != 1 or said[0] not in _NUMBERS or (grouped and said[0] == "two"):
            continue
        if not true and not _VAGUE.isdisjoint(caption.other_words):
            continue  # a group of kids may be four
        for number in _NUMBERS:
            if (number == said[0]) == true and not (grouped and number == "two"):
                to = f"{number} {caption.text[first.start : head.end].lower()}"
                yield Proposal(first.start, head.end, to, "attribute", Details.name, float(count(number)))


@functools.lru_cache(maxsize=4096)
def _numbers_of(text: str, noun: str) -> tuple[str, ...]:
    """How many of a thing a text tells of; "one" and "some" tell that they are not all."""
    words, found = _WORD.findall(text.lower()), []
    for place, word in enumerate(words):
        if noun_lemma(word) == noun:
            near = [w for w in words[max(0, place - 3) : place] if w in _NUMBERS or w in _PART]
            found += near or (["a"] if place and words[place - 1] in {"a", "an", "the"} and word == noun else [])
    return tuple(found)


_VAGUE = word_set("vague groups")
_NEARLY_GROWN = word_set("nearly grown words")
_COMPARED = word_set("compared")
_PART = word_set("parts of a group") - {"a"}


def _qualities(caption: Caption, true: bool) -> Iterator[Proposal]:
    """A bench: a wooden bench. Of a noun that has no other quality than a colour."""
    units = caption.units
    if caption.other_words.isdisjoint(_all_qualities()):
        return
    for phrase in caption.phrases:
        head = units[phrase.head]
        if head.lemma not in caption.other_words or head.lemma in _NOT_OF or not is_free(caption, phrase):
            continue
        before = units[phrase.core : phrase.head]
        if any(unit.word not in GROUP_OF for unit in before) or (phrase.start == phrase.core and head.pos == "NN"):
            continue
        after = units[phrase.end] if phrase.end < len(units) else None
        if after is not None and after.word == "of":
            continue
        if phrase.start and phrase.start == phrase.core and units[phrase.start - 1].pos in {"VBN", "VBD"}:
            continue  # with arranged leaves
        form = head.word if caption.is_plural(phrase) else ""  # of three elephants one may be small
        if before and head.lemma in {"sky", "day"}:
            continue  # a clear gray sky
        said = [word for text in caption.others for word in _before(text, head.lemma, form)]
        if _all_qualities().isdisjoint(said):
            continue
        near = [word for text in caption.others for word in _before(text, head.lemma, "", _FAR)]
        for line in _sets_of(head.lemma):
            yield from _quality(caption, phrase, line, said, near, true)
        if head.lemma in {"boy", "girl"}:
            yield from _quality(caption, phrase, _AGES, said, near, true)


@functools.cache
def _all_qualities() -> frozenset[str]:
    lines = [line for line in exclusive() if line.section == "attribute" and line.name in _SETS]
    return frozenset(m.entry.text for line in (*lines, _AGES) for group in line.groups for m in group)


def _quality(
    caption: Caption, phrase: NounPhrase, line: ExclusiveSet, said: list[str], near: list[str], true: bool
) -> Iterator[Proposal]:
    head = caption.units[phrase.head]
    if line.name.startswith("size") and not _COMPARED.isdisjoint(caption.other_words):
        return  # a small dog beside a smaller one
    forbidden = (guard.words for guard in line.guards if guard.name == "without")
    if not true and any(not words.isdisjoint(caption.words | caption.other_words) for words in forbidden):
        return  # nobody snowboards down a grassy mountain
    if not true and line is _AGES and not _NEARLY_GROWN.isdisjoint(caption.other_words):
        return  # a boy whom another caption calls a young man
    groups = [[member.entry.text for member in group] for group in line.groups]
    said = [word for word in said if any(m.entry.text == word and m.chosen for group in line.groups for m in group)]
    mine = [group for group in groups if any(word in group for word in near)]
    if len(mine) != 1 or not any(word in mine[0] for word in said):
        return
    word = next(word for word in said if word in mine[0])
    others = [m.entry.text for group in line.groups for m in group if m.chosen and m.entry.text not in mine[0]]
    place = phrase.head if line.name in _LAST else phrase.core
    start = caption.units[place].start
    old = caption.text[start : head.end].lower()
    others = [new for new in others if seen_pair("modifier", new, head.lemma, free=False)]
    if not others:
        return  # what nothing excludes is always true: everybody would know the answer
    for new in (word,) if true else others:
        if seen_pair("modifier", new, head.lemma, free=False):
            yield Proposal(start, head.end, f"{new} {old}", "attribute", Details.name, float(count(new)))


def _group(*words: str) -> tuple[Member, ...]:
    return tuple(Member(Entry(word, False), True, True) for word in words)


_AGES = ExclusiveSet("attribute", "age-child", (_group("little", "young", "small"), _group("teenage", "older")), ())


def _two_colours(caption: Caption, true: bool) -> Iterator[Proposal]:
    """A dog: a black and white dog, where all who name its colour say that."""
    for phrase in caption.phrases:
        head = caption.units[phrase.head]
        if head.lemma not in _FURRED or phrase.head > phrase.core or not is_free(caption, phrase):
            continue
        if phrase.core == phrase.start or caption.is_plural(phrase):
            continue
        found = {pair for text in caption.others for pair in _coats_of(text, head.lemma)}
        if len(found) != 1 or (mine := next(iter(found))) not in _COATS:
            continue
        for coat in _COATS:
            if (coat == mine) if true else set(coat) != set(mine):
                to = f"{coat[0]} and {coat[1]} {head.word}"
                yield Proposal(head.start, head.end, to, "attribute", Details.name, float(count(coat[0])))


_FURRED = word_set("furry animals")
_COATS = (("black", "white"), ("brown", "white"), ("white", "brown"), ("black", "brown"), ("tan", "white"))


@functools.lru_cache(maxsize=4096)
def _coats_of(text: str, noun: str) -> tuple[tuple[str, ...], ...]:
    """Two colours before an animal in a text; one alone speaks against two."""
    words, found = _WORD.findall(text.lower()), []
    for place, word in enumerate(words):
        if noun_lemma(word) == noun:
            colours = tuple(w for w in words[max(0, place - 3) : place] if w in GROUP_OF)
            if colours:
                found.append(colours)
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _sets_of(noun: str) -> tuple[ExclusiveSet, ...]:
    """The sets of qualities that may be said of a noun."""
    found = []
    for line in exclusive():
        if line.section != "attribute" or line.name not in _SETS:
            continue
        asked = [guard.words for guard in line.guards if guard.name == "obj"]
        refused = [guard.words for guard in line.guards if guard.name == "notobj"]
        if all(noun in words for words in asked) and not any(noun in words for words in refused):
            found.append(line)
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _before(text: str, noun: str, form: str, far: int = 1) -> tuple[str, ...]:
    """The words right before a noun (in this form) in a text, or before its colour; or those up to `far` before."""
    words, found = _WORD.findall(text.lower()), []
    for place, word in enumerate(words):
        if noun_lemma(word) == noun and place and (not form or word == form):
            found += words[max(0, place - far) : place]
            if words[place - 1] in GROUP_OF and place > 1 and far == 1:
                found.append(words[place - 2])
    return tuple(found)


def _postures(caption: Caption, true: bool) -> Iterator[Proposal]:
    """A cat on a couch: a cat sitting on a couch, where all who say how it is there say that."""
    units, first = caption.units, caption.phrases[0] if caption.phrases else None
    if first is None or first.start or any(unit.kind == "verb" for unit in units) or caption.is_name(first.head):
        return
    head = units[first.head]
    if not is_animate(head.lemma) or head.lemma in COLLECTIVES or not _MOVING.isdisjoint(caption.other_words):
        return
    place = first.end + (1 if first.end < len(units) and units[first.end].kind == "be" else 0)
    noun = caption.object_of(place) if place < len(units) else None
    if noun is None or units[place].word not in _WHERE or (place == first.end and units[first.start].word == "the"):
        return
    said = [verb for verb, forms in _POSTURES.items() if not forms.isdisjoint(caption.other_words)]
    if len(said) != 1 or not any(_does(text, head.word, said[0]) for text in caption.others):
        return
    for verb in (said[0],) if true else _AGAINST[said[0]]:
        where = units[place]
        if seen_in("via", f"{verb} {where.word}", noun):
            to = f"{_GOING[verb]} {where.word}"
            yield Proposal(where.start, where.end, to, "action", Details.name, float(count(_GOING[verb])))


@functools.lru_cache(maxsize=4096)
def _does(text: str, noun: str, verb: str) -> bool:
    """Whether a text says it of this noun in this form, not of somebody else: it stands shortly before."""
    words = _WORD.findall(text.lower())
    near = (words[max(0, place - 3) : place] for place, word in enumerate(words) if word in _POSTURES[verb])
    return any(noun in before for before in near)
