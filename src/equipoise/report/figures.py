"""The figures of a report, each with its data as a table. Written as SVG here: no plotting library, nothing to load.

A link carries what the gallery shall show (`data-*`); report.js reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from markupsafe import Markup

from equipoise.core.errors import printable
from equipoise.core.stats import Floats
from equipoise.evaluation.metrics import METRICS, shown
from equipoise.evaluation.record import ItemNumbers, Numbers
from equipoise.report.chapters import Chapter
from equipoise.report.html import at, axis, el, figure, key, line, link, model_mark, row, strip, table, top
from equipoise.report.orderings import CLASSES, OUTCOMES, shares
from equipoise.report.tables import in_words, percent, share, some_without_positive
from equipoise.report.tradeoff import plane

TICKS = (0, 25, 50, 75, 100)
MOST_VALUES = 12  # of a tag in its figure; the table has all
LONG = 6  # a figure with more rows has two columns


def figures(chapter: Chapter, number: int) -> list[Markup]:
    """The figures that the chapter has numbers for, in the order of the story."""
    drawn: list[Markup | None] = []
    if has(chapter, "augmented"):
        drawn.append(dumbbell(chapter, number))
    if has(chapter, "original"):
        drawn.append(orderings(chapter, number))
    if has(chapter, "brittleness"):
        drawn.append(plane(chapter))
    drawn += chapter.kept
    if has(chapter, "brittleness"):
        drawn += [by_tag(chapter, number, tag) for tag in chapter.tags()]
    drawn += [distributions(chapter), also_measured(chapter)]
    return [drawing for drawing in drawn if drawing is not None]


def has(chapter: Chapter, metric: str) -> bool:
    return any(entry.numbers[metric] is not None for entry in chapter.entries)


ENDS: dict[str, tuple[str, float]] = {"original": ("square", 9), "augmented": ("circle", 21)}  # mark, interval's y


def dumbbell(chapter: Chapter, number: int) -> Markup:
    chance = {metric: 100 * chapter.chance[metric] for metric in ENDS if metric in chapter.chance}
    guide = [line((tick, tick), (0, 30), "grid") for tick in TICKS]
    guide += [line((value, value), (0, 30), f"chance {metric}") for metric, value in chance.items()]
    rows = []
    for entry in chapter.entries:
        values = f"{share(entry.numbers, 'original')} → {share(entry.numbers, 'augmented')}"
        words = f"{entry.label}: {_words(entry.numbers)}"
        rows.append(row(entry.label, values, strip(30, *guide, *_ends(entry.numbers), label=words)))
    legend = [
        key("square", "original", "Original: the caption is above the wrong one"),
        key("circle", "augmented", "Augmented: the reworded caption too"),
        *(_by_chance(name, value) for name, value in chance.items()),
    ]
    outcomes: dict[str, str] = {"original": "original", "augmented": "right", "drop": "drop"}
    data = []
    for index, entry in enumerate(chapter.entries):
        cells = [
            link(percent(entry.numbers, metric), chapter=number, run=index, outcome=outcome)
            for metric, outcome in outcomes.items()
        ]
        data.append([entry.label, *cells])
    some = any(some_without_positive(entry.numbers) for entry in chapter.entries)
    note = " The drop covers only items that have a reworded caption; Original covers all." if some else ""
    return figure(
        "Does the accuracy survive a rewording?",
        f"The longer the bar, the more the model lives on the exact words.{note} Thin lines: 95% intervals. Percent.",
        Markup("").join([*rows, axis(TICKS), el("p", *legend, class_="legend")]),
        table(["model", *(METRICS[metric].title for metric in outcomes)], data),
    )


def _by_chance(metric: str, value: float) -> Markup:
    sample = el("svg", line((50, 50), (0, 14), f"chance {metric}"), width=16, height=14)
    return el("span", sample, f"{METRICS[metric].title} by chance: {value:.1f}", class_="key")


def _ends(numbers: Numbers) -> list[Markup]:
    """The two marks of a model and the drop as a bar; with items that have no positive it may end next to Original."""
    known = {metric: 100 * value for metric in ENDS if (value := numbers[metric]) is not None}
    lowest, drop = known.get("augmented"), numbers["drop"]
    marks = [line((lowest, lowest + 100 * drop), (15, 15), "bar")] if lowest is not None and drop is not None else []
    for metric, value in known.items():
        shape, y = ENDS[metric]
        if interval := numbers.interval(metric):
            marks.append(line((100 * interval.low, 100 * interval.high), (y, y), f"spread {metric}"))
        marks.append(at(value, 15, shape, metric, f"{METRICS[metric].title} {percent(numbers, metric)}"))
    return marks


def _words(numbers: Numbers) -> str:
    return ", ".join(f"{METRICS[metric].title} {percent(numbers, metric)}" for metric in ENDS)


def orderings(chapter: Chapter, number: int) -> Markup | None:
    drawn = [(index, entry, shares(chapter.codes[index])) for index, entry in enumerate(chapter.entries)]
    drawn = [run for run in drawn if run[2]]  # runs of answers have no orderings
    if not drawn:
        return None
    counts = [count for _, _, count in drawn]
    present = sorted({code for count in counts for code in count})
    rows = []
    for index, entry, of_run in drawn:
        parts, left = [], 0.0
        for code in present:
            width = 100 * of_run.get(code, 0.0)
            if width:
                parts.append(_segment(code, left, width, _items(code, number, index)))
            left += width
        brittle = sum(value for code, value in of_run.items() if CLASSES[code].group == "brittle")
        words = f"{entry.label}: " + ", ".join(
            f"{CLASSES[code].name} {100 * value:.1f}" for code, value in of_run.items()
        )
        rows.append(row(entry.label, f"{100 * brittle:.1f} brittle", strip(30, *parts, label=words)))
    legend = []
    for code in present:
        name, group = CLASSES[code].name, CLASSES[code].group
        legend.append(el("span", el("i", class_=f"swatch o{code} {group}"), f"{name}: {group}", class_="key"))
    data = [
        [entry.label, *(link(f"{100 * of_run.get(code, 0):.1f}", **_items(code, number, index)) for code in present)]
        for index, entry, of_run in drawn
    ]
    plain = all(isinstance(entry.numbers, ItemNumbers) for entry in chapter.entries)
    averaged = "" if plain else " A plain mean over items, so it may differ from the table."
    if has(chapter, "brittleness") and any(some_without_positive(entry.numbers) for entry in chapter.entries):
        averaged = f" Of the items that have all three.{averaged}"
    return figure(
        "In which order does the model put the three captions?",
        "c the caption, p the reworded one, n the wrong one. Right: n is last. Brittle (striped): n stands between the "
        f"two right ones. Wrong: n is first. Shares of items in percent.{averaged}",
        Markup("").join([*rows, axis(TICKS), el("p", *legend, class_="legend")]),
        table(["model", *(CLASSES[code].name for code in present)], data),
    )


def _items(code: int, chapter: int, run: int) -> dict[str, object]:
    """The filter of the gallery that shows a class: one with words of its own where there is one."""
    outcome = next((name for name, (_, codes) in OUTCOMES.items() if codes == [code]), "any")
    return {"chapter": chapter, "run": run, "outcome": outcome, "code": code}


def _segment(code: int, left: float, width: float, to: dict[str, object]) -> Markup:
    place: dict[str, object] = {"x": f"{left:.2f}%", "width": f"{width:.2f}%", "y": 2, "height": 26}
    parts = [el("rect", el("title", f"{CLASSES[code].name}: {width:.1f}"), class_=f"o{code}", **place)]
    if CLASSES[code].group == "brittle":  # striped, for those who do not see the colour
        parts.append(el("rect", fill="url(#stripes)", class_="stripes", **place))
    if width > 4:
        middle = f"{left + width / 2:.2f}%"
        parts.append(el("text", f"{width:.0f}", x=middle, y=20, text_anchor="middle", class_=f"inside o{code}"))
    return link(Markup("").join(parts), **to)


def by_tag(chapter: Chapter, number: int, tag: str) -> Markup | None:
    """Brittleness of each value of a tag, the largest groups first; None where fewer than two have any."""
    by_value = {value: [entry.by.get(tag, {}).get(value) for entry in chapter.entries] for value in chapter.values(tag)}
    size: dict[str, int] = {}
    for value, numbers in by_value.items():
        known = [measured for measured in numbers if measured]
        if any(measured["brittleness"] is not None for measured in known):
            size[value] = max(measured.n_positives for measured in known)
    values = sorted(size, key=lambda value: (-size[value], value))
    if len(values) < 2:
        return None
    shown = values[:MOST_VALUES]
    most = top(measured["brittleness"] or 0 for value in shown for measured in by_value[value] if measured)
    to = {value: {"tag": chapter.tags().index(tag), "value": chapter.values(tag).index(value)} for value in values}
    rows = []
    for value in shown:
        name = link(printable(value), chapter=number, run=0, outcome="brittle", **to[value])
        rows.append(row(name, f"n {size[value]:,}", _lanes(chapter, printable(value), by_value[value], most)))
    more = f" The {len(shown)} largest groups; {len(values) - len(shown)} more are in the table."
    data = []
    for value in values:
        cells = [f"{printable(value)} (n {size[value]:,})"]
        for run, measured in enumerate(by_value[value]):
            items = {"chapter": number, "run": run, "outcome": "brittle", **to[value]}
            cells.append(link(percent(measured, "brittleness"), **items) if measured else "-")
        data.append(cells)
    half = len(rows) if len(rows) <= LONG else (len(rows) + 1) // 2
    scale = axis([0, most / 2, most], 0, most)
    columns = [el("div", *rows[first : first + half], scale) for first in range(0, len(rows), half)]
    keys = [key(*model_mark(index), entry.label) for index, entry in enumerate(chapter.entries)]
    return figure(
        f"Where is it brittle? By {printable(tag)}",
        "Brittleness in percent, lower is better. n: items with a reworded caption. Lines: 95% intervals."
        f"{more if len(values) > len(shown) else ''}",
        el("div", *columns, class_="columns") + el("p", *keys, class_="legend"),
        table([printable(tag), *(entry.label for entry in chapter.entries)], data),
        wide=len(columns) > 1,
    )


def _lanes(chapter: Chapter, value: str, numbers_of: Sequence[Numbers | None], most: float) -> Markup:
    """One row of the figure: each model in a lane of its own."""
    height = 6.0 + 13 * len(numbers_of)
    marks = [line((x, x), (0, height), "grid") for x in (0, 50, 100)]
    for index, (entry, numbers) in enumerate(zip(chapter.entries, numbers_of, strict=True)):
        if numbers is None or (brittle := numbers["brittleness"]) is None:
            continue
        shape, colour = model_mark(index)
        y = 9.0 + 13 * index
        if interval := numbers.interval("brittleness"):
            low, high = min(100.0, 10_000 * interval.low / most), min(100.0, 10_000 * interval.high / most)
            marks.append(line((low, high), (y, y), f"spread {colour}"))
        words = f"{entry.label}, {value}: {percent(numbers, 'brittleness')}"
        marks.append(at(10_000 * brittle / most, y, shape, colour, words))
    return strip(height, *marks, label=f"Brittleness, {value}")


BINS = 40
PARTS = {"caption": "caption c", "positive": "hard positive p", "negative": "hard negative n"}


def distributions(chapter: Chapter) -> Markup:
    """One small plot of three curves for each model, and its quantiles as a table."""
    plots, data = [], []
    for entry in chapter.entries:
        given = {name: getattr(entry.run.outcomes, name) for name in PARTS}
        values: dict[str, Floats] = {name: numbers[np.isfinite(numbers)] for name, numbers in given.items()}
        if not len(values["caption"]):
            continue  # answers have no scores
        low, high = _range(values.values())
        counts = {name: _heights(scores_of_kind, low, high) for name, scores_of_kind in values.items()}
        most = max(float(count.max()) for count in counts.values()) or 1.0
        curves = [_steps(counts[name] / most, name) for name in PARTS if len(values[name])]
        label = f"{entry.label}: {', '.join(PARTS.values())}"
        size: dict[str, object] = {"viewBox": "0 0 100 100", "preserveAspectRatio": "none"}
        size |= {"width": "100%", "height": 130}
        picture = el("svg", *curves, class_="curves", role="img", aria_label=label, **size)
        ends = [el("span", f"{end:.2g}") for end in (low, high)]
        plots.append(el("div", el("h4", entry.label), picture, el("p", *ends, class_="ends"), class_="small"))
        data += [
            [f"{entry.label}, {word}", f"{len(values[name]):,}", *_quantiles(values[name])]
            for name, word in PARTS.items()
        ]
    legend = [
        el("span", el("svg", el("path", d="M0 7H26", class_=f"curve {name}"), width=26, height=14), word, class_="key")
        for name, word in PARTS.items()
    ]
    return figure(
        "Which scores does it give?",
        "How many items get which score. Several positives or negatives of an item are averaged. Each model has its "
        "own scale.",
        el("div", el("div", *plots, class_="multiples"), el("p", *legend, class_="legend")),
        table(["", "n", "5%", "25%", "median", "75%", "95%"], data),
    )


def _heights(values: Floats, low: float, high: float) -> Floats:
    """The share of the values in each bin."""
    counts: Floats = np.histogram(np.clip(values, low, high), BINS, (low, high))[0] / max(1, len(values))
    return counts


def _range(values: Iterable[Floats]) -> tuple[float, float]:
    """From the lowest to the highest thousandth; what lies outside is put at the ends."""
    scores = np.concatenate(list(values))
    if not len(scores):
        return -1.0, 1.0
    low, high = np.quantile(scores, [0.002, 0.998]).tolist()
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _steps(heights: Floats, name: str) -> Markup:
    width = 100 / len(heights)
    path = "".join(f"V{99 - 96 * height:.1f}H{(index + 1) * width:.1f}" for index, height in enumerate(heights))
    return el("path", d=f"M0 99{path}V99", class_=f"curve {name}")


def _quantiles(values: Floats) -> list[str]:
    if not len(values):
        return ["-"] * 5
    return [f"{value:.4g}" for value in np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])]


def also_measured(chapter: Chapter) -> Markup | None:
    """Which image a text prefers, and the papers' own metrics: a table of its own; None where there are none."""
    cells = []
    for entry in chapter.entries:
        sides = shown([entry.numbers.metrics], "images")
        cells.append({row.title: percent(entry.numbers, row.name) for row in sides})
        for overall in (record.metrics.overall.metrics for record in entry.run.records):
            cells[-1] |= {row.title: in_words(row, overall[row.name]) for row in shown([overall], "paper")}
    columns = list(dict.fromkeys(name for row_cells in cells for name in row_cells))
    if not columns:
        return None
    models = zip(chapter.entries, cells, strict=True)
    rows = [[entry.label, *(row_cells.get(name, "-") for name in columns)] for entry, row_cells in models]
    words = "Asked of the pictures where items have others, and the metrics that the paper of the test set defines."
    head = el("figcaption", el("h3", "Also measured"), el("p", f"{words} Percent [95% interval]; ranks as they are."))
    return el("figure", head, el("div", table(["model", *columns], rows), class_="scroll"), class_="wide")
