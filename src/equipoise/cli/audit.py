"""equipoise audit: what is wrong with a benchmark's texts, what gives answers away, which labels models contradict."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from equipoise.cli.options import Bench, Source
from equipoise.core.errors import Problems, UserError, printable
from equipoise.core.progress import begin, progress

if TYPE_CHECKING:
    from equipoise.audit.record import Audit
    from equipoise.data.items import Item

LISTED = 10  # cases of --models on the screen


def audit(
    bench: Bench,
    source: Source = None,
    as_json: bool = typer.Option(False, "--json", help="the whole record as JSON"),
    out: Path | None = typer.Option(
        None, help="write it to this file: .html, .md, or .csv (every finding); with --models .html; with --json .json"
    ),
    clean: Path | None = typer.Option(
        None, help="write the items without copies, ties, contradictions, training data to this .jsonl or .parquet file"
    ),
    models: list[Path] | None = typer.Option(
        None,
        help="a run, its folder, or a file of published answers, once for each model: finds labels they contradict",
    ),
    images: Path | None = typer.Option(None, help="the photos, shown on the HTML page"),
    against: Path | None = typer.Option(
        None, help="training data, any file that perturb reads: which photos and captions are in both? Exit 1 if any"
    ),
    train_images: Path | None = typer.Option(
        None, help="the photos of --against; with --images, photos are also compared by content"
    ),
) -> None:
    """Find what is wrong with the texts of a benchmark.

    Duplicates, ties, broken edits, negatives that are captions too, shortcuts; no image is needed. With --models, a
    queue of the items whose label several models contradict, for a person to judge.
    """
    from equipoise.benchmarks import registry
    from equipoise.core.run_folder import refuse_foreign

    if train_images is not None and (against is None or images is None):
        raise UserError("--train-images: the photos of --against TRAIN are compared with those of --images; name both")
    if against is not None and models:
        raise UserError("--against and --models are two questions: ask one at a time")
    if images is not None and train_images is None and (out is None or out.suffix != ".html"):
        raise UserError("--images is for the HTML page: name it with --out audit.html, or for --train-images")
    if clean is not None and (models or clean.suffix not in {".jsonl", ".parquet"}):
        raise UserError(f"--clean {clean}: name a file that ends in .jsonl or .parquet, without --models")
    if out is not None:
        kinds = [".json"] if as_json else [".html"] if models else [".html", ".md", ".csv"]
        if out.suffix not in kinds:
            given = " with --json" if as_json else " with --models" if models else ""
            raise UserError(f"--out {out}: name a file that ends in {' or '.join(kinds)}{given}")
        refuse_foreign(out, MARKS[out.suffix])
    items, benchmark = registry.load(bench, source)
    if models:
        return _hold_court(items, benchmark.name, models, images, as_json, out)
    from equipoise.audit.checks import audit as run_audit
    from equipoise.audit.overlap import overlap
    from equipoise.audit.page import markdown, verdict
    from equipoise.report import fold

    if out is not None:
        begin("audit", out.parent, out.name)
    shared = [] if against is None else overlap(items, against, images, train_images)
    with progress(len(items), f"audit of {benchmark.name}") as advance:
        record = run_audit(items, benchmark.name, advance=advance, shared=shared)
    if clean is not None:
        from equipoise.cli.bench import written

        bad = {example.id for example in record.bad}
        kept = [item for item in items if item.id not in bad]
        typer.echo(printable(written(clean, kept, f"the {len(items):,} of {benchmark.name}")), err=as_json)
    if out is not None and out.suffix == ".html":
        from equipoise.report.page import audit_html

        text = audit_html(record, items, images)
    elif out is not None and out.suffix == ".csv":
        text = _table(record)
    else:
        text = f"{record.model_dump_json(indent=2)}\n" if as_json else markdown(record)
    if out is None:
        typer.echo(text.rstrip("\n") if as_json else _on_screen(printable(text, lines=True)))
    else:
        write_audit(out, text)
        if not as_json:
            typer.echo(fold(printable(verdict(record))))
    raise typer.Exit(1 if any(check.count for check in shared) else 0)


def write_audit(out: Path, text: str) -> None:
    """Write an audit, and say so; a file that another program wrote is refused."""
    from equipoise.core.run_folder import write_own

    mark = MARKS[out.suffix]
    write_own(out, text if mark in text else f"{mark}\n\n{text}", mark)
    typer.echo(printable(f"wrote {out}"))


MARKS = {
    ".html": '<meta name="generator" content="equipoise audit">',
    ".md": "<!-- equipoise audit -->",
    ".csv": "audit_check,id,found",
    ".json": '"made_by": "equipoise audit"',
}


def _table(record: Audit) -> str:
    """Every finding, a row each."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(MARKS[".csv"].split(","))
    rows.writerows((check.name, example.id, example.said) for check in record.checks for example in check.found)
    return text.getvalue()


def _on_screen(page: str) -> str:
    """The page for a terminal: tables drawn, lines folded to its width. A file or a pipe gets the Markdown itself."""
    from equipoise.report import fold, room, text_table

    if room() is None:
        return page
    shown = []
    for block in page.rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        if not lines[0].startswith("| "):
            shown.append(fold(block))
            continue
        header, ruler, *rows = map(_cells, lines)
        words = [place for place, rule in enumerate(ruler) if not rule.endswith(":")]
        shown.append(text_table(header, rows, words=words))
    return "\n\n".join(shown)


def _cells(line: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    return [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\) \| ", line[2:-2])]


def _hold_court(
    items: Sequence[Item], bench: str, models: Sequence[Path], images: Path | None, as_json: bool, out: Path | None
) -> None:
    from equipoise.audit.court import court
    from equipoise.study import page

    outcomes: dict[str, dict[str, bool]] = {}
    names = [path.name for path in models]
    for path in models:
        outcomes[path.name if names.count(path.name) == 1 else str(path)] = _outcomes(path, bench, items)
    held = court(items, bench, outcomes)
    if as_json:
        text = held.model_dump_json(indent=2)
        return typer.echo(text) if out is None else write_audit(out, f"{text}\n")
    if out is not None:
        missing = page.write_court(out, held, items, images)
        if missing and images is not None:
            typer.echo(f"note: {missing:,} photos were not found in {images}", err=True)
        typer.echo(printable(f"wrote {out}"))
    known = {item.id: item for item in items}
    share = "these answers do not say" if held.wrong_labels is None else f"{held.wrong_labels:.1%}"
    typer.echo(
        f"{len(held.queue):,} items answered by {len(held.models)} models; {held.failed_by_all:,} failed by all of "
        f"them. Labels that are wrong, estimated: {share}. Use the order of the queue: the probabilities are too high "
        "where models make the same mistakes."
    )
    for note in held.notes:
        typer.echo(printable(f"note: {note}"))
    for case in [] if out else held.queue[:LISTED]:
        item = known[case.id]
        lines = [f"{case.probability:.2f}  failed by {len(case.failed)} of {case.asked}  {case.id}"]
        lines += [f"      right: {item.caption}", *(f"      wrong: {text.text}" for text in item.negatives)]
        typer.echo(printable("\n".join(lines), lines=True))
    if out is None:
        typer.echo("To judge them with their photos: --images DIR --out court.html")


def _outcomes(path: Path, bench: str, items: Sequence[Item]) -> dict[str, bool]:
    """Item -> whether the model puts its caption above all negatives, of a run or of a file of published answers."""
    from equipoise.evaluation.comparing.folders import by_benchmark
    from equipoise.evaluation.outcomes import outcomes_of
    from equipoise.evaluation.results import read_run, read_shown
    from equipoise.published.reading import read_any

    if path.is_dir():
        held = by_benchmark(path)
        if bench not in held and len(held) > 1:
            raise UserError(f"{path}: runs of {', '.join(held)}, but none of {bench}; name the folder of one run")
        where = held.get(bench) or next(iter(held.values()))
        record, rows = read_run(where)
        if record.kind != "items":
            raise UserError(f"{path}: a run of {record.kind}, where one of items was expected")
        asked = {line.id: (line.texts.caption, line.texts.negatives) for line in read_shown(where) if line.texts}
    else:
        foreign = read_any([path], bench)
        asked = _texts(foreign.items)
        rows, _ = foreign.fit(foreign.rows, items)
    outcomes = outcomes_of(rows)
    answers = {
        row.id: bool(right)
        for row, right, there in zip(rows, outcomes.original, outcomes.has_negative, strict=True)
        if there
    }
    known = _texts(items)
    if not answers.keys() & known:
        raise UserError(f"{path}: answers none of the {len(items):,} items of {bench}; its ids belong to others")
    problems = Problems(f"{path}: answers to other texts than those of {bench}")
    problems.add_some("items with other texts", [id_ for id_, texts in asked.items() if known.get(id_, texts) != texts])
    problems.raise_if_any("Name runs of these items: evaluate the model on them again.")
    return answers


def _texts(items: Sequence[Item]) -> dict[str, tuple[str, list[str]]]:
    return {item.id: (item.caption, [text.text for text in item.negatives]) for item in items}
