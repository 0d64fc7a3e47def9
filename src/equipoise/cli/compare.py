"""equipoise compare: models against each other on the same items."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from equipoise.cli.options import AverageOption, FormatOption, Seed, form_name, split_names
from equipoise.core.errors import UserError, did_you_mean, printable


def compare(
    runs: list[str] = typer.Argument(
        ...,
        metavar="RUN...",
        help="run folders, or folders of runs; the first is compared with each. Seeds of one configuration are "
        "joined by commas: base ours_s0,ours_s1,ours_s2",
    ),
    average: AverageOption = None,
    fail_if_worse: list[str] | None = typer.Option(
        None,
        metavar="METRIC:POINTS",
        help="exit 1 if the whole 95% interval of a run's loss against the first lies above POINTS percentage "
        "points. METRIC: its name in --json, such as augmented (lower is worse) or brittleness (higher is worse). May "
        "be given several times",
    ),
    fail_unless_shown: list[str] | None = typer.Option(
        None,
        metavar="METRIC:POINTS",
        help="exit 1 unless the whole 95% interval of the loss lies below POINTS percentage points. With too few "
        "images even an unchanged model fails. May be given several times",
    ),
    flips: str = typer.Option(
        "original:10",
        metavar="METRIC[:N]",
        help="items to list that got better and that got worse on METRIC, N of each; a number alone: of original",
    ),
    form: FormatOption = "text",
    columns: str = typer.Option("", help="columns of --format md, latex, csv or json, separated by commas"),
    summary: bool = typer.Option(False, "--summary", help="five lines of Markdown, for a chat or a CI summary"),
    one_model: bool = typer.Option(
        False,
        "--same-model",
        help="two runs or logs of what should be one model (two servings, precisions, versions): which answers differ, "
        "where, and whether the scores are the same within 1 point",
    ),
    seed: Seed = 0,
    as_json: bool = typer.Option(False, "--json"),
) -> None:
    """Compare runs item by item. Intervals, tests, groups, flips.

    For retrieval, zero-shot classification and ratings: the differences with their intervals.
    """
    from pydantic_core import to_jsonable_python

    from equipoise.evaluation.comparing.folders import compare_folders, own_metrics, seeds_of
    from equipoise.evaluation.comparing.gate import check_gates, read_gate
    from equipoise.report import comparison

    if len(runs) < 2:
        raise UserError("compare needs two runs or more: equipoise compare BEFORE AFTER")
    if one_model:
        _show_same(runs, as_json)
        return
    folders = [seeds_of(text) for text in runs]
    own = own_metrics(folders[0])
    flipped_on, most = _flips(flips, own)
    as_json = as_json or form == "json"
    table = form_name("text" if form == "json" else form, as_json)
    gates = [read_gate(text, own=own) for text in fail_if_worse or []]
    gates += [read_gate(text, strict=True, own=own) for text in fail_unless_shown or []]
    compared = compare_folders(runs, seed, average, most, flipped_on)
    if gates:
        compared.require_whole()
    passed = check_gates(gates, compared.differences)
    if summary:
        typer.echo(comparison.summary(compared, passed))
    elif columns or table not in ("text", "json"):
        typer.echo(comparison.render_rows(compared.differences, table, split_names(columns)))
    elif as_json:
        parts = {"flips": compared.flips, "groups": compared.groups, "gates": passed}
        value = {
            "differences": [
                comparison.model_dump(mode="json", exclude_none=True) for comparison in compared.differences
            ],
            **to_jsonable_python(parts | {"left_out": compared.left_out, "warnings": compared.warnings}),
        }
        typer.echo(json.dumps(value, indent=2))
    else:
        typer.echo(comparison.render_compared(compared, passed))
    if failed := [gate for gate in passed if gate.failed]:
        if summary or columns or table != "text":
            for gate in failed:
                typer.echo(comparison.gate_line(gate), err=True)
        raise typer.Exit(1)


def _flips(text: str, own: Sequence[str]) -> tuple[str, int]:
    """'brittleness:5' -> its name and number; either alone will do."""
    from equipoise.evaluation.metrics import METRICS

    name, _, count = ("original", "", text) if text.isdecimal() else text.partition(":")
    known = [*METRICS, *own]
    if name not in known:
        raise UserError(f"--flips {text}: no metric {name!r}; known are {', '.join(known)}.{did_you_mean(name, known)}")
    if not (count or "10").isdecimal():
        raise UserError(f"--flips {text}: expected METRIC:N, N a whole number, as in {name}:10")
    return name, int(count or 10)


def _show_same(runs: Sequence[str], as_json: bool) -> None:
    from dataclasses import asdict

    from equipoise.evaluation.comparing.same_model import same_model
    from equipoise.evaluation.results import read_run
    from equipoise.published.logs.reading import read_logs
    from equipoise.published.measuring import log_runs
    from equipoise.report.comparison import same_model_lines

    if len(runs) != 2:
        raise UserError("--same-model compares two runs or logs: equipoise compare A B --same-model")
    sides = []
    for path in map(Path, runs):
        logs = None if (path / "result.json").exists() else read_logs([path])
        if logs is not None and len(logs[0]) != 1:
            raise UserError(
                f"{path}: {len(logs[0])} logs; name one file, or keep them as runs: equipoise metrics {path} --out RUN"
            )
        sides.append(log_runs(logs[0])[0].rows if logs is not None else read_run(path)[1])
    same = same_model(sides[0], sides[1], runs)
    typer.echo(json.dumps(asdict(same), indent=2) if as_json else "\n".join(map(printable, same_model_lines(same))))
