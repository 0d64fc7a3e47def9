"""Items in a plain table (.csv, .tsv) that a user wrote.

The columns are `image` (path below --images; may be empty), `caption`, any number of columns whose name begins with
`negative`, any number that begin with `positive`, and optionally `id` (else the number of the row). Empty cells are
skipped. Every other column becomes a tag, `split` among them. A table of questions has the columns `question` and
`answer` in place of `caption` (readers/questions.py).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from equipoise.core.errors import Problems, UserError, did_you_mean, missing_columns
from equipoise.data.items import ImageRef, Item, load_items, texts
from equipoise.data.readers.questions import is_question, question_item
from equipoise.data.readers.records import BadRow, explain, suffix_of, table

_Row = TypeVar("_Row")

TABLES = {".csv", ".tsv"}
_SEVERAL = ("negative", "positive")
_IMAGE_NAMES = {"img", "image_path", "image_name", "filename", "file_name", "filepath", "file", "path", "photo"}


def load_item_file(path: Path) -> Sequence[Item]:
    """The items of a user's own file: JSONL, Parquet or a table."""
    return read_table(path, _item) if suffix_of(path) in TABLES else load_items(path)


def read_table(path: Path, build: Callable[[dict[str, object]], _Row]) -> list[_Row]:
    """Build an item from the fields of each row: id, image, caption, positives, negatives, tags. All problems of the
    file are raised at once."""
    header, rows = table(path, several=_SEVERAL)
    asks = is_question(dict.fromkeys(header))
    if not asks and ("caption" not in header or not any(name.startswith("negative") for name in header)):
        raise UserError(
            f"{path}, line 1: {missing_columns(header)} Expected the columns image, caption, "
            f"negative (also negative_2, positive, split, ...), found {', '.join(header)}. To write "
            f"hard negatives and positives for its captions: equipoise perturb {shlex.quote(str(path))}"
        )
    built: list[_Row] = []
    lines: dict[str, int] = {}
    problems = Problems(str(path))
    for number, (line, cells) in enumerate(rows, 1):
        filled = [(name, cell) for name, cell in zip(header, cells, strict=True) if cell.strip()]
        fields: dict[str, Any] = {"id": str(number)}
        fields |= {name: cell for name, cell in filled if name in ("id", "image", "caption")}
        fields["negatives"] = [cell for name, cell in filled if name.startswith("negative")]
        fields["positives"] = [cell for name, cell in filled if name.startswith("positive")]
        fields["tags"] = {name: cell for name, cell in filled if name not in fields and not name.startswith(_SEVERAL)}
        if asks:
            fields = {"question": dict(filled), "id": dict(filled).get("id", str(number))}
        first = lines.setdefault(fields["id"], line)
        if first != line:
            problems.add(f"line {line}", f"id: {fields['id']!r} is already used in line {first}; ids must be unique")
        try:
            built.append(build(fields))
        except ValidationError as error:
            explain(error, f"line {line}", problems)
        except BadRow as error:
            problems.add(f"line {line}", str(error))
    problems.raise_if_any()
    return built


def _item(fields: dict[str, Any]) -> Item:
    if "question" in fields:
        row = question_item({"answer": "", **fields["question"]}, fields["id"])
        return Item.model_validate_json(json.dumps(row))
    image = ImageRef(path=fields["image"]) if "image" in fields else None
    right, wrong = texts(*fields["positives"]), texts(*fields["negatives"])
    made = {"image": image, "caption": fields.get("caption", ""), "positives": right, "negatives": wrong}
    return Item.model_validate(fields | made | {"tags": {"split": "all"} | fields["tags"]})


def require_image_column(path: Path) -> None:
    """Refuse a table without the column `image`, with the column that may be meant."""
    header, _ = table(path, several=_SEVERAL)
    if "image" in header:
        return
    near = next((name for name in header if name.lower() in _IMAGE_NAMES), None)
    meant = f" Did you mean {near}?" if near else did_you_mean("image", header)
    call = " Call it image." if meant else ""
    raise UserError(f"{path}, line 1: no column image (paths below --images); found {', '.join(header)}.{meant}{call}")
