"""A key that appears twice is an error, in every kind of JSON that is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.core.files import read_json
from equipoise.data.items import load_items
from equipoise.data.readers.captions.groups import read_captions
from equipoise.evaluation.scores import read_scores


def test_items_and_scores_name_line_and_key(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"id": "1", "caption": "a", "negatives": [{"text": "b"}]}\n'
        '{"id": "2", "caption": "a", "negatives": [{"text": "b", "text": "c"}]}\n'
    )
    with pytest.raises(UserError, match=r"line 2: the key 'text' appears twice"):
        load_items(path)
    for key, fields in {
        "caption": '"caption": 0.9',
        "a": '"tags": {"a": "b", "a": "c"}',
        "image": '"negative_images": [{"image": "a", "image": "b", "caption": 0.1, "negatives": [0.5]}]',
        "unknown": '"unknown": 1, "unknown": 2',
    }.items():
        path.write_text(f'{{"id": "1", "caption": 0.1, {fields}, "negatives": [0.5]}}\n')
        with pytest.raises(UserError, match=f"line 1: the key '{key}' appears twice"):
            read_scores(path)


@pytest.mark.parametrize("blank", ["", " ", "\t", "\r"])
@pytest.mark.parametrize("caption", ["a", "a: b", 'a": b'])
def test_a_blank_or_a_text_with_a_colon_hides_no_doubled_key(tmp_path: Path, blank: str, caption: str) -> None:
    line = f'{{"id":"1","caption":{json.dumps(caption)},"tags":{{"k":"v"}}%s}}'
    (tmp_path / "once.jsonl").write_text(line % f',"image"{blank}:null', newline="")
    assert load_items(tmp_path / "once.jsonl")[0].caption == caption
    (tmp_path / "twice.jsonl").write_text(line % f',"caption"{blank}:"c"', newline="")
    with pytest.raises(UserError, match="line 1: the key 'caption' appears twice"):
        load_items(tmp_path / "twice.jsonl")


def test_a_json_file_names_the_key(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"0": {"a": 1},\n "1": {"a": 2},\n "2": {"a": 3,\n "b": 1,\n "a": 4}}')
    with pytest.raises(UserError, match=r"x\.json: the key 'a' appears twice"):
        read_json(path)


def test_captions(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"caption": "a dog"},\n{"caption": "a cat",\n"caption": "a cow"}]')
    with pytest.raises(UserError, match=r"line 2: the key 'caption' appears twice"):
        list(read_captions(path))
    lines = tmp_path / "x.jsonl"
    lines.write_text('{"caption": "a dog"}\n{"caption": "a cat", "caption": "a cow"}\n')
    refused = [one for group in read_captions(lines) for one in group.refused]
    assert refused == [("line 2", "the key 'caption' appears twice in one object")]


@pytest.mark.parametrize("text", ["1" * 5_000, "[" * 100_000, json.dumps({"a": 1})[:-1]])
def test_what_python_cannot_read_is_an_error_for_people(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UserError, match=r"x\.json"):
        read_json(tmp_path / "x.json")
