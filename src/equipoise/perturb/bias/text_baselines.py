"""Judges that see no image (text-only baselines): a score, higher for what looks like an original caption.

`length` and `frequency` need nothing; `words` is the classifier of `separability.py`, taught on the very items;
`lm:FOLDER` is the fluency to a causal language model. Any two of them can drive adversarial refinement.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.core.errors import UserError, did_you_mean
from equipoise.data.identity import of_folder
from equipoise.data.items import Item
from equipoise.language.separability import Rows, difference, fit, fold_of, group_of, words_of
from equipoise.language.vocabulary import count
from equipoise.perturb.bias.thinning import Judge, Kind

if TYPE_CHECKING:
    from equipoise.language.language_model import CausalLM

_HALVES = 2
_LM = "lm:FOLDER"
NAMES = ("words", "length", "frequency", _LM)


def judge_named(name: str, sample: Sequence[Item], kind: Kind) -> Judge:
    """The judge called `name`; `words` learns from the sample how edits of this kind read."""
    if name == "length":
        return lambda item, texts: [-float(len(text)) for text in texts]
    if name == "frequency":
        return lambda item, texts: [_frequency(text) for text in texts]
    if name == "words":
        return word_judge(sample, kind)
    check_judge(name)
    fluency = _fluency_of(name)
    return lambda item, texts: fluency(texts)


def check_judge(name: str) -> None:
    """A judge that cannot be made is known before the long work."""
    if name.startswith("lm:"):
        _fluency_of(name)
    elif name not in NAMES or name == _LM:
        raise UserError(f"no blind judge {name!r}; there are {', '.join(NAMES)}.{did_you_mean(name, NAMES)}")


def judge_identity(name: str) -> str:
    """What decides a judge's scores: of a model its files, not where they lie."""
    if not name.startswith("lm:"):
        return name
    return f"lm:{of_folder(name.removeprefix('lm:'))}"


@functools.cache
def _fluency_of(name: str) -> CausalLM:
    """One model for positives and negatives."""
    from equipoise.language.language_model import CausalLM

    return CausalLM(name.removeprefix("lm:"))


def _frequency(text: str) -> float:
    """Mean logarithm of how often captions use the words: rare words make an edit look like one."""
    words = re.findall(r"[\w'’-]+", text)
    return sum(math.log(count(word)) for word in words) / max(1, len(words))


def word_judge(sample: Sequence[Item], kind: Kind) -> Judge:
    """Logistic regression on words and pairs of words, taught which of a caption and its edit is the caption. Two of
    them, each taught on one half of the images and judging the other: a judge that knew its texts by heart would win
    where nobody else could, and refinement would throw away edits that give nothing away."""
    halves = [
        _taught([item for item in sample if fold_of(group_of(item), _HALVES) != half], kind) for half in range(_HALVES)
    ]

    def judge(item: Item, texts: Sequence[str]) -> list[float]:
        learned = halves[fold_of(group_of(item), _HALVES)]
        return [sum(learned.get(name, 0.0) for name in bag) for bag in words_of(texts)]

    return judge


def _taught(items: Sequence[Item], kind: Kind) -> dict[str, float]:
    """Weight of every word and pair of words: which of two texts is the caption, as refinement compares them."""
    pairs = [(item.caption, edit.text) for item in items for edit in getattr(item, kind)]
    bags = words_of([text for pair in pairs for text in pair])
    differences = [difference(bags[place], bags[place + 1]) for place in range(0, len(bags), 2)]
    weights = fit(Rows.of(differences), np.ones(len(pairs)), bias=False)
    return {name: float(weights[column]) for name, column in Rows.names(differences).items()}
