"""Sentences about a scene as data: their text, and whether they are true of a scene.

A sentence has values, which decide its truth, each with the word chosen for it, which the text shows. So a synonym
cannot change the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

from equipoise.world.scenes import Object, Scene, related
from equipoise.world.vocabulary import ATTRIBUTES, Word, article, common, plural

TEMPLATES = {
    "things": ("{0}", "there is {0}", "a picture of {0}", "we see {0}", "{0} can be seen"),
    "relation": ("{0} is {r} {1}", "{0} {r} {1}", "there is {0} {r} {1}", "a picture of {0} {r} {1}"),
    "count": ("{n} {0}", "we see {n} {0}", "a picture of {n} {0}"),
    "without": ("{0} and {n} {1}", "there is {0} and {n} {1}", "we see {0} and {n} {1}"),
}


@dataclass(frozen=True, slots=True)
class Thing:
    kind: Word
    attributes: tuple[Word, ...] = ()
    place: Word | None = None
    action: Word | None = None

    def attribute(self, family: str) -> Word | None:
        return next((word for word in self.attributes if word.family == family), None)

    def with_attribute(self, new: Word) -> Thing:
        return replace(self, attributes=tuple(new if word.family == new.family else word for word in self.attributes))


@dataclass(frozen=True, slots=True)
class Sentence:
    """form "things": all are present; "relation": holds between the first and the second; "count": exactly so many;
    "without": the first is present and the second is not."""

    form: str
    things: tuple[Thing, ...]
    relation: Word | None = None
    number: Word | None = None  # for "count"; for "without" the word of absence
    template: int = 0

    def with_thing(self, index: int, thing: Thing) -> Sentence:
        things = (*self.things[:index], thing, *self.things[index + 1 :])
        return replace(self, things=things)


def thing_of(candidate: Object, families: tuple[str, ...]) -> Thing:
    """A true description of the object: its kind and these attributes, in common words."""
    words = tuple(common(family, getattr(candidate, family)) for family in ATTRIBUTES if family in families)
    return Thing(common("kind", candidate.kind), words)


def text(sentence: Sentence) -> str:
    template = TEMPLATES[sentence.form][sentence.template % len(TEMPLATES[sentence.form])]
    if sentence.form == "things":
        return template.format(" and ".join(noun_phrase(thing) for thing in sentence.things))
    if sentence.form == "relation":
        assert sentence.relation is not None
        first, second = map(noun_phrase, sentence.things)
        return template.format(first, second, r=sentence.relation.text)
    assert sentence.number is not None
    if sentence.form == "count":
        return template.format(_bare(sentence.things[0], many=sentence.number.value != "1"), n=sentence.number.text)
    present, absent = sentence.things
    return template.format(noun_phrase(present), _bare(absent), n=sentence.number.text)


def noun_phrase(thing: Thing) -> str:
    bare = _bare(thing)
    return f"{article(bare)} {bare}"


def _bare(thing: Thing, many: bool = False) -> str:
    noun = plural(thing.kind.text) if many else thing.kind.text
    words = [word.text for word in thing.attributes] + [noun]
    words += [word.text for word in (thing.place, thing.action) if word is not None]
    return " ".join(words)


def holds(sentence: Sentence, scene: Scene, lenient: bool = False) -> bool:
    """Whether the sentence is true of the scene; `lenient` as in `scenes.related`.

    "A cat" needs at least one cat, several things different objects, "two cats" exactly two, "no cat" none.
    """
    things = sentence.things
    if sentence.form == "count":
        assert sentence.number is not None
        return sum(fits(things[0], thing, lenient) for thing in scene.objects) == int(sentence.number.value)
    if sentence.form == "without":
        present, absent = (any(fits(thing, each, lenient) for each in scene.objects) for thing in things)
        return present and not absent
    for chosen in permutations(scene.objects, len(things)):
        if all(fits(thing, each, lenient) for thing, each in zip(things, chosen, strict=True)) and (
            sentence.relation is None or related(sentence.relation.value, chosen[0], chosen[1], lenient)
        ):
            return True
    return False


def fits(thing: Thing, candidate: Object, lenient: bool = False) -> bool:
    """Whether the description is true of the object."""
    if thing.kind.value != candidate.kind:
        return False
    if any(getattr(candidate, word.family) != word.value for word in thing.attributes):
        return False
    if thing.action is not None and thing.action.value != candidate.action:
        return False
    return thing.place is None or _at_place(thing.place.value, candidate, lenient)


def _at_place(place: str, thing: Object, lenient: bool) -> bool:
    along = {"top": thing.y, "bottom": 1 - thing.y, "left": thing.x, "right": 1 - thing.x}[place]
    return along < (0.5 if lenient else 0.38)
