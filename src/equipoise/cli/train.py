"""equipoise train: finetune a model on Items with a recipe of a paper or your own."""

from __future__ import annotations

import copy
import json
import os
import textwrap
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
import typer.core

from equipoise.cli.options import App
from equipoise.core.errors import UserError
from equipoise.core.progress import begin, is_watched
from equipoise.report import fold
from equipoise.train.recipe_rows import recipe_rows

if TYPE_CHECKING:
    from equipoise.evaluation.record import Number
    from equipoise.models.base import Model
    from equipoise.train.data.batches import Part, Trainable
    from equipoise.train.recipe import Recipe
    from equipoise.train.run.loop import Evaluation

QUICK = "it sets batch_size 128, epochs 100, max_steps 200, lr 6e-4 (LoRA: 6e-3) and warmup_steps 20"
EXIT_WITHIN = 2.0  # seconds for the step in flight; then the step before it is saved, which takes a moment too


class _Recipes(typer.core.TyperGroup):
    """`train list` is a command. Any other word after `train` is a recipe, and goes to the one command that trains,
    under the recipe's name: recipes are looked up when they are asked for, because that loads torch."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args[:1] in (["list"], ["--help"], []) else ["RECIPE", *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name != "RECIPE" or command is None:
            return name, command, rest
        place = _first_word(command, rest)
        if place is None:
            if "--help" in rest:
                return name, command, ["--help"]
            raise UserError("train needs a recipe: equipoise train RECIPE ...; `equipoise train list` shows all")
        recipe = rest.pop(place)
        known = {name for param in command.params for name in param.opts} | {"--help"}
        for word in rest:
            option = word.partition("=")[0]
            if option.startswith("--") and option not in known and not get_close_matches(option, known, 1, 0.8):
                raise UserError(
                    f"No such option: {option}. Options of a recipe are given with --set, e.g. --set "
                    f"{_nearest(recipe, option[2:].replace('-', '_'))}=3"
                )
        if "--help" in rest:
            command = copy.copy(command)
            command.help = _help(recipe)
        return recipe, command, rest

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """After `train` a shell offers the recipes, not the name of the command behind them."""
        kind = type(super().shell_complete(ctx, "")[0])  # typer has its own copy of click, so it has no public class
        return [kind(name) for name in ("list", *recipe_rows()) if name.startswith(incomplete)]


def _first_word(command: Any, args: list[str]) -> int | None:
    """The place of the recipe, which may come after options; their values are skipped."""
    flags = {name for param in command.params if getattr(param, "is_flag", False) for name in param.opts} | {"--help"}
    place = 0
    while place < len(args):
        if not args[place].startswith("-"):
            return place
        place += 1 if args[place] in flags or "=" in args[place] else 2
    return None


app = App(
    cls=_Recipes,
    no_args_is_help=True,
    help="Finetune a model with a recipe.\n\n`equipoise train RECIPE --items F --images DIR --model M --out DIR`. "
    "`train list` shows the recipes, `train RECIPE --help` everything about one. A recipe of your own is "
    "`train py:module:function`, a function that returns equipoise.train.recipe.Recipe.\n\n"
    f"`--quick` is for small models and two cores: {QUICK}. Without it they are the paper's.",
)


@app.command("list")
def list_recipes(as_json: bool = typer.Option(False, "--json", help="print a list of objects")) -> None:
    """List all recipes. --json adds what each needs of the items, and every option with its default."""
    if as_json:
        from equipoise.train.recipes import about

        typer.echo(json.dumps([about(name) for name in recipe_rows()], indent=2, ensure_ascii=False))
        return
    for name, row in recipe_rows().items():
        typer.echo(fold(f"{name}\n    {row.summary}"))
    typer.echo(
        fold(
            "\nThe paper, what a recipe needs of the items, and every option and setting with its default: "
            "`equipoise train RECIPE --help`; of all recipes: `equipoise train list --json`."
        )
    )


@app.command("RECIPE")
def train(
    context: typer.Context,
    items: list[Path] | None = typer.Option(None, help="items file or table; several are joined (see --weight)"),
    images: list[str] | None = typer.Option(
        None, help="folder, tar or Parquet shards of the images; one for each --items"
    ),
    model: str = typer.Option("", help="the model to start from, e.g. hf:openai/clip-vit-base-patch32"),
    out: Path | None = typer.Option(None, help="folder of the run; the model will be OUT/model"),
    options: list[str] | None = typer.Option(None, "--set", help="an option of the recipe, e.g. --set hn_weight=0.5"),
    quick: bool = typer.Option(False, "--quick", help=f"for small models and two cores: {QUICK}"),
    weight: list[float] | None = typer.Option(None, help="share of each --items; default: each item once"),
    chunk: int | None = typer.Option(None, min=1, help="samples at once (GradCache): less memory, same gradients"),
    max_skipped: float = typer.Option(
        0.01, min=0, max=1, metavar="SHARE", help="share of unreadable images that stops the run"
    ),
    device: str = typer.Option("auto", help="auto, cpu, cuda"),
    workers: int | None = typer.Option(None, min=0, help="processes that decode images"),
    checkpoint_every: int | None = typer.Option(None, min=1, help="steps between checkpoints"),
    watch: Path | None = typer.Option(
        None, help="items file to evaluate on at the start and after every epoch; the best is kept"
    ),
    watch_images: Path | None = typer.Option(None, help="folder of its images"),
    log: list[str] | None = typer.Option(None, metavar="NAME", help="mirror the log to tensorboard or wandb"),
) -> None:
    """Finetune with a recipe. Run the same command again to resume a stopped run."""
    from equipoise.models.base import device_named

    device_named(device)  # before torch is loaded
    from equipoise.report.curves import write_curves
    from equipoise.train.recipes import get_recipe
    from equipoise.train.run.check import data_identity
    from equipoise.train.run.checkpoints import Checkpoints, saved_spec
    from equipoise.train.run.loop import Hardware, Saving
    from equipoise.train.run.loop import train as run

    recipe = context.info_name or ""
    settings = settings_of(options or [])
    chosen = get_recipe(recipe, quick=quick, **settings)
    needed = {"--items": items, "--images": images, "--model": model, "--out": out}
    missing = [name for name, given in needed.items() if not given]
    if missing or out is None:
        raise UserError(
            f"train needs {', '.join(missing)}: equipoise train {recipe} --items F --images DIR --model M --out DIR"
        )
    parts = _parts(items or [], images or [], weight)
    evaluation = _evaluation(watch, watch_images)
    saving = Saving(every=checkpoint_every, exit_within=EXIT_WITHIN, log=log or ())
    Checkpoints(out).refuse_early(data_identity(chosen, parts))
    begin("train", out)
    loaded = _model(model, device)
    known = Checkpoints(out).model.is_dir()
    if quick and not known and is_watched():
        typer.echo(fold(_changed(get_recipe(recipe, quick=False, **settings), chosen)), err=True)
    finished = run(
        chosen,
        parts,
        loaded,
        out,
        evaluation=evaluation,
        saving=saving,
        hardware=Hardware(device, workers, chunk),
        max_skipped=max_skipped,
    )
    if os.environ.get("RANK", "0") != "0":  # only one process of a torchrun prints
        return
    made = saved_spec(loaded, finished)
    if known:
        again = f"For more steps or other settings, name another --out (to start from this model: --model {made})."
        typer.echo(f"{out} already holds this finished run; nothing was trained. {again}", err=True)
    if watch is not None and watch_images is not None:
        _before_and_after(model, made, watch, watch_images, out, device)
    if evaluation and evaluation.best and (best := Checkpoints(out).best(evaluation.best)) is not None:
        typer.echo(f"best on {watch}: {best}; {finished} is the last step")
    if (page := write_curves(out)) is not None:
        typer.echo(f"the curves are {page}")
    typer.echo(f"the model is {finished}; evaluate it with: equipoise eval {made} --bench ...")


def _changed(paper: Recipe, quick: Recipe) -> str:
    """The settings of --quick and the recipe's own values; settings named with --set are the user's choice."""
    from equipoise.train.recipes import SETTINGS, setting_of, written

    pairs = [(name, setting_of(paper, name), setting_of(quick, name)) for name in SETTINGS]
    shown = [f"{name}={written(new)} ({written(old)})" for name, old, new in pairs if new != old]
    return f"--quick sets {', '.join(shown)}; in brackets the recipe's own" if shown else "--quick changes nothing here"


def _nearest(recipe: str, name: str) -> str:
    """The recipe's option that a wrong name resembles most; max_steps, which all have, if none does."""
    from equipoise.train.recipes import about

    facts: dict[str, Any] = about(recipe)
    names: list[str] = [option["name"] for option in facts["options"]]
    return next(iter(get_close_matches(name, names, 1)), "max_steps")


def _help(recipe: str) -> str:
    """A recipe's own explanation and options, above the options of the command."""
    from equipoise.train.recipes import about, explained

    facts = about(recipe)
    lines = [*_facts(facts), "settings  (of every recipe; the defaults are this one's)", *_rows(facts, shared=True)]
    return "\n".join([explained(recipe) or "Finetune with a recipe of your own.", "", "\b", *lines])


def _facts(facts: dict[str, Any]) -> list[str]:
    rows = _rows(facts, shared=False)
    needs = "; ".join(facts["needs"]) or "nothing but images and captions"
    known = [*_columns("paper     ", facts["citation"]), *_columns("needs     ", needs)]
    return [*known, "options", *rows] if rows else known


def _rows(facts: dict[str, Any], shared: bool) -> list[str]:
    from equipoise.train.recipes import written

    chosen = [option for option in facts["options"] if option["shared"] == shared]
    wide = max((len(written(option["default"])) for option in chosen), default=0)
    named = [(f"  {facts['name']:<24} {written(facts['default']):<{wide}}  ", facts["type"]) for facts in chosen]
    return [line for name, text in named for line in _columns(name, text)]


def _columns(name: str, text: str) -> list[str]:
    """The text in a column next to its name, as wide as help is on 80 columns: click leaves these lines as they are."""
    blank = " " * min(len(name), 30)
    return textwrap.wrap(f"{name}{text}", 76, subsequent_indent=blank, break_on_hyphens=False, break_long_words=False)


def settings_of(options: list[str]) -> dict[str, str]:
    pairs = [option.partition("=") for option in options]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise UserError(f"--set {wrong[0]}: expected name=value, e.g. --set hn_weight=0.5")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _parts(items: list[Path], images: list[str], weights: list[float] | None) -> list[Part]:
    from equipoise.benchmarks.registry import load_file
    from equipoise.data.images import open_source
    from equipoise.train.data.batches import Part

    if len(images) not in (1, len(items)):
        raise UserError(f"{len(items)} --items and {len(images)} --images: give one --images, or one for each --items")
    if weights and (len(items) == 1 or len(weights) != len(items)):
        raise UserError(f"{len(items)} --items and {len(weights)} --weight: give one for each of several --items")
    if wrong := [weight for weight in weights or [] if not 0 < weight < float("inf")]:
        raise UserError(f"--weight {wrong[0]}: expected a finite number above 0")
    sources = [open_source(place) for place in images] * (len(items) if len(images) == 1 else 1)
    loaded = [load_file(path, ()) for path in items]
    shares: Sequence[float | None] = weights or [None] * len(items)
    return [Part(*part) for part in zip(loaded, sources, shares, strict=True)]


def _model(spec: str, device: str) -> Trainable:
    from equipoise.models import load_model
    from equipoise.train.run.check import trainable

    return trainable(load_model(spec, device=device), spec)


def _evaluation(watch: Path | None, images: Path | None) -> Evaluation | None:
    """The evaluation of --watch. Problems are refused now, not after the first epoch.

    The best checkpoint is that of the highest Augmented accuracy: a model that learnt to call every change wrong has
    a high Original accuracy, and is what this package exists to avoid. Items without hard positives leave only that.
    """
    if watch is None:
        if images is not None:
            raise UserError("--watch-images: name the items too, with --watch F")
        return None
    from equipoise.benchmarks.registry import load_file
    from equipoise.data.identity import of_items, of_photos, photo_digests
    from equipoise.data.images import absent, open_source
    from equipoise.evaluation.metrics import SHARES
    from equipoise.evaluation.run import evaluate
    from equipoise.evaluation.scoring import default_workers
    from equipoise.train.run.loop import Evaluation

    judged = load_file(watch, ())
    scored = [item for item in judged if item.image is not None and item.negatives]
    if not scored:
        raise UserError(f"--watch {watch}: no item has an image and a hard negative, so none can be scored")
    best = "augmented" if any(item.positives for item in scored) else "original"
    if images is None or not images.exists():
        what = "needs the folder of its images" if images is None else f"{images} is not a folder of images"
        raise UserError(f"--watch {watch}: {what}: --watch-images DIR")
    source = open_source(images)
    if missing := absent(source, dict.fromkeys(ref.path for item in scored for ref in item.images())):
        raise UserError(f"--watch {watch}: {len(missing):,} images are missing {source}, the first {missing[0]}")

    def judge(model: Model) -> dict[str, Number]:
        # The weights change between calls and the card does not, so nothing may come from the cache.
        numbers = evaluate(model, judged, images=source).numbers
        return {name: numbers.metrics[name] for name in SHARES if name in numbers.metrics}

    paths = (ref.path for item in scored for ref in item.images())
    photos = of_photos(photo_digests(paths, source, default_workers()))
    return Evaluation(judge, best=best, identity={"items": of_items(judged), "images": photos, "best by": best})


def _before_and_after(base: str, made: str, watch: Path, images: Path, out: Path, device: str) -> None:
    """The paired changes of the watched items' metrics and of retrieval among their photos.

    Both models are judged into OUT/before and OUT/after, which `compare` and `report` take.
    """
    from equipoise.benchmarks.registry import load_file
    from equipoise.core.provenance import default_cache
    from equipoise.data.images import open_source
    from equipoise.data.readers.sets.captions import caption_set, from_items
    from equipoise.embedding.cache import EmbeddingCache
    from equipoise.evaluation.comparing.folders import compare_folders
    from equipoise.evaluation.run import evaluate, evaluate_set
    from equipoise.models import load_model
    from equipoise.report.comparison import render_differences

    items, source, cache = load_file(watch, ()), open_source(images), EmbeddingCache(default_cache())
    photos = {item.image for item in items if item.image is not None}
    folders = [out / "before", out / "after"]
    for folder, spec in zip(folders, (base, made), strict=True):
        model = load_model(spec, device=device)
        evaluate(model, items, images=images, name="watch", out=folder / "watch", cache=cache)
        if len(photos) > 1:
            captions = caption_set("watch-retrieval", None, source, from_items(items))
            evaluate_set(model, captions, out=folder / "watch-retrieval", cache=cache)
    typer.echo(render_differences(compare_folders(folders).differences))
