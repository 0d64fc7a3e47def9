"""Makes scenes: a few things with kind, colour, size, texture, place and action. Relations follow from the places.

Coordinates run from 0 to 1 over the picture, x to the right and y downwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

from equipoise.world.vocabulary import ACTIONS, COLOURS, CONTAINERS, EXTENTS, KINDS, RELATIONS, SIZES, TEXTURES

SCALES = {"small": (0.20, 0.22, 0.24), "big": (0.35, 0.38)}
CONTAINER_SCALE = 0.5
INTERIOR = 0.68  # of a container's side
EDGE = 0.01  # nothing comes closer to the picture's border
ALIGNED = 0.06  # largest offset from the axis in a clear relation
NOTICEABLE = 0.08  # with a larger offset, some people may say "left of" or "above"
APART = 0.06  # smallest gap between a thing and another that is above it, but not on it
TOUCHING = 0.015
MARK = 0.09  # room around a thing for the marks of its action

# Few kinds are common and many are rare, as in real photos. So a batch has several pictures of the same two things,
# which teaches a contrastive model where things are.
_KIND_WEIGHTS = [1 / (rank + 2) for rank in range(len(KINDS))]
_KINDS, _COLOURS, _SIZES, _TEXTURES = list(KINDS), list(COLOURS), list(SIZES), list(TEXTURES)
_RELATIONS, _ACTIONS = list(RELATIONS), list(ACTIONS)


@dataclass(frozen=True, slots=True)
class Object:
    kind: str
    colour: str
    size: str
    texture: str
    x: float  # centre
    y: float
    scale: float  # the longer side, as a share of the scene's side
    shade: float = 0.0  # -1..1: the variation of the colour
    action: str = ""  # "" for none

    @property
    def width(self) -> float:
        return self.scale * EXTENTS[self.kind][0]

    @property
    def height(self) -> float:
        return self.scale * EXTENTS[self.kind][1]


@dataclass(frozen=True, slots=True)
class Scene:
    objects: tuple[Object, ...]
    light: tuple[float, float, float] = (1.0, 1.0, 1.0)  # the lamp's colour
    paper: float = 0.9  # brightness of the background
    grain: int = 0  # seed of the camera's noise


def related(relation: str, a: Object, b: Object, lenient: bool = False) -> bool:
    """Is `a` in `relation` to `b`?

    Strictly (the default): everybody would agree. Leniently: somebody might agree. Right captions must hold strictly,
    and wrong ones must not hold even leniently.
    """
    dx, dy = a.x - b.x, a.y - b.y
    if relation in ("left", "right"):
        along = -dx if relation == "left" else dx
        if lenient:
            return along > NOTICEABLE
        return along > (a.width + b.width) / 2 and abs(dy) <= ALIGNED
    if relation in ("above", "below"):
        along = -dy if relation == "above" else dy
        if lenient:
            return along > NOTICEABLE
        return along >= (a.height + b.height) / 2 + APART and abs(dx) <= ALIGNED
    if relation == "on":
        gap = -dy - (a.height + b.height) / 2
        if lenient:
            return abs(gap) < APART - TOUCHING and abs(dx) < (a.width + b.width) / 2
        return abs(gap) <= TOUCHING and abs(dx) <= ALIGNED
    if b.kind not in CONTAINERS:
        return False
    if lenient:
        return abs(dx) < b.width / 2 and abs(dy) < b.height / 2
    room = b.scale * INTERIOR / 2
    return abs(dx) + a.width / 2 <= room and abs(dy) + a.height / 2 <= room


def related_pairs(scene: Scene) -> list[tuple[Object, str, Object]]:
    return [
        (a, relation, b)
        for a in scene.objects
        for b in scene.objects
        if a is not b
        for relation in RELATIONS
        if related(relation, a, b)
    ]


OPPOSITES = {"left": "right", "right": "left", "above": "below", "below": "above"}


def flipped(scene: Scene, upside_down: bool) -> Scene:
    """The scene with mirrored places; the things themselves are not mirrored."""
    objects = (replace(each, y=1 - each.y) if upside_down else replace(each, x=1 - each.x) for each in scene.objects)
    return replace(scene, objects=tuple(objects))


def apart(objects: Sequence[Object]) -> bool:
    """Whether all are inside the picture and none covers another."""
    inside = all(min(at, 1 - at) >= EDGE + side / 2 for o in objects for at, side in ((o.x, o.width), (o.y, o.height)))
    return inside and all(
        abs(a.x - b.x) > (a.width + b.width) / 2 or abs(a.y - b.y) > (a.height + b.height) / 2
        for a, b in combinations(objects, 2)
    )


def sample_scene(rng: Random, distractors: tuple[int, ...] = (0, 1, 2)) -> Scene:
    """Two things in a clear relation, and more things that do not touch them."""
    relation = rng.choice(_RELATIONS)
    first, second = _pair(rng, relation)
    objects = [second, first]  # what is in a container is drawn after it
    for _ in range(rng.choice(distractors)):
        extra = _placed_freely(rng, objects, _kind(rng, {thing.kind for thing in objects}))
        if extra is not None:
            objects.append(extra)
    return _finish(rng, objects)


def sample_crowd(rng: Random) -> Scene:
    """One to three things of one kind, and one of another, for counting."""
    kind = _kind(rng, set(CONTAINERS))
    other = _kind(rng, {kind, *CONTAINERS})
    objects: list[Object] = []
    for each in [kind] * rng.choice((1, 2, 3)) + [other]:
        placed = _placed_freely(rng, objects, each)
        if placed is not None:
            objects.append(placed)
    return _finish(rng, objects)


def sample_acting(rng: Random) -> Scene:
    """Up to three things of different kinds, with room for marks; the first has an action."""
    objects: list[Object] = []
    for _ in range(rng.choice((4, 8))):  # tries: a big thing in the middle leaves no room
        if len(objects) == 3:
            break
        kind = _kind(rng, {*CONTAINERS, *(thing.kind for thing in objects)})
        placed = _placed_freely(rng, objects, kind, MARK)
        if placed is not None:
            objects.append(replace(placed, action=rng.choice([*_ACTIONS, ""] if objects else _ACTIONS)))
    return _finish(rng, objects)


def _finish(rng: Random, objects: Iterable[Object]) -> Scene:
    light = (rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(-1, 1))
    return Scene(tuple(objects), light, rng.uniform(0.82, 0.94), rng.getrandbits(31))


def _kind(rng: Random, taken: set[str]) -> str:
    while True:
        kind: str = rng.choices(_KINDS, _KIND_WEIGHTS)[0]
        if kind not in taken:
            return kind


def _object(rng: Random, kind: str, size: str | None = None, scale: float | None = None) -> Object:
    size = size or rng.choice(_SIZES)
    colour, texture = rng.choice(_COLOURS), rng.choice(_TEXTURES)
    scale = scale or rng.choice(SCALES[size])
    return Object(kind, colour, size, texture, 0.5, 0.5, scale, rng.uniform(-1, 1))


def _at(thing: Object, x: float, y: float) -> Object:
    return Object(thing.kind, thing.colour, thing.size, thing.texture, x, y, thing.scale, thing.shade)


def _pair(rng: Random, relation: str) -> tuple[Object, Object]:
    if relation == "in":
        holder = _object(rng, rng.choice(CONTAINERS), "big", CONTAINER_SCALE)
        held = _object(rng, _kind(rng, set(CONTAINERS)), "small")
        room = holder.scale * INTERIOR / 2
        x, y = _anywhere(rng, holder)
        slack_x, slack_y = (min(room - side / 2, ALIGNED) for side in (held.width, held.height))
        held = _at(held, x + rng.uniform(-slack_x, slack_x), y + rng.uniform(-slack_y, slack_y))
        return held, _at(holder, x, y)
    kind = _kind(rng, set())
    a, b = _object(rng, kind), _object(rng, _kind(rng, {kind}))
    upright = relation not in ("left", "right")
    extra = 0.0 if relation == "on" else APART + 0.01
    apart = (a.height + b.height if upright else a.width + b.width) / 2 + extra
    room = 1 - 2 * EDGE - apart - ((a.height + b.height) if upright else (a.width + b.width)) / 2
    if relation != "on":
        apart += rng.uniform(0, max(0.0, room))
    sideways = rng.uniform(-ALIGNED, ALIGNED)
    offset = (sideways, apart) if upright else (apart, sideways)
    if relation in ("left", "above", "on"):
        offset = (-offset[0], -offset[1])
    # b's centre is drawn so that both stay inside the picture.
    spans = []
    for delta, side_a, side_b in ((offset[0], a.width, b.width), (offset[1], a.height, b.height)):
        low = EDGE + max(side_b / 2, side_a / 2 - delta)
        high = 1 - EDGE - max(side_b / 2, side_a / 2 + delta)
        spans.append(rng.uniform(low, high) if high > low else (low + high) / 2)
    return _at(a, spans[0] + offset[0], spans[1] + offset[1]), _at(b, spans[0], spans[1])


def _anywhere(rng: Random, thing: Object, around: float = 0.0) -> tuple[float, float]:
    across, down = thing.width / 2 + EDGE + around, thing.height / 2 + EDGE + around
    return rng.uniform(across, 1 - across), rng.uniform(down, 1 - down)


def _placed_freely(rng: Random, others: list[Object], kind: str, around: float = 0.0) -> Object | None:
    """A thing of this kind that overlaps no other, with room around it; None if there is no room."""
    thing = _object(rng, kind)
    gap = 0.02 + 2 * around
    for attempt in range(12):
        if attempt == 6:
            thing = _object(rng, kind, "small")
        x, y = _anywhere(rng, thing, around)
        if all(
            abs(x - other.x) > (thing.width + other.width) / 2 + gap
            or abs(y - other.y) > (thing.height + other.height) / 2 + gap
            for other in others
        ):
            return _at(thing, x, y)
    return None
