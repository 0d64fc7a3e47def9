"""Weights of words that give a replacement away, learned offline and looked up here.

`data/giveaway.json.gz` holds a weight for words and for pairs of neighbouring words, one table for positives, one for
negatives of the papers' recipes and one for those that `balanced` judges: above zero for what edits would bring in more
often than they take it out ("canine", "on grass"), below zero for the opposite. A replacement drawn in proportion to
exp(-gap), where the gap is what its new words weigh more than the old ones, leaves the frequencies of words and pairs
as they were, as far as the candidates allow (importance weights); studies/make_giveaway.py finds them.
"""

from __future__ import annotations

import functools
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from equipoise.language.forms import article_for
from equipoise.language.vocabulary import read_data
from equipoise.perturb.recipe import Proposal

_TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
Kind = Literal["positive", "negative", "judged"]
TENTHS = 10  # the file holds whole tenths


@functools.cache
def _weights() -> dict[str, dict[str, float]]:
    """Kind -> word, or two words and a tab between them -> weight."""
    tables: dict[str, dict[str, int]] = json.loads(read_data("giveaway.json.gz"))
    return {kind: {name: tenths / TENTHS for name, tenths in table.items()} for kind, table in tables.items()}


def gaps(text: str, kind: Kind, proposals: Sequence[Proposal]) -> list[float]:
    """For each proposal, how much more its words give away than the old words: the difference of both windows."""
    table = _weights()[kind]
    places: dict[tuple[int, int], tuple[list[str], str, float]] = {}
    differences = []
    for proposal in proposals:
        place = proposal.start, proposal.end
        if place not in places:
            before, inside, right = _around(text, *place)
            outside = table.get(before[0], 0.0) + table.get(right, 0.0)  # the neighbours themselves stay
            places[place] = before, right, _sum(table, [*before, *inside, right]) - outside
        before, right, old = places[place]
        first, last, new = _inside(kind, proposal.to)
        left = before[0]
        if len(before) > 1:
            article = article_for(first)
            new += table.get(article, 0.0) + table.get(f"{left}\t{article}", 0.0)
            left = article
        differences.append(new + table.get(f"{left}\t{first}", 0.0) + table.get(f"{last}\t{right}", 0.0) - old)
    return differences


def window(text: str, start: int, end: int, to: str | None = None) -> list[str]:
    """The words at characters `start:end` and their neighbours, as they are or with `to` in their place."""
    before, inside, right = _around(text, start, end)
    if to is not None:
        inside = _split(to)[0][1:-1]
        before = [before[0], article_for(inside[0])] if len(before) > 1 else before
    return [*before, *inside, right]


def _around(text: str, start: int, end: int) -> tuple[list[str], list[str], str]:
    """The word before `start:end` (and "a" or "an" after it, which may have to change), the words, and the next."""
    words, starts = _split(text)
    first, last = bisect_left(starts, start), bisect_left(starts, end)
    left = first - 2 if words[first - 1] in {"a", "an"} else first - 1
    return words[left:first], words[first:last], words[last]


@functools.lru_cache(maxsize=1 << 14)
def _inside(kind: Kind, words: str) -> tuple[str, str, float]:
    """The first and the last word, and the weight of all words and their pairs."""
    inside = _split(words)[0][1:-1]
    return inside[0], inside[-1], _sum(_weights()[kind], inside)


def _sum(table: dict[str, float], words: Sequence[str]) -> float:
    return sum(table.get(name, 0.0) for name in names(words))


@functools.lru_cache(maxsize=4096)
def _split(text: str) -> tuple[list[str], list[int]]:
    """The words in lower case, with a mark at both ends, and their first characters."""
    matches = list(_TOKEN.finditer(text))
    return ["<", *(match[0].lower() for match in matches), ">"], [
        -1,
        *(match.start() for match in matches),
        len(text) + 1,
    ]


def names(words: Sequence[str]) -> Iterator[str]:
    """The words, and the pairs of neighbours."""
    yield from words
    yield from map("\t".join, pairwise(words))
