"""How much a replacement gives itself away by its words alone, learned offline and looked up here.

`data/giveaway.json.gz` holds a weight for words and for pairs of neighbouring words, one table for positives and one
for negatives: above zero for what edits would bring in more often than they take it out ("canine", "on grass"), below
zero for the opposite. A replacement drawn in proportion to exp(-gap), where the gap is what its new words weigh more
than the old ones, leaves the frequencies of words and pairs as they were, as far as the candidates allow. These
are the weights of the distribution nearest to a plain draw that does so; runs/make_giveaway.py finds them.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import pairwise
from typing import Literal

from equipoise.perturb.sources.base import Proposal
from equipoise.words.articles import article_for

_TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_article_for = functools.lru_cache(maxsize=4096)(article_for)
TENTHS = 10  # the file holds whole tenths


@functools.cache
def _weights() -> dict[str, dict[str, float]]:
    """Kind -> word, or two words and a tab between them -> weight."""
    with resources.files("equipoise.perturb").joinpath("data", "giveaway.json.gz").open("rb") as handle:
        found: dict[str, dict[str, int]] = json.loads(gzip.decompress(handle.read()))
    return {kind: {name: tenths / TENTHS for name, tenths in table.items()} for kind, table in found.items()}


def gaps(text: str, kind: Literal["positive", "negative"], proposals: Sequence[Proposal]) -> list[float]:
    """For each proposal, how much more its words give away than what stands there."""
    table = _weights()[kind]
    before: dict[tuple[int, int], float] = {}
    found = []
    for proposal in proposals:
        place = proposal.start, proposal.end
        if place not in before:
            before[place] = sum(table.get(name, 0.0) for name in names(window(text, *place)))
        after = window(text, *place, proposal.to)
        found.append(sum(table.get(name, 0.0) for name in names(after)) - before[place])
    return found


def window(text: str, start: int, end: int, to: str | None = None) -> list[str]:
    """The words at characters `start:end` and their neighbours, as they are or with `to` in their place."""
    words, starts = _split(text)
    first, last = bisect_left(starts, start), bisect_left(starts, end)
    left = first - 1
    article = words[left] in {"a", "an"}
    if article:
        left -= 1  # it may change, and so the pair before it
    if to is None:
        return words[left : last + 1]
    new, _ = _split(to)
    between = [_article_for(new[1])] if article and len(new) > 2 else words[left + 1 : first]
    return [words[left], *between, *new[1:-1], words[last]]


@functools.lru_cache(maxsize=4096)
def _split(text: str) -> tuple[list[str], list[int]]:
    """The words in lower case, with a mark at both ends, and where each begins."""
    found = list(_TOKEN.finditer(text))
    return ["<", *(match[0].lower() for match in found), ">"], [-1, *(match.start() for match in found), len(text) + 1]


def names(words: Sequence[str]) -> Iterator[str]:
    """The words, and the pairs of neighbours."""
    yield from words
    yield from map("\t".join, pairwise(words))
