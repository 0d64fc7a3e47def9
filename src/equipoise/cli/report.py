"""equipoise report: tables, an HTML page and exports of finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.options import TABLES, form_name
from equipoise.core.errors import UserError, printable
from equipoise.report import Format

PageFormat = Annotated[str, typer.Option("--format", help=f"html, or a table: {', '.join(TABLES)}")]
EXPORTS = ("eval-results", "every-eval-ever")
AsJson = Annotated[bool, typer.Option("--json", help="the table as a list of objects")]


def report(
    runs: list[Path] = typer.Argument(..., help="run folders, folders of runs, or logs of a harness"),
    out: Path | None = typer.Option(None, help="file to write; tables are printed without it"),
    images: Path | None = typer.Option(None, help="a folder, tar or Parquet shards; default: as in the runs"),
    points: Path | None = typer.Option(None, help="JSON file with other numbers (people, a paper): rows of the table"),
    title: str | None = typer.Option(None, help="heading of the page, e.g. the name of your benchmark"),
    about: str | None = typer.Option(None, help="a paragraph below the title: what is ranked, and by whom"),
    seed: int = typer.Option(0, min=0, help="seed for the choice of items"),
    figure: str | None = typer.Option(None, help="one figure of the page alone, as .svg or .png: plane"),
    form: PageFormat = "html",
    as_json: AsJson = False,
    to: str | None = typer.Option(None, help=f"files for another tool instead, below --out: {', '.join(EXPORTS)}"),
    model: str | None = typer.Option(None, help="with --to: ORGANISATION/NAME of the model; default: from its spec"),
    by: str = typer.Option("unknown", help="with --to every-eval-ever: who measured"),
    dataset: str | None = typer.Option(
        None, help="with --to eval-results: ORGANISATION/NAME of the dataset on the hub"
    ),
) -> None:
    """Write one HTML page with figures, tables and items. It works offline and can be mailed.

    With --title and --about it is a leaderboard to publish: chance and the best text-only baseline are rows of it.

    With three or more models, those that share a letter in a column do not differ significantly.
    """
    if to is not None:
        from equipoise.report.exports import export

        for line in export(runs, to, out or Path(), model, by, dataset):
            typer.echo(printable(line))
        return
    if figure is not None:
        from equipoise.report.chapters import read_chapters, read_points
        from equipoise.report.tradeoff import check_drawing, write_drawing

        out = check_drawing(figure, out)
        write_drawing(out, read_chapters(runs, read_points(points) if points else ()))
        typer.echo(printable(f"open {out}"))
        return
    from equipoise.data.images import open_source
    from equipoise.evaluation.results import find_runs, read_run
    from equipoise.report.answering import AnsweringRun, write_card
    from equipoise.report.chapters import lines, read_chapters, read_points
    from equipoise.report.page import check_page, report_page, write_page
    from equipoise.report.tables import render, result_rows
    from equipoise.report.tradeoff import with_retention

    table = None if form == "html" and not as_json else form_name(form, as_json, "html")  # None: the page
    if table is None and out is None and len(runs) > 1 and runs[-1].suffix in {".html", ".htm"}:
        *runs, out = runs
    if table is None:
        check_page(out)
    if table is not None and images is not None:
        raise UserError("--images is for the page; a table has none (--format html)")
    if table is not None and (title or about):
        raise UserError("--title and --about are for the page (--format html)")
    if images is not None:
        open_source(images)  # a wrong path is refused before anything is read
    if table is None and out is not None and not any([*run.rglob("result.json")] for run in runs):
        from equipoise.published.logs.reading import read_logs
        from equipoise.published.measuring import log_runs

        if (logs := read_logs(runs)) is not None:
            write_card(out, [AnsweringRun(run.record, run.rows) for run in log_runs(logs[0])], title, seed, images)
            typer.echo(printable(f"open {out}"))
            return
    held = find_runs(runs)
    records = [record for _, record in held]
    if table is None and out is not None and all(record.of_answers for record in records):
        write_card(out, [AnsweringRun(*read_run(folder), folder) for folder, _ in held], title, seed, images)
        typer.echo(printable(f"open {out}"))
        return
    sets = [record for record in records if record.kind != "items"]
    if table is None or len(sets) < len(records):
        chapters = read_chapters(runs, read_points(points) if points else ())
    else:  # a table of retrieval, classification or ratings alone
        chapters = []
    if table is None:
        assert out is not None
        chapters = with_retention(chapters, runs)
        write_page(out, report_page(chapters, images, title, about), seed)
        typer.echo(printable(f"open {out}"))
        return
    averages = dict.fromkeys(chapter.average for chapter in chapters)
    rows = [*lines(chapters), *(line for record in sets for line in result_rows(record))]
    caption = f"percent [95% interval, images resampled]; {', '.join(averages)}"
    if any(line.letters for line in rows):
        caption += (
            "\nmodels that share a letter do not differ significantly (every pair tested, Holm's correction within a "
            "column), a is the best; letters hold for this list of models"
        )
    if any(line.reported for line in rows):
        caption += "\n(reported): by others, without the items behind it, so in no group"
    _put(render(rows, table, caption), out, table)


_COMMENTS = {"md": "<!-- equipoise report -->", "latex": "% equipoise report"}  # csv and json have none


def _put(text: str, out: Path | None, form: Format) -> None:
    """A table, printed or written; written with a mark where the format has comments, so that it can be replaced."""
    if out is None:
        typer.echo(text)
        return
    from equipoise.core.run_folder import write_own

    mark = _COMMENTS.get(form, "")
    write_own(out, f"{mark}\n{text}\n" if mark else f"{text}\n", mark)
