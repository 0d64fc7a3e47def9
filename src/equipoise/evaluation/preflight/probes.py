"""The pictures and texts that a model is checked with. All are drawn or written here; nothing is downloaded."""

from __future__ import annotations

import functools

import numpy as np
from PIL import Image

from equipoise.data.images import decode_image, encoded
from equipoise.data.items import ImageRef

KINDS = ("car", "house", "fish", "heart", "umbrella")
COLOURS = ("red", "blue")
PLACES = ((0.5, 0.5), (0.35, 0.4), (0.65, 0.45), (0.45, 0.65))  # one picture each
PIXELS = 160
LARGE = 640  # as wide as most benchmarks' photos, wider than any tower sees

SHORT = [f"a {colour} {kind}" for kind in KINDS for colour in COLOURS]  # one length in every common tokenizer
CAPITALS = [text.title() for text in SHORT]
LONG = "a small red car left of a big blue house, and a yellow fish above the green umbrella"

# Everyday words. A model that reads English has an embedding for each.
WORDS = [
    f"a photo of a {word}"
    for word in (
        "cat dog man woman child bird horse tree flower car bus boat house door window table chair cup plate bread "
        "apple red green blue white black big small left right above below one two three open empty wet no many"
    ).split()
]
BARE = "a photo of a"  # what is left where a word is dropped
LENGTHS = (4, 8, 16, 24, 48)  # words
SAME_WORDS = (  # each in two orders
    ("a red car and a blue house", "a blue car and a red house"),
    ("a fish above a heart", "a heart above a fish"),
)
_LIST = "a car and a house and a fish and a heart and a tree and a cup and a star and a hat and a key and".split()


def endings(words: int) -> list[str]:
    """Two texts of so many words that differ in the last one."""
    begin = " ".join((_LIST * 3)[: words - 1])
    return [f"{begin} {last}" for last in ("box", "moon")]


def beginnings(words: int) -> list[str]:
    """Two texts of so many words that differ in the first one."""
    end = " ".join((_LIST * 3)[2 : words + 1])
    return [f"{first} {end}" for first in ("box", "moon")]


def all_texts() -> list[str]:
    """All of them, short and long ones in turn: a loader that sorts by length, or pads to the longest, shows it."""
    ends = [text for words in LENGTHS for text in endings(words)] + [*beginnings(LENGTHS[0]), *beginnings(LENGTHS[1])]
    ordered = [*SHORT, *CAPITALS, LONG, *WORDS, BARE, *(text for pair in SAME_WORDS for text in pair), *ends]
    return [ordered[place * 29 % len(ordered)] for place in range(len(ordered))]


@functools.cache
def probe_set() -> list[tuple[Image.Image, int]]:
    """40 pictures of one thing each, with the place of its text in SHORT."""
    return [
        (_picture((kind, colour, x, y)), SHORT.index(f"a {colour} {kind}"))
        for x, y in PLACES
        for kind in KINDS
        for colour in COLOURS
    ]


@functools.cache
def shapes() -> list[Image.Image]:
    """Pictures of different things and sizes, as the photos of a benchmark have."""
    sizes = ((160, 160), (120, 90), (64, 110), (300, 200), (48, 48), (97, 131))
    return [probe_set()[7 * place][0].resize(size) for place, size in enumerate(sizes)]


@functools.cache
def rotated() -> tuple[Image.Image, Image.Image]:
    """A picture stored on its side with an EXIF tag that says so, and the same upright."""
    upright = _scene()
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise to view
    return _opened(upright.transpose(Image.Transpose.ROTATE_90), "PNG", exif), _opened(upright, "PNG")


CORNERS = ("top left", "top right", "bottom left", "bottom right")
ALONG = (0.06, 0.35, 0.65, 0.94)  # of a strip twice as long as wide; the middle square is from 0.25 to 0.75


@functools.cache
def marked() -> dict[str, tuple[Image.Image, list[Image.Image]]]:
    """Plain pictures, and each again with a dark mark: in a corner of a square, along a wide and along a tall one."""
    pictures = {}
    corners = [(x, y) for y in (0.08, 0.92) for x in (0.08, 0.92)]
    for name, size, places in (
        ("square", (LARGE, LARGE), corners),
        ("wide", (LARGE, LARGE // 2), [(along, 0.5) for along in ALONG]),
        ("tall", (LARGE // 2, LARGE), [(0.5, along) for along in ALONG]),
    ):
        plain = Image.new("RGB", size, (200, 190, 180))
        pictures[name] = (plain, [_with_mark(plain, x, y) for x, y in places])
    return pictures


def _with_mark(plain: Image.Image, x: float, y: float) -> Image.Image:
    marked, half = plain.copy(), LARGE // 16
    left, top = int(x * plain.width), int(y * plain.height)
    marked.paste((10, 30, 90), (left - half, top - half, left + half, top + half))
    return marked


def solid(colour: tuple[int, int, int]) -> Image.Image:
    return Image.new("RGB", (LARGE // 2, LARGE // 2), colour)


def quarters() -> Image.Image:
    """Each corner of another brightness, in the order of CORNERS: which way up does the network see it?"""
    values = np.kron(np.array([[0, 85], [170, 255]], np.uint8), np.ones((80, 80), np.uint8))
    return Image.fromarray(values).convert("RGB")


def fine_grained() -> Image.Image:
    """Stripes, edges and greys: what a resize does to them is its fingerprint."""
    return _stripes().copy()  # a model may change the picture that it is given


@functools.cache
def _stripes() -> Image.Image:
    y, x = np.indices((LARGE, LARGE))
    values = 128 + 60 * np.sin(x * x / 900.0) + 40 * np.sin(y / 1.7) + 25 * ((x // 40 + y // 56) % 2)
    return Image.fromarray(values.clip(0, 255).astype(np.uint8)).convert("RGB")


def blank() -> Image.Image:
    return Image.new("RGB", (PIXELS, PIXELS), (128, 128, 128))


@functools.cache
def all_pictures() -> list[Image.Image]:
    """All that are asked for at once, in a fixed order: more than 64, which is where many loaders begin a new batch."""
    places = [picture for plain, others in marked().values() for picture in (plain, *others)]
    others = [blank(), quarters(), solid((0, 90, 0))]
    return [*(picture for picture, _ in probe_set()), *shapes(), *rotated(), *places, *others]


def _scene() -> Image.Image:
    return _picture(("house", "red", 0.3, 0.3), ("car", "blue", 0.7, 0.75))


def _picture(*things: tuple[str, str, float, float]) -> Image.Image:
    """Things of a kind and colour at x and y. The world is loaded for models that were not checked before."""
    from equipoise.world.draw import draw
    from equipoise.world.scenes import SCALES, Object, Scene

    objects = [Object(kind, colour, "big", "plain", x, y, SCALES["big"][-1]) for kind, colour, x, y in things]
    return Image.fromarray(draw(Scene((*objects,)), PIXELS, clean=True))


def _opened(image: Image.Image, kind: str, exif: Image.Exif | None = None) -> Image.Image:
    data = encoded(image, kind, **({"exif": exif} if exif else {}))
    return decode_image(data, ImageRef(path="a drawn picture"))
