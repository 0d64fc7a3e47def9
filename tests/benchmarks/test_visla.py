from __future__ import annotations

import logging
from pathlib import Path

import pytest

from equipoise.benchmarks import registry, visla
from equipoise.benchmarks.ceilings import as_read
from equipoise.benchmarks.check import check
from equipoise.core.errors import UserError
from equipoise.data.items import Item

sugarcrepe_pp = registry.get("sugarcrepe-pp")

GENERIC = "filename\tcaption\tsecond positive\tnegative_caption\r\n"
SPATIAL = "image\tsent1\tsent2\tBest reference (Semantically close)\tReference-2 (Completely irrelevant)\r\n"


def test_quotes_are_marks_like_any_other(tmp_path: Path) -> None:
    """With CSV's quoting the first cell would swallow the tab; the last row has no line end, as in the real file."""
    rows = ['a.jpg\t"Pub" reads a sign.\tA sign says "Pub".\t"Bar" reads a sign.', 'b.jpg\t"Two\tthree"\tfour.']
    (tmp_path / "Generic_VISLA.tsv").write_bytes((GENERIC + "\r\n".join(rows)).encode())
    one, two = visla.load(tmp_path, ["generic"])
    assert one.caption == '"Pub" reads a sign.' and one.negatives[0].text == '"Bar" reads a sign.'
    assert (two.id, two.caption, two.positives[0].text) == ("visla-generic/1", '"Two', 'three"')


def test_spatial_asks_the_close_reference_and_leaves_out_rows_without_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        "a.jpg\tThe cat is in the bag.\tThe bag holds the cat.\tThe cat is outside the bag.\tThe oven holds a pizza",
        "b.jpg\tThe cat is into the sink.\tThe sink surrounds the cat.\t\t",
        "c.jpg\tThe man is behind it.\tIt is in front of him.\tThe man is behind it.\tThe car is behind",
    ]
    (tmp_path / "Spatial_VISLA.tsv").write_bytes((SPATIAL + "\r\n".join(rows) + "\r\n").encode())
    with caplog.at_level(logging.WARNING):
        items = visla.load(tmp_path, ["spatial"])
    assert [item.id for item in items] == ["visla-spatial/0", "visla-spatial/2"]
    assert items[0].negatives[0].text == "The cat is outside the bag."
    assert "1 spatial rows have no negative and are left out (rows 1)" in caplog.text
    (forced,) = [finding for finding in check(items).findings if "forced ties" in finding.what]
    assert forced.count == 1 and "visla-spatial/2" in forced.examples[0]


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "Generic_VISLA.tsv").write_text("filename\tcaption\tnegative_caption\na\tb\tc\n")
    with pytest.raises(UserError, match="second positive missing"):
        visla.load(tmp_path, ["generic"])


def test_the_whole_file_and_what_it_shares_with_sugarcrepe_pp(shared_data: Path) -> None:
    """973 rows, two with quotes; 846 of them are in the four files of SugarCrepe++ that are here (swap_obj is not)."""
    items = visla.load(shared_data / "visla", ["generic"])
    assert len(items) == visla.SPLITS["generic"] == 973
    assert len({item.image.path for item in items if item.image}) == 643
    assert sum('"' in item.caption for item in items) == 2
    assert not any(text.endswith(("\r", "\n")) for item in items for text in item.texts())

    def triple(item: Item) -> tuple[object, str, str]:
        return item.image, as_read(item.caption), as_read(item.negatives[0].text)

    theirs = sugarcrepe_pp.load(shared_data / "sugarcrepe_pp", [])
    second = {triple(item): as_read(item.positives[0].text) for item in theirs}
    assert sum(triple(item) in second for item in items) == 846
    assert sum(second.get(triple(item)) == as_read(item.positives[0].text) for item in items) == 786
