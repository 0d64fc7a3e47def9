"""Item, the one noun: an image, its caption, hard positives, hard negatives, tags.

Items are kept as JSONL (one per line, to be read by people) or Parquet (to be read by machines).
Reading checks the whole file and reports every problem at once, each with its line and field.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, overload

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator

from equipoise.core.errors import Problems, UserError, reading
from equipoise.core.files import atomic_write, opened, stays_inside, whole
from equipoise.core.garbage import uncollected
from equipoise.data.readers import parquet
from equipoise.data.readers.long_files import all_good
from equipoise.data.readers.questions import is_question, question_item
from equipoise.data.readers.records import checked, explain, filled_lines, jsonl_lines, suffix_of

if TYPE_CHECKING:
    import pyarrow

Operation = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Target = Literal["object", "attribute", "relation", "action", "order"]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
TextKind = Literal["positives", "negatives"]
TEXT_KINDS: tuple[TextKind, ...] = ("positives", "negatives")
IMAGES = ("positive_images", "negative_images")  # fields of alternative images, in the order they are scored
Box = tuple[float, float, float, float]  # x, y, width, height in pixels of the stored image


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("expected some text, found only white space")
    return value


def _image_path(value: str) -> str:
    """Paths stay below the image folder, whoever wrote the file."""
    if not stays_inside(value):
        raise ValueError(f"expected a path below the image folder, found {value!r}")
    return value


def _box(value: Box) -> Box:
    if not all(map(math.isfinite, value)) or value[2] <= 0 or value[3] <= 0:
        raise ValueError(f"expected x, y, width, height with width and height above 0, found {list(value)}")
    return value


Words = Annotated[NonEmpty, AfterValidator(_text)]
ImagePath = Annotated[NonEmpty, AfterValidator(_image_path)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class Edit(_Record):
    """The change between the caption and a hard positive or negative."""

    op: Operation
    target: Target | None = None
    source: str | None = Field(default=None, alias="from")
    to: str | None = None
    by: str | None = None  # who wrote it: a lexicon, a rule, a model
    span: tuple[int, int] | None = None  # characters of the caption that were changed


class Text(_Record):
    text: Words
    edit: Edit | None = None


class ImageRef(_Record):
    path: ImagePath
    box: Annotated[Box, AfterValidator(_box)] | None = None

    def __hash__(self) -> int:  # pydantic's own takes ten times as long, and images are keys wherever they are scored
        return hash((self.path, self.box))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImageRef) and (self.path, self.box) == (other.path, other.box)


_EXAMPLE = (
    'For example: Item(id="1", image=ImageRef(path="a.jpg"), caption="a dog", negatives=(Text(text="a cat"),)); many '
    "items come easier from a table: equipoise.load_items('mine.csv')"
)


class Item(_Record):
    """One test or training case. `positives` keep the caption's meaning, `negatives` break it.

    The image has alternatives too: the caption is as true of every one of `positive_images` as of `image`, and of none
    of `negative_images`. Set `paired` only if negatives[k] describes negative_images[k]: with one of each that is
    Winoground's two images and two captions. Training does not use alternative images.

    With a `question` the item is for models that answer: the caption is the right option, the negatives are the others
    (readers/questions.py).
    """

    id: NonEmpty
    image: ImageRef | None = None
    caption: Words
    positives: tuple[Text, ...] = ()
    negatives: tuple[Text, ...] = ()
    tags: dict[str, str] = Field(default_factory=dict)
    positive_images: tuple[ImageRef, ...] = ()
    negative_images: tuple[ImageRef, ...] = ()
    paired: bool = False
    question: Words | None = None
    rewordings: tuple[Words, ...] = ()  # of the question, with the same answer
    place: int = 0  # of the caption among the options as they were given
    photos: tuple[ImageRef, ...] = ()  # that the question is about, with `image`

    if not TYPE_CHECKING:  # mypy knows the fields by itself

        def __init__(self, **fields: object) -> None:
            try:
                super().__init__(**fields)
            except ValueError as error:  # pydantic's
                problems = Problems("Item")
                explain(error, "", problems)
                problems.raise_if_any(_EXAMPLE)

        __init__.__pydantic_base_init__ = True  # reading a file does not pass here, and explains errors itself

    @field_validator("paired")
    @classmethod
    def _has_its_texts(cls, value: bool, info: ValidationInfo) -> bool:
        images, negatives = len(info.data.get("negative_images", ())), len(info.data.get("negatives", ()))
        if value and not 0 < images <= negatives:
            raise ValueError(f"expected a negative for each negative image, found {negatives} for {images}")
        return value

    def texts(self) -> list[str]:
        """Every text that is scored: the caption, the positives, the negatives."""
        return [self.caption, *[text.text for text in self.positives], *[text.text for text in self.negatives]]

    def edits(self, kind: TextKind) -> tuple[Text, ...]:
        return self.positives if kind == "positives" else self.negatives

    def images(self) -> tuple[ImageRef, ...]:
        """Every image that is scored: its own, the positive ones, the negative ones; none without its own."""
        return () if self.image is None else (self.image, *self.positive_images, *self.negative_images)

    def shown(self) -> tuple[ImageRef, ...]:
        """The images that a model is asked about."""
        return () if self.image is None else (self.image, *self.photos)

    def options(self) -> list[str]:
        """The options of a question, in the order in which they were given."""
        others = [text.text for text in self.negatives]
        return [*others[: self.place], self.caption, *others[self.place :]]

    def keys_set(self) -> int:
        """How many keys its JSON had, at all levels, if none appeared twice."""
        count = len(self.__pydantic_fields_set__) + len(self.tags)
        for ref in (*self.images(), *self.photos):
            count += len(ref.__pydantic_fields_set__)
        for text in (*self.positives, *self.negatives):
            count += len(text.__pydantic_fields_set__)
            if text.edit is not None:
                count += len(text.edit.__pydantic_fields_set__)
        return count

    def to_json(self) -> dict[str, object]:
        """The JSON object of this item, keys in the documented order; empty edit fields are left out.

        So are alternative images where there are none: a file without them has the bytes it always had.
        """
        return {
            "id": self.id,
            "image": None if self.image is None else _image_json(self.image),
            "caption": self.caption,
            "positives": [_text_json(text) for text in self.positives],
            "negatives": [_text_json(text) for text in self.negatives],
            "tags": self.tags,
            **{kind: [_image_json(ref) for ref in getattr(self, kind)] for kind in IMAGES if getattr(self, kind)},
            **({"paired": True} if self.paired else {}),
            **(self._asked() if self.question is not None else {}),
        }

    def _asked(self) -> dict[str, object]:
        photos = [_image_json(ref) for ref in self.photos]
        lists = {"rewordings": list(self.rewordings), "photos": photos}
        return {"question": self.question, "place": self.place} | {
            name: values for name, values in lists.items() if values
        }


def _image_json(image: ImageRef) -> dict[str, object]:
    return {"path": image.path, "box": image.box}


def _text_json(text: Text) -> dict[str, object]:
    edit = None if text.edit is None else text.edit.model_dump(by_alias=True, exclude_none=True)
    return {"text": text.text, "edit": edit}


def in_full(value: object, number: int | str) -> object:
    """The JSON object of an item from the short form that people write: `image` and texts as strings, other keys with
    one value as tags, `id` left out (then `number`), as in the columns of a table; or of a question. Any other value
    is returned as is.
    """
    if isinstance(value, dict) and is_question(value):
        return question_item(value, number)
    if not isinstance(value, dict) or not isinstance(value.get("caption"), str):
        return value
    fields = {name: field for name, field in value.items() if name in Item.model_fields}
    fields.setdefault("id", str(number))
    fields["id"] = str(fields["id"]) if isinstance(fields["id"], int) else fields["id"]
    fields["image"] = _ref(value.get("image"))
    for kind in IMAGES:
        if isinstance(value.get(kind), list):
            fields[kind] = [_ref(image) for image in value[kind]]
    tags = dict(value["tags"]) if isinstance(value.get("tags"), dict) else {"split": "all"}
    several: dict[str, list[object]] = {"positives": [], "negatives": []}
    for name, field in value.items():
        listed = next((several[kind] for kind in several if name.startswith(kind[:-1]) and name not in IMAGES), None)
        if listed is not None:
            listed += field if isinstance(field, list) else [field]
        elif name not in Item.model_fields and isinstance(field, str | int | float):
            tags[name] = field if isinstance(field, str) else json.dumps(field)
        elif name not in Item.model_fields and field is not None:
            fields[name] = field  # a list or an object under an unknown key: a field with a wrong name
    written = {
        kind: [{"text": field} if isinstance(field, str) else field for field in listed if field not in (None, "")]
        for kind, listed in several.items()
    }
    return fields | written | {"tags": tags}


def _ref(image: object) -> object:
    return None if image in (None, "") else {"path": image} if isinstance(image, str) else image


def texts(*strings: str, edit: Edit | None = None) -> tuple[Text, ...]:
    """Plain strings as the texts of an item, all with the same edit."""
    return tuple(Text(text=string, edit=edit) for string in strings)


_LINE = (
    'Each line needs at least {"image": "a.jpg", "caption": "a dog", "negatives": ["a cat"]}, or {"image": "a.jpg", '
    '"question": "Is it a dog?", "answer": "yes"}; "positives" and "options" are optional, and other keys with one '
    "value are tags (docs/files.md)."
)
HELD = 50_000  # items that are kept as objects, which take ten times the memory of their lines


class ItemLines(Sequence[Item]):
    """The items of a large file as their lines, checked before; an item is made when it is asked for."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return ItemLines(self._lines[index])
        return Item.model_validate_json(self._lines[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(operator.eq, self, other))


def load_items(path: str | Path, limit: int | None = None) -> Sequence[Item]:
    """Every item of a JSONL or Parquet file, checked; all problems of the file are raised together."""
    path = Path(path)
    if suffix_of(path) in {".csv", ".tsv"}:
        raise UserError(f"{path}: a table; make items of it: equipoise bench build {path} --out {path.stem}.jsonl")
    with reading(path), uncollected():
        long = _is_long(path)
        if long and limit is None and (lines := _good_lines(path)):
            return ItemLines(lines) if len(lines) > HELD else list(ItemLines(lines))
        return _checked_items(path, limit, held=not long)


def _good_lines(path: Path) -> list[bytes] | None:
    """The lines of a file, if all of them are items in full; None if that is not sure."""
    if path.suffix == ".parquet":
        problems = Problems(str(path))
        rows = all_good(Item, (line.encode() for _, line in _parquet_lines(path, problems)), doubled=False)
        return None if problems.found else rows
    with whole(path), opened(path) as handle:
        return all_good(Item, (line for _, line in filled_lines(handle)))


def _checked_items(path: Path, limit: int | None, held: bool) -> Sequence[Item]:
    """The items, read line by line; `held` keeps them as objects from the start."""
    problems = Problems(str(path))
    items: list[Item] = []
    checked_lines: list[bytes] = []
    in_parquet = path.suffix == ".parquet"
    lines = _parquet_lines(path, problems) if in_parquet else jsonl_lines(path, problems)
    for line, item in islice(checked(lines, Item, problems, not in_parquet, None if in_parquet else in_full), limit):
        checked_lines.append(line.encode())
        if held:
            items.append(item)
    problems.raise_if_any(_LINE)
    if not checked_lines:
        raise UserError(f"{path}: holds no items; expected one JSON object per line (docs/files.md)")
    if len(checked_lines) > HELD:
        return ItemLines(checked_lines)
    return items or list(ItemLines(checked_lines))


def _is_long(path: Path) -> bool:
    """Whether a file seems to have more items than are kept as objects; only plain lines are counted."""
    if suffix_of(path) != path.suffix or path.suffix == ".parquet" or not path.is_file():
        return path.is_file() and path.stat().st_size > 100 * HELD
    with path.open("rb") as handle:
        return sum(part.count(b"\n") for part in iter(lambda: handle.read(1 << 20), b"")) > HELD


def holds_items(path: str | Path, items: Sequence[Item]) -> bool:
    """Whether a file holds these items, all of them and no others."""
    try:
        return Path(path).is_file() and load_items(path) == list(items)
    except UserError:
        return False


def write_items(path: str | Path, items: Iterable[Item]) -> int:
    """Write items as JSONL or, for `.parquet`, as Parquet; atomically. Returns how many."""
    path = Path(path)
    if path.suffix == ".parquet":
        return _write_parquet(path, items)
    count = 0
    with atomic_write(path) as handle:
        for item in items:
            handle.write(json.dumps(item.to_json(), ensure_ascii=False) + "\n")
            count += 1
    return count


_CHUNK = 10_000


def _parquet_lines(path: Path, problems: Problems) -> Iterator[tuple[str, str]]:
    """Each row as the JSON of an item, with its place."""

    def every_column(schema: pyarrow.Schema) -> None:
        if missing := {"id", "caption"} - set(schema.names):
            raise UserError(f"{path}: expected the columns of an items file, {', '.join(sorted(missing))} missing")

    for number, line, problem in parquet.json_rows(path, every_column):
        if problem:
            problems.add(f"row {number}", problem)
        else:
            yield f"row {number}", line


def _schema(items: Sequence[Item]) -> pyarrow.Schema:
    """The columns of an items file; of alternative images those that some item has."""
    import pyarrow

    string = pyarrow.string()
    edit = pyarrow.struct(
        [(name, string) for name in ("op", "target", "from", "to", "by")] + [("span", pyarrow.list_(pyarrow.int64()))]
    )
    listed = pyarrow.list_(pyarrow.struct([("text", string), ("edit", edit)]))
    image = pyarrow.struct([("path", string), ("box", pyarrow.list_(pyarrow.float64()))])
    shown = [kind for kind in IMAGES if any(getattr(item, kind) for item in items)]
    return pyarrow.schema(
        [
            ("id", string),
            ("image", image),
            ("caption", string),
            ("positives", listed),
            ("negatives", listed),
            ("tags", pyarrow.map_(string, string)),
            *((kind, pyarrow.list_(image)) for kind in shown),
            *([("paired", pyarrow.bool_())] if any(item.paired for item in items) else []),
            *(_question_columns(string, image) if any(item.question is not None for item in items) else []),
        ]
    )


def _question_columns(string: pyarrow.DataType, image: pyarrow.DataType) -> list[tuple[str, pyarrow.DataType]]:
    import pyarrow

    lists = [("rewordings", pyarrow.list_(string)), ("photos", pyarrow.list_(image))]
    return [("question", string), ("place", pyarrow.int64()), *lists]


def _write_parquet(path: Path, items: Iterable[Item]) -> int:
    import pyarrow
    import pyarrow.parquet

    items = items if isinstance(items, Sequence) else list(items)  # the columns must be known before the first row
    schema = _schema(items)
    with atomic_write(path, "wb") as handle, pyarrow.parquet.ParquetWriter(handle, schema) as writer:
        for start in range(0, len(items), _CHUNK):
            rows = [{**item.to_json(), "tags": list(item.tags.items())} for item in items[start : start + _CHUNK]]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
    return len(items)
