"""Leaving texts out of an items file: those that give themselves away, come too often, or are of one target too many.

*Adversarial refinement* (SugarCrepe, Hsieh et al. 2023) keeps pairs until two blind baselines know nothing. A pair is
a right text and a wrong one; a baseline's gap is its score of the right one minus its score of the wrong one. Pairs
are put into a grid by their two gaps; a cell and its mirror image through the origin keep equally many pairs, drawn
with a seed. So for every pair that lets a baseline win there is one that makes it lose by as much, and both end at
exactly 50 %. The published code falls over a gap of exactly 1, which lies outside its grid; here the last cell holds
it. Scores on any scale are allowed: gaps are divided by the largest.

*A cap*: a few dozen substitutions are half of a set, and whoever has seen them knows a positive from a negative without
its photo or its caption. A cap trades texts for that.

*Equal targets* (Kamath et al. 2024, Appendix C.3): as many positives about relations as about attributes. Every
replaced verb counts as a relation. The paper does not say what it did with objects; ours stay, and so do swaps.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from equipoise.core.errors import UserError, did_you_mean
from equipoise.core.files import atomic_write, json_line
from equipoise.data.identity import of_folder
from equipoise.data.items import TEXT_KINDS, Item, Text, TextKind
from equipoise.language.separability import Rows, difference, fit, fold_of, group_of, words_of
from equipoise.language.vocabulary import count
from equipoise.perturb.recipe import edit_class

if TYPE_CHECKING:
    from equipoise.language.language_model import CausalLM

GRID = 50  # cells for each sign and judge
GRID_ALONE = 10  # cells where the other judge sees no difference
Judge = Callable[[Item, Sequence[str]], Sequence[float]]  # a score for each text; sees no image


def refine(first: Sequence[float], second: Sequence[float], seed: int = 0) -> list[int]:
    """The pairs to keep, from each judge's gaps: both then prefer the right text in exactly half of the cases."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} gaps of one judge and {len(second)} of the other")
    if not all(map(math.isfinite, (*first, *second))):
        raise ValueError("expected finite gaps, found NaN or infinity")
    first_gaps, second_gaps = _scaled(first), _scaled(second)
    cells: dict[tuple[int, int], list[int]] = {}
    for pair, gaps in enumerate(zip(first_gaps, second_gaps, strict=True)):
        cells.setdefault(_cell(*gaps), []).append(pair)
    rng = random.Random(seed)
    kept = list(cells.pop((0, 0), ()))  # neither judge sees a difference: nothing to balance
    for cell in sorted(cells):
        mirror = (-cell[0], -cell[1])
        if cell < mirror:
            continue  # each two cells once, from the one that sorts last
        pairs, opposites = cells[cell], cells.get(mirror, [])
        most = min(len(pairs), len(opposites))
        kept += rng.sample(pairs, most) + rng.sample(opposites, most)
    return sorted(kept)


def _scaled(gaps: Sequence[float]) -> list[float]:
    largest = max(map(abs, gaps), default=0.0)
    return [gap / largest if largest else 0.0 for gap in gaps]


def _cell(first: float, second: float) -> tuple[int, int]:
    grid = GRID if first and second else GRID_ALONE
    return _step(first, grid), _step(second, grid)


def _step(gap: float, grid: int) -> int:
    """The cell of a gap, signed, from 1; 0 only for no gap at all."""
    if gap == 0:
        return 0
    step = min(math.floor(grid * abs(gap)) + 1, grid)
    return step if gap > 0 else -step


Judges = dict[TextKind, tuple[Judge, Judge]]


def refine_items(
    read: Callable[[], Iterable[Item]], judges: Judges, seed: int = 0, keep_all: bool = False
) -> Iterator[Item]:
    """Items with the positives and negatives that survive, each edit in a pair with its caption; an item that keeps
    none goes too, if not keep_all. `read` is called several times, so that a file need not fit into memory."""
    kept = {kind: set(refine(*_gaps(read(), kind, both), seed)) for kind, both in judges.items()}
    place = {kind: itertools.count() for kind in kept}
    return keep_texts(read, lambda kind, _: kind not in kept or next(place[kind]) in kept[kind], keep_all)


def keep_texts(
    read: Callable[[], Iterable[Item]], keep: Callable[[TextKind, Text], bool], keep_all: bool
) -> Iterator[Item]:
    """Items with the texts that `keep` allows, called in their order; an item without any goes, if not keep_all."""
    for item in read():
        left: dict[str, tuple[Text, ...]] = {
            kind: tuple(text for text in item.edits(kind) if keep(kind, text)) for kind in TEXT_KINDS
        }
        if keep_all or any(left.values()):
            yield item.model_copy(update=left)


def _gaps(items: Iterable[Item], kind: TextKind, judges: tuple[Judge, Judge]) -> tuple[list[float], list[float]]:
    """Each judge's gaps between a caption and its edits, in the order of the items."""
    gaps: tuple[list[float], list[float]] = ([], [])
    for item in items:
        texts = [item.caption, *(text.text for text in item.edits(kind))]
        for judge, listed in zip(judges, gaps, strict=True):
            original, *edits = judge(item, texts)
            listed += [original - edit for edit in edits]
    return gaps


def refine_file(
    path: Path, judges: Judges, seed: int = 0, keep_all: bool = False
) -> tuple[dict[str, int], dict[str, int]]:
    """Refine an items file in place, atomically; returns the numbers of texts before and after, and the edits left."""
    nothing = "refinement left nothing; take more captions, or other judges"
    return rewrite_file(path, lambda read: refine_items(read, judges, seed, keep_all), nothing)


def rewrite_file(
    path: Path, change: Callable[[Callable[[], Iterator[Item]]], Iterator[Item]], nothing: str
) -> tuple[dict[str, int], dict[str, int]]:
    """Change an items file in place, atomically, without holding it in memory; `nothing` is the error if no item is
    left. Returns the numbers of items and texts before and after, and the edits left."""

    def read() -> Iterator[Item]:
        with path.open("rb") as handle:
            for line in handle:
                yield Item.model_validate_json(line)

    counts = {f"{kind}_{when}": 0 for kind in ("items", *TEXT_KINDS) for when in ("before", "after")}
    edits: Counter[str] = Counter()
    for item in read():
        counts["items_before"] += 1
        for kind in TEXT_KINDS:
            counts[f"{kind}_before"] += len(item.edits(kind))
    with atomic_write(path) as handle:
        for item in change(read):
            counts["items_after"] += 1
            for kind in TEXT_KINDS:
                counts[f"{kind}_after"] += len(item.edits(kind))
                edits.update(edit_class(kind.removesuffix("s"), text.edit) for text in item.edits(kind) if text.edit)
            handle.write(json_line(item.to_json()) + "\n")
        if not counts["items_after"]:
            raise UserError(nothing)
    return counts, dict(sorted(edits.items(), key=lambda pair: (-pair[1], pair[0])))


Substitution = tuple[TextKind, str, str]  # positives or negatives; the old words; the new words, in lower case


def substitution(kind: TextKind, text: Text) -> Substitution | None:
    if text.edit is None or text.edit.op != "replace":
        return None
    return kind, (text.edit.source or "").lower(), (text.edit.to or "").lower()


def cap_items(read: Callable[[], Iterable[Item]], most: int, seed: int = 0, keep_all: bool = False) -> Iterator[Item]:
    """Items with at most `most` drawn texts of each substitution; an item without any text goes, if not keep_all."""
    names = (substitution(kind, text) for item in read() for kind in TEXT_KINDS for text in item.edits(kind))
    counts = Counter(name for name in names if name is not None)
    rng = random.Random(f"cap {seed}")
    kept = {name: set(rng.sample(range(count), most)) for name, count in sorted(counts.items()) if count > most}
    place = {name: itertools.count() for name in kept}

    def keep(kind: TextKind, text: Text) -> bool:
        name = substitution(kind, text)
        return name is None or name not in kept or next(place[name]) in kept[name]

    return keep_texts(read, keep, keep_all)


def cap_file(path: Path, most: int, seed: int, keep_all: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Cap an items file in place; returns the numbers of texts before and after, and the edits left."""
    return rewrite_file(path, lambda read: cap_items(read, most, seed, keep_all), "--cap left nothing")


Side = Literal["relations", "attributes"]
_SIDES: dict[str | None, Side] = {"relation": "relations", "action": "relations", "attribute": "attributes"}


def side(text: Text) -> Side | None:
    """The side on which the draw counts a positive; None for one that it leaves alone."""
    return _SIDES.get(text.edit.target) if text.edit is not None and text.edit.op == "replace" else None


def even_file(path: Path, seed: int, keep_all: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Keep equally many positives about relations and about attributes of an items file, drawn at random, in place.

    Returns how many there were of each, how many are kept, the number of items left, and the edits left.
    """
    positives: dict[Side, int] = {"relations": 0, "attributes": 0}

    def change(read: Callable[[], Iterator[Item]]) -> Iterator[Item]:
        for which in (side(text) for item in read() for text in item.positives):
            if which is not None:
                positives[which] += 1
        least = min(positives.values())
        if not least:
            raise UserError(
                f"--even-positives: {positives['relations']:,} positives about relations and "
                f"{positives['attributes']:,} about attributes, so none would be left of either; "
                "hard_positives_kamath_2024_relations writes the first, "
                "hard_positives_kamath_2024 and hard_positives_rules both"
            )
        rng = random.Random(f"even {seed}")
        kept = {which: set(rng.sample(range(count), least)) for which, count in positives.items()}
        place = {which: itertools.count() for which in kept}

        def keep(kind: TextKind, text: Text) -> bool:
            which = side(text) if kind == "positives" else None
            return which is None or next(place[which]) in kept[which]

        return keep_texts(read, keep, keep_all)

    counts, edits = rewrite_file(path, change, "--even-positives left nothing; take more captions")
    report = {
        "relations": positives["relations"],
        "attributes": positives["attributes"],
        "kept of each": min(positives.values()),
    }
    return report | {"items": counts["items_after"]}, edits


# The judges, which see no image: a score is higher for a text that looks like an original caption. `length` and
# `frequency` need nothing; `words` is the classifier of language/separability.py, taught on the same items; `lm:FOLDER`
# is the fluency to a causal language model.

_HALVES = 2
_LM = "lm:FOLDER"
NAMES = ("words", "length", "frequency", _LM)


def judge_named(name: str, sample: Sequence[Item], kind: TextKind) -> Judge:
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
    """Refuse a judge that cannot be made, before the long work."""
    if name.startswith("lm:"):
        _fluency_of(name)
    elif name not in NAMES or name == _LM:
        raise UserError(f"no blind judge {name!r}; there are {', '.join(NAMES)}.{did_you_mean(name, NAMES)}")


def judge_identity(name: str) -> str:
    """Identify what decides a judge's scores: for a model, the content of its files and not their folder."""
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


def word_judge(sample: Sequence[Item], kind: TextKind) -> Judge:
    """Logistic regression on words and pairs of words that learns which of a caption and its edit is the caption. Each
    of two learns from one half of the images and judges the other: a judge that knew its texts by heart would win where
    nobody else could, and refinement would throw away edits that give nothing away."""
    halves = [
        _taught([item for item in sample if fold_of(group_of(item), _HALVES) != half], kind) for half in range(_HALVES)
    ]

    def judge(item: Item, texts: Sequence[str]) -> list[float]:
        learned = halves[fold_of(group_of(item), _HALVES)]
        return [sum(learned.get(name, 0.0) for name in bag) for bag in words_of(texts)]

    return judge


def _taught(items: Sequence[Item], kind: TextKind) -> dict[str, float]:
    """The weight of every word and pair of words for telling the caption from its edit, as refinement compares them."""
    pairs = [(item.caption, edit.text) for item in items for edit in item.edits(kind)]
    bags = words_of([text for pair in pairs for text in pair])
    differences = [difference(bags[place], bags[place + 1]) for place in range(0, len(bags), 2)]
    weights = fit(Rows.of(differences), np.ones(len(pairs)), bias=False)
    return {name: float(weights[column]) for name, column in Rows.names(differences).items()}
