"""The headers say what pyarrow says; a damaged footer is an error, never the end of the process."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.errors import UserError
from equipoise.data.readers import parquet
from equipoise.data.readers.parquet_headers import Column, Group, groups, unpacked_page

ABORT = Path(__file__).parents[1] / "abort.parquet"


def test_what_pyarrow_says(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    nested = [[{"text": "a cat", "at": n / 3, "true": n % 2 == 0}] * (n % 4) for n in range(5_000)]
    table = pa.table({"id": [f"{n}" for n in range(5_000)], "é": ["red", "blue"] * 2_500, "negatives": nested})
    pq.write_table(table, path, row_group_size=700, compression="zstd", use_dictionary=["é"])
    metadata = pq.ParquetFile(path).metadata
    expected = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = [group.column(place) for place in range(group.num_columns)]
        shown = [
            Column(c.path_in_schema, c.num_values, c.total_uncompressed_size, c.total_compressed_size, offset)
            for c in columns
            for offset in [c.dictionary_page_offset]
        ]
        expected.append(Group(group.num_rows, shown))
    assert groups(path) == expected
    assert len(expected) == 8
    assert any(column.dictionary for column in expected[0].columns)


def test_a_footer_that_contradicts_itself_is_an_error() -> None:
    """pyarrow's RowGroupMetaData.column ended the process on this file."""
    with pytest.raises(UserError, match="damaged after row 0"):
        list(parquet.rows(ABORT))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=64))
def test_any_page_header_is_a_size(header: bytes) -> None:
    assert unpacked_page(header) >= 0


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_a_damaged_footer_is_an_error_or_a_list(tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes) -> None:
    data = bytearray(ABORT.read_bytes())
    at %= len(data) - 8
    data[at : at + len(junk)] = junk
    path = tmp_path_factory.getbasetemp() / "damaged.parquet"
    path.write_bytes(data)
    try:
        groups(path)
    except UserError as error:
        assert "damaged" in str(error)
