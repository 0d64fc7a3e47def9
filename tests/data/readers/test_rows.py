"""One place says how a file is laid out, by looking at it; text may be gzipped whatever it is read as."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError
from equipoise.data.images import open_source
from equipoise.data.items import load_items
from equipoise.data.readers.captions.groups import read_captions
from equipoise.data.readers.records import Row, rows
from equipoise.data.readers.sets.ratings import read_ratings
from equipoise.evaluation.scores import read_scores

VALUES = [{"id": "1", "caption": "a cat"}, {"id": "2", "caption": "a dog"}]
LINES = "\n".join(map(json.dumps, VALUES))
TEXTS = {
    "lines.jsonl": LINES,
    "lines.json": LINES,
    "windows.jsonl": "\ufeff" + LINES.replace("\n", "\r\n"),
    "list.json": json.dumps(VALUES),
    "pretty.json": json.dumps(VALUES, indent=2),
    "pretty.jsonl": json.dumps(VALUES, indent=2),
    "table.csv": "id,caption\n1,a cat\n2,a dog\n",
    "table.tsv": "id\tcaption\n1\ta cat\n2\ta dog\n",
    "excel.csv": "id;caption\r\n1;a cat\r\n2;a dog\r\n",
}


def write(path: Path, text: str, packed: bool) -> Path:
    raw = text.encode()
    path = path.with_name(path.name + ".gz") if packed else path
    path.write_bytes(gzip.compress(raw) if packed else raw)
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_every_layout_gives_the_same_values(tmp_path: Path, name: str, packed: bool) -> None:
    path = write(tmp_path / name, TEXTS[name], packed)
    assert [row.value for row in rows(path)] == VALUES
    assert [record.text for group in read_captions(path) for record in group.records] == ["a cat", "a dog"]


def test_an_object_over_many_lines_is_one_value(tmp_path: Path) -> None:
    for name in ("one.json", "one.jsonl"):
        (tmp_path / name).write_text(json.dumps({"a": 1, "b": 2}, indent=1))
        assert list(rows(tmp_path / name)) == [Row("", {"a": 1, "b": 2})]


def test_a_broken_first_line_does_not_make_lines_one_value(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": \n{"a": 1}\n')
    assert [(row.where, bool(row.problem)) for row in rows(tmp_path / "x.jsonl")] == [
        ("line 1", True),
        ("line 2", False),
    ]


def test_items_scores_and_ratings_may_be_gzipped(tmp_path: Path) -> None:
    items = write(tmp_path / "items.jsonl", LINES, packed=True)
    assert [item.id for item in load_items(items)] == ["1", "2"]
    table = write(tmp_path / "own.csv", "image,caption,negative\na.jpg,a cat,a dog\n", packed=True)
    assert registry.is_file(str(table)) and registry.load(str(table))[0][0].negatives[0].text == "a dog"
    scores = write(tmp_path / "scores.jsonl", '{"id": "1", "caption": 0.5, "negatives": [0.1]}\n', packed=True)
    assert read_scores(scores)[0].caption == 0.5
    rated = write(tmp_path / "rated.csv", "image,caption,rating\na.jpg,a cat,3\nb.jpg,a cat,1\n", packed=True)
    assert read_ratings(rated, "rated", open_source(tmp_path)).pairs[0].rating == 3


def test_half_a_gzip_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "items.jsonl", LINES * 50, packed=True)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match="not a whole gzip file"):
        load_items(path)
