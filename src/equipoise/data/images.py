"""Reads and decodes images from a folder, tar shards in webdataset's layout, or Parquet files.

An image outside its folder, of an unreasonable size, or damaged is refused.

A source turns the path written in an item into encoded bytes. Items name a member of a shard or a row of a Parquet file
as they name a file: `000123.jpg`. Nothing is unpacked. Sources can be pickled, because each process holds one.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tarfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from PIL import Image, UnidentifiedImageError

from equipoise.core.errors import UserError
from equipoise.core.files import stays_inside
from equipoise.data.items import ImageRef
from equipoise.data.readers import tars

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import pyarrow

MAX_ASPECT = 500  # resizing the short side of a 1 x 60,000 strip to 224 would ask for gigabytes
MAX_PIXELS = 100_000_000  # a 20,000 x 20,000 header costs 1.2 GB before a single byte is known to be good
MAX_BYTES = 200 * 2**20  # of one encoded image; a link to an endless file must not fill the memory

# Pillow tells kinds by their first bytes, whatever a file is called, and starts Ghostscript for EPS: only these.
FORMATS = ["JPEG", "PNG", "BMP", "GIF", "PPM", "TIFF", "WEBP", "AVIF"]  # the last two may be absent from Pillow

T = TypeVar("T")


class ImageProblem(UserError):
    """One image that is missing, corrupt or refused; callers collect them."""


def image_path(root: Path, path: str) -> Path:
    """Where an image lies. The path as written may not lead out of `root`; links that the owner of the folder made are
    followed, because that is how people keep large photo sets (and our archives unpack none)."""
    if not stays_inside(path):
        raise ImageProblem(f"path {path!r} leaves its folder {root}; such paths are never followed")
    return root / path


_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # the one is POSIX's, the other Windows'


def read_image_bytes(root: Path, path: str) -> bytes:
    """The bytes of a regular file; a pipe or a device is refused, because reading it might never end."""
    where = image_path(root, path)
    try:
        handle = os.open(where, os.O_RDONLY | _FLAGS)
        with os.fdopen(handle, "rb", buffering=0) as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise ImageProblem(f"{path}: not a regular file; refused")
            if status.st_size > MAX_BYTES:
                raise ImageProblem(f"{path}: {status.st_size:,} bytes; images over {MAX_BYTES:,} bytes are refused")
            return file.read(MAX_BYTES)
    except FileNotFoundError:
        raise ImageProblem(f"{path}: no such file below {root}") from None
    except OSError as error:
        raise ImageProblem(f"{path}: cannot be read ({error.strerror})") from None


LARGE = 20_000_000  # pixels; a PNG of 0.3 MB may unfold to 100 million, which take 800 MB while they are converted
_one_large: AbstractContextManager[bool | None] = threading.Lock()


def share_lock(lock: AbstractContextManager[bool | None]) -> None:
    """Have this process decode large images by turns with the others that hold `lock`."""
    global _one_large
    _one_large = lock


def decode_image(data: bytes, ref: ImageRef) -> Image.Image:
    """The RGB image of encoded bytes, cut to the box of `ref` where it has one."""
    return use_image(data, ref, lambda image: image)


def use_image(data: bytes, ref: ImageRef, use: Callable[[Image.Image], T]) -> T:
    """`use` of the decoded image. Large images are decoded and used one at a time."""
    opened = _opened(data, ref)
    with _one_large if opened.width * opened.height > LARGE else contextlib.nullcontext():
        with _problems_of(ref):
            image = _rgb(opened, ref)
        image = image if ref.box is None else _crop(image, ref)
        if max(image.size) > MAX_ASPECT * min(image.size):
            raise ImageProblem(f"{ref.path}: {image.width} x {image.height} pixels, a strip and not a picture; refused")
        return use(image)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def image_size(data: bytes, ref: ImageRef) -> tuple[int, int]:
    """Width and height from the header alone; nothing is decoded."""
    return _opened(data, ref).size


def _opened(data: bytes, ref: ImageRef) -> Image.Image:
    """The image with its header read, and nothing else."""
    with _problems_of(ref), warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is lower
        opened = Image.open(io.BytesIO(data), formats=FORMATS)
    if opened.width * opened.height > MAX_PIXELS:
        raise ImageProblem(
            f"{ref.path}: {opened.width} x {opened.height} pixels; images over {MAX_PIXELS:,} pixels are refused"
        )
    return opened


def _rgb(image: Image.Image, ref: ImageRef) -> Image.Image:
    """Pillow cuts off 16-bit grey at 255, which makes it white; its high byte is kept, as Pillow does with colour."""
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in {"PNG", "PPM"}):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    if image.mode in {"I", "F"}:
        raise ImageProblem(f"{ref.path}: 32-bit grey, whose white level is unknown; save it with 8 or 16 bits")
    if image.mode == "RGB":
        image.load()
        return image  # `convert` would copy it
    return image.convert("RGB")


@contextlib.contextmanager
def _problems_of(ref: ImageRef) -> Iterator[None]:
    """Raise Pillow's errors as an ImageProblem."""
    try:
        yield
    except (UnidentifiedImageError, KeyError):  # KeyError: a kind that this Pillow does not know at all
        kinds = ", ".join(FORMATS)
        raise ImageProblem(f"{ref.path}: not an image of a kind that is read here ({kinds})") from None
    except Image.DecompressionBombError as error:
        raise ImageProblem(f"{ref.path}: {error}; images over {MAX_PIXELS:,} pixels are refused") from None
    except (OSError, SyntaxError, ValueError, EOFError, RuntimeError, MemoryError) as error:
        raise ImageProblem(f"{ref.path}: corrupt ({error})") from None


def _crop(image: Image.Image, ref: ImageRef) -> Image.Image:
    """The box of `ref`. As in the published loaders, what lies outside the picture is black."""
    assert ref.box is not None
    x, y, width, height = (round(value) for value in ref.box)
    if x >= image.width or y >= image.height or x + width <= 0 or y + height <= 0 or min(width, height) < 1:
        raise ImageProblem(f"{ref.path}: box {list(ref.box)} lies outside the {image.width} x {image.height} image")
    if width * height > MAX_PIXELS:
        raise ImageProblem(f"{ref.path}: box {list(ref.box)} is larger than {MAX_PIXELS:,} pixels")
    return image.crop((x, y, x + width, y + height))


class ImageSource(Protocol):
    """Read one encoded image; raises ImageProblem where there is none."""

    def read(self, path: str) -> bytes: ...


class FolderImages:
    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        if not self.root.is_dir():
            raise UserError(f"{root}: no such folder of images")

    def __str__(self) -> str:
        return f"below {self.root}"

    def __contains__(self, path: str) -> bool:
        return os.path.exists(image_path(self.root, path))  # noqa: PTH110, twice as fast

    def read(self, path: str) -> bytes:
        return read_image_bytes(self.root, path)


class _Shards:
    """Images in packed files. `members` has the number of the file and the place in it for each name."""

    kind: str

    def __init__(self, paths: Sequence[str | Path]) -> None:
        self.paths = [Path(path) for path in paths]
        self.members: dict[str, tuple[int, int, int]] = {}

    def _add(self, name: str, place: tuple[int, int, int]) -> None:
        if name in self.members:
            first = self.paths[self.members[name][0]]
            raise UserError(f"{self.paths[place[0]]}: {name} is also in {first}; names must be unique")
        self.members[name] = place

    def _place(self, path: str) -> tuple[int, int, int]:
        if path not in self.members:
            raise ImageProblem(f"{path}: not {self}")
        return self.members[path]

    def __str__(self) -> str:
        several = f"{len(self.paths)} {self.kind} of {self.paths[0].parent}"
        return f"in {self.paths[0] if len(self.paths) == 1 else several}"

    def __contains__(self, path: str) -> bool:
        return path in self.members

    def in_order(self, paths: Iterable[str]) -> list[str]:
        """In the order on disk; a row group of Parquet is then read once."""
        return sorted(paths, key=lambda path: self.members.get(path, (0, 0, 0)))


class TarImages(_Shards):
    """Members of tar shards by name; only headers are read before the first image is asked for."""

    kind = "tar shards"

    def __init__(self, shards: Sequence[str | Path]) -> None:
        super().__init__(shards)
        self._handles: dict[int, int] = {}  # opened where they are first read; pread shares no position
        for number, shard in enumerate(self.paths):
            try:
                with tarfile.open(shard, "r:", tarinfo=tars.TarMember) as archive:
                    for member in tars.members(archive):
                        if member.isfile():
                            self._add(member.name, (number, member.offset_data, member.size))
            except (tarfile.TarError, ValueError) as error:
                raise UserError(
                    f"{shard}: not a plain tar file, or damaged ({error}); compressed shards are not read"
                ) from None
            except OSError as error:
                raise UserError(f"{shard}: cannot be read ({error.strerror})") from None

    def read(self, path: str) -> bytes:
        shard, offset, size = self._place(path)
        if size > MAX_BYTES:
            raise ImageProblem(f"{path}: {size:,} bytes; images over {MAX_BYTES:,} bytes are refused")
        if not hasattr(os, "pread"):  # Windows
            with Path(self.paths[shard]).open("rb") as file:
                file.seek(offset)
                return file.read(size)
        if shard not in self._handles:
            self._handles[shard] = os.open(self.paths[shard], os.O_RDONLY)
        return os.pread(self._handles[shard], size, offset)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_handles": {}}

    def __del__(self) -> None:
        for handle in getattr(self, "_handles", {}).values():
            os.close(handle)


class ParquetImages(_Shards):
    """Rows of Parquet files with an image column as the hub writes them: {bytes, path} or plain bytes.

    The name is the struct's `path`, or the column `path`. Parquet cannot read one row: each image costs
    the reading of its row group (the hub writes 100 images to one), unless it follows one of the same
    group. Tar shards are the faster choice for shuffled training.
    """

    kind = "Parquet files"

    def __init__(self, files: Sequence[str | Path]) -> None:
        import pyarrow
        import pyarrow.parquet

        super().__init__(files)
        self._group: tuple[tuple[int, int], Any] | None = None
        for number, path in enumerate(self.paths):
            try:
                file = pyarrow.parquet.ParquetFile(path)
            except (pyarrow.ArrowException, OSError, ValueError) as error:
                raise UserError(f"{path}: not a Parquet file ({error})") from None
            with file:
                name_column = self._name_column(path, file.schema_arrow)
                for group in range(file.num_row_groups):
                    try:
                        names = file.read_row_group(group, columns=[name_column]).column(0).to_pylist()
                    except (pyarrow.ArrowException, OSError, ValueError, IndexError) as error:
                        raise UserError(f"{path}: the names in row group {group} cannot be read ({error})") from None
                    for row, value in enumerate(names):
                        name = value["path"] if isinstance(value, dict) else value
                        if not isinstance(name, str):
                            raise UserError(f"{path}: row {row} of group {group} has no name of an image")
                        self._add(name, (number, group, row))

    @staticmethod
    def _name_column(path: Path, schema: pyarrow.Schema) -> str:
        import pyarrow

        if "image" not in schema.names:
            raise UserError(f"{path}: expected a column named image, found {', '.join(schema.names)}")
        kind = schema.field("image").type
        if pyarrow.types.is_struct(kind) and {"bytes", "path"} <= {field.name for field in kind}:
            return "image.path"
        if "path" in schema.names:
            return "path"
        raise UserError(f"{path}: images have no names; expected image: {{bytes, path}} or a column named path")

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_group": None}

    def read(self, path: str) -> bytes:
        import pyarrow.parquet

        number, group, row = self._place(path)
        held = self._group  # read once: another thread may replace it
        if held is None or held[0] != (number, group):
            try:
                with pyarrow.parquet.ParquetFile(self.paths[number]) as file:
                    self._group = held = ((number, group), file.read_row_group(group, columns=["image"]).column(0))
            except (pyarrow.ArrowException, OSError, ValueError) as error:  # a damaged page
                raise ImageProblem(f"{path}: {self.paths[number]} cannot be read ({error})") from None
        value = held[1][row].as_py() if row < len(held[1]) else None  # a damaged footer may claim more rows
        data = value["bytes"] if isinstance(value, dict) else value
        if not isinstance(data, bytes):
            raise ImageProblem(f"{path}: {self.paths[number]} holds no bytes in row {row} of group {group}")
        return data


_BESIDE = {".json", ".jsonl", ".txt", ".md", ".csv", ".tsv", ".idx"}  # what people keep with their shards


def open_source(where: str | Path | ImageSource) -> ImageSource:
    """A folder, a .tar or .parquet file, or a folder that holds nothing but such shards (and notes on them)."""
    if not isinstance(where, str | Path):
        return where
    path = Path(where)
    kinds: dict[str, Callable[[Sequence[Path]], ImageSource]] = {".tar": TarImages, ".parquet": ParquetImages}
    if path.suffix in kinds and not path.is_dir():
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        return kinds[path.suffix]([path])
    if path.is_dir():
        held = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
        for suffix, kind in kinds.items():
            shards = sorted(entry for entry in held if entry.suffix == suffix)
            if shards and all(entry.suffix in _BESIDE | {suffix} and entry.is_file() for entry in held):
                return kind(shards)
    return FolderImages(path)


def absent(source: ImageSource, paths: Iterable[str]) -> list[str]:
    """The paths that a source does not hold, as far as it can say without reading them."""
    if not hasattr(source, "__contains__"):
        return []
    if not isinstance(source, FolderImages):
        return [path for path in paths if path not in source]
    paths = list(paths)
    with ThreadPoolExecutor(8) as pool:  # a network file system answers many questions in the time of one
        parts = pool.map(
            lambda start: [path for path in paths[start : start + 500] if path not in source], range(0, len(paths), 500)
        )
        return list(chain.from_iterable(parts))


def in_order(source: ImageSource, paths: Iterable[str]) -> list[str]:
    """The paths in the order in which the source reads them fastest."""
    ordered: Callable[[Iterable[str]], list[str]] = getattr(source, "in_order", list)
    return ordered(paths)
