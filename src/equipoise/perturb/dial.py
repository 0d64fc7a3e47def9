"""The dial of `balanced`: how likely an edit must be accepted, so that readers accept the share that was asked for.

data/calibration.json is measured on verdicts of blind readers about captions that the judge did not learn from
(studies/judge/calibrate.py). `accepted`: for each word of a kind of edit, what it adds to the height and the slope of a
line, from the chance that the judge gives to the share that readers accept, both as logits. `least`: for replaced
words, by setting of the dial, the least such share that an edit must have, so that all that is written is accepted as
often as asked. `rates`: the share that readers accept of positives and of contrasts, by kind.
"""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.data.items import Edit
from equipoise.language.vocabulary import read_data

PRECISION = 0.92  # the default
LOWEST, HIGHEST = 0.8, 0.99
ALONE = 2.3  # readers may refuse a caption's only negative so many times as often as the least sure of several


@functools.cache
def calibration() -> dict[str, Any]:
    numbers: dict[str, object] = json.loads(read_data("calibration.json"))
    return numbers


@dataclass(frozen=True)
class Dial:
    precision: float = PRECISION

    @functools.cached_property
    def bound(self) -> float:
        """The least share that readers must accept of a replaced word, one of several of a caption."""
        settings, shares = zip(*calibration()["least"], strict=True)
        return float(np.interp(self.precision, settings, shares))

    def least(self, kind: str, alone: bool = False) -> float:
        """The least chance that the judge must give. A kind is a target, with "proposed" if a net or a language model
        proposed the new word, "people" if a word for a person replaces another and "doubtful" if captions do not have
        the new word next to its neighbours; or "swap" and what changes places. `alone`: for a caption's only negative.
        Relations and swaps are rare, so that others cannot make up for an unsure one: each must be as sure as asked,
        and as likely as those that the lines were fitted on."""
        if kind.startswith(("relation", "swap")):
            return max(LIKELY, _least(kind, self.precision))
        return _least(kind, max(0.01, 1 - ALONE * (1 - self.bound)) if alone else self.bound)

    def stricter(self) -> Dial:
        """The dial for captions that the judge knows less well."""
        return Dial(max(self.precision, _STRICTER))

    def allows(self, kind: str) -> bool:
        """Whether edits of this kind are accepted often enough."""
        return rate_of(kind) >= self.precision


_STRICTER = 0.975


def accepted(kind: str, chance: float) -> float:
    """How likely readers accept a negative to which the judge gives this chance."""
    height, slope = _line(kind)
    return 1 / (1 + math.exp(-height - slope * logit(chance)))


def logit(chance: float) -> float:
    clipped = min(max(chance, 0.01), 0.999)
    return math.log(clipped / (1 - clipped))


@functools.cache
def _line(kind: str) -> tuple[float, float]:
    height, slope = map(sum, zip(*(calibration()["accepted"][word] for word in kind.split()), strict=True))
    return height, slope


@functools.lru_cache(maxsize=256)
def _least(kind: str, bound: float) -> float:
    height, slope = _line(kind)
    if accepted(kind, 1.0) < bound:
        return 2.0  # never as likely as that
    return max(SEEN, 1 / (1 + math.exp((height - math.log(bound / (1 - bound))) / slope)))


LIKELY = 0.6  # the fit leaves out the dial's own edits that the judge finds less likely: older judges chose them
SEEN = 0.1  # readers have hardly seen edits that the judge finds less likely


def rate_of(kind: str) -> float:
    """How often readers accept edits of a kind: positives, contrasts."""
    rates: dict[str, float] = calibration()["rates"]
    return rates.get(kind, rates["other"])


def positive_kind(edit: Edit) -> str:
    """The kind of a positive in the calibration: the source and target of a replacement, else the operation."""
    return f"{edit.by} {edit.target}" if edit.op == "replace" else edit.op
