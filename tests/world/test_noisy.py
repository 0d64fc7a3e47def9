from __future__ import annotations

import io
from collections import Counter
from random import Random

import numpy as np
from PIL import Image

from equipoise.world.draw import draw
from equipoise.world.scenes import sample_crowd, sample_scene
from equipoise.world.sentences import holds
from equipoise.world.vocabulary import FAMILIES
from studies.world_captions import (
    Noise,
    PretrainingImages,
    PretrainingItems,
    noisy_caption,
    noisy_sentence,
    pretraining_at,
)
from studies.world_model import vocabulary


def test_what_noisy_captions_say_is_true() -> None:
    forms = Counter()
    for number in range(500):
        rng = Random(number)
        scene = sample_crowd(rng) if number % 5 == 0 else sample_scene(rng)
        sentence = noisy_sentence(scene, rng)
        forms[sentence.form] += 1
        assert holds(sentence, scene)
    assert set(forms) == {"things", "relation", "count"}


def test_noisy_captions_stay_in_the_vocabulary_and_rare_words_are_rare() -> None:
    known = set(vocabulary())
    common = {word for values in FAMILIES.values() for said in values.values() for word in said[0].split()}
    rare = {
        word
        for values in FAMILIES.values()
        for said in values.values()
        for phrase in said[1:]
        for word in phrase.split()
    }
    rare -= common | {"a", "of", "the"}
    rng = Random(0)
    words = [word for number in range(4000) for word in noisy_caption(sample_scene(Random(number)), rng).split()]
    assert set(words) <= known
    assert 0.001 < sum(word in rare for word in words) / len(words) < 0.01


def test_a_bag_of_words_keeps_the_words_and_loses_the_order() -> None:
    scene = sample_scene(Random(3))
    bag = Noise(shuffled=1, shuffled_one=1, shuffled_relation=1, filler=0, rare=0)
    plain = Noise(shuffled=0, shuffled_one=0, shuffled_relation=0, filler=0, rare=0, bare=1)
    dropped = {"and", "of", "the"}
    pairs = [(noisy_caption(scene, Random(n), bag), noisy_caption(scene, Random(n), plain)) for n in range(50)]
    assert all(
        sorted(one.split()) == sorted(word for word in other.split() if word not in dropped) for one, other in pairs
    )
    assert any(one.split() != [word for word in other.split() if word not in dropped] for one, other in pairs)


def test_pretraining_items_have_captions_alone() -> None:
    items = PretrainingItems(20, 3)
    assert len(items) == 20 and len(list(items)) == 20
    assert items[2:4] == [items[2], items[3]]
    assert not any(item.positives or item.negatives for item in items)
    image = items[4].image
    assert image is not None
    with Image.open(io.BytesIO(PretrainingImages().read(image.path))) as seen:
        assert (np.asarray(seen) == draw(pretraining_at(3, 4)[0])).all()
