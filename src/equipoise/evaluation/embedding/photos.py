"""The images of some items: photos, or boxes of photos, each decoded and embedded once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from equipoise.evaluation.embedding.asking import Begun, by_tokens, checked
from equipoise.evaluation.embedding.cache import EmbeddingCache, Keys, Vector
from equipoise.evaluation.embedding.decoding import Decoder
from equipoise.evaluation.embedding.ranks import Ranks
from equipoise.evaluation.embedding.workers import Found
from equipoise.images.sources import ImageSource, in_order
from equipoise.items import ImageRef, Item


class Images:
    """The images of some items; decoding begins when the context is entered."""

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
        self.model, self.cache, self.batch_size = model, cache, batch_size
        self._by_tokens = by_tokens(model)
        self._key = Keys("image", identity)
        self.keys: dict[ImageRef, bytes] = {}
        self.bad: dict[ImageRef, str] = {}
        self.digests: dict[str, bytes] = {}
        self.vectors: dict[bytes, Vector] = {}
        self.encoded: set[bytes] = set()
        self._refs: dict[str, list[ImageRef]] = {}
        distinct = {(ref.path, ref.box): ref for item in items for ref in item.images()}
        for ref in distinct.values():
            self._refs.setdefault(ref.path, []).append(ref)
        paths = ranks.share(in_order(source, self._refs))
        self._refs = {path: self._refs[path] for path in paths}
        self.count = sum(len(refs) for refs in self._refs.values())
        self._sought: set[bytes] = set()
        self.decoder = Decoder(
            source,
            paths,
            self._choose,
            self._make(),
            batch_size,
            workers,
            many=workers > 2 or str(getattr(model, "device", "")).startswith("cuda"),
        )

    def _make(self) -> Any:
        """What is kept of a picture. A model with embed_images alone wants pictures, whatever else it is able to do."""
        return self.model.preprocess if self._by_tokens else lambda image: image

    def __enter__(self) -> Images:
        self.decoder.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self.decoder.__exit__(*raised)

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

    def ready(self) -> bool:
        """Whether `batches` has its next at hand."""
        return self.decoder.ready()

    def batches(self) -> Iterator[tuple[list[bytes], Any, list[int], int]]:
        """(keys, pixels, the rows of these that can be used, how many there were)."""
        reasons: dict[bytes, str] = {}
        for pixels, content in self.decoder.batches():
            names = [self.keys[ref] for ref, _ in content]
            reasons |= {name: why for name, (_, why) in zip(names, content, strict=True) if why is not None}
            rows = [row for row, name in enumerate(names) if name not in reasons]
            yield [names[row] for row in rows], pixels, rows, len(content)
        self.bad |= {ref: reasons[name] for ref, name in self.keys.items() if name in reasons}

    def begin(self, pixels: Any, rows: list[int]) -> Begun:
        """Ask the model for some rows of a batch, filled up to `batch_size`."""
        model = self.model
        if not self._by_tokens:
            found = model.embed_images([pixels[row] for row in rows])
            return checked(lambda: found, len(rows), "embed_images")
        filled = rows + rows[:1] * (self.batch_size - len(rows))
        if not isinstance(pixels, np.ndarray):
            found = model.encode_images(np.stack([pixels[row] for row in filled]))
            return checked(lambda: found, len(filled), "encode_images")
        whole = filled == list(range(len(pixels)))
        return checked(model.begin_images(pixels if whole else pixels[filled]), len(filled), "encode_images")

    def exchange(self, ranks: Ranks) -> None:
        for keys, bad, digests, vectors, encoded in ranks.exchange(
            (self.keys, self.bad, self.digests, self.vectors, self.encoded)
        ):
            self.keys |= keys
            self.bad |= bad
            self.digests |= digests
            self.vectors |= vectors
            self.encoded |= encoded
