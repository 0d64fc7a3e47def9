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
from pathlib import Path

from pydantic import ValidationError

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import read_text
from equipoise.data.images import ImageSource
from equipoise.data.items import ImageRef
from equipoise.data.readers.records import EMPTY, explain, rows, short
from equipoise.data.readers.sets.captions import flickr8k_captions
from equipoise.data.readers.sets.kinds import Rated, RatingSet

EXPERTS = "ExpertAnnotations.txt"


def read_ratings(path: Path, name: str, source: ImageSource) -> RatingSet:
    """The rated pairs of a table or of JSON: image, caption and what begins with `rating`, one number or a list."""
    problems = Problems(str(path))
    given: list[Given] = []
    for where, value, problem in rows(path):
        if problem == EMPTY:
            continue
        if problem or not isinstance(value, dict) or not {"image", "caption"} <= value.keys():
            problems.add(where, problem or f"expected image, caption and rating, found {short(value)}")
            continue
        listed = [found for key, found in value.items() if key.startswith("rating") and found not in (None, "")]
        try:
            ratings = [float(one) for found in listed for one in (found if isinstance(found, list) else [found])]
        except (TypeError, ValueError):
            problems.add(where, f"expected ratings that are numbers, found {short(listed)}")
        else:
            given.append((where, str(value.get("id") or "") or None, value["image"], value["caption"], ratings))
    return _set(name, source, _pairs(given, problems), path, problems)


Given = tuple[str, str | None, str, str, list[float]]  # where, id, photo, caption, ratings


def _pairs(given: list[Given], problems: Problems) -> list[Rated]:
    found = []
    for where, name, photo, text, ratings in given:
        if not ratings or not all(map(math.isfinite, ratings)):
            problems.add(where, f"expected one finite rating or more, found {ratings}")
            continue
        if not isinstance(text, str) or not text.strip():
            problems.add(where, "caption: expected some text")
            continue
        try:
            ref = ImageRef(path=photo)
        except ValidationError as error:
            explain(error, where, problems)
            continue
        found.append(Rated(name or where, ref, text, math.fsum(ratings) / len(ratings)))
    return found


def flickr8k_experts(folder: Path, name: str, source: ImageSource) -> RatingSet:
    """What three experts said of 5,822 pairs of the 1,000 test photos."""
    texts: dict[str, str] = {}
    for line in read_text(flickr8k_captions(folder)).splitlines():
        key, _, text = line.partition("\t")
        texts[key] = text
    path = folder / EXPERTS
    problems = Problems(str(path))
    given: list[Given] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        cells = line.split("\t")
        if len(cells) != 5 or not all(cell.strip().isdecimal() for cell in cells[2:]):
            problems.add(f"line {number}", "expected photo, caption and three ratings, separated by tabs")
        elif cells[1] not in texts:
            problems.add(f"line {number}", f"no caption {cells[1]!r} in {flickr8k_captions(folder).name}")
        else:
            given.append((f"{cells[0]}/{cells[1]}", None, cells[0], texts[cells[1]], [float(c) for c in cells[2:]]))
    return _set(name, source, _pairs(given, problems), path, problems)


def _set(name: str, source: ImageSource, pairs: list[Rated], path: Path, problems: Problems) -> RatingSet:
    for repeated in [one for one, count in Counter(pair.id for pair in pairs).items() if count > 1]:
        problems.add("", f"id {json.dumps(repeated)} is used twice; ids must be unique")
    problems.raise_if_any("Expected an image, a caption and a rating (or several) in each line.")
    if len({pair.rating for pair in pairs}) < 2:
        raise UserError(f"{path}: {len(pairs):,} pairs, all with the same rating; nothing to correlate with")
    return RatingSet(name, None, source, tuple(pairs))
