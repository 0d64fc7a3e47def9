"""Large files are read by column: the same records, and the same words where something is wrong, as line by line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise import items as items_module
from equipoise.errors import UserError
from equipoise.evaluation import scores as scores_module
from equipoise.evaluation.scores import read_scores
from equipoise.formats import json_columns
from equipoise.items import load_items

ITEM: dict[str, Any] = {
    "id": "a/0",
    "image": {"path": "photos/1.jpg", "box": None},
    "caption": "a cat on a mat",
    "positives": [{"text": "one cat", "edit": {"op": "replace", "target": "object", "from": "a", "to": "one"}}],
    "negatives": [{"text": "a dög", "edit": {"op": "swap", "span": [0, 1]}}, {"text": "ein Hund", "edit": None}],
    "tags": {"split": "x", "type": "y"},
}
SCORE: dict[str, Any] = {
    "id": "a/0",
    "image": "photos/1.jpg",
    "caption": 0.25,
    "positives": [0.5, 1],
    "negatives": [-1.5e-7, 0.1, 3],
    "tags": {"split": "x", "type": "y"},
    "outcome": {"original": True, "tie": False},
    "texts": {"caption": "a", "positives": ["b", "c"], "negatives": ["d", "e", "f"]},
}


def line(record: dict[str, Any], number: int = 0, **changed: Any) -> str:
    return json.dumps({**record, "id": f"a/{number}", **changed}, ensure_ascii=False)


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def item_with(field: str, value: Any) -> str:
    """An item whose first negative has another text or edit."""
    return line(ITEM, 999, negatives=[{**ITEM["negatives"][0], field: value}])


ANY = [  # what is odd in both kinds of lines: good or bad, the reader by line says
    "",
    "  \t",
    "{",
    "[1, 2]",
    "null",
    "{}",
    '{"id": "b"}',
    "\x00",
    '{"id": "b", "caption": "\x01"}',
    '{"id": "b", "id": "c", "caption": "x", "negatives": []}',
]
ITEMS = [
    *ANY,
    line(ITEM, 1),  # an id twice
    line(ITEM, 999, id=""),
    line(ITEM, 999, id=5),
    line(ITEM, 999, id=None),
    line(ITEM, 999, caption=" \u3000"),
    line(ITEM, 999, caption="\u732b"),
    line(ITEM, 999, caption=None),
    line(ITEM, 999, caption="\u001c\n\u0085"),
    json.dumps({**ITEM, "id": "\U0001f63a"}),  # surrogates
    line(ITEM, 999).replace("a cat", "\\ud800"),
    line(ITEM, 999).replace("a cat", "\\udc00 x"),
    line(ITEM, 999).replace("a cat", 'a \\"cat\\u0000'),
    line(ITEM, 999).replace('"caption"', '"caption" '),
    line(ITEM, 999).replace('"caption": ', '"caption": "b", "capti\\u006fn": '),
    line(ITEM, 999) + " " + line(ITEM, 998),
    line(ITEM, 999) + line(ITEM, 998),
    line(ITEM, 999) + " ",
    line(ITEM, 999) + "}",
    line(ITEM, 999).replace(', "positives"', '\n, "positives"'),
    line(ITEM, 999).replace(', "positives"', ',\n "positives"') + line(ITEM, 998),
    line(ITEM, 999, colour="red"),
    line(ITEM, 999, image=None),
    line(without(ITEM, "image", "positives", "tags"), 999),
    line(ITEM, 999, image={"path": "../x.jpg"}),
    line(ITEM, 999, image={"path": "a/..b.jpg"}),
    line(ITEM, 999, image={"path": "/x.jpg"}),
    line(ITEM, 999, image={"path": "\n:x.jpg"}),
    line(ITEM, 999, image={"path": "c:x.jpg"}),
    line(ITEM, 999, image={"path": "a\\x.jpg"}),
    line(ITEM, 999, image={"path": ""}),
    line(ITEM, 999, image={}),
    line(ITEM, 999, image={"path": "x.jpg", "box": [0, 0, 1, 2.5]}),
    line(ITEM, 999, image={"path": "x.jpg", "box": [0, 0, 0, 2.5]}),
    line(ITEM, 999, image={"path": "x.jpg", "box": [0, 0, float("nan"), 2.5]}),
    line(ITEM, 999, positives=None),
    line(ITEM, 999, positives=[None]),
    line(ITEM, 999, positives=[], negatives=[]),
    line(ITEM, 999, tags=None),
    line(ITEM, 999, tags={}),
    line(ITEM, 999, tags={"split": None, "type": "y"}),
    line(ITEM, 999, tags={"split": 1, "type": "y"}),
    line(ITEM, 999, tags={"type": "y", "split": "x"}),
    line(ITEM, 999, tags={"split": "x", "type": "y", "more": "z"}),
    line(ITEM, 999).replace('"type": "y"', '"type": "y", "type": "z"'),
    item_with("text", ""),
    item_with("text", None),
    item_with("text", "\t"),
    item_with("edit", {}),
    item_with("edit", {"op": "rename"}),
    item_with("edit", {"op": None}),
    item_with("edit", {"op": "add", "target": "colour"}),
    item_with("edit", {"op": "add", "source": "a"}),
    item_with("edit", {"op": "add", "from": None, "span": None}),
    item_with("edit", {"op": "add", "span": [1]}),
    item_with("edit", {"op": "add", "span": [1, 2, 3]}),
    item_with("edit", {"op": "add", "span": [1, None]}),
    item_with("edit", {"op": "add", "span": [1, 2.0]}),
    item_with("edit", {"op": "add", "span": [1, 2**70]}),
    line(ITEM, 999, negative_images=[{"path": "b.jpg"}], paired=True),
    line(ITEM, 999, paired=True),
    line(ITEM, 999, paired=None),
]
SCORES = [
    *ANY,
    line(SCORE, 1),
    line(SCORE, 999, id=""),
    line(SCORE, 999, id=None),
    line(SCORE, 999, image=None),
    line(SCORE, 999, image=5),
    line(SCORE, 999, caption=None),
    line(SCORE, 999, caption="0.5"),
    line(SCORE, 999, caption=True),
    line(SCORE, 999, caption=float("nan")),
    line(SCORE, 999, caption=float("inf")),
    line(SCORE, 999).replace("0.25", "1e999"),
    line(SCORE, 999).replace("0.25", "-0"),
    line(SCORE, 999).replace("0.25", "-0.0"),
    line(SCORE, 999).replace("0.25", "2e-400"),
    line(SCORE, 999).replace("0.25", "0.1000000000000000055511151231257827021181583404541015625"),
    line(SCORE, 999).replace("0.25", "123456789012345678901234567890"),
    line(SCORE, 999).replace("0.25", "1" * 5000),
    line(SCORE, 999).replace("0.25", ".5"),
    line(SCORE, 999).replace("0.25", "07"),
    line(without(SCORE, "positives", "tags", "image", "outcome", "texts"), 999),
    line(SCORE, 999, positives=None),
    line(SCORE, 999, positives=[None]),
    line(SCORE, 999, positives=[]),
    line(SCORE, 999, negatives=[]),
    line(SCORE, 999, negatives=None),
    line(SCORE, 999, negatives=[0.5, float("-inf")]),
    line(SCORE, 999, tags=None),
    line(SCORE, 999, tags={}),
    line(SCORE, 999, tags={"type": "y", "split": None}),
    line(SCORE, 999, tags={"split": "x", "more": "z"}),
    line(SCORE, 999, outcome={"images": {"tie": True}}),
    line(SCORE, 999, outcome=5),
    line(SCORE, 999, colour="red"),
    line(SCORE, 999, paired=True),
    line(SCORE, 999).replace('"tie": false', '"tie": false, "tie": true'),
    line(
        SCORE, 999, negative_images=[{"image": "b", "caption": 1, "positives": [1.0, 2.0], "negatives": [1.0, 2.0, 3]}]
    ),
    line(SCORE, 999, text={"caption_positives": [], "caption_negatives": [], "positives_negatives": []}),
]


def outcome(read: Callable[[Path], Any], path: Path) -> Any:
    """The records of a file to the last bit, or what is said of it."""
    try:
        return [repr(record) for record in read(path)]
    except UserError as error:
        return str(error)


def both_ways(
    read: Callable[[Path], Any], path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch, end: str = "\n"
) -> Any:
    """By column and by line; that is the same, and is returned."""
    path.write_bytes(end.join(lines).encode() + end.encode())
    monkeypatch.setattr(json_columns, "LARGE", 2**60)
    by_line = outcome(read, path)
    monkeypatch.setattr(json_columns, "LARGE", 0)
    assert outcome(read, path) == by_line
    return by_line


def judged(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[bool]:
    """Of each block that will be read, whether its columns were enough."""
    work, found = getattr(module, name), []

    def noted(block: bytes) -> Any:
        answer = work(block)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(module, name, noted)
    return found


KINDS = {
    "items": (ITEM, ITEMS, load_items, items_module, "_good_block"),
    "scores": (SCORE, SCORES, read_scores, scores_module, "_columns"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_odd_line_is_told_alike(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, odd, read, module, name = KINDS[kind]
    monkeypatch.setattr(json_columns, "BLOCK", 1500)
    good = [line(record, number) for number in range(20)]
    found = judged(monkeypatch, module, name)
    assert len(both_ways(read, tmp_path / "good.jsonl", good, monkeypatch)) == 20
    assert len(found) > 3 and all(found)
    both_ways(read, tmp_path / "good.jsonl", good, monkeypatch, end="\r\n")
    assert all(found)
    for one in odd:
        both_ways(read, tmp_path / "odd.jsonl", [*good[:10], one, *good[10:]], monkeypatch)
    assert not all(found)
    both_ways(read, tmp_path / "odd.jsonl", odd, monkeypatch)
    (tmp_path / "empty.jsonl").write_text("")
    assert "holds no" in both_ways(read, tmp_path / "empty.jsonl", [], monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_many_problems_tells_all_of_them_in_order(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, odd, read, module, name = KINDS[kind]
    monkeypatch.setattr(json_columns, "BLOCK", 1500)
    found = judged(monkeypatch, module, name)
    lines = [line(record, number) for number in range(60)]
    lines[7], lines[50] = "{", line(record, 50, caption=[])
    told = both_ways(read, tmp_path / "two.jsonl", lines, monkeypatch)
    assert "2 problems" in told and told.index("line 8: not JSON") < told.index("line 51: caption: ")
    assert True in found and False in found
    lines[55] = lines[3]
    assert "line 56: id: 'a/3' is already used in line 4" in both_ways(read, tmp_path / "a.jsonl", lines, monkeypatch)
    rng = random.Random(0)
    for _ in range(20):
        mixed = [rng.choice(odd) if rng.random() < 0.05 else line(record, number) for number in range(60)]
        both_ways(read, tmp_path / "mixed.jsonl", mixed, monkeypatch)
    path = tmp_path / "bytes.jsonl"
    for damage in (b"\xff", b"\x00", b"\n", b'"', b"\xef\xbb\xbf"):
        for at in (0, 700, 3000):
            whole = "\n".join(lines[8:50]).encode()
            path.write_bytes(whole[:at] + damage + whole[at:])
            monkeypatch.setattr(json_columns, "LARGE", 2**60)
            by_line = outcome(read, path)
            monkeypatch.setattr(json_columns, "LARGE", 0)
            assert outcome(read, path) == by_line


def test_bytes_that_are_changed_at_random_are_told_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow must not take what pydantic refuses, nor anything else of it: 300 files with a few other bytes each."""
    rng = random.Random(1)
    path = tmp_path / "changed.jsonl"
    taken = 0
    for turn in range(300):
        record, _, read, *_ = KINDS[("items", "scores")[turn % 2]]
        text = bytearray("\n".join(line(record, number) for number in range(3)).encode())
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.randrange(len(text))
            new = rng.choice(
                (b"", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b" ", b"\n", b"0", b"-", b"e", b"u")
            )
            text[at : at + rng.choice((0, 1, 2))] = new
        path.write_bytes(bytes(text))
        monkeypatch.setattr(json_columns, "LARGE", 2**60)
        by_line = outcome(read, path)
        monkeypatch.setattr(json_columns, "LARGE", 0)
        assert outcome(read, path) == by_line, bytes(text)
        taken += isinstance(by_line, list)
    assert 10 < taken < 290


def test_of_a_run_of_ours_the_texts_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_columns, "BLOCK", 1500)
    found = judged(monkeypatch, scores_module, "_columns")
    lines = [line(SCORE, number) for number in range(20)]
    lines[3] = line(SCORE, 3, texts={"caption": 'a, "texts": {"caption": "', "positives": ["}"], "negatives": []})
    lines[8] = line(without(SCORE, "texts"), 8)
    lines[9] = line(SCORE, 9, boxes=[None, [1.0, 2.0, 3.0, 4.0]])
    rows = both_ways(lambda path: read_scores(path, doubled=False), tmp_path / "a.jsonl", lines, monkeypatch)
    assert len(rows) == 20 and all(found)
    lines[12] = line(SCORE, 12, caption="")
    told = both_ways(lambda path: read_scores(path, doubled=False), tmp_path / "a.jsonl", lines, monkeypatch)
    assert "line 13: caption" in told


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_as_many_objects_as_lines_is_not_enough(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One object over two lines and two on one: Arrow counts three rows, in three lines."""
    assert "not JSON" in both_ways(
        load_items, tmp_path / "a.jsonl", [line(ITEM), line(ITEM, 2) + line(ITEM, 3), line(ITEM, 4)], monkeypatch, end
    )
    over_two = line(ITEM, 1, positives=[{"text": "a"}, {"text": "b"}])
    for cut in ("}, {", ", ", '": '):
        first, rest = over_two.split(cut, 1)
        between = cut.replace(" ", "\n")
        two = line(ITEM, 2) + line(ITEM, 3)
        assert "not JSON" in both_ways(
            load_items, tmp_path / "a.jsonl", [line(ITEM), first + between + rest, two], monkeypatch, end
        )


def test_a_line_without_end_is_refused_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_columns, "BLOCK", 1500)
    monkeypatch.setattr("equipoise.records.MOST_BYTES", 4000)
    good = [line(ITEM, number) for number in range(20)]
    for size in (3000, 3900, 4100, 9000):
        told = both_ways(
            load_items, tmp_path / "a.jsonl", [*good, line(ITEM, 99, caption="a" * size), "{"], monkeypatch
        )
        assert ("longer than 4,000 bytes" in told) == (size > 3500)
