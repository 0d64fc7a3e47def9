"""Which layout a file has, by its first record: a score file of another benchmark must not be judged as this one's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import Problems, UserError
from equipoise.evaluation.foreign import labels, outcomes, own_table, tables, wordings
from equipoise.evaluation.foreign.base import Foreign
from equipoise.evaluation.scores import read_scores
from equipoise.readers import json_text
from equipoise.readers.records import jsonl_lines
from equipoise.readers.tables import table


@dataclass(frozen=True)
class Layout:
    """A way in which scores are published."""

    benchmark: str
    known: Callable[[Mapping[str, Any]], bool]  # by the first record; a table's values are its cells
    read: Callable[[Sequence[Path]], Foreign]
    files: int = 1  # at most


def _labelled(pattern: str, *fields: str) -> Callable[[Mapping[str, Any]], bool]:
    def known(record: Mapping[str, Any]) -> bool:
        return {"label", "score", *fields} <= record.keys() and bool(re.fullmatch(pattern, str(record["label"])))

    return known


def _columns(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda record: set(names) <= record.keys()


LAYOUTS = (
    Layout("winoground", _labelled(r"\d+_c[01]_i[01]"), labels.winoground),
    Layout("valse", _labelled(r".+_[cf]", "instrument"), labels.valse),
    Layout("predicate-noun", _columns("id", "prob_target_match", "prob_distractor_match"), tables.predicate_noun, 2),
    Layout("bivlc", _columns("caption", "negative_caption", "type", *outcomes.OLD), outcomes.bivlc),
    Layout("bivlc", _columns("caption", "negative_caption", "type", *outcomes.NEW), outcomes.bivlc),
    Layout(
        "sugarcrepe",
        _columns("filename", "caption", "negative_caption", "type", "subtype", "correct"),
        outcomes.sugarcrepe,
    ),
    Layout("vsr-pairs", _columns(*wordings.COLUMNS), wordings.vsr, 2),
)


def read_any(paths: Sequence[Path], benchmark: str | None) -> Foreign:
    """The scores of `paths`, in our own layout or somebody's, of the benchmark that was named."""
    layouts = [_layout(path) for path in paths]
    layout = layouts[0]
    if layout is None:
        if len(paths) > 1:
            raise UserError(f"{paths[1]}: scores are one file; a second is for another wording of the same items")
        return own_table.read(paths[0]) if _is_table(paths[0]) else Foreign("equipoise", read_scores(paths[0]))
    if other := [path for path, one in zip(paths, layouts, strict=True) if one != layout]:
        raise UserError(f"{other[0]}: not of the same layout as {paths[0]}, the published scores of {layout.benchmark}")
    if benchmark is None:
        raise UserError(f"{paths[0]}: published scores of {layout.benchmark}: name it with --bench {layout.benchmark}")
    if benchmark != layout.benchmark:
        count = _records(paths[0])
        raise UserError(
            f"{paths[0]}: {count:,} records in the layout of {layout.benchmark}'s published scores, none of them of "
            f"{benchmark}. Name --bench {layout.benchmark}, or another file."
        )
    if len(paths) > layout.files:
        raise UserError(f"{paths[layout.files]}: {layout.benchmark} takes {layout.files} file(s), found {len(paths)}")
    return layout.read(paths)


def _layout(path: Path) -> Layout | None:
    first = _first(path)
    return next((layout for layout in LAYOUTS if layout.known(first)), None)


def _first(path: Path) -> Mapping[str, Any]:
    """The first record; {} where there is none or it cannot be read, which our own reader then explains."""
    if _is_table(path):
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        header, rows = table(path, several=own_table.SEVERAL)
        first = dict(zip(header, rows[0][1], strict=True))
        if not own_table.known(header) and not any(layout.known(first) for layout in LAYOUTS):
            raise UserError(
                f"{path}: a table of {len(rows):,} rows in no layout that is known here (columns "
                f"{', '.join(header[:8])}). Scores of your own have the columns id, caption, positive, negative "
                "(several: negative_1, negative_2), or are one JSON object per item in a .jsonl file: "
                '{"id": "...", "caption": 0.31, "positives": [0.30], "negatives": [0.28]}'
            )
        return first
    for _, text in jsonl_lines(path, Problems(str(path))):
        try:
            value = json_text.parse(text)
        except (ValueError, RecursionError, json.JSONDecodeError):
            return {}
        return value if isinstance(value, dict) else {}
    return {}


def _is_table(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith((".csv", ".tsv"))


def _records(path: Path) -> int:
    if _is_table(path):
        return len(table(path)[1])
    return sum(1 for _ in jsonl_lines(path, Problems(str(path))))
