"""Converts what a notebook holds into our inputs: tables of captions, pictures, models."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from equipoise.core.errors import UserError, did_you_mean
from equipoise.core.garbage import seldom_collected
from equipoise.data.readers.captions.json_layouts import CAPTION_NAMES, IMAGE_NAMES

if TYPE_CHECKING:
    from equipoise.data.images import ImageSource
    from equipoise.models.base import Model

P = ParamSpec("P")
T = TypeVar("T")
Picture: TypeAlias = Any  # a PIL image, encoded bytes or the path of a file
Images: TypeAlias = "str | Path | ImageSource | Mapping[str, Picture] | Callable[[str], Picture] | Sequence[Picture]"


class Frame(Protocol):
    """A pandas DataFrame, as far as it is read here."""

    @property
    def columns(self) -> Any: ...
    def to_csv(self, path: object, *, index: bool) -> object: ...


_COMMAND = re.compile(r"(equipoise [a-z]+ [^`\n]*)")
_OPTION = re.compile(r"--([a-z][a-z-]*)(?:[ =](?:DIR|FOLDER|FILE|NAME|F|M|B)\b)?")
_ARGUMENTS = {"bench": "items", "set": "the recipe's options"}


def in_arguments(message: str) -> str:
    """An error of the command line for a caller in Python: `--images DIR` is the argument images."""

    def argument(match: re.Match[str]) -> str:
        return _ARGUMENTS.get(match[1], match[1].replace("-", "_"))

    parts = _COMMAND.split(message)
    return "".join(part if place % 2 else _OPTION.sub(argument, part) for place, part in enumerate(parts))


def for_python(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with errors that name its arguments."""

    @functools.wraps(function)
    def called(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            with seldom_collected():
                return function(*arguments, **options)
        except UserError as error:
            raise UserError(in_arguments(str(error))) from None

    return called


def is_frame(value: object) -> bool:
    return hasattr(value, "columns") and hasattr(value, "to_csv")


def is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


@contextlib.contextmanager
def captions_file(value: Any, caption: str | None, image: str | None) -> Iterator[tuple[Path, Images | None]]:
    """A file of captions for the length of a call, and the pictures that came with them."""
    if is_path(value):
        if caption or image:
            raise UserError("caption and image name columns of a table in memory; a file is read by its own header")
        yield Path(value), None
        return
    rows, images = _rows(value, caption, image)
    if not rows:
        raise UserError("no captions: expected rows with an image and a caption")
    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        path = Path(folder) / "captions.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        yield path, images


def _rows(value: Any, caption: str | None, image: str | None) -> tuple[list[dict[str, Any]], Images | None]:
    """(image name, caption) of each row, rows of one image together; and the pictures where the rows hold them."""
    texts, pictures = _columns(value, caption, image)
    given = [picture for picture in pictures if picture is not None]
    if not given or all(is_path(picture) for picture in given):
        names = [None if picture is None else os.fspath(picture) for picture in pictures]
        folder = _folder_of([name for name in names if name])
        names = [name if name is None or folder is None else os.path.relpath(name, folder) for name in names]
        first: dict[str | None, int] = {}
        for row, name in enumerate(names):
            first.setdefault(name, row)
        order = sorted(range(len(texts)), key=lambda row: first[names[row]] if names[row] else row)
        return [{"image": names[row], "caption": texts[row]} for row in order], folder
    missing = [row for row, picture in enumerate(pictures) if picture is None]
    if missing:
        raise UserError(f"row {missing[0]} has no picture; drop such rows")
    return [{"image": f"row-{row}", "caption": text} for row, text in enumerate(texts)], pictures


def _columns(value: Any, caption: str | None, image: str | None) -> tuple[list[Any], Sequence[Any]]:
    names = getattr(value, "columns", None)
    if names is None:
        names = getattr(value, "column_names", None)  # a Hugging Face dataset
    if isinstance(value, Sequence) and value and all(isinstance(row, Mapping) for row in value):
        names = list(dict.fromkeys(name for row in value for name in row))
        value = {name: [row.get(name) for row in value] for name in names}
    if names is not None:
        listed = [str(name) for name in names]
        texts = _column(listed, caption, CAPTION_NAMES, "caption")
        pictures = _column(listed, image, IMAGE_NAMES, "image", needed=image is not None)
        captions = [_cell(cell) for cell in value[texts]]
        return captions, [_seen(cell) for cell in value[pictures]] if pictures else [None] * len(captions)
    if isinstance(value, Mapping) or not isinstance(value, Sequence):
        raise UserError(
            f"{type(value).__name__}: expected a file, a DataFrame, a Hugging Face dataset or a list of "
            "(image, caption)"
        )
    for row, pair in enumerate(value):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise UserError(f"row {row}: expected (image, caption), found {pair!r:.80}")
    return [_cell(text) for _, text in value], [_seen(cell) for cell, _ in value]


def _column(names: list[str], wanted: str | None, usual: Sequence[str], what: str, needed: bool = True) -> str | None:
    if wanted is not None and wanted not in names:
        raise UserError(f"no column {wanted!r}; found {', '.join(names)}.{did_you_mean(wanted, names)}")
    column_name = wanted or next((name for column in usual for name in names if name.lower() == column), None)
    if column_name is None and needed:
        raise UserError(f"no column {what}; found {', '.join(names)}. Name it: {what}='...'")
    return column_name


def _cell(value: object) -> object:
    """A caption, or a list of them; pandas writes NaN for none."""
    if isinstance(value, str) or value is None or value != value:
        return value if isinstance(value, str) else None
    return [str(part) for part in value] if isinstance(value, Sequence) else str(value)


def _seen(value: object) -> object:
    return None if value is None or (isinstance(value, float) and value != value) else value


def _folder_of(names: Sequence[str]) -> str | None:
    """The folder of absolute paths, so that items can name files below it; None where paths are relative."""
    if not names or not all(map(os.path.isabs, names)):
        return None
    return os.path.commonpath([os.path.dirname(name) for name in names])  # noqa: PTH120


class PictureImages:
    """Pictures of a dict, of a function of the name, or of a column by row number, as encoded images."""

    def __init__(self, pictures: Mapping[str, Picture] | Callable[[str], Picture] | Sequence[Picture]) -> None:
        self.pictures = pictures

    def __str__(self) -> str:
        return f"in the {type(self.pictures).__name__} given as images"

    def _found(self, path: str) -> Picture:
        if isinstance(self.pictures, Mapping):
            return self.pictures.get(path)
        if callable(self.pictures):
            return self.pictures(path)
        number = path.removeprefix("row-")
        return self.pictures[int(number)] if number.isdigit() and int(number) < len(self.pictures) else None

    def read(self, path: str) -> bytes:
        from equipoise.data.images import ImageProblem, encoded

        image = self._found(path)
        if image is None:
            raise ImageProblem(f"{path}: no such image {self}")
        if isinstance(image, bytes):
            return image
        if is_path(image):
            try:
                return Path(image).read_bytes()
            except OSError as error:
                raise ImageProblem(f"{path}: {image} cannot be read ({error.strerror})") from None
        if not hasattr(image, "save"):
            raise ImageProblem(f"{path}: expected a PIL image, bytes or a path, found {type(image).__name__}")
        return encoded(image, "PNG", compress_level=1)


def as_images(value: Any) -> str | Path | ImageSource | None:
    """A folder or shards by path, or a source that reads what was given."""
    if value is None or hasattr(value, "read"):
        return cast("ImageSource | None", value)
    if is_path(value):
        return str(value)
    if isinstance(value, Mapping) or callable(value) or (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        return PictureImages(list(value) if hasattr(value, "iloc") else value)  # a Series is indexed by label
    raise UserError(
        f"images: {type(value).__name__}; expected a folder, a dict of pictures by name, a function of the name, or a "
        "column of pictures"
    )


def as_source(value: object, items: object) -> ImageSource:
    from equipoise.data.images import open_source

    images = as_images(getattr(items, "images", None) if value is None else value)
    if images is None:
        raise UserError("images: expected the folder or the pictures that the items name")
    return open_source(images)


AnyModel: TypeAlias = "str | Model | tuple[Any, Any] | tuple[Any, Any, Any]"


@contextlib.contextmanager
def as_model(value: object, device: str, dtype: str) -> Iterator[Model]:
    """A spec, (model, processor) of transformers, (model, preprocess, tokenizer) of open_clip, or an object with the
    methods. A torch model is evaluated where it lies and is in the mode it had afterwards."""
    from equipoise.data.identity import given, steady
    from equipoise.models import load_model
    from equipoise.models.base import kind_of

    if isinstance(value, str):
        with steady():
            yield load_model(value, device=device, dtype=dtype)
    elif isinstance(value, tuple):
        network = value[0]
        training = bool(getattr(network, "training", False))
        try:
            with steady():
                wrapped = wrapped_model(value)
                given(wrapped)
                yield wrapped
        finally:
            if training:
                network.train()
    elif hasattr(value, "get_image_features") or hasattr(value, "encode_image"):
        needed = "processor" if hasattr(value, "get_image_features") else "preprocess, tokenizer"
        raise UserError(f"{type(value).__name__}: how its images and texts are read is missing: pass (model, {needed})")
    elif isinstance(value, type):
        raise UserError(f"{value.__name__} is a class; pass a model: {value.__name__}(...)")
    else:
        kind_of(value)  # refused here, before anything is read
        yield cast("Model", value)


def wrapped_model(value: tuple[Any, ...]) -> Model:
    from equipoise.models.clip import DTYPES, ClipModel

    network = value[0]
    if not hasattr(network, "parameters") or len(value) not in (2, 3):
        raise UserError(
            "model: expected (model, processor) of transformers or (model, preprocess, tokenizer) of open_clip"
        )
    weight = next(network.parameters())
    dtype = next((name for name, known in DTYPES.items() if known == weight.dtype), "float32")
    if len(value) == 3:
        from equipoise.models.openclip import OpenClipModel

        called = f"open_clip {type(network).__name__}"
        return OpenClipModel(
            called, network, value[2], value[1], device=str(weight.device), dtype=dtype, arch=type(network).__name__
        )
    from equipoise.models.inputs import from_config

    processor = value[1]
    parts = getattr(processor, "image_processor", None), getattr(processor, "tokenizer", None)
    if None in parts:
        raise UserError(f"{type(processor).__name__}: expected a processor with an image_processor and a tokenizer")
    spec = getattr(network, "name_or_path", "") or type(network).__name__
    preprocess = from_config(parts[0].to_dict(), spec)  # type: ignore[union-attr]
    return ClipModel(spec, network, parts[1], preprocess, device=str(weight.device), dtype=dtype)
