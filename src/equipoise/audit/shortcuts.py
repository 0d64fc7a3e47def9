"""How often the answer can be guessed without the image: by words, length, frequency, or the substitution alone.

Each shortcut sees a caption and one of its edits and says which is the caption; the last one sees an edit and says
whether it is a hard positive or a hard negative. Chance is one half. Those that learn are tested on other images.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.audit.edits import substitution
from equipoise.audit.record import Detector, Example, Share, Shortcut
from equipoise.core import stats
from equipoise.data.items import Item, TextKind
from equipoise.language.separability import Rows, fit, fold_of, group_of, separability, words_of
from equipoise.perturb.bias.thinning import judge_named

KINDS: tuple[TextKind, ...] = ("negatives", "positives")
LEAST = 20  # pairs; fewer say nothing
_SHOWN = 5
_RESAMPLES = 500
_BALANCE = "replace words by equally frequent ones (recipe `balanced`), or drop edits that give it away (`--refine`)"
_BALANCED = (
    "recipe `balanced` wrote these; write them again and drop those that give it away: "
    "`equipoise perturb CAPTIONS --recipe balanced --refine words,frequency`"
)


class _Pair(NamedTuple):
    """A caption and one of its edits, drawn by seed."""

    id: str
    group: str
    caption: str
    edit: str

    @property
    def half(self) -> int:
        return fold_of(self.group, 2)


def pairs(items: Sequence[Item], kind: TextKind, seed: int) -> list[_Pair]:
    rng = random.Random(seed)
    listed = ((item, [text.text for text in item.edits(kind) if text.text != item.caption]) for item in items)
    return [_Pair(item.id, group_of(item), item.caption, rng.choice(texts)) for item, texts in listed if texts]


def share(right: Sequence[float], groups: Sequence[str], seed: int) -> Share:
    _, clusters = np.unique(np.array(groups), return_inverse=True)
    values = np.array(right, dtype=np.float64)
    average = stats.averaged_all(values, clusters, seed, _RESAMPLES)
    low, high = average.interval(0)
    return Share(n=len(values), share=round(float(average.values[0]), 4), interval=(round(low, 4), round(high, 4)))


def _half(value: float) -> float:
    return 1.0 if value > 0 else 0.0 if value < 0 else 0.5


def shortcuts(items: Sequence[Item], seed: int = 0) -> list[Shortcut]:
    every = {kind: pairs(items, kind, seed) for kind in KINDS}
    by_kind = {kind: listed for kind, listed in every.items() if len(listed) >= LEAST}
    by_words = separability(items, seed)
    shown: list[Shortcut] = []
    for kind, listed in by_kind.items():
        words = by_words[f"originals / {kind}"]
        shown += [_by_words(kind, listed, words)] if words else []
        shown += [_by_statistic(name, kind, listed, seed) for name in ("length", "frequency")]
        shown.append(_by_direction(kind, listed, seed))
    if len(by_kind) == len(KINDS):
        shown.append(_by_substitution(by_kind["positives"], by_kind["negatives"], seed))
    balanced = any("balanced" in item.tags.get("recipe", "").split(",") for item in items)
    return [
        shortcut.model_copy(update={"fix": _BALANCED}) if balanced and shortcut.fix == _BALANCE else shortcut
        for shortcut in shown
    ]


def _by_words(kind: TextKind, listed: Sequence[_Pair], words: dict[str, Any]) -> Shortcut:
    paired = words["paired"]
    return Shortcut(
        name=f"words_{kind}",
        what=f"logistic regression on words and pairs of words tells the caption from one of its {kind}",
        count=round(paired["accuracy"] * words["n"], 1),
        result=Share(n=words["n"], share=paired["accuracy"], interval=tuple(paired["interval"])),
        chance=0.5,
        examples=_telling(listed),
        fix=_BALANCE,
    )


def _telling(listed: Sequence[_Pair]) -> list[Example]:
    """The words that edits add more often than they remove, each with an item."""
    came: Counter[str] = Counter()
    first: dict[str, _Pair] = {}
    for pair in listed:
        before, after = words_of([pair.caption, pair.edit])
        for name in after:
            if "\t" not in name and name not in before:
                came[name] += 1
                first.setdefault(name, pair)
        came.subtract(name for name in before if "\t" not in name and name not in after)
    most = sorted((-count, name) for name, count in came.items() if count > 1)[:_SHOWN]
    said = "{!r} is added by {:,} more edits than it is removed by: {!r}"
    return [Example(id=first[name].id, said=said.format(name, -less, first[name].edit)) for less, name in most]


def _by_statistic(name: str, kind: TextKind, listed: Sequence[_Pair], seed: int) -> Shortcut:
    judge = judge_named(name, (), kind)
    item = Item(id="-", caption="-")
    scores = [judge(item, [pair.caption, pair.edit]) for pair in listed]
    gaps = [caption - edit for caption, edit in scores]
    right = [_half(gap) for gap in gaps]
    mean = sum(right) / len(right)
    high = {"length": "shorter", "frequency": "of more frequent words"}[name]
    way = -1 if mean >= 0.5 else 1  # largest gaps first
    surest = sorted(zip(gaps, listed, strict=True), key=lambda pair: (way * pair[0], pair[1].id))
    return Shortcut(
        name=f"{name}_{kind}",
        what=f"the text that is {high} is the caption, not one of its {kind}; far below 50 is just as revealing",
        count=sum(right),
        result=share(right, [pair.group for pair in listed], seed),
        chance=0.5,
        examples=[Example(id=pair.id, said=f"{pair.caption!r} / {pair.edit!r}") for _, pair in surest[:_SHOWN]],
        fix="replace words by words of about the same length" if name == "length" else _BALANCE,
    )


class _Asked(NamedTuple):
    pair: _Pair
    substitution: tuple[str, str]
    sign: int  # the right one
    keys: Sequence[object]


def _lookup(name: str, what: str, fix: str, listed: Sequence[_Asked], seed: int) -> Shortcut:
    """Guess each pair's sign by the majority in the other half of the images, for its first key that is known there."""
    tables: list[Counter[object]] = [Counter(), Counter()]  # for each half, the sums of the signs in the other half
    for asked in listed:
        for key in asked.keys:
            tables[1 - asked.pair.half][key] += asked.sign
    sums: list[int | None] = []
    for asked in listed:
        table = tables[asked.pair.half]
        sums.append(next((table[key] for key in asked.keys if key in table), None))
    right = [_half((known or 0) * asked.sign) for known, asked in zip(sums, listed, strict=True)]
    often = Counter(asked.substitution for asked, won in zip(listed, right, strict=True) if won == 1)
    first = {asked.substitution: asked.pair.id for asked in reversed(listed)}
    return Shortcut(
        name=name,
        what=f"{what}, by a table of the other half of the images",
        count=sum(right),
        result=share(right, [asked.pair.group for asked in listed], seed),
        chance=0.5,
        seen=round(sum(known is not None for known in sums) / len(sums), 4),
        examples=[
            Example(id=first[old, new], said=f"{old!r} -> {new!r}, {n:,} times")
            for (old, new), n in often.most_common(_SHOWN)
        ],
        fix=fix,
    )


def _by_direction(kind: TextKind, listed: Sequence[_Pair], seed: int) -> Shortcut:
    """In which direction does this substitution usually go, according to the other half of the images?

    The key is the pair of words in alphabetical order; the sign is +1 where the caption has the first.
    """
    asked: list[_Asked] = []
    for pair in listed:
        old, new = substitution(pair.caption, pair.edit)
        sign = (old < new) - (old > new)  # 0 where only a capital or a mark changed
        asked.append(_Asked(pair, (old, new), sign, (tuple(sorted((old, new))),)))
    what = f"the changed words alone tell the caption from one of its {kind}"
    fix = "let every substitution go both ways about equally often (A -> B as well as B -> A)"
    return _lookup(f"direction_{kind}", what, fix, asked, seed)


def _by_substitution(positives: Sequence[_Pair], negatives: Sequence[_Pair], seed: int) -> Shortcut:
    """Is (from -> to) a hard positive or a hard negative? Looked up by the substitution, else by the new word."""
    both = {pair.id for pair in positives} & {pair.id for pair in negatives}  # as many positives as negatives
    asked: list[_Asked] = []
    for kind, sign in ((positives, 1), (negatives, -1)):
        for pair in [pair for pair in kind if pair.id in both]:
            sub = substitution(pair.caption, pair.edit)
            asked.append(_Asked(pair, sub, sign, (sub, sub[1])))
    what = "from -> to alone tells a hard positive from a hard negative"
    fix = (
        "use words that make a hard positive of one caption and a hard negative of another; use other substitutions in "
        "training than in the test"
    )
    return _lookup("substitution", what, fix, asked, seed)


def detector(items: Sequence[Item], seed: int = 0) -> Detector | None:
    """Does a classifier of negatives against captions also reject hard positives?"""
    wrong, right = pairs(items, "negatives", seed), pairs(items, "positives", seed)
    if min(len(wrong), len(right)) < LEAST or len({pair.half for pair in wrong}) < 2:
        return None
    taught = [_taught([pair for pair in wrong if pair.half != half]) for half in (0, 1)]

    def flagged(listed: Sequence[_Pair], texts: Sequence[str]) -> list[float]:
        bags = words_of(texts)
        scores = [
            sum(taught[pair.half].get(name, 0.0) for name in ("", *bag)) for pair, bag in zip(listed, bags, strict=True)
        ]
        return [_half(-score) for score in scores]

    groups = [pair.group for pair in wrong]
    positives = flagged(right, [pair.edit for pair in right])
    shown = [pair for pair, bad in zip(right, positives, strict=True) if bad == 1][:_SHOWN]
    return Detector(
        captions=share(flagged(wrong, [pair.caption for pair in wrong]), groups, seed),
        negatives=share(flagged(wrong, [pair.edit for pair in wrong]), groups, seed),
        positives=share(positives, [pair.group for pair in right], seed),
        examples=[Example(id=pair.id, said=repr(pair.edit)) for pair in shown],
        fix="if it rejects positives as often as negatives, it detects edits: write both in the same way",
    )


def _taught(listed: Sequence[_Pair]) -> dict[str, float]:
    """Weights of words and pairs of words ("" is the bias); above zero means caption."""
    bags = words_of([text for pair in listed for text in (pair.caption, pair.edit)])
    weights = fit(Rows.of(bags), np.tile([1.0, 0.0], len(listed)))
    names = Rows.names(bags)
    return {name: float(weights[column]) for name, column in names.items()} | {"": float(weights[len(names)])}
