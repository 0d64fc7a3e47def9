"""Shared by the loaders: finds the files of a benchmark and reads their records, all problems in one error."""

from __future__ import annotations

import ast
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from equipoise.benchmarks.base import DATA, check_splits
from equipoise.core.errors import Problems, UserError
from equipoise.data.items import ImageRef, Item, Text, texts
from equipoise.data.readers.records import EMPTY, explain, rows, short, suffix_of

if TYPE_CHECKING:
    import pyarrow

log = logging.getLogger(__name__)


class Raw(BaseModel):
    """A record of an annotation file: the fields we use, typed; others are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)
    quoted: ClassVar[bool] = True  # False: a quote in a table is a mark like any other (VISLA)


Record = TypeVar("Record", bound=BaseModel)


def choose(benchmark: str, source: Path, files: Mapping[str, str], splits: Sequence[str]) -> dict[str, Path]:
    """Split -> its file below `source` (or below `source/data`, where repositories keep theirs).

    A split that was named must be there. Without names, what is there is taken and what is not is said: people
    often have a part, and whether it is enough is for `bench check` to judge.
    """
    check_splits(benchmark, splits, files)
    if not source.exists():
        raise UserError(f"{source}: no such folder.{_advice(benchmark, 'gets its files, or says how')}")
    paths = {split: path for split, name in files.items() if (path := _find(source, name)) is not None}
    if not paths:
        names = _some([PurePosixPath(name).name if source.is_file() else name for name in files.values()])
        raise UserError(
            f"{source}: holds none of the files of {benchmark}; expected {names}. Name their folder with --source."
            + _advice(benchmark, "gets them, or says how")
        )
    missing = [split for split in splits or files if split not in paths]
    if missing and splits:
        raise UserError(
            f"{source}: {_some([files[split] for split in missing])} not found. "
            f"The splits that are there: --splits {','.join(paths)}"
        )
    if missing:
        log.warning("%s: without %d of %d splits (%s)", benchmark, len(missing), len(files), _some(missing))
    return {split: paths[split] for split in splits or paths}


def _advice(benchmark: str, what: str) -> str:
    """The command that gets the files; only benchmarks of this package have one."""
    return f" `equipoise bench fetch {benchmark}` {what}." if (DATA / f"{benchmark}.toml").is_file() else ""


def hub_files(benchmark: str, source: Path, names: Sequence[str]) -> list[Path]:
    """The one file of `names` that is below `source`, or the Parquet files of the hub's dataset, in their order."""
    if not source.exists():
        raise UserError(f"{source}: no such folder. `equipoise bench fetch {benchmark}` gets its files, or says how.")
    if source.is_file():
        return [source]
    if (hub_file := next((path for name in names if (path := _find(source, name)) is not None), None)) is not None:
        return [hub_file]
    packed = sorted(source.rglob("*.parquet"))
    packed = [path for path in packed if path.name.startswith("test")] or packed
    if not packed:
        raise UserError(
            f"{source}: holds none of the files of {benchmark}; expected {_some(names)}, or the Parquet files of the "
            f"hub's dataset. Name their folder with --source; `equipoise bench show {benchmark}` says how to get them."
        )
    return packed


def _find(source: Path, name: str) -> Path | None:
    if source.is_file():
        return source if source.name == PurePosixPath(name).name else None
    return next((path for path in (source / name, source / "data" / name) if path.is_file()), None)


def _some(names: Sequence[str], shown: int = 8) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


class Case(NamedTuple):
    """A record as a benchmark's reader returns it: an Item without its id and its tag `split`, which `read` adds."""

    key: str  # names the case within its split
    image: ImageRef | None
    caption: str
    negatives: tuple[Text, ...]
    positives: tuple[Text, ...] = ()
    tags: Mapping[str, str] = {}  # never written to
    negative_images: tuple[ImageRef, ...] = ()
    paired: bool = False

    def item(self, benchmark: str, split: str) -> Item:
        fields = self._asdict() | {"id": item_id(benchmark, split, self.key), "tags": {"split": split, **self.tags}}
        del fields["key"]
        return Item.model_validate(fields)


def two_by_two(key: str, first: tuple[str, str], second: tuple[str, str], tags: Mapping[str, str]) -> Case:
    """Two images and two captions as one case: (image, caption) of the first and of the second."""
    return Case(
        key,
        image=ImageRef(path=first[0]),
        caption=first[1],
        negatives=texts(second[1]),
        negative_images=(ImageRef(path=second[0]),),
        paired=True,
        tags=tags,
    )


def item_id(benchmark: str, split: str, key: object) -> str:
    """Made here and nowhere else: a built file of items is known, and averaged as its paper does, by its ids."""
    return f"{benchmark}-{split}/{key}"


def read(
    benchmark: str, files: Mapping[str, Path], kind: type[Record], build: Callable[[str, str, Record], Iterable[Case]]
) -> list[Item]:
    """The items of the cases that `build(split, key, record)` makes of every record of every file.

    Problems of all files are raised together, each with its file, the key or line of the record, and the field.
    """
    items: list[Item] = []
    seen: dict[str, str] = {}
    problems = Problems(_common(files.values()))
    for split, path in files.items():
        for where, key, value in entries(path, kind, problems):
            place = f"{path.name}, {where}"
            try:
                made = [case.item(benchmark, split) for case in build(split, key, kind.model_validate(value))]
            except ValidationError as error:
                explain(error, place, problems)
                continue
            except ValueError as error:  # of `build`: the record fits, what it says does not
                problems.add(place, str(error))
                continue
            for item in made:  # a record that stands there twice would count twice
                if (first := seen.setdefault(item.id, place)) != place:
                    problems.add(place, f"makes the item {item.id!r}, as {first} does; ids must be unique")
            items += made
    problems.raise_if_any("Get the file again, or fix these records.")
    if not items:
        raise UserError(f"{_common(files.values())}: no record of it makes an item")
    return items


def records(path: Path, kind: type[Record], problems: Problems) -> list[Record]:
    """Every record of a file that fits `kind`; what else is wrong with it goes to `problems`."""
    valid = []
    try:
        for where, _, value in entries(path, kind, problems):
            try:
                valid.append(kind.model_validate(value))
            except ValidationError as error:
                explain(error, f"{path.name}, {where}", problems)
        if not valid:
            problems.add(str(path), "no record in it")
    except UserError as error:
        problems.add("", str(error))
    return valid


def read_through(
    benchmark: str,
    split: str,
    files: Sequence[Path],
    kind: type[Record],
    build: Callable[[str, str, Record], Iterable[Case]],
) -> list[Item]:
    """As `read`, for one split in several files: their records are numbered through, one item each."""
    items: list[Item] = []
    for path in files:
        before = len(items)

        def numbered(split: str, key: str, record: Record, before: int = before) -> Iterable[Case]:
            return build(split, str(before + int(key)), record)

        items += read(benchmark, {split: path}, kind, numbered)
    return items


def _common(paths: Iterable[Path]) -> str:
    distinct = list(dict.fromkeys(paths))
    return str(distinct[0]) if len(distinct) == 1 else str(distinct[0].parent)


def entries(path: Path, kind: type[BaseModel], problems: Problems) -> Iterator[tuple[str, str, object]]:
    """(where, key, value) of each record of a JSON object or list, JSONL, a CSV or TSV table, or Parquet.

    The key is that of a JSON object, else the number of the record, counted from 0.
    """
    number = -1
    lines = rows(path, columns=lambda schema: _plain_columns(schema, kind), quoted=getattr(kind, "quoted", True))
    for where, value, problem in lines:
        if problem == EMPTY:
            continue
        if where and (number := number + 1) == 0 and suffix_of(path) in {".csv", ".tsv"}:
            _require_columns(path, kind, value)
        if where.startswith(("record ", "row ")):
            where = f"{where.split()[0]} {number}"  # as the ids of the items count
        if problem:
            problems.add(f"{path.name}, {where}", problem)
        elif where:
            yield where, str(number), value
        elif isinstance(value, dict):
            yield from ((f"record {key!r}", key, record) for key, record in value.items())
        else:
            raise UserError(f"{path}: expected a JSON object or list of records, found {short(value)}")


def _require_columns(path: Path, kind: type[BaseModel], header: Collection[str]) -> None:
    needed = [field.alias or name for name, field in kind.model_fields.items() if field.is_required()]
    if missing := [name for name in needed if name not in header]:
        raise UserError(f"{path}, line 1: expected the columns {', '.join(needed)}; {', '.join(missing)} missing")


def _plain_columns(schema: pyarrow.Schema, kind: type[BaseModel]) -> list[str]:
    """The plain columns that `kind` uses; nested ones, such as images, are left where they are."""
    plain = {field.name for field in schema if not field.type.num_fields}
    return [name for name in kind.model_fields if name in plain]


def literal_list(text: str) -> list[Any]:
    """A Python list, or a set in a fixed order, written as text as pandas leaves it in a cell; nothing in it is run."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    value = sorted(value, key=str) if isinstance(value, set) else value
    if not isinstance(value, list):
        raise ValueError(f"expected a list such as ['a cat', 'a dog'], found {short(text)}")
    return value
