"""Embeds every distinct image and text of some items once.

Every distinct image (with its box) and every distinct token sequence is embedded once, however many items ask for
it; REPLACE has 6.8 times fewer images and 2.2 times fewer texts than its published code encodes. What was embedded
is on disk within a second, so a killed run goes on where it stopped.

An input's embedding must not depend on its neighbours: texts are padded by their own length, never by the
longest of a batch, and every batch of images, or of texts of one length, has the same number of rows (the last one is
filled up). A run over a subset, in another order, or after a resume therefore multiplies the same shapes.

Photos are decoded ahead of the model's work, and each batch is begun before the one before it is waited for.
"""

from __future__ import annotations

import contextlib
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import UserError
from equipoise.core.progress import several
from equipoise.data.identity import of_model
from equipoise.data.images import ImageSource, in_order
from equipoise.data.items import ImageRef
from equipoise.embedding.cache import CacheWriter, EmbeddingCache, Keys, ScoringOptions, Vector, Work
from equipoise.embedding.decoding import DecodedJob, decoded
from equipoise.models.base import Embedder, device_of, kind_of
from equipoise.models.inputs import Preprocess

EMBEDDING_CODE = 3  # raised when preprocessing, pooling or the shape of batches changes: older embeddings are not used
One = TypeVar("One")
AHEAD = 4  # batches that a GPU has at hand
SOON = 0.25  # seconds; an older batch is finished first, so that a slow model's work is kept at once
LENGTH_STEP = 2  # texts are padded to a multiple of this: few shapes, little padding
TOKENS_PER_IMAGE = 32  # so many tokens of text are in a batch for each of its images
TEXTS_PER_IMAGE = 4  # the same for a model that is given texts: their length is not known
AT_ONCE = 2048  # texts that are tokenized at a time

Content = str | list[int]  # what a model is given of a text: the text itself, or its tokens
PendingRows = Callable[[], Vector]  # waits for the unit vectors that a model was asked for; the last may be filling


@dataclass(kw_only=True)
class Embedded(Work):
    """Rows of `images` and `texts` are unit vectors; `image` and `text` say which."""

    images: Vector
    texts: Vector
    image: dict[ImageRef, int]
    text: dict[str, int]


def embed(
    model: Embedder,
    refs: Iterable[ImageRef],
    strings: Iterable[str],
    source: ImageSource,
    how: ScoringOptions,
    cache: EmbeddingCache,
    keeper: CacheWriter | None = None,
) -> Embedded:
    """`keeper` may be the caller's, who then goes on while the last vectors are written to the cache."""
    # Both before the model is asked for anything, which may change what a user's model holds.
    image_identity = of_model(model, how.batch_size, EMBEDDING_CODE, "image_card") or "this run"
    text_identity = of_model(model, how.batch_size, EMBEDDING_CODE, "card") or "this run"
    images = Images(model, refs, source, cache, image_identity, how)
    texts = Texts(model, strings, cache, text_identity, how)
    with contextlib.nullcontext(keeper) if keeper else CacheWriter(cache) as kept:
        seconds = _work(images, texts, kept)
        kept.flush()
    for part, names in (
        (texts, ("keys", "vectors", "encoded", "cut")),
        (images, ("keys", "vectors", "encoded", "bad", "digests")),
    ):
        for gathered in how.ranks.exchange([getattr(part, name) for name in names]):
            for name, more in zip(names, gathered, strict=True):
                getattr(part, name).update(more)
    both = [*images.vectors.values(), *texts.vectors.values()]
    widths = {len(vector) for vector in both}
    if len(widths) > 1:
        raise UserError(f"the model's embeddings have different widths ({sorted(widths)}), so they have no cosine")
    image_rows = {name: row for row, name in enumerate(images.vectors)}
    text_rows = {name: row for row, name in enumerate(texts.vectors)}
    return Embedded(
        images=_stacked(images.vectors),
        texts=_stacked(texts.vectors),
        image={ref: image_rows[name] for ref, name in images.keys.items() if ref not in images.bad},
        text={string: text_rows[name] for string, name in texts.keys.items()},
        bad=images.bad,
        digests=images.digests,
        counts={
            "images": len(set(images.keys.values())),
            "images_encoded": len(images.encoded),
            "texts": len(set(texts.keys.values())),
            "texts_encoded": len(texts.encoded),
            "texts_cut": len(texts.cut),
        },
        seconds=seconds,
    )


class Pending:
    """Finishes a batch when others are begun, so that a GPU always has some to work on; the last ones at the end, also
    where that is an error or Ctrl-C: what was computed is kept."""

    def __init__(self, keeper: CacheWriter) -> None:
        self._keeper = keeper
        self._begun: deque[tuple[float, Images | Texts, list[bytes], PendingRows]] = deque()

    def add(self, part: Images | Texts, names: list[bytes], begun: PendingRows) -> None:
        now = time.monotonic()
        while self._begun and (len(self._begun) >= AHEAD or now - self._begun[0][0] > SOON):
            self._finish(*self._begun.popleft()[1:])
        self._begun.append((now, part, names, begun))

    def _finish(self, part: Images | Texts, names: list[bytes], begun: PendingRows) -> None:
        fresh = dict(zip(names, begun(), strict=False))  # a batch may have been filled up
        self._keeper.add(fresh)
        part.vectors |= fresh
        part.encoded |= fresh.keys()

    def __enter__(self) -> Pending:
        return self

    def __exit__(self, *_: object) -> None:
        while self._begun:
            self._finish(*self._begun.popleft()[1:])


def _work(images: Images, texts: Texts, keeper: CacheWriter) -> dict[str, float]:
    """Embed all that the cache did not have; the seconds that each kind took.

    Texts are embedded while photos are decoded. Which comes first depends on the moment, the content of a batch does
    not. Decoding comes first: it may fork processes, and SQLite's locks, which they inherit, must be free.
    """
    started = time.monotonic()
    spent = 0.0  # on texts
    shown = (images.count, "images", "images"), (len(texts.strings), "texts ", "texts")
    with (
        images.decoded(lambda: next_texts()) as jobs,
        several(*shown) as (more_images, more_texts),
        Pending(keeper) as pending,
    ):
        images_left, texts_left = images.count, len(texts.strings)
        text_batches = texts.batches()

        def next_texts() -> bool:
            nonlocal spent, texts_left
            began = time.monotonic()
            batch = next(text_batches, None)
            if batch is not None:
                names, contents, length = batch
                pending.add(texts, names, texts.begin(contents, length))
                more_texts(len(names))
                texts_left -= len(names)
            spent += time.monotonic() - began
            return batch is not None

        for _ in range(AHEAD):  # a GPU has work until the first photos are decoded
            next_texts()
        for names, pictures, read in images.batches(jobs):
            pending.add(images, names, images.begin(pictures, len(names)))
            more_images(read)
            images_left -= read
        more_images(images_left)  # what the cache had
        while next_texts():
            pass
        more_texts(texts_left)
    seconds = {"images": time.monotonic() - started - spent, "texts": spent - texts.tokenizing}
    return seconds | {"tokenize": texts.tokenizing}


def _stacked(vectors: dict[bytes, Vector]) -> Vector:
    """One row each; np.stack takes ten times as long for so many."""
    if not vectors:
        return np.zeros((0, 0), np.float32)
    return np.concatenate(list(vectors.values())).reshape(len(vectors), -1)


def batched(values: list[One], size: int) -> Iterator[list[One]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def unit(vectors: object, expected: int, method: str) -> Vector:
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
        rows: Vector = (array / norms).astype(np.float32)
    return rows


def _checked(answer: Callable[[], Any], expected: int, method: str) -> PendingRows:
    """Waits for a model's answer and checks its shape."""
    return lambda: unit(answer(), expected, method)


def _made(vectors: object, expected: int, method: str) -> PendingRows:
    """An answer that is there, checked at once: the model may use its memory again."""
    rows = unit(vectors, expected, method)
    return lambda: rows


class Images:
    """Photos, or boxes of photos, each decoded and embedded once."""

    def __init__(
        self,
        model: Any,
        wanted: Iterable[ImageRef],
        source: ImageSource,
        cache: EmbeddingCache,
        identity: str,
        how: ScoringOptions,
    ) -> None:
        self.model, self.source, self.cache = model, source, cache
        self.batch_size, self.workers = how.batch_size, how.workers
        self._by_tokens = kind_of(model) == "tokens"
        self._sends = self._by_tokens and hasattr(model, "send_pixels") and isinstance(model.preprocess, Preprocess)
        self._key = Keys("image", identity)
        self.keys: dict[ImageRef, bytes] = {}
        self.bad: dict[ImageRef, str] = {}
        self.digests: dict[str, bytes] = {}
        self.vectors: dict[bytes, Vector] = {}
        self.encoded: set[bytes] = set()
        refs: dict[str, list[ImageRef]] = {}
        for ref in dict.fromkeys(wanted):
            refs.setdefault(ref.path, []).append(ref)
        self._refs = {path: refs[path] for path in how.ranks.share(in_order(source, refs))}
        self.count = sum(len(refs) for refs in self._refs.values())

    def _named(self, digests: Mapping[str, bytes]) -> dict[ImageRef, bytes]:
        """The key is the photo's bytes and the box, so that two paths of one photo are one input."""
        return {ref: self._key(digest, repr(ref.box)) for path, digest in digests.items() for ref in self._refs[path]}

    def _lookup(self, digests: Mapping[str, bytes]) -> tuple[dict[bytes, Vector], list[ImageRef]]:
        """The vectors of photos just read that the cache has, and the images that it does not have."""
        names = self._named(digests)
        there = self.cache.get(list(dict.fromkeys(names.values())))
        return there, [ref for ref, name in names.items() if name not in there]

    def decoded(self, meanwhile: Callable[[], bool]) -> AbstractContextManager[Iterator[DecodedJob]]:
        """Begin to decode; `meanwhile` as in decoding.py."""
        # A model with embed_images alone wants pictures, whatever else it is able to do.
        make: Any = lambda image: image  # noqa: E731
        if self._by_tokens:  # of a `Preprocess` itself, `decoded` makes bytes; of its method, floats
            make = self.model.preprocess if self._sends else self.model.preprocess.__call__
        many = self.workers > 2 or device_of(self.model).startswith("cuda")
        return decoded(self.source, self._refs, self._lookup, make, self.workers, many, meanwhile)

    def batches(self, jobs: Iterable[DecodedJob]) -> Iterator[tuple[list[bytes], list[Any], int]]:
        """(keys, pictures in parts, how many images were read since the last batch)."""
        reasons: dict[bytes, str] = {}
        sought: set[bytes] = set()
        names: list[bytes] = []
        parts: list[Any] = []
        read = 0
        for hashes, there, images, pictures in jobs:
            wrong = {path: why for path, why in hashes.items() if isinstance(why, str)}
            self.bad |= {ref: why for path, why in wrong.items() for ref in self._refs[path]}
            digests = {path: digest for path, digest in hashes.items() if isinstance(digest, bytes)}
            self.digests |= digests
            self.keys |= self._named(digests)
            self.vectors |= there
            read += len(images)
            rows: list[int] = []
            for row, (ref, why) in enumerate(images):
                name = self.keys[ref]
                if name in sought:
                    continue
                sought.add(name)
                if why is None:
                    names.append(name)
                    rows.append(row)
                else:
                    reasons[name] = why
            if rows:
                parts.append(self._held(pictures, rows))
            while len(names) >= self.batch_size:
                batch, parts = _split(parts, self.batch_size)
                yield names[: self.batch_size], batch, read
                names, read = names[self.batch_size :], 0
        if names:
            yield names, parts, read
        self.bad |= {ref: reasons[name] for ref, name in self.keys.items() if name in reasons}

    def _held(self, pictures: Any, rows: list[int]) -> Any:
        """These pictures of a job, copied if its memory is used again."""
        chosen = pictures if len(rows) == len(pictures) else [pictures[row] for row in rows]
        if not self._sends:
            return chosen
        return self.model.send_pixels(np.stack(chosen) if isinstance(chosen, list) else chosen)

    def begin(self, parts: list[Any], count: int) -> PendingRows:
        """Ask the model for a batch of `count`, filled up to `batch_size` where it is given pixels."""
        model = self.model
        if self._sends:
            return _checked(model.begin_images(parts, self.batch_size), self.batch_size, "encode_images")
        pictures = [picture for part in parts for picture in part]
        if self._by_tokens:
            filled = np.stack(pictures + pictures[:1] * (self.batch_size - count))
            return _made(model.encode_images(filled), len(filled), "encode_images")
        return _made(model.embed_images(pictures), count, "embed_images")


def _split(parts: list[Any], count: int) -> tuple[list[Any], list[Any]]:
    """The first `count` pictures, and the others."""
    first: list[Any] = []
    for at, part in enumerate(parts):
        if len(part) >= count:
            return [*first, part[:count]], [rest for rest in (part[count:], *parts[at + 1 :]) if len(rest)]
        first.append(part)
        count -= len(part)
    return first, []


class Texts:
    """Texts; those that the model's tokenizer cannot tell apart are one.

    The shape of a batch depends on nothing but the length of its texts.
    """

    def __init__(
        self, model: Any, strings: Iterable[str], cache: EmbeddingCache, identity: str, how: ScoringOptions
    ) -> None:
        self.model, self.cache, self._batch_size = model, cache, how.batch_size
        self._by_tokens = kind_of(model) == "tokens"
        self._key = Keys("text", identity)
        self.strings = how.ranks.share(list(dict.fromkeys(strings)))
        self.keys: dict[str, bytes] = {}
        self.vectors: dict[bytes, Vector] = {}
        self.encoded: set[bytes] = set()
        self.cut: set[str] = set()  # longer than the model reads
        self.tokenizing = 0.0  # seconds

    def _new(
        self, strings: list[str], contents: Iterable[Content], names: dict[str | bytes, bytes]
    ) -> list[tuple[bytes, Content]]:
        """(key, content) of what is neither among `names` (content as bytes -> key) yet nor in the cache."""
        new: dict[bytes, Content] = {}
        for string, content in zip(strings, contents, strict=True):
            raw = content if isinstance(content, str) else array("q", content).tobytes()
            name = names.get(raw)
            if name is None:
                name = names[raw] = self._key(raw)
                new[name] = content
            self.keys[string] = name
        there = self.cache.get(list(new))
        self.vectors |= there
        return [(name, content) for name, content in new.items() if name not in there]

    def _contents(self, strings: list[str]) -> Sequence[Content]:
        """The model's input for each text: its tokens, or the text itself."""
        if not self._by_tokens:
            return strings
        tokens = self.model.tokenize(strings)
        long = [row for row, ids in enumerate(tokens) if len(ids) > self.model.context_length]
        self.cut.update(strings[row] for row in long)
        for row in long:
            tokens[row] = self.model.truncate(tokens[row])
        return cast(list[Content], tokens)

    def rows(self, length: int | None) -> int:
        """How many texts of this padded length make a batch."""
        if length is None:
            return self._batch_size * TEXTS_PER_IMAGE
        return max(1, self._batch_size * TOKENS_PER_IMAGE // length)

    def batches(self) -> Iterator[tuple[list[bytes], list[Content], int | None]]:
        """(keys, contents, padded length) of each batch that is to be embedded; the first while most texts are not yet
        tokenized, because nobody should wait for all of them."""
        names: dict[str | bytes, bytes] = {}
        waiting: dict[int | None, list[tuple[bytes, Content]]] = {}
        for part, contents in self._read():
            for name, content in self._new(part, contents, names):
                waiting.setdefault(self._padded(content), []).append((name, content))
            for length, texts in waiting.items():
                whole = len(texts) // self.rows(length) * self.rows(length)
                yield from self._cut(texts[:whole], length)
                waiting[length] = texts[whole:]
        for length, texts in waiting.items():
            yield from self._cut(texts, length)

    def _read(self) -> Iterator[tuple[list[str], Sequence[Content]]]:
        """Some strings and their contents; the next ones are tokenized while these are embedded."""
        with ThreadPoolExecutor(1) as pool:
            parts = list(batched(self.strings, AT_ONCE))
            begun = [pool.submit(self._contents, part) for part in parts[:1]]
            for at, part in enumerate(parts):
                started = time.monotonic()
                contents = begun.pop().result()
                self.tokenizing += time.monotonic() - started
                begun += [pool.submit(self._contents, part) for part in parts[at + 1 : at + 2]]
                yield part, contents

    def _padded(self, content: Content) -> int | None:
        """Where the tower is causal nothing after a text's end can reach its embedding, so it is padded only to the
        next multiple of LENGTH_STEP; elsewhere to the length the model was trained with."""
        if not self._by_tokens:
            return None
        longest: int = self.model.context_length
        return min(-(-len(content) // LENGTH_STEP) * LENGTH_STEP, longest) if self.model.causal_text else longest

    def _cut(
        self, texts: list[tuple[bytes, Content]], length: int | None
    ) -> Iterator[tuple[list[bytes], list[Content], int | None]]:
        for batch in batched(texts, self.rows(length)):
            yield [name for name, _ in batch], [content for _, content in batch], length

    def begin(self, contents: list[Content], length: int | None) -> PendingRows:
        """Ask the model for a batch; where it is given tokens, filled up to `rows`."""
        model = self.model
        if length is None:
            return _made(model.embed_texts(contents), len(contents), "embed_texts")
        filled = contents + contents[:1] * (self.rows(length) - len(contents))
        if hasattr(model, "begin_texts"):
            return _checked(model.begin_texts(filled, pad_to=length), len(filled), "encode_texts")
        return _made(model.encode_texts(filled, pad_to=length), len(filled), "encode_texts")
