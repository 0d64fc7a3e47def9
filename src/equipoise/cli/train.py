"""equipoise train: finetune a model on Items with a recipe of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from equipoise.train.data.batches import Part


def train(
    recipe: Annotated[str, typer.Argument(help="a recipe; `equipoise train list` shows all with their options")],
    items: Annotated[list[Path] | None, typer.Option(help="items file; several are mixed (see --weight)")] = None,
    images: Annotated[
        list[str] | None, typer.Option(help="folder, tar or Parquet shards of the images; one for each --items")
    ] = None,
    model: Annotated[str, typer.Option(help="the model to start from, e.g. hf:openai/clip-vit-base-patch32")] = "",
    out: Annotated[Path | None, typer.Option(help="folder of the run; the model will be OUT/model")] = None,
    options: Annotated[
        list[str] | None, typer.Option("--set", help="an option of the recipe, e.g. --set hn_weight=0.5")
    ] = None,
    quick: Annotated[bool, typer.Option(help="the recipe's form for small models and two cores")] = False,
    weight: Annotated[list[float] | None, typer.Option(help="share of each --items in the mixture")] = None,
    chunk: Annotated[
        int | None, typer.Option(min=1, help="samples at once (GradCache): less memory, same gradients")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "auto",
    workers: Annotated[int | None, typer.Option(min=0, help="processes that decode images")] = None,
    checkpoint_every: Annotated[int | None, typer.Option(min=1, help="steps between checkpoints")] = None,
    watch: Annotated[
        Path | None, typer.Option(help="items file to evaluate on at every epoch; the best is kept")
    ] = None,
    watch_images: Annotated[Path | None, typer.Option(help="folder of its images")] = None,
    openclip: Annotated[Path | None, typer.Option(help="also write open_clip's keys to this .safetensors file")] = None,
) -> None:
    """Finetune. The same command goes on with a run that was stopped."""
    if recipe == "list":
        _list_recipes()
        return
    from equipoise.models import load_model
    from equipoise.models.clip import ClipModel
    from equipoise.train.recipes import get_recipe
    from equipoise.train.run.loop import train as run

    chosen = get_recipe(recipe, quick=quick, **_settings(options or []))
    missing = [
        name
        for name, given in {"--items": items, "--images": images, "--model": model, "--out": out}.items()
        if not given
    ]
    if missing or out is None:
        raise UserError(
            f"train needs {', '.join(missing)}: equipoise train {recipe} --items F --images DIR --model M --out DIR"
        )
    parts = _parts(items or [], images or [], weight)
    loaded = load_model(model, device=device)
    if not isinstance(loaded, ClipModel):
        raise UserError(f"{model}: only CLIP- and SigLIP-style models of transformers can be finetuned")
    finished = run(
        chosen,
        parts,
        loaded,
        out,
        chunk=chunk,
        device=device,
        workers=workers,
        checkpoint_every=checkpoint_every,
        evaluate=None if watch is None else _judge(watch, watch_images),
        best=None if watch is None else "original",
    )
    if openclip is not None:
        _write_openclip(finished, openclip)
    typer.echo(f"the model is {finished}; judge it with: equipoise eval hf:{finished} --bench ...")


def _settings(options: list[str]) -> dict[str, str]:
    pairs = [option.partition("=") for option in options]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise UserError(f"--set {wrong[0]}: expected name=value, e.g. --set hn_weight=0.5")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _parts(items: list[Path], images: list[str], weights: list[float] | None) -> list[Part]:
    from equipoise.image_sources import open_source
    from equipoise.items import load_items
    from equipoise.train.data.batches import Part

    if len(images) not in (1, len(items)):
        raise UserError(f"{len(items)} --items and {len(images)} --images: give one --images, or one for each --items")
    if weights and len(weights) != len(items):
        raise UserError(f"{len(items)} --items and {len(weights)} --weight: give one for each --items")
    sources = [open_source(place) for place in images] * (len(items) if len(images) == 1 else 1)
    loaded = [load_items(path) for path in items]
    return [Part(*part) for part in zip(loaded, sources, weights or [1.0] * len(items), strict=True)]


def _judge(items: Path, images: Path | None) -> Callable[[Any], Mapping[str, float]]:
    from equipoise.evaluation.run import evaluate
    from equipoise.items import load_items

    judged = load_items(items)
    names = ("original", "augmented", "brittleness")

    def judge(model: Any) -> dict[str, float]:
        # The weights change between calls and the card does not, so nothing may come from the cache.
        numbers = evaluate(model, judged, images=images).numbers
        return {name: numbers[name] for name in names if numbers[name] is not None}

    return judge


def _write_openclip(folder: Path, path: Path) -> None:
    from safetensors.torch import save_file

    from equipoise.models.convert import to_open_clip
    from equipoise.models.hf import load_folder

    save_file(to_open_clip(load_folder(folder, spec=f"hf:{folder}", device="cpu", dtype="float32").network), path)


def _list_recipes() -> None:
    from equipoise.train.recipes import RECIPES, options_of

    for name, recipe in RECIPES.items():
        about = (recipe.__doc__ or "").strip().splitlines()[0]
        typer.echo(f"{name}\n    {about}\n    options: {', '.join(options_of(name))}\n")
