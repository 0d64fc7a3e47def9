"""Long files are taken and refused as short ones are."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from equipoise.core.errors import Problems, UserError
from equipoise.data.items import Item, ItemLines, load_items
from equipoise.data.readers import long_files, records
from equipoise.data.readers.long_files import all_good, count_keys, dictionaries
from equipoise.data.readers.records import chosen_lines, jsonl_lines

FULL: dict[str, Any] = {
    "id": "1",
    "image": {"path": "a.jpg", "box": [0.0, 0.0, 1.0, 1.0]},
    "caption": "a cat: sitting",
    "positives": [{"text": "é", "edit": {"op": "add", "target": "object", "from": None, "to": "x", "span": [1, 2]}}],
    "negatives": [{"text": "b", "edit": {"op": "replace", "source": "x", "by": "rule"}}, {"text": "c", "edit": None}],
    "tags": {"split": "x", "k": "v"},
    "positive_images": [{"path": "b.jpg"}],
    "negative_images": [{"path": "c.jpg", "box": None}],
    "paired": True,
    "question": "What?",
    "rewordings": ["Which?"],
    "place": 1,
    "photos": [{"path": "d.jpg"}],
}
OTHERS = (None, True, 1, -0.5, "", " ", "x", "../x", [], [1, 2], [1.0, 2.0, 3.0, 0.0], {}, {"text": "x"})


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value below."""
    for name, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*above, name)
        if isinstance(part, dict | list):
            yield from places(part, (*above, name))


def changed() -> Iterator[bytes]:
    """The full item with each value replaced, left out, or next to an unknown one."""
    for *above, name in places(FULL):
        for other in (*OTHERS, "left out", "unknown"):
            item = copy.deepcopy(FULL)
            part = item
            for step in above:
                part = part[step]
            if other == "left out":
                del part[name]
            elif other == "unknown" and isinstance(part, dict):
                part[f"{name}_"] = part[name]
            else:
                part[name] = other
            yield json.dumps(item, ensure_ascii=False).encode()


def test_dictionaries_are_taken_and_refused_as_items_are() -> None:
    read, taken, refused = dictionaries(Item), 0, 0
    for line in changed():
        try:
            Item.model_validate_json(line)
        except ValidationError:
            refused += 1
            with pytest.raises(ValidationError):
                read(line)
        else:
            taken += 1
            assert count_keys(read(line)) == sum(isinstance(way[-1], str) for way in places(json.loads(line)))
    assert taken > 100 and refused > 400


GOOD = '{"id": "%d", "caption": "a cat", "negatives": [{"text": "a dog"}]}\n'


@pytest.mark.parametrize(
    ("line", "sure"),
    [
        (GOOD % 3, True),
        ('{"id": "3", "caption": "a: b"}\n', True),
        ("\n", True),
        ('{"image": "a.jpg", "caption": "a cat", "negative": "a dog"}\n', False),  # the short form
        (GOOD % 1, False),  # an id that is there
        ('{"id": "3", "caption": "a cat", "caption": "a dog"}\n', False),
        ('{"id": "3", "caption": "a: b", "caption": "a dog"}\n', False),
        ('{"id": "3", "caption": "a cat", "tags": {"a": "b", "a": "\\u003a"}}\n', False),
        ('{"id": "3", "caption": " "}\n', False),
        ("[]\n", False),
        ("nonsense\n", False),
    ],
)
def test_a_long_file_ends_as_a_short_one(
    line: str, sure: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.jsonl").write_text(GOOD % 1 + GOOD % 2 + line)

    def ended() -> tuple[list[Item], str]:
        try:
            return list(load_items(tmp_path / "x.jsonl")), ""
        except UserError as error:
            return [], str(error)

    expected, answers = ended(), []
    monkeypatch.setattr("equipoise.data.items.HELD", 1)
    monkeypatch.setattr(
        "equipoise.data.items.all_good", lambda *given: answers.append(long_files.all_good(*given)) or answers[-1]
    )
    assert ended() == expected and [answer is not None for answer in answers] == [sure]


def test_a_damaged_or_odd_long_file_is_an_error_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.data.items.HELD", 1)
    packed = gzip.compress("".join(GOOD % number for number in range(500)).encode(), 0)
    for content in (packed[:-20], b"x" * 200):
        (tmp_path / "x.jsonl.gz").write_bytes(content)
        with pytest.raises(UserError, match=r"x\.jsonl\.gz: not a whole gzip file"):
            load_items(tmp_path / "x.jsonl.gz")
    (tmp_path / "x.jsonl.gz").write_bytes(packed)
    assert len(load_items(tmp_path / "x.jsonl.gz")) == 500
    monkeypatch.setattr(records, "MOST_BYTES", 100)
    (tmp_path / "x.jsonl").write_text((GOOD % 1).strip() + " " * 40 + GOOD % 2 + GOOD % 3)
    with pytest.raises(UserError, match="line 1: longer than 100 bytes"):
        load_items(tmp_path / "x.jsonl")


def test_chosen_lines_are_those_of_all(tmp_path: Path) -> None:
    path, problems = tmp_path / "x.jsonl", Problems("x")
    path.write_text('\ufeff{"a": 1}\n\n\xa0\n{"a": 2}\n\x1c\n"b"\n')
    everything = list(jsonl_lines(path, problems))
    assert [where for where, _ in everything] == ["line 1", "line 4", "line 6"]
    assert list(chosen_lines(path, [0, 1, 2])) == everything and list(chosen_lines(path, [1])) == everything[1:2]


def test_what_a_long_file_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.data.items.HELD", 1)
    (tmp_path / "x.jsonl").write_bytes(b"\n".join(map(str.encode, [GOOD % 1, GOOD % 2])))
    loaded = load_items(tmp_path / "x.jsonl")
    assert isinstance(loaded, ItemLines) and [item.id for item in loaded] == ["1", "2"]
    assert all_good(Item, [b'{"id": "1", "caption": "\xff"}']) is None
