"""Makes test cases: a scene with a caption, a hard positive and a hard negative that are checked against it.

`replace` changes one word: the positive uses a synonym, the negative another value. `swap` exchanges an attribute of
two things in the negative, and the order of the things in the positive. Finetuning never sees `count` and `without`.
`replace-objects` and `replace-actions` are for CE-CLIP, which has a threshold for each type of negative; no test set
has them.

`balanced-*` are made as twins: the caption of one is the negative of the other, whose scene was changed so that it is
true there. A coin chooses the twin, so words alone do not tell a caption from a negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from equipoise.world.scenes import OPPOSITES, Object, Scene, apart, flipped, related_pairs
from equipoise.world.sentences import Sentence, Thing, holds, text, thing_of
from equipoise.world.vocabulary import ATTRIBUTES, CONTAINERS, FAMILIES, RELATIONS, Word, common, seen, unseen

FAMILY_WEIGHTS = {"colour": 3, "texture": 1, "size": 1}  # how often each attribute is changed
CONFUSABLE = 0.5  # share of negatives with the value of another thing in the picture
RARE = 0.5  # share of negatives that use a rare word
MENTIONED = 0.35  # probability of mentioning another attribute


@dataclass(frozen=True)
class WorldCase:
    scene: Scene
    caption: Sentence
    positive: Sentence
    negative: Sentence
    test: str  # a name of MAKERS
    family: str  # what was changed
    synonym: str  # seen, unseen, or none if the positive replaces no word
    changed: tuple[Word, Word, Word] | None  # the words of caption, positive and negative

    def right(self) -> bool:
        """Caption and positive are true; the negative is false even for a lenient reader."""
        return (
            holds(self.caption, self.scene)
            and holds(self.positive, self.scene)
            and not holds(self.negative, self.scene, lenient=True)
            and len({text(self.caption), text(self.positive), text(self.negative)}) == 3
        )


Maker = Callable[[Scene, Random, str], WorldCase | None]


def replace_attributes(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    family = rng.choices(list(FAMILY_WEIGHTS), list(FAMILY_WEIGHTS.values()))[0]
    mentioned = rng.sample(scene.objects, k=min(len(scene.objects), rng.choice((1, 2))))
    things = [_thing(each, rng, family if index == 0 else None) for index, each in enumerate(mentioned)]
    old = things[0].attribute(family)
    assert old is not None
    value = _other(old, (getattr(each, family) for each in scene.objects), rng)
    target = rng.randrange(len(things))
    things[0], things[target] = things[target], things[0]
    caption = Sentence("things", tuple(things), template=rng.randrange(12))
    to, wrong = _synonym(old, rng, synonym), _any_word(family, value, rng)
    changing = caption.things[target]
    positive, negative = [caption.with_thing(target, changing.with_attribute(word)) for word in (to, wrong)]
    return _checked(
        WorldCase(scene, caption, positive, negative, "replace-attributes", family, synonym, (old, to, wrong))
    )


def replace_relations(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    pairs = related_pairs(scene)
    if not pairs:
        return None
    first, relation, second = rng.choice(pairs)
    old = common("relation", relation)
    things = tuple(_thing(each, rng, None, 0.15) for each in (first, second))
    caption = Sentence("relation", things, old, template=rng.randrange(12))
    # "in a tree" is wrong in every picture, so only containers get "in".
    others = [other for other in RELATIONS if other != relation and (other != "in" or second.kind in CONTAINERS)]
    wrong = _any_word("relation", rng.choice(others), rng)
    to = _synonym(old, rng, synonym)
    positive, negative = [replace(caption, relation=word) for word in (to, wrong)]
    words = old, to, wrong
    return _checked(WorldCase(scene, caption, positive, negative, "replace-relations", "relation", synonym, words))


def replace_objects(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    """Another kind; half of the time that of another thing in the picture, which has other attributes."""
    mentioned = rng.sample(scene.objects, k=min(len(scene.objects), rng.choice((1, 2))))
    things = tuple(_thing(each, rng, None) for each in mentioned)
    old = things[0].kind
    value = _other(old, (each.kind for each in scene.objects), rng)
    caption = Sentence("things", things, template=rng.randrange(12))
    to, wrong = _synonym(old, rng, synonym), _any_word("kind", value, rng)
    positive, negative = [caption.with_thing(0, replace(things[0], kind=word)) for word in (to, wrong)]
    return _checked(WorldCase(scene, caption, positive, negative, "replace-objects", "kind", synonym, (old, to, wrong)))


def replace_actions(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    """Another verb; half of the time that of another thing in the picture.

    The actor comes first: "a cat and a house glowing" could mean both.
    """
    actor = rng.choice([each for each in scene.objects if each.action])
    others = [each for each in scene.objects if each is not actor]
    mentioned = rng.sample(others, k=min(len(others), rng.choice((0, 1))))
    old = common("action", actor.action)
    things = (replace(_thing(actor, rng, None), action=old), *(_thing(each, rng, None) for each in mentioned))
    value = _other(old, (each.action for each in others if each.action), rng)
    caption = Sentence("things", things, template=rng.randrange(12))
    to, wrong = _synonym(old, rng, synonym), _any_word("action", value, rng)
    positive, negative = [caption.with_thing(0, replace(things[0], action=word)) for word in (to, wrong)]
    return _checked(
        WorldCase(scene, caption, positive, negative, "replace-actions", "action", synonym, (old, to, wrong))
    )


def swap(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    family = rng.choices(list(FAMILY_WEIGHTS), list(FAMILY_WEIGHTS.values()))[0]
    if len(scene.objects) < 2:
        return None
    first, second = [_thing(each, rng, family, 0.15) for each in rng.sample(scene.objects, k=2)]
    value, other_value = first.attribute(family), second.attribute(family)
    assert value is not None and other_value is not None
    caption = Sentence("things", (first, second), template=rng.randrange(12))
    positive = replace(caption, things=(second, first))
    negative = replace(caption, things=(first.with_attribute(other_value), second.with_attribute(value)))
    return _checked(WorldCase(scene, caption, positive, negative, "swap", family, "none", None))


def count(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    thing = thing_of(rng.choice(scene.objects), ())
    number = sum(each.kind == thing.kind.value for each in scene.objects)
    old = common("number", str(number))
    wrong = _any_word("number", rng.choice([other for other in FAMILIES["number"] if other != old.value]), rng)
    to = _synonym(old, rng, "unseen")
    caption = Sentence("count", (thing,), number=old, template=rng.randrange(12))
    positive, negative = [replace(caption, number=word) for word in (to, wrong)]
    return _checked(WorldCase(scene, caption, positive, negative, "count", "number", "unseen", (old, to, wrong)))


def without(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    present = thing_of(rng.choice(scene.objects), ())
    kinds = {each.kind for each in scene.objects}
    absent = Thing(common("kind", rng.choice([kind for kind in FAMILIES["kind"] if kind not in kinds])))
    old = common("absence", "no")
    to = _synonym(old, rng, "unseen")
    caption = Sentence("without", (present, absent), number=old, template=rng.randrange(12))
    positive, negative = replace(caption, number=to), replace(caption, things=(absent, present))
    return _checked(WorldCase(scene, caption, positive, negative, "without", "absence", "unseen", None))


def balanced_attributes(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    """One thing with another colour or texture. Not size: a larger thing may cover another."""
    case = replace_attributes(scene, rng, synonym)
    if case is None or case.changed is None or case.family == "size":
        return None
    old, wrong = case.changed[0], common(case.family, case.changed[2].value)
    place = next(i for i, thing in enumerate(case.caption.things) if thing != case.negative.things[i])
    thing = case.caption.things[place]
    turned: dict[str, Any] = {case.family: wrong.value}
    objects = (replace(each, **turned) if each.kind == thing.kind.value else each for each in scene.objects)
    words = _both_words(old, rng, synonym), _both_words(wrong, rng, synonym)
    sentences = [[case.caption.with_thing(place, thing.with_attribute(word)) for word in both] for both in words]
    scenes = scene, replace(scene, objects=tuple(objects))
    return _one_of_twins(rng, scenes, sentences, words, ("balanced-attributes", case.family, synonym))


def balanced_relations(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    """Left and right, above and below: the whole scene is mirrored."""
    case = replace_relations(scene, rng, synonym)
    if case is None or case.changed is None or case.changed[0].value not in OPPOSITES:
        return None
    old = case.changed[0]
    wrong = common("relation", OPPOSITES[old.value])
    words = _both_words(old, rng, synonym), _both_words(wrong, rng, synonym)
    sentences = [[replace(case.caption, relation=word) for word in both] for both in words]
    scenes = scene, flipped(scene, upside_down=old.value in ("above", "below"))
    return _one_of_twins(rng, scenes, sentences, words, ("balanced-relations", "relation", synonym))


def balanced_count(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    """Some of the counted things are removed."""
    thing = thing_of(rng.choice(scene.objects), ())
    counted = [each for each in scene.objects if each.kind == thing.kind.value]
    if len(counted) < 2:
        return None
    left = rng.randrange(1, len(counted))
    objects = tuple(each for each in scene.objects if each not in counted[left:])
    words = tuple(_both_words(common("number", str(number)), rng, synonym) for number in (len(counted), left))
    template = rng.randrange(12)
    sentences = [[Sentence("count", (thing,), number=word, template=template) for word in both] for both in words]
    scenes = scene, replace(scene, objects=objects)
    return _one_of_twins(rng, scenes, sentences, words, ("balanced-count", "number", synonym))


def balanced_without(scene: Scene, rng: Random, synonym: str) -> WorldCase | None:
    """The present kind becomes the absent one."""
    case = without(scene, rng, synonym)
    if case is None:
        return None
    present, absent = [thing.kind.value for thing in case.caption.things]
    objects = tuple(replace(each, kind=absent) if each.kind == present else each for each in scene.objects)
    if not apart(objects):
        return None
    words = _both_words(common("absence", "no"), rng, synonym)
    sentences = [[replace(each, number=word) for word in words] for each in (case.caption, case.negative)]
    scenes = scene, replace(scene, objects=objects)
    return _one_of_twins(rng, scenes, sentences, None, ("balanced-without", "absence", synonym))


MAKERS: dict[str, Maker] = {
    "replace-attributes": replace_attributes,
    "replace-relations": replace_relations,
    "replace-objects": replace_objects,
    "replace-actions": replace_actions,
    "swap": swap,
    "count": count,
    "without": without,
    "balanced-attributes": balanced_attributes,
    "balanced-relations": balanced_relations,
    "balanced-count": balanced_count,
    "balanced-without": balanced_without,
}


def matched(case: WorldCase, rng: Random) -> WorldCase:
    """The case without a shortcut in its words, for finetuning.

    The caption has the common word or a rare seen one, the positive the other, and the negative a word as common as the
    caption's. Swaps already have only the caption's words.
    """
    if case.changed is None:
        return case
    old, to, wrong = case.changed
    same = common(wrong.family, wrong.value)
    caption, positive = case.caption, case.positive
    if rng.random() < RARE:
        old, to, caption, positive = to, old, positive, caption
        same = _synonym(same, rng, "seen")
    if wrong.family == "relation":
        negative = replace(case.negative, relation=same)
    else:
        pairs = zip(case.caption.things, case.negative.things, strict=True)
        things = tuple(new if new == was else new.with_attribute(same) for was, new in pairs)
        negative = replace(case.negative, things=things)
    return replace(case, caption=caption, positive=positive, negative=negative, changed=(old, to, same))


def _one_of_twins(
    rng: Random,
    scenes: tuple[Scene, Scene],
    sentences: Sequence[Sequence[Sentence]],
    words: Sequence[tuple[Word, Word]] | None,
    names: tuple[str, str, str],
) -> WorldCase | None:
    """`sentences` and `words`: for each scene, the true sentences (caption, positive) and their words. `names`: test,
    family and synonym of the case."""
    twins = []
    for place, scene in enumerate(scenes):
        caption, positive = sentences[place]
        negative = sentences[1 - place][0]
        changed = None if words is None else (*words[place], words[1 - place][0])
        twins.append(WorldCase(scene, caption, positive, negative, *names, changed))
    chosen = rng.choice(twins)
    return chosen if all(twin.right() for twin in twins) else None  # both, or one twin would be dropped more often


def _both_words(word: Word, rng: Random, synonym: str) -> tuple[Word, Word]:
    """The common word and a rare one, in random order."""
    rare = _synonym(word, rng, synonym)
    return (word, rare) if rng.random() < RARE else (rare, word)


def _checked(case: WorldCase) -> WorldCase | None:
    """The case, if its sentences are what they should be."""
    return case if case.right() else None


def _other(old: Word, present: Iterable[str], rng: Random) -> str:
    """Another value of the word's family; half of the time that of another thing in the picture."""
    there = sorted(set(present) - {old.value})
    return rng.choice(there if there and rng.random() < CONFUSABLE else sorted(set(FAMILIES[old.family]) - {old.value}))


def _thing(each: Object, rng: Random, wanted: str | None, mentioned: float = MENTIONED) -> Thing:
    return thing_of(each, tuple(name for name in ATTRIBUTES if name == wanted or rng.random() < mentioned))


def _synonym(word: Word, rng: Random, which: str) -> Word:
    choices = seen(word.family, word.value) if which == "seen" else unseen(word.family, word.value)
    return word._replace(text=rng.choice(choices))


def _any_word(family: str, value: str, rng: Random) -> Word:
    """Any word for the value, rare ones included, as a lexicon or a language model would choose."""
    words = FAMILIES[family][value]
    return Word(family, value, rng.choice(words[1:]) if rng.random() < RARE else words[0])
