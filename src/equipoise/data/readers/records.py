"""Rows of any file with their places, and rows as checked records; every problem of a file is reported at once."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from equipoise.core.errors import Problems, UserError, reading, refuse_doubled
from equipoise.core.files import DECODER, no_such_file, opened, parse, parse_json, read_text, whole, why
from equipoise.data.readers import parquet

if TYPE_CHECKING:
    import pyarrow

Record = TypeVar("Record", bound=BaseModel)
Whole = TypeVar("Whole")
MOST_BYTES = 64 * 2**20  # of a line; a file without line ends must not fill the memory
WHOLE = 2**24  # bytes of a JSON list that is read at once, which is twice as fast
LONGEST_CELL = 10_000_000  # characters; CREPE's lists of negatives pass the csv module's own limit
QUOTES = "A cell that holds a separator, a quote or a line break must be in double quotes."


class Row(NamedTuple):
    """A value of a file and where it stands; `problem` says why there is none."""

    where: str
    value: Any
    problem: str = ""


def rows(
    path: Path,
    columns: Callable[[pyarrow.Schema], Sequence[str] | None] = lambda schema: None,
    quoted: bool = True,
    most: int = 0,
    errors: str = "strict",
) -> Iterator[Row]:
    """The rows of a table or of Parquet, the lines of JSONL, the elements of a JSON list; a JSON object is one row.

    The name tells text from Parquet, the beginning of the file tells JSONL from one JSON value. `columns` picks those
    of Parquet from its schema.
    """
    require_file(path)
    kind = suffix_of(path)
    if is_table(path):
        header, cell_rows = table(path, quoted=quoted)
        for line, cells in cell_rows:
            yield Row(f"line {line}", dict(zip(header, cells, strict=True)))
    elif kind == ".parquet":
        for number, row, problem in parquet.rows(path, columns):
            yield Row(f"row {number}", row, problem)
    else:
        with whole(path):
            yield from _json_lines(path, most, errors) if holds_lines(path) else _json_values(path, errors)


TYPED = {".json", ".jsonl", ".ndjson", ".parquet"}


def is_table(path: Path) -> bool:
    """Whether its cells are text, whatever is in them."""
    kind = suffix_of(path)
    return kind in {".csv", ".tsv"} or (kind not in TYPED and not _is_json(path))


def _is_json(path: Path) -> bool:
    """For a file whose name does not tell: by its first character. An empty file counts as JSON, which refuses it."""
    with whole(path), as_text(path, errors="replace") as handle:
        return handle.read(4096).lstrip()[:1] in {"{", "[", ""}


def require_file(path: Path) -> None:
    if path.is_dir():
        raise UserError(f"{path}: a folder, but a file was expected")
    if not path.exists():
        raise no_such_file(path)
    if not path.is_file():
        raise UserError(f"{path}: not a plain file; write its content to a file first")


def holds_lines(path: Path) -> bool:
    """Whether a file has a JSON value on each line, whatever it is called: `datasets` writes such .json files, and
    others write a JSON list over many lines and call it .jsonl."""
    filled = (text.strip() for _, text, _ in lines(path, errors="replace") if text.strip())
    first, second = next(filled, ""), next(filled, "")
    if suffix_of(path) == ".jsonl":
        return not (first.endswith(("[", "{", ",")) and second)
    try:
        return isinstance(json.loads(first), dict) and second.startswith("{")
    except (ValueError, RecursionError):
        return False


def _json_lines(path: Path, most: int, errors: str) -> Iterator[Row]:
    for number, text, problem in lines(path, most, errors):
        value = None
        if not problem and not text.strip():
            problem = EMPTY
        elif not problem:
            try:
                value = parse(text)
            except (ValueError, RecursionError) as error:
                problem = why(error)
        yield Row(f"line {number}", value, problem)


EMPTY = "empty"  # a blank line, which most readers pass over


def _json_values(path: Path, errors: str) -> Iterator[Row]:
    """A list that is long, or has an error whose line is to be named, is streamed; anything else is read whole."""
    with as_text(path, errors=errors) as handle:
        window = Window(handle)
        opening = window.peek()
        if not opening:
            raise UserError(f"{path}: the file is empty; JSON was expected")
        values = None
        if opening != "[" or (path.suffix != ".gz" and path.stat().st_size <= WHOLE):
            handle.seek(0)
            with reading(path):
                text = handle.read()
            if opening != "[":
                yield Row("", parse_json(text, str(path)))
                return
            with contextlib.suppress(ValueError, RecursionError):
                values = parse(text)
            window = Window(io.StringIO(text))
        for number, value in enumerate(json_array(window, str(path)) if values is None else values, 1):
            yield Row(f"record {number}", value)


def jsonl_lines(path: Path, problems: Problems) -> Iterator[tuple[str, str]]:
    """("line N", text) of each line that is not blank."""
    require_file(path)
    with whole(path):
        for number, text, problem in lines(path):
            if problem:
                problems.add(f"line {number}", problem)
            elif text.strip():
                yield f"line {number}", text


def filled_lines(handle: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line) of each line that is not blank; ValueError if one is too long."""
    for number, line in enumerate(iter(partial(handle.readline, MOST_BYTES), b""), 1):
        if len(line) == MOST_BYTES and not line.endswith(b"\n"):
            raise ValueError(f"line {number} is longer than {MOST_BYTES:,} bytes")
        if line.startswith(b"{") or line.decode(errors="replace").strip():  # other blanks than bytes.strip knows
            yield number, line


def chosen_lines(path: Path, places: Collection[int]) -> Iterator[tuple[str, str]]:
    """As `jsonl_lines`, of a file that was read before: the lines in some places, counted from 0."""
    wanted = frozenset(places)
    with whole(path), opened(path) as handle:
        for place, (number, line) in enumerate(islice(filled_lines(handle), 1 + max(wanted, default=-1))):
            if place in wanted:
                yield f"line {number}", line.decode("utf-8-sig")


def checked(
    lines: Iterable[tuple[str, str]],
    kind: type[Record],
    problems: Problems,
    doubled: bool = True,
    in_full: Callable[[object, int], object] | None = None,
) -> Iterator[tuple[str, Record]]:
    """(line, record) for each line that fits `kind`; the others, and ids used twice, go to `problems`.

    A line that does not fit is tried once more as `in_full` makes it of its value and its place from 1.
    pydantic takes the last of two equal keys. Where a line has no more keys than its record, no key appears twice; any
    other line is parsed once more to find them. `doubled` is False where we wrote the line ourselves and it cannot have
    any.
    """
    seen: dict[str, str] = {}
    count_keys = getattr(kind, "keys_set", None)
    validate = kind.__pydantic_validator__.validate_json
    for number, (where, raw) in enumerate(lines, 1):
        try:
            try:
                record: Record = validate(raw)
            except ValidationError:
                if in_full is None:
                    raise
                raw = json.dumps(in_full(parse(raw), number))
                record = validate(raw)
            if doubled and not (count_keys and _has_keys(raw, count_keys(record))):
                parse(raw)
        except ValidationError as error:
            explain(error, where, problems)
            continue
        except BadRow as error:
            problems.add(where, str(error))
            continue
        except (ValueError, RecursionError) as error:
            problems.add(where, why(error))
            continue
        name = getattr(record, "id", None)
        if name is not None and seen.setdefault(name, where) != where:
            problems.add(where, f"id: {name!r} is already used in {seen[name]}; ids must be unique")
        yield raw, record


def _has_keys(raw: str, count: int) -> bool:
    """Whether the line has exactly `count` keys; also False where colons within its texts leave that open."""
    return raw.count(":") == count or (raw.count('":') == count and not any(f'"{blank}' in raw for blank in " \t\r"))


class BadRow(ValueError):
    """A row that was read but has wrong values."""


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


def validated(kind: type[Whole], value: object, about: str, fix: str, where: str = "") -> Whole:
    """A value, or JSON in bytes, as `kind`; everything that is wrong with it in one error."""
    problems, adapter = Problems(about), TypeAdapter(kind)
    try:
        return adapter.validate_json(value) if isinstance(value, bytes) else adapter.validate_python(value)
    except ValidationError as error:
        explain(error, where, problems)
        problems.raise_if_any(fix)
        raise  # never: a ValidationError has a problem at least


def short(value: object) -> str:
    """`value` as JSON of at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


_BLANK = re.compile(r"[ \t\r\n]*")
_CHUNK = 1 << 16
_LONGEST = 1 << 26  # characters of one element


class Window:
    """The part of the file that is being read. It grows while an element is not complete, so reading stays linear."""

    def __init__(self, handle: IO[str]) -> None:
        self.handle, self.text, self.at, self.line = handle, "", 0, 1

    def more(self) -> bool:
        """Forget what was read and read on; False at the end of the file."""
        self.line += self.text.count("\n", 0, self.at)
        self.text, self.at = self.text[self.at :], 0
        new = self.handle.read(max(_CHUNK, len(self.text)))
        self.text += new
        return bool(new)

    def peek(self) -> str:
        """The next character that is not blank; empty at the end of the file."""
        while True:
            match = _BLANK.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def line_here(self) -> int:
        return self.line + self.text.count("\n", 0, self.at)


def json_array(window: Window, name: str) -> Iterator[object]:
    """The elements of a list; a syntax error names its line."""
    assert window.peek() == "["
    window.at += 1
    if window.peek() == "]":
        return
    while True:
        window.peek()
        yield element(window, name)
        mark = window.peek()
        if mark == "]":
            return
        if mark != ",":
            found = repr(mark) if mark else "the end of the file"
            raise UserError(f"{name}, line {window.line_here()}: not JSON (expected ',' or ']', found {found})")
        window.at += 1


def element(window: Window, name: str) -> Any:
    while True:
        try:
            value, end = DECODER.raw_decode(window.text, window.at)
        except json.JSONDecodeError as error:
            if len(window.text) < _LONGEST and window.more():
                continue
            line = window.line + window.text.count("\n", 0, error.pos)
            raise UserError(f"{name}, line {line}: not JSON ({error.msg})") from None
        except (ValueError, RecursionError) as error:  # a doubled key, a number of 5,000 digits, a deep nest
            raise UserError(f"{name}, the record in line {window.line_here()}: {why(error)}") from None
        # A number at the very end of the window may go on after it.
        if end == len(window.text) and not isinstance(value, str | dict | list) and window.more():
            continue
        window.at = end
        return value


def suffix_of(path: Path) -> str:
    """.json for captions.json and captions.json.gz."""
    return (Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix).lower()


def as_text(path: Path, newline: str | None = None, errors: str = "surrogateescape") -> IO[str]:
    """Bytes that are not UTF-8 become surrogates, which the reader finds and names."""
    return io.TextIOWrapper(opened(path), "utf-8-sig", errors, newline)


def lines(path: Path, most: int = 0, errors: str = "strict") -> Iterator[tuple[int, str, str]]:
    """(number, line, what is wrong with it) of each line, with its end. Of one that is longer than `most` bytes the
    rest is skipped, not stored."""
    most = most or MOST_BYTES
    with opened(path) as handle:
        number = 0
        while line := handle.readline(most):
            number += 1
            piece, problem = line, ""
            while not piece.endswith(b"\n") and (piece := handle.readline(most)):
                problem = f"longer than {most:,} bytes; the rest was not looked at"
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            try:
                text = line.decode("utf-8", errors)
            except UnicodeDecodeError as error:
                text, problem = "", problem or f"not UTF-8 text (byte {error.start} of the line)"
            yield number, text, problem


def cells(handle: IO[str], delimiter: str, quoted: bool = True) -> Iterator[tuple[int, list[str], str]]:
    """(line where it begins, cells, what is wrong with it) of each row.

    Without `quoted` a cell ends at the next separator, whatever quotes it holds.
    """
    csv.field_size_limit(LONGEST_CELL)
    read = csv.reader(handle, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
    while True:
        begin = read.line_num + 1
        try:
            row = next(read)
        except StopIteration:
            return
        except csv.Error as error:  # a field above the limit; the reader goes on with the next line
            long = "field limit" in str(error)
            yield begin, [], f"longer than {LONGEST_CELL:,} characters" if long else f"not a table ({error})"
            continue
        yield begin, row, ""


def table(
    path: Path, several: tuple[str, ...] = (), quoted: bool = True
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a CSV or TSV file, and (line, cells) of each row that is not empty; all problems at once.

    Columns whose name begins with one of `several` may have the same name.
    """
    text = read_text(path).removeprefix("\ufeff")
    first = text.partition("\n")[0]
    usual = "\t" if suffix_of(path) == ".tsv" else ","
    delimiter = ";" if usual not in first and ";" in first else usual  # as Excel writes a CSV where 1,5 is a number
    cell_rows = cells(io.StringIO(text, newline=""), delimiter, quoted)
    problems = Problems(str(path))
    _, header, problem = next(cell_rows, (1, [], ""))
    if problem:
        problems.add("line 1", problem)
        problems.raise_if_any(QUOTES)
    header = [name.strip() for name in header]
    refuse_doubled(f"{path}, line 1", (name for name in header if name and not name.startswith(several)))
    rows: list[tuple[int, list[str]]] = []
    for line, row, problem in cell_rows:
        if row and len(row) != len(header):
            problem = f"{len(row)} cells, where the header has {len(header)}"
        if problem:
            problems.add(f"line {line}", problem)
        elif row:
            rows.append((line, row))
    problems.raise_if_any(QUOTES)
    if not rows:
        raise UserError(f"{path}: expected a header and rows, found {'only a header' if text.strip() else 'nothing'}")
    return header, rows
