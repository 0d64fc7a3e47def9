"""The texts of some items; those that the model's tokenizer cannot tell apart are one."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from equipoise.collector import without_collection
from equipoise.evaluation.embedding.asking import Begun, batched, by_tokens, checked
from equipoise.evaluation.embedding.cache import EmbeddingCache, Keys, Vector
from equipoise.evaluation.embedding.ranks import Ranks
from equipoise.items import Item

LENGTH_STEP = 2  # texts are padded to a multiple of this: few shapes, little padding
TOKENS_PER_IMAGE = 32  # so many tokens of text are in a batch for each of its images
TEXTS_PER_IMAGE = 4  # the same for a model that is given texts: their length is not known
AT_ONCE = 8192  # texts that are tokenized at a time


class Texts:
    """What to embed of them, in batches whose shape depends on nothing but the length of a text."""

    def __init__(
        self, model: Any, items: Sequence[Item], cache: EmbeddingCache, identity: str, batch_size: int, ranks: Ranks
    ) -> None:
        self.model, self.cache, self._batch_size = model, cache, batch_size
        self._by_tokens = by_tokens(model)
        self._key = Keys("text", identity)
        self.strings = ranks.share(_distinct(items))
        self.keys: dict[str, bytes] = {}
        self.vectors: dict[bytes, Vector] = {}
        self.encoded: set[bytes] = set()
        self.cut = 0
        self.tokenizing = 0.0  # seconds

    @without_collection
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
            return checked(lambda: found, len(contents), "embed_texts")
        filled = contents + contents[:1] * (self.rows(length) - len(contents))
        if hasattr(model, "begin_texts"):
            return checked(model.begin_texts(filled, pad_to=length), len(filled), "encode_texts")
        found = model.encode_texts(filled, pad_to=length)
        return checked(lambda: found, len(filled), "encode_texts")

    def exchange(self, ranks: Ranks) -> None:
        parts = ranks.exchange((self.keys, self.vectors, self.encoded, self.cut))
        self.cut = sum(cut for *_, cut in parts)
        for keys, vectors, encoded, _ in parts:
            self.keys |= keys
            self.vectors |= vectors
            self.encoded |= encoded


@without_collection
def _distinct(items: Sequence[Item]) -> list[str]:
    found: dict[str, None] = {}
    for item in items:
        found[item.caption] = None
        for text in item.positives:
            found[text.text] = None
        for text in item.negatives:
            found[text.text] = None
    return list(found)
