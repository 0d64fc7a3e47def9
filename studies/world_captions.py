"""The scenes and captions that the world's base model was pretrained on: what the web writes next to a picture.

Short, partial, often just words in any order, with words that no picture answers to, and now and then a rare
synonym. All that is said is true (only the order of a bag of words says nothing), and the model that learns
from it is weak in the ways that real ones are: it knows things better than attributes, attributes better than
whose they are, and relations least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from random import Random
from typing import overload

from PIL import Image

from equipoise.data.images import encoded
from equipoise.data.items import ImageRef, Item
from equipoise.world.draw import draw
from equipoise.world.scenes import Object, Scene, related_pairs, sample_crowd, sample_scene
from equipoise.world.sentences import Sentence, Thing, fits, text, thing_of
from equipoise.world.vocabulary import (
    ATTRIBUTES,
    FAMILIES,
    FILLERS,
    PLACES,
    Word,
    common,
)

ARTICLES = {"a", "an", "the", "is", "there", "and", "of"}


@dataclass(frozen=True)
class Noise:
    """How the web writes. Tuned on validation scenes; see src/equipoise/world/README.md."""

    shuffled: float = 0.7  # captions about several things that are a bag of words
    shuffled_one: float = 0.2  # captions about one thing that are
    shuffled_relation: float = 0.7  # captions about a relation that are
    attribute: float = 0.5  # chance that an attribute is mentioned
    relations: float = 0.25  # captions about a relation, without attributes
    places: float = 0.2  # captions that say where on the picture things are, without attributes
    rare: float = 0.006  # words replaced by a rarer synonym
    filler: float = 0.2  # captions with a word or two about nothing
    bare: float = 0.5  # captions without articles


NOISE = Noise()


def noisy_caption(scene: Scene, rng: Random, noise: Noise = NOISE) -> str:
    sentence = noisy_sentence(scene, rng, noise)
    words = text(_with_rare_words(sentence, rng, noise.rare)).split()
    alone = len(sentence.things) == 1
    shuffled = noise.shuffled_relation if sentence.relation else noise.shuffled_one if alone else noise.shuffled
    if rng.random() < shuffled:
        words = [word for word in words if word not in ARTICLES]
        rng.shuffle(words)
    elif rng.random() < noise.bare:
        words = [word for word in words if word not in ("a", "an", "there", "is")]
    if rng.random() < noise.filler:
        for _ in range(rng.choice((1, 2))):
            words.insert(rng.choice((0, len(words))), rng.choice(FILLERS))
    return " ".join(words)


def noisy_sentence(scene: Scene, rng: Random, noise: Noise = NOISE) -> Sentence:
    """A partial, true sentence in common words."""
    template = rng.randrange(12)
    draw = rng.random()
    if draw < noise.relations:
        pair = rng.choice(related_pairs(scene) or [None])
        if pair is not None:
            first, relation, second = pair
            both = (thing_of(first, ()), thing_of(second, ()))
            return Sentence("relation", both, common("relation", relation), template=template)
    if draw < noise.relations + noise.places:
        said = rng.sample(scene.objects, k=min(len(scene.objects), rng.choice((1, 1, 2))))
        return Sentence("things", tuple(_placed(each, rng) for each in said), template=template)
    counted = _several(scene)
    if counted is not None and rng.random() < 0.5:
        kind, number = counted
        return Sentence("count", (Thing(common("kind", kind)),), number=common("number", number), template=template)
    said = rng.sample(scene.objects, k=min(len(scene.objects), rng.choice((1, 1, 2, 3))))
    things = tuple(
        thing_of(each, tuple(family for family in ATTRIBUTES if rng.random() < noise.attribute)) for each in said
    )
    return Sentence("things", things, template=template)


def _placed(thing: Object, rng: Random) -> Thing:
    said = thing_of(thing, ())
    choices = []
    for place in PLACES:
        word = common("place", place)
        if fits(Thing(said.kind, place=word), thing):
            choices.append(word)
    return Thing(said.kind, place=rng.choice(choices)) if choices else said


def _several(scene: Scene) -> tuple[str, str] | None:
    kinds = [thing.kind for thing in scene.objects]
    repeated = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    return None if repeated is None else (repeated, str(kinds.count(repeated)))


def _with_rare_words(sentence: Sentence, rng: Random, chance: float) -> Sentence:
    def maybe(word: Word | None) -> Word | None:
        if word is None or rng.random() >= chance:
            return word
        return word._replace(text=rng.choice(FAMILIES[word.family][word.value][1:]))

    things = tuple(
        Thing(
            maybe(thing.kind) or thing.kind,
            tuple(maybe(word) or word for word in thing.attributes),
            maybe(thing.place),
        )
        for thing in sentence.things
    )
    return Sentence(sentence.form, things, maybe(sentence.relation), maybe(sentence.number), sentence.template)


# ---------------------------------------------------------------------------- scenes, items, images

CROWDS = 0.1  # share of pretraining scenes with something to count


def pretraining_at(seed: int, index: int, noise: Noise = NOISE) -> tuple[Scene, str]:
    """A scene and its noisy caption."""
    rng = Random(f"pretrain/captions/{seed}/{index}")
    scene = sample_crowd(rng) if rng.random() < CROWDS else sample_scene(rng)
    return scene, noisy_caption(scene, rng, noise)


class PretrainingItems(Sequence[Item]):
    """Pretraining items made when they are asked for: a million of them would fill the memory."""

    def __init__(self, n: int, seed: int = 0, noise: Noise = NOISE) -> None:
        self.n, self.seed, self.noise = n, seed, noise

    def __len__(self) -> int:
        return self.n

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(self.n))]
        if not 0 <= index < self.n:
            raise IndexError(index)
        name = f"pretrain/captions/{self.seed}/{index:06d}"
        caption = pretraining_at(self.seed, index, self.noise)[1]
        return Item(id=f"world/{name}", image=ImageRef(path=f"{name}.png"), caption=caption)


class PretrainingImages:
    """An image source that draws a pretraining scene when it is read."""

    def read(self, path: str) -> bytes:
        *_, seed, name = PurePosixPath(path).parts
        scene, _ = pretraining_at(int(seed), int(name.removesuffix(".png")))
        return encoded(Image.fromarray(draw(scene)), "BMP")
