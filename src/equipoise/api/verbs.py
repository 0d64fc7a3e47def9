"""The verbs as functions: the same work as the commands of the same name, on objects in memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.api.inputs import (
    AnyModel,
    Frame,
    Images,
    as_images,
    as_model,
    as_source,
    captions_file,
    for_python,
    is_frame,
    is_path,
)
from equipoise.api.items import Items, load_items
from equipoise.api.results import Audited, Diff, Doctor, Measured, Run
from equipoise.core.errors import UserError, listed
from equipoise.data.items import Item

if TYPE_CHECKING:
    from equipoise.evaluation.metrics import Metric
    from equipoise.train.data.batches import Trainable
    from equipoise.train.recipe import Recipe

AnyRun = Run | str | Path


@for_python
def perturb(
    captions: str | Path | Frame | Sequence[tuple[Any, str]] | Any,
    recipe: str = "balanced",
    *,
    caption: str | None = None,
    image: str | None = None,
    out: str | Path | None = None,
    seed: int = 0,
    limit: int | None = None,
    keep_all: bool = False,
    precision: float = 0.92,
    workers: int = 1,
) -> Items:
    """Write hard positives and hard negatives for captions.

    `captions` is a file that `equipoise perturb` reads, a DataFrame, a Hugging Face dataset or a list of (image,
    caption) or of {"image": ..., "caption": ...}. An image is a path or a PIL picture. `caption` and `image` name the
    columns where they are not called so. `precision` is the share of its edits that a strict reader should accept, of
    the recipe `balanced`. With `out` the items are written there too.
    """
    from equipoise.perturb.recipes import Setup
    from equipoise.perturb.run.engine import perturb_file

    with captions_file(captions, caption, image) as (path, images), tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "items.jsonl" if out is None else Path(out)
        setup = Setup(recipe, seed, precision=precision, keep_all=keep_all)
        report = perturb_file(path, target, setup, workers=workers, limit=limit)
        return Items(load_items(target)._items, images, report)


@for_python
def evaluate(
    model: AnyModel,
    items: str | Path | Sequence[Item] | Frame,
    *,
    images: Images | None = None,
    source: str | Path | None = None,
    out: str | Path | None = None,
    label: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    batch_size: int | None = None,
    workers: int | None = None,
    allow_missing: bool = False,
    limit: int | None = None,
    metrics: Sequence[Metric] = (),
    ask: str | None = None,
    until: str | None = None,
    seed: int = 0,
) -> Run:
    """Score and measure a model.

    `model` is a spec ("hf:my-clip"), (model, processor) of transformers, (model, preprocess, tokenizer) of open_clip,
    or an object with `embed_images` and `embed_texts`, or with `score_pairs`, or with `answer(images, prompts)`: that
    one is asked in the variants of `ask` ("wordings,orders,prompts:5,repeats:2"), until a metric is known to so many
    points (`until="brittleness:2"`). `items` come from `perturb` or
    `load_items`, or are a file, a DataFrame with the columns image, caption, negative (and positive), or the name of a
    benchmark whose files lie in `source`. `images` is a folder or shards, a dict of pictures by name, a function of the
    name, or a column of pictures. `label` is what tables and pages call the model. With `out` the run is saved there,
    or read if the folder already holds it.
    """
    from equipoise.core.provenance import default_cache
    from equipoise.embedding.cache import EmbeddingCache
    from equipoise.evaluation.run import ask_of, evaluate_loaded, read_benchmarks
    from equipoise.evaluation.task import ItemsTask, Task

    pictures = as_images(getattr(items, "images", None) if images is None else images)
    own = pictures if isinstance(pictures, str) else None
    loaded: Task
    if is_path(items):
        (loaded, *more) = read_benchmarks(
            [os.fspath(items)],  # type: ignore[arg-type]
            source=None if source is None else Path(source),
            data=None if own is None else Path(own),
        )
        if more:
            raise UserError(f"{items}: several benchmarks; evaluate them one by one")
    else:
        loaded = ItemsTask("items", _listed(items))
    loaded = loaded.limited(limit)
    if pictures is not None and isinstance(loaded, ItemsTask):
        loaded = replace(loaded, images=pictures)
    with as_model(model, device, dtype) as ready:
        (result,) = evaluate_loaded(
            ready,
            [loaded],
            out=None if out is None else Path(out),
            metrics=metrics,
            ask=ask_of(ready, ask),
            until=until,
            allow_missing=allow_missing,
            batch_size=batch_size,
            workers=workers,
            cache=EmbeddingCache(default_cache()),
            seed=seed,
        )
    called = label or (result.record.model.spec if hasattr(ready, "card") else type(ready).__name__)
    place = None if out is None else Path(out) / loaded.name
    return Run(result.record, result.rows, result.read_from, loaded.items, pictures, called, place, metrics)


def _listed(items: Any) -> Sequence[Item]:
    if is_frame(items):
        from equipoise.benchmarks.registry import load_file

        texts = items["caption"] if "caption" in items.columns else ()
        if empty := [row for row, text in enumerate(texts) if not isinstance(text, str) or not text.strip()]:
            raise UserError(
                f"items: {len(empty):,} of {len(texts):,} rows have no caption, the first is row {empty[0]}"
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            items.to_csv(path, index=False)
            try:
                return load_file(path, ())
            except UserError as error:
                raise UserError(str(error).replace(str(path), "items")) from None
    expected = "expected items of perturb or load_items, a file or a DataFrame"
    if not isinstance(items, Sequence):
        raise UserError(f"items: {type(items).__name__}; {expected}")
    if wrong := [f"items[{place}]: {item!r:.80}" for place, item in enumerate(items) if not isinstance(item, Item)]:
        raise UserError(f"{len(wrong):,} of {len(items):,} are no items; {expected}\n{listed(wrong)}")
    return items


@for_python
def compare(before: AnyRun, *after: AnyRun, average: str | None = None, seed: int = 0) -> Diff:
    """Paired differences of runs on the same items: the first against each of the others.

    A run is what `evaluate` returned, or the folder of one.
    """
    from equipoise.evaluation.comparing.folders import compare_folders

    if not after:
        raise UserError("compare needs two runs or more: compare(before, after)")
    runs = [before, *after]
    folders = [str(_folder(run)) for run in runs]
    once = dict(zip(folders, runs, strict=True))  # the same run may be given twice
    names = dict(zip(once, _labels(list(once.values())), strict=True))
    compared = compare_folders(folders, seed, average)
    called = [
        comparison.model_copy(update={"before": names[comparison.before], "after": names[comparison.after]})
        for comparison in compared.differences
    ]
    groups = {
        name: {metric: [replace(model, model=names[model.model]) for model in placed] for metric, placed in by.items()}
        for name, by in compared.groups.items()
    }
    return Diff(replace(compared, differences=called, groups=groups))


@for_python
def doctor(model: AnyModel | Any, *, device: str = "auto", dtype: str = "float32") -> Doctor:
    """Check whether a model is loaded and called correctly, as `evaluate` does first. `model` as in `evaluate`."""
    from equipoise.core.provenance import default_cache
    from equipoise.evaluation.preflight.judging import checked

    with as_model(model, device, dtype) as ready:
        spec = model if isinstance(model, str) else type(ready).__name__
        preflight = checked(ready, spec, default_cache())
    if preflight is None:
        raise UserError(f"{spec}: doctor checks models that look at pictures; this one reads texts alone")
    return Doctor(preflight.checks)


@for_python
def audit(items: Any, *, source: str | Path | None = None, seed: int = 0) -> Audited:
    """Find problems in a benchmark's texts, and count the answers that the texts give away without the image.

    `items` as in `evaluate`. `clean` of the result has the items that are left.
    """
    from equipoise.audit.checks import audit as run_audit
    from equipoise.benchmarks import registry

    name = "items"
    if is_path(items):
        name = os.fspath(items)
        given, benchmark = registry.load(name, None if source is None else Path(source))
        name = benchmark.name
    else:
        given = _listed(items)
    return Audited(run_audit(given, name, seed), given, getattr(items, "images", None))


def _folder(run: AnyRun) -> Path:
    return run.folder if isinstance(run, Run) else Path(run)


def _labels(runs: Sequence[AnyRun]) -> list[str]:
    """The name of each run; the second of a name gets a number."""
    names = [run.label if isinstance(run, Run) else str(run) for run in runs]
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


@for_python
def report(
    runs: AnyRun | Sequence[AnyRun],
    out: str | Path,
    *,
    images: Images | None = None,
    title: str | None = None,
    about: str | None = None,
    seed: int = 0,
) -> Path:
    """Write one HTML page for runs and return its path. It needs no network, and can be mailed."""
    from equipoise.report.chapters import read_chapters
    from equipoise.report.page import check_page, report_page, write_page
    from equipoise.report.tradeoff import with_retention

    listed: list[AnyRun] = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    path = check_page(Path(out))
    folders = [_folder(run) for run in listed]
    names = {
        folder.resolve(): name
        for run, folder, name in zip(listed, folders, _labels(listed), strict=True)
        if isinstance(run, Run)
    }
    pictures = as_images(images)
    if pictures is None:
        pictures = next((run.images for run in listed if isinstance(run, Run) and run.images is not None), None)
    chapters = with_retention(read_chapters(folders, names=names), folders)
    write_page(path, report_page(chapters, pictures, title, about), seed)
    return path


@for_python
def train(
    recipe: str | Recipe,
    items: str | Path | Sequence[Item] | Frame,
    model: AnyModel | Trainable,
    *,
    images: Images | None = None,
    out: str | Path | None = None,
    quick: bool = False,
    device: str = "auto",
    workers: int | None = None,
    chunk: int | None = None,
    **options: object,
) -> Trainable:
    """Finetune a model with a recipe and return the finetuned one; `model` itself stays as it is.

    `options` are those of the recipe and the settings of all recipes: epochs=3, lr=1e-6, hn_weight=0.5. The run is kept
    in `out` (runs/RECIPE without it): the same call resumes a stopped run and loads a finished one. The weights are in
    OUT/model, as transformers' `save_pretrained` writes them.
    """
    from equipoise.benchmarks.registry import load_file
    from equipoise.models import load_model
    from equipoise.report.curves import write_curves
    from equipoise.train.recipe import Recipe
    from equipoise.train.recipes import get_recipe
    from equipoise.train.run.check import trainable
    from equipoise.train.run.checkpoints import saved_spec
    from equipoise.train.run.loop import Hardware
    from equipoise.train.run.loop import train as run

    if isinstance(recipe, Recipe) and (options or quick):
        raise UserError("a Recipe holds its own options; give them to get_recipe")
    chosen = recipe if isinstance(recipe, Recipe) else get_recipe(recipe, quick=quick, **options)
    listed = load_file(Path(os.fspath(items)), ()) if is_path(items) else _listed(items)  # type: ignore[arg-type]
    pictures = as_source(images, items)
    if workers is None and not is_path(images if images is not None else getattr(items, "images", None)):
        workers = 0  # pictures in memory are read where they are
    with as_model(model, device, "float32") as ready:
        base = trainable(ready, type(ready).__name__)
        finished = run(
            chosen,
            listed,
            base,
            Path("runs") / chosen.name.replace(":", "-") if out is None else Path(out),
            images=pictures,
            hardware=Hardware(device, workers, chunk),
        )
    write_curves(finished.parent)
    made = saved_spec(base, finished)
    return trainable(load_model(made, device=device), made)


@for_python
def metrics(scores: str | Path | Frame | Sequence[Mapping[str, object]], *, seed: int = 0) -> Measured:
    """Measure scores that were made elsewhere.

    `scores` is a DataFrame with the columns caption, negative (negative_2, ...), positive (...), id, image, and tags;
    a list of rows with the same names, or of {"id": ..., "caption": 0.31, "positives": [0.30], "negatives": [0.28]};
    or a file of either.
    """
    import csv
    import json

    from equipoise.evaluation.averages import summarise
    from equipoise.evaluation.outcomes import outcomes_of
    from equipoise.published.reading import read_any

    with tempfile.TemporaryDirectory() as folder:
        if is_path(scores):
            path = Path(os.fspath(scores))  # type: ignore[arg-type]
        elif is_frame(scores):
            path = Path(folder) / "scores.csv"
            scores.to_csv(path, index=False)  # type: ignore[union-attr]
        else:
            listed: list[Any] = list(scores)  # type: ignore[arg-type]
            plain = all(isinstance(row, Mapping) and not {"negatives", "positives"} & row.keys() for row in listed)
            path = Path(folder) / ("scores.csv" if plain else "scores.jsonl")
            with path.open("w", encoding="utf-8", newline="") as handle:
                if plain:
                    table = csv.DictWriter(handle, list(dict.fromkeys(name for row in listed for name in row)))
                    table.writeheader()
                    table.writerows(listed)
                else:
                    handle.writelines(f"{json.dumps(row)}\n" for row in listed)
        try:
            rows = read_any([path], None).rows
        except UserError as error:
            raise UserError(str(error) if is_path(scores) else str(error).replace(str(path), "scores")) from None
        return Measured(summarise(outcomes_of(rows), seed))
