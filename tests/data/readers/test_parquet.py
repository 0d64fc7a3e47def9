"""Other people's Parquet: bytes are text, every failure has its row, and no bomb goes off."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, load_items, write_items
from equipoise.data.readers import parquet
from equipoise.data.readers.captions.groups import read_captions


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


def test_a_row_of_many_nulls_is_refused_before_python_holds_it(tmp_path: Path) -> None:
    """796 bytes of Parquet took 680 MB."""
    path = tmp_path / "nulls.parquet"
    nulls = pa.ListArray.from_arrays([0, 20_000_000], pa.nulls(20_000_000, pa.int8()))
    pq.write_table(pa.table({"caption": ["a cat"], "more": nulls}), path, compression="zstd")
    assert path.stat().st_size < 20_000
    with pytest.raises(UserError, match="unfold to more than"):
        next(parquet.rows(path))


def test_long_texts_make_batches_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One text, named by every row: 200 rows at once took 659 MB."""
    monkeypatch.setattr(parquet, "ALWAYS_FINE", 8 * 2**20)
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"caption": ["a" * 2**20] * 200}), path, compression="zstd")
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match="unfold to more than"):
            list(parquet.rows(path))
        assert tracemalloc.get_traced_memory()[1] < 40 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("length, rows", [(3_000, 60_000), (300_000, 600)])
def test_a_dictionary_bomb_stays_small(tmp_path: Path, length: int, rows: int) -> None:
    names = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["a" * length])
    path = write(tmp_path / "x.parquet", id=names, caption=names)
    assert path.stat().st_size < 1_000_000
    code = f"""
from pathlib import Path
from equipoise.core.errors import UserError
from equipoise.data.items import load_items
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


def test_reading_loads_no_pandas(tmp_path: Path) -> None:
    """pyarrow's to_numpy does where it is installed, which takes as long as reading 10,000 items."""
    write_items(tmp_path / "x.parquet", [Item(id="1", caption="a dog", tags={"a": "b"}), Item(id="2", caption="a cat")])
    code = "import sys, equipoise; equipoise.load_items(sys.argv[1]); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "x.parquet")], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


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
def test_columns_become_the_json_of_each_value(array: pa.Array) -> None:
    """The same as pyarrow's own values, without what is null in a struct."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(part) for part in value]
        return parquet._as_text(value)

    def without_null(value: Any, struct: bool) -> Any:
        if isinstance(value, dict):
            return {k: without_null(v, struct) for k, v in value.items() if v is not None or not struct}
        return [without_null(part, struct) for part in value] if isinstance(value, list) else value

    for part in (array, array[1:], array[:-1], array[1:3], array[len(array) :]):
        expected = [
            without_null(plain(one), not pa.types.is_map(array.type))
            for one in part.to_pylist(maps_as_pydicts="strict")
        ]
        assert [None if one is None else json.loads(one) for one in parquet.json_of(part)] == expected


def test_a_bad_row_is_named_and_its_neighbours_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        Item(id=f"{number}", image=ImageRef(path=f"{number}.jpg", box=(0, 0.5, 1, number + 1)), caption='a "cat"')
        for number in range(9)
    ]
    write_items(tmp_path / "items.parquet", items)
    monkeypatch.setattr(parquet, "BATCH", 4)
    assert load_items(tmp_path / "items.parquet") == items
    rows = [{"id": "x", "tags": [("a", "b")] * (1 + (number == 5)), "caption": "c"} for number in range(9)]
    table = pa.Table.from_pylist(
        rows, pa.schema([("id", pa.string()), ("tags", pa.map_(pa.string(), pa.string())), ("caption", pa.string())])
    )
    pq.write_table(table, tmp_path / "bad.parquet")
    with pytest.raises(UserError) as raised:
        load_items(tmp_path / "bad.parquet")
    assert "row 6: a key appears twice" in str(raised.value) and "row 9: id: 'x' is already used" in str(raised.value)


def test_a_footer_that_contradicts_itself_is_an_error() -> None:
    """pyarrow's RowGroupMetaData.column ended the process on this file."""
    with pytest.raises(UserError, match="damaged after row 0"):
        list(parquet.rows(Path(__file__).parents[1] / "abort.parquet"))
