"""The pictures and texts that the checks show a model. All are drawn and written here; nothing is downloaded."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from equipoise.data.images import decode_image
from equipoise.data.items import ImageRef
from equipoise.world.draw import draw
from equipoise.world.scenes import SCALES, Object, Scene

KINDS = ("car", "house", "fish", "heart", "umbrella")
COLOURS = ("red", "blue")
PLACES = ((0.5, 0.5), (0.35, 0.4), (0.65, 0.45), (0.45, 0.65))  # one picture each
PIXELS = 160

SHORT = [f"a {colour} {kind}" for colour in COLOURS for kind in KINDS]  # one length in every common tokenizer
LONG = ["a small red car left of a big blue house, and a yellow fish above the green umbrella"]

# Everyday words. A model that reads English has an embedding for each.
WORDS = (
    "cat dog man woman child bird horse tree flower car bus boat house door window table chair cup plate bread "
    "apple red green blue white black big small left right above below one two three open empty wet no many"
).split()

_LIST = "a car and a house and a fish and a heart and a tree and a cup and a star and a hat and a key and".split()
LENGTHS = (4, 8, 16, 24, 48)  # words


def endings(words: int) -> list[str]:
    """Two texts of so many words that differ in the last one."""
    begin = " ".join((_LIST * 3)[: words - 1])
    return [f"{begin} {last}" for last in ("box", "moon")]


def probe_set() -> list[tuple[Image.Image, str, str]]:
    """40 pictures of one thing each, with its kind and colour."""
    return [
        (_picture(Object(kind, colour, "big", "plain", x, y, SCALES["big"][-1])), kind, colour)
        for kind in KINDS
        for colour in COLOURS
        for x, y in PLACES
    ]


def shapes() -> list[Image.Image]:
    """Pictures of different things and sizes, as the photos of a benchmark have."""
    probes = [picture for picture, *_ in probe_set()[::7]]
    sizes = ((160, 160), (120, 90), (64, 110), (300, 200), (48, 48), (97, 131))
    return [picture.resize(size) for picture, size in zip(probes, sizes, strict=True)]


def formats() -> dict[str, tuple[Image.Image, Image.Image]]:
    """A picture saved in another mode, and the same as plain RGB; both opened as `eval` opens photos."""
    plain = _scene()
    grey, palette = plain.convert("L"), plain.quantize(64)
    deep = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    saved = {
        "grey": (grey, "PNG", grey),
        "palette": (palette, "PNG", palette),
        "CMYK": (plain.convert("CMYK"), "TIFF", plain),
        "alpha": (plain.convert("RGBA"), "PNG", plain),
        "16-bit grey": (deep, "PNG", grey),
    }
    return {
        name: (_opened(image, kind), _opened(same.convert("RGB"), "PNG")) for name, (image, kind, same) in saved.items()
    }


def rotated() -> tuple[Image.Image, Image.Image]:
    """A picture stored on its side with an EXIF tag that says so, and the same upright."""
    upright = _scene()
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise to view
    return _opened(upright.transpose(Image.Transpose.ROTATE_90), "PNG", exif), _opened(upright, "PNG")


def _scene() -> Image.Image:
    things = (("house", "red", 0.3, 0.3), ("car", "blue", 0.7, 0.75))
    return _picture(*(Object(kind, colour, "big", "plain", x, y, SCALES["big"][-1]) for kind, colour, x, y in things))


def _picture(*things: Object) -> Image.Image:
    return Image.fromarray(draw(Scene(things), PIXELS, clean=True))


def _opened(image: Image.Image, kind: str, exif: Image.Exif | None = None) -> Image.Image:
    stream = io.BytesIO()
    image.save(stream, kind, **({"exif": exif} if exif else {}))
    return decode_image(stream.getvalue(), ImageRef(path="a drawn picture"))
