"""How scores and margins are spread: small plots of curves, one for each model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from markupsafe import Markup

from equipoise.evaluation.scores import Scores
from equipoise.report.chapters import Chapter
from equipoise.report.svg import el, figure, table
from equipoise.stats import Floats

BINS = 40
PARTS = {"caption": "caption c", "positive": "hard positive p", "negative": "hard negative n"}


def margins(chapter: Chapter) -> Markup:
    """How far the right captions are from the highest wrong one; what the metrics count is the side of zero."""
    found = []
    for entry in chapter.entries:
        scores = Scores.of(entry.run.rows)
        highest = scores.negatives.reduced(np.maximum, np.nan)  # nan without a negative; it is left out below
        margin = scores.right.values - np.repeat(highest, scores.right.counts)
        is_caption = np.zeros(len(margin), bool)
        is_caption[scores.right.starts] = True
        found.append({"caption": margin[is_caption], "positive": margin[~is_caption]})
    words = {"caption": "s(c) − highest s(n)", "positive": "s(p) − highest s(n)"}
    return figure(
        "How close are the calls?",
        "The margin: how far a right caption scores above the wrong one. Left of the line it is below: an error. A "
        "narrow hill on the line is a model that hardly tells the captions apart. With several wrong ones, the highest "
        "counts.",
        *_multiples(chapter, found, words, zero=True),
    )


def distributions(chapter: Chapter) -> Markup:
    found = [{name: getattr(entry.run.outcomes, name) for name in PARTS} for entry in chapter.entries]
    return figure(
        "Which scores does it give?",
        "How many items get which score. Several positives or negatives of an item are averaged. Each model has its "
        "own scale.",
        *_multiples(chapter, found, PARTS),
    )


def _multiples(
    chapter: Chapter, found: Sequence[dict[str, Floats]], words: dict[str, str], zero: bool = False
) -> tuple[Markup, Markup]:
    """One small plot of several curves for each model, and its quantiles as a table."""
    plots, data = [], []
    for entry, given in zip(chapter.entries, found, strict=True):
        values = {name: numbers[np.isfinite(numbers)] for name, numbers in given.items()}
        low, high = _range(values.values(), zero)
        counts = {name: _heights(one, low, high) for name, one in values.items()}
        most = max(float(count.max()) for count in counts.values()) or 1.0
        curves = [_steps(counts[name] / most, name) for name in words if len(values[name])]
        middle = 100 * -low / (high - low)
        guide = [el("path", d=f"M{middle:.2f} 0V100", class_="curve zero")] if zero else []
        label = f"{entry.label}: {', '.join(words.values())}"
        size: dict[str, object] = {
            "viewBox": "0 0 100 100",
            "preserveAspectRatio": "none",
            "width": "100%",
            "height": 130,
        }
        picture = el("svg", *guide, *curves, class_="curves", role="img", aria_label=label, **size)
        ends = [el("span", f"{end:.2g}") for end in ((low, 0, high) if zero else (low, high))]
        plots.append(el("div", el("h4", entry.label), picture, el("p", *ends, class_="ends"), class_="small"))
        data += [
            [f"{entry.label}, {word}", f"{len(values[name]):,}", *_quantiles(values[name])]
            for name, word in words.items()
        ]
    legend = [el("span", _sample(name), word, class_="key") for name, word in words.items()]
    plot = el("div", el("div", *plots, class_="multiples"), el("p", *legend, class_="legend"))
    return plot, table(["", "n", "5%", "25%", "median", "75%", "95%"], data)


def _heights(values: Floats, low: float, high: float) -> Floats:
    """The share of the values in each bin."""
    counts: Floats = np.histogram(np.clip(values, low, high), BINS, (low, high))[0] / max(1, len(values))
    return counts


def _range(values: Iterable[Floats], zero: bool) -> tuple[float, float]:
    """From the lowest to the highest thousandth; what lies outside is put at the ends. With `zero` in the middle."""
    found = np.concatenate(list(values))
    if not len(found):
        return -1.0, 1.0
    low, high = (float(end) for end in np.quantile(found, [0.002, 0.998]))
    if zero:
        low, high = -max(abs(low), abs(high)), max(abs(low), abs(high))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _steps(heights: Floats, name: str) -> Markup:
    width = 100 / len(heights)
    path = "".join(f"V{99 - 96 * height:.1f}H{(index + 1) * width:.1f}" for index, height in enumerate(heights))
    return el("path", d=f"M0 99{path}V99", class_=f"curve {name}")


def _sample(name: str) -> Markup:
    return el("svg", el("path", d="M0 7H26", class_=f"curve {name}"), width=26, height=14)


def _quantiles(values: Floats) -> list[str]:
    if not len(values):
        return ["-"] * 5
    return [f"{value:.4g}" for value in np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])]
