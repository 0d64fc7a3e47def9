"""What some benchmarks measure beside the three shares: which image a text prefers, and their papers' own metrics."""

from __future__ import annotations

from markupsafe import Markup

from equipoise.evaluation.record import IMAGE_METRICS, Interval
from equipoise.report.chapters import Chapter, Entry
from equipoise.report.svg import el, table


def beside(chapter: Chapter) -> Markup | None:
    """A table of its own; None where there is nothing beside."""
    found = [{**_image_side(entry), **_paper(entry)} for entry in chapter.entries]
    columns = list(dict.fromkeys(name for one in found for name in one))
    if not columns:
        return None
    models = zip(chapter.entries, found, strict=True)
    rows = [[entry.label, *(one.get(name, "-") for name in columns)] for entry, one in models]
    words = "Asked of the pictures where items have others, and the metrics that the paper of the test set defines."
    head = el("figcaption", el("h3", "Also measured"), el("p", f"{words} Percent [95% interval]; ranks as they are."))
    return el("figure", head, el("div", table(["model", *columns], rows), class_="scroll"), class_="wide")


def _image_side(entry: Entry) -> dict[str, str]:
    numbers = entry.numbers.image_side
    if numbers is None:
        return {}
    return {
        words: _cell(value, numbers.intervals.get(metric))
        for metric, words in IMAGE_METRICS.items()
        if (value := numbers[metric]) is not None
    }


def _paper(entry: Entry) -> dict[str, str]:
    found = {}
    for record in entry.run.records:
        for numbers in record.metrics.paper.values():
            for name, value in numbers.items():
                if isinstance(value, float):
                    interval = numbers.get(f"{name}_interval")
                    words = name.replace("_", " ")
                    shown = f"{value:.1f}" if name.endswith("rank") else _cell(value, interval)
                    found[words] = shown
    return found


def _cell(value: float, interval: object) -> str:
    spread = f" [{100 * interval.low:.1f}, {100 * interval.high:.1f}]" if isinstance(interval, Interval) else ""
    return f"{100 * value:.1f}{spread}"
