"""equipoise world: scenes to look at, and items to evaluate or train on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.options import App

app = App(no_args_is_help=True, help="The built-in world: make items, show scenes.")

Seed = Annotated[int, typer.Option(min=0)]
Split = Annotated[str, typer.Option(help="pretrain, finetune, finetune-objects, finetune-actions, validation or test")]


@app.command()
def make(
    out: Annotated[Path, typer.Option(help="folder for images and items")],
    n: Annotated[int, typer.Option("--n", min=1, help="how many items")] = 1000,
    seed: Seed = 0,
    split: Split = "finetune",
) -> None:
    """Draw pictures and write Items about them."""
    from equipoise.world.splits import make_world

    file = make_world(n, seed, out, split)
    typer.echo(f"wrote {n:,} items to {file}; evaluate on them: equipoise eval MODEL --bench {file} --images {out}")


@app.command()
def show(
    out: Annotated[Path, typer.Option(help="the PNG to write")] = Path("world.png"),
    n: Annotated[int, typer.Option("--n", min=1, help="how many scenes")] = 16,
    seed: Seed = 0,
    split: Split = "validation",
) -> None:
    """A contact sheet of scenes. With their captions, hard positives and hard negatives."""
    from equipoise.world.sheet import contact_sheet

    typer.echo(f"wrote {contact_sheet(n, seed, out, split)}")
