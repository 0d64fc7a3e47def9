"""What flipped between two models: items and the tags they carry, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.evaluation.comparing.models import Model
from equipoise.evaluation.results import Texts, is_outcomes_only, read_texts
from equipoise.evaluation.scores import Scores, kinds_of

_LEAST = 2  # items that carry a tag's value; an id is no phrase


@dataclass(frozen=True)
class FlippedItem:
    """An item that was right (s(c) > every s(n)) in more, or fewer, of the runs than before."""

    id: str
    image: str | None
    change: float  # of the share of runs that are right: 1, or -1, with one run a side
    before: float | None  # margin s(c) - highest s(n), the mean over runs; None: only right and wrong were published
    after: float | None
    texts: Texts | None


@dataclass(frozen=True)
class FlippedTag:
    """Items of one value of a tag that became right, and wrong; of `n`."""

    tag: str
    value: str
    n: int
    gained: float
    lost: float

    @property
    def net(self) -> float:
        return self.gained - self.lost


@dataclass(frozen=True)
class Flips:
    gained: float  # items; a fraction where there are several seeds
    lost: float
    flipped: int  # items that became right or wrong, of which `items` are some
    items: list[FlippedItem]  # the largest
    tags: list[FlippedTag]


def flips(first: Model, second: Model, most: int) -> Flips:
    """The `most` items and tags that changed most on Original accuracy.

    Items by the change of their outcome, then by how far their margin moved; tags by gained minus lost.
    """
    before, after = (_right(model) for model in (first, second))
    moved = after - before
    margins = [_mean_margins(model) for model in (first, second)]
    far = np.nan_to_num(np.abs(margins[1] - margins[0]))
    largest = np.lexsort((-far, -np.abs(moved)))
    order: list[int] = largest[moved[largest] != 0][:most].tolist()
    rows = Scores.of(first.runs[0].rows)
    texts = read_texts(first.runs[0].folder, order)
    items = [
        FlippedItem(
            rows.ids[index],
            rows.images[index],
            float(moved[index]),
            _known(margins[0][index]),
            _known(margins[1][index]),
            texts.get(rows.ids[index]),
        )
        for index in order
    ]
    return Flips(_gained(moved), _gained(-moved), int(np.count_nonzero(moved)), items, _tags(rows.tags, moved, most))


def _known(margin: float) -> float | None:
    return None if np.isnan(margin) else float(margin)


def _gained(moved: np.ndarray) -> float:
    return float(moved[moved > 0].sum())


def _right(model: Model) -> np.ndarray:
    found: np.ndarray = np.mean([run.outcomes.original.astype(float) for run in model.runs], axis=0)
    return found


def _mean_margins(model: Model) -> np.ndarray:
    """NaN where the scores of a run stand for right and wrong."""
    found: np.ndarray = np.mean([_margins(Scores.of(run.rows)) for run in model.runs], axis=0)
    unknown = any(is_outcomes_only(record) for run in model.runs for record in run.records)
    return np.full_like(found, np.nan) if unknown else found


def _margins(scores: Scores) -> np.ndarray:
    """By column: a million rows as objects take a minute."""
    captions = scores.right.values[scores.right.starts]
    found: np.ndarray = np.where(
        scores.negatives.counts > 0, captions - scores.negatives.reduced(np.maximum, -np.inf), 0.0
    )
    return found


def _tags(rows: Sequence[dict[str, str]], moved: np.ndarray, most: int) -> list[FlippedTag]:
    found = [
        FlippedTag(tag, value, len(places), _gained(moved[places]), _gained(-moved[places]))
        for (tag, value), places in _holding(rows).items()
        if _LEAST <= len(places) < len(rows)
    ]
    changed = [one for one in found if one.gained or one.lost]
    return sorted(changed, key=lambda one: (-abs(one.net), -(one.gained + one.lost), one.tag, one.value))[:most]


def _holding(rows: Sequence[dict[str, str]]) -> dict[tuple[str, str], np.ndarray]:
    """The places of the items that carry each value of each tag. Items that share one set of tags are found at once."""
    kinds, kind = kinds_of(rows)
    together = np.split(np.argsort(kind, kind="stable"), np.bincount(kind, minlength=len(kinds)).cumsum()[:-1])
    held: dict[tuple[str, str], list[np.ndarray]] = {}
    for tags, places in zip(kinds, together, strict=False):  # no kinds: one empty part
        for pair in tags.items():
            held.setdefault(pair, []).append(places)
    return {pair: np.sort(np.concatenate(several)) for pair, several in held.items()}
