"""Opening other people's images: inside their folder, of a sane size, whole or refused."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image, UnidentifiedImageError

from equipoise.errors import UserError
from equipoise.files import stays_inside
from equipoise.items import ImageRef

MAX_ASPECT = 500  # resizing the short side of a 1 x 60,000 strip to 224 would ask for gigabytes
MAX_PIXELS = 100_000_000  # a 20,000 x 20,000 header costs 1.2 GB before a single byte is known to be good
MAX_BYTES = 200 * 2**20  # of one encoded image; a link to an endless file must not fill the memory

# Pillow tells kinds by their first bytes, whatever a file is called, and starts Ghostscript for EPS: only these.
FORMATS = ["JPEG", "PNG", "BMP", "GIF", "PPM", "TIFF", "WEBP", "AVIF"]  # the last two may be absent from Pillow

T = TypeVar("T")


class ImageProblem(UserError):
    """One image that is missing, corrupt or refused; callers collect them."""


# ---------------------------------------------------------------------------- bytes


def image_path(root: Path, path: str) -> Path:
    """Where an image lies. The path as written may not lead out of `root`; links that the owner of the folder made are
    followed, because that is how people keep large photo sets (and our archives unpack none)."""
    if not stays_inside(path):
        raise ImageProblem(f"path {path!r} leaves its folder {root}; such paths are never followed")
    return root / path


def read_image_bytes(root: Path, path: str) -> bytes:
    """The bytes of a regular file; a pipe or a device is refused at once, where reading it would wait for ever."""
    where = image_path(root, path)
    try:
        handle = os.open(where, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
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


# ---------------------------------------------------------------------------- pixels in flight


class PixelBudget:
    """How many pixels may be decoded at the same time by all threads, or by all processes, of one machine.

    A PNG of 0.3 MB may unfold to 100 million pixels, i.e. 800 MB while it is converted: eight at once took 6 GB.
    Small images pay nothing. `semaphore` makes one with so many units.
    """

    UNIT = 4_000_000
    FREE = 1_000_000

    def __init__(self, semaphore: Callable[[int], Any] = threading.Semaphore) -> None:
        self._turn = semaphore(1)  # one takes its units at a time, else two could each wait for the other's half
        self._units = semaphore(-(-MAX_PIXELS // self.UNIT))

    @contextlib.contextmanager
    def of(self, pixels: int) -> Iterator[None]:
        units = 0 if pixels <= self.FREE else -(-pixels // self.UNIT)
        if units:
            with self._turn:
                for _ in range(units):
                    self._units.acquire()
        try:
            yield
        finally:
            for _ in range(units):
                self._units.release()


_budget = PixelBudget()


def share_budget(budget: PixelBudget) -> None:
    """Have this process count its pixels together with others."""
    global _budget
    _budget = budget


# ---------------------------------------------------------------------------- decoding


def decode_image(data: bytes, ref: ImageRef) -> Image.Image:
    """The RGB image of encoded bytes, cut to the box of `ref` where it has one."""
    return use_image(data, ref, lambda image: image)


def use_image(data: bytes, ref: ImageRef, use: Callable[[Image.Image], T]) -> T:
    """`use` of the decoded image. What comes out is small where the image was large: the budget is held till then."""
    opened = _opened(data, ref)
    with _budget.of(opened.width * opened.height):
        with _problems_of(ref):
            image = _rgb(opened, ref)
        image = image if ref.box is None else _crop(image, ref)
        if max(image.size) > MAX_ASPECT * min(image.size):
            raise ImageProblem(f"{ref.path}: {image.width} x {image.height} pixels, a strip and not a picture; refused")
        return use(image)


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
        raise ImageProblem(f"{ref.path}: 32-bit grey, of which nobody knows what is white; save it with 8 or 16 bits")
    if image.mode == "RGB":
        image.load()
        return image  # `convert` would copy it
    return image.convert("RGB")


@contextlib.contextmanager
def _problems_of(ref: ImageRef) -> Iterator[None]:
    """What Pillow raises, as an ImageProblem."""
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


def open_image(root: Path, ref: ImageRef) -> Image.Image:
    """The RGB image of `ref` below `root`; raises ImageProblem for anything a user should fix."""
    return decode_image(read_image_bytes(root, ref.path), ref)
