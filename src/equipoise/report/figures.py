"""The figures of a report, each with its data as a table. Written as SVG here: no plotting library, nothing to load.

A link carries what the gallery shall show (`data-*`); report.js reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from markupsafe import Markup

from equipoise.errors import printable
from equipoise.evaluation.metrics import Outcomes
from equipoise.evaluation.record import METRICS, Metric, Numbers
from equipoise.report.chapters import Chapter
from equipoise.report.orderings import CLASSES, OUTCOMES, shares
from equipoise.report.svg import at, el, key, line, model_mark, strip
from equipoise.report.tables import percent

TICKS = (0, 25, 50, 75, 100)
MOST_VALUES = 12  # of a tag in its figure; the table has all
BINS = 40
PARTS = {"caption": "caption c", "positive": "hard positive p", "negative": "hard negative n"}
Cell = tuple[str, dict[str, object] | None]  # text, and the items it leads to


def figure(title: str, how: object, plot: object, table: object) -> Markup:
    """A figure, what to see in it, and its data."""
    data = el("details", el("summary", "The numbers of this figure"), el("div", table, class_="scroll"), class_="data")
    return el("figure", el("figcaption", el("h3", title), el("p", how)), el("div", plot, class_="plot"), data)


def link(text: object, **to: object) -> Markup:
    """A number that leads to the items behind it."""
    named = {f"data_{name}": value for name, value in to.items() if value is not None}
    return el("a", text, href="#gallery", class_="to", **named)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in header)))
    body = [el("tr", el("th", first, scope="row"), *(el("td", cell) for cell in rest)) for first, *rest in rows]
    return el("table", head, el("tbody", *body))


def figures(chapter: Chapter, number: int) -> list[Markup]:
    """Those that the chapter has numbers for, in the order of the story."""
    found = [dumbbell(chapter, number) if has(chapter, "augmented") else None, orderings(chapter, number)]
    if has(chapter, "brittleness"):
        found += [plane(chapter), *(by_tag(chapter, number, tag) for tag in chapter.tags())]
    return [one for one in [*found, distributions(chapter)] if one is not None]


def has(chapter: Chapter, metric: Metric) -> bool:
    return any(entry.numbers[metric] is not None for entry in chapter.entries)


def share(numbers: Numbers, metric: Metric) -> str:
    value = numbers[metric]
    return "-" if value is None else f"{100 * value:.1f}"


# ---------------------------------------------------------------------------- Original against Augmented


def dumbbell(chapter: Chapter, number: int) -> Markup:
    chance = {name: 100 * value for name, value in chapter.chance.items()}
    guide = [line(tick, tick, 0, 30, "grid") for tick in TICKS]
    guide += [line(chance[name], chance[name], 0, 30, f"chance {name}") for name in ("original", "augmented") if name in chance]
    rows = []
    for entry in chapter.entries:
        numbers = entry.numbers
        if numbers.original is None or numbers.augmented is None:
            continue
        # the drop is of the items with a positive; where others have none, the line is not exactly as long
        ends = 100 * numbers.original, 100 * numbers.augmented
        marks = [line(*ends, 15, 15, "bar")]
        for name, shape, y, end in (("original", "square", 9, ends[0]), ("augmented", "circle", 21, ends[1])):
            interval = numbers.intervals.get(name)  # type: ignore[call-overload]
            marks += [line(100 * interval.low, 100 * interval.high, y, y, f"spread {name}")] if interval else []
            marks.append(at(end, 15, shape, name, f"{METRICS[name]} {percent(numbers, name)}"))  # type: ignore[index, arg-type]
        words = f"{entry.label}: Original {percent(numbers, 'original')}, Augmented {percent(numbers, 'augmented')}"
        values = f"{share(numbers, 'original')} → {share(numbers, 'augmented')}"
        rows.append(row(entry.label, values, strip(30, *guide, *marks, label=words)))
    legend = [key("square", "original", "Original: caption above the wrong one")]
    legend.append(key("circle", "augmented", "Augmented: the reworded caption too"))
    if chance:
        legend.append(el("span", "dashed: chance, ", " and ".join(f"{chance[name]:.1f} ({METRICS[name]})" for name in ("original", "augmented") if name in chance), class_="key"))  # fmt: skip
    data = [
        [
            entry.label,
            link(percent(entry.numbers, "original"), chapter=number, run=index, outcome="original"),
            link(percent(entry.numbers, "augmented"), chapter=number, run=index, outcome="right"),
            link(percent(entry.numbers, "drop"), chapter=number, run=index, outcome="drop"),
        ]
        for index, entry in enumerate(chapter.entries)
    ]
    return figure(
        "Does the accuracy survive a rewording?",
        "The longer the bar, the more the model lives on the exact words. Thin lines: 95% intervals. Percent.",
        el("div", *rows, axis(TICKS), el("p", *legend, class_="legend"), class_="rows"),
        table(["model", "Original", "Augmented", "drop"], data),
    )


def row(name: object, values: object, plot: Markup) -> Markup:
    return el("div", el("span", name, class_="name"), el("span", values, class_="values"), plot, class_="row")


def axis(ticks: Sequence[float], low: float = 0, high: float = 100) -> Markup:
    """The numbers below the rows; the outermost stay inside."""
    anchors = ["start", *["middle"] * (len(ticks) - 2), "end"]
    texts = [
        el("text", f"{tick:g}", x=f"{100 * (tick - low) / (high - low):.2f}%", y=12, text_anchor=anchor)
        for tick, anchor in zip(ticks, anchors, strict=True)
    ]
    plot = el("svg", *texts, class_="strip axis", width="100%", height=16, aria_hidden="true")
    return row("", "", plot)


# ---------------------------------------------------------------------------- the orderings


def orderings(chapter: Chapter, number: int) -> Markup:
    found = [shares(codes) for codes in chapter.codes]
    present = sorted({code for one in found for code in one})
    rows = []
    for index, (entry, one) in enumerate(zip(chapter.entries, found, strict=True)):
        parts, left = [], 0.0
        for code in present:
            width = 100 * one.get(code, 0.0)
            if width:
                parts.append(_segment(code, left, width, _items(code, number, index)))
            left += width
        brittle = sum(value for code, value in one.items() if CLASSES[code].group == "brittle")
        words = f"{entry.label}: " + ", ".join(f"{CLASSES[code].name} {100 * value:.1f}" for code, value in one.items())
        rows.append(row(entry.label, f"{100 * brittle:.1f} brittle", strip(30, *parts, label=words)))
    legend = [el("span", _swatch(code), f"{CLASSES[code].name}: {CLASSES[code].group}", class_="key") for code in present]
    data = [
        [entry.label, *(link(f"{100 * one.get(code, 0):.1f}", **_items(code, number, index)) for code in present)]
        for index, (entry, one) in enumerate(zip(chapter.entries, found, strict=True))
    ]
    averaged = "" if chapter.average == "mean over items" else f" The headline is a {chapter.average}, so it may differ."
    return figure(
        "In which order does the model put the three captions?",
        "c the caption, p the reworded one, n the wrong one. Right: n is last. Brittle (striped): n stands between the "
        f"two right ones. Wrong: n is first. Shares of items in percent.{averaged}",
        el("div", *rows, axis(TICKS), el("p", *legend, class_="legend"), class_="rows"),
        table(["model", *(CLASSES[code].name for code in present)], data),
    )


def _items(code: int, chapter: int, run: int) -> dict[str, object]:
    """The filter of the gallery that shows a class: one with words of its own where there is one."""
    outcome = next((name for name, (_, codes) in OUTCOMES.items() if codes == [code]), "any")
    return {"chapter": chapter, "run": run, "outcome": outcome, "code": code}


def _swatch(code: int) -> Markup:
    return el("i", class_=f"swatch o{code} {CLASSES[code].group}")


def _segment(code: int, left: float, width: float, to: dict[str, object]) -> Markup:
    place: dict[str, object] = {"x": f"{left:.2f}%", "width": f"{width:.2f}%", "y": 2, "height": 26}
    parts = [el("rect", el("title", f"{CLASSES[code].name}: {width:.1f}"), class_=f"o{code}", **place)]
    if CLASSES[code].group == "brittle":  # striped, for those who do not see the colour
        parts.append(el("rect", fill="url(#stripes)", class_="stripes", **place))
    if width > 4:
        parts.append(
            el("text", f"{width:.0f}", x=f"{left + width / 2:.2f}%", y=20, text_anchor="middle", class_="inside")
        )
    return link(Markup("").join(parts), **to)


# ---------------------------------------------------------------------------- tags


def by_tag(chapter: Chapter, number: int, tag: str) -> Markup | None:
    """Brittleness of each value of a tag; where every model has it, the largest groups first."""
    size = {value: max(entry.by[tag][value].n for entry in chapter.entries if value in entry.by.get(tag, {})) for value in chapter.values(tag)}  # fmt: skip
    known = {
        value
        for value in size
        for entry in chapter.entries
        if (numbers := entry.by.get(tag, {}).get(value)) and numbers.brittleness is not None
    }
    values = sorted((value for value in size if value in known), key=lambda value: (-size[value], value))
    if len(values) < 2:
        return None
    high = _top(
        numbers.brittleness or 0
        for entry in chapter.entries
        for value in values[:MOST_VALUES]
        if (numbers := entry.by.get(tag, {}).get(value))
    )
    ticks = [0, high / 2, high]
    rows = []
    for value in values[:MOST_VALUES]:
        height = 6 + 13 * len(chapter.entries)
        marks = [line(x, x, 0, height, "grid") for x in (0, 50, 100)]
        for index, entry in enumerate(chapter.entries):
            numbers = entry.by.get(tag, {}).get(value)
            if numbers is None or numbers.brittleness is None:
                continue
            shape, colour = model_mark(index)
            y = 9.0 + 13 * index
            if interval := numbers.intervals.get("brittleness"):
                marks.append(line(*(min(100.0, 10_000 * end / high) for end in interval), y, y, f"spread {colour}"))
            words = f"{entry.label}, {printable(value)}: {percent(numbers, 'brittleness')}"
            marks.append(at(10_000 * numbers.brittleness / high, y, shape, colour, words))
        name = link(printable(value), chapter=number, run=0, outcome="brittle", **_place(chapter, tag, value))
        plot = strip(height, *marks, label=f"Brittleness where {tag} is {printable(value)}")
        rows.append(row(name, f"n {size[value]:,}", plot))
    left_out = len(values) - MOST_VALUES
    more = f" The {MOST_VALUES} largest groups; {left_out} more are in the table." if left_out > 0 else ""
    data = [
        [f"{printable(value)} (n {size[value]:,})", *(_tag_cell(chapter, number, tag, value, index) for index in range(len(chapter.entries)))]
        for value in values
    ]  # fmt: skip
    return figure(
        f"Where is it brittle? By {printable(tag)}",
        f"Brittleness in percent, lower is better. Thin lines: 95% intervals.{more}",
        el("div", *rows, axis(ticks, 0, high), legend_of(chapter), class_="rows"),
        table([printable(tag), *(entry.label for entry in chapter.entries)], data),
    )


def _tag_cell(chapter: Chapter, number: int, tag: str, value: str, index: int) -> object:
    numbers = chapter.entries[index].by.get(tag, {}).get(value)
    if numbers is None or numbers.brittleness is None:
        return "-"
    to = {"chapter": number, "run": index, "outcome": "brittle"} | _place(chapter, tag, value)
    return link(percent(numbers, "brittleness"), **to)


def _place(chapter: Chapter, tag: str, value: str) -> dict[str, int]:
    """Tag and value by their numbers, as the gallery has them."""
    return {"tag": chapter.tags().index(tag), "value": chapter.values(tag).index(value)}


def _top(values: Iterable[float]) -> float:
    """The end of an axis: the next multiple of 20 percent above all values."""
    return float(min(100, 20 * (int(100 * max(values, default=0) * 1.1 // 20) + 1)))


def legend_of(chapter: Chapter) -> Markup:
    return el("p", *(key(*model_mark(index), entry.label) for index, entry in enumerate(chapter.entries)), class_="legend")


# ---------------------------------------------------------------------------- the plane


def plane(chapter: Chapter) -> Markup:
    """Accuracy and Brittleness together: a model may buy the one with the other."""
    given: list[tuple[str, float, float, str, str, Numbers | None]] = []
    for index, entry in enumerate(chapter.entries):
        if entry.numbers.original is not None and entry.numbers.brittleness is not None:
            shape, colour = model_mark(index)
            given.append((entry.label, entry.numbers.original, entry.numbers.brittleness, shape, colour, entry.numbers))
    if {"original", "brittleness"} <= set(chapter.chance):
        given.append(("chance", chapter.chance["original"], chapter.chance["brittleness"], "cross", "plain", None))
    for point in chapter.points:
        given.append((printable(point.label), point.original, point.brittleness, "star", "plain", None))
    low = 10.0 * int(min(10 * x for _, x, *_ in given) - 0.3)
    low, high = max(0.0, low), min(100.0, 10.0 * (int(max(10 * x for _, x, *_ in given) + 0.3) + 1))
    top, height = _top(y for _, _, y, *_ in given), 300.0
    xs, ys = (lambda x: 100 * (100 * x - low) / (high - low)), (lambda y: height * (1 - 100 * y / top))
    marks = [el("rect", x=0, y=0, width="100%", height=height, class_="frame")]
    ticks = [low + (high - low) * part / 4 for part in range(5)]
    for tick in ticks[1:-1]:
        marks.append(line(xs(tick / 100), xs(tick / 100), 0, height, "grid"))
    for part in (0, 1, 2, 3, 4):
        y = height * part / 4
        marks.append(line(0, 100, y, y, "grid"))
        marks.append(el("text", f"{top * (1 - part / 4):g}", x=4, y=y - 4 if part else y + 13, class_="tick"))
    taken: list[tuple[float, float]] = []
    for label, x, y, shape, colour, numbers in given:
        if numbers is not None:
            for metric, flat in (("original", True), ("brittleness", False)):
                if interval := numbers.intervals.get(metric):  # type: ignore[call-overload]
                    ends = [xs(end) for end in interval] if flat else [ys(end) for end in interval]
                    marks.append(line(*ends, ys(y), ys(y), f"spread {colour}") if flat else line(xs(x), xs(x), *ends, f"spread {colour}"))  # fmt: skip
        marks.append(at(xs(x), ys(y), shape, colour, f"{label}: Original {100 * x:.1f}, Brittleness {100 * y:.1f}"))
        place = ys(y) - 9
        while any(abs(place - other) < 14 and abs(xs(x) - near) < 25 for near, other in taken):
            place -= 14
        taken.append((xs(x), place))
        end = xs(x) > 75
        dx = -8 if end else 8
        marks.append(el("text", label, x=f"{xs(x):.2f}%", dx=dx, y=place, text_anchor="end" if end else "start", class_="label"))  # fmt: skip
    plot = el("svg", *marks, class_="plane", width="100%", height=height, role="img", aria_label="Brittleness against Original accuracy")  # fmt: skip
    legend = [*(key(shape, colour, label) for label, _, _, shape, colour, _ in given)]
    sources = {printable(point.label): printable(point.source) for point in chapter.points}
    data = [[label, f"{100 * x:.1f}", f"{100 * y:.1f}", sources.get(label, "")] for label, x, y, *_ in given]
    return figure(
        "Accuracy bought with brittleness?",
        "Right and down is better: more accurate, less brittle. A model that moves right and up learnt that any change "
        "of words is wrong.",
        el("div", el("p", "↑ Brittleness, percent", class_="axis-name"), plot, axis(ticks, low, high), el("p", "Original accuracy, percent →", class_="axis-name end"), el("p", *legend, class_="legend"), class_="rows wide"),  # fmt: skip
        table(["", "Original", "Brittleness", "source"], data),
    )


# ---------------------------------------------------------------------------- scores


def distributions(chapter: Chapter) -> Markup:
    plots, data = [], []
    for entry in chapter.entries:
        values = {name: _finite(getattr(entry.run.outcomes, name)) for name in PARTS}
        low, high = _range(values.values())
        counts = {name: np.histogram(np.clip(found, low, high), BINS, (low, high))[0] / max(1, len(found)) for name, found in values.items()}  # fmt: skip
        most = max(float(count.max()) for count in counts.values()) or 1.0
        curves = [_steps(counts[name] / most, name) for name in PARTS if len(values[name])]
        picture = el("svg", *curves, class_="curves", viewBox="0 0 100 100", preserveAspectRatio="none", width="100%", height=130, role="img", aria_label=f"Scores of {entry.label}")  # fmt: skip
        ends = el("p", el("span", f"{low:.3g}"), el("span", f"{high:.3g}"), class_="ends")
        plots.append(el("div", el("h4", entry.label), picture, ends, class_="small"))
        data += [
            [f"{entry.label}, {words}", f"{len(values[name]):,}", *_quantiles(values[name])]
            for name, words in PARTS.items()
        ]
    legend = [el("span", _sample(name), words, class_="key") for name, words in PARTS.items()]
    return figure(
        "How far apart are the scores?",
        "How many items get which score: where the three curves lie on each other, the model hardly tells the captions "
        "apart. Several positives or negatives of an item are averaged. Each model has its own scale.",
        el("div", el("div", *plots, class_="multiples"), el("p", *legend, class_="legend")),
        table(["", "n", "5%", "25%", "median", "75%", "95%"], data),
    )


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def _range(values: Iterable[np.ndarray]) -> tuple[float, float]:
    """From the lowest to the highest thousandth of all scores; what lies outside is put at the ends."""
    found = np.concatenate(list(values))
    if not len(found):
        return 0.0, 1.0
    low, high = (float(end) for end in np.quantile(found, [0.001, 0.999]))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _steps(heights: np.ndarray, name: str) -> Markup:
    width = 100 / len(heights)
    path = "".join(f"V{99 - 96 * height:.1f}H{(index + 1) * width:.1f}" for index, height in enumerate(heights))
    return el("path", d=f"M0 99{path}V99", class_=f"curve {name}")


def _sample(name: str) -> Markup:
    return el("svg", el("path", d="M0 7H26", class_=f"curve {name}"), width=26, height=14)


def _quantiles(values: np.ndarray) -> list[str]:
    if not len(values):
        return ["-"] * 5
    return [f"{value:.4g}" for value in np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])]
