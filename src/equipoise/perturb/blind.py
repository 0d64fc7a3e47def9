"""Judges that see no image: a score for a text, higher for what looks like an original caption.

`length` and `frequency` need nothing; `words` is the classifier of `bias.py`, trained on a sample of the very items;
`lm:FOLDER` is the fluency to a causal language model. Any two of them can drive adversarial refinement.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence

import numpy as np

from equipoise.errors import UserError, did_you_mean
from equipoise.items import Item
from equipoise.perturb.bias import Rows, fit, words_of
from equipoise.perturb.refine import Kind, Score
from equipoise.perturb.sources.files import count

NAMES = ("words", "length", "frequency", "lm:FOLDER")


def judge_named(name: str, sample: Sequence[Item], kind: Kind, seed: int = 0) -> Score:
    """The judge called `name`; `words` learns from the sample how edits of this kind read."""
    if name == "length":
        return lambda texts: [-float(len(text)) for text in texts]
    if name == "frequency":
        return lambda texts: [_frequency(text) for text in texts]
    if name == "words":
        return word_judge(sample, kind, seed)
    if name.startswith("lm:"):
        from equipoise.perturb.sources.causal_lm import CausalLM

        return CausalLM(name.removeprefix("lm:"))
    raise UserError(f"no blind judge {name!r}; there are {', '.join(NAMES)}.{did_you_mean(name, NAMES)}")


def _frequency(text: str) -> float:
    """Mean logarithm of how often captions use the words: rare words make an edit look like one."""
    words = re.findall(r"[\w'’-]+", text)
    return sum(math.log(count(word)) for word in words) / max(1, len(words))


def word_judge(sample: Sequence[Item], kind: Kind, seed: int = 0) -> Score:
    """Logistic regression on words and pairs of words, taught which texts of the sample are originals."""
    rng = random.Random(seed)
    pairs = [(item.caption, rng.choice(edits).text) for item in sample if (edits := getattr(item, kind))]
    bags = words_of([text for pair in pairs for text in pair])
    matrix, names = Rows.of(bags), Rows.names(bags)
    weights = fit(matrix, np.tile([1.0, 0.0], len(pairs)))
    learned = {name: float(weights[column]) for name, column in names.items()}

    def judge(texts: Sequence[str]) -> list[float]:
        return [sum(learned.get(name, 0.0) for name in bag) for bag in words_of(texts)]

    return judge
