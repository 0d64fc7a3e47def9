"""What a word source offers: replacements for a stretch of a caption, each with how likely it should be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.word_lists import Section


class Proposal(NamedTuple):
    """Characters `start:end` of the caption may become `to`.

    Weights are relative among the proposals for one place.
    """

    start: int
    end: int
    to: str
    target: Section
    by: str
    weight: float
    mark: str = ""  # "sure", "kin" or "wide": how a negative's line of exclusive.txt is marked


class Source(Protocol):
    name: str

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        """Replacements that keep the meaning."""
        ...

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        """Replacements that break it: only one of the two can be true of the same thing."""
        ...


class Both:
    """Two sources as one, whose proposals are drawn from together; a later source waits until an earlier has none."""

    def __init__(self, first: Source, second: Source) -> None:
        self.name, self._parts = first.name, (first, second)

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return (proposal for part in self._parts for proposal in part.synonyms(caption, target))

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return (proposal for part in self._parts for proposal in part.contrasts(caption, target))
