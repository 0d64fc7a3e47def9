"""Metrics that single papers define beside Original accuracy.

A benchmark names the ones it wants (`Benchmark.metrics`); each takes the scores of its items and returns plain
numbers. Comparisons are strict here as everywhere; where a paper's code lets a tie win, its numbers on ties differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from equipoise import stats
from equipoise.errors import UserError
from equipoise.evaluation.record import Interval, PaperNumbers
from equipoise.evaluation.scores import ItemScores
from equipoise.items import Item


def ranks(scores: Sequence[ItemScores]) -> PaperNumbers:
    """CREPE: the caption's rank among itself and its negatives.

    A negative with the caption's score counts as above it; CREPE's argsort leaves that order undefined.
    """
    rank = np.array([1 + sum(value >= score.caption for value in score.negatives) for score in scores])
    found: PaperNumbers = {"n": len(rank)}
    for k in (1, 3, 5, 10):
        wins = int((rank <= k).sum())
        found[f"recall_at_{k}"] = wins / len(rank)
        found[f"recall_at_{k}_interval"] = Interval(*stats.wilson(wins, len(rank)))
    return found | {"mean_rank": float(rank.mean()), "median_rank": float(np.median(rank))}


def groups(scores: Sequence[ItemScores]) -> PaperNumbers:
    """Winoground: text, image and group score of pairs of items that share the tag `pair`.

    Each item is one image with its own caption against the other's, so the two rows hold all four scores.
    Chance is 1/4, 1/4 and 1/6.
    """
    pairs: dict[str, list[ItemScores]] = {}
    for score in scores:
        pairs.setdefault(score.tags["pair"], []).append(score)
    whole = [pair for pair in pairs.values() if len(pair) == 2]
    text = [all(item.caption > item.negatives[0] for item in pair) for pair in whole]
    image = [a.caption > b.negatives[0] and b.caption > a.negatives[0] for a, b in whole]
    both = [one and other for one, other in zip(text, image, strict=True)]
    found: PaperNumbers = {"n": len(whole), "incomplete": len(pairs) - len(whole)}
    for name, wins in {"text": text, "image": image, "group": both}.items():
        found[name] = sum(wins) / len(whole) if whole else None
        found[f"{name}_interval"] = Interval(*stats.wilson(sum(wins), len(whole)))
    return found


def tot(scores: Sequence[ItemScores]) -> PaperNumbers:
    """SugarCrepe++: ITT (our Augmented accuracy) and TOT, which asks the text tower alone.

    TOT holds when the caption is closer to every positive than it or any positive is to any negative. SugarCrepe++
    has one positive per item. Where there are several, the cosines between two positives are not asked:
    `TextScores` does not hold them.
    """
    itt = [min([s.caption, *s.positives]) > max(s.negatives) for s in scores if s.positives]
    found: PaperNumbers = {"n": len(itt), "itt": sum(itt) / len(itt) if itt else None}
    asked = [score.text for score in scores if score.text is not None and score.positives]
    if asked:
        wins = [
            min(text.caption_positives)
            > max([*text.caption_negatives, *(v for row in text.positives_negatives for v in row)])
            for text in asked
        ]
        found |= {"tot": sum(wins) / len(wins), "tot_interval": Interval(*stats.wilson(sum(wins), len(wins)))}
    return found


def mirrored(scores: Sequence[ItemScores]) -> PaperNumbers:
    """Predicate-noun dependencies: both items of a mirrored pair right, by wording and part; and wordings compared.

    `pair_SPLIT` is the paper's accuracy, `noun_SPLIT` and `predicate_SPLIT` its parts. `both_wordings` is the share of
    rows whose right sentence beats the wrong one in both wordings, `one_wording` in exactly one of them: Brittleness
    for scores that cannot be compared across wordings. A tie counts for neither.
    """
    found: PaperNumbers = {}
    pairs: dict[tuple[str, str], list[ItemScores]] = {}
    for score in scores:
        pairs.setdefault((score.tags.get("split", ""), score.tags.get("pair", score.id)), []).append(score)
    whole = {key: pair for key, pair in pairs.items() if len(pair) == 2}
    found |= {"n": len(whole), "incomplete": len(pairs) - len(whole)}
    wins: dict[str, list[bool]] = {}
    for (split, _), pair in whole.items():
        for name in dict.fromkeys(("pair", pair[0].tags.get("part", ""))):
            if name:
                wins.setdefault(f"{name}_{split}", []).append(all(one.caption > max(one.negatives) for one in pair))
    for name, won in wins.items():
        found[name] = sum(won) / len(won)
        found[f"{name}_interval"] = Interval(*stats.wilson(sum(won), len(won)))
    return found | _wordings(scores)


def _wordings(scores: Sequence[ItemScores]) -> PaperNumbers:
    """Rows by how many of their two wordings are right; images are resampled."""
    rows: dict[str, list[ItemScores]] = {}
    for score in scores:
        rows.setdefault(score.id.rpartition("/")[2], []).append(score)
    asked = [row for row in rows.values() if len({one.tags.get("split") for one in row}) == len(row) == 2]
    if not asked:
        return {}
    margins = np.array([[one.caption - max(one.negatives) for one in row] for row in asked])
    right, wrong = (margins > 0).sum(axis=1), (margins < 0).sum(axis=1)
    counts = np.ones((len(asked), 2))
    wins = np.stack([right == 2, (right == 1) & (wrong == 1)], axis=1).astype(np.float64)
    clusters: dict[str, int] = {}
    cluster = np.array([clusters.setdefault(row[0].image or row[0].id, len(clusters)) for row in asked])
    measured, ratios = stats.grouped_ratios(wins, counts, cluster, [np.ones(len(asked), dtype=bool)])
    found: PaperNumbers = {"rows": len(asked)}
    for column, name in enumerate(("both_wordings", "one_wording")):
        found[name] = float(measured[0, column])
        found[f"{name}_interval"] = Interval(*stats.percentile_interval(ratios[:, 0, column]))
    return found


PAPER_METRICS: dict[str, Callable[[Sequence[ItemScores]], PaperNumbers]] = {
    "ranks": ranks,
    "groups": groups,
    "mirrored": mirrored,
    "tot": tot,
}
NEEDED_TAGS = {"groups": "pair"}


def require_tags(metrics: Iterable[str], items: Sequence[Item | ItemScores]) -> None:
    """Refuse items that lack what a paper's metric reads, before a model has scored them for an hour."""
    for metric in metrics:
        tag = NEEDED_TAGS.get(metric)
        without = [item.id for item in items if tag is not None and tag not in item.tags]
        if without:
            raise UserError(
                f"{len(without):,} of {len(items):,} items lack the tag {tag!r}, by which the metric {metric!r} finds "
                f"the items that belong together, for instance {without[0]!r}. Add the tag (two items per {tag}), or "
                "give the items ids that are not the benchmark's."
            )
