"""Checks of what happens to pictures before the network sees them: rotation, crop, pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from PIL.Image import Resampling

from equipoise.evaluation.preflight import probes
from equipoise.evaluation.preflight.checks import ROUNDING, Verdict, check
from equipoise.evaluation.preflight.distances import HARMFUL, scale
from equipoise.evaluation.preflight.tested_model import TestedModel
from equipoise.evaluation.record import Check
from equipoise.models import OF_PHOTOS
from equipoise.models.preprocess import CLIP_MEAN, CLIP_STD

if TYPE_CHECKING:
    from equipoise.models.base import Model

    Colours = tuple[NDArray[np.floating], NDArray[np.floating]]  # mean and deviation of red, green and blue

KNOWN = {  # mean and standard deviation of pixels from 0 to 1
    "CLIP's": (CLIP_MEAN, CLIP_STD),
    "SigLIP's": ((0.5,) * 3, (0.5,) * 3),
    "ImageNet's": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "none": ((0.0,) * 3, (1.0,) * 3),
}
CLOSE = 0.01  # of a mean or a deviation
BLURRED = 6  # levels, on average, of a picture of stripes; Pillow's filters are within 4 of each other


def _exif_rotation(tested: TestedModel) -> Check:
    """CLIP's and SigLIP's own preprocessing ignores the tag, and so do our loaders; for another model it is unknown."""
    one, other = tested.rows_of_pictures(probes.rotated())
    moved = float(np.linalg.norm(one - other)) / scale(tested.rows_of_pictures(probes.shapes()))
    found = f"{'applied' if moved <= HARMFUL else 'ignored'} (drift {moved:.2g})"
    known = moved <= HARMFUL or tested.kind_of_spec in {*OF_PHOTOS, "served"}
    return check("exif rotation", moved, found, "fine" if known else "suspicious")


def _crop(tested: TestedModel) -> Check:
    """A square is seen whole. Of a long picture both ends are seen, or neither; the middle always."""
    seen: dict[str, list[bool]] = {}
    for name, (plain, others) in probes.marked().items():
        rows = tested.rows_of_pictures([plain, *others])
        away = np.linalg.norm(rows[1:] - rows[0], axis=1)
        seen[name] = [bool(one > ROUNDING * scale(tested.rows_of_pictures(probes.shapes()))) for one in away]
    blind = [corner for corner, one in zip(probes.CORNERS, seen["square"], strict=True) if not one]
    odd = [name for name in ("wide", "tall") if seen[name] != seen[name][::-1] or not all(seen[name][1:3])]
    ends = {name: seen[name][0] for name in ("wide", "tall")}
    seen_ends = ", ".join(f"{name} {'both' if both else 'neither'}" for name, both in ends.items())
    found = f"corners of a square seen: {sum(seen['square'])} of 4; ends of a long picture: {seen_ends}"
    verdict: Verdict = "fine"
    family = tested.network.pictures.family() if tested.encodes else None
    if blind or odd:
        verdict = "wrong"
        found = "not seen: " + ", ".join([*blind, *(f"one side or the middle of a {name} picture" for name in odd)])
    elif family and ends["wide"] != family.startswith("siglip"):
        verdict = "suspicious"
        found += f"; {family} was trained the other way"
    return check("crop", float(sum(map(sum, seen.values()))), found, verdict)


def pixels_seen(tested: TestedModel) -> Check | None:
    """The input of the first convolution for a black, a white and a red picture, and of one with four quarters."""
    seen = tested.network.pictures
    if len(seen.pixels) < 5:
        return None
    each = seen.pixels[:: len(seen.pixels) // 5][:5]  # a network may look at each of the five several times
    black, white, red, quarters, fine = [pixels[-1] for pixels in each]
    low, high = _middle(black), _middle(white)
    span = _span(low, high)
    mean, std = -low / span, 1 / span
    name = next((key for key, known in KNOWN.items() if _same(known, (mean, std))), None)
    shown = f"mean {_three(mean)}, deviation {_three(std)} ({name or 'of no common model'})"
    problems = []
    if span.min() <= 0 or span.max() > 50 or span.max() < 0.02:
        problems.append(f"white minus black is {span.mean():.3g}, where 2 to 5 is common")
    elif (stated := _stated(tested.model)) is not None and not _same(stated, (mean, std)):
        problems.append(f"the model's own configuration says mean {_three(stated[0])}, deviation {_three(stated[1])}")
    elif not np.allclose(arrived := (_middle(red) - low) / span, (1, 0, 0), atol=0.1):
        order = " (BGR)" if np.allclose(arrived, (0, 0, 1), atol=0.1) else ""
        problems.append(f"of a red picture the channels hold {_three(arrived)}, where 1/0/0 is expected{order}")
    way = _way_up(quarters)
    if way != [0, 1, 2, 3]:
        problems.append(f"the picture arrives turned or mirrored: {', '.join(probes.CORNERS[one] for one in way)}")
    if problems:
        return check("pixels", float(span.mean()), "; ".join([shown, *problems]), "wrong")
    own = _own_pixels(tested.model, probes.fine_grained())
    if own is not None and own.shape == fine.shape:
        away = 255 * float(np.abs((own - fine) / span[:, None, None]).mean())
    elif own is not None:  # another size: the network cuts or pads it first
        away = 0.0
    else:
        away = _resampled((fine - low[:, None, None]) / span[:, None, None])
    shown += f"; {away:.1f} of 255 levels from {'Pillow' if own is None else 'its own preprocessor'}'s resize"
    of_family = tested.encodes and seen.family() is not None
    unusual = name in (None, "none") or (name == "ImageNet's" and of_family)
    unusual = unusual and (of_family or _stated(tested.model) is None)
    verdict: Verdict = "suspicious" if unusual or away > BLURRED else "fine"
    return check("pixels", float(span.mean()), shown, verdict, "resize" if away > BLURRED else "")


def _resampled(pixels: NDArray[np.float32]) -> float:
    """Mean absolute difference (0-255) from Pillow's closest resize, of the whole picture or of all but an edge (256
    pixels, of which 224 are kept)."""
    height, width = pixels.shape[1:]
    away = []
    for more in (1.0, 256 / 224):
        size = round(width * more), round(height * more)
        left, top = (size[0] - width) // 2, (size[1] - height) // 2
        for resampling in (Resampling.BICUBIC, Resampling.BILINEAR, Resampling.LANCZOS):
            made = probes.fine_grained().resize(size, resampling).crop((left, top, left + width, top + height))
            away.append(np.abs(np.asarray(made, np.float32).transpose(2, 0, 1) - 255 * pixels).mean())
    return float(min(away))


def _span(low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(np.abs(high - low) < 1e-12, np.float32(1e-12), high - low)


def _middle(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    height, width = pixels.shape[1:]
    return np.asarray(pixels[:, height // 2, width // 2], np.float32)


def _way_up(pixels: NDArray[np.float32]) -> list[int]:
    """Where the darkest, second darkest, ... quarter arrived: [0, 1, 2, 3] where nothing was turned."""
    grey = pixels.mean(0)
    top, left = grey.shape[0] // 4, grey.shape[1] // 4
    quarters = [grey[y, x] for y in (top, -top - 1) for x in (left, -left - 1)]
    return [int(one) for one in np.argsort(quarters)]


def _own_pixels(model: Model, picture: Image.Image) -> NDArray[np.float32] | None:
    """A picture as the model's own preprocessor returns it; None if it has none that can be asked."""
    preprocess: Any = getattr(model, "preprocess", None)
    of_processor = getattr(getattr(model, "processor", None), "image_processor", None)
    processor: Any = getattr(model, "image_processor", None) or of_processor
    try:
        if preprocess:
            return np.asarray(preprocess(picture))
        return np.asarray(processor([picture], return_tensors="np")["pixel_values"][0])
    except Exception:  # a user's own method may raise anything
        return None


def _stated(model: Model) -> Colours | None:
    """Mean and deviation by that preprocessor."""
    black, white = _own_pixels(model, probes.solid((0, 0, 0))), _own_pixels(model, probes.solid((255, 255, 255)))
    if black is None or white is None or black.ndim != 3 or len(black) != 3:
        return None
    span = _span(_middle(black), _middle(white))
    return -_middle(black) / span, 1 / span


def _same(one: tuple[ArrayLike, ArrayLike], other: tuple[ArrayLike, ArrayLike]) -> bool:
    return all(np.allclose(left, right, atol=CLOSE) for left, right in zip(one, other, strict=True))


def _three(values: Any) -> str:
    return "/".join(f"{value:.3g}" for value in values)


PICTURES = (_exif_rotation, _crop, pixels_seen)
