"""The images and texts of some items: each distinct one with its key, in batches, and the model's answer to a batch."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import UserError
from equipoise.evaluation.embedding.cache import EmbeddingCache, Keys, Vector
from equipoise.evaluation.embedding.decoding import Found, decoded
from equipoise.evaluation.embedding.processes import Ranks
from equipoise.images.sources import ImageSource, in_order
from equipoise.items import ImageRef, Item
from equipoise.models.base import kind_of

LENGTH_STEP = 2  # texts are padded to a multiple of this: few shapes, little padding
TOKENS_PER_IMAGE = 32  # so many tokens of text are in a batch for each of its images
TEXTS_PER_IMAGE = 4  # the same for a model that is given texts: their length is not known
AT_ONCE = 8192  # texts that are tokenized at a time

Begun = Callable[[], Vector]  # waits for the unit vectors that a model was asked for; the last may be filling


def batched(values: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def unit(vectors: Any, expected: int, method: str) -> Vector:
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


def _checked(answer: Callable[[], Any], expected: int, method: str) -> Begun:
    """What a model will have answered, once it is waited for."""
    return lambda: unit(answer(), expected, method)


class Images:
    """The images of some items: photos, or boxes of photos, each decoded and embedded once."""

    def __init__(
        self,
        model: Any,
        items: Sequence[Item],
        source: ImageSource,
        cache: EmbeddingCache,
        identity: str,
        batch_size: int,
        workers: int,
        ranks: Ranks,
    ) -> None:
        self.model, self.source, self.cache = model, source, cache
        self.batch_size, self.workers = batch_size, workers
        self._by_tokens = kind_of(model) == "tokens"
        self._key = Keys("image", identity)
        self.keys: dict[ImageRef, bytes] = {}
        self.bad: dict[ImageRef, str] = {}
        self.digests: dict[str, bytes] = {}
        self.vectors: dict[bytes, Vector] = {}
        self.encoded: set[bytes] = set()
        refs: dict[str, list[ImageRef]] = {}
        for ref in dict.fromkeys(ref for item in items for ref in item.images()):
            refs.setdefault(ref.path, []).append(ref)
        self._refs = {path: refs[path] for path in ranks.share(in_order(source, refs))}
        self.count = sum(len(refs) for refs in self._refs.values())
        self._sought: set[bytes] = set()

    def _choose(self, paths: Sequence[str], found: Sequence[Found]) -> list[ImageRef]:
        """Which images of photos just read are new. The key is the photo's bytes and the box, so that two paths of
        one photo are one input."""
        named: dict[bytes, ImageRef] = {}
        for path, digest in zip(paths, found, strict=True):
            if isinstance(digest, str):
                self.bad |= dict.fromkeys(self._refs[path], digest)
                continue
            self.digests[path] = digest
            for ref in self._refs[path]:
                self.keys[ref] = self._key(digest, repr(ref.box))
                named.setdefault(self.keys[ref], ref)
        new = {name: ref for name, ref in named.items() if name not in self._sought}
        self._sought |= new.keys()
        there = self.cache.get(list(new))
        self.vectors |= there
        return [ref for name, ref in new.items() if name not in there]

    def batches(self) -> Generator[tuple[list[bytes], list[Any], int], None, None]:
        """(keys, pictures as the model wants them, how many there were with those that cannot be decoded)."""
        # A model with embed_images alone wants pictures, whatever else it is able to do.
        make = self.model.preprocess if self._by_tokens else lambda image: image
        many = self.workers > 2 or str(getattr(self.model, "device", "")).startswith("cuda")
        reasons: dict[bytes, str] = {}
        with decoded(self.source, list(self._refs), self._choose, make, self.batch_size, self.workers, many) as found:
            for batch in found:
                reasons |= {self.keys[ref]: why for ref, _, why in batch if why is not None}
                good = [(self.keys[ref], picture) for ref, picture, why in batch if why is None]
                yield [name for name, _ in good], [picture for _, picture in good], len(batch)
        self.bad |= {ref: reasons[name] for ref, name in self.keys.items() if name in reasons}

    def begin(self, pictures: list[Any]) -> Begun:
        """Ask the model for a batch, filled up to `batch_size`."""
        model = self.model
        if not self._by_tokens:
            found = model.embed_images(pictures)
            return _checked(lambda: found, len(pictures), "embed_images")
        pixels = np.stack(pictures + pictures[:1] * (self.batch_size - len(pictures)))
        if hasattr(model, "begin_images") and pixels.dtype == np.uint8:
            return _checked(model.begin_images(pixels), len(pixels), "encode_images")
        found = model.encode_images(pixels)
        return _checked(lambda: found, len(pixels), "encode_images")

    def exchange(self, ranks: Ranks) -> None:
        for keys, bad, digests, vectors, encoded in ranks.exchange(
            (self.keys, self.bad, self.digests, self.vectors, self.encoded)
        ):
            self.keys |= keys
            self.bad |= bad
            self.digests |= digests
            self.vectors |= vectors
            self.encoded |= encoded


class Texts:
    """The texts of some items; those that the model's tokenizer cannot tell apart are one.

    The shape of a batch depends on nothing but the length of its texts.
    """

    def __init__(
        self, model: Any, items: Sequence[Item], cache: EmbeddingCache, identity: str, batch_size: int, ranks: Ranks
    ) -> None:
        self.model, self.cache, self._batch_size = model, cache, batch_size
        self._by_tokens = kind_of(model) == "tokens"
        self._key = Keys("text", identity)
        self.strings = ranks.share(list(dict.fromkeys(text for item in items for text in item.texts())))
        self.keys: dict[str, bytes] = {}
        self.vectors: dict[bytes, Vector] = {}
        self.encoded: set[bytes] = set()
        self.cut = 0
        self.tokenizing = 0.0  # seconds

    def _new(self, strings: list[str], names: dict[str | bytes, bytes]) -> list[tuple[bytes, Any]]:
        """(key, content) of what is neither among `names` (content as bytes -> key) yet nor in the cache."""
        started = time.monotonic()
        new: dict[bytes, Any] = {}
        for string, content in zip(strings, self._contents(strings), strict=True):
            raw = array("q", content).tobytes() if self._by_tokens else content
            name = names.get(raw)
            if name is None:
                name = names[raw] = self._key(raw)
                new[name] = content
            self.keys[string] = name
        there = self.cache.get(list(new))
        self.vectors |= there
        self.tokenizing += time.monotonic() - started
        return [(name, content) for name, content in new.items() if name not in there]

    def _contents(self, strings: list[str]) -> Iterable[Any]:
        """What the model is given of each: its tokens, or the text itself."""
        if not self._by_tokens:
            return strings
        found = self.model.tokenize(strings)
        long = [row for row, ids in enumerate(found) if len(ids) > self.model.context_length]
        self.cut += len(long)
        for row in long:
            found[row] = self.model.truncate(found[row])
        return cast(list[Any], found)

    def rows(self, length: int | None) -> int:
        """How many texts of this padded length make a batch."""
        if length is None:
            return self._batch_size * TEXTS_PER_IMAGE
        return max(1, self._batch_size * TOKENS_PER_IMAGE // length)

    def batches(self) -> Iterator[tuple[list[bytes], list[Any], int | None]]:
        """(keys, contents, padded length) of each batch that is to be embedded; the first while most texts are not yet
        tokenized, because nobody should wait for all of them."""
        names: dict[str | bytes, bytes] = {}
        waiting: dict[int | None, list[tuple[bytes, Any]]] = {}
        for part in batched(self.strings, AT_ONCE):
            for name, content in self._new(part, names):
                waiting.setdefault(self._padded(content), []).append((name, content))
            for length, texts in waiting.items():
                whole = len(texts) // self.rows(length) * self.rows(length)
                yield from self._cut(texts[:whole], length)
                waiting[length] = texts[whole:]
        for length, texts in waiting.items():
            yield from self._cut(texts, length)

    def _padded(self, content: Any) -> int | None:
        """Where the tower is causal nothing after a text's end can reach its embedding, so it is padded only to the
        next multiple of LENGTH_STEP; elsewhere to the length the model was trained with."""
        if not self._by_tokens:
            return None
        longest: int = self.model.context_length
        return min(-(-len(content) // LENGTH_STEP) * LENGTH_STEP, longest) if self.model.causal_text else longest

    def _cut(
        self, texts: list[tuple[bytes, Any]], length: int | None
    ) -> Iterator[tuple[list[bytes], list[Any], int | None]]:
        for batch in batched(texts, self.rows(length)):
            yield [name for name, _ in batch], [content for _, content in batch], length

    def begin(self, contents: list[Any], length: int | None) -> Begun:
        """Ask the model for a batch; where it is given tokens, filled up to `rows`."""
        model = self.model
        if length is None:
            found = model.embed_texts(contents)
            return _checked(lambda: found, len(contents), "embed_texts")
        filled = contents + contents[:1] * (self.rows(length) - len(contents))
        if hasattr(model, "begin_texts"):
            return _checked(model.begin_texts(filled, pad_to=length), len(filled), "encode_texts")
        found = model.encode_texts(filled, pad_to=length)
        return _checked(lambda: found, len(filled), "encode_texts")

    def exchange(self, ranks: Ranks) -> None:
        parts = ranks.exchange((self.keys, self.vectors, self.encoded, self.cut))
        self.cut = sum(cut for *_, cut in parts)
        for keys, vectors, encoded, _ in parts:
            self.keys |= keys
            self.vectors |= vectors
            self.encoded |= encoded
