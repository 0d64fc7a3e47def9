"""Draws a scene: sprites are made once for each kind, texture and size, then tinted and placed.

The model's small picture has a tinted lamp and grain, like a camera's; the large one for people has neither.
"""

from __future__ import annotations

import colorsys
from functools import cache, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from equipoise.world.scenes import MARK, Object, Scene
from equipoise.world.vocabulary import ART, CONTAINERS, DATA, INKS

PIXELS = 48  # side of the base model's pictures
LAMP = 0.08  # strength of the lamp's tint
GRAIN = 0.04  # standard deviation of the noise, as a share of the range

BOARD = 240  # pixels of a kind's board, before scaling
DARK, LIGHT, WOOD = (40, 38, 44), (252, 252, 250), (128, 92, 60)
FIXED = np.zeros((len(INKS), 3), dtype=np.float32)  # the RGB of each ink's number; 0 for inks that take a colour
for _ink, _rgb in (("dark", DARK), ("light", LIGHT), ("wood", WOOD)):
    FIXED[INKS.index(_ink)] = np.array(_rgb, dtype=np.float32) / 255

Picture = NDArray[np.uint8]
_Array = NDArray[np.float32]

HUES = {  # hue (degrees), its range to either side, saturation, value
    colour: tuple(map(float, numbers))
    for colour, *numbers in map(str.split, (DATA / "hues.txt").read_text(encoding="utf-8").splitlines()[1:])
}


@cache
def board(kind: str) -> NDArray[np.uint8]:
    """The kind's picture as one ink number per pixel, cropped to its box (pictures touch where boxes touch). A dark
    outline keeps white things visible on white."""
    margin, unit = BOARD // 10, BOARD / 100
    image = Image.new("L", (BOARD + 2 * margin, BOARD + 2 * margin), 0)
    brush = ImageDraw.Draw(image)
    for ink, form, numbers in ART[kind]:
        _draw(brush, form, [value * unit for value in numbers], INKS.index(ink), margin)
    inks = np.array(image)
    widened, outline = inks > 0, range(-(BOARD // 36), BOARD // 36 + 1)
    for axis in (0, 1):
        widened = np.logical_or.reduce([np.roll(widened, step, axis) for step in outline])
    inks[(inks == 0) & widened] = INKS.index("dark")
    rows, columns = np.flatnonzero(inks.any(1)), np.flatnonzero(inks.any(0))
    return inks[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _draw(brush: ImageDraw.ImageDraw, form: str, numbers: list[float], ink: int, margin: int) -> None:
    if form == "arc":  # box, start and end in degrees (scaled like the rest), width
        unit = BOARD / 100
        start, end = numbers[4] / unit, numbers[5] / unit
        brush.arc([value + margin for value in numbers[:4]], start, end, fill=ink, width=round(numbers[6]))
    elif form == "line":
        brush.line([value + margin for value in numbers[:-1]], fill=ink, width=round(numbers[-1]), joint="curve")
    elif form == "rounded":
        brush.rounded_rectangle([value + margin for value in numbers[:4]], numbers[4], fill=ink)
    elif form == "half":  # the upper half of an ellipse
        brush.pieslice([value + margin for value in numbers], 180, 360, fill=ink)
    elif form == "polygon":
        brush.polygon([value + margin for value in numbers], fill=ink)
    elif form == "ellipse":
        brush.ellipse([value + margin for value in numbers], fill=ink)
    else:
        brush.rectangle([value + margin for value in numbers], fill=ink)


def paint(colour: str, shade: float = 0.0) -> tuple[_Array, _Array]:
    """The colour and the second tone for textures, as RGB from 0 to 1."""
    hue, stray, saturation, value = HUES[colour]
    value = min(1.0, value * (1 + 0.06 * shade))
    rgb = np.array(colorsys.hsv_to_rgb(((hue + stray * shade) % 360) / 360, saturation, value), dtype=np.float32)
    bright = rgb @ np.array([0.3, 0.59, 0.11], dtype=np.float32)
    second = rgb * 0.55 if bright > 0.72 else rgb + (1 - rgb) * 0.72
    return rgb, second.astype(np.float32)


@cache
def _pattern(kind: str, texture: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Where the second tone goes; a container's thin frame needs a finer pattern."""
    unit = 1.0 if kind not in CONTAINERS else 0.42
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]] / (max(shape) * unit)
    if texture == "striped":
        return np.asarray((x + y) % 0.3 < 0.15)
    if texture == "dotted":
        return np.asarray(((x % 0.27) - 0.135) ** 2 + ((y % 0.27) - 0.135) ** 2 < 0.085**2)
    if texture == "checked":
        return np.asarray(((x // 0.17) + (y // 0.17)) % 2 == 0)
    return np.zeros(shape, dtype=bool)


def _cut(kind: str, texture: str, pixels: int) -> tuple[_Array, _Array, _Array, _Array]:
    """Per pixel: shares of the first tone, the second tone and the paper, and the RGB of the fixed inks."""
    inks = board(kind)
    unit = max(inks.shape)
    height, width = (max(1, round(side / unit * pixels)) for side in inks.shape)
    second = _pattern(kind, texture, inks.shape)
    body, shade = inks == INKS.index("body"), inks == INKS.index("shade")
    first_share = (body & ~second) + 0.72 * shade
    fixed = FIXED[inks]

    def shrink(layer: NDArray[np.generic]) -> _Array:
        image = Image.fromarray(layer.astype(np.float32))
        return np.asarray(image.resize((width, height), Image.Resampling.BOX), dtype=np.float32)[..., None]

    colours = np.concatenate([shrink(fixed[..., channel]) for channel in range(3)], axis=-1)
    return shrink(first_share), shrink(body & second), shrink(inks == 0), colours


_sprite = cache(_cut)  # at the model's size: a few hundred small arrays
_large_sprite = lru_cache(maxsize=64)(_cut)


def draw(scene: Scene, pixels: int = PIXELS, clean: bool = False) -> Picture:
    """The scene as an RGB picture; `clean` omits lamp and grain."""
    sprite = _sprite if pixels <= 64 else _large_sprite
    canvas = np.empty((pixels, pixels, 3), dtype=np.float32)
    canvas[:] = np.linspace(scene.paper, scene.paper - 0.06, pixels, dtype=np.float32)[:, None, None]
    for thing in scene.objects:
        _lay(canvas, thing, pixels, sprite(thing.kind, thing.texture, max(3, round(thing.scale * pixels))))
    if any(thing.action for thing in scene.objects):
        marked = _marked(scene, pixels)
        canvas *= 1 - marked
        canvas += marked * (np.array(DARK, dtype=np.float32) / 255)
    if not clean:
        canvas *= 1 + LAMP * np.array(scene.light, dtype=np.float32)
        canvas += _grain(pixels, scene.grain)
    canvas *= 255
    canvas += 0.5
    return np.clip(canvas, 0, 255, out=canvas).astype(np.uint8)


def _lay(canvas: _Array, thing: Object, pixels: int, layers: tuple[_Array, _Array, _Array, _Array]) -> None:
    first_share, second_share, paper, fixed = layers
    height, width = paper.shape[:2]
    top = min(max(round(thing.y * pixels - height / 2), 0), pixels - height)
    left = min(max(round(thing.x * pixels - width / 2), 0), pixels - width)
    first, second = paint(thing.colour, thing.shade)
    region = canvas[top : top + height, left : left + width]
    region *= paper
    region += fixed
    region += first_share * first
    region += second_share * second


FINER = 4  # marks are drawn larger by this factor, then shrunk
STROKE = 0.02  # width of a mark's line


def _marked(scene: Scene, pixels: int) -> _Array:
    """The ink of the action marks on each pixel; marks are around a thing, never on it."""
    side = pixels * FINER
    image = Image.new("L", (side, side), 0)
    brush = ImageDraw.Draw(image)
    for thing in scene.objects:
        for line in marks(thing):
            brush.line([value * side for value in line], fill=255, width=round(STROKE * side))
    small = image.resize((pixels, pixels), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32)[..., None] / np.float32(255)


def marks(thing: Object) -> list[tuple[float, ...]]:
    """Lines (x, y, x, y, ...) that show the action, at most `MARK` from the thing's box: a Z near its head, a shadow
    below it, two strokes at either side, or rays to all sides."""
    x, y, across, down = thing.x, thing.y, thing.width / 2, thing.height / 2
    near, far = 0.25 * MARK, 0.85 * MARK
    if thing.action == "sleeping":
        left, right, top, bottom = x + across + 0.1 * MARK, x + across + far, y - down - far, y - down - 0.15 * MARK
        return [(left, top, right, top, left, bottom, right, bottom)]
    if thing.action == "jumping":
        ground = y + down + 0.75 * MARK
        return [(x - 0.7 * across, ground, x + 0.7 * across, ground)]
    if thing.action == "shaking":
        return [
            (place, y - share * down, place, y + share * down)
            for away, share in ((near, 0.7), (far, 0.4))
            for place in (x - across - away, x + across + away)
        ]
    if thing.action == "glowing":
        rays: list[tuple[float, ...]] = []
        for right, below in product((-1, 0, 1), repeat=2):
            start, end = (0.0, 0.6 * far) if right and below else (near, far)  # diagonal rays are shorter
            begin = x + right * (across + start), y + below * (down + start)
            if right or below:
                rays.append((*begin, x + right * (across + end), y + below * (down + end)))
        return rays
    return []


@cache
def _noise_bank(pixels: int) -> _Array:
    return np.random.default_rng(0).standard_normal((16 * pixels, 16 * pixels, 3), dtype=np.float32) * GRAIN


def _grain(pixels: int, seed: int) -> _Array:
    """A window of a fixed field of noise, which is much faster than new noise."""
    bank = _noise_bank(pixels)
    places = 15 * pixels
    top, left = seed % places, (seed // places) % places
    return bank[top : top + pixels, left : left + pixels]
