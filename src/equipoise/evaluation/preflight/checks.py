"""The checks of a model: each a number, a verdict, why it matters and the fix.

Most numbers are a *drift* (embedding/embed.py): how far an answer moves between two ways of asking for it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.Image import Resampling

from equipoise.core.errors import UserError
from equipoise.evaluation.embedding.cache import Vector
from equipoise.evaluation.embedding.embed import HARMFUL, distances, drift, scale
from equipoise.evaluation.preflight import probes
from equipoise.evaluation.preflight.probes import SAME, Subject, watched
from equipoise.evaluation.record import Check
from equipoise.models import OF_PHOTOS, kind_named
from equipoise.models.base import tells_tokens
from equipoise.models.preprocess import CLIP_MEAN, CLIP_STD

Verdict = Literal["fine", "suspicious", "wrong"]

ROUNDING = 0.001  # drift; float32 stays far below it
COLLAPSED = 0.9999  # mean cosine of different inputs
CROWDED = 0.999
SHORT_TEXT, CAPTION = 8, 16  # words: shorter than most captions; shorter than many
KNOWN = {  # mean and standard deviation of pixels from 0 to 1
    "CLIP's": (CLIP_MEAN, CLIP_STD),
    "SigLIP's": ((0.5,) * 3, (0.5,) * 3),
    "ImageNet's": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "none": ((0.0,) * 3, (1.0,) * 3),
}
CLOSE = 0.01  # of a mean or a deviation
BLURRED = 6  # levels, on average, of a picture of stripes; Pillow's filters are within 4 of each other

TEXTS = tomllib.loads((Path(__file__).parent / "data" / "checks.toml").read_text(encoding="utf-8"))


def check(name: str, number: float | None, found: str, verdict: Verdict, text: str = "") -> Check:
    """Why it matters and the fix are those of data/checks.toml under `text`, or else under the name."""
    number = None if number is None or not np.isfinite(number) else float(number)
    why, fix = (TEXTS[text or name][part] for part in ("why", "fix"))
    return Check(name=name, number=number, found=found, verdict=verdict, why=why, fix="" if verdict == "fine" else fix)


def run(checks: Sequence[Callable[[Subject], Check | None]], subject: Subject, stop: bool = False) -> list[Check]:
    """The checks that apply. With `stop` none after one that is wrong. A model that fails an easy question is wrong,
    whatever it raised."""
    done: list[Check] = []
    for one in checks:
        try:
            found = one(subject)
        except UserError as error:
            name = one.__name__.strip("_").replace("_", " ")
            found = check(name, None, str(error), "wrong", "failed")
        done += [found] if found is not None else []
        if stop and done and done[-1].verdict == "wrong":
            break
    return done


def _shape(subject: Subject) -> Check:
    if not subject.encodes:
        many = subject.scores(probes.shapes()[:2], probes.SHORT[:3]).size
        return check("shape", many, "one score for each pair", "fine", "shape of scores")
    try:
        widths = [rows.shape[1] for rows in subject.some]
    except UserError as error:
        swapped = subject.answers("embed_texts", probes.shapes()) and subject.answers("embed_images", probes.SHORT)
        return check("shape", None, str(error), "wrong", "swapped towers" if swapped else "shape of rows")
    found = f"images {widths[0]} wide, texts {widths[1]}"
    return check("shape", widths[0], found, "fine" if widths[0] == widths[1] else "wrong")


def _finite(subject: Subject) -> Check:
    rows = [*subject.shown.values(), *subject.read.values()]
    bad = sum(not np.isfinite(row).all() for row in rows)
    what = "embeddings hold NaN or infinity, or are zero" if subject.encodes else "scores are NaN or infinity"
    return check("finite", bad, f"{bad} of {len(rows)} {what}", "wrong" if bad else "fine")


def _determinism(subject: Subject) -> Check:
    images, texts = subject.some
    again = subject.images(probes.shapes()), subject.texts(probes.SHORT)
    moved = drift(images, again[0]), drift(texts, again[1])
    return _of_drift("determinism", max(moved), "the same batch asked for twice")


def _collapse(subject: Subject) -> Check:
    """Whether a pair scorer's score depends on the picture and on the text."""
    pictures, texts = (np.stack(list(rows.values())) for rows in (subject.shown, subject.read))
    if not subject.encodes:
        spread = [float(np.abs(rows - rows[0]).max()) for rows in (pictures, texts)]
        level = 1e-6 * max(1e-6, *map(float, (np.abs(pictures).max(), np.abs(texts).max())))
        dead = [name for name, value in zip(("the picture", "the text"), spread, strict=True) if value <= level]
        found = f"another picture changes a score by up to {spread[0]:.2g}, another text by up to {spread[1]:.2g}"
        if dead:
            found = f"the score does not depend on {' or '.join(dead)}"
        return check("collapse", min(spread), found, "wrong" if dead else "fine")
    cosines = {"images": _mean_cosine(pictures), "texts": _mean_cosine(texts)}
    most = max(cosines.values())
    found = ", ".join(f"mean cosine of different {name} {cosine:.4f}" for name, cosine in cosines.items())
    verdict: Verdict = "wrong" if most > COLLAPSED else "suspicious" if most > CROWDED else "fine"
    return check("collapse", most, found, verdict)


def _text_batch(subject: Subject) -> Check:
    texts = probes.SHORT
    alone = subject.alone(texts[:6])
    moved = max(
        drift(alone, subject.some[1][:6]),
        drift(alone, subject.texts(texts[::-1])[::-1][:6]),
        _reordered(alone, subject.of_texts(texts[:6]), np.stack(list(subject.read.values()))),
    )
    return _of_drift("text batch", moved, "texts alone against in batches of several orders")


def _text_padding(subject: Subject) -> Check:
    picked = [*probes.SHORT[:4], *probes.WORDS[:2], probes.LONG]
    moved = drift(subject.alone(picked), subject.of_texts(picked))
    _, seen = subject.seen
    ids = seen.ids()
    if (
        moved <= HARMFUL
        and ids is not None
        and (seen.family() or "").startswith("siglip")
        and ids.shape[1] < (seen.positions or 0)
    ):
        found = f"a text is padded to {ids.shape[1]} tokens, the text tower was trained with {seen.positions}"
        return check("text padding", ids.shape[1], found, "wrong")
    return _of_drift("text padding", moved, "texts alone against with longer neighbours")


def _image_batch(subject: Subject) -> Check:
    pictures = probes.all_pictures()
    picked = [pictures[place] for place in (0, 16, 33, 41, 43, 64, 65)]
    alone = subject.alone(picked)
    orders = drift(subject.some[0], subject.images(probes.shapes()[::-1])[::-1])
    moved = max(drift(alone, subject.of_images(picked)), orders)
    return _of_drift("image batch", moved, "images alone against in a batch, in two orders")


def _own_cache(subject: Subject) -> Check:
    """Copies of pictures that are gone when the next is made, at the same place in memory: kept answers show."""
    pictures = probes.shapes()[:4]
    fresh = [subject.images([picture.copy()]) for picture in pictures]
    stale = drift(subject.of_images(pictures), np.concatenate(fresh))
    return _of_drift("own cache", stale, "pictures against their copies, one after the other")


def _text_end(subject: Subject) -> Check:
    """Compared up to the context length where the model states it, else up to what captions have."""
    near = SAME * scale(subject.of_texts(probes.SHORT))
    differ = {}
    for words in probes.LENGTHS:
        one, other = subject.of_texts(probes.endings(words))
        differ[words] = float(np.linalg.norm(one - other)) > near
    longest = next((words for words in reversed(probes.LENGTHS) if differ[words]), 0)
    lost = [words for words in probes.LENGTHS if not differ[words]]
    verdict: Verdict = "fine"
    if any(words <= SHORT_TEXT or _fits(subject, words) for words in lost):
        verdict = "wrong"
    elif any(words <= CAPTION for words in lost):
        verdict = "suspicious"
    found = f"texts that differ in the last word only: distinguished up to {longest} words"
    return check("text end", longest, found, verdict)


def _fits(subject: Subject, words: int) -> bool:
    """Whether both texts are within the context length, by the model's own tokens or at two tokens a word."""
    model = subject.model
    if tells_tokens(model):
        return max(map(len, model.tokenize(probes.endings(words)))) <= int(model.context_length)
    stated = getattr(model, "context_length", None) or getattr(model, "card", {}).get("context_length")
    stated = stated or subject.seen[1].positions
    return isinstance(stated, int) and 2 * words <= stated


def _vocabulary(subject: Subject) -> Check:
    rows = subject.of_texts(probes.WORDS)
    close = distances(rows) < SAME * scale(rows)
    shared = int((close.sum(1) > 1).sum())
    verdict: Verdict = "wrong" if shared > len(rows) / 10 else "suspicious" if shared else "fine"
    found = f"{shared} of {len(rows)} everyday words are answered as another word"
    return check("vocabulary", shared, found, verdict)


def _case(subject: Subject) -> Check:
    """CLIP and SigLIP lower-case. A cased text tower is no mistake, as long as it understands capitals."""
    small, capital = subject.of_texts(probes.SHORT), subject.of_texts(probes.CAPITALS)
    moved = drift(small, capital)
    found = f"{'ignored' if moved <= HARMFUL else 'matters'}: capitals move an answer by {moved:.2g}"
    bad = subject.encodes and moved > HARMFUL and (subject.seen[1].family() is not None or _lost(subject, capital))
    return check("case", moved, found, "suspicious" if bad else "fine")


def _lost(subject: Subject, texts: Vector) -> bool:
    """Whether an encoder names most pictures of the probe set, and with these texts fewer than half of those."""
    scores, right = subject.matrix
    other = subject.of_images([picture for picture, _ in probes.probe_set()]) @ texts.T
    named, still = (int((one.argmax(1) == np.array(right)).sum()) for one in (scores, other))
    return named > len(right) / 2 and still < named / 2


def _special_tokens(subject: Subject) -> Check | None:
    """What the network is given of texts that have no word of their end in common; None where it cannot be watched,
    and for a prompt, which ends as it likes."""
    if not subject.encodes:
        return None
    rows, table, family = [], 0, None
    for text in ("a red car", "a red house", "two small fish"):
        with watched() as seen:
            subject.alone([text])
        if (ids := seen.ids()) is None:
            return None
        table, family = max(count for count, _ in seen.tokens), seen.family()
        row = ids[-1].tolist()
        while len(row) > 2 and row[-1] == row[-2]:  # padding, or CLIP's end tokens
            row.pop()
        rows.append(row)
    highest = max(map(max, rows))
    ends = bool(set.intersection(*({*row[-2:]} for row in rows)))
    found = f"texts {'end' if ends else 'do not end'} with a common token; ids up to {highest} of a table of {table}"
    if len(rows[0]) > 2 and rows[0][0] == rows[0][1] != rows[0][-1]:
        return check("special tokens", highest, "texts begin with their start token twice", "wrong")
    return check("special tokens", highest, found, "fine" if ends else "wrong" if family else "suspicious")


def _of_drift(name: str, moved: float, what: str) -> Check:
    verdict: Verdict = "fine" if moved <= ROUNDING else "suspicious" if moved <= HARMFUL else "wrong"
    made = check(name, moved, f"{what}: drift {moved:.2g}", verdict)
    if verdict != "suspicious":
        return made
    return made.model_copy(
        update={"fix": f"Half precision does this; with float32: {made.fix[0].lower()}{made.fix[1:]}"}
    )


def _reordered(alone: Vector, batch: Vector, everything: Vector) -> float:
    """The drift, where the row that was expected lies elsewhere in the batch; 0 where it does not."""
    away = np.linalg.norm(alone - batch, axis=1)
    near = np.linalg.norm(alone[:, None] - everything[None], axis=2).min(1)
    moved = float((away * (near <= ROUNDING * scale(alone)) * (away > HARMFUL * scale(alone))).max())
    return moved / scale(alone)


def _mean_cosine(rows: Vector) -> float:
    return float((rows @ rows.T)[np.triu_indices(len(rows), 1)].mean())


def _exif_rotation(subject: Subject) -> Check:
    """CLIP's and SigLIP's own preprocessing ignores the tag, and so do our loaders; of another model nobody knows."""
    one, other = subject.of_images(probes.rotated())
    moved = float(np.linalg.norm(one - other)) / scale(subject.of_images(probes.shapes()))
    found = f"{'applied' if moved <= HARMFUL else 'ignored'} (drift {moved:.2g})"
    known = moved <= HARMFUL or kind_named(subject.spec) in {*OF_PHOTOS, "served"}
    return check("exif rotation", moved, found, "fine" if known else "suspicious")


def _crop(subject: Subject) -> Check:
    """A square is seen whole. Of a long picture both ends are seen, or neither; the middle always."""
    seen: dict[str, list[bool]] = {}
    for name, (plain, others) in probes.marked().items():
        rows = subject.of_images([plain, *others])
        away = np.linalg.norm(rows[1:] - rows[0], axis=1)
        seen[name] = [bool(one > ROUNDING * scale(subject.of_images(probes.shapes()))) for one in away]
    blind = [corner for corner, one in zip(probes.CORNERS, seen["square"], strict=True) if not one]
    odd = [name for name in ("wide", "tall") if seen[name] != seen[name][::-1] or not all(seen[name][1:3])]
    ends = {name: seen[name][0] for name in ("wide", "tall")}
    found = f"corners of a square seen: {sum(seen['square'])} of 4; ends of a long picture: " + ", ".join(
        f"{name} {'both' if both else 'neither'}" for name, both in ends.items()
    )
    verdict: Verdict = "fine"
    family = subject.seen[0].family() if subject.encodes else None
    if blind or odd:
        verdict = "wrong"
        found = "not seen: " + ", ".join([*blind, *(f"one side or the middle of a {name} picture" for name in odd)])
    elif family and ends["wide"] != family.startswith("siglip"):
        verdict = "suspicious"
        found += f"; {family} was trained the other way"
    return check("crop", float(sum(map(sum, seen.values()))), found, verdict)


def pixels_seen(subject: Subject) -> Check | None:
    """What the first convolution is given of a black, a white and a red picture, and of one with four quarters."""
    seen = subject.seen[0]
    if len(seen.pixels) < 5:
        return None
    each = seen.pixels[:: len(seen.pixels) // 5][:5]  # a network may look at each of the five several times
    black, white, red, quarters, fine = (one[-1] for one in each)
    low, high = (_middle(one) for one in (black, white))
    span = np.where(np.abs(high - low) < 1e-12, 1e-12, high - low)
    mean, std = -low / span, 1 / span
    name = next((key for key, known in KNOWN.items() if _same(known, (mean, std))), None)
    shown = f"mean {_three(mean)}, deviation {_three(std)} ({name or 'of no common model'})"
    problems = []
    if span.min() <= 0 or span.max() > 50 or span.max() < 0.02:
        problems.append(f"white minus black is {span.mean():.3g}, where 2 to 5 is common")
    elif (stated := _stated(subject.model)) is not None and not _same(stated, (mean, std)):
        problems.append(f"the model's own configuration says mean {_three(stated[0])}, deviation {_three(stated[1])}")
    elif not np.allclose(arrived := (_middle(red) - low) / span, (1, 0, 0), atol=0.1):
        order = " (BGR)" if np.allclose(arrived, (0, 0, 1), atol=0.1) else ""
        problems.append(f"of a red picture the channels hold {_three(arrived)}, where 1/0/0 is expected{order}")
    way = _way_up(quarters)
    if way != [0, 1, 2, 3]:
        problems.append(f"the picture arrives turned or mirrored: {', '.join(probes.CORNERS[one] for one in way)}")
    if problems:
        return check("pixels", float(span.mean()), "; ".join([shown, *problems]), "wrong")
    odd = name in (None, "none") or (name == "ImageNet's" and (subject.encodes and seen.family() is not None))
    own = _own_pixels(subject.model, probes.fine_grained())
    if own is not None and own.shape == fine.shape:
        away = 255 * float(np.abs((own - fine) / span[:, None, None]).mean())
    elif own is not None:  # another size: the network cuts or pads it first
        away = 0.0
    else:
        away = _resampled((fine - low[:, None, None]) / span[:, None, None])
    shown += f"; {away:.1f} of 255 levels from {'Pillow' if own is None else 'its own preprocessor'}'s resize"
    odd = odd and ((subject.encodes and seen.family() is not None) or _stated(subject.model) is None)
    verdict: Verdict = "suspicious" if odd or away > BLURRED else "fine"
    return check("pixels", float(span.mean()), shown, verdict, "resize" if away > BLURRED else "")


def _resampled(pixels: NDArray[np.float32]) -> float:
    """How many of 255 levels a resized picture is away from what Pillow makes of it: by the nearest of its filters, of
    the whole picture or of all but an edge (256 pixels, of which 224 are kept)."""
    height, width = pixels.shape[1:]
    found = []
    for more in (1.0, 256 / 224):
        size = round(width * more), round(height * more)
        left, top = (size[0] - width) // 2, (size[1] - height) // 2
        for one in (Resampling.BICUBIC, Resampling.BILINEAR, Resampling.LANCZOS):
            made = probes.fine_grained().resize(size, one).crop((left, top, left + width, top + height))
            found.append(np.abs(np.asarray(made, np.float32).transpose(2, 0, 1) - 255 * pixels).mean())
    return float(min(found))


def _middle(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    height, width = pixels.shape[1:]
    return np.asarray(pixels[:, height // 2, width // 2], np.float32)


def _way_up(pixels: NDArray[np.float32]) -> list[int]:
    """Where the darkest, second darkest, ... quarter arrived: [0, 1, 2, 3] where nothing was turned."""
    grey = pixels.mean(0)
    top, left = grey.shape[0] // 4, grey.shape[1] // 4
    quarters = [grey[y, x] for y in (top, -top - 1) for x in (left, -left - 1)]
    return [int(one) for one in np.argsort(quarters)]


def _own_pixels(model: Any, picture: Image.Image) -> NDArray[np.float32] | None:
    """What the preprocessor that a model carries makes of a picture; None where it has none that can be asked."""
    own = getattr(model, "preprocess", None)
    processor: Any = getattr(model, "image_processor", None) or getattr(
        getattr(model, "processor", None), "image_processor", None
    )
    try:
        return np.asarray(own(picture) if own else processor([picture], return_tensors="np")["pixel_values"][0])
    except Exception:  # a user's own method may raise anything
        return None


def _stated(model: Any) -> tuple[Any, Any] | None:
    """Mean and deviation by that preprocessor."""
    low, high = (_own_pixels(model, probes.solid((level,) * 3)) for level in (0, 255))
    if low is None or high is None or low.ndim != 3 or len(low) != 3:
        return None
    span = _middle(high) - _middle(low)
    return -_middle(low) / span, 1 / span


def _same(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return all(np.allclose(left, right, atol=CLOSE) for left, right in zip(one, other, strict=True))


def _three(values: Any) -> str:
    return "/".join(f"{value:.3g}" for value in values)


BASIC = (_shape, _finite, _determinism, _collapse, _text_batch, _text_padding, _image_batch)
READING = (_own_cache, _text_end, _vocabulary, _case, _special_tokens)
PICTURES = (_exif_rotation, _crop, pixels_seen)
