"""The dial of `balanced`: how likely an edit must be accepted, so that readers accept the share that was asked for.

data/calibration.json is measured on verdicts of blind readers about captions that the judge did not learn from
(runs/judge/calibrate.py). `accepted`: by kind of edit, the share that readers accept at a chance that the judge gives.
`least`: by target and setting of the dial, the least such share that an edit must have, so that all that is written is
accepted as often as asked. `positives`: the share that readers accept, by kind.
"""

from __future__ import annotations

import functools
import json
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from equipoise.data.items import Edit
from equipoise.perturb.english.vocabulary import read_data

PRECISION = 0.92  # the default
LOWEST, HIGHEST = 0.8, 0.99
Curve = list[list[float]]  # points (x, y), x rising


@functools.cache
def calibration() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(read_data("calibration.json"))
    return found


def at(curve: Curve, x: float) -> float:
    """The height of a curve, straight between its points and level beyond them."""
    place = bisect_left(curve, [x])
    if place == 0 or place == len(curve):
        return curve[min(place, len(curve) - 1)][1]
    (left, low), (right, high) = curve[place - 1], curve[place]
    return low + (high - low) * (x - left) / (right - left)


@functools.lru_cache(maxsize=64)
def _least(precision: float) -> dict[str, float]:
    """By kind, the least chance that the judge must give."""
    bounds = {target: at(curve, precision) for target, curve in calibration()["least"].items()}
    return {
        kind: at([[y, x] for x, y in curve], bounds[kind.partition(" ")[0]])
        if bounds[kind.partition(" ")[0]] <= curve[-1][1]
        else 2.0  # never as likely as that
        for kind, curve in calibration()["accepted"].items()
    }


@dataclass(frozen=True)
class Dial:
    precision: float = PRECISION

    @functools.cached_property
    def least(self) -> dict[str, float]:
        """By kind, the least chance that the judge must give. A kind is a target, with "wide" where the new word
        is of a wide line or proposed by the judge; or "swap" and what changes places."""
        return _least(self.precision)

    def refusing(self, times: float) -> Dial:
        """The dial by which readers refuse so many times as many."""
        return Dial(1 - times * (1 - self.precision))

    def stricter(self) -> Dial:
        """For captions that the judge knows less well."""
        return Dial(max(self.precision, _STRICTER))

    def allows(self, kind: str) -> bool:
        """Whether positives of this kind are accepted often enough."""
        return positive_rate(kind) >= self.precision


_STRICTER = 0.975


def accepted(kind: str, chance: float) -> float:
    """How likely readers accept a negative to which the judge gives this chance."""
    return at(calibration()["accepted"][kind], chance)


def positive_rate(kind: str) -> float:
    """How often readers accept positives of a kind."""
    rates: dict[str, float] = calibration()["positives"]
    return rates.get(kind, rates["other"])


def positive_kind(edit: Edit) -> str:
    """As the calibration counts them: who proposed a replacement, and of what; else the operation."""
    return f"{edit.by} {edit.target}" if edit.op == "replace" else edit.op
