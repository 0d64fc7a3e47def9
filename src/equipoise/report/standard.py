"""Standard evaluations, analyses and their differences as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.errors import UserError
from equipoise.evaluation.metrics import METRICS, SHARES
from equipoise.evaluation.record import Change
from equipoise.report import text_table
from equipoise.standard.record import Number, StandardComparison, StandardRecord
from equipoise.stats import RESAMPLES

NAMES = {  # as people call them
    "accuracy@1": "accuracy@1",
    "accuracy@5": "accuracy@5",
    "mean_per_class_recall": "mean per-class recall",
    **{f"text_to_image_recall@{k}": f"text to image R@{k}" for k in (1, 5, 10)},
    **{f"image_to_text_recall@{k}": f"image to text R@{k}" for k in (1, 5, 10)},
    "spearman": "Spearman's rho",
    "kendall_tau_b": "Kendall's tau-b",
}


def render_standard(record: StandardRecord) -> str:
    """One run: each number with its interval and n."""
    data, numbers = record.data, record.numbers
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in data.counts.items() if count)
    caption = [
        f"{record.model.spec}: percent [{100 * record.intervals.level:g}% interval, photos resampled]; {counts}",
        f"{numbers.ties:,} ties, none of them a win" if record.standard != "ratings" else _rating_ties(numbers.ties),
    ]
    if skipped := record.counts.get("skipped"):
        caption.append(f"{skipped:,} photos were NOT used (see result.json)")
    if cut := record.counts.get("texts_cut"):
        caption.append(f"{cut:,} texts are longer than the model reads and were cut")
    rows = [[NAMES.get(name, name), percent_of(number), f"{number.n:,}"] for name, number in numbers.metrics.items()]
    return text_table([f"{data.name} ({record.standard})", "", "n"], rows, "\n".join(caption))


def _rating_ties(ties: int) -> str:
    return f"{ties:,} pairs share their score with one that people rated differently"


def percent_of(number: Number) -> str:
    """'61.6 [60.9, 62.3]'"""
    if number.value is None:
        return "-"
    shown = f"{100 * number.value:.1f}"
    return shown + (f" [{100 * number.interval.low:.1f}, {100 * number.interval.high:.1f}]" if number.interval else "")


def render_analysis(record: StandardRecord, by: str = "") -> str:
    """Shares in percent, scores and cosines as they are; a line for each value of the tag `by`."""
    if by and by not in record.by:
        raise UserError(f"--by {by}: no such tag; there are {', '.join(record.by) or 'none'}")
    lines = {record.data.name: record.numbers} | {f"  {value}": part for value, part in record.by.get(by, {}).items()}
    level, resamples = 100 * record.intervals.level, record.intervals.resamples
    caption = f"{record.model.spec}: [{level:g}% interval, {resamples:,} resamples of the photos]"
    caption += f"; {by}: {RESAMPLES:,} resamples" if by else ""
    shown = list(record.numbers.metrics)
    rows = []
    for label, part in lines.items():
        cells = [_cell(name, part.metrics.get(name)) for name in shown]
        items = max(number.n for number in part.metrics.values())
        rows.append([label, f"{items:,}", *cells, f"{part.ties:,}"])
    return text_table(["", "n", *(_SHARES.get(name, name) for name in shown), "ties"], rows, caption)


_SHARES = {name: METRICS[name].short for name in SHARES}


def _cell(name: str, number: Number | None) -> str:
    if number is None or number.value is None:
        return "-"
    if name in _SHARES:
        return percent_of(number)
    interval = number.interval
    return f"{number.value:.3f}" + (f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else "")


def render_changes(found: Sequence[StandardComparison]) -> str:
    """Paired differences: points, interval, and whether the interval leaves zero out."""
    rows = []
    for one in found:
        for place, (name, change) in enumerate(one.changes.items()):
            about = (f"{one.data} ({one.standard})", one.before, one.after) if place == 0 else ("", "", "")
            rows.append([*about, NAMES.get(name, name), points_of(change)])
    caption = "after minus before, in points [95% interval, paired over photos]; ~ the interval holds zero"
    return text_table(["standard evaluation", "before", "after", "", "change"], rows, caption, words=(0, 1, 2, 3))


def points_of(change: Change) -> str:
    """'+1.2 [+0.3, +2.1]', ~ where the interval holds zero."""
    value, low, high = (f"{round(100 * one, 1) + 0.0:+.1f}" for one in (change.difference, *change.interval))
    return f"{value} [{low}, {high}]{' ' if change.clear else '~'}"
