"""Judge a model on every kind of item and on retrieval, from what its frozen image tower says of each photo.

Photos go through the image tower once for each base (OUT/pooled-NAME.npz, which base.py writes); models that share the
base share these values and its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partialmethod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from equipoise.data.images import ImageSource, TarImages
from equipoise.data.items import Item, load_items
from equipoise.data.readers.sets.classes import DEFAULT_TEMPLATES
from equipoise.evaluation.sets.classification import ranked
from equipoise.models.clip import ClipModel
from equipoise.train.data.batches import TextChunks, TrainingData
from studies.coco.retrieval import experts, outcomes, ranks, rated_photos, recalls
from studies.coco.scores import numbers, write_scores

Vectors = dict[str, NDArray[np.float32]]


@cache
def source(photos: str) -> ImageSource:
    return TarImages(sorted(Path(photos).glob("*.tar")))


@cache
def items_of(path: str) -> Sequence[Item]:
    return load_items(path)


@cache
def pooled(path: str) -> Vectors:
    with np.load(path) as held:
        return dict(zip(held["names"].tolist(), held["rows"], strict=True))


def remember(rows: Vectors) -> None:
    """Training asks its frozen tower for every photo; here it was asked already. Several runs at a time would
    otherwise send the same photos through the same tower."""

    def known(self: TrainingData, *_: object) -> None:
        self._pooled = {key: rows[key[1]] for key in self._keys if isinstance(key, tuple)}

    TrainingData.pool = partialmethod(known)  # type: ignore[assignment, method-assign]


def kinds(data: str, split: str) -> list[str]:
    """The kinds of test items that a folder has."""
    found = sorted(path.stem.removeprefix(f"{split}-") for path in Path(data).glob(f"{split}-*.jsonl"))
    return [kind for kind in found if kind != "captions" and "perturbed" not in kind]


def photos_of_kinds(data: str, split: str) -> list[str]:
    own = [item for kind in kinds(data, split) for item in items_of(f"{data}/{split}-{kind}.jsonl")]
    return [item.image.path for item in (*own, *classes_of(data, split)) if item.image]


def classes_of(data: str, split: str) -> Sequence[Item]:
    """Photos whose caption is the name of a class; only test has some, and where more.py made them."""
    path = Path(data) / "classes.jsonl"
    return items_of(str(path)) if split == "test" and path.exists() else []


def three(item: Item) -> tuple[str, str, str]:
    """Caption, positive, negative; an item without a positive has its caption again."""
    return item.caption, item.positives[0].text if item.positives else item.caption, item.negatives[0].text


Tokens = dict[str, list[int]]


@cache
def tokens(base: str) -> Tokens:
    """What is known of a base's tokens: it grows, and every model that a process trains finds it."""
    return {}


def know(words: Tokens) -> None:
    """Training asks its tokenizer for every text, which is half of the time in which a batch is made; most were asked
    by the models before it in this process."""

    def known(self: TextChunks, texts: Sequence[str]) -> list[list[int]]:
        self._known = words
        return own(self, texts)

    own = getattr(TextChunks._ids, "own", TextChunks._ids)
    known.own = own  # type: ignore[attr-defined]
    TextChunks._ids = known  # type: ignore[method-assign]


@torch.inference_mode()
def projected(model: ClipModel, rows: Vectors, names: list[str]) -> Vectors:
    """The embeddings of photos whose pooled values are known."""
    seen = torch.from_numpy(np.stack([rows[name] for name in names])).to(model.device)
    unit = torch.nn.functional.normalize(model.network.visual_projection(seen).float(), dim=-1).cpu().numpy()
    return dict(zip(names, unit, strict=True))


def texts(model: ClipModel, strings: list[str], words: Tokens, size: int = 1000) -> NDArray[np.float32]:
    unknown = [text for text in dict.fromkeys(strings) if text not in words]
    words |= zip(unknown, (model.truncate(row) for row in model.tokenize(unknown)), strict=True)
    ids = [words[text] for text in strings]
    order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
    out = np.zeros((len(ids), model.card["embed_dim"]), np.float32)
    for start in range(0, len(ids), size):
        rows = order[start : start + size]
        out[rows] = model.encode_texts([ids[row] for row in rows])
    return out


def classified(model: ClipModel, items: list[Item], images: Vectors, words: Tokens) -> NDArray[np.int16]:
    """Zero-shot classification as `eval` has it, with its one template: the rank of the right class of each photo."""
    names = sorted({item.caption for item in items})
    own = texts(model, [DEFAULT_TEMPLATES[0].replace("{}", name) for name in names], words).astype(np.float64)
    seen = np.stack([images[item.image.path] for item in items if item.image])
    found, _, _ = ranked(seen, range(len(items)), own, [names.index(item.caption) for item in items])
    return found.astype(np.int16)


def judge(
    model: ClipModel,
    data: str,
    photos: str,
    split: str,
    rows: Vectors,
    words: Tokens,
    scores: Path | None = None,
) -> dict[str, float]:
    """Original, Augmented, Brittleness in percent for each kind of item; recall and experts' correlation."""
    names = list(dict.fromkeys(i.image.path for i in items_of(f"{data}/{split}-captions.jsonl") if i.image))
    rated = rated_photos(photos) & rows.keys() if split == "test" else set()
    images = projected(model, rows, [*dict.fromkeys([*names, *photos_of_kinds(data, split), *sorted(rated)])])
    found: dict[str, float] = {}
    kept: dict[str, NDArray[Any]] = {}
    for kind in kinds(data, split):
        items = items_of(f"{data}/{split}-{kind}.jsonl")
        shown = [item.image.path for item in items if item.image]
        seen = np.stack([images[name] for name in shown])
        c, p, n = (
            (texts(model, strings, words) * seen).sum(1) for strings in map(list, zip(*map(three, items), strict=True))
        )
        original, augmented, brittle = outcomes(c, p, n)
        found |= {
            f"{kind}/original": 100 * float(original.mean()),
            f"{kind}/augmented": 100 * float(augmented.mean()),
            f"{kind}/brittleness": 100 * float(brittle.mean()),
            f"{kind}/apart": float(np.abs(c - p).mean() / np.concatenate([c, p, n]).std()),
        }
        kept |= {f"{kind}/photo": numbers(shown, list(images)), f"{kind}/scores": np.stack([c, p, n])}
        if all("relation" in item.tags for item in items):
            kept[f"{kind}/relation"] = np.array([item.tags["relation"] for item in items])
    for name in dict.fromkeys(item.tags["set"] for item in classes_of(data, split)):
        items = [item for item in classes_of(data, split) if item.tags["set"] == name]
        kept[f"{name}/ranks"] = classified(model, items, images, words)
        found |= {f"{name}/accuracy@{top}": 100 * float((kept[f"{name}/ranks"] < top).mean()) for top in (1, 5)}
    plain = items_of(f"{data}/{split}-captions.jsonl")
    captions = texts(model, [item.caption for item in plain], words)
    order = numbers([item.image.path for item in plain if item.image], names)
    photo_vectors = np.stack([images[name] for name in names])
    found |= recalls(photo_vectors, captions, order)
    to_image, to_text = (rank.astype(np.int16) for rank in ranks(photo_vectors, captions, order))
    kept |= {"captions/photo": order, "t2i": to_image, "i2t": to_text}
    told, pairs = experts(images, lambda strings: texts(model, strings, words), photos)
    if scores:
        write_scores(scores, kept | pairs)
    return found | told
