"""ARO's COCO Order and Flickr30k Order (Yuksekgonul et al. 2023), with the same shuffles in every run.

The original shuffles words without a seed each time it is loaded, so no two runs had the same benchmark and
nobody could match the paper's numbers. Here each caption's shuffles follow from a seed, its image and its place:
the same for any subset, order or Python version. Word classes come from our offline tagger instead of spaCy's, so
items differ from any single run of the original, not in kind. A shuffle that gives the caption back, or another of its
negatives, is drawn again, because it would be a forced tie; where a caption is too short for that it is left out.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field

from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import Edit, ImageRef, Item, Text
from equipoise.language.tagging import Token, tag

log = logging.getLogger(__name__)

SEED = 0
TRIES = 20
MAX_WORDS = 30
_DROPPED = re.compile(r'[.!"()*#:;~]')

Shuffle = Callable[[int], list[int]]  # n -> an order of range(n)


def pre_caption(text: str) -> str:
    """BLIP's clean-up of captions, which ARO applies to captions and shuffles: lower case, few marks, 30 words."""
    return " ".join(_DROPPED.sub(" ", text.lower()).split()[:MAX_WORDS])


def _order(seed: str, n: int) -> list[int]:
    """A permutation of range(n) that follows from `seed` alone, in any version of Python."""
    number = int.from_bytes(hashlib.sha512(seed.encode()).digest(), "big")
    left, order = list(range(n)), []
    while left:
        number, place = divmod(number, len(left))
        order.append(left.pop(place))
    return order


def _shuffle(seed: str) -> Shuffle:
    """A new order with every call, each of which follows from `seed` and the number of the call."""
    calls = itertools.count(1)
    return lambda n: _order(f"{seed}/{next(calls)}", n)


def _permuted(words: Sequence[str], places: Sequence[int], shuffle: Shuffle) -> list[str]:
    """`words` with those at `places` changed about among themselves."""
    result = list(words)
    for place, other in zip(places, shuffle(len(places)), strict=True):
        result[place] = words[places[other]]
    return result


def nouns_and_adjectives(tokens: Sequence[Token], shuffle: Shuffle) -> list[str]:
    words = [token.text for token in tokens]
    for letters in ("NN", "JJ"):  # each class among itself
        words = _permuted(words, [i for i, token in enumerate(tokens) if token.pos.startswith(letters)], shuffle)
    return words


def all_but_nouns_and_adjectives(tokens: Sequence[Token], shuffle: Shuffle) -> list[str]:
    words = [token.text for token in tokens]
    return _permuted(words, [i for i, token in enumerate(tokens) if not token.pos.startswith(("NN", "JJ"))], shuffle)


def within_trigrams(tokens: Sequence[Token], shuffle: Shuffle) -> list[str]:
    parts = _trigrams(tokens)
    return [part[place] for part in parts for place in shuffle(len(part))]


def trigrams(tokens: Sequence[Token], shuffle: Shuffle) -> list[str]:
    parts = _trigrams(tokens)
    return [word for place in shuffle(len(parts)) for word in parts[place]]


def _trigrams(tokens: Sequence[Token]) -> list[list[str]]:
    words = [token.text for token in tokens]
    return [words[start : start + 3] for start in range(0, len(words), 3)]


SHUFFLES = (nouns_and_adjectives, all_but_nouns_and_adjectives, within_trigrams, trigrams)


def negatives(caption: str, seed: str) -> list[Text]:
    """Up to four shuffles of `caption`, none equal to it or to each other."""
    tokens = tag(caption)
    taken = {pre_caption(caption)}
    texts = []
    for make in SHUFFLES:
        for attempt in range(TRIES):
            words = make(tokens, _shuffle(f"{seed}/{make.__name__}/{attempt}"))
            text = pre_caption(" ".join(words))
            if text not in taken:
                taken.add(text)
                texts.append(Text(text=text, edit=Edit(op="shuffle", target="order", by=make.__name__)))
                break
    return texts


class _Record(Raw):
    image: str
    caption: Annotated[list[str], Field(min_length=1)]


def load(name: str, file: str, source: Path, splits: Sequence[str]) -> list[Item]:
    short: dict[int, int] = {}

    def build(_split: str, _key: str, record: _Record) -> Iterator[Case]:
        for number, caption in enumerate(record.caption):
            key = f"{PurePosixPath(record.image).stem}#{number}"
            wrong = negatives(caption, f"{SEED}/{key}")
            if len(wrong) < len(SHUFFLES):
                short[len(wrong)] = short.get(len(wrong), 0) + 1
            if wrong:
                yield Case(key, image=ImageRef(path=record.image), caption=pre_caption(caption), negatives=tuple(wrong))

    items = read(name, choose(name, source, {"test": file}, splits), _Record, build)
    for count, captions in sorted(short.items()):
        log.info("%s: %d captions have only %d of 4 different shuffles", name, captions, count)
    return items


load_coco = functools.partial(load, "aro-coco-order", "coco_karpathy_test.json")
load_flickr = functools.partial(load, "aro-flickr-order", "flickr30k_test.json")
