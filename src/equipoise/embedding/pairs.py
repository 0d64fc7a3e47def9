"""Scores every distinct (image, text) pair of some items once, with a model that reads both together.

The third kind of model, and the dearest: nothing is shared between pairs, so the cost is their number. It is said
before the work. Scores are kept like embeddings, in the same file and within a second, by the photo's bytes, the box,
what the model reads of the text and all that the model's card says of itself.

Pairs of several images make a batch. Where a model tells its tokens (`tokenize`), texts with the same tokens are one
text, so they tie exactly; a batch holds texts of about one length and is filled up to the same number of rows, so that
a subset, another order or a resume multiplies the same shapes. A model that is given images of any size may still
see its neighbours in the seventh digit.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.errors import UserError
from equipoise.core.progress import progress
from equipoise.data.identity import of_model
from equipoise.data.images import ImageSource, in_order
from equipoise.data.items import ImageRef, Item
from equipoise.embedding.cache import CacheWriter, EmbeddingCache, Keys, Ranks, ScoringOptions, Vector, Work
from equipoise.embedding.decoding import decoded
from equipoise.embedding.embed import batched
from equipoise.models.base import PairScorer, reads_images, tells_tokens

log = logging.getLogger(__name__)

PAIR_CODE = 1  # raised when what a score is made of changes: older scores are not used
LENGTH_STEP = 8  # tokens: texts of a batch are at most so much shorter than its longest
WAITING = 200_000_000  # pixels of images that wait for a batch of their texts' length, at most
MANY = 1_000  # from this many pairs on the cost is printed


@dataclass(kw_only=True)
class Paired(Work):
    """The score of every text of every image."""

    scores: dict[ImageRef, dict[str, float]]


class _Pair(NamedTuple):
    key: bytes
    image: Any
    text: str


def score_all(
    model: PairScorer,
    items: Sequence[Item],
    source: ImageSource | None,
    how: ScoringOptions,
    cache: EmbeddingCache,
    keeper: CacheWriter,
) -> Paired:
    """Every pair of the items. `source` is not looked at where the model reads no images."""
    identity = of_model(model, how.batch_size, PAIR_CODE) or "this run"
    texts = _Texts(model, items)
    work = _Work(model, texts, cache, keeper, Keys("pair", identity), how.batch_size)
    if not reads_images(model):
        return work.of_texts(items, how.ranks)
    assert source is not None
    return work.of_photos(items, source, how.workers, how.ranks)


class _Texts:
    """The distinct texts: what the model reads of each, and how long that is."""

    def __init__(self, model: Any, items: Sequence[Item]) -> None:
        strings = list(dict.fromkeys(text for item in items for text in item.texts()))
        self.cut = 0
        self.content: dict[str, str | bytes] = dict(zip(strings, strings, strict=True))
        self.length: dict[str, int] = dict.fromkeys(strings, 0)
        if not tells_tokens(model):
            return
        for part in batched(strings, 2**14):
            for string, ids in zip(part, model.tokenize(part), strict=True):
                self.cut += len(ids) > model.context_length
                ids = model.truncate(ids)
                self.content[string] = np.asarray(ids, dtype=np.int64).tobytes()
                self.length[string] = -(-len(ids) // LENGTH_STEP)


class _Work:
    """Asks for what the cache does not have."""

    def __init__(
        self, model: PairScorer, texts: _Texts, cache: EmbeddingCache, keeper: CacheWriter, key: Keys, batch_size: int
    ) -> None:
        self.model, self.texts, self.cache, self.keeper = model, texts, cache, keeper
        self._key, self.batch_size = key, batch_size
        self.values: dict[bytes, float] = {}
        self.names: dict[ImageRef, dict[str, bytes]] = {}  # the key of each pair
        self.asked = 0
        self._sought: set[bytes] = set()
        self._waiting: dict[int, list[_Pair]] = {}
        self._advance: Callable[[int], None] = lambda count: None

    def of_texts(self, items: Sequence[Item], ranks: Ranks) -> Paired:
        """A model that reads no image has one score for a text, whatever it stands next to."""
        strings = ranks.share(list(self.texts.content))
        keys = {string: self._key("text alone", self.texts.content[string]) for string in strings}
        with self._progress(len(keys), f"{len(keys):,} texts to score; no image is read"):
            for part in batched(list(keys), 2**14):
                there = self.cache.get(list({keys[text]: None for text in part}))
                self.values |= {key: _number(raw) for key, raw in there.items()}
                self._ask(self._unasked({text: keys[text] for text in part}, None))
            self._ask([], last=True)
        of_text: dict[str, float] = {}
        counts: list[dict[str, int]] = []
        for values, counted in ranks.exchange(
            ({text: self.values[key] for text, key in keys.items()}, self._counts(len(keys), 0))
        ):
            of_text |= values
            counts.append(counted)
        wanted, _ = _wanted(items)
        scores = {ref: {text: of_text[text] for text in texts} for ref, texts in wanted.items()}
        return Paired(scores=scores, counts=self._summed(counts))

    def of_photos(self, items: Sequence[Item], source: ImageSource, workers: int, ranks: Ranks) -> Paired:
        wanted, refs = _wanted(items)
        paths = ranks.share(in_order(source, refs))
        total = sum(len(wanted[ref]) for path in paths for ref in refs[path])
        bad: dict[ImageRef, str] = {}
        digests: dict[str, bytes] = {}

        def named(hashes: Mapping[str, bytes]) -> dict[ImageRef, dict[str, bytes]]:
            """The key of each pair: the photo's bytes, the box, what the model reads of the text."""
            return {
                ref: {text: self._key(digest, repr(ref.box), self.texts.content[text]) for text in wanted[ref]}
                for path, digest in hashes.items()
                for ref in refs[path]
            }

        def lookup(hashes: Mapping[str, bytes]) -> tuple[dict[bytes, Vector], list[ImageRef]]:
            """The scores that the cache has, and the images with a pair that it does not have."""
            names = named(hashes)
            there = self.cache.get(list({key: None for keys in names.values() for key in keys.values()}))
            return there, [ref for ref, keys in names.items() if any(key not in there for key in keys.values())]

        many = f"{total:,} pairs of {sum(len(refs[path]) for path in paths):,} images to score"
        started = time.monotonic()
        decoding = decoded(source, {path: refs[path] for path in paths}, lookup, lambda image: image, workers)
        reasons: dict[bytes, str] = {}
        with decoding as jobs, self._progress(total, many):
            for read, there, images, pictures in jobs:
                for path, problem in read.items():
                    if isinstance(problem, str):
                        bad.update(dict.fromkeys(refs[path], problem))
                hashes = {path: digest for path, digest in read.items() if isinstance(digest, bytes)}
                digests |= hashes
                self.names |= named(hashes)
                self.values |= {key: _number(raw) for key, raw in there.items()}
                for (ref, why), image in zip(images, pictures, strict=True):
                    pairs = self._unasked(self.names[ref], image)
                    if why is None:
                        self._ask(pairs)
                    else:
                        reasons |= {pair.key: why for pair in pairs}
            self._ask([], last=True)
        for ref, keys in self.names.items():  # another path of the same bytes is as bad
            of_pairs = [reasons[key] for key in keys.values() if key in reasons]
            if of_pairs:
                bad[ref] = of_pairs[0]
        counts = self._counts(total, sum(len(refs[path]) for path in paths))
        seconds = {"pairs": time.monotonic() - started}
        scores = self._scores()
        each: list[dict[str, int]] = []
        for scored, wrong, hashes, counted in ranks.exchange((scores, bad, digests, counts)):
            scores = scores | scored
            bad = bad | wrong
            digests = digests | hashes
            each.append(counted)
        return Paired(scores=scores, bad=bad, digests=digests, counts=self._summed(each), seconds=seconds)

    def _scores(self) -> dict[ImageRef, dict[str, float]]:
        return {
            ref: {text: self.values[key] for text, key in keys.items() if key in self.values}
            for ref, keys in self.names.items()
        }

    def _counts(self, pairs: int, images: int) -> dict[str, int]:
        return {"pairs": pairs, "images": images, "pairs_scored": self.asked, "texts_cut": self.texts.cut}

    def _summed(self, counts: Sequence[dict[str, int]]) -> dict[str, int]:
        """The counts of all processes; each has tokenized all texts."""
        return {name: sum(part[name] for part in counts) for name in counts[0]} | {"texts_cut": self.texts.cut}

    def _unasked(self, names: Mapping[str, bytes], image: Any) -> list[_Pair]:
        """The pairs of an image that have no score yet and are not on their way."""
        new: list[_Pair] = []
        for text, key in names.items():
            if key not in self.values and key not in self._sought:
                self._sought.add(key)
                new.append(_Pair(key, image, text))
        return new

    def _ask(self, pairs: Iterable[_Pair], last: bool = False) -> None:
        for pair in pairs:
            self._waiting.setdefault(self.texts.length[pair.text], []).append(pair)
        for length in list(self._waiting):
            waiting = self._waiting[length]
            while len(waiting) >= self.batch_size or (last and waiting):
                self._score(waiting[: self.batch_size])
                del waiting[: self.batch_size]
        while self._pixels() > WAITING:
            fullest = max(self._waiting.values(), key=len)
            self._score(fullest)
            fullest.clear()

    def _pixels(self) -> int:
        images = {
            id(pair.image): pair.image for pairs in self._waiting.values() for pair in pairs if pair.image is not None
        }
        return sum(image.width * image.height for image in images.values())

    def _score(self, pairs: list[_Pair]) -> None:
        filled = pairs + pairs[:1] * (self.batch_size - len(pairs)) if tells_tokens(self.model) else pairs
        images = [pair.image for pair in filled] if reads_images(self.model) else []
        values = numbers(self.model.score_pairs(images, [pair.text for pair in filled]), len(filled))
        fresh = {pair.key: value for pair, value in zip(pairs, values, strict=False)}
        self.values |= fresh
        # Never cache NaN: it would fail every rerun.
        self.keeper.add({key: _raw(value) for key, value in fresh.items() if np.isfinite(value)})
        self.asked += len(pairs)
        self._advance(len(pairs))

    @contextlib.contextmanager
    def _progress(self, total: int, cost: str) -> Iterator[None]:
        if total >= MANY:
            log.warning("%s; those of an earlier run are taken from the cache", cost)
        with progress(total, "pairs ", "pairs") as self._advance:
            yield
            self._advance(total - self.asked)  # what the cache had


def _wanted(items: Sequence[Item]) -> tuple[dict[ImageRef, dict[str, None]], dict[str, list[ImageRef]]]:
    """The texts of each image, and the images of each photo."""
    wanted: dict[ImageRef, dict[str, None]] = {}
    refs: dict[str, list[ImageRef]] = {}
    for item in items:
        texts = dict.fromkeys(item.texts())
        for ref in item.images():
            if ref not in wanted:
                wanted[ref] = {}
                refs.setdefault(ref.path, []).append(ref)
            wanted[ref] |= texts
    return wanted, refs


def numbers(answer: object, expected: int) -> list[float]:
    """One number each; a notebook may have written it."""
    try:
        values = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # strings, ragged rows, tensors that want a gradient
        raise UserError(f"score_pairs: expected an array of numbers, found {type(answer).__name__} ({error})") from None
    if values.shape != (expected,):
        raise UserError(f"score_pairs: expected {expected} scores, found shape {values.shape}")
    scores: list[float] = values.tolist()
    return scores


def _raw(value: float) -> Vector:
    """The 64 bits of a score as the cache keeps bits: a score that was read is the score that was computed."""
    return np.array([value], dtype=np.float64).view(np.float32)


def _number(raw: Vector) -> float:
    return float(np.ascontiguousarray(raw).view(np.float64)[0])
