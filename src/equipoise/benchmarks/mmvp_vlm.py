"""MMVP-VLM (Tong et al. 2024): pairs of photos that CLIP's image tower finds alike, and a statement of each.

Two rows of Questions.csv that follow each other are a pair, and become one item with two photos and two statements. The
official score is the image score of the metric `groups` (each statement picks its own photo of the two); others print
the group score. The authors' code puts "a photo of " before every statement, and so does this reader. A pattern has 15
pairs, so its score moves in steps of 6.7 points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from equipoise.benchmarks.reading import Case, Raw, choose, read, two_by_two
from equipoise.core.errors import UserError
from equipoise.data.items import Item

_PREFIX = "a photo of "


class _Question(Raw):
    number: Annotated[int, Field(alias="Question ID", strict=False)]
    pattern: str = Field(alias="Type")
    statement: str = Field(alias="Statement")


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From Questions.csv; photos are PATTERN/NUMBER.jpg."""
    files = choose("mmvp-vlm", source, {"test": "Questions.csv"}, splits)
    first: list[_Question] = []  # of a pair whose second row is still to come

    def build(_split: str, _key: str, row: _Question) -> Iterator[Case]:
        if not first:
            first.append(row)
            return
        pair = (first.pop(), row)
        if pair[0].pattern != pair[1].pattern:
            raise UserError(
                f"{files['test']}: questions {pair[0].number} and {pair[1].number} follow each other and are a pair, "
                f"but have two patterns, {pair[0].pattern!r} and {pair[1].pattern!r}. Is a row missing?"
            )
        photos = [(f"{row.pattern}/{row.number}.jpg", _PREFIX + row.statement) for row in pair]
        key = f"{pair[0].number}-{pair[1].number}"
        yield two_by_two(key, photos[0], photos[1], {"pattern": row.pattern})

    items = read("mmvp-vlm", files, _Question, build)
    if first:
        raise UserError(f"{files['test']}: question {first[0].number} has no second one; questions come in pairs")
    return items
