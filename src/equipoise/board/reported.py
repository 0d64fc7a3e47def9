"""Numbers that others printed: a JSON file of the user's own, or vl_compo's tables as they are."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ValidationError

from equipoise.board import vl_compo
from equipoise.board.record import Reported
from equipoise.errors import Problems, UserError
from equipoise.files import read_json
from equipoise.readers.records import explain

EXAMPLE = (
    'Expected a list: [{"model": "NegCLIP", "benchmark": "sugarcrepe", "value": 0.837, "metric": "original", '
    '"average": "vl_compo", "source": "their Table 3"}], values as fractions; or a CSV of vl_compo.'
)
MOST_BYTES = 50_000_000


class _Numbers(BaseModel):
    numbers: list[Reported]


def read_reported(paths: Sequence[Path]) -> list[Reported]:
    """The numbers of all files, in their order; the same number twice is kept once, two values for one are refused."""
    found: dict[tuple[str, ...], Reported] = {}
    problems = Problems("--published")
    for path in paths:
        for one in _of(path):
            # A source may print both its table and a longer one with the same number in more digits.
            key = (one.model, one.benchmark, one.metric, one.average or "", one.split or "", one.source)
            if abs(found.setdefault(key, one).value - one.value) > 1e-6:
                problems.add(
                    str(path), f"{one.model}, {one.benchmark}, {one.what}: {one.value:g}, before {found[key].value:g}"
                )
    problems.raise_if_any("A model has one number of a kind: take one out, or give them different sources.")
    return list(found.values())


def _of(path: Path) -> list[Reported]:
    if path.suffix.lower() == ".csv":
        return _csv(path)
    problems = Problems(str(path))
    try:
        found = _Numbers.model_validate({"numbers": read_json(path)}).numbers
    except ValidationError as error:
        explain(error, "", problems)
    else:
        for number, one in enumerate(found):
            if not 0 <= one.value <= 1:
                problems.add(f"[{number}].value", f"{one.value:g} is no fraction; 76.6 percent is 0.766")
    problems.raise_if_any(EXAMPLE)
    return found


def _csv(path: Path) -> list[Reported]:
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    if (size := path.stat().st_size) > MOST_BYTES:
        raise UserError(f"{path}: {size:,} bytes, more than a table of published numbers has ({MOST_BYTES:,})")
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            rows = list(csv.DictReader(handle, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a CSV file in UTF-8 ({error})") from None
    if not rows or not vl_compo.is_one(rows[0]):
        columns = ", ".join(str(name) for name in list(rows[0])[:6]) if rows else "none"
        raise UserError(
            f"{path}: not a table of vl_compo: expected the columns {', '.join(vl_compo.ABOUT)} and benchmarks, found "
            f"{columns}. Other tables come as JSON. {EXAMPLE}"
        )
    return vl_compo.read(rows, path)
