"""equipoise study: people rank captions or read pairs of texts; their answers become the report's human line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.options import App, split_names
from equipoise.errors import UserError, printable

app = App(no_args_is_help=True, help="The human study: make, serve, page, import, score, export.")

Folder = Annotated[Path, typer.Argument(metavar="STUDY", help="folder of `study make`")]


@app.command()
def make(
    items: Annotated[str, typer.Argument(help="a benchmark of `bench list`, an items file, or py:module:name")],
    out: Annotated[Path, typer.Option(help="folder of the study, new")],
    n: Annotated[int, typer.Option("--n", min=1, help="how many questions")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="by which items and orders are drawn")] = 0,
    ask: Annotated[str, typer.Option(help="rank: captions of a picture; pairs: the same meaning? grammar?")] = "rank",
    source: Annotated[Path | None, typer.Option(help="folder of the benchmark's annotation files")] = None,
    images: Annotated[Path | None, typer.Option(help="the images: a folder, tar or Parquet shards")] = None,
) -> None:
    """Draw questions from Items. Their pictures are copied: a folder that can be served, mailed and scored."""
    from equipoise import registry
    from equipoise.study.making import make_study

    if ask not in ("rank", "pairs"):
        raise UserError(f"--ask {ask}: expected rank or pairs")
    read, benchmark = registry.load(items, source)
    study = make_study(read, benchmark.name, out, n, seed, "rank" if ask == "rank" else "pairs", images)
    if study.texts_left_out:
        typer.echo(
            f"note: {study.texts_left_out:,} texts were left out by chance: a question holds at most nine", err=True
        )
    typer.echo(printable(f"{len(study.questions):,} questions in {out}; ask people: equipoise study serve {out}"))


@app.command()
def serve(
    study: Folder,
    host: Annotated[str, typer.Option(help="another than this machine asks for a token")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free")] = 8765,
) -> None:
    """Ask in a browser. Every answer is on the disk before the next question; Ctrl-C ends, the same command goes on."""
    from equipoise.study.server import StudyServer

    with StudyServer(study, host, port) as server:
        typer.echo(printable(f"open {server.url}  (Ctrl-C ends; nothing that was answered is lost)"))
        if server.token is not None:
            typer.echo(
                "warning: answers and token travel unencrypted; outside a trusted network use an SSH tunnel", err=True
            )
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:  # the way it is meant to end
            given = server.store.answers()
            counts = ", ".join(f"{name} {len(one):,}" for name, one in sorted(given.items())) or "none yet"
            typer.echo(printable(f"\nended; answers kept: {counts}"))


@app.command()
def page(
    study: Folder,
    annotator: Annotated[str, typer.Option(help="for whom: each sees an order of their own")],
    out: Annotated[Path, typer.Option(help="the page to write and to mail, .html")],
) -> None:
    """One HTML file that needs no server. Its reader answers, downloads the answers and sends them back."""
    from equipoise.study.page import write_file_page
    from equipoise.study.questions import annotator_name, read_study

    size = write_file_page(study, read_study(study), annotator_name(annotator), out)
    typer.echo(
        printable(f"wrote {out} ({size / 1e6:.1f} MB); their answers: equipoise study import {study} ANSWERS.json")
    )


@app.command("import")
def import_(
    study: Folder, answers: Annotated[list[Path], typer.Argument(help="what the page without a server made")]
) -> None:
    """Take in answers that came by mail. The same file twice adds nothing."""
    from equipoise.study.importing import import_answers
    from equipoise.study.questions import read_study
    from equipoise.study.store import Store

    about = read_study(study)
    store = Store(study, about.digest)
    for path in answers:
        name, count, new = import_answers(about, store, path)
        typer.echo(printable(f"{path}: {count:,} answers of {name}, {new:,} new"))
    store.close()


@app.command()
def score(
    study: Folder,
    annotators: Annotated[str, typer.Option(help="only these, separated by commas")] = "",
    points: Annotated[Path | None, typer.Option(help="write people as a point for `report --points`")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="the whole record")] = False,
    seed: Annotated[int, typer.Option(min=0, help="of the bootstrap")] = 0,
) -> None:
    """The papers' human estimate, and how far annotators agree. A point only if both are right; with intervals."""
    from equipoise.run_folder import write_own
    from equipoise.study.questions import annotator_name, read_study
    from equipoise.study.score import human_point
    from equipoise.study.score import score as scored
    from equipoise.study.store import open_answers
    from equipoise.study.words import in_words

    about = read_study(study)
    names = [annotator_name(name) for name in split_names(annotators)]
    found = scored(about, open_answers(study, about.digest), names, seed)
    typer.echo(found.model_dump_json(indent=2) if as_json else printable(in_words(found), lines=True))
    if points is not None:
        text = json.dumps([human_point(found).model_dump(mode="json")], indent=2, ensure_ascii=False)
        write_own(points, f"{text}\n", '"source": "equipoise study ')
        typer.echo(printable(f"wrote {points}: equipoise report RUN... --points {points} --out report.html"), err=True)


@app.command()
def export(
    study: Folder,
    to: Annotated[str, typer.Option(help="label-studio or potato")],
    out: Annotated[Path, typer.Option(help="folder to write")],
) -> None:
    """The same questions for another annotation tool."""
    from equipoise.study.exporting import export_study
    from equipoise.study.questions import read_study
    from equipoise.study.store import Store

    about = read_study(study)
    store = Store(study, about.digest)
    for line in export_study(study, about, store.answers(), to, out):
        typer.echo(printable(line))
    store.close()
