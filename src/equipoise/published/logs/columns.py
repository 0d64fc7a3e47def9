"""Any JSONL or table with a question, an answer and a truth, whose columns a person names once.

--columns question=frage,answer=antwort,truth=loesung; also id, image, options, model, and the variants of an answer:
wording, prompt, context, picture, repeat. Options are a JSON list, or texts with | between.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from equipoise.core.errors import UserError, did_you_mean
from equipoise.published.logs.opening import records
from equipoise.published.logs.said import LETTERS, Log, Said, asked, cut, lettered, read, text_of

NAME = "named columns"
NEEDED = ("question", "answer", "truth")
VARIANTS = ("wording", "prompt", "context", "picture", "repeat")
ALL = (*NEEDED, "id", "image", "options", "model", *VARIANTS)


def parsed(text: str) -> dict[str, str]:
    """question=q,answer=a,truth=t as a mapping of ours to theirs."""
    columns = dict(part.partition("=")[::2] for part in text.split(",") if part.strip())
    columns = {name.strip(): column.strip() for name, column in columns.items()}
    if unknown := [name for name in columns if name not in ALL]:
        raise UserError(f"--columns: no {unknown[0]!r}.{did_you_mean(unknown[0], ALL)} Known: {', '.join(ALL)}")
    if lacking := [name for name in NEEDED if not columns.get(name)]:
        raise UserError(f"--columns: {', '.join(lacking)} missing; expected question=...,answer=...,truth=...")
    return columns


def read_all(paths: Sequence[Path], columns: Mapping[str, str]) -> list[Log]:
    logs = []
    for path in paths:
        log = Log(NAME, path.name.partition(".")[0], "", [path], [])
        models: dict[str, int] = {}
        for record in records(path, log.problems):
            if lacking := [name for name in columns.values() if name not in record]:
                if not log.rows:
                    raise UserError(
                        f"{path}: no column {lacking[0]!r}.{did_you_mean(lacking[0], record)} Found {', '.join(record)}"
                    )
                log.problems.add("", f"a row without {', '.join(lacking)}")
                continue
            log.rows.append(_row(record, columns, len(log.rows)))
            if "model" in columns:
                model = text_of(record[columns["model"]])
                models[model] = models.get(model, 0) + 1
        if len(models) > 1:
            shown = ", ".join(f"{name!r} in {count:,} rows" for name, count in models.items())
            raise UserError(f"{path}: {len(models)} models are mixed in this file ({shown}); split it")
        log.model = next(iter(models), "") or path.name.partition(".")[0]
        right = [bool(read(row).right) for row in log.rows]
        log.scores = {"accuracy": 100 * sum(right) / len(right)} if right else {}
        logs.append(log)
    return logs


def _row(record: Mapping[str, object], columns: Mapping[str, str], number: int) -> Said:
    cell = {name: record[column] for name, column in columns.items()}
    question, options = asked(text_of(cell["question"]))
    options = tuple(_options(cell["options"])) if "options" in cell else options or lettered(record)
    truth = text_of(cell["truth"]).strip()
    if options and truth.upper() in LETTERS[: len(options)] and truth:
        truth = options[LETTERS.index(truth.upper())]
    image = text_of(cell.get("image")) or None
    variants: dict[str, Any] = {name: text_of(cell[name]) for name in VARIANTS if name in cell}
    if "repeat" in variants:
        digits = re.sub(r"\D", "", variants["repeat"])
        variants["repeat"] = int(digits or 0)
    if "id" in cell:
        key = text_of(cell["id"])
    else:  # the same question of the same photo is the same item
        key = f"{image} {question}" if image else str(number)
    return Said(
        key=key, said=cut(text_of(cell["answer"])), truth=(truth,) if truth else (), options=options, image=image,
        question=cut(question), variants=variants,
    )  # fmt: skip


def _options(cell: object) -> Iterator[str]:
    listed = cell
    if isinstance(cell, str):
        try:
            listed = json.loads(cell)
        except ValueError:
            listed = cell.split("|")
    for option in listed.values() if isinstance(listed, dict) else listed if isinstance(listed, list) else [listed]:
        if text_of(option).strip():
            yield text_of(option).strip()
