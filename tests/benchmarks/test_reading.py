from __future__ import annotations

import logging
from pathlib import Path

import pytest

from equipoise.benchmarks.reading import Case, Raw, choose, literal_list, read
from equipoise.core.errors import UserError
from equipoise.data.items import texts

FILES = {"one": "one.json", "two": "two.json", "three": "three.json"}


class Record(Raw):
    text: str


def build(split: str, key: str, record: Record) -> list[Case]:
    return [Case(key, None, record.text, texts("x"))]


def test_what_is_there_is_taken_and_the_rest_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "two.json").write_text("{}")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "three.json").write_text("{}")
    with caplog.at_level(logging.WARNING):
        assert list(choose("b", tmp_path, FILES, [])) == ["two", "three"]
    assert "without 1 of 3 splits (one)" in caplog.text
    assert list(choose("b", tmp_path, FILES, ["three"])) == ["three"]
    with pytest.raises(UserError, match=r"one\.json not found\. The splits that are there: --splits two,three"):
        choose("b", tmp_path, FILES, ["one", "two"])


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none of the files of b; expected one\.json, two\.json"):
        choose("b", tmp_path, FILES, [])
    with pytest.raises(UserError, match="no such folder"):
        choose("b", tmp_path / "none", FILES, [])
    (tmp_path / "four.json").write_text("{}")
    with pytest.raises(UserError, match="none of the files"):
        choose("b", tmp_path / "four.json", FILES, [])


@pytest.mark.parametrize(("benchmark", "advised"), [("aro-vg-r", True), ("squares", False)])
@pytest.mark.parametrize("folder", [".", "none"])
def test_only_a_benchmark_of_the_package_can_be_fetched(
    tmp_path: Path, benchmark: str, folder: str, advised: bool
) -> None:
    with pytest.raises(UserError) as error:
        choose(benchmark, tmp_path / folder, FILES, [])
    assert (f"equipoise bench fetch {benchmark}" in str(error.value)) == advised


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("7", "expected a JSON object or list of records, found 7"),
        ('{"a": {"text": "x"},\n "b": }', "line 2, column 7: not JSON"),
        ("[]", "no record of it makes an item"),
        ('[{"text": "x"}, "y", {"text": " "}]', r"(?s)record 1: the record: .*record 2: caption: expected some text"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "one.json").write_text(text)
    with pytest.raises(UserError, match=message):
        read("b", choose("b", tmp_path, FILES, []), Record, build)


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(UserError, match="not UTF-8"):
        read("b", choose("b", tmp_path, FILES, []), Record, build)


@pytest.mark.parametrize("text", ["__import__('os')", "[", "('a',)", "nan", "[" * 10_000])
def test_only_lists_are_lists(text: str) -> None:
    assert literal_list("['a', \"b's\"]") == ["a", "b's"]
    with pytest.raises(ValueError, match="expected a list such as"):
        literal_list(text)
