"""Items: what is read is what was written, and every problem of a file is told at once."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise.core.errors import UserError
from equipoise.core.files import read_json, write_json
from equipoise.data.items import (
    Edit,
    ImageRef,
    Item,
    Text,
    load_items,
    texts,
    write_items,
)
from equipoise.data.readers.item_tables import load_item_file

words = st.text(alphabet=st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda text: text.strip()
)
edits = st.none() | st.builds(
    Edit,
    op=st.sampled_from(["swap", "replace", "negate", "add"]),
    target=st.none() | st.sampled_from(["object", "relation"]),
    source=st.none() | words,
    to=st.none() | words,
    span=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
an_image = st.builds(
    ImageRef,
    path=st.just("folder/1.jpg"),
    box=st.none() | st.tuples(*[st.floats(1, 1e6, allow_nan=False)] * 4),
)
some = st.lists(st.builds(Text, text=words, edit=edits), max_size=3).map(tuple)
images = st.none() | an_image
others = st.lists(an_image, max_size=2).map(tuple)
an_item = st.builds(
    Item,
    id=words,
    image=images,
    caption=words,
    positives=some,
    negatives=some,
    tags=st.dictionaries(words, st.text(max_size=20), max_size=3),
    positive_images=others,
    negative_images=others,
)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_round_trip(suffix: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("items")

    @settings(max_examples=60, deadline=None)
    @given(st.lists(an_item, min_size=1, max_size=4, unique_by=lambda item: item.id))
    def check(items: list[Item]) -> None:
        path = folder / f"items.{suffix}"
        assert write_items(path, items) == len(items)
        assert load_items(path) == items

    check()


def test_alternative_images_are_written_only_where_there_are_some(tmp_path: Path) -> None:
    """Files and hashes of items without them are what they were before items could have them."""
    plain = Item(id="1", image=ImageRef(path="a.jpg"), caption="a cat", negatives=texts("a dog"))
    other = ImageRef(path="b.jpg", box=(1.0, 2.0, 3.0, 4.0))
    both = plain.model_copy(update={"id": "2", "negative_images": (other,)})
    paired = both.model_copy(update={"id": "3", "paired": True})
    assert "paired" not in both.to_json() and paired.to_json()["paired"] is True
    new = ["negative_images", "paired"]
    assert list(plain.to_json()) == ["id", "image", "caption", "positives", "negatives", "tags"]
    assert both.to_json()["negative_images"] == [{"path": "b.jpg", "box": (1.0, 2.0, 3.0, 4.0)}]
    assert "positive_images" not in both.to_json()
    for items, columns in (([plain], []), ([plain, both], new[:1]), ([plain, both, paired], new)):
        write_items(tmp_path / "items.parquet", iter(items))
        names = pyarrow.parquet.read_schema(tmp_path / "items.parquet").names
        assert names == ["id", "image", "caption", "positives", "negatives", "tags", *columns]
        assert load_items(tmp_path / "items.parquet") == items


def test_an_alternative_image_stays_below_the_folder(tmp_path: Path) -> None:
    line = {"id": "1", "image": {"path": "a.jpg"}, "caption": "a cat", "negative_images": [{"path": "../b.jpg"}]}
    (tmp_path / "items.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(UserError, match=r"line 1: negative_images.0.path: expected a path below the image folder"):
        load_items(tmp_path / "items.jsonl")


def test_the_documented_line(tmp_path: Path) -> None:
    line = (
        '{"id": "replace-attributes/00001", "image": {"path": "VG_100K_2/2401814.jpg", "box": null}, '
        '"caption": "walking elephant", "positives": [{"text": "strolling elephant", "edit": {"op": "replace", '
        '"target": "attribute", "from": "walking", "to": "strolling", "by": "lexicon"}}], '
        '"negatives": [{"text": "jumping elephant", "edit": null}], '
        '"tags": {"split": "attributes", "type": "action"}}\n'
    )
    path = tmp_path / "items.jsonl"
    path.write_text(line)
    (item,) = load_items(path)
    assert item.positives[0].edit is not None and item.positives[0].edit.source == "walking"
    write_items(path, [item])
    assert path.read_text() == line


def test_every_problem_at_once_with_line_and_field(tmp_path: Path) -> None:
    good = {"id": "1", "image": {"path": "1.jpg"}, "caption": "a cat", "negatives": [{"text": "a dog"}]}
    bad = [
        good,
        {**good, "id": "2", "caption": 7},
        {**good, "id": "3", "image": {"path": "../secret.jpg"}},
        {**good, "id": "4", "image": {"path": "1.jpg", "box": [0, 0, 0, 5]}},
        {**good, "id": "5", "negatives": [{"text": " "}], "colours": ["red"]},
        {**good, "id": "1"},
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in bad) + '\n{"id": "7", "caption": \n')
    with pytest.raises(UserError) as caught:
        load_items(path)
    message = str(caught.value)
    assert "7 problems" in message
    for part in (
        "line 2: caption: input should be a valid string; found 7",
        "line 3: image.path: expected a path below the image folder, found '../secret.jpg'",
        "line 4: image.box: expected x, y, width, height with width and height above 0",
        "line 5: negatives.0.text: expected some text",
        "line 5: colours: extra inputs are not permitted",
        "line 6: id: '1' is already used in line 1",
        "line 7: not JSON",
    ):
        assert part in message, message


def test_the_short_form_that_people_write(tmp_path: Path) -> None:
    """As the columns of a table: it was refused with four problems a line."""
    lines = [
        {"image": "a.jpg", "caption": "a cat", "negatives": ["a dog", "a cow"], "category": "animal", "year": 2024},
        {"id": 7, "image": None, "caption": "a hen", "negative": "a rat", "negative_2": "", "positives": ["one hen"]},
        {
            "id": "x",
            "image": {"path": "c.jpg"},
            "caption": "a pig",
            "negatives": [{"text": "a fox"}],
            "tags": {"a": "b"},
        },
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    first, second, third = load_items(tmp_path / "mine.jsonl")
    assert first == Item(
        id="1",
        image=ImageRef(path="a.jpg"),
        caption="a cat",
        negatives=texts("a dog", "a cow"),
        tags={"split": "all", "category": "animal", "year": "2024"},
    )
    assert (second.id, second.image, second.positives) == ("7", None, texts("one hen"))
    assert second.negatives == texts("a rat") and third.tags == {"a": "b"}
    (tmp_path / "mine.csv").write_text("image,caption,negative,category\na.jpg,a cat,a dog,animal\n")
    (tmp_path / "same.jsonl").write_text(json.dumps(lines[0] | {"negatives": "a dog", "year": None}))
    assert load_items(tmp_path / "same.jsonl") == load_item_file(tmp_path / "mine.csv")
    (tmp_path / "typo.jsonl").write_text(json.dumps(lines[0] | {"negtives": ["a dog"]}))
    with pytest.raises(UserError, match="negtives: extra inputs"):
        load_items(tmp_path / "typo.jsonl")


def test_many_problems_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("{}\n" * 50)
    with pytest.raises(UserError, match=r"100 problems(.|\n)*\.\.\. and 80 more"):
        load_items(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "holds no items"), (b"\n\n", "holds no items"), (b'{"id": "\xff"}\n', "line 1: not UTF-8")],
)
def test_files_that_are_no_items(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        load_items(path)


def test_parquet_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "items.parquet"
    path.write_text("no")
    with pytest.raises(UserError, match="not a Parquet file"):
        load_items(path)
    with pytest.raises(UserError, match="no such file"):
        load_items(tmp_path / "absent.parquet")


@pytest.mark.parametrize("path", ["/etc/passwd", "a/../../b", "..\\b", "C:/b", "", "a\0b"])
def test_paths_that_leave(path: str) -> None:
    with pytest.raises(ValueError):
        ImageRef(path=path)


def test_wrong_arguments_are_explained_in_plain_words() -> None:
    with pytest.raises(UserError) as refused:
        Item(image="a.jpg", negatives=["a cat"])  # type: ignore[arg-type]
    said = str(refused.value)
    assert "Item: 4 problems" in said and "image=ImageRef(path=" in said and "pydantic" not in said


def test_a_table_is_loaded_as_items(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("image,caption,positive,negative\na.jpg,a dog,one dog,a cat\n")
    items = equipoise.load_items(tmp_path / "mine.csv")
    assert repr(items) == "1 item, 1 with hard positives and hard negatives"
    assert items[0].negatives[0].text == "a cat"


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write_items(path, [Item(id="1", caption="a cat")])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_items(path)[0].id == "1"
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf{}")
    assert read_json(tmp_path / "a.json") == {}


def test_json_that_is_nested_too_deeply(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(UserError, match="nested too deeply"):
        read_json(tmp_path / "deep.json")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="the folder cannot be made"):
        write_json(tmp_path / "file" / "below" / "a.json", {})


def test_parquet_of_other_types_is_explained(tmp_path: Path) -> None:
    import datetime

    import pyarrow
    import pyarrow.parquet

    rows = {"id": ["1"], "caption": ["a cat"], "negatives": [["a dog"]], "when": [datetime.datetime(2024, 1, 1)]}
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "other.parquet")
    with pytest.raises(UserError) as told:
        load_items(tmp_path / "other.parquet")
    assert all(f"row 1: {place}" in str(told.value) for place in ("negatives.0", "when"))  # in any order


def test_limit(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write_items(path, [Item(id=str(i), caption="a cat", negatives=texts("a dog")) for i in range(5)])
    assert [item.id for item in load_items(path, limit=2)] == ["0", "1"]
