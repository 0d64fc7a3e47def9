"""The texts of some items; those that the model's tokenizer cannot tell apart are one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from equipoise.evaluation.embedding.asking import Begun, batched, by_tokens, checked
from equipoise.evaluation.embedding.cache import EmbeddingCache, Keys
from equipoise.evaluation.embedding.collector import without_collection
from equipoise.evaluation.embedding.ranks import Ranks
from equipoise.items import Item

LENGTH_STEP = 2  # texts are padded to a multiple of this: few shapes, little padding
TOKENS_PER_IMAGE = 32  # so many tokens of text are in a batch for each of its images
TEXTS_PER_IMAGE = 4  # the same for a model that is given texts: their length is not known


class Texts:
    """What to embed of them, in batches whose shape depends on nothing but the length of a text."""

    def __init__(
        self, model: Any, items: Sequence[Item], cache: EmbeddingCache, identity: str, batch_size: int, ranks: Ranks
    ) -> None:
        started = time.monotonic()
        self.model, self.cut, self._batch_size = model, 0, batch_size
        self._by_tokens = by_tokens(model)
        self.encoded: set[bytes] = set()
        self.keys: dict[str, bytes] = {}
        self.contents: dict[bytes, Any] = {}  # key -> what to encode
        self._name(items, identity)
        self._mine = ranks.share(list(self.contents))
        self.vectors = cache.get(self._mine)
        self.missing = [(name, self.contents[name]) for name in self._mine if name not in self.vectors]
        self.seconds = {"tokenize": time.monotonic() - started}

    @without_collection
    def _name(self, items: Sequence[Item], identity: str) -> None:
        strings = list(dict.fromkeys(text for item in items for text in item.texts()))
        key = Keys("text", identity)
        if not self._by_tokens:
            self.keys = {string: key(string) for string in strings}
            self.contents = {name: string for string, name in self.keys.items()}
            return
        names: dict[tuple[int, ...], bytes] = {}
        for string, ids in zip(strings, self.model.tokenize(strings), strict=True):
            if len(ids) > self.model.context_length:
                self.cut += 1
                ids = self.model.truncate(ids)
            content = tuple(ids)
            if content not in names:
                names[content] = key(np.asarray(content, dtype=np.int64).tobytes())
            self.keys[string] = names[content]
        self.contents = {name: content for content, name in names.items()}

    def rows(self, length: int | None) -> int:
        """How many texts of this padded length make a batch."""
        if length is None:
            return self._batch_size * TEXTS_PER_IMAGE
        return max(1, self._batch_size * TOKENS_PER_IMAGE // length)

    def batches(self) -> Iterator[tuple[list[bytes], list[Any], int | None]]:
        """(keys, contents, padded length) of each batch that is to be embedded.

        Where the tower is causal nothing after a text's end can reach its embedding, so it is padded only to the next
        multiple of LENGTH_STEP; elsewhere to the length the model was trained with.
        """
        model = self.model
        by_length: dict[int | None, list[tuple[bytes, Any]]] = {}
        for name, content in self.missing:
            needed = None
            if self._by_tokens:
                step = -(-len(content) // LENGTH_STEP) * LENGTH_STEP
                needed = min(step, model.context_length) if model.causal_text else model.context_length
            by_length.setdefault(needed, []).append((name, content))
        for length in sorted(by_length, key=lambda one: one or 0):
            for batch in batched(by_length[length], self.rows(length)):
                yield [name for name, _ in batch], [content for _, content in batch], length

    def begin(self, contents: list[Any], length: int | None) -> Begun:
        """Ask the model for a batch; where it is given tokens, filled up to `rows`."""
        model = self.model
        if length is None:
            found = model.embed_texts(contents)
            return checked(lambda: found, len(contents), "embed_texts")
        filled = contents + contents[:1] * (self.rows(length) - len(contents))
        if hasattr(model, "begin_texts"):
            return checked(model.begin_texts(filled, pad_to=length), len(filled), "encode_texts")
        found = model.encode_texts(filled, pad_to=length)
        return checked(lambda: found, len(filled), "encode_texts")

    def exchange(self, ranks: Ranks) -> None:
        for vectors, encoded in ranks.exchange((self.vectors, self.encoded)):
            self.vectors |= vectors
            self.encoded |= encoded
