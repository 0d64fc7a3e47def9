"""The items as a dataset: `datasets` and its hub show photos with texts, and items.jsonl is for `equipoise eval`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from equipoise.data.items import IMAGES, ImageRef, Item

RUN = "python -c \"import datasets; print(datasets.load_dataset('imagefolder', data_dir='images'))\""
LISTS = (*IMAGES, "photos")
# In the card, so that load_dataset("ORGANISATION/NAME") finds the photos and their texts.
CONFIG = "configs:\n- config_name: default\n  data_files:\n  - split: test\n    path: images/**\n"


def files(items: Sequence[Item], paths: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """`paths`: where the photos of each item are in the folder."""
    several = [name for name in LISTS if any(getattr(item, name) for item in items)]
    shown = [_row(item, paths[item.id], several) for item in items]
    moved = [_moved(item, paths[item.id]).to_json() for item in items]
    return {"images/metadata.jsonl": _lines(shown), "items.jsonl": _lines(moved)}


def _lines(rows: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _parts(item: Item, paths: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The paths of each list of photos, after the item's own photo."""
    at = 1
    for name in LISTS:
        count = len(getattr(item, name))
        yield name, list(paths[at : at + count])
        at += count


def _row(item: Item, paths: Sequence[str], several: Sequence[str]) -> dict[str, object]:
    lists = {f"{name}_file_names": [_name(path) for path in some] for name, some in _parts(item, paths)}
    return {
        "file_name": _name(paths[0]), "id": item.id, "caption": item.caption,
        "positives": [text.text for text in item.positives], "negatives": [text.text for text in item.negatives],
        "question": item.question, "rewordings": list(item.rewordings), "tags": json.dumps(item.tags),
        **{name: some for name, some in lists.items() if name.removesuffix("_file_names") in several},
    }  # fmt: skip


def _name(path: str) -> str:
    return path.removeprefix("images/")


def _moved(item: Item, paths: Sequence[str]) -> Item:
    """With the paths of this folder; photos were cut to their boxes."""
    lists = {name: tuple(ImageRef(path=path) for path in some) for name, some in _parts(item, paths)}
    return item.model_copy(update={"image": ImageRef(path=paths[0]), **lists})
