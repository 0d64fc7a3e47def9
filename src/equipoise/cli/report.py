"""`equipoise report` and `equipoise board`: what people look at, from finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.options import form_name
from equipoise.errors import UserError, printable
from equipoise.report import FORMATS, Format

PageFormat = Annotated[str, typer.Option("--format", help=f"html, or a table: {', '.join(FORMATS)}")]
AsJson = Annotated[bool, typer.Option("--json", help="the same as --format json")]


def report(
    runs: Annotated[list[Path], typer.Argument(help="run folders, or folders of runs")],
    out: Annotated[Path | None, typer.Option(help="the page; tables are printed without it")] = None,
    images: Annotated[
        Path | None, typer.Option(help="the images: a folder, tar or Parquet shards; default: what the runs name")
    ] = None,
    points: Annotated[
        Path | None, typer.Option(help="JSON of numbers from elsewhere (people, a blind baseline) for the plane")
    ] = None,
    standard: Annotated[
        list[Path] | None,
        typer.Option(
            help="folders of `equipoise standard`: what each model kept (retrieval, zero-shot) against composition. "
            "Those below RUN are found without it. May be repeated"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="by which items are chosen to be shown")] = 0,
    form: PageFormat = "html",
    as_json: AsJson = False,
) -> None:
    """One page to look at and to mail: figures, tables, items. Needs no network to read."""
    from equipoise.images.sources import open_source
    from equipoise.report.chapters import lines, read_chapters, read_points
    from equipoise.report.page import MARK, report_page, write_page
    from equipoise.report.retention import with_retention
    from equipoise.report.tables import render

    table = _table_format(form, as_json)
    if table is None:
        _check_page(out, "report.html", MARK)
    for_page = {"images": images, "points": points, "standard": standard}
    if table is not None and (given := [name for name, value in for_page.items() if value]):
        raise UserError(f"--{given[0]} is for the page; a table has none (--format html)")
    if images is not None:
        open_source(images)  # a wrong path is said before anything is read
    chapters = read_chapters(runs, read_points(points) if points else ())
    if table is None:
        assert out is not None
        chapters = with_retention(chapters, runs, standard or [])
        write_page(out, report_page(chapters, images), seed)
        typer.echo(printable(f"open {out}"))
        return
    averages = dict.fromkeys(chapter.average for chapter in chapters)
    text = render(lines(chapters), table, f"percent [95% interval, images resampled]; {', '.join(averages)}")
    _put(text, out, table, "report")


def board(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...]",
            help="run folders, or folders of runs. Seeds of one configuration are joined by commas: ours_s0,ours_s1",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the page; tables are printed without it")] = None,
    published: Annotated[
        list[Path] | None,
        typer.Option(help="numbers that others reported: JSON, or a CSV of vl_compo (docs/board.md). May be repeated"),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REPORTED=RUN",
            help="a reported model and the run that it is, where names do not say it. Repeatable",
        ),
    ] = None,
    average: Annotated[str | None, typer.Option("--average", help="rule of the numbers, of `bench show`")] = None,
    correct: Annotated[
        str, typer.Option(help="p-values of many tests: holm (no false finding) or fdr (few of the findings false)")
    ] = "holm",
    seed: Annotated[int, typer.Option(min=0, help="of the tests")] = 0,
    form: PageFormat = "html",
    as_json: AsJson = False,
) -> None:
    """A leaderboard of many runs.

    Groups that cannot be told apart in place of ranks, reported numbers beside ours.
    """
    from equipoise.board.page import MARK, write_board
    from equipoise.board.reported import read_reported
    from equipoise.board.standings import build_board
    from equipoise.board.tables import render_board

    table = _table_format(form, as_json)
    if table is None:
        _check_page(out, "board.html", MARK)
    pairs: dict[str, str] = {}
    for text in same or []:
        name, equals, run = text.rpartition("=")
        if not (equals and name and run):
            raise UserError(f"--same {text}: expected REPORTED=RUN, as in 'NegCLIP coco-ft=negclip'")
        pairs[name] = run
    found = build_board(runs or [], read_reported(published or []), pairs, average, correct, seed)
    if table is None:
        assert out is not None
        write_board(out, found)
        typer.echo(printable(f"open {out}"))
        return
    _put(render_board(found, table), out, table, "board")


def _table_format(form: str, as_json: bool) -> Format | None:
    """None is the page."""
    if as_json:
        return "json"
    return form_name(form, "html") if form != "html" else None


def _check_page(out: Path | None, example: str, mark: str) -> None:
    """Refused before anything is read: a page without a name, under another's ending, or over a user's file."""
    if out is None:
        raise UserError(f"--out: name the page to write, for instance --out {example}")
    if out.suffix.lower() not in {".html", ".htm"}:
        raise UserError(f"--out {out}: the page is HTML; name a file that ends in .html, or a table with --format")
    from equipoise.run_folder import refuse_foreign

    refuse_foreign(out, mark)


_COMMENTS = {"md": "<!-- equipoise {} -->", "latex": "% equipoise {}"}  # csv and json have none


def _put(text: str, out: Path | None, form: Format, command: str) -> None:
    """A table, printed or written; written with a mark where the format has comments, so that it can be replaced."""
    if out is None:
        typer.echo(text)
        return
    from equipoise.run_folder import write_own

    mark = _COMMENTS.get(form, "").format(command)
    write_own(out, f"{mark}\n{text}\n" if mark else f"{text}\n", mark)
