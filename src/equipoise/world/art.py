"""The pictures of the kinds: flat shapes on a 100 by 100 board, y downwards.

A shape is (ink, form, numbers). The ink "body" takes the object's colour and texture, "shade" a darker tone of
it; the others are fixed. Shapes cover the ones before them. A dark outline is added around the whole, so that
a white thing is seen on white paper.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

INKS = ("none", "body", "shade", "dark", "light", "wood")
DARK, LIGHT, WOOD = (40, 38, 44), (252, 252, 250), (128, 92, 60)

Shape = tuple[str, str, tuple[float, ...]]

ART: dict[str, tuple[Shape, ...]] = {
    "cat": (
        ("body", "line", (70, 88, 90, 84, 92, 62, 84, 50, 10)),
        ("body", "ellipse", (22, 44, 76, 100)),
        ("body", "polygon", (22, 40, 20, 2, 46, 20)),
        ("body", "polygon", (76, 40, 78, 2, 52, 20)),
        ("body", "ellipse", (18, 12, 80, 62)),
        ("light", "ellipse", (28, 28, 45, 46)),
        ("light", "ellipse", (53, 28, 70, 46)),
        ("dark", "ellipse", (34, 30, 42, 45)),
        ("dark", "ellipse", (56, 30, 64, 45)),
        ("dark", "polygon", (44, 48, 54, 48, 49, 54)),
        ("dark", "line", (40, 52, 10, 47, 2.5)),
        ("dark", "line", (40, 54, 11, 57, 2.5)),
        ("dark", "line", (58, 52, 88, 47, 2.5)),
        ("dark", "line", (58, 54, 87, 57, 2.5)),
    ),
    "rabbit": (
        ("light", "ellipse", (72, 78, 92, 97)),
        ("body", "ellipse", (26, 52, 80, 100)),
        ("body", "ellipse", (26, 0, 44, 46)),
        ("body", "ellipse", (54, 0, 72, 46)),
        ("light", "ellipse", (31, 6, 39, 38)),
        ("light", "ellipse", (59, 6, 67, 38)),
        ("body", "ellipse", (22, 30, 76, 72)),
        ("dark", "ellipse", (34, 42, 43, 53)),
        ("dark", "ellipse", (55, 42, 64, 53)),
        ("light", "rectangle", (44, 61, 54, 70)),
        ("dark", "ellipse", (45, 55, 53, 61)),
    ),
    "fish": (
        ("body", "polygon", (66, 50, 100, 22, 92, 50, 100, 78)),
        ("shade", "polygon", (34, 26, 56, 8, 60, 28)),
        ("body", "ellipse", (0, 20, 78, 80)),
        ("light", "ellipse", (10, 34, 28, 52)),
        ("dark", "ellipse", (14, 38, 23, 48)),
        ("shade", "polygon", (42, 48, 60, 42, 60, 66)),
        ("dark", "line", (3, 60, 16, 62, 3)),
    ),
    "house": (
        ("wood", "rectangle", (70, 4, 84, 30)),
        ("body", "rectangle", (10, 44, 90, 100)),
        ("shade", "polygon", (0, 48, 50, 0, 100, 48)),
        ("dark", "line", (0, 47, 100, 47, 3)),
        ("wood", "rectangle", (56, 62, 78, 100)),
        ("light", "rectangle", (22, 58, 46, 82)),
        ("dark", "line", (34, 58, 34, 82, 3)),
        ("dark", "line", (22, 70, 46, 70, 3)),
    ),
    "tree": (
        ("wood", "rectangle", (42, 78, 58, 100)),
        ("body", "polygon", (50, 0, 80, 36, 20, 36)),
        ("body", "polygon", (50, 18, 88, 60, 12, 60)),
        ("body", "polygon", (50, 40, 96, 86, 4, 86)),
        ("dark", "line", (30, 36, 70, 36, 2.5)),
        ("dark", "line", (22, 60, 78, 60, 2.5)),
    ),
    "car": (
        ("body", "polygon", (20, 44, 34, 18, 70, 18, 84, 44)),
        ("body", "rounded", (0, 40, 100, 74, 10)),
        ("light", "polygon", (30, 42, 38, 25, 50, 25, 50, 42)),
        ("light", "polygon", (55, 42, 55, 25, 66, 25, 74, 42)),
        ("dark", "ellipse", (12, 58, 38, 84)),
        ("dark", "ellipse", (62, 58, 88, 84)),
        ("light", "ellipse", (20, 66, 30, 76)),
        ("light", "ellipse", (70, 66, 80, 76)),
    ),
    "boat": (
        ("wood", "rectangle", (45, 0, 51, 72)),
        ("body", "polygon", (54, 6, 92, 64, 54, 64)),
        ("body", "polygon", (42, 16, 42, 64, 12, 64)),
        ("wood", "polygon", (0, 72, 100, 72, 82, 100, 18, 100)),
    ),
    "rocket": (
        ("shade", "polygon", (30, 52, 10, 84, 32, 80)),
        ("shade", "polygon", (70, 52, 90, 84, 68, 80)),
        ("light", "polygon", (38, 80, 62, 80, 50, 100)),
        ("body", "ellipse", (28, 0, 72, 92)),
        ("dark", "polygon", (32, 80, 68, 80, 64, 86, 36, 86)),
        ("light", "ellipse", (38, 26, 62, 50)),
        ("dark", "ellipse", (43, 31, 57, 45)),
    ),
    "flower": (
        ("wood", "line", (50, 50, 50, 100, 6)),
        ("wood", "polygon", (50, 92, 76, 70, 80, 84)),
        ("body", "ellipse", (37, 0, 63, 32)),
        ("body", "ellipse", (12, 14, 42, 42)),
        ("body", "ellipse", (58, 14, 88, 42)),
        ("body", "ellipse", (20, 38, 48, 66)),
        ("body", "ellipse", (52, 38, 80, 66)),
        ("light", "ellipse", (37, 23, 63, 47)),
        ("dark", "ellipse", (45, 30, 55, 40)),
    ),
    "mushroom": (
        ("light", "rounded", (34, 46, 66, 100, 8)),
        ("body", "half", (2, 0, 98, 108)),
        ("dark", "line", (2, 54, 98, 54, 3)),
    ),
    "cup": (
        ("body", "arc", (58, 26, 100, 74, -90, 90, 10)),
        ("body", "polygon", (4, 12, 78, 12, 70, 100, 12, 100)),
        ("dark", "ellipse", (4, 4, 78, 22)),
        ("light", "ellipse", (10, 8, 72, 19)),
    ),
    "bottle": (
        ("wood", "rectangle", (40, 0, 60, 12)),
        ("body", "rectangle", (38, 10, 62, 44)),
        ("body", "ellipse", (20, 30, 80, 70)),
        ("body", "rounded", (20, 48, 80, 100, 8)),
        ("light", "rectangle", (20, 60, 80, 84)),
    ),
    "hat": (
        ("body", "rectangle", (20, 8, 80, 84)),
        ("body", "rounded", (0, 78, 100, 94, 8)),
        ("dark", "rectangle", (20, 62, 80, 78)),
    ),
    "book": (
        ("light", "polygon", (4, 20, 50, 28, 96, 20, 96, 80, 50, 88, 4, 80)),
        ("body", "polygon", (0, 14, 47, 22, 47, 92, 0, 84)),
        ("body", "polygon", (100, 14, 53, 22, 53, 92, 100, 84)),
        ("light", "polygon", (9, 25, 40, 30, 40, 44, 9, 39)),
        ("light", "polygon", (91, 25, 60, 30, 60, 44, 91, 39)),
        ("dark", "line", (50, 22, 50, 93, 5)),
    ),
    "key": (
        ("body", "arc", (0, 26, 48, 74, 0, 360, 14)),
        ("body", "rectangle", (42, 44, 100, 57)),
        ("body", "rectangle", (70, 52, 79, 74)),
        ("body", "rectangle", (88, 52, 97, 78)),
    ),
    "umbrella": (
        ("wood", "line", (50, 0, 50, 90, 5)),
        ("wood", "arc", (50, 80, 70, 100, 0, 180, 5)),
        ("body", "half", (0, 6, 100, 100)),
        ("dark", "line", (50, 8, 30, 53, 2.5)),
        ("dark", "line", (50, 8, 70, 53, 2.5)),
    ),
    "crown": (
        ("body", "polygon", (0, 20, 26, 54, 50, 8, 74, 54, 100, 20, 88, 88, 12, 88)),
        ("body", "ellipse", (44, 2, 56, 14)),
        ("light", "ellipse", (24, 66, 36, 78)),
        ("light", "ellipse", (44, 66, 56, 78)),
        ("light", "ellipse", (64, 66, 76, 78)),
    ),
    "ghost": (
        ("body", "ellipse", (12, 0, 88, 76)),
        ("body", "polygon", (12, 38, 88, 38, 88, 100, 74, 86, 62, 100, 50, 86, 38, 100, 26, 86, 12, 100)),
        ("light", "ellipse", (28, 24, 46, 48)),
        ("light", "ellipse", (54, 24, 72, 48)),
        ("dark", "ellipse", (32, 32, 43, 46)),
        ("dark", "ellipse", (58, 32, 69, 46)),
        ("dark", "ellipse", (42, 54, 58, 70)),
    ),
    "star": (
        (
            "body",
            "polygon",
            (50, 0, 62, 35, 100, 37, 70, 60, 81, 97, 50, 75, 19, 97, 30, 60, 0, 37, 38, 35),
        ),
    ),
    "heart": (
        ("body", "ellipse", (0, 6, 54, 58)),
        ("body", "ellipse", (46, 6, 100, 58)),
        ("body", "polygon", (4, 44, 50, 28, 96, 44, 50, 98)),
    ),
    "moon": (
        ("body", "ellipse", (6, 0, 100, 100)),
        ("none", "ellipse", (36, -6, 122, 80)),
    ),
    "arrow": (("body", "polygon", (0, 36, 54, 36, 54, 12, 100, 50, 54, 88, 54, 64, 0, 64)),),
    "bell": (
        ("dark", "ellipse", (40, 80, 60, 100)),
        ("body", "ellipse", (42, 0, 58, 16)),
        ("body", "half", (20, 8, 80, 108)),
        ("body", "polygon", (20, 56, 80, 56, 98, 84, 2, 84)),
        ("dark", "line", (2, 83, 98, 83, 4)),
    ),
    "flag": (
        ("wood", "rectangle", (6, 0, 16, 100)),
        ("body", "polygon", (16, 4, 50, 12, 96, 4, 96, 54, 50, 62, 16, 54)),
    ),
    "gift": (
        ("light", "arc", (24, 0, 52, 28, 0, 360, 7)),
        ("light", "arc", (48, 0, 76, 28, 0, 360, 7)),
        ("body", "rectangle", (8, 40, 92, 100)),
        ("body", "rectangle", (0, 24, 100, 46)),
        ("dark", "line", (0, 46, 100, 46, 3)),
        ("light", "rectangle", (43, 24, 57, 100)),
    ),
    # The containers: things can be in them, so their middle is paper.
    "box": (
        ("body", "rectangle", (0, 0, 100, 100)),
        ("dark", "rectangle", (14, 14, 86, 86)),
        ("light", "rectangle", (16, 16, 84, 84)),
    ),
    "ring": (
        ("body", "ellipse", (0, 0, 100, 100)),
        ("dark", "ellipse", (14, 14, 86, 86)),
        ("light", "ellipse", (16, 16, 84, 84)),
    ),
}
CONTAINERS = ("box", "ring")
BOARD = 240  # pixels of the board on which shapes are cut before they are scaled


@cache
def board(kind: str) -> NDArray[np.uint8]:
    """The kind's picture as one ink number a pixel, cut to its own box (so pictures touch where boxes touch)."""
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
    if form == "arc":  # box, from and to in degrees (given in hundredths of the board like the rest), width
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


# Width and height of each picture when its longer side is 1. Written down rather than measured, so that no
# version of Pillow moves a scene; a test holds them against the drawn boards.
EXTENTS = {
    "cat": (0.88, 1.0),
    "rabbit": (0.72, 1.0),
    "fish": (1.0, 0.74),
    "house": (1.0, 1.0),
    "tree": (0.92, 1.0),
    "car": (1.0, 0.68),
    "boat": (1.0, 1.0),
    "rocket": (0.81, 1.0),
    "flower": (0.77, 1.0),
    "mushroom": (0.96, 1.0),
    "cup": (1.0, 1.0),
    "bottle": (0.62, 1.0),
    "hat": (1.0, 0.87),
    "book": (1.0, 0.8),
    "key": (1.0, 0.55),
    "umbrella": (1.0, 1.0),
    "crown": (1.0, 0.87),
    "ghost": (0.77, 1.0),
    "star": (1.0, 0.97),
    "heart": (1.0, 0.92),
    "moon": (0.87, 1.0),
    "arrow": (1.0, 0.77),
    "bell": (0.96, 1.0),
    "flag": (0.91, 1.0),
    "gift": (1.0, 1.0),
    "box": (1.0, 1.0),
    "ring": (1.0, 1.0),
}
