"""REPLACE's words, from data/words.toml: the lexicon of the paper's files, and what `replace-clean` judges by."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_DATA = tomllib.loads((Path(__file__).with_name("data") / "words.toml").read_text(encoding="utf-8"))


def words(name: str) -> frozenset[str]:
    """A set of words by its name."""
    return _words(_DATA["sets"][name])


def _words(text: str) -> frozenset[str]:
    found = [part.strip() for part in text.split(",")]
    shared = [words(part[1:]) for part in found if part.startswith("@")]
    return frozenset(part for part in found if not part.startswith("@")).union(*shared)


LEXICON: dict[str, dict[str, dict[str, str]]] = _DATA["lexicon"]
NEAR, COMPATIBLE, EXCLUDES = (
    {word: _words(text) for word, text in _DATA[name].items()} for name in ("near", "compatible", "excludes")
)
OPPOSITE: dict[str, str] = _DATA["opposite"]
ARTICLES = ("a", "an", "the")
# One holds it while doing the other: the object decides.
WHILE_HOLDING = re.compile(
    r"swinging .*(racket|racquet|bat|club)|reading .*(book|paper|newspaper|magazine|menu|phone|card)"
    r"|(eating|biting|chewing) .*(food|pizza|sandwich|hot ?dog|donut|doughnut|banana|apple|cake|carrot|fruit|cookie)"
    r"|smoking .*(cigarette|cigar|pipe)|flying .*kite|drinking .*(cup|glass|bottle|beer|wine|drink|mug|can|soda)"
    r"|(throwing|tossing) .*(frisbee|ball|baseball|disc)|playing .*(game|controller|remote|guitar|wii|racket)"
    r"|opening .*umbrella|(cutting|slicing) .*(knife|scissors)|brushing .*toothbrush|driving .*wheel"
)
