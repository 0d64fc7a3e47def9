"""Every distinct image and text of some items, embedded once.

Every distinct image (with its box) and every distinct token sequence is embedded once, however many items ask for
it; REPLACE has 6.8 times fewer images and 2.2 times fewer texts than its published code encodes. What was embedded
is on disk at once, so a killed run goes on where it stopped.

An input's embedding must not depend on its neighbours: texts are padded by their own length, never by the
longest of a batch, and every batch has the same number of rows (the last one is filled up). A run over a subset, in
another order, or after a resume therefore multiplies the same shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import UserError
from equipoise.evaluation.cache import EmbeddingCache, Vector, key
from equipoise.evaluation.photos import Photos
from equipoise.files import sha256_json
from equipoise.images import ImageProblem
from equipoise.items import ImageRef, Item
from equipoise.models.base import kind_of
from equipoise.progress import progress

EMBEDDING_CODE = 1  # raised when preprocessing, cleaning or pooling changes: older embeddings then answer no more
LENGTH_STEP = 8  # texts are padded to a multiple of this: few shapes, little padding


@dataclass
class Embedded:
    image: dict[ImageRef, Vector]
    text: dict[str, Vector]
    bad: dict[ImageRef, str]
    counts: dict[str, int]


def embedding_identity(model: Any, batch_size: int) -> str | None:
    """What a cached embedding depends on besides its input, or None where the model gives no hash of its weights."""
    card = getattr(model, "card", None) or {}
    if not card.get("weight_sha256"):
        return None
    parts = ("weight_sha256", "preprocessing", "tokenizer", "activation", "attention", "architecture", "context_length")
    return sha256_json(
        {
            "code": EMBEDDING_CODE,
            "device": str(getattr(model, "device", "")),
            "dtype": card.get("dtype"),
            "batch_size": batch_size if batch_matters(model) else None,
            **{part: card.get(part) for part in parts},
        }
    )


def batch_matters(model: Any) -> bool:
    """Whether the batch size can be seen in a number: in float32 it changes the seventh digit, in less the third."""
    return (getattr(model, "card", None) or {}).get("dtype") != "float32"


def embed(
    model: Any, items: Sequence[Item], photos: Photos, cache: EmbeddingCache, batch_size: int, workers: int
) -> Embedded:
    refs = list(dict.fromkeys(item.image for item in items if item.image is not None))
    strings = list(dict.fromkeys(text for item in items for text in item.texts()))
    identity = embedding_identity(model, batch_size) or "this run"
    bad = {ref: photos.problems[ref.path] for ref in refs if ref.path in photos.problems}
    # Bytes and box, so that two paths of one photo are one input.
    image_keys = {
        ref: key("image", identity, photos.digests[ref.path], repr(ref.box)) for ref in refs if ref not in bad
    }
    image_vectors, encoded_images = _embed_images(model, image_keys, photos, cache, batch_size, workers, bad)
    text_keys, cut = _text_keys(model, strings, identity)
    text_vectors, encoded_texts = _embed_texts(model, text_keys, cache, batch_size)
    widths = {len(vector) for vectors in (image_vectors, text_vectors) for vector in vectors.values()}
    if len(widths) > 1:
        raise UserError(f"the model's embeddings have different widths ({sorted(widths)}), so they have no cosine")
    return Embedded(
        image={ref: image_vectors[name] for ref, name in image_keys.items() if ref not in bad},
        text={string: text_vectors[name] for string, (name, _) in text_keys.items()},
        bad=bad,
        counts={
            "images": len(set(image_keys.values())),
            "images_encoded": encoded_images,
            "texts": len({name for name, _ in text_keys.values()}),
            "texts_encoded": encoded_texts,
            "texts_cut": cut,
        },
    )


def _embed_images(
    model: Any,
    keys: dict[ImageRef, bytes],
    photos: Photos,
    cache: EmbeddingCache,
    batch_size: int,
    workers: int,
    bad: dict[ImageRef, str],
) -> tuple[dict[bytes, Vector], int]:
    vectors = cache.get(list(dict.fromkeys(keys.values())))
    todo = {name: ref for ref, name in keys.items() if name not in vectors}
    # A model with embed_images alone wants pictures, whatever else it is able to do.
    preprocess: Callable[[Any], Any] = model.preprocess if _by_tokens(model) else lambda image: image

    def prepare(ref: ImageRef) -> Any:
        try:
            return preprocess(photos.open(ref))
        except ImageProblem as problem:
            return problem

    reasons: dict[bytes, str] = {}
    with ThreadPoolExecutor(workers) as pool, progress(len(todo), "images", "images") as advance:
        for batch, prepared in _ahead(pool, prepare, list(batched(list(todo.items()), batch_size))):
            good = [(name, image) for name, image in prepared if not isinstance(image, ImageProblem)]
            reasons |= {name: str(image) for name, image in prepared if isinstance(image, ImageProblem)}
            if good:
                fresh = _image_batch(model, [image for _, image in good], batch_size)
                stored = dict(zip([name for name, _ in good], fresh, strict=True))
                cache.put(stored)
                vectors |= stored
            advance(len(batch))
    bad |= {ref: reasons[name] for ref, name in keys.items() if name in reasons}
    return vectors, len(todo) - len(reasons)


def _ahead(
    pool: ThreadPoolExecutor, prepare: Callable[[ImageRef], Any], batches: list[list[tuple[bytes, ImageRef]]]
) -> Iterator[tuple[list[tuple[bytes, ImageRef]], list[tuple[bytes, Any]]]]:
    """Each batch with its decoded images; the next one is decoded while the model works on this one."""
    pending = [[pool.submit(prepare, ref) for _, ref in batch] for batch in batches[:1]]
    for index, batch in enumerate(batches):
        if index + 1 < len(batches):
            pending.append([pool.submit(prepare, ref) for _, ref in batches[index + 1]])
        yield batch, [(name, image.result()) for (name, _), image in zip(batch, pending.pop(0), strict=True)]


def _image_batch(model: Any, prepared: list[Any], batch_size: int) -> Vector:
    if not _by_tokens(model):
        return _unit(model.embed_images(prepared), len(prepared), "embed_images")
    filled = prepared + [prepared[0]] * (batch_size - len(prepared))
    return _unit(model.encode_images(np.stack(filled))[: len(prepared)], len(prepared), "encode_images")


def _text_keys(model: Any, strings: Sequence[str], identity: str) -> tuple[dict[str, tuple[bytes, Any]], int]:
    """text -> (cache key, what to encode); and how many texts are longer than the model reads."""
    if not _by_tokens(model):
        return {string: (key("text", identity, string), string) for string in strings}, 0
    keys: dict[str, tuple[bytes, Any]] = {}
    cut = 0
    for string, ids in zip(strings, model.tokenize(strings), strict=True):
        if len(ids) > model.context_length:
            cut += 1
            ids = model.truncate(ids)
        keys[string] = (key("text", identity, np.asarray(ids, dtype=np.int64).tobytes()), tuple(ids))
    return keys, cut


def _embed_texts(
    model: Any, keys: dict[str, tuple[bytes, Any]], cache: EmbeddingCache, batch_size: int
) -> tuple[dict[bytes, Vector], int]:
    contents = dict(keys.values())
    vectors = cache.get(list(contents))
    todo = [(name, content) for name, content in contents.items() if name not in vectors]
    with progress(len(todo), "texts ", "texts") as advance:
        for length, batch in _text_batches(model, todo, batch_size):
            chosen = [content for _, content in batch]
            if length is None:
                fresh = _unit(model.embed_texts(chosen), len(chosen), "embed_texts")
            else:
                filled = chosen + [chosen[0]] * (batch_size - len(chosen))
                fresh = _unit(model.encode_texts(filled, pad_to=length)[: len(chosen)], len(chosen), "encode_texts")
            stored = dict(zip([name for name, _ in batch], fresh, strict=True))
            cache.put(stored)
            vectors |= stored
            advance(len(batch))
    return vectors, len(todo)


def _text_batches(
    model: Any, todo: list[tuple[bytes, Any]], batch_size: int
) -> Iterator[tuple[int | None, list[tuple[bytes, Any]]]]:
    """(padded length, batch). Where the tower is causal nothing after a text's end can reach its embedding, so it is
    padded only to the next multiple of LENGTH_STEP; elsewhere to the length the model was trained with."""
    if not _by_tokens(model):
        for batch in batched(todo, batch_size):
            yield None, batch
        return
    by_length: dict[int, list[tuple[bytes, Any]]] = {}
    for name, ids in todo:
        needed = -(-len(ids) // LENGTH_STEP) * LENGTH_STEP if model.causal_text else model.context_length
        by_length.setdefault(min(needed, model.context_length), []).append((name, ids))
    for length in sorted(by_length):
        for batch in batched(by_length[length], batch_size):
            yield length, batch


def _by_tokens(model: Any) -> bool:
    """Whether the model hands out its pieces (`models.base.TokenEmbedder`)."""
    return kind_of(model) == "tokens"


def batched(values: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _unit(vectors: Any, expected: int, method: str) -> Vector:
    """Rows of unit length, whatever the model returned; its shape is checked because a notebook may have written it."""
    try:
        array: NDArray[np.float64] = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged rows, strings, tensors that want a gradient
        raise UserError(
            f"{method} of the model: expected an array of numbers, found {type(vectors).__name__} ({error})"
        ) from None
    if array.ndim != 2 or len(array) != expected:
        raise UserError(f"{method} of the model: expected an array of {expected} rows, found shape {array.shape}")
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: Vector = (array / norms).astype(np.float32)
    return unit
