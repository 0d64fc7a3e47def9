"""Score files in our layout or a published one: the first record says which, and the rows follow.

A score file of another benchmark must not be measured as this one's. Scores of one's own are JSONL, or a table with the
columns of a table of items (benchmarks/own.py) and scores in place of texts: `id` (else the number of the row),
`image`, `caption`, one or more whose name begins with `negative`, any number that begin with `positive`. Every other
column is a tag. Empty cells are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from equipoise.benchmarks import predicate_noun
from equipoise.core.errors import Problems, UserError
from equipoise.data.readers.records import EMPTY, explain, kind_of, rows, table
from equipoise.evaluation.foreign import layouts
from equipoise.evaluation.foreign.sheets import Foreign, Sheet, check_single
from equipoise.evaluation.scores import ItemScores, Scores, read_scores, require_finite


@dataclass(frozen=True)
class Layout:
    """A way in which scores are published."""

    benchmark: str
    columns: tuple[str, ...]  # that a record has, by which the layout is known
    read: Callable[[Sequence[Sheet]], Foreign]
    what: str  # the file is, in words
    label: str = ""  # a pattern of the first record's label
    files: int = 1  # at most

    def known(self, record: Mapping[str, Any]) -> bool:
        """Whether a file is of this layout, by its first record."""
        return set(self.columns) <= record.keys() and (
            not self.label or bool(re.fullmatch(self.label, str(record["label"])))
        )


_BIVLC, _OUTCOMES = ("caption", "negative_caption", "type"), f"the outcomes of BiVLC's {layouts.BIVLC:,} examples"
LAYOUTS = (
    Layout(
        "winoground",
        ("label", "score"),
        layouts.winoground,
        f"the scores of Winoground's {layouts.WINOGROUND} examples",
        r"\d+_c[01]_i[01]",
    ),
    Layout("valse", ("label", "score", "instrument"), layouts.valse, "the scores of VALSE's valid items", r".+_[cf]"),
    Layout(
        "predicate-noun",
        ("id", "prob_target_match", "prob_distractor_match"),
        layouts.predicate_noun,
        f"the scores of {predicate_noun.ROWS:,} rows",
        files=2,
    ),
    Layout("bivlc", (*_BIVLC, *layouts.OLD), layouts.bivlc, _OUTCOMES),
    Layout("bivlc", (*_BIVLC, *layouts.NEW), layouts.bivlc, _OUTCOMES),
    Layout(
        "sugarcrepe",
        ("filename", "caption", "negative_caption", "type", "subtype", "correct"),
        layouts.sugarcrepe,
        "the outcomes of SugarCrepe's pairs",
    ),
    Layout("vsr-pairs", layouts.VSR, layouts.vsr, "answers to VSR's statements", files=2),
)


def read_any(paths: Sequence[Path], benchmark: str | None) -> Foreign:
    """The scores of the named benchmark in `paths`, in our layout or a published one."""
    known = [_layout(path) for path in paths]
    layout = known[0]
    if layout is None:
        if len(paths) > 1:
            raise UserError(f"{paths[1]}: scores are one file; a second is for another wording of the same items")
        return _own_table(paths[0]) if _is_table(paths[0]) else Foreign("equipoise", read_scores(paths[0]))
    if other := [path for path, one in zip(paths, known, strict=True) if one != layout]:
        raise UserError(f"{other[0]}: not of the same layout as {paths[0]}, the published scores of {layout.benchmark}")
    if benchmark is None:
        raise UserError(f"{paths[0]}: published scores of {layout.benchmark}: name it with --bench {layout.benchmark}")
    sheets = [_sheet(path, layout) for path in paths]
    if benchmark != layout.benchmark:
        raise UserError(
            f"{paths[0]}: {len(sheets[0].rows):,} records in the layout of {layout.benchmark}'s published scores, none "
            f"of them of {benchmark}. Name --bench {layout.benchmark}, or another file."
        )
    if len(paths) > layout.files:
        raise UserError(f"{paths[layout.files]}: {layout.benchmark} takes {layout.files} file(s), found {len(paths)}")
    return layout.read(sheets)


def _is_table(path: Path) -> bool:
    return kind_of(path) in {".csv", ".tsv"}


def _layout(path: Path) -> Layout | None:
    """None: our own layout, whose reader also says what is wrong with a file that is in none."""
    first: Any
    if _is_table(path):
        header, found = table(path, several=SEVERAL)
        first = dict(zip(header, found[0][1], strict=True))
    else:
        header = []
        first = next((row.value for row in rows(path) if row.problem != EMPTY), None)
    layout = next((one for one in LAYOUTS if isinstance(first, dict) and one.known(first)), None)
    if header and layout is None and not ("caption" in header and any(name.startswith("negative") for name in header)):
        raise UserError(
            f"{path}: a table of {len(found):,} rows in no layout that is known here (columns "
            f"{', '.join(header[:8])}). Scores of your own have the columns id, caption, positive, negative "
            "(several: negative_1, negative_2), or are one JSON object per item in a .jsonl file: "
            '{"id": "...", "caption": 0.31, "positives": [0.30], "negatives": [0.28]}'
        )
    return layout


def _sheet(path: Path, layout: Layout) -> Sheet:
    """The rows of a file; each has the columns of its layout and all are of one model."""
    sheet = Sheet(path, [], [], Problems(f"{path}: not {layout.what}"))
    for where, value, problem in rows(path):
        if problem == EMPTY:
            continue
        lacking = set(layout.columns) - value.keys() if isinstance(value, dict) else ["a record"]
        if problem or lacking:
            sheet.problems.add(where, problem or f"{', '.join(sorted(lacking))}: missing")
        else:
            sheet.rows.append(value)
            sheet.places.append(where)
    sheet.problems.raise_if_any(f"Expected {', '.join(layout.columns)} in each row.")
    check_single(sheet.problems, "model", sheet.rows)
    return sheet


# ---------------------------------------------------------------------------- a table of one's own

SEVERAL = ("negative", "positive")
_NAMED = ("id", "image", "caption")


def _own_table(path: Path) -> Foreign:
    """The scores of a table; every problem of the file is raised at once."""
    header, cells = table(path, several=SEVERAL)
    captions = [row[header.index("caption")] for _, row in cells]
    if not any(map(_number, captions)):
        raise UserError(
            f"{path}: holds texts where scores were expected (caption {captions[0]!r}). "
            f"A model is judged on it with: equipoise eval MODEL --bench {path} --images FOLDER"
        )
    found: list[ItemScores] = []
    lines: dict[str, int] = {}
    problems = Problems(str(path))
    for number, (line, row) in enumerate(cells, 1):
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
