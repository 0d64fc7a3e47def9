"""equipoise audit --models: which labels several models contradict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from equipoise.core.errors import UserError, printable
from equipoise.data.items import Item

LISTED = 10  # on the screen


def hold_court(
    bench: str, source: Path | None, models: Sequence[Path], images: Path | None, as_json: bool, out: Path | None
) -> None:
    from equipoise.audit.court import court
    from equipoise.benchmarks import registry
    from equipoise.core.run_folder import refuse_foreign, write_own
    from equipoise.study import page

    mark = '"made_by":"equipoise audit"' if as_json else page.MARK
    if out is not None and out.suffix != (kind := ".json" if as_json else ".html"):
        raise UserError(f"--out {out}: with --models the file ends in {kind}")
    if out is not None:
        refuse_foreign(out, mark)
    items, benchmark = registry.load(bench, source)
    outcomes: dict[str, dict[str, bool]] = {}
    for path in models:
        name = path.name if path.name not in outcomes else str(path)
        outcomes[name] = _outcomes(path, benchmark.name, items)
    found = court(items, benchmark.name, outcomes)
    if as_json:
        text = found.model_dump_json() + "\n"
        typer.echo(text.rstrip("\n")) if out is None else write_own(out, text, mark)
    elif out is not None:
        missing = page.write_court(out, found, items, images)
        if missing and images is not None:
            typer.echo(f"note: {missing:,} photos were not found in {images}", err=True)
    if out is not None:
        typer.echo(printable(f"wrote {out}"))
    if as_json:
        return
    known = {item.id: item for item in items}
    typer.echo(
        f"{len(found.queue):,} items answered by {len(found.models)} models; {found.failed_by_all:,} failed by all of "
        f"them. Labels that are wrong, estimated: {found.wrong_labels:.1%}."
    )
    for note in found.notes:
        typer.echo(printable(f"note: {note}"))
    for case in [] if out else found.queue[:LISTED]:
        item = known[case.id]
        lines = [f"{case.probability:.2f}  failed by {len(case.failed)} of {case.asked}  {case.id}"]
        lines += [f"      right: {item.caption}", *(f"      wrong: {text.text}" for text in item.negatives)]
        typer.echo(printable("\n".join(lines), lines=True))
    if out is None:
        typer.echo("To judge them with their photos: --images DIR --out court.html")


def _outcomes(path: Path, bench: str, items: Sequence[Item]) -> dict[str, bool]:
    """Item -> whether the model puts its caption above all negatives, of a run or of a file of published answers."""
    from equipoise.evaluation.foreign.reading import read_any
    from equipoise.evaluation.outcomes import outcomes_of
    from equipoise.evaluation.results import read_run

    if path.is_dir():
        record, rows = read_run(path)
        if record.kind != "items":
            raise UserError(f"{path}: a run of {record.kind}, where one of items was expected")
    else:
        foreign = read_any([path], bench)
        rows, _ = foreign.fit(foreign.rows, items)
    found = outcomes_of(rows)
    answers = {
        row.id: bool(right) for row, right, there in zip(rows, found.original, found.has_negative, strict=True) if there
    }
    known = {item.id for item in items}
    if not answers.keys() & known:
        raise UserError(f"{path}: answers none of the {len(items):,} items of {bench}; its ids belong to others")
    return answers
