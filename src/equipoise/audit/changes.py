"""What an edit changed: the words that a caption lost and the text gained, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from equipoise.data.items import Item, Text

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
ARTICLES = frozenset(("a", "an", "the"))
Kind = Literal["positives", "negatives"]


def words(text: str) -> list[str]:
    """The words in lower case, split at hyphens: an edit of one part counts as an edit of a word."""
    return _WORD.findall(text.lower())


class Change(NamedTuple):
    """One stretch of words gave way to another; both may be empty."""

    caption: list[str]
    text: list[str]
    at: int
    lost: list[str]
    gained: list[str]

    @property
    def end(self) -> int:
        return self.at + len(self.lost)


def change(caption: str, text: str) -> Change:
    """Everything between the words that both begin with and the words that both end with."""
    before, after = words(caption), words(text)
    start = common(before, after)
    end = common(before[start:][::-1], after[start:][::-1])
    return Change(before, after, start, before[start : len(before) - end], after[start : len(after) - end])


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words, or letters, at the start are the same."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def substitution(caption: str, text: str) -> tuple[str, str]:
    """(from, to), without articles, which follow from the words: what the edit alone says."""
    found = change(caption, text)
    lost, gained = ([word for word in part if word not in ARTICLES] for part in (found.lost, found.gained))
    return (" ".join(lost), " ".join(gained)) if lost or gained else (" ".join(found.lost), " ".join(found.gained))


def edits(item: Item) -> Iterator[tuple[Kind, Text]]:
    """Every hard positive and hard negative."""
    yield from (("positives", text) for text in item.positives)
    yield from (("negatives", text) for text in item.negatives)
