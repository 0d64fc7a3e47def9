"""Files of items: written whole or not at all, read with every problem named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write, inside, read_json, write_json
from equipoise.data.items import (
    Edit,
    ImageRef,
    Item,
    ItemLines,
    Text,
    _schema,
    load_items,
    texts,
    write_items,
)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"old": 1})
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as handle:
        handle.write("half of a ")
        raise KeyboardInterrupt
    assert read_json(path) == {"old": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_message_and_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: (full, str(tmp_path / "part")))
    with pytest.raises(UserError, match=r"result\.json: could not be written \(No space left on device\)"):
        write_json(tmp_path / "result.json", {"a": 1})
    assert not list(tmp_path.iterdir())


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_json(tmp_path / "link.json", {"a": 1})
    assert (tmp_path / "link.json").is_symlink() and read_json(tmp_path / "real.json") == {"a": 1}


def test_not_a_number_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_json(tmp_path / "a.json", {"a": float("nan")})
    assert not list(tmp_path.iterdir())


def test_inside(tmp_path: Path) -> None:
    assert inside(tmp_path, "a/b.jpg") == tmp_path.resolve() / "a/b.jpg"
    for path in ("../x", "/etc/passwd", "a/../../x"):
        with pytest.raises(UserError, match="leaves its folder"):
            inside(tmp_path, path)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_large_file_is_kept_as_lines(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        Item(id=str(n), image=ImageRef(path="é.jpg"), caption="a cat", negatives=texts("é"), tags={"n": str(n)})
        for n in range(5)
    ]
    path = tmp_path / f"items{suffix}"
    write_items(path, items)
    monkeypatch.setattr("equipoise.data.items.HELD", 4)
    large = load_items(path)
    assert isinstance(large, ItemLines) and isinstance(load_items(path, limit=4), list)
    assert large == items and items == large and list(large) == items
    assert large != items[1:] and large != [*items[:4], items[0]]
    assert large[1:3] == items[1:3] and large[-1] == items[-1] and len(large[:2]) == 2
    with pytest.raises(IndexError):
        large[5]
    write_items(tmp_path / "again.jsonl", large)
    assert load_items(tmp_path / "again.jsonl") == items


def test_a_table_comes_with_the_command_that_makes_items_of_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a table; .*: equipoise bench build .*mine.csv --out mine.jsonl"):
        load_items(tmp_path / "mine.csv")


def test_parquet_is_checked_as_jsonl_is(tmp_path: Path) -> None:
    good = Item(
        id="a",
        image=ImageRef(path="x/1.jpg"),
        caption="a cat",
        positives=(Text(text="é cat", edit=Edit(op="replace", target="object", source="x", to="y", by="z")),),
        negatives=texts("a dog", "b"),
        tags={"split": "x"},
    )
    plain = {**good.to_json(), "tags": [("split", "x")]}
    schema = _schema([])

    def changed(**fields: Any) -> dict[str, Any]:
        return {**plain, **fields}

    def edited(**fields: Any) -> dict[str, Any]:
        return changed(negatives=[{"text": "b", "edit": {"op": "add", **fields}}])

    rows = [
        plain,
        changed(image=None, positives=None, negatives=[], tags=None),
        changed(image={"path": "a..b", "box": None}),
        changed(image={"path": "1.jpg", "box": [0.0, 0.0, 1.0, 1.0]}),
        changed(caption="日本"),
        edited(span=[1, 2]),
        edited(target="object"),
        *(changed(id=name) for name in ("", None)),
        *(changed(caption=text) for text in (None, " ", "\u3000")),
        *(
            changed(image={"path": path, "box": None})
            for path in ("/etc/x", "../x", "a\\..\\b", "C:x", "", None, "a\0")
        ),
        changed(image={"path": "1.jpg", "box": [0.0, 0.0, -1.0, 1.0]}),
        changed(image={"path": None, "box": None}),
        *(changed(negatives=[one]) for one in (None, {"text": None, "edit": None}, {"text": " ", "edit": None})),
        *(edited(op=op) for op in (None, "Not a name")),
        edited(target="other"),
        changed(tags=[("split", None)]),
    ]
    bad = 0
    for number, row in enumerate(rows):
        path = tmp_path / f"{number}.parquet"
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{**row, "id": row["id"] and f"{number}"}], schema), path)
        try:
            load_items(path)
            assert number < 7
        except UserError as error:
            assert "row 1: " in str(error)
            bad += 1
    assert bad == len(rows) - 7 == 21


def test_ids_used_twice_are_found_in_parquet_too(tmp_path: Path) -> None:
    rows = [Item(id="ab"[number // 3], caption="c") for number in range(4)]
    write_items(tmp_path / "x.parquet", rows)
    with pytest.raises(UserError) as raised:
        load_items(tmp_path / "x.parquet")
    assert str(raised.value).count("id: 'a' is already used in row 1") == 2 and "row 4" not in str(raised.value)


ODD = [  # lines that are not one item each, and what is said of them
    ("{", "not JSON"),
    ("[1, 2]", "object"),
    ("null", "object"),
    ("{}", "field required"),
    ("\x00", "not JSON"),
    ('{"id": "b", "caption": "\x01"}', "not JSON"),
    ('{"id": "b", "id": "c", "caption": "x"}', "the key 'id' appears twice"),
    ('{"id": "b", "caption": "x", "capti\\u006fn": "y"}', "the key 'caption' appears twice"),
    ('{"id": "b", "caption": "x"} {"id": "c", "caption": "x"}', "not JSON"),
    ('{"id": "b", "caption": "x"}}', "not JSON"),
    ('{"id": "b", "caption": "\\ud800"}', "not JSON"),
    ('{"id": "b", "caption": "x", "tags": {"split": 1}}', "tags.split"),
    ('{"id": "b", "caption": "x", "paired": null}', "paired"),
]


def test_every_odd_line_of_a_file_is_named_in_order(tmp_path: Path) -> None:
    good = [f'{{"id": "{number}", "caption": "a cat"}}' for number in range(len(ODD))]
    lines = [line for pair in zip(good, (line for line, _ in ODD), strict=True) for line in pair]
    path = tmp_path / "x.jsonl"
    for end in ("\n", "\r\n"):
        path.write_bytes(end.join(["", *lines, good[3]]).encode())
        with pytest.raises(UserError) as raised:
            load_items(path)
        said = str(raised.value)
        places = [said.index(f"line {number}: ") for number in (*range(3, 3 + 2 * len(ODD), 2), 2 * len(ODD) + 2)]
        assert places == sorted(places) and f"{len(ODD) + 2} problems" in said
        for number, (_, expected) in zip(range(3, 99, 2), ODD, strict=False):
            assert expected in said.split(f"line {number}: ")[1].split("\n")[0].replace("Object", "object"), number
        assert "id: '3' is already used in line 8" in said
        path.write_bytes(end.join(good).encode())
        assert len(load_items(path)) == len(good)


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.data.readers.records.MOST_BYTES", 4000)
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "1", "caption": "%s"}\n' % ("a" * 3900))
    assert len(load_items(path)) == 1
    path.write_text('{"id": "1", "caption": "%s"}\n{' % ("a" * 4100))
    with pytest.raises(UserError, match=r"line 1: longer than 4,000 bytes; the rest was not looked at"):
        load_items(path)
