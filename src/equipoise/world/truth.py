"""Is a sentence true of a scene? Asked of every caption, hard positive and hard negative of the world."""

from __future__ import annotations

from itertools import permutations

from equipoise.world.scenes import Object, Scene, related
from equipoise.world.sentences import Sentence, Thing


def holds(sentence: Sentence, scene: Scene, lenient: bool = False) -> bool:
    """True where the scene is as the sentence says; `lenient` as in `scenes.related`.

    "A cat" needs at least one cat, several things need as many different objects, "two cats" exactly two, and
    "no cat" none.
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
    """Does the object answer to this description?"""
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
