"""Tables for terminals and papers, figures, the HTML page, exports. Reads results, never models or torch."""

import csv
import io
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, get_args

from equipoise.core.errors import printable
from equipoise.core.verbs import make_callable

make_callable(__name__)

Format = Literal["text", "md", "latex", "csv", "json"]  # of a table
FORMATS: tuple[str, ...] = get_args(Format)
_WIDEST = 1000  # a table is as wide as its cells: a number that is cut off would be lost
_LEAST = 12  # characters that a column of words is folded to, no further
_BEGINS = re.compile(r"(?:\s+(?:[\d,]+\s+)?|- )?")
_COMMAND = re.compile(r"\s*(?:Next: )?equipoise ")
_INTERVAL = re.compile(r"(\S+) (\[[^\]]*\])(.*)")


def room() -> int | None:
    """Columns of the terminal that is written to. None for a file or a pipe: they get everything, always alike."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def columns_shown(widths: Sequence[int], least: int) -> int:
    """How many columns of a table fit a person's screen: the last ones go first, never the first `least`."""
    count, wide = len(widths), room()
    while wide is not None and count > least and sum(widths[:count]) + 1 > wide:
        count -= 1
    return count


def fold(text: str, hang: int | None = None) -> str:
    """The text with no line wider than a person's screen; what is folded stands below where its line's words begin.

    `hang` is that place where it is not after blanks and a number. Commands stay whole, to be copied.
    """
    wide, lines = room(), []
    for line in text.split("\n"):
        if wide is None or len(line) <= wide or _COMMAND.match(line):
            lines.append(line)
            continue
        place = len(_BEGINS.match(line)[0]) if hang is None else hang  # type: ignore[index]  # it matches everything
        below = " " * min(place, wide // 2)
        lines += textwrap.wrap(
            line, wide, subsequent_indent=below, drop_whitespace=True, break_on_hyphens=False, break_long_words=False
        )
    return "\n".join(lines)


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", words: Collection[int] = (0,)
) -> str:
    """A table for the terminal; the columns `words` hold words, the others numbers.

    Where the terminal is narrower, words are folded; then intervals stand below their numbers; then each row is a
    list of its own. Nothing is cut off.
    """
    head, cells = [printable(name) for name in header], [[printable(cell) for cell in row] for row in rows]
    wide = room() or _WIDEST
    under = [line for text in caption.splitlines() for line in _wrapped(printable(text), wide)]
    numbers = [place not in words for place in range(len(head))]
    below = [[_below(cell) if number else cell for cell, number in zip(row, numbers, strict=True)] for row in cells]
    for least, form in ((_WIDEST, cells), (_LEAST, cells), (_LEAST, below)):
        widths = [max(map(_width, column)) for column in zip(*form, strict=True)] or [0] * len(head)
        heads = head if least == _WIDEST else [_folded(*one) for one in zip(head, widths, strict=True)]
        widths = [max(_width(name), width) for name, width in zip(heads, widths, strict=True)]
        if (
            sum(w if number else min(w, least) for w, number in zip(widths, numbers, strict=True)) + 3 * len(head)
            < wide
        ):
            return "\n".join([_drawn(heads, form, words, wide), *under])
    return "\n".join([*_lists(head, cells, wide), *under])


def _below(cell: str) -> str:
    """The interval below its number; what follows it ("~", a drop, a name) stays next to the number."""
    return _INTERVAL.sub(r"\1\3\n\2", cell)


def _width(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


def _folded(name: str, width: int) -> str:
    return "\n".join(textwrap.wrap(name, max(width, *map(len, name.split())), break_on_hyphens=False)) if name else ""


def _wrapped(text: str, wide: int) -> list[str]:
    return textwrap.wrap(text, wide, break_long_words=False, break_on_hyphens=False) if len(text) > wide else [text]


def _drawn(header: Sequence[str], rows: Sequence[Sequence[str]], words: Collection[int], wide: int) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for place, name in enumerate(header):
        numbers = place not in words
        table.add_column(Text(name), justify="right" if numbers else "left", no_wrap=numbers, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # as Text: a tag like "[bold]" is a user's word, not markup
    output = io.StringIO()
    Console(file=output, width=wide, highlight=False).print(table)
    return "\n".join(line.rstrip() for line in output.getvalue().rstrip().split("\n"))


def _lists(header: Sequence[str], rows: Sequence[Sequence[str]], wide: int) -> list[str]:
    """Each row as lines of name and cell, an empty line after it."""
    side = max(map(_width, header))
    lines = []
    for row in rows:
        lines += [f"{name:{side}}  {cell}".rstrip() for name, cell in zip(header, row, strict=True)] + [""]
    return [part for line in lines for part in _wrapped(line, wide)]


def grid(form: Format, header: Sequence[str], cells: Sequence[Sequence[str]], caption: str) -> str:
    if form == "md":
        written = ["| " + " | ".join(map(markdown_cell, header)) + " |", "|" + " --- |" * len(header)]
        written += ["| " + " | ".join(markdown_cell(cell) for cell in row) + " |" for row in cells]
        return "\n".join([*written, "", *map(markdown_cell, caption.splitlines())] if caption else written)
    if form == "latex":
        return _latex(header, cells, caption)
    return text_table(header, cells, caption)


def csv_text(fields: Sequence[str], rows: Sequence[Mapping[str, object]]) -> str:
    output = io.StringIO()
    writer = csv.DictWriter(output, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: safe_cell(value) for name, value in row.items()} for row in rows)
    return output.getvalue().rstrip("\n")


_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}  # other signs in LaTeX's first encoding
)


_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def markdown_cell(text: str) -> str:
    """No HTML, no links (javascript: among them), no new cell: a tag is a user's word."""
    safe = printable(" ".join(text.split())).translate(_HTML).replace("](", "]\\(")
    return safe.replace("\\|", "\\&#124;").replace("|", "\\|")  # after a backslash \| would be a backslash and a cell


def safe_cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula gets the apostrophe that makes it text."""
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value)


def _latex(header: Sequence[str], cells: Sequence[Sequence[str]], caption: str) -> str:
    lines = [r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}", r"\toprule"]
    lines.append(_latex_row(header))
    lines.append(r"\midrule")
    lines += [_latex_row(row) for row in cells]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([f"% {printable(line)}" for line in caption.splitlines()] + lines)


def _latex_row(cells: Sequence[str]) -> str:
    """A row; braces around a sign that the \\\\ before it would take: \\\\[2pt] and \\\\* are commands."""
    written = [printable(cell.strip()).translate(_LATEX) for cell in cells]
    if written[0].startswith(("[", "*")):
        written[0] = f"{{{written[0][0]}}}{written[0][1:]}"
    return " & ".join(written) + r" \\"
