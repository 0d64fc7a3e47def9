"""Two runs of what should be one model (two servings, precisions, versions): what differs, by how much, and where.

The verdict is by two one-sided tests: the same within 1 point where the whole 90% interval of the difference lies
within it. Intervals are normal ones with the variance between photos.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.errors import UserError
from equipoise.data.readers.questions import LETTERS
from equipoise.evaluation.answers import VARIANTS, Answer
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ItemScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

MARGIN = 0.01
_TWO_SIDED, _ONE_SIDED = 1.959964, 1.644854  # of 95%
_LEAST = 10  # pairs of a group that is shown
SUSPECTS = {
    "parser": "the parser or a longer answer format: answers that name no option are not equally many",
    "truncation": "truncation (max_new_tokens): the longest answers of one run end at the same length",
    "place": "the chat template or the letters of the options: one run prefers the first option more",
    "text": "the image processor (pixels, resizing, tiles), precision, and the seed or temperature of sampling",
}


@dataclass(frozen=True)
class SameModel:
    n: int  # items of both
    pairs: int  # answers, or scores, of both
    changed: float  # the share of pairs that differ
    difference: float  # of the score, second less first
    error: float
    verdict: str
    where: dict[str, dict[str, tuple[int, float]]]  # a way to split the pairs: value -> (pairs, share that differ)
    suspects: list[str]
    correlation: float | None = None  # of scores
    only: tuple[int, int] = (0, 0)  # items of the first and of the second alone

    @property
    def interval(self) -> tuple[float, float]:
        return self.difference - _TWO_SIDED * self.error, self.difference + _TWO_SIDED * self.error


AnswerPair = tuple[ItemScores, Answer, Answer]


def same_model(first: Sequence[ItemScores], second: Sequence[ItemScores], names: Sequence[str] = ("", "")) -> SameModel:
    """Pairs items by id and answers by their variants."""
    others = {row.id: row for row in second}
    both = [(row, others[row.id]) for row in first if row.id in others]
    if not both:
        raise UserError(
            f"{' and '.join(names)}: no item is in both, by id ({first[0].id!r}, {second[0].id!r}); two runs of one "
            "model must be of the same dataset"
        )
    only = (len(first) - len(both), len(second) - len(both))
    change = _won([row for _, row in both]) - _won([row for row, _ in both])
    photos = [row.image or row.id for (row, _), value in zip(both, change, strict=True) if not np.isnan(value)]
    change = change[~np.isnan(change)]
    difference, error = _mean(change, photos)
    pairs: list[AnswerPair] = []
    # What is one value in a whole run (the name of a prompt) is what the two differ in.
    asked = [name for name in VARIANTS if any(_several(side, name) for side in zip(*both, strict=True))]
    for row, other in both:
        said = {_key(answer, asked): answer for answer in other.answers}
        pairs += [(row, answer, said[key]) for answer in row.answers if (key := _key(answer, asked)) in said]
    about: dict[str, Any] = {"n": len(both), "difference": difference, "error": error, "only": only}
    about["verdict"] = verdict(difference, error, len(change))
    if pairs:
        changed = float(np.mean([_differs(pair) for pair in pairs]))
        return SameModel(pairs=len(pairs), changed=changed, where=_where(pairs), suspects=_suspects(pairs), **about)
    if all(row.answers and other.answers for row, other in both):
        raise UserError(
            f"{' and '.join(names)}: no two answers were asked in the same variant ({_variants(both, 0, asked)} in the "
            f"first, {_variants(both, 1, asked)} in the second); give each log its own `equipoise metrics --out`"
        )
    ours, theirs = (np.array([value for row in side for value in _scores(row)]) for side in zip(*both, strict=True))
    if ours.shape != theirs.shape:
        raise UserError(f"{' and '.join(names)}: other numbers of texts or images an item, so scores cannot be paired")
    known = len(ours) > 1 and ours.std() > 0 and theirs.std() > 0
    return SameModel(
        pairs=len(ours), changed=float((ours != theirs).mean()), where=_sizes(ours, theirs),
        suspects=[SUSPECTS["text"]],
        correlation=float(np.corrcoef(ours, theirs)[0, 1]) if known else None, **about,
    )  # fmt: skip


def _won(rows: Sequence[ItemScores]) -> NDArray[np.float64]:
    """One value an item: the share of right answers, or whether the caption is above the negatives."""
    outcomes = outcomes_of(rows)
    if any(row.answers for row in rows):
        right = [[answer.right for answer in row.answers if answer.right is not None] for row in rows]
        return np.array([np.mean(some) if some else np.nan for some in right])
    return np.where(outcomes.has_negative, outcomes.original.astype(float), np.nan)


def _mean(change: NDArray[np.float64], photos: Sequence[str]) -> tuple[float, float]:
    """The mean and its standard error, photos as clusters."""
    if not len(change):
        return math.nan, math.nan
    sums: dict[str, float] = {}
    mean = float(change.mean())
    for photo, value in zip(photos, change, strict=True):
        sums[photo] = sums.get(photo, 0.0) + float(value) - mean
    groups = len(sums)
    scale = groups / (groups - 1) if groups > 1 else math.nan
    return mean, math.sqrt(scale * sum(part * part for part in sums.values())) / len(change)


def verdict(difference: float, error: float, n: int, margin: float = MARGIN) -> str:
    """Two one-sided tests; where they cannot tell, how many more items would."""
    points = f"{100 * margin:g} point"
    if math.isnan(error):
        return "no score: the truth is not known, or there is one photo alone"
    if abs(difference) + _ONE_SIDED * error < margin:
        return f"the same within {points}"
    if abs(difference) > _TWO_SIDED * error:
        return "differs"
    room = margin - abs(difference)
    # As if the difference stayed: until the interval fits into the margin, or leaves zero out.
    factor = (_ONE_SIDED * error / room) ** 2 if room > margin / 10 else (_TWO_SIDED * error / abs(difference)) ** 2
    return f"cannot tell: about {max(1, math.ceil(n * (factor - 1))):,} more items are needed"


def _several(rows: Sequence[ItemScores], variant: str) -> bool:
    return len({getattr(answer, variant) for row in rows for answer in row.answers}) > 1


def _variants(both: Sequence[tuple[ItemScores, ItemScores]], side: int, asked: Sequence[str]) -> str:
    keys = {_key(answer, asked) for pair in both for answer in pair[side].answers}
    named = {f"{name} {value!r}" for key in keys for name, value in zip(asked, key, strict=True)}
    return ", ".join(sorted(named)[:3]) or "one each"


def _key(answer: Answer, asked: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(answer, name) for name in asked)


def _differs(pair: AnswerPair) -> bool:
    return pair[1].choice != pair[2].choice


def _where(pairs: Sequence[AnswerPair]) -> dict[str, dict[str, tuple[int, float]]]:
    ways: dict[str, Callable[[AnswerPair], str]] = {
        tag: lambda pair, tag=tag: pair[0].tags.get(tag, "")  # type: ignore[misc]
        for tag in dict.fromkeys(name for pair in pairs for name in pair[0].tags if name != "question")
    }
    lengths = sorted(len(answer.said or "") for _, answer, _ in pairs)
    middle = lengths[len(lengths) // 2]
    ways["length of the first answer"] = lambda pair: (
        f"over {middle} characters" if len(pair[1].said or "") > middle else f"up to {middle} characters"
    )
    ways["option that the first chose"] = lambda pair: "" if pair[1].place is None else LETTERS[pair[1].place]
    ways["named no option"] = lambda pair: {
        (True, True): "both",
        (True, False): "the first",
        (False, True): "the second",
    }.get((pair[1].choice is None, pair[2].choice is None), "neither")
    places = {}
    for name, of in ways.items():
        groups: dict[str, list[bool]] = {}
        for pair in pairs:
            groups.setdefault(of(pair), []).append(_differs(pair))
        shown = {value: (len(some), sum(some) / len(some)) for value, some in groups.items() if value}
        if 1 < len(shown) <= 30:
            large = {value: pair for value, pair in shown.items() if pair[0] >= _LEAST} or shown
            places[name] = dict(sorted(large.items(), key=lambda item: -item[1][1])[:5])
    return places


def _suspects(pairs: Sequence[AnswerPair]) -> list[str]:
    sides = [[pair[1] for pair in pairs], [pair[2] for pair in pairs]]
    unclear = [sum(answer.choice is None for answer in side) for side in sides]
    first = [sum(answer.place == 0 for answer in side) for side in sides]
    suspects = []
    if abs(unclear[0] - unclear[1]) > 2 * math.sqrt(sum(unclear) + 1):
        suspects.append("parser")
    for side in sides:
        lengths = sorted(len(answer.said or "") for answer in side)
        if lengths[-1] > 20 and lengths.count(lengths[-1]) > max(3, len(lengths) // 50):
            suspects.append("truncation")
    if abs(first[0] - first[1]) > 2 * math.sqrt(sum(first) + 1):
        suspects.append("place")
    return [SUSPECTS[name] for name in dict.fromkeys([*suspects, "text"])] if any(map(_differs, pairs)) else []


def _scores(row: ItemScores) -> list[float]:
    return [value for scored in row.images() for value in (scored.caption, *scored.positives, *scored.negatives)]


def _sizes(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> dict[str, dict[str, tuple[int, float]]]:
    """How far scores are apart, in units of the largest one's tenth."""
    unit = max(float(np.abs(ours).max()), float(np.abs(theirs).max()), 1e-12) / 10
    apart = np.abs(ours - theirs) / unit
    return {
        "scores apart, in tenths of the largest": {
            f"{n} or more": (len(ours), float((apart >= n - 1e-9).mean())) for n in (1, 2, 3)
        }
    }
