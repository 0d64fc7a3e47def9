"""What `--bench` names: a folder of classes or shards, a file of captions or ratings, a benchmark, or one of NAMED."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from equipoise import registry
from equipoise.errors import UserError, did_you_mean
from equipoise.evaluation.embedding.cache import default_world
from equipoise.files import read_text
from equipoise.images.sources import open_source
from equipoise.items import Item
from equipoise.readers.sets.captions import (
    caption_set,
    from_file,
    from_flickr8k,
    from_items,
    from_karpathy,
    from_shards,
    is_karpathy,
)
from equipoise.readers.sets.classes import is_class_folder, is_shards, read_classes
from equipoise.readers.sets.kinds import AnySet, ItemSet
from equipoise.readers.sets.ratings import flickr8k_experts, holds_ratings, read_ratings

NAMED = {  # name: the file below --source that it is read from
    "coco": "dataset_coco.json",
    "flickr30k": "dataset_flickr30k.json",
    "flickr8k": "captions.tsv",
    "flickr8k-experts": "ExpertAnnotations.txt",
}
FORMS = (
    f"{', '.join(NAMED)} (with --source), a folder with a folder for each class, CLIP_benchmark's webdataset folder, "
    "a file of captions or items (with --images), a table of image, caption and rating (with "
    "--images), or a benchmark whose captions are to be retrieved"
)


def open_set(
    bench: str,
    *,
    source: Path | None = None,
    data: Path | None = None,
    split: str = "test",
    templates: Path | None = None,
) -> AnySet:
    """The set that `bench` names, read and checked; `source` holds annotation files, `data` photos: one is both."""
    found = _open(bench, source, data, split, templates)
    if templates is not None and found.kind != "classification":
        raise UserError(f"--templates is of classification, and {bench} is {found.kind}")
    return found


def _open(bench: str, source: Path | None, data: Path | None, split: str, templates: Path | None) -> AnySet:
    path = Path(bench)
    if bench in NAMED:
        return _named(bench, source or data, data or source, split)
    if path.is_dir():
        if is_shards(path) and _type(path) == "retrieval":
            return from_shards(path, split, path.name)
        if is_class_folder(path) or is_class_folder(path / split):
            return read_classes(path, split, templates)
        raise UserError(f"{path}: nothing in this folder that is read here. --bench is one of: {FORMS}")
    if path.is_file():
        return _file(path, data, split)
    return _benchmark(bench, source, data)


def _type(folder: Path) -> str:
    path = folder / "dataset_type.txt"
    return read_text(path).strip().lower() if path.is_file() else "classification"


def _named(name: str, source: Path | None, data: Path | None, split: str) -> AnySet:
    if source is None or data is None:
        raise UserError(f"{name}: name the folder of {NAMED[name]} with --source (that of the photos with --images)")
    if name in {"coco", "flickr30k"}:
        return caption_set(name, split, open_source(data), from_karpathy(source / NAMED[name], split))
    if name == "flickr8k-experts":
        return flickr8k_experts(source, name, open_source(data))
    left_out: dict[str, str] = {}
    return caption_set(name, split, open_source(data), from_flickr8k(source, split, left_out), left_out)


def _file(path: Path, data: Path | None, split: str) -> AnySet:
    if data is None:
        raise UserError(f"{path}: name the folder (or shards) of its photos with --images")
    if holds_ratings(path):
        return read_ratings(path, path.stem, open_source(data))
    if is_karpathy(path):
        return caption_set(path.stem, split, open_source(data), from_karpathy(path, split))
    left_out: dict[str, str] = {}
    return caption_set(path.stem, None, open_source(data), from_file(path, left_out), left_out)


def _benchmark(name: str, source: Path | None, data: Path | None) -> AnySet:
    found, benchmark, folder = _items(name, source, data, ())
    return caption_set(benchmark, None, open_source(folder), from_items(found))


def open_items(
    name: str, *, source: Path | None = None, data: Path | None = None, splits: Sequence[str] = ()
) -> ItemSet:
    """The items of a benchmark or of a file, for an analysis."""
    found, benchmark, folder = _items(name, source, data, splits)
    asked = tuple(_texts_alone(item) for item in found if item.negatives)
    if not asked:
        raise UserError(f"{name}: none of its {len(found):,} items has a hard negative to analyse")
    return ItemSet(benchmark, ",".join(splits) or None, open_source(folder), asked)


def _texts_alone(item: Item) -> Item:
    """Other images of an item are no part of the analysis, and need not be there."""
    return item.model_copy(update={"positive_images": (), "negative_images": (), "paired": False})


def _items(
    name: str, source: Path | None, data: Path | None, splits: Sequence[str]
) -> tuple[Sequence[Item], str, Path]:
    """(items, the name of their benchmark, where their photos are)."""
    if name not in registry.names() and not name.startswith("py:") and not registry.is_file(name):
        hint = did_you_mean(name, [*NAMED, *registry.names()])
        raise UserError(f"--bench {name}: no such file or name.{hint} Expected: {FORMS}")
    folder = source or data
    if folder is None and name in registry.names() and registry.get(name).drawn:
        folder = default_world()
    items, benchmark = registry.load(name, folder, splits)
    place = data or folder
    if place is None:
        raise UserError(f"{name}: name the folder of its photos with --images")
    return items, benchmark.name, place
