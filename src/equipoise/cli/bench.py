"""equipoise bench: which benchmarks there are; show, build, check, fetch and export them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from equipoise.cli.options import App, Bench, Images, Limit, Source, Splits, check_items_file, split_names
from equipoise.core.errors import UserError, printable
from equipoise.core.progress import begin, progress
from equipoise.report import fold, text_table

if TYPE_CHECKING:
    from equipoise.data.items import Item

app = App(no_args_is_help=True, help="Benchmarks: list, show, build, check, fetch, export.")


@app.command("list")
def list_benchmarks(as_json: bool = typer.Option(False, "--json", help="all facts as JSON")) -> None:
    """All benchmarks, with size and chance."""
    from equipoise.benchmarks import registry
    from equipoise.benchmarks.facts import facts

    if as_json:
        all_facts = [facts(registry.get(name)) for name in registry.names()]
        typer.echo(json.dumps(all_facts, indent=2, ensure_ascii=False, allow_nan=False))
        return
    for name in registry.names():
        benchmark = registry.get(name)
        counts = [count for count in benchmark.splits.values() if count is not None]
        known = "" if len(counts) == len(benchmark.splits) else " in the parts with a published size"
        size = f"{sum(counts):,} items{known}" if counts else "size not published"
        chance = (
            ", ".join(f"{metric} {100 * value:.1f}" for metric, value in benchmark.chance.items()) or "see `bench show`"
        )
        typer.echo(fold(f"{name}  {benchmark.title}: {size}; chance: {chance}", hang=4))
    typer.echo("Splits, licence, files: equipoise bench show NAME. To get them: equipoise bench fetch NAME --out DIR")


@app.command()
def show(
    name: Bench,
    source: Path | None = typer.Option(None, help="folder of the annotation files, to show ceilings"),
    as_json: bool = typer.Option(False, "--json", help="print the facts as JSON"),
    samples: int | None = typer.Option(None, min=1, help="write a page with so many random items; needs --out"),
    out: Path | None = typer.Option(None, help="the page of --samples, an .html file"),
    images: Images = None,
    seed: int = typer.Option(0, min=0, help="for --samples: another seed draws other items"),
) -> None:
    """All about one benchmark. Splits, chance, ties, averages, licence, citation, and how to get it.

    With its files also ceilings: what no model, or none without word order, can win.
    """
    from equipoise.benchmarks import registry
    from equipoise.benchmarks.facts import describe, facts

    if (samples is None) != (out is None):
        raise UserError("--samples and --out go together: --samples 12 --out page.html")
    if samples is not None and out is not None:
        from equipoise.report.page import write_samples

        items, benchmark = registry.load(name, source)
        write_samples(out, benchmark.title, items, samples, seed, images)
        typer.echo(printable(f"wrote {out}: {min(samples, len(items))} of {len(items):,} items"))
        return
    several = [registry.show(benchmark, source) for benchmark in registry.expand(name)]
    if as_json:
        shown = [
            facts(benchmark) | ({"ceilings": ceilings.model_dump()} if ceilings else {})
            for benchmark, ceilings in several
        ]
        typer.echo(json.dumps(shown if len(shown) > 1 else shown[0], indent=2, ensure_ascii=False, allow_nan=False))
    else:
        typer.echo("\n\n".join(describe(benchmark, ceilings) for benchmark, ceilings in several))


@app.command()
def build(
    name: Bench,
    out: Path = typer.Option(..., help="FILE.jsonl or FILE.parquet; a folder for world and --layout published"),
    source: Source = None,
    splits: Splits = "",
    limit: Limit = None,
    seed: int = typer.Option(0, min=0, help="for world: another seed draws other scenes"),
    layout: str = typer.Option("items", help="items, or published (REPLACE's own four files)"),
) -> None:
    """Turn a benchmark's annotation files into Items.

    `bench build world` draws pictures too. Its splits: finetune (default), finetune-matched, finetune-objects,
    finetune-actions, validation, test.
    """
    from equipoise.benchmarks import registry
    from equipoise.benchmarks.replace import build as replace
    from equipoise.benchmarks.replace import clean as replace_clean

    if seed and name != "world":
        raise UserError(f"--seed is only for `bench build world`; {name} is not random")
    if name == "world":
        _draw(out, split_names(splits) or ["finetune"], limit or 1000, seed)
        return
    if layout == "published":
        if name != "replace" or source is None:
            raise UserError("--layout published is for `bench build replace --source DIR`")
        for path in replace.write_published(source, out):
            typer.echo(f"wrote {path}")
        return
    if layout != "items":
        raise UserError(f"--layout {layout}: expected items or published")
    check_items_file(out)
    if name == "replace-clean":
        cleaned = replace_clean.clean(registry.load("replace", source, split_names(splits))[0])
        typer.echo(written(out, cleaned.kept, name))
        rows = [[reason, f"{dropped:,}", f"{repaired:,}"] for reason, dropped, repaired in cleaned.reasons_table()]
        typer.echo(text_table(["reason", "dropped", "repaired"], rows))
        return
    items, benchmark = registry.load(name, source, split_names(splits))
    items = items[:limit]
    typer.echo(written(out, items, benchmark.name))
    if kept := registry.keep_facts(out, items, benchmark):
        typer.echo(f"wrote {kept}: it says how the items are averaged; keep it next to them")


def _draw(out: Path, splits: Sequence[str], n: int, seed: int) -> None:
    from equipoise.benchmarks.base import check_splits
    from equipoise.world.splits import SPLITS, make_world

    check_splits("world", splits, SPLITS)
    begin("bench build", out)
    for split in splits:
        file = make_world(n, seed, out, split)
        typer.echo(f"wrote {n:,} items to {file}; evaluate on them: equipoise eval MODEL --bench {file} --images {out}")


def written(out: Path, items: Sequence[Item], name: str) -> str:
    """Write the items; a file with other contents is refused."""
    from equipoise.core import run_folder
    from equipoise.core.files import plain_target
    from equipoise.data.items import holds_items, write_items

    if plain_target(out).exists():
        if not holds_items(out, items):
            run_folder.refuse_file(out)
        return f"{out} already holds these {len(items):,} items of {name}"
    return f"wrote {write_items(out, items):,} items of {name} to {out}"


@app.command()
def check(
    name: Bench,
    source: Source = None,
    data: Images = None,
    splits: Splits = "",
    as_json: bool = typer.Option(False, "--json", help="the findings as JSON"),
) -> None:
    """Check files and images before a long run. Counts, missing and corrupt images, duplicates, forced ties."""
    from dataclasses import asdict

    from equipoise.benchmarks import registry
    from equipoise.benchmarks.check import check as check_items

    items, benchmark = registry.load(name, source, split_names(splits))
    if data is not None:
        registry.require_images(name, items)
    images = len({ref for item in items for ref in item.images()}) if data else 0
    with progress(images, "images", "images") as advance:
        report = check_items(items, benchmark, data, advance)
    if as_json:
        typer.echo(json.dumps({"ok": report.ok, **asdict(report)}, indent=2))
    else:
        for line in report.lines():
            typer.echo(printable(line, lines=True))
    raise typer.Exit(0 if report.ok else 1)


@app.command()
def fetch(
    name: str = typer.Argument(..., help="a benchmark of `bench list`, or py:module:name"),
    out: Path = typer.Option(..., help="folder for the files"),
    no_images: bool = typer.Option(False, "--no-images", help="annotation files only, no photos"),
    dry_run: bool = typer.Option(False, "--dry-run", help="only list what would be downloaded"),
) -> None:
    """Download a benchmark's files. Without an official address it prints the steps."""
    from equipoise.benchmarks import registry
    from equipoise.benchmarks.fetching import fetch as fetching

    plan = fetching.plan(registry.get(name), out, not no_images)
    if dry_run:
        typer.echo(plan.describe())
    else:
        begin("bench fetch", out)
        fetching.fetch(plan)  # says what it will do before it does it


@app.command()
def export(
    name: Bench,
    to: str = typer.Option(..., help="inspect, lm-eval, lmms-eval or hub"),
    out: Path = typer.Option(..., help="the folder to write"),
    source: Source = None,
    images: Images = None,
    splits: Splits = "",
    limit: Limit = None,
    ask: str | None = typer.Option(None, help="the variants of each question, as in eval; default: wordings,orders"),
    origin: str = typer.Option("unknown", "--from", help="the repository or address of the items, for the card"),
    licence: str = typer.Option("unknown", help="the licence of the items, for the card"),
) -> None:
    """Write a benchmark as a folder that runs in another harness.

    That is inspect_ai, lm-evaluation-harness or lmms-eval. The folder holds the task, the questions in all wordings
    and orders, the photos, our metrics, and a card with source and licence. `equipoise metrics LOG` reads the harness's
    log. --to hub writes a dataset of the items.
    """
    from equipoise.benchmarks import registry
    from equipoise.data.images import open_source
    from equipoise.evaluation.asking.variants import DEFAULT, parse_ask
    from equipoise.evaluation.export.folder import Origin, export

    items, benchmark = registry.load(name, source, split_names(splits))
    if images is None:
        raise UserError("name the folder of the photos with --images")
    asked = parse_ask(ask or DEFAULT)
    for line in export(items[:limit], benchmark, open_source(images), to, out, asked, Origin(origin, licence)):
        typer.echo(printable(line))
