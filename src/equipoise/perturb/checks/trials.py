"""Captions of our own on which a model is measured before it may judge: each as it is, and with two other words."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import NamedTuple


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
