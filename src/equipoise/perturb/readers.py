"""Captions from anyone's files, one image at a time.

Every format is a stream of raw records in file order; `read_captions` cleans them and puts the captions of an image
together, because a negative must not be true by another caption of the same image. COCO annotations are grouped by
`image_id` wherever they stand; in all other formats the captions of an image must stand next to each other (sort the
file by image), so that memory does not grow with the file.

A file that cannot be understood is the user's error. A caption that cannot be used is not: it is left out, counted,
and the report says where and why.
"""

from __future__ import annotations

import csv
import functools
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pydantic import ValidationError

from equipoise.errors import UserError
from equipoise.items import ImageRef
from equipoise.perturb.json_stream import json_array

LONGEST = 2_000  # characters of a caption; text encoders read a few hundred
_MOST_BYTES = 64 * LONGEST  # of one line: a caption with its ids and paths; what comes after is skipped, not stored
MOST_TOGETHER = 50  # captions of one image; a file with the same image on every line must not fill the memory


class Raw(NamedTuple):
    """One caption as the file has it; `problem` says why there is none."""

    where: str
    text: Any
    image: Any = None
    id: Any = None
    problem: str = ""


class Record(NamedTuple):
    """A caption that can be used. `number` is its place in the input, which makes its id."""

    number: int
    text: str
    source_id: str | None


class Group(NamedTuple):
    """The captions of one image (or a single caption without one), and those left out: (where, reason)."""

    image: str | None
    records: tuple[Record, ...]
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def captions(self) -> int:
        return len(self.records) + len(self.refused)


# ---------------------------------------------------------------------------- cleaning

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")


def clean(text: Any) -> tuple[str, str]:
    """(the caption with white space made single blanks, "") or ("", why it cannot be used)."""
    if not isinstance(text, str):
        return "", "no caption" if text is None else "the caption is not text"
    if len(text) > LONGEST:
        return "", f"longer than {LONGEST:,} characters"
    if _SURROGATE.search(text):
        return "", "not UTF-8"
    text = " ".join(text.replace("\ufeff", "").split())
    if not text:
        return "", "empty"
    if text.isascii() and text.isprintable():  # nearly all captions; what follows takes longer
        return (text, "") if _LATIN.search(text) else ("", "no words")
    if _CONTROL.search(text):
        return "", "control characters"
    letters = sum(map(str.isalpha, text))
    if not letters:
        return "", "no words"
    if len(_LATIN.findall(text)) * 2 < letters:
        return "", "not in Latin letters"  # rules, word lists and prompts are for English
    return text, ""


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _image(value: Any) -> tuple[str | None, str]:
    """(the image's path below its folder or None, "") or (None, why not)."""
    if isinstance(value, dict):  # an Items file, or Hugging Face's image columns
        value = value.get("path")
    if value is None or value == "":
        return None, ""
    return _image_path(value) if isinstance(value, str) else (None, "the image is not a path")


@functools.lru_cache(maxsize=256)  # the captions of an image follow each other
def _image_path(value: str) -> tuple[str | None, str]:
    if _SURROGATE.search(value):
        return None, "the image's path is not UTF-8"
    try:
        return ImageRef(path=value).path, ""
    except ValidationError:
        return None, "the image's path leaves its folder"


# ---------------------------------------------------------------------------- grouping


def read_captions(path: str | Path, limit: int | None = None) -> Iterator[Group]:
    """The captions of a file, or of all files of a folder, grouped by image; the first `limit` captions."""
    raws: Iterable[Raw] = (raw for file in caption_files(path) for raw in _raw_records(file))
    numbered = enumerate(islice(raws, limit))
    place = 0
    for image, members in groupby(_placed(numbered), key=lambda member: member[0]):
        while part := list(islice(members, 1 if image is None else MOST_TOGETHER)):
            records = tuple(member for _, member in part if isinstance(member, Record))
            refused = tuple(member for _, member in part if not isinstance(member, Record))
            place += len(part)
            yield Group(image, records, refused)
    if not place:
        raise UserError(f"{path}: holds no captions")


def _placed(numbered: Iterable[tuple[int, Raw]]) -> Iterator[tuple[str | None, Record | tuple[str, str]]]:
    """(image, record or (where, reason)); what was refused without an image must not part the captions around it."""
    before: str | None = None
    for number, raw in numbered:
        text, reason = clean(raw.text) if not raw.problem else ("", raw.problem)
        image, wrong = _image(raw.image)
        if reason or wrong:
            yield image or before, (_printable(raw.where), reason or wrong)
        else:
            before = image
            yield image, Record(number, text, None if raw.id is None else _printable(str(raw.id)[:200]))


def caption_files(path: str | Path) -> list[Path]:
    """The file itself, or the caption files of a folder in the order of their names."""
    path = Path(path)
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.suffix.lower() in _READERS)
        if not found:
            raise UserError(f"{path}: no caption files; expected {_known()}")
        return found
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    if path.suffix.lower() not in _READERS:
        raise UserError(f"{path}: unknown kind of file; expected {_known()}")
    return [path]


def _known() -> str:
    return ", ".join(_READERS)


def _raw_records(path: Path) -> Iterator[Raw]:
    try:
        yield from _READERS[path.suffix.lower()](path)
    except PermissionError:
        raise UserError(f"{path}: no permission to read it") from None


# ---------------------------------------------------------------------------- text, tables

_CAPTION_NAMES = ("caption", "captions", "title", "text", "sentence", "raw")
_IMAGE_NAMES = ("image", "filepath", "file_name", "filename", "image_path", "file", "path")
_ID_NAMES = ("id", "caption_id", "sentid", "key")
_FLICKR = re.compile(r"(.+\.(?:jpe?g|png|webp|gif|bmp))(#\d+)?", re.IGNORECASE)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, line); bytes that are not UTF-8 become surrogates, which `clean` finds. A line of any length is safe."""
    with path.open("rb") as handle:
        number = 0
        while line := handle.readline(_MOST_BYTES):
            number += 1
            whole = line
            while not whole.endswith(b"\n") and (whole := handle.readline(_MOST_BYTES)):
                pass
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8", "surrogateescape").rstrip("\r\n")


def _read_txt(path: Path) -> Iterator[Raw]:
    for number, line in _lines(path):
        yield Raw(f"line {number}", line)


def _read_table(path: Path) -> Iterator[Raw]:
    """CSV and TSV: with a header that names the caption, or Flickr's `photo.jpg#0<TAB>caption`, or one column."""
    rows = _rows(path)
    first = next(rows, None)
    if first is None:
        return
    where, cells, problem = first
    names = [cell.strip().lower() for cell in cells]
    caption = _first_of(_CAPTION_NAMES, names)
    if caption is not None:
        image, name = _first_of(_IMAGE_NAMES, names), _first_of(_ID_NAMES, names)
    elif len(cells) == 1:
        caption, image, name = 0, None, None
    elif len(cells) == 2 and _FLICKR.fullmatch(cells[0]):
        caption, image, name = 1, 0, None
    else:
        raise UserError(
            f"{path}, {where}: expected a column called {', '.join(_CAPTION_NAMES[:4])}; "
            f"found {', '.join(map(repr, cells[:8]))}"
        )
    body = rows if names[caption] in _CAPTION_NAMES else _with_first(first, rows)
    for where, cells, problem in body:
        if problem:
            yield Raw(where, None, problem=problem)
        elif len(cells) <= max(caption, image or 0):
            yield Raw(where, None, problem="too few columns" if cells else "empty")
        else:
            photo = None if image is None else cells[image]
            if photo and (match := _FLICKR.fullmatch(photo)):
                photo = match[1]
            given = cells[name] if name is not None and name < len(cells) else None
            yield Raw(where, cells[caption], photo, given)


Row = tuple[str, list[str], str]


def _with_first(first: Row, rows: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rows


def _rows(path: Path) -> Iterator[Row]:
    """CSV with a comma or, for .tsv, a tab. In Flickr's TSV, which has no header, quotes are only quotes."""
    tabs = path.suffix.lower() == ".tsv"
    if tabs and _FLICKR.match(next(_lines(path), (0, ""))[1].split("\t")[0]):
        for number, line in _lines(path):
            yield f"line {number}", line.split("\t") if line else [], ""
        return
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as handle:
        reader = csv.reader(handle, delimiter="\t" if tabs else ",")
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:  # a field above csv's limit of 128 KiB; the reader goes on with the next line
                yield f"line {reader.line_num}", [], str(error)
                continue
            yield f"line {reader.line_num}", cells, ""


def _first_of(wanted: Iterable[str], names: list[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


# ---------------------------------------------------------------------------- JSON


def _read_jsonl(path: Path) -> Iterator[Raw]:
    for number, line in _lines(path):
        where = f"line {number}"
        if not line.strip():
            yield Raw(where, None, problem="empty")
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            long = len(line.encode("utf-8", "surrogateescape")) >= _MOST_BYTES - 1
            yield Raw(where, None, problem=f"longer than {_MOST_BYTES:,} bytes" if long else "not JSON")
            continue
        yield from _json_record(where, value)


def _json_record(where: str, value: Any) -> Iterator[Raw]:
    """A string, or an object with a caption or a list of captions."""
    if isinstance(value, str):
        yield Raw(where, value)
        return
    if not isinstance(value, dict):
        yield Raw(where, None, problem="neither text nor an object")
        return
    lower = {str(key).lower(): key for key in value}
    caption, image, name = (
        next((value[lower[known]] for known in names if known in lower), None)
        for names in (_CAPTION_NAMES, _IMAGE_NAMES, _ID_NAMES)
    )
    if isinstance(caption, list):
        for number, text in enumerate(caption):
            yield Raw(f"{where}, caption {number + 1}", text, image, None if name is None else f"{name}#{number}")
    else:
        yield Raw(where, caption, image, name)


def _read_json(path: Path) -> Iterator[Raw]:
    """A list is streamed; COCO's object has to be read whole, since its annotations may stand in any order."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as handle:
        opening = handle.read(4096).lstrip()[:1]
        handle.seek(0)
        if opening == "[":
            for number, value in enumerate(json_array(handle, str(path)), 1):
                yield from _json_record(f"record {number}", value)
            return
        try:
            value = json.load(handle)
        except json.JSONDecodeError as error:
            raise UserError(f"{path}, line {error.lineno}, column {error.colno}: not JSON ({error.msg})") from None
        except RecursionError:
            raise UserError(f"{path}: nested too deeply to be captions") from None
    if isinstance(value, dict) and isinstance(value.get("annotations"), list):
        yield from _coco(value)
    elif isinstance(value, dict) and isinstance(value.get("images"), list):
        yield from _karpathy(value["images"])
    else:
        raise UserError(
            f"{path}: expected a list of captions, of objects with a caption, or COCO's object with images and "
            f"annotations; found {type(value).__name__}"
        )


def _coco(value: dict[str, Any]) -> Iterator[Raw]:
    """COCO's annotations by image, images in the order in which they first appear."""
    images = value.get("images")
    names = {
        image.get("id"): image.get("file_name")
        for image in (images if isinstance(images, list) else ())
        if isinstance(image, dict) and isinstance(image.get("id"), int | str)
    }
    by_image: dict[Any, list[Raw]] = {}
    for number, note in enumerate(value["annotations"], 1):
        where = f"annotation {number}"
        if not isinstance(note, dict) or not isinstance(note.get("image_id"), int | str):
            by_image.setdefault(None, []).append(Raw(where, None, problem="no image_id"))
            continue
        image = note["image_id"]
        raw = Raw(where, note.get("caption"), names.get(image), note.get("id"))
        by_image.setdefault(image, []).append(raw)
    for raws in by_image.values():
        yield from raws


def _karpathy(images: list[Any]) -> Iterator[Raw]:
    """The whole file of Karpathy's splits: images with their sentences."""
    for number, image in enumerate(images, 1):
        where = f"image {number}"
        if not isinstance(image, dict) or not isinstance(image.get("sentences"), list):
            yield Raw(where, None, problem="no sentences")
            continue
        name = "/".join(str(image[key]) for key in ("filepath", "filename") if image.get(key))
        for place, sentence in enumerate(image["sentences"], 1):
            given = sentence if isinstance(sentence, dict) else {}
            yield Raw(f"{where}, sentence {place}", given.get("raw"), name, given.get("sentid"))


# ---------------------------------------------------------------------------- Parquet, webdataset


def _read_parquet(path: Path) -> Iterator[Raw]:
    """Only the columns of caption, image path and id are read, never the images themselves."""
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: not a Parquet file ({error})") from None
    with file:
        schema = {name.lower(): name for name in file.schema_arrow.names}
        found = [
            next((schema[name] for name in names if name in schema), None)
            for names in (_CAPTION_NAMES, _IMAGE_NAMES, _ID_NAMES)
        ]
        caption, image, name = found
        if caption is None:
            there = ", ".join(file.schema_arrow.names[:12])
            raise UserError(f"{path}: expected a column called {', '.join(_CAPTION_NAMES[:4])}; found {there}")
        columns = [caption, *([name] if name else []), *_image_columns(file.schema_arrow, image)]
        number = 0
        for batch in file.iter_batches(2_000, columns=columns):
            values = {key: _values(batch.column(key)) for key in batch.schema.names}
            empty = [None] * batch.num_rows
            rows = zip(values[caption], values.get(image, empty), values.get(name, empty), strict=True)
            for text, photo, given in rows:
                number += 1
                yield from _json_record(f"row {number}", {"caption": text, "image": photo, "id": given})


def _image_columns(schema: Any, image: str | None) -> list[str]:
    import pyarrow.types as types

    if image is None:
        return []
    kind = schema.field(image).type
    if types.is_string(kind) or types.is_large_string(kind):
        return [image]
    has_path = types.is_struct(kind) and kind.get_field_index("path") >= 0
    return [f"{image}.path"] if has_path else []


def _values(column: Any) -> list[Any]:
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:  # some value of the batch is not UTF-8; find out which
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return "\udcff"  # what `clean` calls "not UTF-8"


_IMAGE_SUFFIXES = frozenset(".jpg .jpeg .png .webp .gif .bmp".split())


def _read_tar(path: Path) -> Iterator[Raw]:
    """Webdataset: members with the same name up to the first dot belong together; `.txt` is the caption."""
    try:
        with tarfile.open(path, "r|*") as archive:
            for _, members in groupby(_tar_members(archive), key=lambda member: member[0]):
                image: str | None = None
                texts: list[tuple[str, str]] = []
                for _, name, text in members:
                    if text is None:
                        image = name
                    else:
                        texts.append((name, text))
                for name, text in texts:
                    yield Raw(f"member {name}", text, image)
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, PermissionError):
            raise
        raise UserError(f"{path}: the archive cannot be read to its end ({error})") from None


def _tar_members(archive: tarfile.TarFile) -> Iterator[tuple[str, str, str | None]]:
    """(key, name, text of a caption or None for an image)."""
    for member in archive:
        name = PurePosixPath(member.name)
        suffix = "." + name.name.split(".")[-1].lower()
        if not member.isfile() or suffix not in _IMAGE_SUFFIXES | {".txt"}:
            continue
        key = str(name.parent / name.name.split(".")[0])
        if suffix != ".txt":
            yield key, str(name), None
            continue
        content = archive.extractfile(member)
        raw = content.read(_MOST_BYTES) if content else b""
        yield key, str(name), raw.decode("utf-8", "surrogateescape")


_READERS: dict[str, Callable[[Path], Iterator[Raw]]] = {
    ".txt": _read_txt,
    ".csv": _read_table,
    ".tsv": _read_table,
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".parquet": _read_parquet,
    ".tar": _read_tar,
}
