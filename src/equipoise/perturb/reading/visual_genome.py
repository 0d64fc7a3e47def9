"""Visual Genome's region_descriptions.json, part of what CE-CLIP+ trains on: images with their regions.

[{"id": 1, "regions": [{"region_id": 1382, "image_id": 1, "phrase": "the clock is green", "x": 421, "y": 57,
"width": 82, "height": 139}, ...]}, ...]. A phrase is about its region, so the box goes along. The file does not say in
which of its two folders an image lies: where VG_100K/ and VG_100K_2/ are beside it they are looked up there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equipoise.perturb.reading.raw import Raw

FOLDERS = ("VG_100K", "VG_100K_2")
_SIDES = ("x", "y", "width", "height")


def regions(where: str, value: dict[str, Any], path: Path) -> Iterator[Raw]:
    """The regions of one image."""
    image = str(value.get("id", value.get("image_id", "")))
    photo = f"{_folder_of(path.parent).get(image, '')}{image}.jpg"
    for place, region in enumerate(value["regions"], 1):
        here = f"{where}, region {place}"
        if not isinstance(region, dict):
            yield Raw(here, None, problem="not a region")
            continue
        sides = [float(side) for name in _SIDES if isinstance(side := region.get(name), int | float)]
        if len(sides) < len(_SIDES) or not all(map(math.isfinite, sides)) or min(sides[2:]) <= 0:
            yield Raw(here, None, problem="a region without an area")
            continue
        x, y, width, height = sides
        yield Raw(here, region.get("phrase"), photo, region.get("region_id"), box=(x, y, width, height))


@functools.cache
def _folder_of(beside: Path) -> dict[str, str]:
    """Image id -> its folder, with a slash."""
    return {path.stem: f"{folder}/" for folder in FOLDERS for path in (beside / folder).glob("*.jpg")}
