"""Items in a plain table; what the registry says about such a file is in tests/benchmarks/test_registry_own.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.data.items import texts
from equipoise.data.readers.item_tables import load_item_file


def test_a_table_as_excel_writes_it_where_the_comma_is_for_numbers(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        '\ufeffimage;caption;negative\r\na.jpg;a dog, brown;"a cat; black"\r\n', encoding="utf-8", newline=""
    )
    (item,) = load_item_file(path)
    assert (item.caption, item.negatives) == ("a dog, brown", texts("a cat; black"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "image,negative\na.jpg,b\n",
            "line 1: column caption is missing. Expected the columns image, caption",
        ),
        ("image,caption,neg\na.jpg,b,c\n", "column negative is missing. Did you mean neg. Call it negative"),
        ("image,caption,positive\na.jpg,b,c\n", "column negative is missing. Expected"),
        ("image,caption,negative\na.jpg,b\n", "line 2: 2 cells, where the header has 3"),
        ("image,caption,negative\n", "only a header"),
        ("", "found nothing"),
        ("image,caption,negative\n../a.jpg,b,c\na.jpg,,c\n", r"(?s)line 2: path: expected.*line 3: caption"),
        ("id,caption,negative\nx,b,c\nx,b,c\n", "line 3: id: 'x' is already used in line 2"),
    ],
)
def test_broken_tables(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        load_item_file(path)
