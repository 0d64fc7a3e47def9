"""A key that stands twice is an error with its line, in every kind of JSON that is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from equipoise.errors import UserError
from equipoise.evaluation.scores import read_scores
from equipoise.files import read_json
from equipoise.formats.json_text import Shapes, parse, surely_single, why
from equipoise.items import load_items
from equipoise.perturb.reading.captions import read_captions


def test_items_and_scores_name_line_and_key(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"id": "1", "caption": "a", "negatives": [{"text": "b"}]}\n'
        '{"id": "2", "caption": "a", "negatives": [{"text": "b", "text": "c"}]}\n'
    )
    with pytest.raises(UserError, match=r"line 2: the key 'text' stands twice"):
        load_items(path)
    path.write_text('{"id": "1", "caption": 0.1, "caption": 0.9, "negatives": [0.5]}\n')
    with pytest.raises(UserError, match=r"line 1: the key 'caption' stands twice"):
        read_scores(path)


def test_a_json_file_names_the_line_of_the_second_key(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"0": {"a": 1},\n "1": {"a": 2},\n "2": {"a": 3,\n "b": 1,\n "a": 4}}')
    with pytest.raises(UserError, match=r"x\.json, line 5: the key 'a' stands twice"):
        read_json(path)


def test_captions(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"caption": "a dog"},\n{"caption": "a cat",\n"caption": "a cow"}]')
    with pytest.raises(UserError, match=r"line 3: the key 'caption' stands twice"):
        list(read_captions(path))
    lines = tmp_path / "x.jsonl"
    lines.write_text('{"caption": "a dog"}\n{"caption": "a cat", "caption": "a cow"}\n')
    refused = [one for group in read_captions(lines) for one in group.refused]
    assert refused == [("line 2", "the key 'caption' stands twice in one object")]


@pytest.mark.parametrize("text", ["1" * 5_000, "[" * 100_000, json.dumps({"a": 1})[:-1]])
def test_what_python_cannot_read_is_an_error_for_people(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UserError, match=r"x\.json"):
        read_json(tmp_path / "x.json")


VALUES = some.recursive(
    some.sampled_from(["1", "-2.5e+3", "true", "null", '"a"', '"a: b"', '":"', '"\\""', '"é"', '""', "NaN"]),
    lambda inner: some.one_of(
        some.lists(inner, max_size=3).map(lambda parts: f"[{','.join(parts)}]"),
        some.lists(some.tuples(some.sampled_from(['"a"', '"b"', '"\\u0061"', '":"', '""']), inner), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
)


@pytest.mark.slow
@given(some.lists(VALUES, min_size=2, max_size=20))
@settings(max_examples=150, deadline=None)
def test_shapes_say_what_a_whole_reading_says(lines: list[str]) -> None:
    shapes = Shapes()
    for line in [*lines, *lines]:
        try:
            parse(line)
            expected = ""
        except ValueError as error:
            expected = why(error)
        assert shapes.doubled(line) == expected


def test_a_known_shape_does_not_hide_a_doubled_key() -> None:
    shapes = Shapes()
    assert not shapes.doubled('{"a": {"b": 1}, "c": 2}')
    assert not shapes.doubled('{"a": {"b": 15}, "c": -2.5}'), "another number, the same shape"
    assert "'a' stands twice" in shapes.doubled('{"a": {"b": 1}, "a": 2}')
    assert "'a' stands twice" in shapes.doubled('{"a": {"b": 1}, "\\u0061": 2}')
    assert not shapes.doubled('{"a": {"a": 1}, "c": 2}')
    assert "digits" in shapes.doubled('{"a": {"b": 1}, "c": %s}' % ("2" * 5_000))


def test_shapes_that_never_come_again_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.formats.json_text._MOST_SHAPES", 10)
    shapes = Shapes()
    for number in range(50):
        assert not shapes.doubled(json.dumps({"a": 0, f"key {number}": 1}))
        assert "stands twice" in shapes.doubled('{"a": 0, "a": 1}')
    assert len(shapes._single) == 10


def distinct_keys(value: object) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(distinct_keys, value.values()))
    return sum(map(distinct_keys, value)) if isinstance(value, list) else 0


@given(VALUES, some.sampled_from([": ", ":", " : ", "\t:", "\r: "]))
@settings(max_examples=300, deadline=None)
def test_counting_never_overlooks_a_doubled_key(line: str, colon: str) -> None:
    line = line.replace(": ", colon)
    doubled = "twice" in Shapes().doubled(line)
    assert not (doubled and surely_single(line, distinct_keys(json.loads(line, strict=False))))


def test_counting_settles_most_lines() -> None:
    assert surely_single('{"a": {"b": "c: d"}, "c": ["e"]}\n', 3)
    assert not surely_single('{"a": 1, "a": 1}', 1)
    assert not surely_single('{"a" : 1, "a": 1}', 1), "a blank hides a key from the count"
    assert not surely_single('{"a": ": b"}', 1), "it cannot be told, so somebody reads it again"
    assert not surely_single('{"a": %s}' % ("2" * 5_000), 1), "nor a number that Python would refuse"
