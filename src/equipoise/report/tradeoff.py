"""Scatter plots of two numbers between which a model may trade.

Accuracy and brittleness; composition and what a model kept (retrieval, zero-shot classification, ratings).
The first is also written as a file of its own: SVG, or PNG where cairosvg is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from equipoise.core.errors import UserError, printable
from equipoise.core.files import atomic_write, plain_target, sha256_json
from equipoise.core.run_folder import refuse_file, refuse_foreign, write_own
from equipoise.data.identity import of_card
from equipoise.evaluation.comparing.folders import compare_sets
from equipoise.evaluation.metrics import METRICS, info
from equipoise.evaluation.record import Change, Interval, ModelCard, RunRecord
from equipoise.evaluation.results import find_runs
from equipoise.report.chapters import Chapter
from equipoise.report.comparison import points
from equipoise.report.html import COLOURS, MARKS, at, axis, el, figure, key, line, model_mark, scale, table, top
from equipoise.report.tables import percent

HEIGHT = 300.0
ACROSS, UP = "original", "brittleness"  # the metrics of the two axes
NAMES = ("Original accuracy", "Brittleness")


@dataclass(frozen=True)
class Mark:
    """Something in the plane; fractions."""

    label: str
    x: float
    y: float
    shape: str
    colour: str
    spread: tuple[Interval | None, Interval | None] = (None, None)
    source: str = ""

    def words(self, names: tuple[str, str]) -> str:
        return f"{self.label}: {names[0]} {100 * self.x:.1f}, {names[1]} {100 * self.y:.1f}"


def plane(chapter: Chapter) -> Markup:
    """Every model, chance, and the points that were given: people, a blind baseline."""
    marks = _marks(chapter)
    data = [[mark.label, f"{100 * mark.x:.1f}", f"{100 * mark.y:.1f}", mark.source] for mark in marks]
    return figure(
        "Is accuracy bought with brittleness?",
        "Right and down is better: more accurate, less brittle. A model that moved right and up learnt that any change "
        "of words is wrong. Lines: 95% intervals.",
        scatter(marks, NAMES),
        table(["", "Original", "Brittleness", "source"], data),
    )


def scatter(marks: Sequence[Mark], names: tuple[str, str], least: float = 0.0) -> Markup:
    """The marks with both axes, what they are called, and a legend; y begins at `least` percent."""
    ticks, ends = _frame(marks, least)
    legend = [key(mark.shape, mark.colour, mark.label) for mark in marks]
    parts = [
        el("p", f"↑ {names[1]}, percent", class_="axis-name"),
        _plot(marks, ticks, ends, names),
        axis(ticks, ticks[0], ticks[-1]),
        el("p", f"{names[0]}, percent →", class_="axis-name end"),
        el("p", *legend, class_="legend"),
    ]
    return Markup("").join(parts)


def _frame(marks: Sequence[Mark], least: float = 0.0) -> tuple[list[float], tuple[float, float]]:
    """The ticks across, and both ends of y; percent."""
    flat = [end for mark in marks for end in (mark.x, *_ends(mark.spread[0]))]
    steep = [end for mark in marks for end in (mark.y, *_ends(mark.spread[1]))]
    low = max(0.0, 10.0 * int(10 * min(flat) - 0.3))
    high = min(100.0, 10.0 * (int(10 * max(flat) + 0.3) + 1))
    step = 10 if high - low <= 60 else 20
    if (high - low) % step:  # every tick as far from the next: no 80, 90 after 60
        low, high = (low, high + 10) if high < 100 else (low - 10, high)
    return [*range(int(low), int(high), step), high], (least, top(steep))


def _ends(interval: Interval | None) -> tuple[float, ...]:
    """The frame that a mark's line needs."""
    return () if interval is None else (interval.low, interval.high)


def _marks(chapter: Chapter) -> list[Mark]:
    marks = []
    for index, entry in enumerate(chapter.entries):
        x, y = entry.numbers[ACROSS], entry.numbers[UP]
        if x is not None and y is not None:
            spread = (entry.numbers.interval(ACROSS), entry.numbers.interval(UP))
            marks.append(Mark(entry.label, x, y, *model_mark(index), spread))
    if {ACROSS, UP} <= set(chapter.chance):
        marks.append(Mark("chance", chapter.chance[ACROSS], chapter.chance[UP], "cross", "plain"))
    for point in chapter.points:
        if {ACROSS, UP} <= set(point.metrics):
            label, x, y = printable(point.label), point.metrics[ACROSS], point.metrics[UP]
            spread = (point.intervals.get(ACROSS), point.intervals.get(UP))
            marks.append(Mark(label, x, y, "star", "plain", spread, printable(point.source)))
    return marks


def _plot(marks: Sequence[Mark], ticks: Sequence[float], ends: tuple[float, float], names: tuple[str, str]) -> Markup:
    low, high = ticks[0], ticks[-1]
    least, most = ends

    def across(x: float) -> float:
        return 100 * (100 * x - low) / (high - low)

    def up(y: float) -> float:
        return HEIGHT * (1 - (100 * y - least) / (most - least))

    drawn = [line((across(tick / 100),) * 2, (0, HEIGHT), "grid") for tick in ticks]
    for part in range(5):
        y = HEIGHT * part / 4
        drawn.append(line((0, 100), (y, y), "grid"))
        drawn.append(el("text", f"{most - (most - least) * part / 4:g}", x=4, y=y - 4 if part else y + 13))
    for mark in marks:
        x, y, (flat, steep) = across(mark.x), up(mark.y), mark.spread
        if flat is not None:
            drawn.append(line((across(flat.low), across(flat.high)), (y, y), f"spread {mark.colour}"))
        if steep is not None:
            drawn.append(line((x, x), (up(steep.low), up(steep.high)), f"spread {mark.colour}"))
        drawn.append(at(x, y, mark.shape, mark.colour, mark.words(names)))
    drawn += _labels([(mark.label, across(mark.x), up(mark.y)) for mark in marks])
    words = "; ".join(mark.words(names) for mark in marks)
    return el("svg", *drawn, class_="plane", width="100%", height=HEIGHT, role="img", aria_label=words)


def _labels(places: Sequence[tuple[str, float, float]]) -> list[Markup]:
    """Names next to the marks, at the first of four places that is free; the legend has those for which none is.

    Letters are taken for 1.5 percent of the width, which is that of a figure on a desk; a phone has the legend alone.
    """
    taken = [(x - 1.5, x + 1.5, y - 7, y + 7) for _, x, y in places]
    placed = []
    for label, x, y in places:
        width = 1.5 * len(label)
        for anchor, dx, dy in (("start", 8, -8), ("end", -8, -8), ("start", 8, 17), ("end", -8, 17)):
            left = x + 1.6 if anchor == "start" else x - 1.6 - width
            box = (left, left + width, y + dy - 11, y + dy + 2)
            outside = left < 0 or left + width > 100 or box[2] < 0 or box[3] > HEIGHT
            if outside or any(
                box[0] < right and other < box[1] and box[2] < bottom and above < box[3]
                for other, right, above, bottom in taken
            ):
                continue
            taken.append(box)
            placed.append(el("text", label, x=f"{x:.2f}%", dx=dx, y=y + dy, text_anchor=anchor, class_="label"))
            break
    return placed


FIRST = {"classification": "accuracy@1", "retrieval": "text_to_image_recall@1", "ratings": "spearman"}  # what is drawn


@dataclass(frozen=True)
class RetentionRun:
    """One set of the models of a chapter: by the number of an entry, its folder and record."""

    title: str
    kind: str
    runs: dict[int, tuple[Path, RunRecord]]


def with_retention(chapters: Sequence[Chapter], folders: Sequence[Path]) -> list[Chapter]:
    """The chapters, each with a figure for every set (retrieval, classification, ratings) of its models below the
    folders. Whose run it is, the weights say; where they are not recorded, the spec does."""
    places = dict.fromkeys(folders)
    runs = [(place, record) for place, record in find_runs(list(places)) if record.kind in FIRST]
    if not runs:
        return list(chapters)
    known = {_identity(entry.run.records[0].model) for chapter in chapters for entry in chapter.entries}
    lost = [str(place) for place, record in runs if _identity(record.model) not in known]
    notes = [f"No run of the model, so not shown: {', '.join(lost)}."] if lost else []
    with_figures = []
    for chapter in chapters:
        figures = [retention(chapter, kept) for kept in _kept(chapter, runs)]
        drawn = [drawing for drawing in figures if drawing is not None]
        with_figures.append(replace(chapter, kept=drawn, notes=[*chapter.notes, *notes]))
    return with_figures


def _identity(card: ModelCard) -> str:
    return sha256_json(of_card(card.model_dump(mode="json", exclude={"device"})) or card.spec)


def _kept(chapter: Chapter, runs: Sequence[tuple[Path, RunRecord]]) -> list[RetentionRun]:
    sets: dict[tuple[str, str], RetentionRun] = {}
    for number, entry in enumerate(chapter.entries):
        wanted = _identity(entry.run.records[0].model)
        for place, record in runs:
            if record.kind in FIRST and _identity(record.model) == wanted:
                key = (record.kind, record.benchmark.items_sha256)
                title = f"{record.benchmark.name} ({record.kind})"
                sets.setdefault(key, RetentionRun(title, record.kind, {})).runs.setdefault(number, (place, record))
    return list(sets.values())


def retention(chapter: Chapter, kept: RetentionRun) -> Markup | None:
    """The plane of one set and composition; None where fewer than two models have both."""
    metric = "augmented" if any(entry.numbers["augmented"] is not None for entry in chapter.entries) else "original"
    first = FIRST[kept.kind]
    marks, rows = [], []
    shown = list(dict.fromkeys(name for _, record in kept.runs.values() for name in record.metrics.overall.metrics))
    base = min(kept.runs)
    for number, (place, record) in kept.runs.items():
        entry = chapter.entries[number]
        x, y = record.metrics.overall.metrics.get(first), entry.numbers[metric]
        if x is not None and y is not None:
            spread = (x.interval, entry.numbers.interval(metric))
            marks.append(Mark(entry.label, x.value, y, *model_mark(number), spread))
        changes = _changes(kept.runs[base][0], place) if number != base else {}
        cells = []
        for name in shown:
            value = percent(record.metrics.overall, name)
            cells.append(f"{value} {points(changes[name]).strip()}" if name in changes else value)
        rows.append([entry.label, *cells])
    if len(marks) < 2:
        return None
    label, task = printable(chapter.entries[base].label), info(first).title
    lowest = 100 * min(mark.y for mark in marks)
    least = float(20 * max(0, int(lowest * 0.9 // 20)))  # differences are small: not from 0
    return figure(
        f"What was kept? {printable(kept.title)}",
        f"Right: better at {task}, the ordinary task; up: better here. A model that moved up and left gained "
        f"composition and forgot. Lines: 95% intervals. The table has the change from {label}, paired over photos; ~ "
        "may be nothing.",
        scatter(marks, (f"{printable(kept.title)}: {task}", METRICS[metric].title), least),
        table(["model", *(info(name).title for name in shown)], rows),
    )


def _changes(before: Path, after: Path) -> dict[str, Change]:
    """Paired; nothing where the two were not asked the same."""
    try:
        return compare_sets("", "", "", [[before], [after]], 0).changes
    except UserError:
        return {}


FIGURES = ("plane",)
MARK = "<!-- equipoise report -->"
WIDTH, MARGIN, LINE = 640, 16, 18  # pixels


def check_drawing(name: str, out: Path | None) -> Path:
    """The path of a figure to write. Refused before anything is read."""
    if name not in FIGURES:
        raise UserError(f"--figure {name}: expected {', '.join(FIGURES)}")
    if out is None or out.suffix.lower() not in {".svg", ".png"}:
        raise UserError(f"--figure {name}: name a file that ends in .svg or .png, for instance --out {name}.svg")
    if out.suffix.lower() == ".svg":
        refuse_foreign(out, MARK)
        return out
    try:
        import cairosvg  # noqa: F401
    except (ImportError, OSError):  # OSError: the Cairo library is not there
        raise UserError(f"--out {out}: a PNG needs cairosvg: pip install cairosvg (or name a file .svg)") from None
    return out


def write_drawing(out: Path, chapters: Sequence[Chapter]) -> None:
    drawn = [chapter for chapter in chapters if any(entry.numbers[UP] is not None for entry in chapter.entries)]
    if len(drawn) != 1:
        titles = ", ".join(printable(chapter.title) for chapter in drawn) or "none"
        raise UserError(
            f"--figure plane: expected runs of one benchmark with hard positives, found {titles}. Name the folders of "
            "one benchmark alone"
        )
    text = drawing(drawn[0])
    if out.suffix.lower() == ".svg":
        write_own(out, text, MARK)
        return
    import cairosvg

    data: bytes = cairosvg.svg2png(bytestring=text.encode(), scale=2)
    if (target := plain_target(out)).exists() and target.read_bytes() not in (b"", data):
        refuse_file(out)
    with atomic_write(out, "wb") as handle:
        handle.write(data)


def drawing(chapter: Chapter) -> str:
    """The plane as on a page in daylight, with its legend below, a line for each mark."""
    marks = _marks(chapter)
    ticks, ends = _frame(marks)
    inner, base = WIDTH - 2 * MARGIN, HEIGHT + MARGIN + LINE + 6
    legend = []
    for number, mark in enumerate(marks):
        y = base + 16 + LINE * (number + 2)
        sign = el("path", d=MARKS[mark.shape], class_=f"mark {mark.colour}", transform=f"translate(8 {y - 4:g})")
        legend.append(el("g", sign, el("text", mark.label, x=22, y=y)))
    height = base + 16 + LINE * (len(marks) + 2)
    parts = [
        el("rect", width=WIDTH, height=height, class_="paper"),
        el("svg", _plot(marks, ticks, ends, NAMES), x=MARGIN, y=MARGIN + LINE, width=inner, height=HEIGHT),
        el("svg", scale(ticks, ticks[0], ticks[-1]), x=MARGIN, y=base, width=inner, height=16),
        el("text", f"↑ {NAMES[1]}, percent", x=MARGIN, y=MARGIN + 8),
        el("text", f"{NAMES[0]}, percent →", x=WIDTH - MARGIN, y=base + 16 + LINE - 4, text_anchor="end"),
        el("g", *legend, transform=f"translate({MARGIN} 0)"),
    ]
    size = {"width": WIDTH, "height": height, "viewBox": f"0 0 {WIDTH} {height:g}"}
    style = el("style", Markup(_style()))
    return f"{el('svg', Markup(MARK), style, *parts, xmlns='http://www.w3.org/2000/svg', **size)}\n"


def _style() -> str:
    """The page's colours, each written out: Cairo and Inkscape know no variables."""
    css = resources.files("equipoise.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    light = css[css.index(":root") : css.index("@media")]
    colours = dict(re.findall(r"--([\w-]+):(#\w+)", light))
    own = {f"m{number}": colours[f"m{number}"] for number in range(COLOURS)} | {"plain": colours["ink"]}
    marks = [f".mark.{name} {{ fill:{c} }} .spread.{name} {{ stroke:{c} }}" for name, c in own.items()]
    return "\n".join(
        [
            "svg { overflow:visible }",
            f".paper {{ fill:{colours['paper']} }} .grid {{ stroke:{colours['line']} }}",
            f'text {{ font:12px system-ui, "DejaVu Sans", sans-serif; fill:{colours["soft"]} }}',
            f"text.label {{ fill:{colours['ink']}; font-weight:600 }}",
            f".mark {{ stroke:{colours['paper']} }} .spread {{ stroke-width:2; opacity:.7 }}",
            *marks,
            f'path[d^="M-5-5"] {{ stroke:{colours["ink"]}; stroke-width:2.5 }}',
        ]
    )
