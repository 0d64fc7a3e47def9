"""equipoise export: a run in the formats of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.errors import UserError, did_you_mean, printable

FORMATS = ("clip-benchmark", "mteb", "eval-results", "every-eval-ever")


def export(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="run folders, or folders of runs")],
    to: Annotated[str, typer.Option(help=f"one of {', '.join(FORMATS)}")],
    out: Annotated[Path, typer.Option(help="folder for the files; a single file may be named itself")] = Path(),
    model: Annotated[
        str | None, typer.Option(help="what the model is called there, ORGANISATION/NAME; default: from its spec")
    ] = None,
    by: Annotated[str, typer.Option(help="who measured, for every-eval-ever")] = "unknown",
    dataset: Annotated[
        str | None, typer.Option(help="ORGANISATION/NAME of the hub's dataset these items are, for eval-results")
    ] = None,
) -> None:
    """A finished run in the format of another tool.

    CLIP_benchmark, mteb, the hub or Every Eval Ever (docs/exports.md).
    """
    from equipoise.evaluation.comparison import load_run
    from equipoise.evaluation.results import find_runs
    from equipoise.exports.base import Export, File, checked_model, model_id, write
    from equipoise.exports.clip_benchmark import clip_benchmark
    from equipoise.exports.eval_results import eval_results
    from equipoise.exports.every_eval_ever import every_eval_ever
    from equipoise.exports.mteb import mteb

    writers = dict(zip(FORMATS, (clip_benchmark, mteb, eval_results, every_eval_ever), strict=True))
    if to not in writers:
        raise UserError(f"--to {to}: expected one of {', '.join(FORMATS)}.{did_you_mean(to, FORMATS)}")
    if dataset is not None and to != "eval-results":
        raise UserError(f"--dataset is of eval-results; {to} has no place for it")
    if model is not None:
        checked_model(model)
    files: dict[str, File] = {}
    for place, record in find_runs(runs):
        folder = place if place.is_dir() else place.parent
        load_run(folder)  # refuses numbers and scores that were edited
        one = Export(folder, record, model or model_id(record.model.spec), by, dataset)
        for file in writers[to](one):
            if files.setdefault(file.path, file) != file:
                raise UserError(
                    f"{folder}: another run here would be the same file, {file.path}; export them one by one"
                )
    for line in write(list(files.values()), out):
        typer.echo(printable(line))
