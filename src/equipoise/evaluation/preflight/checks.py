"""Checks whether a model is called correctly: batches, texts, pictures and pixels.

Each check gives a number, a verdict, why it matters and the fix. Most numbers are a *drift* (tested_model.py): how
far an answer moves between two ways of asking for it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from PIL.Image import Resampling

from equipoise.core.errors import Unreachable, UserError, first_line
from equipoise.embedding.cache import Vector
from equipoise.evaluation.preflight import probes
from equipoise.evaluation.preflight.tested_model import HARMFUL, TestedModel, distances, drift, scale, watched
from equipoise.evaluation.record import Check
from equipoise.models import OF_PHOTOS
from equipoise.models.base import Model, tells_tokens
from equipoise.models.inputs import CLIP_MEAN, CLIP_STD

CheckVerdict = Literal["fine", "suspicious", "wrong"]
Checking = Callable[[TestedModel], Check | None]
Colours = tuple[NDArray[np.floating], NDArray[np.floating]]  # mean and deviation of red, green and blue

ROUNDING = 0.001  # drift; float32 stays far below it
SAME = 1e-4  # drift below which two inputs have one row
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


def check(name: str, number: float | None, found: str, verdict: CheckVerdict, text: str = "") -> Check:
    """Why it matters and the fix are those of data/checks.toml under `text`, or else under the name."""
    number = None if number is None or not np.isfinite(number) else float(number)
    if (table := text or name) not in TEXTS:
        raise LookupError(f'data/checks.toml has no ["{table}"]')
    words = TEXTS[table]
    fix = "" if verdict == "fine" else words["fix"]
    return Check(name=name, number=number, found=found, verdict=verdict, why=words["why"], fix=fix)


def name_of(make: Checking) -> str:
    return make.__name__.strip("_").replace("_", " ")


def run(checks: Sequence[Checking], tested: TestedModel, stop: bool = False) -> list[Check]:
    """The checks that apply. With `stop` none after one that is wrong. A model that fails an easy question is wrong,
    whatever it raised; a check that fails is not the model's fault."""
    done: list[Check] = []
    for make in checks:
        made: Check | None
        try:
            made = make(tested)
        except Unreachable:
            raise
        except UserError as error:
            made = check(name_of(make), None, str(error), "wrong", "failed")
        except Exception as error:
            found = f"this check failed ({type(error).__name__}: {first_line(error)})"
            made = check(name_of(make), None, found, "suspicious", "broken check")
        if made is not None:
            done.append(made)
        if stop and done and done[-1].verdict == "wrong":
            break
    return done


def _shape(tested: TestedModel) -> Check:
    if not tested.encodes:
        many = tested.scores(probes.shapes()[:2], probes.SHORT[:3]).size
        return check("shape", many, "one score for each pair", "fine", "shape of scores")
    try:
        widths = [rows.shape[1] for rows in tested.small_batches]
    except Unreachable:
        raise
    except UserError as error:
        swapped = tested.accepts("embed_texts", probes.shapes()) and tested.accepts("embed_images", probes.SHORT)
        return check("shape", None, str(error), "wrong", "swapped towers" if swapped else "shape of rows")
    found = f"images {widths[0]} wide, texts {widths[1]}"
    return check("shape", widths[0], found, "fine" if widths[0] == widths[1] else "wrong")


def _finite(tested: TestedModel) -> Check:
    rows = [*tested.picture_rows.values(), *tested.text_rows.values()]
    bad = sum(not np.isfinite(row).all() for row in rows)
    what = "embeddings hold NaN or infinity, or are zero" if tested.encodes else "scores are NaN or infinity"
    return check("finite", bad, f"{bad} of {len(rows)} {what}", "wrong" if bad else "fine")


def _determinism(tested: TestedModel) -> Check:
    images, texts = tested.small_batches
    images_again, texts_again = tested.images(probes.shapes()), tested.texts(probes.SHORT)
    moved = max(drift(images, images_again), drift(texts, texts_again))
    return _of_drift("determinism", moved, "the same batch asked for twice")


def _collapse(tested: TestedModel) -> Check:
    pictures, texts = np.stack(list(tested.picture_rows.values())), np.stack(list(tested.text_rows.values()))
    if not tested.encodes:
        return _collapse_of_scores(pictures, texts)
    cosines = {"images": _mean_cosine(pictures), "texts": _mean_cosine(texts)}
    most = max(cosines.values())
    found = ", ".join(f"mean cosine of different {name} {cosine:.4f}" for name, cosine in cosines.items())
    verdict: CheckVerdict = "wrong" if most > COLLAPSED else "suspicious" if most > CROWDED else "fine"
    return check("collapse", most, found, verdict)


def _collapse_of_scores(pictures: Vector, texts: Vector) -> Check:
    """Whether a pair scorer's score depends on the picture and on the text."""
    by_picture, by_text = float(np.abs(pictures - pictures[0]).max()), float(np.abs(texts - texts[0]).max())
    nothing = 1e-6 * max(1e-6, float(np.abs(pictures).max()), float(np.abs(texts).max()))
    dead = ["the picture"] if by_picture <= nothing else []
    dead += ["the text"] if by_text <= nothing else []
    found = f"another picture changes a score by up to {by_picture:.2g}, another text by up to {by_text:.2g}"
    if dead:
        found = f"the score does not depend on {' or '.join(dead)}"
    return check("collapse", min(by_picture, by_text), found, "wrong" if dead else "fine")


def _text_batch(tested: TestedModel) -> Check:
    texts = probes.SHORT
    alone = tested.one_by_one(texts[:6])
    moved = max(
        drift(alone, tested.small_batches[1][:6]),
        drift(alone, tested.texts(texts[::-1])[::-1][:6]),
        _reordered(alone, tested.rows_of_texts(texts[:6]), np.stack(list(tested.text_rows.values()))),
    )
    return _of_drift("text batch", moved, "texts alone against in batches of several orders")


def _text_padding(tested: TestedModel) -> Check:
    picked = [*probes.SHORT[:4], *probes.WORDS[:2], probes.LONG]
    moved = drift(tested.one_by_one(picked), tested.rows_of_texts(picked))
    seen = tested.network.texts
    ids = seen.token_ids()
    if (
        moved <= HARMFUL
        and ids is not None
        and (seen.family() or "").startswith("siglip")
        and ids.shape[1] < (seen.positions or 0)
    ):
        found = f"a text is padded to {ids.shape[1]} tokens, the text tower was trained with {seen.positions}"
        return check("text padding", ids.shape[1], found, "wrong")
    return _of_drift("text padding", moved, "texts alone against with longer neighbours")


def _image_batch(tested: TestedModel) -> Check:
    pictures = probes.all_pictures()
    picked = [pictures[place] for place in (0, 16, 33, 41, 43, 64, 65)]
    alone = tested.one_by_one(picked)
    orders = drift(tested.small_batches[0], tested.images(probes.shapes()[::-1])[::-1])
    moved = max(drift(alone, tested.rows_of_pictures(picked)), orders)
    return _of_drift("image batch", moved, "images alone against in a batch, in two orders")


def _own_cache(tested: TestedModel) -> Check:
    """Copies of pictures that are gone when the next is made, at the same place in memory: kept answers show."""
    pictures = probes.shapes()[:4]
    fresh = [tested.images([picture.copy()]) for picture in pictures]
    stale = drift(tested.rows_of_pictures(pictures), np.concatenate(fresh))
    return _of_drift("own cache", stale, "pictures against their copies, one after the other")


def _text_end(tested: TestedModel) -> Check:
    """Compared up to the context length where the model states it, else up to what captions have."""
    differ = {words: _differ(tested, probes.endings(words)) for words in probes.LENGTHS}
    if not all(_differ(tested, probes.beginnings(words)) for words in probes.LENGTHS[:2]):
        found = f"texts of {SHORT_TEXT} words or less that differ in the first word only are one text"
        return check("text end", 0, found, "wrong")
    longest = next((words for words in reversed(probes.LENGTHS) if differ[words]), 0)
    lost = [words for words in probes.LENGTHS if not differ[words]]
    verdict: CheckVerdict = "fine"
    if any(words <= SHORT_TEXT or _fits(tested, words) for words in lost):
        verdict = "wrong"
    elif any(words <= CAPTION for words in lost):
        verdict = "suspicious"
    found = f"texts that differ in the last word only: distinguished up to {longest} words"
    return check("text end", longest, found, verdict)


def _differ(tested: TestedModel, pair: Sequence[str]) -> bool:
    first, second = tested.rows_of_texts(pair)
    return float(np.linalg.norm(first - second)) > SAME * scale(tested.rows_of_texts(probes.SHORT))


def _word_order(tested: TestedModel) -> Check:
    """A bag of words may be what a model is."""
    alike = [pair for pair in probes.SAME_WORDS if not _differ(tested, pair)]
    found = f"{len(alike)} of {len(probes.SAME_WORDS)} pairs of texts with the same words in two orders are one text"
    return check("word order", len(alike), found, "suspicious" if alike else "fine")


def _fits(tested: TestedModel, words: int) -> bool:
    """Whether both texts are within the context length, by the model's own tokens or at two tokens a word."""
    model = tested.model
    if tells_tokens(model):
        return max(map(len, model.tokenize(probes.endings(words)))) <= int(model.context_length)
    stated = getattr(model, "context_length", None) or getattr(model, "card", {}).get("context_length")
    stated = stated or tested.network.texts.positions
    return isinstance(stated, int) and 2 * words <= stated


def _vocabulary(tested: TestedModel) -> Check:
    rows = tested.rows_of_texts([*probes.WORDS, probes.BARE])
    close = distances(rows) < SAME * scale(rows)
    shared = int((close.sum(1) > 1).sum())
    verdict: CheckVerdict = "wrong" if shared > len(rows) / 10 else "suspicious" if shared else "fine"
    found = f"{shared} of {len(rows)} everyday words are answered as another word, or as none"
    return check("vocabulary", shared, found, verdict)


def _case(tested: TestedModel) -> Check:
    """CLIP and SigLIP lower-case. A cased text tower is no mistake, as long as it understands capitals."""
    small, capital = tested.rows_of_texts(probes.SHORT), tested.rows_of_texts(probes.CAPITALS)
    moved = drift(small, capital)
    found = f"{'ignored' if moved <= HARMFUL else 'matters'}: capitals move an answer by {moved:.2g}"
    bad = tested.encodes and moved > HARMFUL and (tested.network.texts.family() is not None or _lost(tested, capital))
    return check("case", moved, found, "suspicious" if bad else "fine")


def _lost(tested: TestedModel, texts: Vector) -> bool:
    """Whether an encoder names most pictures of the probe set, and with these texts fewer than half of those."""
    scores, right = tested.probe_scores
    other = tested.rows_of_pictures([picture for picture, _ in probes.probe_set()]) @ texts.T
    named = int((scores.argmax(1) == np.array(right)).sum())
    still_named = int((other.argmax(1) == np.array(right)).sum())
    return named > len(right) / 2 and still_named < named / 2


def _special_tokens(tested: TestedModel) -> Check | None:
    """The network's input for texts that share no word at their end; None where it cannot be watched,
    and for a prompt, which ends as it likes."""
    if not tested.encodes:
        return None
    rows, table, family = [], 0, None
    for text in ("a red car", "a red house", "two small fish"):
        with watched() as seen:
            tested.one_by_one([text])
        if (ids := seen.token_ids()) is None:
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
    if family == "clip" and rows[0][0] == rows[0][-1]:
        return check("special tokens", highest, "texts begin with their end token", "wrong")
    return check("special tokens", highest, found, "fine" if ends else "wrong" if family else "suspicious")


def _of_drift(name: str, moved: float, what: str) -> Check:
    verdict: CheckVerdict = "fine" if moved <= ROUNDING else "suspicious" if moved <= HARMFUL else "wrong"
    made = check(name, moved, f"{what}: drift {moved:.2g}", verdict)
    if verdict == "suspicious":
        fix = f"Half precision does this; with float32: {made.fix[0].lower()}{made.fix[1:]}"
        made = made.model_copy(update={"fix": fix})
    return made


def _reordered(alone: Vector, batch: Vector, everything: Vector) -> float:
    """The drift, where the row that was expected lies elsewhere in the batch; 0 where it does not."""
    away = np.linalg.norm(alone - batch, axis=1)
    near = np.linalg.norm(alone[:, None] - everything[None], axis=2).min(1)
    moved = float((away * (near <= ROUNDING * scale(alone)) * (away > HARMFUL * scale(alone))).max())
    return moved / scale(alone)


def _mean_cosine(rows: Vector) -> float:
    return float((rows @ rows.T)[np.triu_indices(len(rows), 1)].mean())


def _exif_rotation(tested: TestedModel) -> Check:
    """CLIP's and SigLIP's own preprocessing ignores the tag, and so do our loaders; for another model it is unknown."""
    upright, rotated = tested.rows_of_pictures(probes.rotated())
    moved = float(np.linalg.norm(upright - rotated)) / scale(tested.rows_of_pictures(probes.shapes()))
    found = f"{'applied' if moved <= HARMFUL else 'ignored'} (drift {moved:.2g})"
    known = moved <= HARMFUL or tested.kind_of_spec in {*OF_PHOTOS, "served"}
    return check("exif rotation", moved, found, "fine" if known else "suspicious")


def _crop(tested: TestedModel) -> Check:
    """A square is seen whole. Of a long picture both ends are seen, or neither; the middle always."""
    seen: dict[str, list[bool]] = {}
    for name, (plain, others) in probes.marked().items():
        rows = tested.rows_of_pictures([plain, *others])
        away = np.linalg.norm(rows[1:] - rows[0], axis=1)
        seen[name] = [bool(moved > ROUNDING * scale(tested.rows_of_pictures(probes.shapes()))) for moved in away]
    blind = [corner for corner, corner_seen in zip(probes.CORNERS, seen["square"], strict=True) if not corner_seen]
    odd = [name for name in ("wide", "tall") if seen[name] != seen[name][::-1] or not all(seen[name][1:3])]
    ends = {name: seen[name][0] for name in ("wide", "tall")}
    seen_ends = ", ".join(f"{name} {'both' if both else 'neither'}" for name, both in ends.items())
    found = f"corners of a square seen: {sum(seen['square'])} of 4; ends of a long picture: {seen_ends}"
    verdict: CheckVerdict = "fine"
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
        problems.append(
            f"the picture arrives turned or mirrored: {', '.join(probes.CORNERS[corner] for corner in way)}"
        )
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
    verdict: CheckVerdict = "suspicious" if unusual or away > BLURRED else "fine"
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
    return [int(quarter) for quarter in np.argsort(quarters)]


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


def _same(first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike]) -> bool:
    return all(np.allclose(left, right, atol=CLOSE) for left, right in zip(first, second, strict=True))


def _three(values: Any) -> str:
    return "/".join(f"{value:.3g}" for value in values)


BASIC = (_shape, _finite, _determinism, _collapse, _text_batch, _text_padding, _image_batch)
READING = (
    *(_own_cache, _text_end, _word_order, _vocabulary, _case, _special_tokens),
    *(_exif_rotation, _crop, pixels_seen),
)
