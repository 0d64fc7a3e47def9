"""Captions of our own on which a model is measured before it may judge: each as it is, and with two other words.

Models differ in scale, so nobody is asked for a threshold: it lies where all but a few of the good words are kept.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from importlib import resources
from typing import NamedTuple

import numpy as np

from equipoise.errors import UserError

CAUGHT = 0.5  # of the bad words that must lie below the threshold; MiniLM catches two thirds


class Trial(NamedTuple):
    caption: str
    good: str  # what the model must keep
    bad: str  # what it must mostly drop


@functools.cache
def trials(name: str) -> tuple[Trial, ...]:
    """Those of perturb/data/NAME.txt, a line each: A {plane|airplane|boat} is parked."""
    text = resources.files("equipoise.perturb").joinpath(f"data/{name}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(Trial(*(re.sub(r"\{.*\}", word, line) for word in _choices(line))) for line in lines)


def _choices(line: str) -> list[str]:
    return line[line.index("{") + 1 : line.index("}")].split("|")


def least_kept(
    name: str, judge: Callable[[str, str], float], lost: float, complaint: Callable[[int, str], str]
) -> float:
    """What `judge(caption, text)` gives to the good words of NAME.txt, all but a share `lost` of them.

    A judge that gives it to half of the bad words too is refused with the complaint about (how many, the share below).
    """
    kept = [judge(one.caption, one.good) for one in trials(name)]
    others = np.array([judge(one.caption, one.bad) for one in trials(name)])
    least = float(np.quantile(kept, lost))
    caught = float((others < least).mean())
    if not caught >= CAUGHT:  # also where the numbers are not numbers
        raise UserError(complaint(len(others), f"{caught:.0%}"))
    return least
