"""equipoise audit: what is wrong with a benchmark's texts, and what gives its answers away."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.options import offer_benchmarks
from equipoise.core.errors import UserError, printable
from equipoise.core.progress import progress


def audit(
    bench: Annotated[
        str,
        typer.Argument(
            help="a benchmark of `bench list`, an items file, or py:module:name", autocompletion=offer_benchmarks
        ),
    ],
    source: Annotated[Path | None, typer.Option(help="folder of the annotation files")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="the whole record as JSON")] = False,
    out: Annotated[Path | None, typer.Option(help="write it to this file: .html or .md, with --json .json")] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            help="a run or a file of published answers, once for each model: which labels do they contradict?"
        ),
    ] = None,
    images: Annotated[Path | None, typer.Option(help="the images, shown on the page of --models")] = None,
) -> None:
    """Find what is wrong with the texts of a benchmark.

    Duplicates, ties, broken edits, true negatives, used-up images, shortcuts; no image is needed. With --models, a
    queue of the items whose label several models contradict, for a person to judge.
    """
    if models:
        from equipoise.cli.court import hold_court

        return hold_court(bench, source, models, images, as_json, out)
    if images is not None:
        raise UserError("--images is for the page of --models; the other checks read no image")
    from equipoise.audit.page import markdown, verdict
    from equipoise.audit.run import audit as run_audit
    from equipoise.benchmarks import registry
    from equipoise.core.run_folder import refuse_foreign
    from equipoise.report import fold

    if out is not None and out.suffix not in ((".json",) if as_json else (".html", ".md")):
        what = (
            "the record is JSON; name a file that ends in .json" if as_json else "name a file that ends in .html or .md"
        )
        raise UserError(f"--out {out}: {what}")
    if out is not None:
        refuse_foreign(out, MARKS[out.suffix])
    items, benchmark = registry.load(bench, source)
    with progress(len(items), f"audit of {benchmark.name}") as advance:
        found = run_audit(items, benchmark.name, advance=advance)
    if out is not None and out.suffix == ".html":
        from equipoise.report.audit_page import audit_html

        text = audit_html(found)
    else:
        text = f"{found.model_dump_json(indent=2)}\n" if as_json else markdown(found)
    if out is None:
        typer.echo(text.rstrip("\n") if as_json else _on_screen(printable(text, lines=True)))
        return
    write_audit(out, text)
    if not as_json:
        typer.echo(fold(printable(verdict(found))))


def write_audit(out: Path, text: str) -> None:
    """Write an audit, and say so; a file that another program wrote is refused."""
    from equipoise.core.run_folder import write_own

    mark = MARKS[out.suffix]
    write_own(out, text if mark in text else f"{mark}\n\n{text}", mark)
    typer.echo(printable(f"wrote {out}"))


MARKS = {
    ".html": '<meta name="generator" content="equipoise audit">',
    ".md": "<!-- equipoise audit -->",
    ".json": '"made_by": "equipoise audit"',
}


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
        header, ruler, *rows = (
            [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\) \| ", line[2:-2])] for line in lines
        )
        words = [place for place, rule in enumerate(ruler) if not rule.endswith(":")]
        shown.append(text_table(header, rows, words=words))
    return "\n\n".join(shown)
