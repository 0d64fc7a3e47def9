"""Other people's Parquet: bytes are text, every failure has its row, and no bomb goes off."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pydantic_core
import pytest

from equipoise.errors import UserError
from equipoise.formats import parquet
from equipoise.formats.parquet_headers import groups
from equipoise.formats.parquet_json import Unlike, json_lines
from equipoise.items import ImageRef, Item, load_items, write_items
from equipoise.perturb.reading.captions import read_captions


def write(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def negatives(count: int) -> pa.Array:
    return pa.array([[{"text": "a cat"}]] * count)


def test_captions_of_bytes_are_text(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", id=["1", "2"], caption=[b"a dog", "é".encode()], negatives=negatives(2))
    assert [item.caption for item in load_items(path)] == ["a dog", "é"]
    path = write(tmp_path / "y.parquet", caption=[b"a dog", b"\xff dog"])
    groups = list(read_captions(path))
    assert [record.text for group in groups for record in group.records] == ["a dog"]
    assert [one for group in groups for one in group.refused] == [("row 2", "not UTF-8")]


def test_bytes_that_are_not_text_are_refused_by_row(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", id=["1", "2"], caption=[b"a dog", b"\xff\xfe"], negatives=negatives(2))
    with pytest.raises(UserError, match="row 2: not UTF-8"):
        load_items(path)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2**62 + 1], pa.timestamp("ns")),
        pa.array([[("a", "b"), ("a", "c")], [("a", "b")]], pa.map_(pa.string(), pa.string())),
        pa.array([1, 2]),
        pa.array([date(2020, 1, 1), None]),
    ],
    ids=["nanoseconds", "doubled key", "number", "date"],
)
def test_odd_types_are_errors_with_their_row(tmp_path: Path, column: pa.Array) -> None:
    path = write(tmp_path / "x.parquet", id=["1", "2"], caption=["a", "b"], negatives=negatives(2), tags=column)
    with pytest.raises(UserError, match="row 1"):
        load_items(path)


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["1"]), pa.array(["a"]), pa.array(["b"])], ["id", "caption", "caption"])
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(UserError, match="two columns are called 'caption'"):
        load_items(tmp_path / "x.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("length, rows", [(3_000, 60_000), (300_000, 600)])
def test_a_dictionary_bomb_stays_small(tmp_path: Path, length: int, rows: int) -> None:
    names = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["a" * length])
    path = write(tmp_path / "x.parquet", id=names, caption=names)
    assert path.stat().st_size < 1_000_000
    code = f"""
from pathlib import Path
from equipoise.errors import UserError
from equipoise.formats.parquet_json import Unlike, json_lines
from equipoise.items import ImageRef, Item, load_items, write_items
try:
    load_items(Path({str(path)!r}))
except UserError as error:
    print(error)
status = Path("/proc/self/status").read_text()  # getrusage would tell the parent's peak as well
print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "unfold to more than" in said[0]
    assert int(said[-1]) < 1_000  # MB, pyarrow itself among them


EDIT = pa.struct([("op", pa.string()), ("span", pa.list_(pa.int64()))])
TEXTS = [
    [{"text": "a", "edit": {"op": "add", "span": [1, 2]}}, {"text": None, "edit": None}],
    None,
    [],
    [{"text": "é", "edit": {"op": None, "span": None}}, None],
]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(TEXTS, pa.list_(pa.struct([("text", pa.string()), ("edit", EDIT)]))),
        pa.array(TEXTS, pa.large_list(pa.struct([("text", pa.large_string()), ("edit", EDIT)]))),
        pa.array([[("a", 1)], [], None, [("b", None), ("c", 2)]], pa.map_(pa.string(), pa.int32())),
        pa.array([{}, None, {}], pa.struct([])),
        pa.array([1, None, 3]),
        pa.array([2**62 + 1, 3]),
        pa.array([0.1, 0.2], pa.float32()),
        pa.array([True, None]),
        pa.array([b"a", None]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([], pa.list_(pa.string())),
        pa.array([[[1.5], None], [[]]], pa.list_(pa.list_(pa.float64()))),
    ],
    ids=str,
)
def test_columns_become_what_pyarrow_makes_of_each_value(array: pa.Array) -> None:
    for part in (array, array[1:], array[:-1], array[1:3], array[len(array) :]):
        expected = part.to_pylist(maps_as_pydicts="strict")
        assert repr(parquet.values_of(part)) == repr(expected)


ROWS = [
    {"id": "a", "image": {"path": "é.jpg", "box": [0.1, 2.0, 1e300, 3.0]}, "texts": TEXTS[0], "tags": [("a", "b")]},
    {"id": 'quoted " and \\ and \n', "image": {"path": None, "box": None}, "texts": TEXTS[1], "tags": []},
    {"id": "", "image": None, "texts": TEXTS[2], "tags": None, "paired": True},
    {"id": None, "image": {"path": "b", "box": []}, "texts": TEXTS[3], "tags": [("a", None), ("\t", "a,")]},
    {"id": "日本", "image": {"path": "c", "box": [None, float("nan")]}, "texts": [{"text": ",", "edit": {}}]},
]
IMAGE = pa.struct([("path", pa.string()), ("box", pa.list_(pa.float64()))])
SCHEMA = {
    "id": pa.string(),
    "image": IMAGE,
    "texts": pa.list_(pa.struct([("text", pa.string()), ("edit", EDIT)])),
    "tags": pa.map_(pa.string(), pa.string()),
    "paired": pa.bool_(),
    "number": pa.int32(),
}


def by_row(batch: pa.RecordBatch) -> list[str]:
    def sparse(value: object) -> object:
        if isinstance(value, list):
            return [sparse(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {
            key: {k: v for k, v in one.items() if v is not None} if key == "edit" and one else sparse(one)
            for key, one in value.items()
        }

    rows = batch.to_pylist(maps_as_pydicts="strict")
    kept = [{key: sparse(value) for key, value in row.items() if value is not None} for row in rows]
    return [pydantic_core.to_json(row, inf_nan_mode="constants").decode() for row in kept]


def test_lines_made_by_column_are_those_made_row_by_row() -> None:
    batch = pa.RecordBatch.from_pylist(ROWS * 2, pa.schema(SCHEMA.items()))
    parts = (batch, batch[1:4], batch[3:3], *(batch[place : place + 1] for place in range(5)))
    for part in (*parts, batch.select(["id"]), batch.select(["texts", "number"])):
        assert json_lines(part, ["edit"]).to_pylist() == by_row(part)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([[("a", "1"), ("a", "2")]], pa.map_(pa.string(), pa.string())),
        pa.array(["a"]).dictionary_encode(),
        pa.array([b"a"]),
        pa.array([1.5], pa.float32()),
        pa.array([{}], pa.struct([])),
        pa.Array.from_buffers(pa.string(), 1, [None, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")]),
    ],
    ids=lambda array: str(array.type),
)
def test_what_cannot_be_made_by_column_is_left_to_the_rows(array: pa.Array) -> None:
    with pytest.raises((Unlike, pa.ArrowInvalid)):
        json_lines(pa.RecordBatch.from_arrays([array], ["a"]))


def test_items_come_by_column_and_by_row_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad row sends its batch the long way, which says what is wrong with it; its neighbours are as they were."""
    items = [
        Item(id=f"{number}", image=ImageRef(path=f"{number}.jpg", box=(0, 0.5, 1, number + 1)), caption='a "cat"')
        for number in range(9)
    ]
    write_items(tmp_path / "items.parquet", items)
    monkeypatch.setattr(parquet, "BATCH", 4)
    assert load_items(tmp_path / "items.parquet") == items
    rows = [{"id": "x", "tags": [("a", "b")] * (1 + (number == 5)), "caption": "c"} for number in range(9)]
    table = pa.Table.from_pylist(
        rows, pa.schema([("id", pa.string()), ("tags", SCHEMA["tags"]), ("caption", pa.string())])
    )
    pq.write_table(table, tmp_path / "bad.parquet")
    with pytest.raises(UserError) as raised:
        load_items(tmp_path / "bad.parquet")
    assert "row 6: a key stands twice" in str(raised.value) and "row 9: id: 'x' is already used" in str(raised.value)


def test_batches_are_bounded_by_the_longest_text_not_by_all_texts_of_a_dictionary(tmp_path: Path) -> None:
    """23 rows at a time, and three minutes for a million items."""

    def size(texts: list[str], several: int = 1) -> int:
        path = write(tmp_path / "x.parquet", id=texts, negatives=[[{"text": text}] * several for text in texts])
        with path.open("rb") as raw:
            return parquet._batch_size(path, raw, groups(path)[0], 0, None)

    short = [f"{number:0100d}" for number in range(8_000)]
    assert size(short) == parquet.BATCH
    assert size(["a" * 400_000, *short]) < parquet.BUDGET / 400_000
    assert size([*short[:5_000], "a" * 100_000, *short[5_000:6_000]], several=20) < parquet.BUDGET / 20 / 100_000
