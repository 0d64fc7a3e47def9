"""Rows of the first sheet of an .xlsx workbook, read as a stream; without formulas, dates and styles.

A workbook is a zip of XML files. Cells hold text, a number, or the number of a shared string.
"""

from __future__ import annotations

import contextlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from equipoise.core.errors import UserError, reading

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
MOST_BYTES = 2 * 2**30  # unpacked
MOST_RATIO = 500  # unpacked : packed; sheets of repeated words reach 100
RATIO_FROM = 100 * 2**20  # below this a high ratio is harmless
_TYPES = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)  # entities that grow when they are read


@contextlib.contextmanager
def opened_zip(path: Path, what: str) -> Iterator[zipfile.ZipFile]:
    """A zip whose members may be read whole; a cut, encrypted or exploding one is refused."""
    try:
        with reading(path), zipfile.ZipFile(path) as packed:
            size = sum(member.file_size for member in packed.infolist())
            ratio = size / max(1, sum(member.compress_size for member in packed.infolist()))
            if size > MOST_BYTES or (size > RATIO_FROM and ratio > MOST_RATIO):
                raise UserError(f"{path}: {size:,} bytes when unpacked, {ratio:.0f} times the file; {what} has less")
            yield packed
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
        raise UserError(
            f"{path}: cut off, encrypted, packed in a way that Python cannot read, or not {what} ({error}). Copy it "
            "again, or save it as .csv or .json with the program that wrote it"
        ) from None
    except ElementTree.ParseError as error:
        raise UserError(f"{path}: not {what}: {error}. Save it again, or as .csv (UTF-8)") from None


def sheet_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """(row, cells by the names in the first row) of each row that is not empty; empty cells are left out."""
    header: dict[str, str] = {}
    with opened_zip(path, "an .xlsx workbook") as packed:
        words = list(_words(packed)) if "xl/sharedStrings.xml" in packed.namelist() else []
        with _checked(packed, _first_sheet(packed), path) as handle:
            for number, cells in _cells(handle, words):
                if not header:
                    header = {column: name.strip() for column, name in cells.items() if name.strip()}
                    if len(set(header.values())) < len(header):
                        raise UserError(f"{path}, row {number}: two columns have one name; which one is meant?")
                elif row := {header[column]: cell for column, cell in cells.items() if column in header and cell}:
                    yield number, row
    if not header:
        raise UserError(f"{path}: its first sheet is empty; expected names of columns in the first row")


def _first_sheet(packed: zipfile.ZipFile) -> str:
    with contextlib.suppress(KeyError, AttributeError):
        book = ElementTree.fromstring(packed.read("xl/workbook.xml"))
        sheet = book.find(f"{_MAIN}sheets/{_MAIN}sheet")
        named = sheet.get(_RELATION) if sheet is not None else None
        for link in ElementTree.fromstring(packed.read("xl/_rels/workbook.xml.rels")):
            if link.get("Id") == named:
                return "xl/" + str(link.get("Target")).removeprefix("/xl/")
    return "xl/worksheets/sheet1.xml"


def _checked(packed: zipfile.ZipFile, name: str, path: Path) -> IO[bytes]:
    with packed.open(name) as handle:
        if _TYPES.search(handle.read(4096)):
            raise UserError(f"{path}: declares XML entities, which no workbook needs; not read")
    return packed.open(name)


def _words(packed: zipfile.ZipFile) -> Iterator[str]:
    with _checked(packed, "xl/sharedStrings.xml", Path(packed.filename or "")) as handle:
        for _, node in ElementTree.iterparse(handle):
            if node.tag == f"{_MAIN}si":
                yield _text(node)
                node.clear()


def _text(node: ElementTree.Element) -> str:
    """The text of all runs, without the reading aids of Japanese sheets (rPh)."""
    runs = [node, *node.findall(f"{_MAIN}r"), *node.findall(f"{_MAIN}is")]
    return "".join(text.text or "" for run in runs for text in run.findall(f"{_MAIN}t"))


def _cells(handle: IO[bytes], words: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    number = 0
    for _, node in ElementTree.iterparse(handle):
        if node.tag != f"{_MAIN}row":
            continue
        number, cells = int(node.get("r") or number + 1), {}
        for place, cell in enumerate(node):
            value = cell.findtext(f"{_MAIN}v") or ""
            kind = cell.get("t")
            if kind == "s":
                value = words[int(value)] if value.isdigit() and int(value) < len(words) else ""
            elif kind == "inlineStr":
                value = _text(cell)
            elif kind == "b":
                value = {"1": "True", "0": "False"}.get(value, value)
            column = re.match(r"[A-Z]+", cell.get("r") or "")
            cells[column[0] if column else f"#{place}"] = value
        node.clear()
        yield number, cells
