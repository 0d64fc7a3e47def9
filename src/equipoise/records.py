"""Reading JSONL into checked records, with every problem of the file reported at once."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from equipoise.errors import Problems, UserError
from equipoise.formats import json_text

Record = TypeVar("Record", bound=BaseModel)
MOST_BYTES = 64 * 2**20  # of a line; a file without line ends must not fill the memory


def jsonl_lines(path: Path, problems: Problems, places: Collection[int] | None = None) -> Iterator[tuple[str, str]]:
    """("line N", text) of each line that is not blank; or of those in some places, counted from 0, of a file that was
    read before."""
    if path.is_dir():
        raise UserError(f"{path}: a folder, where a JSONL file was expected")
    if not path.exists():
        raise UserError(f"{path}: no such file")
    if not path.is_file():
        raise UserError(f"{path}: not a plain file; write the lines to a file first")
    with path.open("rb") as handle:
        lines: Iterator[tuple[int, bytes]] = enumerate(iter(partial(handle.readline, MOST_BYTES), b""), 1)
        if places is not None:
            wanted, written = frozenset(places), (line for line in lines if not line[1].isspace())
            ahead = enumerate(islice(written, 1 + max(wanted, default=-1)))
            lines = (line for place, line in ahead if place in wanted)
        yield from _numbered(lines, problems)


def _numbered(lines: Iterable[tuple[int, bytes]], problems: Problems) -> Iterator[tuple[str, str]]:
    for number, line in lines:
        if len(line) >= MOST_BYTES:
            problems.add(f"line {number}", f"longer than {MOST_BYTES:,} bytes; the rest was not looked at")
            return
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if line.isspace() or not line:
            continue
        try:
            yield f"line {number}", line.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.add(f"line {number}", f"not UTF-8 text (byte {error.start} of the line)")


def checked(
    lines: Iterable[tuple[str, str]],
    kind: type[Record],
    problems: Problems,
    doubled: bool = True,
) -> Iterator[tuple[str, Record]]:
    """(line, record) for each line that fits `kind`; the others, and ids used twice, go to `problems`.

    pydantic takes the last of two equal keys, so each line is parsed once more to find them; `doubled` is False where
    we wrote the line ourselves and it cannot have any.
    """
    seen: dict[str, str] = {}
    validate = kind.__pydantic_validator__.validate_json
    for where, raw in lines:
        try:
            record: Record = validate(raw)
            if doubled:
                json_text.parse(raw)
        except ValidationError as error:
            explain(error, where, problems)
            continue
        except (ValueError, RecursionError) as error:
            problems.add(where, json_text.why(error))
            continue
        name = getattr(record, "id", None)
        if name is not None and seen.setdefault(name, where) != where:
            problems.add(where, f"id: {name!r} is already used in {seen[name]}; ids must be unique")
        yield raw, record


def explain(error: ValidationError, where: str, problems: Problems) -> None:
    """One line for people per thing that pydantic found wrong."""
    for detail in error.errors():
        if detail["type"] == "json_invalid":
            problems.add(where, f"not JSON ({detail['ctx']['error']})")
            continue
        message = detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "value_error" and not detail["loc"]:  # said by a class of ours, which names the fields
            problems.add(where, message)
            continue
        field = ".".join(str(part) for part in detail["loc"]) or "the record"
        found = "" if detail["type"] in {"value_error", "missing"} else f"; found {short(detail['input'])}"
        problems.add(where, f"{field}: {message[0].lower()}{message[1:]}{found}")


def short(value: Any) -> str:
    """`value` as JSON of at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
