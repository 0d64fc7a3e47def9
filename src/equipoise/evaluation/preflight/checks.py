"""The checks of a dual encoder: each a number, a verdict, why it matters and the fix.

Most numbers are a *drift*: how far the embedding of one input moves between two ways of asking for it, as a share of
the median distance between different inputs. So one limit serves every model, however far apart its embeddings lie.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.core.plugins import own_code
from equipoise.evaluation.embedding.cache import Vector
from equipoise.evaluation.embedding.embed import unit
from equipoise.evaluation.preflight import probes
from equipoise.models import OF_PHOTOS, kind_named, kind_of
from equipoise.models.base import tells_tokens

Verdict = Literal["fine", "suspicious", "wrong"]

ROUNDING = 0.001  # drift; float32 stays far below it
HARMFUL = 0.02  # drift; the world model in bfloat16 has 0.005
SAME = 1e-5  # distance of unit vectors below which two inputs have one embedding
COLLAPSED = 0.9999  # mean cosine of different inputs
CROWDED = 0.999
SHORT_TEXT, CAPTION = 8, 16  # words: shorter than most captions; shorter than many
CHANCE_KIND = 13  # of 40 right, one of five kinds: a guesser gets more in 2 of 100 tries
CHANCE_COLOUR = 12  # of 40 right, one of two colours: a guesser gets so few in 1 of 100 tries


class _Subject:
    """The model under test. Its answers are checked and normalised as `eval` does it."""

    def __init__(self, model: Any, spec: str) -> None:
        self.model, self.spec = model, spec

    def texts(self, texts: Sequence[str]) -> Vector:
        return self._asked("embed_texts", texts)

    def images(self, images: Sequence[Image.Image]) -> Vector:
        return self._asked("embed_images", images)

    def _asked(self, method: str, inputs: Sequence[Any]) -> Vector:
        with own_code(self.spec, f"{method} failed for {len(inputs)} input{'s' if len(inputs) > 1 else ''}"):
            found = getattr(self.model, method)(list(inputs))
        return unit(found, len(inputs), method)

    # What several checks look at is asked for once: a large model takes a second for a few pictures.

    @functools.cached_property
    def shown(self) -> Vector:
        return self.images(probes.shapes())

    @functools.cached_property
    def read(self) -> Vector:
        return self.texts(probes.SHORT)

    @functools.cached_property
    def read_alone(self) -> Vector:
        return _alone(self.texts, probes.SHORT)

    @functools.cached_property
    def right(self) -> tuple[int, int]:
        """In how many pictures of the probe set it names the thing, one of five, and the colour, one of two."""
        drawn = probes.probe_set()
        images = self.images([picture for picture, *_ in drawn])
        named = [f"a {colour} {kind}" for kind in probes.KINDS for colour in probes.COLOURS]
        scores = (images @ self.texts(named).T).reshape(len(drawn), len(probes.KINDS), len(probes.COLOURS))
        kinds = np.array([probes.KINDS.index(kind) for _, kind, _ in drawn])
        colours = np.array([probes.COLOURS.index(colour) for *_, colour in drawn])
        coloured = scores[np.arange(len(drawn)), kinds].argmax(1)
        return int((scores.mean(2).argmax(1) == kinds).sum()), int((coloured == colours).sum())

    def answers(self, method: str, inputs: Sequence[Any]) -> bool:
        try:
            return len(self._asked(method, inputs)) > 0
        except UserError:
            return False


def preflight(model: Any, spec: str) -> list[Check]:
    """The checks that apply. Where a basic one is wrong, those after it would mean nothing and are left out."""
    if kind_of(model) not in {"tokens", "embeds"}:
        raise UserError(
            f"{spec}: doctor checks models that embed images and texts; this one scores or compares pairs, for which "
            "there are no checks yet"
        )
    subject, done = _Subject(model, spec), []
    for check in _BASIC:
        done.append(_run(check, subject))
        if done[-1].verdict == "wrong":
            return done
    for check in _OTHERS:
        skipped = check is _text_padding and done[-1].verdict == "wrong"  # it would fail for the reason just named
        done += [] if skipped else [_run(check, subject)]
    return done


def _run(check: Callable[[_Subject], Check], subject: _Subject) -> Check:
    """A model that fails an easy question is wrong, whatever it raised."""
    try:
        return check(subject)
    except UserError as error:
        name = check.__name__.strip("_").replace("_", " ")
        why = "Inputs like these occur in every benchmark."
        return Check(name, None, str(error), "wrong", why, "Correct the method that failed.")


# ---------------------------------------------------------------------------- basic: the others build on these


def _shape(subject: _Subject) -> Check:
    why = "An image and a text are compared by the cosine of their embeddings: one row each, of one width."
    try:
        widths = [subject.shown.shape[1], subject.read.shape[1]]
    except UserError as error:
        swapped = subject.answers("embed_texts", probes.shapes()) and subject.answers("embed_images", probes.SHORT)
        fix = "Return one row of numbers for each input."
        if swapped:
            fix = "embed_images answers texts and embed_texts answers pictures: swap the two."
        return Check("shape", None, str(error), "wrong", why, fix)
    found = f"images {widths[0]} wide, texts {widths[1]}"
    if widths[0] != widths[1]:
        fix = "Return the projected features of both towers (get_image_features, get_text_features)."
        return Check("shape", widths[0] - widths[1], found, "wrong", why, fix)
    return Check("shape", widths[0], found, "fine", why, "")


def _finite(subject: _Subject) -> Check:
    both = np.concatenate([subject.shown, subject.texts([*probes.SHORT, *probes.LONG])])
    bad = int((~np.isfinite(both)).any(1).sum())
    why = "A score that is no number is never above another: the item counts as wrong."
    fix = "Compute in float32; look for a division by zero, a mask that hides all tokens, an embedding of zeros."
    found = f"{bad} of {len(both)} embeddings hold NaN or infinity, or are zero"
    return Check("finite", bad, found, "wrong" if bad else "fine", why, fix if bad else "")


def _determinism(subject: _Subject) -> Check:
    drifts = _drift(subject.shown, subject.images(probes.shapes())), _drift(subject.read, subject.texts(probes.SHORT))
    why = "The same input must have one score, or no number can be reproduced."
    return _of_drift(
        "determinism", max(drifts), "the same batch asked for twice", why, "Call model.eval(); draw no crops."
    )


def _collapse(subject: _Subject) -> Check:
    cosines = {"images": _mean_cosine(subject.shown), "texts": _mean_cosine(subject.read)}
    most = max(cosines.values())
    found = ", ".join(f"mean cosine of different {name} {cosine:.4f}" for name, cosine in cosines.items())
    verdict: Verdict = "wrong" if most > COLLAPSED else "suspicious" if most > CROWDED else "fine"
    why = "Where all inputs have almost one embedding, rounding decides which caption wins."
    fix = "Check that weights and inputs reach the tower: loaded state dict, pixel range, tokens, pooled position."
    return Check("collapse", most, found, verdict, why, "" if verdict == "fine" else fix)


# ---------------------------------------------------------------------------- neighbours


def _text_batch(subject: _Subject) -> Check:
    orders = subject.read, subject.texts(probes.SHORT[::-1])[::-1]
    drift = max(_drift(subject.read_alone, batch) for batch in orders)
    why = "A score must not depend on the other texts of its batch, or on their order."
    fix = "Normalise over features, not over the batch; return rows in the order of the inputs; call model.eval()."
    return _of_drift("text batch", drift, "texts alone against in a batch, in two orders", why, fix)


def _text_padding(subject: _Subject) -> Check:
    drift = _drift(subject.read_alone, subject.texts([*probes.SHORT, *probes.LONG])[:-1])
    why = "Padding to the longest text of a batch changes the scores of the others; SigLIP can fall to chance."
    fix = "Pad to the length of training (SigLIP: padding='max_length'), or pass the tokenizer's attention_mask on."
    return _of_drift("text padding", drift, "texts alone against with a longer neighbour", why, fix)


def _image_batch(subject: _Subject) -> Check:
    pictures = probes.shapes()
    alone = _alone(subject.images, pictures)
    drift = max(_drift(alone, batch) for batch in (subject.shown, subject.images(pictures[::-1])[::-1]))
    why = "A score must not depend on the other images of its batch, on their sizes or on their order."
    fix = "Resize and normalise each image by itself; return rows in the order of the inputs; call model.eval()."
    return _of_drift("image batch", drift, "images alone against in a batch, in two orders", why, fix)


# ---------------------------------------------------------------------------- texts


def _text_end(subject: _Subject) -> Check:
    """Compared up to the context length where the model states it, else up to what captions have."""
    told = {}
    for words in probes.LENGTHS:
        one, other = subject.texts(probes.endings(words))
        told[words] = float(np.linalg.norm(one - other)) > SAME
    longest = next((words for words in reversed(probes.LENGTHS) if told[words]), 0)
    lost = [words for words in probes.LENGTHS if not told[words]]
    verdict: Verdict = "fine"
    if any(words <= SHORT_TEXT or _fits(subject, words) for words in lost):
        verdict = "wrong"
    elif any(words <= CAPTION for words in lost):
        verdict = "suspicious"
    found = f"texts that differ in the last word only: told apart up to {longest} words"
    why = "What lies behind the cut is not read: a caption and its negative become one text, and tie."
    fix = "Raise the tokenizer's max_length to the text tower's context; when cutting, keep the end token."
    return Check("text end", longest, found, verdict, why, "" if verdict == "fine" else fix)


def _fits(subject: _Subject, words: int) -> bool:
    """Whether both texts are within the context length, by the model's own tokens or at two tokens a word."""
    model = subject.model
    if tells_tokens(model):
        with own_code(subject.spec, "tokenize failed"):
            return max(map(len, model.tokenize(probes.endings(words)))) <= int(model.context_length)
    stated = getattr(model, "context_length", None) or getattr(model, "card", {}).get("context_length")
    return isinstance(stated, int) and 2 * words <= stated


def _vocabulary(subject: _Subject) -> Check:
    rows = subject.texts([f"a photo of a {word}" for word in probes.WORDS])
    close = _distances(rows) < SAME
    shared = int((close.sum(1) > 1).sum())
    verdict: Verdict = "wrong" if shared > len(rows) / 10 else "suspicious" if shared else "fine"
    found = f"{shared} of {len(rows)} everyday words have the embedding of another word"
    why = "Words that the tokenizer does not know are all one word, so a replaced word changes nothing."
    fix = "Use the tokenizer that the text tower was trained with, with its whole vocabulary."
    return Check("vocabulary", shared, found, verdict, why, "" if verdict == "fine" else fix)


def _case(subject: _Subject) -> Check:
    """Noted only: CLIP and SigLIP lower-case, but a cased text tower is no mistake."""
    drift = _drift(subject.read, subject.texts([text.title() for text in probes.SHORT]))
    found = f"{'ignored' if drift <= ROUNDING else 'matters'}: capitals move an embedding by {drift:.2g}"
    why = "CLIP and SigLIP read lower case only; elsewhere a capital letter counts as a change of words."
    return Check("case", drift, found, "fine", why, "")


# ---------------------------------------------------------------------------- photos


def _photo_formats(subject: _Subject) -> Check:
    drifts = {name: _moved(subject, *pair) for name, pair in probes.formats().items()}
    worst = max(drifts, key=lambda name: drifts[name])
    why = (
        "Benchmarks hold a few grey, palette, CMYK, transparent and 16-bit photos: each must look as its RGB copy does."
    )
    fix = (
        "Photos are decoded before the model sees them, so this is a mistake of equipoise or Pillow: please report it."
    )
    return _of_drift("photo formats", drifts[worst], f"as saved against as RGB, most for {worst}", why, fix)


def _exif_rotation(subject: _Subject) -> Check:
    """CLIP's and SigLIP's own preprocessing ignores the tag, and so do our loaders; of another model nobody knows."""
    drift = _moved(subject, *probes.rotated())
    why = "A photo stored on its side is judged on its side, unless the model reads the tag that says so."
    found = f"applied (drift {drift:.2g})" if drift <= HARMFUL else f"ignored (drift {drift:.2g})"
    if drift <= HARMFUL or kind_named(subject.spec) in OF_PHOTOS:
        return Check("exif rotation", drift, found, "fine", why, "")
    fix = "If training turned photos upright, call PIL.ImageOps.exif_transpose first. CLIP's own code does not."
    return Check("exif rotation", drift, found, "suspicious", why, fix)


# ---------------------------------------------------------------------------- the probe set


def _probe_set(subject: _Subject) -> Check:
    right, _ = subject.right
    found = f"{right} of 40 drawn things named, each one of five (chance 8)"
    why = "At chance on things every CLIP gets right, a model says nothing about harder ones."
    fix = "Compare one embedding with the reference code: weights, activation, preprocessing, tokenizer, projection."
    verdict: Verdict = "fine" if right > CHANCE_KIND else "suspicious"
    return Check("probe set", right, found, verdict, why, "" if verdict == "fine" else fix)


def _channels(subject: _Subject) -> Check:
    """Meant for a model that knows the things: of another one the colours say nothing."""
    right_kind, right = subject.right
    found = f"red and blue told apart in {right} of 40 pictures (chance 20)"
    verdict: Verdict = "suspicious" if right_kind > CHANCE_KIND and right <= CHANCE_COLOUR else "fine"
    why = "A model that takes red for blue reads the channels in the wrong order (BGR, as OpenCV has them)."
    fix = "Give the model RGB: cv2.cvtColor(image, cv2.COLOR_BGR2RGB), or no conversion at all."
    return Check("channels", right, found, verdict, why, "" if verdict == "fine" else fix)


# ---------------------------------------------------------------------------- arithmetic


def _of_drift(name: str, drift: float, what: str, why: str, fix: str) -> Check:
    verdict: Verdict = "fine" if drift <= ROUNDING else "suspicious" if drift <= HARMFUL else "wrong"
    if verdict == "suspicious":
        fix = f"Half precision does this; with float32: {fix[0].lower()}{fix[1:]}"
    return Check(name, drift, f"{what}: drift {drift:.2g}", verdict, why, "" if verdict == "fine" else fix)


def _drift(before: Vector, after: Vector) -> float:
    """See the top of this file."""
    return float(np.linalg.norm(before - after, axis=1).max()) / _scale(before)


def _scale(rows: Vector) -> float:
    """The median distance of different inputs. Where all have one embedding, distances count as they are."""
    median = float(np.median(_distances(rows)[np.triu_indices(len(rows), 1)]))
    return median if median > SAME else 1.0


def _moved(subject: _Subject, one: Image.Image, other: Image.Image) -> float:
    """The drift between two pictures that should be one."""
    first, second = _alone(subject.images, [one, other])
    return float(np.linalg.norm(first - second)) / _scale(subject.shown)


def _alone(ask: Callable[[Sequence[Any]], Vector], inputs: Sequence[Any]) -> Vector:
    return np.concatenate([ask([one]) for one in inputs])


def _distances(rows: Vector) -> Vector:
    return np.asarray(np.linalg.norm(rows[:, None] - rows[None], axis=2), dtype=np.float32)


def _mean_cosine(rows: Vector) -> float:
    return float((rows @ rows.T)[np.triu_indices(len(rows), 1)].mean())


_BASIC = (_shape, _finite, _determinism, _collapse)
_OTHERS = (
    *(_text_batch, _text_padding, _image_batch, _text_end, _vocabulary, _case),
    *(_photo_formats, _exif_rotation, _probe_set, _channels),
)
