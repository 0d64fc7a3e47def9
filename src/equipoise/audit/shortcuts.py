"""How far one gets without the image: words, length, frequency, and the substitution alone.

All judges see a caption next to one of its edits and say which is the caption (chance is one half); the last sees an
edit and says whether it is a hard positive or a hard negative. What they learn they learn on other images than those
they are tested on. A share well above one half can be had blind: a model that scores it need not have looked.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.audit.edits import substitution
from equipoise.audit.record import Detector, Example, Share, Shortcut
from equipoise.core import stats
from equipoise.data.items import Item
from equipoise.perturb.bias.separability import Rows, fit, fold_of, group_of, separability, words_of
from equipoise.perturb.bias.text_baselines import judge_named
from equipoise.perturb.bias.thinning import Kind

KINDS: tuple[Kind, ...] = ("negatives", "positives")
LEAST = 20  # pairs below which a share says nothing
_SHOWN = 5
_RESAMPLES = 500
_BALANCE = "write edits whose words are as frequent as those they replace (recipe `balanced`), or refine them away"
_BALANCED = (
    "recipe `balanced` made them already; write them again from the captions and drop those that tell: "
    "`equipoise perturb CAPTIONS --recipe balanced --refine words,frequency`"
)


class _Pair(NamedTuple):
    """A caption and one of its edits, drawn by seed; an item gives at most one of each kind."""

    id: str
    group: str
    caption: str
    edit: str

    @property
    def half(self) -> int:
        return fold_of(self.group, 2)


def pairs(items: Sequence[Item], kind: Kind, seed: int) -> list[_Pair]:
    rng = random.Random(seed)
    found = []
    for item in items:
        listed = [text.text for text in getattr(item, kind) if text.text != item.caption]
        if listed:
            found.append(_Pair(item.id, group_of(item), item.caption, rng.choice(listed)))
    return found


def share(right: Sequence[float], groups: Sequence[str], seed: int) -> Share:
    """A share with its interval: images are resampled; Wilson's interval if all images agree."""
    _, clusters = np.unique(np.array(groups), return_inverse=True)
    values = np.array(right, dtype=np.float64)
    sums, counts = (np.bincount(clusters, part).astype(np.float64)[:, None] for part in (values, np.ones(len(values))))
    spread = stats.cluster_bootstrap(sums, counts, seed, _RESAMPLES)[:, 0]
    mean = float(values.mean())
    low, high = stats.share_interval(mean, spread, len(counts))
    return Share(n=len(values), share=round(mean, 4), interval=(round(float(low), 4), round(float(high), 4)))


def _half(value: float) -> float:
    return 1.0 if value > 0 else 0.0 if value < 0 else 0.5


def shortcuts(items: Sequence[Item], seed: int = 0) -> list[Shortcut]:
    """The shares for every kind of edit with at least 20 items."""
    found = {kind: listed for kind in KINDS if len(listed := pairs(items, kind, seed)) >= LEAST}
    by_words = separability(items, seed)
    shown: list[Shortcut] = []
    for kind, listed in found.items():
        words = by_words[f"originals / {kind}"]
        shown += [_by_words(kind, listed, words)] if words else []
        shown += [_by_statistic(name, kind, listed, seed) for name in ("length", "frequency")]
        shown.append(_by_direction(kind, listed, seed))
    if len(found) == len(KINDS):
        shown.append(_by_substitution(found["positives"], found["negatives"], seed))
    balanced = any("balanced" in item.tags.get("recipe", "").split(",") for item in items)
    return [one.model_copy(update={"fix": _BALANCED}) if balanced and one.fix == _BALANCE else one for one in shown]


def _by_words(kind: Kind, listed: Sequence[_Pair], words: dict[str, Any]) -> Shortcut:
    """`separability`'s answer to "which of these two is the caption"; the examples are the words that tell it."""
    paired = words["paired"]
    result = Share(n=words["n"], share=paired["accuracy"], interval=tuple(paired["interval"]))
    return Shortcut(
        name=f"words_{kind}",
        what=f"logistic regression on words and pairs of words tells the caption from one of its {kind}",
        count=round(paired["accuracy"] * words["n"], 1),
        result=result,
        chance=0.5,
        examples=_telling(listed),
        fix=_BALANCE,
    )


def _telling(listed: Sequence[_Pair]) -> list[Example]:
    """The words that edits bring in most often beyond what captions lose to them, each with an item."""
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
    return [
        Example(id=first[name].id, said=f"{name!r} comes in {-less:,} times more than it goes: {first[name].edit!r}")
        for less, name in most
    ]


def _by_statistic(name: str, kind: Kind, listed: Sequence[_Pair], seed: int) -> Shortcut:
    judge = judge_named(name, (), kind)
    item = Item(id="-", caption="-")
    scores = [judge(item, [pair.caption, pair.edit]) for pair in listed]
    gaps = [caption - edit for caption, edit in scores]
    right = [_half(gap) for gap in gaps]
    mean = sum(right) / len(right)
    high = {"length": "shorter", "frequency": "of more frequent words"}[name]
    surest = sorted(zip(gaps, listed, strict=True), key=lambda one: (-one[0] if mean >= 0.5 else one[0], one[1].id))
    return Shortcut(
        name=f"{name}_{kind}",
        what=f"the text that is {high} is the caption, not one of its {kind}; far below one half tells as much",
        count=sum(right),
        result=share(right, [pair.group for pair in listed], seed),
        chance=0.5,
        examples=[Example(id=pair.id, said=f"{pair.caption!r} / {pair.edit!r}") for _, pair in surest[:_SHOWN]],
        fix="replace by words of about the same length" if name == "length" else _BALANCE,
    )


def _tables(listed: Sequence[tuple[_Pair, int]], keys: Callable[[_Pair], Sequence[object]]) -> list[dict[object, int]]:
    """For each half of the images: what the other half says of each key, as a sum of +1 and -1."""
    tables: list[dict[object, int]] = [{}, {}]
    for pair, sign in listed:
        for key in keys(pair):
            table = tables[1 - pair.half]
            table[key] = table.get(key, 0) + sign
    return tables


def _looked_up(
    listed: Sequence[tuple[_Pair, int]], keys: Callable[[_Pair], Sequence[object]]
) -> tuple[list[float], list[bool]]:
    """Whether the other half's majority gives each pair's sign, by the first key that it knows; and if it knew any."""
    tables = _tables(listed, keys)
    right, seen = [], []
    for pair, sign in listed:
        table = tables[pair.half]
        known = next((table[key] for key in keys(pair) if key in table), None)
        seen.append(known is not None)
        right.append(0.5 if not known else _half(known * sign))
    return right, seen


def _lookup(
    name: str,
    what: str,
    fix: str,
    listed: Sequence[tuple[_Pair, int]],
    keys: Callable[[_Pair], Sequence[object]],
    seed: int,
) -> Shortcut:
    right, seen = _looked_up(listed, keys)
    often = Counter(
        substitution(pair.caption, pair.edit) for (pair, _), won in zip(listed, right, strict=True) if won == 1
    )
    first = {substitution(pair.caption, pair.edit): pair.id for pair, _ in reversed(listed)}
    shown = often.most_common(_SHOWN)
    return Shortcut(
        name=name,
        what=what,
        count=sum(right),
        result=share(right, [pair.group for pair, _ in listed], seed),
        chance=0.5,
        seen=round(sum(seen) / len(seen), 4),
        examples=[Example(id=first[sub], said=f"{sub[0]!r} -> {sub[1]!r}, {n:,} times") for sub, n in shown],
        fix=fix,
    )


def _by_direction(kind: Kind, listed: Sequence[_Pair], seed: int) -> Shortcut:
    """Both texts are seen, not which is the caption: does the other half say which way this substitution goes?

    A lookup needs one sign for a pair of words whatever their order, so every pair is asked as written; what is kept is
    (a, b) in the order of the alphabet, +1 where the caption has the first. The sign of a test pair is that of its own.
    """

    def signed(pair: _Pair) -> tuple[_Pair, int]:
        old, new = substitution(pair.caption, pair.edit)
        return pair, (old < new) - (old > new)  # nothing to tell where only a capital or a mark changed

    def keys(pair: _Pair) -> Sequence[object]:
        return (tuple(sorted(substitution(pair.caption, pair.edit))),)

    return _lookup(
        f"direction_{kind}",
        f"the changed words alone tell the caption from one of its {kind}, by a table of the other half of the images",
        "let every substitution go both ways about equally often (A -> B as well as B -> A)",
        [signed(pair) for pair in listed],
        keys,
        seed,
    )


def _by_substitution(positives: Sequence[_Pair], negatives: Sequence[_Pair], seed: int) -> Shortcut:
    """Is (from -> to) a hard positive or a hard negative? By the whole substitution, else by the new word alone."""

    def keys(pair: _Pair) -> Sequence[object]:
        old, new = substitution(pair.caption, pair.edit)
        return (old, new), new

    both = {pair.id for pair in positives} & {pair.id for pair in negatives}  # as many of the one as of the other
    listed = [(pair, 1) for pair in positives if pair.id in both] + [
        (pair, -1) for pair in negatives if pair.id in both
    ]
    return _lookup(
        "substitution",
        "from -> to alone tells a hard positive from a hard negative, by a table of the other half of the images",
        "use words that are a hard positive of one caption and a hard negative of another; keep substitutions apart "
        "between training and test",
        listed,
        keys,
        seed,
    )


def detector(items: Sequence[Item], seed: int = 0) -> Detector | None:
    """Does what tells negatives from captions also condemn hard positives? Taught on one half, asked on the other."""
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

    groups = {"wrong": [pair.group for pair in wrong], "right": [pair.group for pair in right]}
    positives = flagged(right, [pair.edit for pair in right])
    shown = [pair for pair, bad in zip(right, positives, strict=True) if bad == 1][:_SHOWN]
    return Detector(
        captions=share(flagged(wrong, [pair.caption for pair in wrong]), groups["wrong"], seed),
        negatives=share(flagged(wrong, [pair.edit for pair in wrong]), groups["wrong"], seed),
        positives=share(positives, groups["right"], seed),
        examples=[Example(id=pair.id, said=repr(pair.edit)) for pair in shown],
        fix="if positives are flagged as often as negatives, the judge finds edits: write both in the same way",
    )


def _taught(listed: Sequence[_Pair]) -> dict[str, float]:
    """Weights of words and pairs of words, "" for the bias: above zero speaks for a caption."""
    bags = words_of([text for pair in listed for text in (pair.caption, pair.edit)])
    weights = fit(Rows.of(bags), np.tile([1.0, 0.0], len(listed)))
    names = Rows.names(bags)
    return {name: float(weights[column]) for name, column in names.items()} | {"": float(weights[len(names)])}
