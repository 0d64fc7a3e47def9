"""equipoise compare: models against each other on the same items."""

from __future__ import annotations

import json

import typer

from equipoise.cli.options import AverageOption, Seed
from equipoise.core.errors import UserError


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
        "points. METRIC: original, augmented (lower is worse), "
        "brittleness, drop (higher is worse). May be given several times",
    ),
    fail_unless_shown: list[str] | None = typer.Option(
        None,
        metavar="METRIC:POINTS",
        help="exit 1 unless the whole 95% interval of the loss lies below POINTS percentage points. With too few "
        "images even an unchanged model fails. May be given several times",
    ),
    flips: int = typer.Option(10, min=0, help="number of flipped items and tags to show"),
    seed: Seed = 0,
    as_json: bool = typer.Option(False, "--json"),
) -> None:
    """Compare runs item by item. Intervals, tests, groups, flips.

    Of retrieval, zero-shot classification and ratings the differences with their intervals.
    """
    from pydantic_core import to_jsonable_python

    from equipoise.evaluation.comparing.folders import compare_folders, own_metrics, seeds_of
    from equipoise.evaluation.comparing.gate import check_gates, read_gate
    from equipoise.report.comparison import gate_line, render_compared

    if len(runs) < 2:
        raise UserError("compare needs two runs or more: equipoise compare BEFORE AFTER")
    folders = [seeds_of(text) for text in runs]
    own = own_metrics(folders[0]) if fail_if_worse or fail_unless_shown else []
    gates = [read_gate(text, own=own) for text in fail_if_worse or []]
    gates += [read_gate(text, strict=True, own=own) for text in fail_unless_shown or []]
    found = compare_folders(runs, seed, average, flips)
    if gates:
        found.require_whole()
    passed = check_gates(gates, found.differences)
    if as_json:
        parts = {"flips": found.flips, "groups": found.groups, "gates": passed}
        value = {
            "differences": [one.model_dump(mode="json", exclude_none=True) for one in found.differences],
            **to_jsonable_python(parts | {"left_out": found.left_out, "warnings": found.warnings}),
        }
        typer.echo(json.dumps(value, indent=2))
    else:
        typer.echo(render_compared(found, passed))
    if failed := [gate for gate in passed if gate.failed]:
        if as_json:
            for gate in failed:
                typer.echo(gate_line(gate), err=True)
        raise typer.Exit(1)
