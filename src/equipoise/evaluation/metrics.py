"""The metrics: one row each. Whatever measures or shows a metric loops over these rows.

A new metric is a new row. One of your own needs no change here: write a `Metric` in your own file and name it with
`--metric py:module:name` (docs/extending.md).

docs/metrics.md defines them: every comparison is strict, and a tie is never a win. Items without a hard positive count
for Original only, items without a hard negative for none of these; outcomes.py has what is asked of images.

This file imports no numpy, so that whoever shows numbers need not load what computes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.errors import UserError
from equipoise.core.plugins import is_named, load_named, own_code, source_sha256
from equipoise.evaluation import answers

if TYPE_CHECKING:
    from equipoise.core.stats import Floats
    from equipoise.evaluation.outcomes import Outcomes
    from equipoise.evaluation.scores import ItemScores

Side = Literal["texts", "images", "answers", "sets", "scores", "paper"]
Unit = Literal["share", "score", "spread", "rank", "count"]  # spread: standard deviations of s(c)
Each = Callable[[Any], Any]  # from `Outcomes` to one value an item


class MetricInfo(BaseModel):
    """The description of a metric. A run keeps it for metrics of the user's own."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    name: str = Field(pattern=r"^[a-z][a-z0-9_@]*$")  # in result.json and on the command line
    short: str  # the head of a column
    title: str
    meaning: str  # one sentence
    better: Literal["high", "low"] = "high"
    # What is compared: the texts of an image, the images of a text, the answers of a generative model; or the run is
    # not of items (evaluation/sets). `scores` says how high scores are, `paper` is what one benchmark's paper defines.
    side: Side = "texts"
    unit: Unit = "share"
    less: str | None = None  # the metric that is subtracted: drop is Original less Augmented
    spec: str | None = None  # py:module:name of a metric of the user's own
    code_sha256: str | None = None  # of its file

    @property
    def label(self) -> str:
        """The title where there is little room: Original."""
        return self.title.removesuffix(" accuracy")


class Metric(MetricInfo):
    """A metric and how an outcome counts. The functions get the `Outcomes` of all items (evaluation/outcomes.py) and
    give one value an item: an array or a list."""

    side: Literal["texts", "images", "answers"] = "texts"  # the others are no shares of items
    wins: Each  # from 0 (lost) to 1 (won)
    counts: Each  # whether the item is asked
    chance: Each | None = None  # the share that a model gets which orders an item's texts at random

    @property
    def own(self) -> MetricInfo | None:
        """The description that a run keeps of a user's metric; None for ours."""
        if self.name in METRICS:
            return None
        return MetricInfo(**{name: getattr(self, name) for name in MetricInfo.model_fields})

    def column(self, outcomes: Outcomes) -> Floats:
        """One value an item: how far it counts as a win, NaN where it is not asked."""
        import numpy as np

        if self.name in METRICS:
            return np.where(self.counts(outcomes), np.asarray(self.wins(outcomes), dtype=np.float64), np.nan)
        called = self.spec or f"metric {self.name}"
        with own_code(called, "your metric failed"):
            counts = np.asarray(self.counts(outcomes)).astype(bool)
            wins = np.asarray(self.wins(outcomes), dtype=np.float64)
        if not wins.shape == counts.shape == (len(outcomes),):
            raise UserError(
                f"{called}: expected one value an item from wins and counts ({len(outcomes):,} each), found arrays of "
                f"shape {wins.shape} and {counts.shape}"
            )
        if not ((wins[counts] >= 0) & (wins[counts] <= 1)).all():
            raise UserError(f"{called}: wins must lie between 0 (lost) and 1 (won), or be True and False")
        return np.where(counts, wins, np.nan)


def _matched(item: ItemScores) -> bool:
    """Whether the right assignment of texts to images has the higher total; summed exactly, so that a tie is one."""
    (other,) = item.negative_images
    totals = (item.caption, other.negatives[0], -item.negatives[0], -other.caption)
    return math.fsum(value / len(totals) for value in totals) > 0


_column = cache(attrgetter)  # one function a column of `Outcomes`, so that metrics of the same items are found


def _share(
    name: str, short: str, title: str, meaning: str, wins: Each | str, counts: str, chance: Each | None = None,
    **more: Any,
) -> Metric:  # fmt: skip
    """A row whose outcomes are columns of `Outcomes`, by their names; a function where they are made of several."""
    won = _column(wins) if isinstance(wins, str) else wins
    about: dict[str, Any] = {"name": name, "short": short, "title": title, "meaning": meaning}
    return Metric(**about, wins=won, counts=_column(counts), chance=chance, **more)


OfAnswers = Callable[[Sequence[answers.Answer]], float | None]


def _chance(column: int) -> Each:
    return lambda outcomes: outcomes.chance[:, column]


def of_answers(
    name: str, meaning: str, ask: OfAnswers, better: Literal["high", "low"] = "low", chance: OfAnswers | None = None,
    less: str | None = None, title: str | None = None,
) -> Metric:  # fmt: skip
    """A metric of the answers to an item: `ask` gives its value, None where the item is not asked."""

    def counts(outcomes: Outcomes) -> Any:
        values = outcomes.of_answers(ask)
        return values == values  # not NaN

    title = title or name.replace("_", " ")
    about: dict[str, Any] = {"name": name, "short": title, "title": title, "meaning": meaning, "better": better}
    by_chance = None if chance is None else lambda outcomes: outcomes.of_answers(chance)
    return Metric(
        **about, side="answers", less=less, wins=lambda outcomes: outcomes.of_answers(ask), counts=counts,
        chance=by_chance,
    )  # fmt: skip


def _flips(name: str, variant: str, meaning: str) -> Metric:
    ask, chance = partial(answers.flips, variant=variant), partial(answers.chance_of_flips, variant=variant)
    return of_answers(name, meaning, ask, chance=chance)


def _effect(variant: str, what: str) -> Metric:
    meaning = f"share of pairs of answers that differ when {what} changes, less that of mere repeats"
    ask = partial(answers.pair_flips, variant=variant)
    return of_answers(f"{variant}_effect", meaning, ask, less="repeat_flips")


# fmt: off
ROWS = (
    _share("original", "Orig.", "Original accuracy",
           "share of items whose caption scores higher than every hard negative",
           "original", "has_negative", _chance(0)),
    _share("augmented", "Aug.", "Augmented accuracy",
           "share of items whose caption and hard positives all score higher than every hard negative",
           "augmented", "has_positive", _chance(1)),
    _share("brittleness", "Brittleness", "Brittleness",
           "share of items with a right caption above the highest hard negative and another below it",
           "brittle", "has_positive", _chance(2), better="low"),
    _share("drop", "drop", "drop",
           "Original minus Augmented accuracy, on the items with a hard positive",
           lambda outcomes: outcomes.original & outcomes.has_positive, "has_positive", better="low", less="augmented"),
    _share("image_original", "Image-Orig.", "Image-Original accuracy",
           "share of items whose caption scores higher with its own image than with every negative image",
           "images.original", "images.asked", side="images"),
    _share("image_augmented", "Image-Aug.", "Image-Augmented accuracy",
           "share of items whose right texts all score higher with each right image than with every negative one",
           "images.augmented", "images.more", side="images"),
    _share("image_brittleness", "Image-Brittleness", "Image-Brittleness",
           "share of items with a right pair above the negative images of its text and another below one",
           "images.brittle", "images.more", side="images", better="low"),
    _share("image_drop", "image drop", "image drop",
           "Image-Original minus Image-Augmented accuracy, on the items with a second right pair",
           lambda outcomes: outcomes.images.original & outcomes.images.more, "images.more",
           side="images", better="low", less="image_augmented"),
    _share("text", "text", "text score",
           "Winoground's: share of paired items in which every image prefers its own text",
           "images.text", "images.square", side="images"),
    _share("image", "image", "image score",
           "Winoground's: share of paired items in which every text prefers its own image",
           "images.image", "images.square", side="images"),
    _share("group", "group", "group score",
           "Winoground's: share of paired items with both text and image score",
           "images.group", "images.square", side="images"),
    _share("group_match", "match", "GroupMatch",
           "share of two-by-two items whose right assignment of texts to images has the higher total score "
           "(arXiv 2510.07632); a tie is no win",
           lambda outcomes: outcomes.asked(outcomes.images.two_by_two, _matched), "images.two_by_two",
           lambda outcomes: 0.5 * outcomes.images.two_by_two, side="images"),
    of_answers("accuracy", "share of an item's answers that are right; the mean over items", answers.accuracy, "high",
               answers.chance_of_one),
    of_answers("right_every_time", "share of items whose every answer is right, in all wordings, orders and repeats",
               answers.every_time, "high", answers.chance_of_all),
    _flips("order_flips", "order", "share of items answered with another option when the options change places; of "
           "those answered in two orders"),
    of_answers("wording_flips", "share of items that are right in one wording and wrong in another of the same truth",
               partial(answers.right_flips, variant="wording"),
               chance=partial(answers.chance_of_right_flips, variant="wording")),
    _flips("wording_changes", "wording", "share of items answered with another option in another wording, right or "
           "wrong; of those answered in two"),
    _flips("prompt_flips", "prompt", "share of items answered with another option when the question is reworded"),
    of_answers("context_flips", "share of items that are right with an addition to the question and wrong without it, "
               "or the other way round", partial(answers.right_flips, variant="context"),
               chance=partial(answers.chance_of_right_flips, variant="context")),
    _flips("picture_flips", "picture", "share of items answered with another option when the photo is turned or "
           "changed otherwise without a change of the truth"),
    of_answers("repeat_flips", "share of pairs of answers to the very same question that name different options",
               partial(answers.pair_flips, variant="repeat"),
               chance=partial(answers.chance_of_pairs, variant="repeat")),
    _effect("order", "the order of the options"),
    _effect("wording", "the wording of the text"),
    _effect("prompt", "the wording of the question"),
    of_answers("refusals", "share of an item's answers that name none of the options", answers.refusals),
    of_answers("first_option", "share of an item's answers that name the option that came first", answers.first_option,
               chance=answers.chance_of_one),
    of_answers("constant_answers", "share of items with one and the same answer to questions of different truths",
               answers.constant),
)
# fmt: on
METRICS: dict[str, Metric] = {row.name: row for row in ROWS}  # in the order of every table
ALWAYS = ("original", "augmented", "brittleness", "drop")  # of texts: a column in every table of items
OUTCOME_SIDES = ("texts", "images", "answers", "sets")
SHARES = tuple(row.name for row in ROWS if row.side == "texts" and row.less is None)  # of the texts, of all items
OF_POSITIVES = tuple(row for row in ROWS if row.counts is _column("has_positive"))  # on the items that have a positive


def _info(name: str, title: str, meaning: str, side: Side = "sets", unit: Unit = "share") -> MetricInfo:
    return MetricInfo(name=name, short=title, title=title, meaning=meaning, side=side, unit=unit)


_OTHERS = (
    _info("accuracy@1", "accuracy@1", "share of photos with their class among the best 1"),
    _info("accuracy@5", "accuracy@5", "share of photos with their class among the best 5"),
    _info("mean_per_class_recall", "mean per-class recall", "accuracy@1 of each class, averaged over the classes"),
    *(
        _info(f"{way}_recall@{k}", f"{way.replace('_', ' ')} R@{k}", f"share of searches that find theirs in {k}")
        for way in ("text_to_image", "image_to_text")
        for k in (1, 5, 10)
    ),
    _info("spearman", "Spearman's rho", "rank correlation of the scores with people's ratings"),
    _info("mean_score_caption", "s(c)", "mean score of the captions", "scores", "score"),
    _info("mean_score_positive", "s(p)", "mean score of the hard positives", "scores", "score"),
    _info("mean_score_negative", "s(n)", "mean score of the hard negatives", "scores", "score"),
    _info("spread", "spread of s(c)", "standard deviation of s(c) over all items of the run", "scores", "score"),
    _info("margin", "s(c)-s(n)", "mean over items, in units of the spread", "scores", "spread"),
    _info("margin_positive", "s(p)-s(n)", "mean over items, in units of the spread", "scores", "spread"),
    _info("change", "|s(c)-s(p)|", "mean over items, in units of the spread", "scores", "spread"),
    _info("invariance_error", "invariance error, mean |s(c)-s(p)|,", "LGIP's, over pairs of texts", "scores", "score"),
    _info("sensitivity_gap", "sensitivity gap, mean s(c)-s(n),", "LGIP's, over pairs of texts", "scores", "score"),
    _info("positive_rate", "positive rate, pairs with s(c) > s(n),", "LGIP's, over pairs of texts", "scores"),
    _info("text_cosine_positive", "cos(c, p)", "mean cosine of a caption and its positives", "scores", "score"),
    _info("text_cosine_negative", "cos(c, n)", "mean cosine of a caption and its negatives", "scores", "score"),
    _info("mean_rank", "mean rank", "of the caption among its texts", "paper", "rank"),
    _info("median_rank", "median rank", "of the caption among its texts", "paper", "rank"),
    _info("true", "true", "sentences that are true", "paper", "count"),
    _info("incomplete", "incomplete", "groups of items that are not whole, and count for nothing", "paper", "count"),
)
INFO: dict[str, MetricInfo] = {**METRICS, **{row.name: row for row in _OTHERS}}


def info(name: str, number: object = None) -> MetricInfo:
    """The description of the metric called `name`. `number` is its value or its change; if the metric is the user's
    own, the description is `number.own`. Other names come from the functions of paper_metrics.py."""
    own: MetricInfo | None = getattr(number, "own", None)
    return own or INFO.get(name) or _info(name, name.replace("_", " "), "of the benchmark's paper", "paper")


def shown(measured: Iterable[Mapping[str, object]], side: str | None = None, always: bool = False) -> list[MetricInfo]:
    """The metrics of a side that some of these mappings by name have, ours first; with `always` also those
    that were not measured, of texts only the paper's. Without a side those of all outcomes: neither `scores` nor
    `paper`."""
    there: dict[str, object] = {}
    for numbers in measured:
        there |= {name: value for name, value in numbers.items() if name not in there}
    ours: list[MetricInfo] = [
        row for name, row in METRICS.items() if name in there or (always and (row.side != "texts" or name in ALWAYS))
    ]
    others = [info(name, value) for name, value in there.items() if name not in METRICS]
    return [row for row in (*ours, *others) if row.side == side or (side is None and row.side in OUTCOME_SIDES)]


def kept(own: MetricInfo) -> Metric:
    """A metric of the user's own as a run keeps it: its outcomes were read back, so nobody needs the user's file."""
    return Metric(
        **own.model_dump(),
        wins=lambda outcomes: outcomes.own[own.name],
        counts=lambda outcomes: [value == value for value in outcomes.own[own.name]],  # not NaN
    )


def load_metrics(specs: Sequence[str]) -> list[Metric]:
    """The user's own metrics of `--metric`, each py:module:name."""
    metrics: dict[str, Metric] = {}
    for spec in specs:
        if not is_named(spec):
            raise UserError(
                f"--metric {spec}: expected py:module:name, a metric of your own; measured in any case: "
                f"{', '.join(METRICS)}"
            )
        row = load_named(
            spec, "a metric (equipoise.evaluation.metrics.Metric)", lambda value: isinstance(value, Metric)
        )
        assert isinstance(row, Metric)
        if row.name in METRICS or row.name in metrics:
            raise UserError(f"--metric {spec}: there is a metric {row.name!r} already; give yours another name")
        if row.less is not None and row.less not in METRICS:
            raise UserError(f"--metric {spec}: less={row.less!r} names no metric; expected one of {', '.join(METRICS)}")
        metrics[row.name] = row.model_copy(update={"spec": spec, "code_sha256": source_sha256(spec)})
    return list(metrics.values())
