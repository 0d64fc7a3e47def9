"""Opening other people's images: inside their folder, of a sane size, whole or refused."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from equipoise.errors import UserError
from equipoise.files import stays_inside
from equipoise.items import ImageRef

MAX_ASPECT = 500  # resizing the short side of a 1 x 60,000 strip to 224 would ask for gigabytes
MAX_PIXELS = 100_000_000  # a 20,000 x 20,000 header costs 1.2 GB before a single byte is known to be good


class ImageProblem(UserError):
    """One image that is missing, corrupt or refused; callers collect them."""


def image_path(root: Path, path: str) -> Path:
    """Where an image lies. The path as written may not lead out of `root`; links that the owner of the folder made are
    followed, because that is how people keep large photo sets (and our archives unpack none)."""
    if not stays_inside(path):
        raise ImageProblem(f"path {path!r} leaves its folder {root}; such paths are never followed")
    return root / path


def missing_images(root: Path, refs: Iterable[ImageRef]) -> list[str]:
    """The distinct paths of `refs` that are not files below `root`, in order of first use."""
    paths = dict.fromkeys(ref.path for ref in refs)
    return [path for path in paths if not image_path(root, path).is_file()]


def read_image_bytes(root: Path, path: str) -> bytes:
    try:
        return image_path(root, path).read_bytes()
    except FileNotFoundError:
        raise ImageProblem(f"{path}: no such file below {root}") from None
    except OSError as error:
        raise ImageProblem(f"{path}: cannot be read ({error.strerror})") from None


def decode_image(data: bytes, ref: ImageRef) -> Image.Image:
    """The RGB image of encoded bytes, cut to the box of `ref` where it has one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is lower
        try:
            opened = Image.open(io.BytesIO(data))
            width, height = opened.size
            if width * height > MAX_PIXELS:
                raise ImageProblem(
                    f"{ref.path}: {width} x {height} pixels; images over {MAX_PIXELS:,} pixels are refused"
                )
            image = opened.convert("RGB")
        except UnidentifiedImageError:
            raise ImageProblem(f"{ref.path}: not an image that Pillow can read") from None
        except Image.DecompressionBombError as error:
            raise ImageProblem(f"{ref.path}: {error}; images over {MAX_PIXELS:,} pixels are refused") from None
        except (OSError, SyntaxError, ValueError, EOFError, RuntimeError, MemoryError) as error:
            raise ImageProblem(f"{ref.path}: corrupt ({error})") from None
    image = image if ref.box is None else _crop(image, ref)
    if max(image.size) > MAX_ASPECT * min(image.size):
        raise ImageProblem(f"{ref.path}: {image.width} x {image.height} pixels, a strip and not a picture; refused")
    return image


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
    """The RGB image of `ref` below `root`; raises ImageProblem for anything a user should mend."""
    return decode_image(read_image_bytes(root, ref.path), ref)
