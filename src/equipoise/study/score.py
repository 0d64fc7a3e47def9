"""Answers -> numbers: human accuracy, judgements of edits, and how far annotators agree.

In Kamath et al. 2024 (section 4.1), two people ranked the captions of each of 100 pictures, ties allowed, and "a point"
was given "if both annotators agree on the correct rank". Here a question's score is the share of pairs of annotators
that are both right; for Brittleness, the share of pairs in which one is brittle (docs/study.md). Rankings are scored
with the metrics for models.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.core.stats import Floats
from equipoise.evaluation.metrics import METRICS, SHARES
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Interval
from equipoise.evaluation.scores import ItemScores
from equipoise.report.chapters import Point
from equipoise.study.questions import Question, Study, Value

AnswersByPerson = Mapping[str, Mapping[int, Value]]  # annotator -> question -> answer
MOST_GROUPS = 12  # values of a tag with a breakdown
# For these, one of two annotators is enough; all others need both.
SOME = {name for name in SHARES if METRICS[name].better == "low"}
NAMES = {name: f"{METRICS[name].label}: {METRICS[name].meaning}" for name in SHARES} | {
    "original": "Original: caption above every wrong one",
    "augmented": "Augmented: reworded captions too",
    "brittleness": "Brittleness (one of the two)",
    "same_ranking": "... and both gave the same ranking",
    "meaning": "read as meant (p the same, n not)",
}
IN_SPLITS = (*SHARES, "meaning")  # shown for each split
ROLES = {"c": "caption", "p": "positive", "n": "negative"}
Level = Literal["nominal", "ordinal"]


class Agreement(NamedTuple):
    """A coefficient with its interval; None if undefined. `n` counts what at least two people judged."""

    value: float | None
    low: float | None
    high: float | None
    n: int


class Unit(NamedTuple):
    """One judged thing: its cluster for resampling, and the value of each annotator who answered."""

    cluster: Hashable
    values: Sequence[Any]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Share(_Part):
    value: float
    low: float
    high: float
    n: int  # questions
    images: int


class Score(_Part):
    version: int = 1
    study: str
    ask: str
    benchmark: str
    questions: int
    answered_by_two: int
    annotators: dict[str, dict[str, Share]]  # each alone
    answered: dict[str, int]
    together: dict[str, Share]  # pairs of annotators
    by: dict[str, dict[str, dict[str, Share]]]
    alpha: dict[str, Agreement]
    lost: list[str]  # items without the full point


def score(study: Study, answers: AnswersByPerson, seed: int = 0) -> Score:
    given = {name: answered for name, answered in sorted(answers.items()) if answered}
    if not given:
        raise UserError("these files have no answers")
    judged = {name: _judged(study, answered) for name, answered in given.items()}
    several = [
        question.number
        for question in study.questions
        if sum(question.number in of_one for of_one in judged.values()) > 1
    ]
    points = {number: _points([of_one[number] for of_one in judged.values() if number in of_one]) for number in several}
    full = ("augmented", "original", "meaning")  # the first that a question has
    by: dict[str, dict[str, dict[str, Share]]] = {}
    for tag, groups in _groups(study, several).items():
        for value, numbers in groups.items():
            shares = _shares(study, {number: points[number] for number in numbers}, seed)
            by.setdefault(tag, {})[value] = shares
    return Score(
        study=study.digest,
        ask=study.ask,
        benchmark=study.benchmark,
        questions=len(study.questions),
        answered_by_two=len(several),
        annotators={name: _shares(study, judgements, seed) for name, judgements in judged.items()},
        answered={name: len(answered) for name, answered in given.items()},
        together=_shares(study, points, seed),
        by=by,
        alpha={name: krippendorff_alpha(units, level, seed) for name, (units, level) in _units(study, given).items()},
        lost=[
            study.questions[number].item
            for number in several
            if next((points[number][name] for name in full if name in points[number]), 1.0) < 1
        ],
    )


def human_point(score: Score) -> Point:
    """The annotators as a point in the report's chart of accuracy and Brittleness."""
    if score.ask != "rank" or "brittleness" not in score.together:
        raise UserError(
            "--points: the chart needs items with hard positives that two annotators ranked; "
            f"{score.answered_by_two} questions of this study have two answers"
        )
    shares = {name: score.together[name] for name in SHARES if name in score.together}
    n = shares["brittleness"].n
    return Point(
        label="people",
        benchmark=score.benchmark,
        metrics={name: share.value for name, share in shares.items()},
        source=f"equipoise study {score.study[:10]}: {len(score.answered)} annotators, {n} questions",
        intervals={name: Interval(share.low, share.high) for name, share in shares.items()},
    )


def _judged(study: Study, given: Mapping[int, Value]) -> dict[int, dict[str, Any]]:
    """One annotator's outcomes: question -> name -> 0 or 1 (and the ranking itself)."""
    numbers = sorted(given)
    if study.ask == "pairs":
        return {number: _read(study.questions[number], given[number]) for number in numbers}
    outcomes = outcomes_of([_as_scores(study.questions[number], given[number]) for number in numbers])
    columns = {name: METRICS[name].column(outcomes).tolist() for name in SHARES}
    judged: dict[int, dict[str, Any]] = {}
    for place, number in enumerate(numbers):
        judged[number] = {name: column[place] for name, column in columns.items() if not math.isnan(column[place])}
        if outcomes.has_positive[place]:
            judged[number] |= {"same_ranking": tuple(given[number]) if outcomes.augmented[place] else None}
    return judged


def _as_scores(question: Question, ranks: Sequence[int]) -> ItemScores:
    """A ranking as scores: the best rank is the highest score."""
    of: dict[str, list[float]] = {role: [] for role in ROLES}
    for text, rank in zip(question.texts, ranks, strict=True):
        of[text.role].append(-float(rank))
    return ItemScores(id=question.item, caption=of["c"][0], positives=of["p"], negatives=of["n"])


def _read(question: Question, value: Value) -> dict[str, float]:
    """A pair's answer: "meaning" is right if a positive means the same and a negative does not."""
    other = next(text.role for text in question.texts if text.role != "c")
    points = {"meaning": float(value["same"] == ("yes" if other == "p" else "no"))}
    points[f"meaning of {ROLES[other]}s"] = points["meaning"]
    for name in ("grammatical", "plausible"):
        for text, said in zip(question.texts, value[name], strict=True):
            points[f"{name} {ROLES[text.role]}s"] = float(said == "yes")
    return points


def _points(judgements: Sequence[Mapping[str, object]]) -> dict[str, float]:
    """For one question, the share of pairs of annotators that are both right (or one of them brittle)."""
    pairs = math.comb(len(judgements), 2)
    points: dict[str, float] = {}
    for name in judgements[0]:
        said = [judgement[name] for judgement in judgements]
        if name == "same_ranking":
            both = sum(math.comb(said.count(ranking), 2) for ranking in set(said) - {None})
        elif name in SOME:
            both = pairs - math.comb(sum(word == 0 for word in said), 2)
        else:
            both = math.comb(sum(word == 1 for word in said), 2)
        points[name] = both / pairs
    return points


def _shares(study: Study, points: Mapping[int, Mapping[str, object]], seed: int) -> dict[str, Share]:
    """Means over questions, with intervals over pictures and the same resamples for all names."""
    names = list(dict.fromkeys(name for point in points.values() for name in point))
    names = [name for name in names if not any(isinstance(point.get(name), tuple) for point in points.values())]
    names = [name for name in names if any(point.get(name) is not None for point in points.values())]
    if not names:
        return {}
    cluster = stats.numbered(study.questions[number].cluster for number in points)
    there = np.array([[point.get(name) is not None for name in names] for point in points.values()], dtype=float)
    values = np.array([[point.get(name) or 0.0 for name in names] for point in points.values()], dtype=float)
    whole = np.ones(len(points), dtype=bool)
    measured = stats.averaged(values, there, cluster, [whole], seed=seed)
    shares = {}
    for column, name in enumerate(names):
        value, (low, high), images = measured.values[column], measured.interval(column), measured.images[0, column]
        shares[name] = Share(value=float(value), low=low, high=high, n=int(there[:, column].sum()), images=int(images))
    return shares


def _groups(study: Study, numbers: Sequence[int]) -> dict[str, dict[str, list[int]]]:
    """The numbers of questions by tag and value, for tags with 2 to MOST_GROUPS values."""
    by_tag: dict[str, dict[str, list[int]]] = {}
    for number in numbers:
        for tag, value in study.questions[number].tags.items():
            by_tag.setdefault(tag, {}).setdefault(value, []).append(number)
    return {tag: dict(sorted(groups.items())) for tag, groups in by_tag.items() if 1 < len(groups) <= MOST_GROUPS}


def _units(study: Study, given: AnswersByPerson) -> dict[str, tuple[list[Unit], Any]]:
    """The judged things by name. Ranks (the mean rank for ties) are ordinal. Preferences between two texts are nominal,
    in the study's random order: if the caption came first, all would "agree by chance" that the first is better, and
    alpha would be low for people who are always right."""
    units: dict[str, tuple[list[Unit], object]] = {}

    def add(name: str, level: str, question: Question, values: list[object]) -> None:
        units.setdefault(name, ([], level))[0].append(Unit(question.cluster, values))

    for question in study.questions:
        said = [answered[question.number] for answered in given.values() if question.number in answered]
        places = range(len(question.texts))
        if study.ask == "rank":
            middles = [_middles(ranks) for ranks in said]
            for place in places:
                add("ranks", "ordinal", question, [ranks[place] for ranks in middles])
            for one, other in combinations(places, 2):
                better = [(ranks[one] > ranks[other]) - (ranks[one] < ranks[other]) for ranks in said]
                add("preferences", "nominal", question, better)
        else:
            add("same meaning", "nominal", question, [value["same"] for value in said])
            for name in ("grammatical", "plausible"):
                for place in places:
                    add(name, "nominal", question, [value[name][place] for value in said])
    return units


def _middles(ranks: Sequence[int]) -> list[float]:
    """Ranks with the mean rank for ties: 1, 1, 2 -> 1.5, 1.5, 3."""
    return [sum(other < rank for other in ranks) + (1 + ranks.count(rank)) / 2 for rank in ranks]


def as_text(score: Score) -> str:
    answered = ", ".join(f"{name} {count:,}" for name, count in score.answered.items())
    lines = [
        f"study of {score.benchmark}: {score.questions:,} questions; answered: {answered}",
        "percent [95% interval, pictures resampled]; a tie is never a win",
        "",
    ]
    if score.together:
        lines.append(f"two annotators, a point only if both are right ({score.answered_by_two:,} questions with two):")
        lines += [_line(NAMES.get(name, name), share) for name, share in score.together.items()]
    else:
        lines.append("no question has two answers yet; each annotator alone:")
    for value, shares in score.by.get("split", {}).items():
        lines += ["", f"split {value}:"]
        lines += [_line(NAMES.get(name, name), shares[name]) for name in IN_SPLITS if name in shares]
    if others := [tag for tag in score.by if tag != "split"]:
        lines += ["", f"by {', '.join(others)}: --json"]
    for annotator, shares in score.annotators.items():
        lines += ["", f"{annotator} alone:"]
        lines += [_line(name, share) for name, share in shares.items()]
    lines += ["", "agreement beyond chance (1: perfect, 0: chance):"]
    lines += [_line_of(f"Krippendorff's alpha, {name}", agreement) for name, agreement in score.alpha.items()]
    if score.lost:
        more = f" and {len(score.lost) - 10:,} more (--json has all)" if len(score.lost) > 10 else ""
        lines += ["", f"items where not both were right: {', '.join(score.lost[:10])}{more}"]
    return "\n".join(lines)


def _line(name: str, share: Share) -> str:
    return f"  {name:<42} {100 * share.value:5.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]  n = {share.n:,}"


def _line_of(name: str, agreement: Agreement) -> str:
    if agreement.value is None:
        why = "no two people judged the same" if not agreement.n else "undefined: everybody always gave the same answer"
        return f"  {name:<42} -  ({why})"
    return f"  {name:<42} {agreement.value:5.2f} [{agreement.low:.2f}, {agreement.high:.2f}]  n = {agreement.n:,}"


def krippendorff_alpha(units: Sequence[Unit], level: Level, seed: int = 0) -> Agreement:
    """Krippendorff's alpha by coincidence matrices, for any number of annotators and missing answers (Krippendorff
    2011).

    Units that fewer than two annotators judged are left out, as in the paper. Alpha is a ratio of sums over questions,
    so one product with the bootstrap's counts gives all resamples. It is undefined if all answers are the same.
    """
    judged = [Unit(unit.cluster, [value for value in unit.values if value is not None]) for unit in units]
    kept = [unit for unit in judged if len(unit.values) > 1]
    if not kept:
        return Agreement(None, None, None, 0)
    values = sorted({value for unit in kept for value in unit.values})
    number = {value: place for place, value in enumerate(values)}
    cluster = stats.numbered(unit.cluster for unit in kept)
    within = np.zeros((stats.distinct(cluster), len(values), len(values)))
    for place, unit in zip(cluster, kept, strict=True):
        counts = np.bincount([number[value] for value in unit.values], minlength=len(values)).astype(float)
        within[place] += (np.outer(counts, counts) - np.diag(counts)) / (len(unit.values) - 1)
    value = float(_alpha(within.sum(0), level))
    if np.isnan(value):
        return Agreement(None, None, None, len(kept))
    flat = within.reshape(len(within), -1)
    drawn = stats.draws(len(within), seed, stats.RESAMPLES)
    spread = [_alpha((counts @ flat).reshape(-1, *within.shape[1:]), level) for _, counts in drawn]
    low, high = stats.percentile_interval(np.concatenate(spread))
    if high - low < 1e-12:
        # All resamples agree. By Wilson's interval a share of clusters that was never seen may disagree, and each
        # disagreement costs 1 / (expected disagreement) of the coefficient.
        share = within.sum((0, 2)) / within.sum()
        unseen = stats.wilson(0, len(within))[1] / (1 - float((share**2).sum()))
        low, high = max(-1.0, value - unseen), min(1.0, value + unseen)
    return Agreement(value, low, high, len(kept))


def _alpha(pairs: Floats, level: Level) -> Floats:
    """Alpha from (..., values, values) coincidences."""
    each = pairs.sum(-1)
    total = each.sum(-1)
    apart: Floats = 1 - np.eye(each.shape[-1])  # squared distances between values
    if level == "ordinal":  # by the number of judgements between the middles of two ranks
        upto = np.cumsum(each, -1) - each / 2
        apart = (upto[..., :, None] - upto[..., None, :]) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (pairs * apart).sum((-2, -1)) / total
        expected = (each[..., :, None] * each[..., None, :] * apart).sum((-2, -1)) / (total * (total - 1))
        alphas: Floats = np.where(expected > 0, 1 - observed / expected, np.nan)
    return alphas
