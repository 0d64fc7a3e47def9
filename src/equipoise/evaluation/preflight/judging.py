"""Checks of what a model says of the probe set: is it above chance, the right way round, and for which reasons not?"""

from __future__ import annotations

import sys

import numpy as np

from equipoise.evaluation.embedding.cache import Vector
from equipoise.evaluation.preflight import probes
from equipoise.evaluation.preflight.checks import Verdict, check
from equipoise.evaluation.preflight.subject import Subject
from equipoise.evaluation.preflight.xray import other_activation
from equipoise.evaluation.record import Check

COLOURS, KINDS = len(probes.COLOURS), len(probes.KINDS)
LOGIT_SCALE = (1.0, 200.0)  # CLIP ends at 100, SigLIP at about 117


def _kinds(scores: Vector, right: list[int]) -> int:
    """In how many pictures the thing is named, one of five; each picture's scores and each text's count from their
    mean, so that a text that all pictures like decides nothing."""
    level = scores - scores.mean(0) - scores.mean(1, keepdims=True)
    return int((level.reshape(-1, KINDS, COLOURS).mean(2).argmax(1) == np.array(right) // COLOURS).sum())


def _colours(scores: Vector, right: list[int]) -> int:
    level = (scores - scores.mean(0)).reshape(-1, KINDS, COLOURS)
    rows = np.arange(len(right))
    return int((level[rows, np.array(right) // COLOURS].argmax(1) == np.array(right) % COLOURS).sum())


def _probe_set(subject: Subject) -> Check:
    """Above chance: more than 35 of 100. Pictures of one thing stand or fall together, so a guesser may get 2 of 5."""
    scores, right = subject.matrix
    count, n = _kinds(scores, right), len(right)
    found = f"{count} of {n} drawn things named, each one of {KINDS} (chance {n // KINDS})"
    why = "At chance on things every CLIP gets right, a model says nothing about harder ones."
    fix = "Compare one embedding with the reference code: weights, activation, preprocessing, tokenizer, projection."
    return check("probe set", count, found, "fine" if count > 0.35 * n else "suspicious", why, fix)


def _sign(subject: Subject) -> Check:
    scores, right = subject.matrix
    count, n = _kinds(-scores, right), len(right)
    verdict: Verdict = "wrong" if count >= 0.8 * n else "fine"  # a guesser gets as many in 1 of 150 tries
    found = f"the right thing has the lowest score in {count} of {n} pictures (chance {n // KINDS})"
    why = "A distance, the logit of 'no match' or a swapped option ranks every item upside down."
    fix = (
        "Return a similarity: minus a distance, the logit of a match minus that of none, the letter that was asked for."
    )
    return check("sign", count, found, verdict, why, fix)


def _channels(subject: Subject) -> Check | None:
    """Meant for a model that knows the things: of another one the colours say nothing."""
    scores, right = subject.matrix
    n = len(right)
    if _kinds(scores, right) <= 0.6 * n:
        return None
    count = _colours(scores, right)
    found = f"red and blue distinguished in {count} of {n} pictures (chance {n // 2})"
    why = "A model that takes red for blue reads the channels in the wrong order (BGR, as OpenCV has them)."
    fix = "Give the model RGB: cv2.cvtColor(image, cv2.COLOR_BGR2RGB), or no conversion at all."
    return check("channels", count, found, "suspicious" if count <= 0.3 * n else "fine", why, fix)


def _lengths(subject: Subject) -> Check | None:
    """`eval` computes cosines whatever a model returns. A dot product of raw rows, as other code has it, may differ."""
    if not subject.encodes:
        return None
    scores, _ = subject.matrix
    lengths = np.array([subject.lengths[text] for text in probes.SHORT], np.float32)
    changed = _orders_changed(scores, scores * lengths)
    total = scores.shape[0] * scores.shape[1] * (scores.shape[1] - 1) // 2
    found = (
        f"embeddings of texts are {lengths.min():.3g} to {lengths.max():.3g} long; without normalisation {changed} of "
    )
    found += f"{total} pairs of texts change places"
    why = "CLIP's score is the cosine. equipoise computes it; code that multiplies raw embeddings gets other numbers."
    fix = "Divide each embedding by its length before you multiply, or take the numbers of equipoise."
    return check("normalisation", changed, found, "suspicious" if changed > total / 100 else "fine", why, fix)


def _orders_changed(one: Vector, other: Vector) -> int:
    """The number of pairs of texts of a picture whose order changes."""
    left, right = np.triu_indices(one.shape[1], 1)
    return int(((one[:, left] > one[:, right]) != (other[:, left] > other[:, right])).sum())


def _precision(subject: Subject) -> Check:
    """Ties between different texts, which float32 does not have, and what rounding to bfloat16 would do."""
    scores, _ = subject.matrix
    left, right = np.triu_indices(scores.shape[1], 1)
    ties, total = int((scores[:, left] == scores[:, right]).sum()), len(scores) * len(left)
    half = sorted(subject.seen[0].half | subject.seen[1].half)
    found = f"{ties} of {total} pairs of different texts tie; computed in {' and '.join(half) or 'float32'}"
    rounded = _bfloat16(scores)
    lost = int((rounded[:, left] == rounded[:, right]).sum())
    found += f" (scores rounded to bfloat16 would tie in {lost})"
    why = "A tie is never a win: scores that half precision makes equal are lost."
    fix = "Compute the score in float32 (model.float(), logits.float() before the softmax); --dtype float32."
    verdict: Verdict = "wrong" if ties > total / 100 else "suspicious" if ties or half else "fine"
    return check("precision", ties, found, verdict, why, fix)


def _bfloat16(values: Vector) -> Vector:
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def _activation(subject: Subject) -> Check | None:
    """What runs against what the configuration says; and whether the model would do better with the other one."""
    if "torch" not in sys.modules:
        return None
    seen = set.union(*(one.activations for one in subject.seen))
    stated = set.union(*(one.stated for one in subject.seen))
    if not seen:
        return None
    scores, right = subject.matrix
    few = slice(0, 10) if subject.encodes else slice(0, 4)
    pictures = [picture for picture, _ in probes.probe_set()[few]]
    with other_activation():
        other = subject.scores(pictures, probes.SHORT)
    ours = scores[few]
    changed = int((ours.argmax(1) != other.argmax(1)).sum())
    better = _margin(other, right[few]) - _margin(ours, right[few])
    gain = float(better.mean() / (better.std() / np.sqrt(len(better)) + 1e-9))
    mixed = len(seen) == 1 and bool(stated) and not (stated & seen)
    found = f"{' and '.join(sorted(seen))}; with the other one {changed} of {len(ours)} first choices change"
    verdict: Verdict = "fine"
    if mixed or (len(stated) > 1 and len(seen) == 1):
        verdict, found = "wrong", f"{found}; the configuration says {' and '.join(sorted(stated))}"
    elif gain > 3 and better.mean() > 0.1:
        verdict, found = "suspicious", f"{found}, and the right text stands out more (t = {gain:.1f})"
    why = "OpenAI's weights are QuickGELU, most others GELU; the wrong one costs points and raises no error."
    fix = "Load with the activation of training: act=quickgelu or gelu (checkpoint:), open_clip's -quickgelu models."
    return check("activation", changed, found, verdict, why, fix)


def _margin(scores: Vector, right: list[int]) -> Vector:
    """How far the right text stands above the others, in units of the spread of all scores."""
    rows = np.arange(len(right))
    mine = scores[rows, right]
    others = (scores.sum(1) - mine) / (scores.shape[1] - 1)
    return np.asarray((mine - others) / max(1e-9, float(scores.std())), np.float32)


def _logit_scale(subject: Subject) -> Check | None:
    """Noted where the model tells it; no order depends on it."""
    value = getattr(subject.model, "logit_scale", None)
    try:
        factor = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):
        return None
    low, high = LOGIT_SCALE
    why = "It multiplies every cosine: it changes no ranking, but every probability, and any further training."
    fix = "Store the logarithm and use its exponential; CLIP clamps it at 100."
    verdict: Verdict = "fine" if low <= factor <= high else "suspicious"
    return check("logit scale", factor, f"{factor:.4g} (common: {low:g} to {high:g})", verdict, why, fix)


def _blind(subject: Subject) -> Check | None:
    """How often a pair scorer keeps the order of two texts with a blank photo."""
    if subject.encodes:
        return None
    scores, right = subject.matrix
    left, other = np.triu_indices(scores.shape[1], 1)
    blank = subject.scores([probes.blank()], probes.SHORT)
    same = float(((scores[:, left] > scores[:, other]) == (blank[:, left] > blank[:, other])).mean())
    knows = _kinds(scores, right) > 0.35 * len(right)
    why = "Where a blank photo gives the same answers, the numbers are about the texts."
    fix = "Check that the picture reaches the model: the image token in the prompt, pixel_values in the call."
    found = f"with a blank photo {100 * same:.0f}% of the orders of two texts stay the same"
    return check("blind", same, found, "suspicious" if same > 0.9 and knows else "fine", why, fix)


JUDGING = (_probe_set, _sign, _channels, _lengths, _precision, _activation, _logit_scale, _blind)
