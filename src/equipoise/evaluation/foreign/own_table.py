"""Anybody's scores as a table: a row an item, a number a text.

The columns are those of a table of items (benchmarks/own.py) with scores in place of texts: `id` (else the number of
the row), `image`, `caption`, one or more whose name begins with `negative`, any number that begin with `positive`.
Every other column is a tag. Empty cells are skipped.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from equipoise.errors import Problems, UserError
from equipoise.evaluation.foreign.base import Foreign
from equipoise.evaluation.scores import ItemScores, Scores, require_finite
from equipoise.readers.records import explain
from equipoise.readers.tables import table

SEVERAL = ("negative", "positive")
_NAMED = ("id", "image", "caption")


def known(header: list[str]) -> bool:
    return "caption" in header and any(name.startswith("negative") for name in header)


def read(path: Path) -> Foreign:
    """The scores of a table whose header is `known`; every problem of the file is raised at once."""
    header, rows = table(path, several=SEVERAL)
    captions = [row[header.index("caption")] for _, row in rows]
    if not any(map(_number, captions)):
        raise UserError(
            f"{path}: holds texts where scores were expected (caption {captions[0]!r}). "
            f"A model is judged on it with: equipoise eval MODEL --bench {path} --images FOLDER"
        )
    found: list[ItemScores] = []
    lines: dict[str, int] = {}
    problems = Problems(str(path))
    for number, (line, row) in enumerate(rows, 1):
        filled = [(name, cell.strip()) for name, cell in zip(header, row, strict=True) if cell.strip()]
        wrong = [name for name, cell in filled if _is_score(name) and not _number(cell)]
        if wrong:
            problems.add(f"line {line}", f"{', '.join(wrong)}: expected a number, the score of that text")
            continue
        try:
            found.append(_scores(number, filled))
        except ValidationError as error:
            explain(error, f"line {line}", problems)
            continue
        if (first := lines.setdefault(found[-1].id, line)) != line:
            problems.add(f"line {line}", f"id: {found[-1].id!r} is already used in line {first}; ids must be unique")
    problems.raise_if_any("Expected the columns caption, negative (also negative_2, positive, id, image, ...), scores.")
    require_finite(found, str(path))
    return Foreign("equipoise", Scores(found))


def _is_score(name: str) -> bool:
    return name == "caption" or name.startswith(SEVERAL)


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _scores(number: int, filled: list[tuple[str, str]]) -> ItemScores:
    one = dict(filled)
    values = {name: float(one[name]) for name in ("caption",) if name in one}  # a missing one is pydantic's to say
    return ItemScores.model_validate(
        {
            "id": one.get("id", str(number)),
            "image": one.get("image"),
            **values,
            "positives": [float(cell) for name, cell in filled if name.startswith("positive")],
            "negatives": [float(cell) for name, cell in filled if name.startswith("negative")],
            "tags": {name: cell for name, cell in filled if name not in _NAMED and not _is_score(name)},
        }
    )
