"""`perturb --add-positives`, `--hard-images` and `--recipe questions`: add to items that are there."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from equipoise.cli.options import check_items_file, split_names
from equipoise.core.errors import UserError, printable


def add_hard_images(items: Path, out: Path, model: str, images: str, count: int, cache: Path | None) -> None:
    from equipoise.core.provenance import default_cache
    from equipoise.core.run_folder import refuse_file
    from equipoise.data.items import load_items
    from equipoise.embedding.cache import EmbeddingCache
    from equipoise.models import load_model
    from equipoise.train.run.mining import mine_file, same_items

    if not images:
        raise UserError("--hard-images MODEL embeds the images of the items: name their folder with --images")
    if out.exists() and not same_items(load_items(items), out):
        refuse_file(out)  # before the model is loaded
    mined = mine_file(items, out, load_model(model), images, count, EmbeddingCache(cache or default_cache()))
    typer.echo(
        f"{out}: {mined:,} items with their hard images; train on them: "
        f"equipoise train negclip_yuksekgonul_2023 --items {out} --images {images} --model {model} --out DIR"
    )


def reword_questions(path: Path, out: Path, seed: int, limit: int | None) -> None:
    from equipoise.benchmarks.registry import load_file
    from equipoise.core.run_folder import refuse_file
    from equipoise.data.items import holds_items, write_items
    from equipoise.perturb.questions import perturb_questions

    check_items_file(out)
    items = load_file(path, ())[:limit]
    made = list(perturb_questions(items, seed))
    if not out.exists():
        write_items(out, made)
    elif not holds_items(out, made):
        refuse_file(out)
    asked = [item for item in made if "opposite_of" not in item.tags]
    again = [len(item.rewordings) for item in asked if item.rewordings]
    typer.echo(
        f"{out}: {len(asked):,} questions, {len(again):,} of them with rewordings ({sum(again):,} in all), and "
        f"{len(made) - len(asked):,} questions with the opposite answer\n"
        f"Next: equipoise eval MODEL --bench {shlex.quote(str(out))} --images FOLDER --ask wordings"
    )


def add_positives_to(
    name: str, out: Path, source: Path | None, splits: str, recipe: str, seed: int, limit: int | None
) -> None:
    from equipoise.audit.augment import augment
    from equipoise.audit.checks import audit
    from equipoise.audit.page import markdown
    from equipoise.benchmarks import registry
    from equipoise.cli.audit import MARKS, write_audit
    from equipoise.cli.bench import written
    from equipoise.core.progress import progress
    from equipoise.core.run_folder import refuse_file, refuse_foreign
    from equipoise.perturb.recipes import get_recipe

    check_items_file(out)
    page = out.with_suffix(".audit.md")
    refuse_foreign(page, MARKS[page.suffix])
    if out.exists() and not page.exists():
        refuse_file(out)
    chosen = get_recipe(recipe)
    items, benchmark = registry.load(name, source, split_names(splits))
    items = items[:limit]
    with progress(len(items), f"positives of {benchmark.name}") as advance:
        made = augment(items, benchmark, chosen, seed, advance)
    typer.echo(written(out, made.items, made.benchmark.name))
    if kept := registry.keep_facts(out, made.items, made.benchmark):
        typer.echo(f"wrote {kept}: it says how the items are averaged; keep it next to them")
    with progress(len(items), f"audit of {made.benchmark.name}") as advance:
        record = audit(made.items, made.benchmark.name, advance=advance)
    write_audit(page, markdown(record))
    typer.echo(
        f"{made.ours:,} of {len(items):,} items ({100 * made.ours / len(items):.1f}%) have a hard positive of ours"
    )
    for reason, count in made.dropped.most_common(5):
        typer.echo(printable(f"    dropped {count:,}: {reason}"))
    flagged = [(check.by_kind.get("positives", 0), check) for check in record.checks]
    for count, check in sorted(flagged, key=lambda pair: -pair[0]):
        if count:
            typer.echo(printable(f"    audit, {check.name}: {count:,} of our positives ({check.examples[0].said})"))
