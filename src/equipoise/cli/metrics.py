"""equipoise metrics: measures scores, outcomes and answers that were computed elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from equipoise.cli.options import AverageOption, FormatOption, MetricOption, Seed, Splits, form_name, split_names
from equipoise.core.errors import UserError, printable

if TYPE_CHECKING:
    from equipoise.evaluation.record import Published, Summary
    from equipoise.published.logs.said import Log
    from equipoise.report import Format


def metrics(
    scores: list[Path] = typer.Argument(
        ...,
        help="scores: JSONL with id, image, caption, positives, negatives, tags, or a table with id, caption, "
        "positive, negative; logs of VLMEvalKit, LLaVA, lmms-eval, lm-eval, inspect_ai, or a folder of them; what "
        "others publish: scores, right and wrong, answers in all wordings and orders, mteb's results",
    ),
    bench: str | None = typer.Option(
        None, help="the benchmark, items file or py:module:name that was scored; sets averages and metrics"
    ),
    source: Path | None = typer.Option(None, help="folder of its annotation files; adds tags, matched by id"),
    columns: str = typer.Option(
        "",
        help="for any JSONL or CSV of answers: question=...,answer=...,truth=...; also id, image, options, model, "
        "prompt, context, picture, repeat",
    ),
    harness: str | None = typer.Option(None, metavar="py:module:name", help="a reader of your own logs"),
    splits: Splits = "",
    average: AverageOption = None,
    metric: MetricOption = None,
    out: Path | None = typer.Option(None, help="keep it as a run, for compare and report"),
    model: str | None = typer.Option(None, help="with --out: the name of the model; default: the file's"),
    origin: str = typer.Option("unknown", "--from", help="with --out: the repository or address of the files"),
    commit: str = typer.Option("unknown", help="with --out: its commit"),
    licence: str = typer.Option("unknown", help="with --out: the licence of the files"),
    as_json: bool = typer.Option(False, "--json", help='{"overall": ..., "by": {"tag": ...}}'),
    seed: Seed = 0,
    form: FormatOption = "text",
) -> None:
    """Measure scores from another program. --bench applies a benchmark's rules; --out keeps a run for `compare`.

    The words; c: caption, p: hard positive (reworded, still right), n: hard negative (wrong), s: score.

    Orig. (Original accuracy): share of items with s(c) above every s(n).

    Aug. (Augmented accuracy): share with s(c) and every s(p) above every s(n), of the items with a positive.

    drop: Orig. minus Aug., both on the items with a positive.

    Brittleness: share where one of c and p is above the highest s(n) and another below it.

    ties: items where c or p and the highest s(n) have the same score: never a win, never brittle.

    order flips, wording flips (generative models): share answered differently when the options change places; share
    right in one wording and wrong in another with the same truth. refusals: share of answers that name no option.

    LGIP's (Lee 2025), over pairs: invariance error, sensitivity gap, positive rate (share of s(c) > s(n)).

    ceilings: what the texts alone decide. best blind, gain: the best judge without the image, and the model's lead.
    """
    from equipoise.evaluation.averages import summarise
    from equipoise.evaluation.metrics import ROWS, load_metrics
    from equipoise.evaluation.outcomes import outcomes_of
    from equipoise.published.aggregates import is_table
    from equipoise.published.logs.reading import read_logs, refuse_unknown
    from equipoise.published.reading import read_any
    from equipoise.report.footnotes import LEGEND, WORDS, chance_line, graded_line, metrics_caption
    from equipoise.report.tables import caveats, metrics_rows, render, result_rows

    shown, own = form_name(form, as_json), load_metrics(metric or [])
    about: Published | None = None
    whole = bench is None and not (source or splits or average)  # --source and the others are refused below
    if whole and (logs := read_logs(scores, columns, harness)) is not None:
        _show_logs(
            *logs, shown, out, model=model, origin=origin, commit=commit, licence=licence, seed=seed, metrics=own
        )
        return
    refuse_unknown(scores)
    if is_table(scores[0]):
        from equipoise.published.measuring import published_tables

        if source or splits or model:
            raise UserError(f"--source, --splits, --model: {scores[0]} is a table of results, without items")
        results = published_tables(scores, bench, out=out, origin=origin, commit=commit, licence=licence)
        lines = [line for result in results for line in result_rows(result.record)]
        typer.echo(render(lines, shown, "percent, as published; no items, so no intervals and no ties"))
        return
    named = (("source", source), ("splits", splits), ("average", average)) if bench is None else ()
    if given := [name for name, value in named if value]:
        raise UserError(f"--{given[0]} needs a benchmark: name it with --bench")
    if bench is None and out is None:
        summary: Summary = summarise(outcomes_of(read_any(scores, None).rows), seed, metrics=[*ROWS, *own])
        below = [chance_line(summary.overall, {}), graded_line(summary.overall)]
    else:
        from equipoise.published.measuring import published_run

        record = published_run(
            scores, bench, source=source, splits=split_names(splits), average=average, seed=seed, metrics=own, out=out,
            model=model, origin=origin, commit=commit, licence=licence,
        ).record  # fmt: skip
        summary, about = record.metrics, record.published
        assert about is not None
        below = [chance_line(record.metrics.by_rule(average), {}), *metrics_caption(record.metrics, average)]
        below += [*caveats(record), *(f"note: {note}" for note in about.notes)]
        for note in about.notes if shown not in {"text", "md"} else ():
            typer.echo(printable(f"note: {note}"), err=True)
        if out is not None:
            typer.echo(printable(f"saved in {out}; compare it with another run: equipoise compare {out} RUN"), err=True)
    if as_json:
        published = about.model_dump(mode="json") if about else {}
        typer.echo(json.dumps(summary.model_dump(mode="json") | published, indent=2))
    else:
        caption = "\n".join(filter(None, [LEGEND, *below, WORDS]))
        outcomes_only = about is not None and about.outcomes_only
        typer.echo(render(metrics_rows(summary, bench, average, outcomes_only), shown, caption))


def _show_logs(logs: Sequence[Log], passed: Sequence[str], form: Format, out: Path | None, **about: Any) -> None:
    """A table for each log, with what was found in it."""
    from equipoise.published.measuring import log_runs
    from equipoise.report.footnotes import answers_table
    from equipoise.report.tables import Line, render

    results = log_runs(logs, out=out, **about)
    lines = []
    for result in results:
        record = result.record
        assert record.published is not None
        lines.append(
            Line(f"{record.model.spec}, {record.benchmark.name}", record.metrics.overall, record.benchmark.name)
        )
        if form in ("json", "csv"):
            continue
        notes = "\n".join(printable(note) for note in record.published.notes)
        typer.echo(answers_table(lines[-1], form, notes) + "\n")
    if form in ("json", "csv"):
        typer.echo(render(lines, form))
    for sentence in passed:
        typer.echo(printable(f"not read: {sentence}"), err=True)
    if out is not None:
        typer.echo(printable(f"saved in {out}; its page: equipoise report {out} --out card.html"), err=True)
