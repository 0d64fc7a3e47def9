"""The truth against the pixels: things are found by colour and place, with no look at the scene's own numbers."""

from __future__ import annotations

import time
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from equipoise.world.cases import replace_attributes
from equipoise.world.draw import BOARD, HUES, PIXELS, board, draw
from equipoise.world.scenes import MARK, Object, Scene, related, sample_acting, sample_scene
from equipoise.world.sentences import holds
from equipoise.world.vocabulary import ACTIONS, ART, CONTAINERS, INKS, KINDS

SIDE = 240
UNDARKENED = [kind for kind in KINDS if "dark" not in {ink for ink, *_ in ART[kind]}]
PURE = ("red", "yellow", "green", "blue", "purple", "pink")  # hues that no detail and no wood has


def named(picture: NDArray[np.uint8]) -> NDArray[np.str_]:
    """The colour name of every pixel by its hue; "" for paper, outlines, details and what lies between."""
    hue, saturation, _ = np.moveaxis(np.asarray(Image.fromarray(picture).convert("HSV"), dtype=float), -1, 0)
    distance = np.stack([np.abs((hue * 360 / 255 - HUES[name][0] + 180) % 360 - 180) for name in PURE])
    reach = np.array([HUES[name][1] + 6 for name in PURE])[:, None, None]
    inside = (distance < reach) & (saturation > 80)
    return np.where(inside.any(0), np.array(PURE)[inside.argmax(0)], "")


def box(mask: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of nearly all of it: where two colours meet, a few pixels look like a third."""
    rows, columns = np.nonzero(mask)
    left, right = np.percentile(columns, (4, 96))
    top, bottom = np.percentile(rows, (4, 96))
    return int(left), int(top), int(right), int(bottom)


def test_a_thing_is_where_and_what_colour_the_scene_says() -> None:
    checked = 0
    for number in range(150):
        sampled = sample_scene(Random(number))
        scene = Scene(tuple(replace(each, texture="plain") for each in sampled.objects))
        colours = [each.colour for each in scene.objects]
        if len(set(colours)) < len(colours) or not set(colours) <= {*PURE, "black", "white"}:
            continue
        names = named(draw(scene, SIDE, clean=True))
        for each in scene.objects:
            if each.colour not in PURE:
                continue
            left, top, right, bottom = box(names == each.colour)
            assert (each.x - each.width / 2) * SIDE - 2 <= left and right <= (each.x + each.width / 2) * SIDE + 2
            assert (each.y - each.height / 2) * SIDE - 2 <= top and bottom <= (each.y + each.height / 2) * SIDE + 2
            assert right - left > 0.3 * each.width * SIDE  # and it is the thing, not a stray pixel
            checked += 1
    assert checked >= 30


Clear = list[tuple[Scene, Object, Object, NDArray[np.str_]]]


@pytest.mark.parametrize("kind", UNDARKENED[:3])
def test_an_outline_is_as_wide_to_every_side(kind: str) -> None:
    wide = BOARD // 36
    inks = np.pad(board(kind), wide)
    drawn = Image.fromarray(np.where((inks > 0) & (inks != INKS.index("dark")), 255, 0).astype(np.uint8))
    assert np.array_equal(np.array(drawn.filter(ImageFilter.MaxFilter(2 * wide + 1))) > 0, inks > 0)


@pytest.fixture(scope="module")
def clear_scenes() -> Clear:
    """Scenes of two plain things in colours that no detail has, with the colours of their pictures."""
    found = []
    number = 0
    while len(found) < 60:
        scene = sample_scene(Random(f"clear/{number}"), (0,))
        number += 1
        a, b = scene.objects
        if a.colour == b.colour or a.texture != "plain" or b.texture != "plain":
            continue
        if {a.colour, b.colour} <= {*PURE}:
            found.append((scene, a, b, named(draw(scene, SIDE, clean=True))))
    return found


def test_relations_that_hold_are_seen_in_the_pixels(clear_scenes: Clear) -> None:
    for _, a, b, names in clear_scenes:
        first, second = box(names == a.colour), box(names == b.colour)
        if related("left", a, b):
            assert first[2] < second[0]
        if related("right", a, b):
            assert second[2] < first[0]
        if related("above", a, b) or related("on", a, b):
            assert first[3] < second[1]
        if related("below", a, b):
            assert second[3] < first[1]
        if related("in", a, b):
            assert second[0] < first[0] and first[2] < second[2] and second[1] < first[1] and first[3] < second[3]


def test_sentences_judged_by_pixels_agree_with_truth(clear_scenes: Clear) -> None:
    """Colour sentences: the caption's colour is in the picture; a wrong one that nothing has is not."""
    judged = 0
    for number, (scene, _, _, names) in enumerate(clear_scenes):
        tries = (replace_attributes(scene, Random(10 * number + retry), "seen") for retry in range(10))
        case = next((case for case in tries if case is not None and case.family == "colour"), None)
        if case is None:
            continue
        assert case.changed is not None
        old, _, wrong = case.changed
        assert holds(case.caption, scene) and (names == old.value).sum() > 20
        if wrong.value in PURE and wrong.value not in {each.colour for each in scene.objects}:
            assert not holds(case.negative, scene) and (names == wrong.value).sum() < 0.1 * (names == old.value).sum()
            judged += 1
    assert judged >= 5


def action_seen(picture: NDArray[np.uint8], thing: Object) -> str:
    """The action of a thing, from the dark pixels in the four strips and the upper right corner around its box."""
    dark = picture.max(-1) < 110
    left, right = (round((thing.x + side * thing.width / 2) * SIDE) for side in (-1, 1))
    top, bottom = (round((thing.y + side * thing.height / 2) * SIDE) for side in (-1, 1))
    room, gap = round(MARK * SIDE), 2  # the rounding of the box
    strips = {
        "left": dark[top:bottom, left - room : left - gap],
        "right": dark[top:bottom, right + gap : right + room],
        "above": dark[top - room : top - gap, left:right],
        "below": dark[bottom + gap : bottom + room, left:right],
        "corner": dark[top - room : top - gap, right + gap : right + room],
    }
    inked = {name for name, strip in strips.items() if strip.sum() > 8}
    shown = {
        "": set(),
        "sleeping": {"corner"},
        "jumping": {"below"},
        "shaking": {"left", "right"},
        "glowing": {*strips},
    }
    return next((name for name, sides in shown.items() if sides == inked), f"unclear: {sorted(inked)}")


def test_what_things_do_is_seen_in_the_pixels() -> None:
    seen = []
    for number in range(100):
        scene = sample_acting(Random(number))
        picture = draw(scene, SIDE, clean=True)
        for each in scene.objects:
            assert action_seen(picture, each) == each.action, (number, each)
            seen.append(each.action)
    assert min(seen.count(action) for action in (*ACTIONS, "")) >= 10


def test_marks_touch_no_thing_and_actions_differ_even_at_the_models_size() -> None:
    still = Object("tree", "red", "small", "plain", 0.5, 0.5, 0.2)
    for pixels, least in ((SIDE, 0.2), (PIXELS, 0.2)):
        looks = {
            action: draw(Scene((replace(still, action=action),)), pixels, clean=True).astype(int)
            for action in ("", *ACTIONS)
        }
        rows = slice(round((0.5 - still.height / 2) * pixels) + 1, round((0.5 + still.height / 2) * pixels) - 1)
        columns = slice(round((0.5 - still.width / 2) * pixels) + 1, round((0.5 + still.width / 2) * pixels) - 1)
        for action, look in looks.items():
            assert (look[rows, columns] == looks[""][rows, columns]).all(), action
            for other, another in looks.items():
                assert action == other or np.abs(look - another).mean() > least, (action, other)


def test_the_same_scene_is_the_same_picture_and_grain_differs_between_scenes() -> None:
    one, other = sample_scene(Random(1)), sample_scene(Random(2))
    assert (draw(one) == draw(one)).all()
    assert draw(one).shape == (PIXELS, PIXELS, 3)
    empty = [Scene((), grain=scene.grain) for scene in (one, other)]
    assert (draw(empty[0]) != draw(empty[1])).any()


def test_kinds_look_different_even_at_the_models_size() -> None:
    pictures = {
        kind: draw(Scene((Object(kind, "red", "big", "plain", 0.5, 0.5, 0.38),)), clean=True).astype(int)
        for kind in KINDS
    }
    for kind, picture in pictures.items():
        for other, another in pictures.items():
            assert kind == other or np.abs(picture - another).mean() > 2, (kind, other)


def test_textures_are_seen() -> None:
    for kind in ("cat", "star", *CONTAINERS):
        looks = [
            draw(Scene((Object(kind, "blue", "big", texture, 0.5, 0.5, 0.38),)), SIDE, clean=True).astype(int)
            for texture in ("plain", "striped", "dotted", "checked")
        ]
        for number, look in enumerate(looks):
            assert all(np.abs(look - other).mean() > 0.5 for other in looks[number + 1 :])


@pytest.mark.slow
def test_drawing_is_fast_enough() -> None:
    """At least 1,000 pictures a second on two cores; counted in processor time, so busy neighbours do not matter."""
    scenes = [sample_scene(Random(number)) for number in range(300)]
    for scene in scenes:
        draw(scene)
    start = time.process_time()
    for scene in scenes:
        draw(scene)
    assert len(scenes) / (time.process_time() - start) > 500
