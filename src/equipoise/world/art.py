"""The shapes of each kind of thing, on a 100 by 100 board with y downwards.

A line of data/art.txt is (ink, form, numbers). The ink "body" takes the object's colour and texture, "shade" a darker
tone of it; other inks are fixed. Later shapes cover earlier ones. A dark outline keeps white things visible on white.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

DATA = Path(__file__).with_name("data")
INKS = ("none", "body", "shade", "dark", "light", "wood")
DARK, LIGHT, WOOD = (40, 38, 44), (252, 252, 250), (128, 92, 60)

Shape = tuple[str, str, tuple[float, ...]]


def _read() -> tuple[dict[str, list[Shape]], dict[str, tuple[float, float]]]:
    art: dict[str, list[Shape]] = {}
    extents = {}
    for line in (DATA / "art.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            first, *rest = line.split()
            if first not in INKS:
                shapes = art[first] = []
                extents[first] = (float(rest[0]), float(rest[1]))
            else:
                shapes.append((first, rest[0], tuple(map(float, rest[1:]))))
    return art, extents


ART, EXTENTS = _read()
CONTAINERS = ("box", "ring")
BOARD = 240  # pixels, before scaling


@cache
def board(kind: str) -> NDArray[np.uint8]:
    """The kind's picture as one ink number per pixel, cropped to its box (pictures touch where boxes touch)."""
    margin, unit = BOARD // 10, BOARD / 100
    image = Image.new("L", (BOARD + 2 * margin, BOARD + 2 * margin), 0)
    brush = ImageDraw.Draw(image)
    for ink, form, numbers in ART[kind]:
        _draw(brush, form, [value * unit for value in numbers], INKS.index(ink), margin)
    covered = image.point(lambda ink: 255 if ink else 0)
    widened = covered.filter(ImageFilter.MaxFilter(2 * (BOARD // 36) + 1))
    inks = np.array(image)
    inks[(inks == 0) & (np.array(widened) > 0)] = INKS.index("dark")
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
