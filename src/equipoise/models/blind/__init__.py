"""`blind:...`: baselines that never see an image, and so measure how much of a benchmark its texts give away.

`length` (which text is shorter) and `ngram` (which words give a hard negative away) learn from the benchmark's own
captions (c) and hard negatives (n), five-fold, with the items of an image in one fold. Texts score high that look like
captions of other images; hard positives are only scored, never learnt from. An item with too few others to learn from
gets equal scores, which is a tie and never a win. `lm` is a causal language model from the user's folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core.errors import UserError, did_you_mean
from equipoise.data.identity import of_code, of_folder
from equipoise.data.items import Item
from equipoise.language.separability import FOLDS, Bag, Rows, difference, fit, fold_of, words_of
from equipoise.models.base import split_options

FORMS = ("length", "ngram", "lm:FOLDER")
TOGETHER = 16  # texts that the language model reads at once; with more Gemma-3-270M gains nothing
MOST_PAIRS = 20_000  # that a fold is taught on, evenly spread over the items: more change nothing but the time
_EXACT = 2.0**32  # weights are multiples of its inverse
BlindScores = list[list[float]]  # of each item: the caption's, the positives', the negatives'


def folds(items: Sequence[Item]) -> list[int]:
    """The fold of each item. Items that share a photo share a fold, also if it is one's own and another's negative.

    An item without an image is its own group (no path begins with a newline). The fold is a hash of the group's
    first path in the alphabet, so the order of the items does not matter.
    """
    first: dict[str, str] = {}

    def root(name: str) -> str:
        while (parent := first.setdefault(name, name)) != name:
            first[name] = name = first[parent]
        return name

    groups = [[ref.path for ref in item.images()] or [f"\n{item.id}"] for item in items]
    for names in groups:
        for name in names[1:]:
            first_root, second_root = sorted((root(names[0]), root(name)))
            first[second_root] = first_root
    return [fold_of(root(names[0]), FOLDS) for names in groups]


class LearnedBaseline:
    """A judge with a rule: items -> scores of their texts."""

    device = "cpu"
    reads_images = False

    def __init__(self, spec: str, rule: Callable[[Sequence[Item]], BlindScores], about: str) -> None:
        digest = f"{spec} {of_code('models/blind', 'language')}"
        self.card: dict[str, Any] = {"spec": spec, "digest": digest, "blind": True, "about": about, "folds": FOLDS}
        self._rule = rule

    def score_taught(self, items: Sequence[Item]) -> BlindScores:
        return self._rule(items)


def by_length(items: Sequence[Item]) -> BlindScores:
    """The number of characters, with the sign that is more often right on the images of the other folds."""
    place = folds(items)
    won: Counter[tuple[int, int]] = Counter()  # (fold, sign) -> captions that this sign puts strictly above
    for fold, item in zip(place, items, strict=True):
        lengths = [len(text.text) for text in item.negatives]
        if lengths and len(item.caption) < min(lengths):
            won[fold, -1] += 1
        elif lengths and len(item.caption) > max(lengths):
            won[fold, 1] += 1
    gain = [sum(won[fold, 1] - won[fold, -1] for fold in range(FOLDS) if fold != own) for own in range(FOLDS)]
    signs = [(balance > 0) - (balance < 0) for balance in gain]
    return [[float(signs[fold] * len(text)) for text in item.texts()] for fold, item in zip(place, items, strict=True)]


def by_ngrams(items: Sequence[Item]) -> BlindScores:
    """The summed weights of a text's words and pairs of words; words of both texts of a pair cancel out."""
    place = folds(items)
    bags: dict[str, Bag] = {}
    for item in items:
        for text in item.texts():
            if text not in bags:
                bags[text] = words_of([text])[0]
    pairs = [
        (fold, item.caption, text.text)
        for fold, item in zip(place, items, strict=True)
        for text in item.negatives
        if text.text != item.caption
    ]
    if len(pairs) > MOST_PAIRS:
        pairs = [pairs[index * len(pairs) // MOST_PAIRS] for index in range(MOST_PAIRS)]
    differences = [difference(bags[caption], bags[negative]) for _, caption, negative in pairs]
    columns, matrix = Rows.names(differences), Rows.of(differences)
    of_pair = np.array([fold for fold, _, _ in pairs], dtype=np.int64)
    words = [[columns[name] for name in bag if name in columns] for bag in bags.values()]
    counts = np.array([len(columns) for columns in words])
    entries = np.repeat(np.arange(len(words)), counts), np.fromiter(chain.from_iterable(words), np.int64, counts.sum())
    scores: dict[int, dict[str, float]] = {}
    for fold in sorted(set(place)):
        others = of_pair != fold
        weights = fit(matrix.pick(others), np.ones(int(others.sum())), bias=False) if others.any() else np.zeros(0)
        # Sums of whole numbers are exact: two texts of the same weights tie, in whatever order their words stand.
        whole = np.rint(weights * _EXACT)
        sums = np.bincount(entries[0], whole[entries[1]], len(words)) if others.any() else np.zeros(len(words))
        scores[fold] = dict(zip(bags, (sums / _EXACT).tolist(), strict=True))
    return [[scores[fold][text] for text in item.texts()] for fold, item in zip(place, items, strict=True)]


TAUGHT = {  # the rule, and its description
    "length": (by_length, "characters; shorter or longer, whichever is more often right on other images"),
    "ngram": (by_ngrams, "logistic regression on words and pairs of neighbours, taught on other images"),
}


class BlindLM:
    """Log-likelihood of a text to a causal language model: the mean of its tokens, or their sum.

    The sum is the likelihood, and prefers shorter texts; the mean does not. The card names the one. Texts of the same
    number of tokens are read together; nothing is padded, so other texts change the seventh digit at most.
    """

    reads_images = False

    def __init__(self, folder: str, spec: str, likelihood: str, device: str) -> None:
        from equipoise.language.language_model import CausalLM

        self._model = CausalLM(folder, total=likelihood == "sum", device=device, together=TOGETHER)
        self.device = device
        self.card: dict[str, Any] = {
            "spec": spec,
            "weight_sha256": of_folder(folder),  # the tokenizer's files among them
            "blind": True,
            "architecture": type(self._model.model).__name__,
            "dtype": "float32",
            "likelihood": likelihood,
        }

    def score_pairs(self, images: Sequence[object], texts: Sequence[str]) -> list[float]:
        return self._model(texts)


def load_blind(rest: str, *, spec: str, device: str = "auto", **unused: str) -> object:
    """The judge that a spec names; `?likelihood=sum` is an option of lm."""
    if rest in TAUGHT:
        return LearnedBaseline(spec, *TAUGHT[rest])
    kind, _, place = rest.partition(":")
    if kind != "lm" or not place:
        shown = ", ".join(f"blind:{form}" for form in FORMS)
        raise UserError(
            f"model {spec!r}: expected {shown}.{did_you_mean(kind, [form.partition(':')[0] for form in FORMS])}"
        )
    folder, options = split_options(place, spec, {"likelihood": ("mean", "sum")})
    if not Path(folder).is_dir():
        raise UserError(
            f"model {spec!r}: no folder {folder}; expected a model of transformers, saved with save_pretrained"
        )
    import torch

    on = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    return BlindLM(folder, spec, options.get("likelihood", "mean"), on)
