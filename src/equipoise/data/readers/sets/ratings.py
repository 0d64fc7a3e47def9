"""Captions that people rated: any table of image, caption and rating(s), and Flickr8k's expert annotations.

    a table        columns image, caption, and one or more whose name begins with `rating`; optionally id
    JSON, JSONL    {"image": "1.jpg", "caption": "...", "rating": 3.5} or "ratings": [3, 4, 3]
    Flickr8k       ExpertAnnotations.txt: photo, id of a caption, three ratings from 1 to 4

Several ratings of a pair are averaged. (CLIPScore takes each of the three expert ratings for itself, leaves out the 158
pairs whose caption was written of that very photo, and gives Kendall's tau-c; its numbers are not these.)
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import read_text
from equipoise.data.images import ImageSource
from equipoise.data.items import ImagePath, ImageRef, Words
from equipoise.data.readers.records import EMPTY, Row, explain, is_table, rows, short, table
from equipoise.data.readers.sets.captions import flickr8k_captions
from equipoise.data.readers.sets.kinds import Rated, RatingSet

EXPERTS = "ExpertAnnotations.txt"
Rating = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]  # their sum stays a number


class _Pair(BaseModel):
    """A rated pair as a file has it."""

    model_config = ConfigDict(extra="forbid")
    id: str | None = None
    image: ImagePath
    caption: Words
    rating: Rating | None = None
    ratings: list[Rating] | None = None


def read_ratings(path: Path, name: str, source: ImageSource) -> RatingSet:
    problems = Problems(str(path))
    typed = not is_table(path)
    entries = rows(path) if typed else _table(path)
    return _set(name, source, _pairs((row for row in entries if row.problem != EMPTY), problems, typed), path, problems)


def _table(path: Path) -> Iterator[Row]:
    """Rows with our columns alone; all that begin with `rating` are its ratings."""
    header, lines = table(path, several=("rating",))
    if not {"image", "caption"} <= set(header) or not any(column.startswith("rating") for column in header):
        raise UserError(
            f"{path}, line 1: expected the columns image, caption, rating, found {short(', '.join(header))}"
        )
    for line, cells in lines:
        filled = [(column, cell) for column, cell in zip(header, cells, strict=True) if cell.strip()]
        ours: dict[str, object] = {column: cell for column, cell in filled if column in ("id", "image", "caption")}
        yield Row(f"line {line}", ours | {"ratings": [cell for column, cell in filled if column.startswith("rating")]})


def _pairs(rated_rows: Iterable[Row], problems: Problems, typed: bool) -> list[Rated]:
    pairs = []
    for where, value, problem in rated_rows:
        if problem or not isinstance(value, dict):
            problems.add(where, problem or f"expected an object with image, caption and rating, found {short(value)}")
            continue
        try:
            pair = _Pair.model_validate(value, strict=typed)
        except ValidationError as error:
            explain(error, where, problems)
            continue
        ratings = [*([] if pair.rating is None else [pair.rating]), *(pair.ratings or [])]
        if not ratings:
            problems.add(where, "expected a rating, found none")
            continue
        ref = ImageRef(path=pair.image)
        pairs.append(Rated(pair.id or where, ref, pair.caption, math.fsum(ratings) / len(ratings)))
    return pairs


def flickr8k_experts(folder: Path, name: str, source: ImageSource) -> RatingSet:
    """Three experts' ratings of 5,822 pairs of the 1,000 test photos."""
    texts: dict[str, str] = {}
    for line in read_text(flickr8k_captions(folder)).splitlines():
        key, _, text = line.partition("\t")
        texts[key] = text
    path = folder / EXPERTS
    problems = Problems(str(path))
    rated_rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        cells = line.split("\t")
        if len(cells) != 5 or not all(cell.strip().isdecimal() for cell in cells[2:]):
            problems.add(f"line {number}", "expected photo, caption and three ratings, separated by tabs")
        elif cells[1] not in texts:
            problems.add(f"line {number}", f"no caption {cells[1]!r} in {flickr8k_captions(folder).name}")
        else:
            value = {"image": cells[0], "caption": texts[cells[1]], "ratings": cells[2:]}
            rated_rows.append(Row(f"{cells[0]}/{cells[1]}", value))
    return _set(name, source, _pairs(rated_rows, problems, typed=False), path, problems)


def _set(name: str, source: ImageSource, pairs: list[Rated], path: Path, problems: Problems) -> RatingSet:
    for repeated in [id_ for id_, count in Counter(pair.id for pair in pairs).items() if count > 1]:
        problems.add("", f"id {json.dumps(repeated)} is used twice; ids must be unique")
    problems.raise_if_any("Expected an image, a caption and a rating (or several) in each line.")
    if len({pair.rating for pair in pairs}) < 2:
        raise UserError(f"{path}: {len(pairs):,} pairs, all with the same rating; nothing to correlate with")
    return RatingSet(name, None, source, tuple(pairs))
