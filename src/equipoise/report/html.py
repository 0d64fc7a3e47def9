"""Parts of pages and figures: HTML and SVG as safe strings, marks that differ in shape as well as in colour,
templates, and the policy that lets a page run its own script only.

Positions along x are percentages, so a figure is as wide as its place and its text is never scaled: a phone and a
printed page get the same letters.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

MARKS = {  # shape: its path around 0, 0; models take them in this order
    "circle": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "square": "M-4.5-4.5h9v9h-9z",
    "triangle": "M0-5.5L5.5 4.5h-11z",
    "diamond": "M0-6L6 0L0 6L-6 0z",
    "wedge": "M0 5.5L5.5-4.5h-11z",
    "cross": "M-5-5L5 5M-5 5L5-5",
    "star": "M0-7L1.8-2.2L6.7-2.2L2.7 .9L4.1 5.7L0 2.8L-4.1 5.7L-2.7 .9L-6.7-2.2L-1.8-2.2z",
}
_MODELS = ("circle", "square", "triangle", "diamond", "wedge")
COLOURS = 6  # .m0 to .m5 in report.css; with five shapes, thirty models before a mark comes again


def el(tag: str, *children: object, **attributes: object) -> Markup:
    """An element; all that is not Markup is escaped. `class_` and `stroke_width` are written as HTML has them."""
    named = "".join(
        f' {escape(name.rstrip("_").replace("_", "-"))}="{escape(_number(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{named}>{''.join(escape(child) for child in children)}</{tag}>")


def _number(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def at(x: float, y: float, shape: str, class_: str, title: str = "") -> Markup:
    """A mark at x percent and y pixels."""
    children = [el("title", title)] if title else []
    path = el("path", *children, d=MARKS[shape], class_=f"mark {class_}")
    return el("svg", path, x=f"{x:.2f}%", y=y, overflow="visible")


def line(x: tuple[float, float], y: tuple[float, float], class_: str) -> Markup:
    """A line; x in percent, y in pixels."""
    (x1, x2), (y1, y2) = x, y
    return el("line", x1=f"{x1:.2f}%", x2=f"{x2:.2f}%", y1=y1, y2=y2, class_=class_)


def strip(height: float, *children: object, label: str) -> Markup:
    """One row of a figure, as wide as its place."""
    return el("svg", *children, class_="strip", width="100%", height=height, role="img", aria_label=label)


def model_mark(number: int) -> tuple[str, str]:
    """Shape and colour class of the model with this number."""
    return _MODELS[number % len(_MODELS)], f"m{number % COLOURS}"


def key(shape: str, class_: str, *words: object) -> Markup:
    mark = el("svg", el("path", d=MARKS[shape], class_=f"mark {class_}"), width=16, height=14, viewBox="-8 -7 16 14")
    return el("span", mark, *words, class_="key")


def figure(title: str, how: object, plot: object, table: object, wide: bool = False) -> Markup:
    """A figure, what to see in it, and its data."""
    data = el("details", el("summary", "The numbers of this figure"), el("div", table, class_="scroll"), class_="data")
    head = el("figcaption", el("h3", title), el("p", how))
    return el("figure", head, el("div", plot, class_="plot"), data, class_="wide" if wide else None)


def link(text: object, **to: object) -> Markup:
    """A number that leads to the items behind it."""
    named = {f"data_{name}": value for name, value in to.items() if value is not None}
    return el("a", text, href="#gallery", class_="to", **named)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in header)))
    body = [el("tr", el("th", first, scope="row"), *(el("td", cell) for cell in rest)) for first, *rest in rows]
    return el("table", head, el("tbody", *body))


def row(name: object, values: object, plot: Markup) -> Markup:
    return el("div", el("span", name, class_="name"), el("span", values, class_="values"), plot, class_="row")


def axis(ticks: Sequence[float], low: float = 0, high: float = 100) -> Markup:
    """The numbers below the rows."""
    return row("", "", scale(ticks, low, high))


def scale(ticks: Sequence[float], low: float, high: float) -> Markup:
    """The numbers of an axis; the outermost stay inside."""
    anchors = ["start", *["middle"] * (len(ticks) - 2), "end"]
    texts = [
        el("text", f"{tick:g}", x=f"{100 * (tick - low) / (high - low):.2f}%", y=12, text_anchor=anchor)
        for tick, anchor in zip(ticks, anchors, strict=True)
    ]
    return el("svg", *texts, class_="strip axis", width="100%", height=16, aria_hidden="true")


def top(values: Iterable[float]) -> float:
    """The end of an axis for some fractions: the next multiple of 20 percent above all of them."""
    return float(min(100, 20 * (int(100 * max(values, default=0) * 1.1 // 20) + 1)))


XY = tuple[float, float]


def visible(points: Iterable[XY]) -> Iterable[XY]:
    """The lowest and highest point per pixel: a long run gives a small file and keeps its peaks."""
    for _, column in groupby(points, key=lambda point: int(point[0])):
        by_height = sorted(column, key=lambda point: point[1])
        yield from sorted((by_height[0], by_height[-1]))  # a single point comes twice and is drawn as a dot


def ticks(values: Sequence[float], least: float = 0.0, about: int = 8) -> list[float]:
    """About so many round numbers that span the values, at least `least` apart."""
    low, high = min(values), max(values)
    if high - low < 1e-9 * max(abs(low), abs(high), 1.0):
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = max(least, next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999))
    return [round(index * step, 12) for index in range(math.floor(low / step), math.ceil(high / step) + 1)]


def policy(script: str, remote: bool) -> str:
    """A page may run its own script and nothing else; a page of `equipoise view` may ask its own server."""
    own = " 'self'; connect-src 'self'" if remote else ""
    return f"default-src 'none'; img-src data:{own}; style-src 'unsafe-inline'; script-src '{digest(script)}'"


@functools.cache  # a server of pages compiles each once, and not at every request
def templates(package: str) -> Environment:
    """The templates of a room: text is escaped, and a name that is missing is an error."""
    environment = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["code"] = _code
    return environment


def _code(text: str) -> Markup:
    """Words between backticks, as the terminal has them, as HTML's code; everything escaped."""
    parts = re.split(r"`([^`]+)`", text)
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if place % 2 else part for place, part in enumerate(parts))


def page_part(name: str, room: str = "report") -> str:
    return resources.files(f"equipoise.{room}").joinpath("templates", name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The script's hash for the Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
