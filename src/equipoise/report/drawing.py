"""One figure of the page as a file of its own: SVG, or PNG where cairosvg is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from equipoise.core.errors import UserError, printable
from equipoise.core.files import atomic_write, plain_target
from equipoise.core.run_folder import refuse_file, refuse_foreign, write_own
from equipoise.report.chapters import Chapter
from equipoise.report.figures import has
from equipoise.report.plane import HEIGHT, NAMES, UP, frame, marks_of, plot
from equipoise.report.svg import COLOURS, MARKS, el, scale

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
    drawn = [chapter for chapter in chapters if has(chapter, UP)]
    if len(drawn) != 1:
        found = ", ".join(printable(chapter.title) for chapter in drawn) or "none"
        raise UserError(
            f"--figure plane: expected runs of one benchmark with hard positives, found {found}. Name the folders of "
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
    marks = marks_of(chapter)
    ticks, ends = frame(marks)
    inner, base = WIDTH - 2 * MARGIN, HEIGHT + MARGIN + LINE + 6
    legend = []
    for number, mark in enumerate(marks):
        y = base + 16 + LINE * (number + 2)
        sign = el("path", d=MARKS[mark.shape], class_=f"mark {mark.colour}", transform=f"translate(8 {y - 4:g})")
        legend.append(el("g", sign, el("text", mark.label, x=22, y=y)))
    height = base + 16 + LINE * (len(marks) + 2)
    parts = [
        el("rect", width=WIDTH, height=height, class_="paper"),
        el("svg", plot(marks, ticks, ends, NAMES), x=MARGIN, y=MARGIN + LINE, width=inner, height=HEIGHT),
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
