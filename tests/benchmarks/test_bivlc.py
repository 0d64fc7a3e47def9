from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from equipoise.benchmarks import registry
from equipoise.benchmarks.check import check
from equipoise.core.errors import UserError

bivlc = registry.get("bivlc")

ROW = {"caption": "A cat.", "negative_caption": "A dog.", "type": "replace", "subtype": "obj"}


def test_a_row_is_two_images_and_two_captions(tmp_path: Path) -> None:
    (tmp_path / "bivlc.csv").write_text("caption,negative_caption,type,subtype\nA cat.,A dog.,replace,obj\n")
    (item,) = bivlc.load(tmp_path, [])
    assert (item.id, item.caption, item.negatives[0].text) == ("bivlc-test/0", "A cat.", "A dog.")
    assert [ref.path for ref in item.images()] == ["0_pos.png", "0_neg.png"] and item.paired
    assert item.tags == {"split": "test", "type": "replace", "subtype": "replace_obj"}
    edit = item.negatives[0].edit
    assert edit is not None and (edit.op, edit.target) == ("replace", "object")


def test_the_rows_of_the_hubs_two_files_are_numbered_through(tmp_path: Path) -> None:
    image = {"bytes": b"jpg", "path": None}
    for number, captions in enumerate((["a", "b"], ["c"])):
        rows = [{**ROW, "caption": caption, "image": image, "negative_image": image} for caption in captions]
        path = tmp_path / "data" / f"test-0000{number}-of-00002.parquet"
        path.parent.mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert [(item.id, item.caption) for item in bivlc.load(tmp_path, ["test"])] == [
        ("bivlc-test/0", "a"),
        ("bivlc-test/1", "b"),
        ("bivlc-test/2", "c"),
    ]


def test_the_whole_file(shared_data: Path) -> None:
    """Counts, the pair of captions that is there twice, and the pairs that no order-blind model can win."""
    items = bivlc.load(shared_data / "bivlc", [])
    assert len(items) == bivlc.splits["test"] == 2933
    assert Counter(item.tags["subtype"] for item in items) == {
        "replace_obj": 1200,
        "replace_rel": 462,
        "replace_att": 437,
        "swap_att": 278,
        "swap_obj": 81,
        "add_obj": 399,
        "add_att": 76,
    }
    pairs = Counter((item.caption, item.negatives[0].text) for item in items)
    assert [count for count in pairs.values() if count > 1] == [2]
    bags = [[sorted(words(text)) for text in item.texts()] for item in items]
    same = [item for item, (right, wrong) in zip(items, bags, strict=True) if right == wrong]
    assert len(same) == 225 and {item.tags["type"] for item in same} <= {"swap", "replace"}
    report = check(items, bivlc)
    assert report.ok and not report.findings, "two items of one pair of captions are not one item: their images differ"
    assert report.images == 2 * 2933


def words(text: str) -> list[str]:
    return "".join(letter for letter in text.lower() if letter.isalnum() or letter == " ").split()


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds none of the files of bivlc"):
        bivlc.load(tmp_path, [])
    with pytest.raises(UserError, match="no such folder"):
        bivlc.load(tmp_path / "nowhere", [])
    (tmp_path / "bivlc.csv").write_text("caption,type,subtype\nA cat.,replace,obj\n")
    with pytest.raises(UserError, match="negative_caption missing"):
        bivlc.load(tmp_path, [])
    (tmp_path / "bivlc.csv").write_text("caption,negative_caption\nA cat.,A dog.\n")
    with pytest.raises(UserError, match="type, subtype missing"):
        bivlc.load(tmp_path, [])
    with pytest.raises(UserError, match="no split 'train'"):
        bivlc.load(tmp_path, ["train"])
