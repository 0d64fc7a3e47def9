"""Why a model's numbers are what they are: mean scores, cross-modal gaps, similarity of the texts themselves.

    s(c), s(p), s(n)              mean scores with the image (Kamath et al. 2024, Tables 2 and 9)
    s(c)-s(n), s(c)-s(p)          cross-modal gaps: how far an edit moves the score (CE-CLIP, Fig. 8, has the first)
    cos(c,n), cos(c,p)            intra-modal similarity in the text tower alone (CE-CLIP, Fig. 8, has the first)

An item with several positives or negatives counts once, with their mean. Intervals are CE-CLIP's, 99% and 50,000
resamples; photos are resampled, not items, which CE-CLIP does not say. Numbers of single tags and of single edits
("walking -> strolling": the paper's detailed tables are by phrase) have 2,000 resamples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from equipoise import stats
from equipoise.evaluation.averages import MOST_GROUPS
from equipoise.evaluation.metrics import METRICS, SHARES
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ItemScores
from equipoise.evaluation.scoring import score_items
from equipoise.items import Item, Text
from equipoise.models.base import kind_of
from equipoise.readers.sets.kinds import ItemSet
from equipoise.standard.asking import How, Told
from equipoise.standard.measured import Measured, clusters, means

LEVEL = 0.99
RESAMPLES = 50_000
SCORES = ("s(c)", "s(p)", "s(n)", "s(c)-s(p)", "s(c)-s(n)", "cos(c,p)", "cos(c,n)")


class AnalysisRow(BaseModel):
    """The scores of one item; the cosines between its texts where the model has a text tower."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    id: str
    image: str
    caption: float
    positives: list[float]
    negatives: list[float]
    caption_positives: list[float] | None
    caption_negatives: list[float] | None
    tags: dict[str, str]  # the item's, and its first edits as `positive edit` and `negative edit`


def score(model: Any, data: ItemSet, how: How, told: Told) -> list[AnalysisRow]:
    scoring = score_items(
        model,
        data.items,
        images=data.source,
        cache=how.cache,
        batch_size=how.batch_size,
        workers=how.workers,
        allow_missing=how.allow_missing,
        text_scores=kind_of(model) in {"tokens", "embeds"},
        ranks=how.ranks,
    )
    told.digests |= scoring.digests
    told.skipped |= scoring.skipped
    told.counts |= scoring.counts
    items = {item.id: item for item in data.items}
    return [
        AnalysisRow(
            id=row.id,
            image=row.image or row.id,
            caption=row.caption,
            positives=row.positives,
            negatives=row.negatives,
            caption_positives=row.text.caption_positives if row.text else None,
            caption_negatives=row.text.caption_negatives if row.text else None,
            tags=row.tags | edits(items[row.id]),
        )
        for row in scoring.rows
    ]


def edits(item: Item) -> dict[str, str]:
    """What was changed in the first positive and the first negative, where the item says it."""
    firsts = {"positive edit": item.positives[:1], "negative edit": item.negatives[:1]}
    return {name: words for name, texts in firsts.items() for text in texts if (words := _words(text))}


def _words(text: Text) -> str:
    edit = text.edit
    return f"{edit.source} -> {edit.to}" if edit is not None and edit.source and edit.to else ""


def measure(
    rows: Sequence[AnalysisRow], counts: Mapping[str, int], seed: int, resamples: int
) -> tuple[dict[str, Measured], NDArray[np.int64], int]:
    """Accuracies, mean scores, gaps and similarities; one that no row has is left out."""
    outcomes = outcomes_of(
        [
            ItemScores(
                id=row.id, image=row.image, caption=row.caption, positives=row.positives, negatives=row.negatives
            )
            for row in rows
        ]
    )
    everything, positive = np.ones(len(rows), dtype=bool), outcomes.has_positive
    columns = {name: outcomes.column(METRICS[name]) for name in SHARES}
    shares = {name: (np.nan_to_num(column), ~np.isnan(column)) for name, column in columns.items()}
    near = {
        "cos(c,p)": np.array([_mean(row.caption_positives) for row in rows]),
        "cos(c,n)": np.array([_mean(row.caption_negatives) for row in rows]),
    }
    scores = {
        "s(c)": (outcomes.caption, everything),
        "s(p)": (outcomes.positive, positive),
        "s(n)": (outcomes.negative, everything),
        "s(c)-s(p)": (outcomes.caption - outcomes.positive, positive),
        "s(c)-s(n)": (outcomes.caption - outcomes.negative, everything),
        **{name: (values, ~np.isnan(values)) for name, values in near.items()},
    }
    cluster = clusters(row.image for row in rows)
    found = means(_there(shares), cluster, seed, resamples)
    found |= means(_there(scores), cluster, seed, resamples, shares=False)
    return found, cluster, int(outcomes.tie.sum())


_Columns = dict[str, tuple[stats.Floats, NDArray[np.bool_]]]


def _there(columns: _Columns) -> _Columns:
    return {name: (values, mask) for name, (values, mask) in columns.items() if mask.any()}


def _mean(values: Sequence[float] | None) -> float:
    return float(np.mean(values)) if values else float("nan")


def groups(rows: Sequence[AnalysisRow]) -> dict[str, dict[str, list[AnalysisRow]]]:
    """The rows of each value of each tag; of edits, which are many, the most frequent."""
    found: dict[str, dict[str, list[AnalysisRow]]] = {}
    for row in rows:
        for tag, value in row.tags.items():
            found.setdefault(tag, {}).setdefault(value, []).append(row)
    for tag, values in list(found.items()):
        if len(values) > MOST_GROUPS and not tag.endswith(" edit"):
            del found[tag]  # an id, not a group
        else:
            most = Counter({value: len(members) for value, members in values.items()}).most_common(MOST_GROUPS)
            found[tag] = {value: values[value] for value, _ in most}
    return found
