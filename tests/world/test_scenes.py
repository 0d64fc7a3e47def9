from __future__ import annotations

from random import Random

import pytest

from equipoise.world.draw import board
from equipoise.world.scenes import MARK, Object, related, sample_acting, sample_crowd, sample_scene
from equipoise.world.vocabulary import ACTIONS, EXTENTS, RELATIONS


def thing(x: float, y: float, kind: str = "house", scale: float = 0.2) -> Object:
    return Object(kind, "red", "small", "plain", x, y, scale)


def holding(a: Object, b: Object, lenient: bool = False) -> set[str]:
    return {relation for relation in RELATIONS if related(relation, a, b, lenient)}


def test_each_relation_by_its_geometry() -> None:
    middle = thing(0.5, 0.5)
    assert holding(thing(0.2, 0.5), middle) == {"left"}
    assert holding(thing(0.8, 0.5), middle) == {"right"}
    assert holding(thing(0.5, 0.1), middle) == {"above"}
    assert holding(thing(0.5, 0.9), middle) == {"below"}
    assert holding(thing(0.5, 0.3), middle) == {"on"}
    assert holding(middle, thing(0.5, 0.5, "box", 0.5)) == {"in"}


def test_what_somebody_might_say_is_never_used_either_way() -> None:
    """A thing up to the left is clearly neither left of nor above; leniently it is both."""
    diagonal, middle = thing(0.2, 0.2), thing(0.5, 0.5)
    assert holding(diagonal, middle) == set()
    assert holding(diagonal, middle, lenient=True) == {"left", "above"}
    assert holding(thing(0.5, 0.3), middle, lenient=True) == {"on", "above"}


def test_only_containers_contain() -> None:
    assert not holding(thing(0.5, 0.5), thing(0.5, 0.5, "tree", 0.5))


@pytest.mark.parametrize("sample", [sample_scene, sample_crowd, sample_acting])
def test_things_stay_on_the_picture_and_apart(sample: object) -> None:
    assert callable(sample)
    for number in range(300):
        objects = sample(Random(number)).objects
        assert 1 <= len(objects) <= 4
        for one in objects:
            assert one.x - one.width / 2 >= 0 and one.x + one.width / 2 <= 1
            assert one.y - one.height / 2 >= 0 and one.y + one.height / 2 <= 1
        for one in objects:
            for other in objects:
                across = abs(one.x - other.x) - (one.width + other.width) / 2
                down = abs(one.y - other.y) - (one.height + other.height) / 2
                contained = related("in", one, other) or related("in", other, one)
                assert one is other or contained or max(across, down) > -1e-9


def test_every_scene_has_a_clear_relation_and_all_relations_occur() -> None:
    found = []
    for number in range(300):
        objects = sample_scene(Random(number)).objects
        clear = {name for a in objects for b in objects if a is not b for name in holding(a, b)}
        assert clear
        found += clear
    assert set(found) == set(RELATIONS)


def test_who_acts_has_room_for_its_marks_and_all_actions_occur() -> None:
    found = []
    for number in range(200):
        objects = sample_acting(Random(number)).objects
        assert objects[0].action and len({each.kind for each in objects}) == len(objects)
        found += [each.action for each in objects]
        for one in objects:
            assert one.x - one.width / 2 >= MARK and one.x + one.width / 2 <= 1 - MARK
            assert one.y - one.height / 2 >= MARK and one.y + one.height / 2 <= 1 - MARK
            for other in objects:
                across = abs(one.x - other.x) - (one.width + other.width) / 2
                down = abs(one.y - other.y) - (one.height + other.height) / 2
                assert one is other or max(across, down) >= 2 * MARK
    assert set(found) == {*ACTIONS, ""}  # some do nothing
    assert not any(each.action for number in range(100) for each in sample_scene(Random(number)).objects)


def test_extents_are_those_of_the_drawn_pictures() -> None:
    for kind, (width, height) in EXTENTS.items():
        rows, columns = board(kind).shape
        longer = max(rows, columns)
        assert abs(columns / longer - width) < 0.02 and abs(rows / longer - height) < 0.02
