"""Label court: a queue of items whose label several models contradict, most suspicious first, for a person to judge.

A wrong label marks every right model as wrong, while a hard item fails mostly the weak models. `suspicion` tells the
two apart with an item-response model (2PL, Birnbaum 1968) in which each label may be flipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.audit.record import Court, LabelCase
from equipoise.core.errors import UserError
from equipoise.core.stats import Floats
from equipoise.data import identity
from equipoise.data.items import Item

_NODES = 15  # quadrature nodes for the easiness of an item
_ROUNDS = 100
_CLOSE = 1e-5  # the fit stops when the mean log-likelihood changes by less
_PRIOR = 1.0, 0.04  # precisions of the prior on slopes (around 1) and on intercepts (around 0)
_MOST_FLIPPED = 0.2  # with more wrong labels, models cannot find them
_STARTS = 0.002, 0.1  # of the share of flipped labels; fits that end apart show that the answers do not say
_APART = 0.25  # two ends differ by more than this part of the larger
_GAIN = 2.0  # the log-likelihood that flipped labels must gain over none
_MODELS = 3  # with two answers per item, flips and difficulty fit equally well
_FAILED, _ALIKE = 30, 0.85  # two files that share this part of at least this many failures are of one model


@dataclass(frozen=True)
class Answers:
    """Whether each model agrees with the label of each item; NaN where it has no answer."""

    ids: Sequence[str]
    models: Sequence[str]
    right: Floats  # (items, models)
    groups: Sequence[str]  # of each item, such as its split: some groups are easier


class Suspicion(NamedTuple):
    log_odds: Floats  # that the label of each item is flipped
    share: float | None  # estimated share of flipped labels; None where the answers do not say


def court(items: Sequence[Item], name: str, outcomes: Mapping[str, Mapping[str, bool]]) -> Court:
    """Every item that some model answered (`outcomes`: model -> item -> right), most suspicious first."""
    answers, notes = gather(outcomes, {item.id: item.tags.get("split", "") for item in items})
    suspected = suspicion(answers)
    failed, asked = answers.right == 0, ~np.isnan(answers.right)
    probability = 1 / (1 + np.exp(-suspected.log_odds))
    # A model worse than chance makes a label suspicious by agreeing with it; what no model contradicts comes last.
    order = np.lexsort((-suspected.log_odds, ~failed.any(1)))
    queue = [
        LabelCase(
            id=answers.ids[row],
            probability=round(float(probability[row]), 4),
            failed=[model for model, lost in zip(answers.models, failed[row], strict=True) if lost],
            asked=int(asked[row].sum()),
        )
        for row in order.tolist()
    ]
    return Court(
        benchmark=name,
        items_sha256=identity.of_items(items),
        models=list(answers.models),
        wrong_labels=None if suspected.share is None else round(suspected.share, 4),
        failed_by_all=int(failed.all(1).sum()),
        queue=queue,
        notes=notes,
    )


def gather(outcomes: Mapping[str, Mapping[str, bool]], groups: Mapping[str, str]) -> tuple[Answers, list[str]]:
    """The answers (model -> item -> right) on the items of `groups`, and notes on merged models.

    Two files that fail nearly the same items are counted as one model, so that it does not vote twice.
    """
    ids = [id_ for id_ in groups if any(id_ in of_model for of_model in outcomes.values())]
    place = {id_: row for row, id_ in enumerate(ids)}
    columns: dict[str, Floats] = {}
    notes = []
    for model, answers in outcomes.items():
        column = np.full(len(ids), np.nan)
        for id_, won in answers.items():
            if id_ in place:
                column[place[id_]] = won
        twin = next((name for name, other in columns.items() if _same(column, other)), None)
        if twin is None:
            columns[model] = column
        else:
            columns[twin] = np.where(np.isnan(columns[twin]), column, columns[twin])
            notes.append(f"{model} and {twin} fail the same items and count as one model")
    if len(columns) < _MODELS:
        raise UserError(
            f"{', '.join(outcomes)}: {len(columns)} different models, expected at least {_MODELS} (two cannot tell "
            "a wrong label from a hard item): name more with --models"
        )
    right = np.column_stack(list(columns.values()))
    return Answers(ids, list(columns), right, [groups[id_] for id_ in ids]), notes


def _same(first: Floats, second: Floats) -> bool:
    """Whether nearly all items that either model fails, both fail."""
    both = ~np.isnan(first + second)
    failed = int((both & ((first == 0) | (second == 0))).sum())
    return failed >= _FAILED and int((both & (first == 0) & (second == 0)).sum()) >= _ALIKE * failed


def suspicion(answers: Answers) -> Suspicion:
    """The log-odds that each label is flipped, of the likelier of two fits, and the share of flipped labels.

    Weak or few models fit many shares equally well; a fit then ends near its start, so no share is given.
    """
    _, group = np.unique(answers.groups, return_inverse=True)
    codes = np.where(np.isnan(answers.right), 2, answers.right).astype(np.int8)
    rows, row_of, counts = np.unique(np.column_stack((codes, group)), axis=0, return_inverse=True, return_counts=True)
    fits = [_fit(rows, counts, share) for share in _STARTS]
    best = max(fits, key=lambda fit: fit.likelihood)
    low, high = sorted(fit.share for fit in fits)
    told = high < _MOST_FLIPPED and high - low <= max(_APART * high, 1 / counts.sum())
    if told and high > 1.5 / counts.sum():  # one label or none: there is nothing to tell
        told = best.likelihood - _fit(rows, counts, None).likelihood >= _GAIN
    return Suspicion(best.log_odds[row_of.ravel()], best.share if told else None)


class _Fit(NamedTuple):
    log_odds: Floats
    share: float
    likelihood: float  # log-likelihood of all items


def _fit(rows: Floats, counts: Floats, first: float | None) -> _Fit:
    """Expectation maximisation from a share of flipped labels; None holds it at nearly zero.

    Model m is right about the picture with probability sigmoid(intercept[group, m] + slope[m] * easiness), where
    easiness ~ N(0, 1). The label is flipped with probability `share`. Items with the same answers share a row.
    """
    group, codes = rows[:, -1], rows[:, :-1]
    asked, right = codes < 2, np.where(codes == 1, 1.0, 0.0)
    member = (group == np.arange(group.max() + 1)[:, None]) * counts  # (groups, rows)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    log_weights = np.log(weights / weights.sum())
    # Every model starts above one half; otherwise flipping all labels would fit equally well.
    won, of = member @ (right * asked), member @ asked.astype(np.float64)
    start = np.clip((won + 1) / (of + 2), 0.6, 0.98)
    intercept, slope, share = np.log(start / (1 - start)), np.ones(codes.shape[1]), first or 1e-9
    on_slope, on_intercept = _PRIOR
    before = -np.inf
    for _ in range(_ROUNDS):
        eta = intercept[group][:, None, :] + nodes[:, None] * slope  # (rows, nodes, models)
        as_labelled = np.where((right == 1)[:, None, :], eta, -eta)
        seen = asked[:, None, :]
        kept = np.where(seen, -np.logaddexp(0, -as_labelled), 0).sum(2) + log_weights + np.log1p(-share)
        turned = np.where(seen, -np.logaddexp(0, as_labelled), 0).sum(2) + log_weights + np.log(share)
        log_odds = np.logaddexp.reduce(turned, 1) - np.logaddexp.reduce(kept, 1)
        total = np.logaddexp.reduce(np.concatenate((kept, turned), 1), 1)
        now = float(counts @ total / counts.sum())
        if now - before < _CLOSE:
            break
        before = now
        kept, turned = np.exp(kept - total[:, None]), np.exp(turned - total[:, None])
        if first is not None:
            share = float(np.clip(counts @ turned.sum(1) / counts.sum(), 1 / counts.sum(), _MOST_FLIPPED))
        probability = 1 / (1 + np.exp(-eta))  # one Newton step
        weight = (kept + turned)[:, :, None]
        expected = kept[:, :, None] * right[:, None, :] + turned[:, :, None] * (1 - right[:, None, :])
        gradient = np.where(seen, expected - weight * probability, 0)
        curvature = np.where(seen, weight * probability * (1 - probability), 0)
        up, down = member @ gradient.sum(1), member @ curvature.sum(1)
        intercept = np.clip(intercept + (up - on_intercept * intercept) / (down + on_intercept), -8, 8)
        up = counts @ (gradient * nodes[:, None]).sum(1)
        down = counts @ (curvature * nodes[:, None] ** 2).sum(1)
        slope = np.clip(slope + (up - on_slope * (slope - 1)) / (down + on_slope), 0, 6)
    return _Fit(log_odds, share, now * float(counts.sum()))
