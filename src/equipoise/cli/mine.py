"""equipoise mine: the hard images that NegCLIP's recipe trains with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def mine(
    items: Annotated[Path, typer.Argument(help="items file")],
    images: Annotated[str, typer.Option(help="folder, tar or Parquet shards of its images")],
    model: Annotated[str, typer.Option(help="the model whose image embeddings decide what is near")],
    out: Annotated[Path, typer.Option(help="the items file to write, with hard images")],
    k: Annotated[int, typer.Option("--k", min=1, help="hard images for each item; the paper has 3")] = 3,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps")] = "auto",
    cache: Annotated[Path | None, typer.Option(help="folder of the embedding cache")] = None,
) -> None:
    """The most similar other images of each item, for NegCLIP. They are written to tags["hard_images"]."""
    from equipoise.evaluation.embedding.cache import EmbeddingCache, default_cache
    from equipoise.models import load_model
    from equipoise.train.run.mining import mine_file

    loaded = load_model(model, device=device)
    count = mine_file(items, out, loaded, images, k, EmbeddingCache(cache or default_cache()))
    typer.echo(
        f"{out}: {count:,} items with their hard images; train on them: "
        f"equipoise train negclip_yuksekgonul_2023 --items {out} --images {images} --model {model} --out DIR"
    )
