"""equipoise study: people rank captions or read pairs of texts; their answers become the report's human point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.options import App, Bench, Seed
from equipoise.core.errors import UserError, printable

app = App(no_args_is_help=True, help="The human study: make questions, a page that asks them, score.")

Folder = Annotated[Path, typer.Argument(metavar="STUDY", help="folder of `study make`")]


@app.command()
def make(
    items: Bench,
    out: Path = typer.Option(..., help="new folder for the study"),
    n: int = typer.Option(100, "--n", min=1, help="how many questions"),
    seed: int = typer.Option(0, min=0, help="seed for the choice of items and orders"),
    ask: str = typer.Option("rank", help="rank: captions of a picture; pairs: the same meaning? grammar?"),
    source: Path | None = typer.Option(None, help="folder of the benchmark's annotation files"),
    images: Path | None = typer.Option(None, help="the images: a folder, tar or Parquet shards"),
) -> None:
    """Draw questions from items and copy their pictures. The other two commands need only this folder."""
    from equipoise.benchmarks import registry
    from equipoise.study.making import make_study

    if ask not in ("rank", "pairs"):
        raise UserError(f"--ask {ask}: expected rank or pairs")
    read, benchmark = registry.load(items, source)
    study = make_study(read, benchmark.name, out, n, seed, "rank" if ask == "rank" else "pairs", images)
    if study.texts_left_out:
        typer.echo(
            f"note: {study.texts_left_out:,} texts were left out by chance: a question holds at most nine", err=True
        )
    typer.echo(
        printable(
            f"{len(study.questions):,} questions in {out}; for each person: "
            f"equipoise study page {out} --annotator NAME --out NAME.html"
        )
    )


@app.command()
def page(
    study: Folder,
    annotator: str = typer.Option(..., help="name of the person; each gets their own order"),
    out: Path = typer.Option(..., help="the page to write, .html"),
) -> None:
    """Write an HTML page for one person, without a server. They answer it, download the answers and send them."""
    from equipoise.study.page import write_page
    from equipoise.study.questions import annotator_name, read_study

    size = write_page(study, read_study(study), annotator_name(annotator), out)
    typer.echo(
        printable(f"wrote {out} ({size / 1e6:.1f} MB); then: equipoise study score {study} ANSWERS.json ANSWERS.json")
    )


@app.command()
def score(
    study: Folder,
    answers: list[Path] = typer.Argument(..., help="the downloaded answers, one file per person"),
    points: Path | None = typer.Option(None, help="write a file for `report --points`"),
    as_json: bool = typer.Option(False, "--json", help="the whole record"),
    seed: Seed = 0,
) -> None:
    """Score the answers. A point only if both annotators are right, as in the papers; with intervals and agreement."""
    from equipoise.core.run_folder import write_own
    from equipoise.study.questions import read_answers, read_study
    from equipoise.study.score import as_text, human_point
    from equipoise.study.score import score as scored

    about = read_study(study)
    result = scored(about, read_answers(about, answers), seed)
    typer.echo(result.model_dump_json(indent=2) if as_json else printable(as_text(result), lines=True))
    if points is not None:
        text = json.dumps([human_point(result).model_dump(mode="json")], indent=2, ensure_ascii=False)
        write_own(points, f"{text}\n", '"source": "equipoise study ')
        typer.echo(printable(f"wrote {points}: equipoise report RUN... --points {points} --out report.html"), err=True)
