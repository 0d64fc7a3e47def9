"""equipoise standard, equipoise analyse: what a model can do beside telling captions apart, and how it does that."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.options import offer_benchmarks, split_names
from equipoise.errors import UserError, printable

if TYPE_CHECKING:
    from equipoise.readers.sets.kinds import AnySet
    from equipoise.standard.record import StandardRecord

Model = Annotated[str, typer.Argument(help="any model that `equipoise eval` takes")]
Data = Annotated[Path | None, typer.Option("--images", help="the photos: a folder, tar or Parquet shards")]
AllowMissing = Annotated[bool, typer.Option("--allow-missing", help="go on without photos that are missing or corrupt")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, mps")]
Dtype = Annotated[str, typer.Option(help="float32, tf32, bfloat16, float16")]
BatchSize = Annotated[int | None, typer.Option(min=1, help="default: 16, on a GPU 256")]
Workers = Annotated[int | None, typer.Option(min=1, help="that decode images; default: one per core")]
Cache = Annotated[Path | None, typer.Option(help="folder of the embedding cache")]
Seed = Annotated[int, typer.Option(min=0, help="of the bootstrap")]
AsJson = Annotated[bool, typer.Option("--json", help="the records, as result.json has them")]


def standard(
    model: Model,
    bench: Annotated[
        str,
        typer.Option(
            help="separated by commas: a folder with a folder for each class, CLIP_benchmark's webdataset folder, "
            "coco, flickr30k, flickr8k, flickr8k-experts (with --source); a file of "
            "captions, items or ratings (with --images); a benchmark, whose captions are retrieved"
        ),
    ],
    source: Annotated[Path | None, typer.Option(help="folder of the annotation files")] = None,
    data: Data = None,
    split: Annotated[str, typer.Option(help="of sets that have splits")] = "test",
    templates: Annotated[
        Path | None, typer.Option(help='of classification: one per line, "a photo of a {}."; else the set\'s own')
    ] = None,
    out: Annotated[Path | None, typer.Option(help="where the runs are kept: OUT/NAME-KIND/result.json")] = None,
    allow_missing: AllowMissing = False,
    device: Device = "auto",
    dtype: Dtype = "float32",
    batch_size: BatchSize = None,
    workers: Workers = None,
    cache: Cache = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Zero-shot classification, retrieval, human ratings. Before and after: equipoise compare.

    With several GPUs: torchrun --nproc-per-node N -m equipoise standard ...
    """
    passed = {name: str(value) if isinstance(value, Path) else value for name, value in locals().items()}
    names = split_names(bench)
    if not names:
        raise UserError(f"--bench {bench!r}: names nothing")
    from equipoise.readers.sets.open import open_set
    from equipoise.report.standard import render_standard

    sets = [open_set(name, source=source, data=data, split=split, templates=templates) for name in names]
    asked = {"allow_missing": allow_missing, "batch_size": batch_size, "workers": workers, "seed": seed}
    _run(sets, model, device, dtype, out, cache, {**asked, "arguments": passed}, render_standard, as_json)


def analyse(
    model: Model,
    bench: Annotated[
        str,
        typer.Option(
            help="benchmarks, items files or py:module:name, separated by commas", autocompletion=offer_benchmarks
        ),
    ],
    source: Annotated[Path | None, typer.Option(help="folder of the benchmark's annotation files")] = None,
    data: Data = None,
    splits: Annotated[str, typer.Option(help="only these splits, separated by commas")] = "",
    by: Annotated[str, typer.Option(help="print this tag's values too, or `positive edit`, `negative edit`")] = "",
    out: Annotated[Path | None, typer.Option(help="where the runs are kept: OUT/NAME-KIND/result.json")] = None,
    allow_missing: AllowMissing = False,
    device: Device = "auto",
    dtype: Dtype = "float32",
    batch_size: BatchSize = None,
    workers: Workers = None,
    cache: Cache = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Mean scores, gaps between captions, similarity of the texts. 99% intervals, 50,000 resamples of the photos.

    The embeddings of `equipoise eval` are in the cache, so this costs little after it.
    """
    passed = {name: str(value) if isinstance(value, Path) else value for name, value in locals().items()}
    names = split_names(bench)
    if not names:
        raise UserError(f"--bench {bench!r}: names no benchmark; `equipoise bench list` shows all")
    from equipoise.readers.sets.open import open_items
    from equipoise.report.standard import render_analysis

    sets = [open_items(name, source=source, data=data, splits=split_names(splits)) for name in names]
    asked = {"allow_missing": allow_missing, "batch_size": batch_size, "workers": workers, "seed": seed}
    shown = partial(render_analysis, by=by)
    _run(sets, model, device, dtype, out, cache, {**asked, "arguments": passed}, shown, as_json)


def _run(
    sets: Sequence[AnySet],
    model: str,
    device: str,
    dtype: str,
    out: Path | None,
    cache: Path | None,
    asked: dict[str, Any],
    render: Callable[[StandardRecord], str],
    as_json: bool,
) -> None:
    """One set after the other, each on disk before the next begins."""
    from equipoise.evaluation.embedding.cache import EmbeddingCache, default_cache
    from equipoise.evaluation.embedding.processes import joined
    from equipoise.files import stays_inside
    from equipoise.models import load_model
    from equipoise.standard.run import run_standard

    labels = [f"{one.name}-{one.kind}" for one in sets]
    if out is not None and (leaving := [label for label in labels if not stays_inside(label)]):
        raise UserError(f"{leaving[0]!r} cannot be kept in {out}: its name would be a folder outside")
    if out is not None and len(set(labels)) < len(labels):
        raise UserError(f"two of {', '.join(labels)} would be kept in one folder of {out}; evaluate them one by one")
    records = []
    with joined() as ranks:
        loaded = load_model(model, device=device, dtype=dtype)
        for one in sets:
            place = None if out is None else out / f"{one.name}-{one.kind}"  # eval has OUT/NAME
            result = run_standard(
                loaded, one, out=place, cache=EmbeddingCache(cache or default_cache()), ranks=ranks, **asked
            )
            if result is None:
                continue
            if result.read_from is not None:
                typer.echo(printable(f"{one.name}: read from {result.read_from}, not computed"), err=True)
            records.append(result.record)
            if not as_json:
                typer.echo(render(result.record))
    if as_json and records:
        typer.echo(json.dumps([one.model_dump(mode="json", by_alias=True) for one in records], indent=2))
