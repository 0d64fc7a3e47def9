"""studies/judge: what is learned is what the package computes, a small net learns, verdicts find their edits again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.perturb import Caption
from equipoise.perturb import judge as package
from equipoise.perturb.judge import SORTS, Pair, Reading
from equipoise.perturb.recipe import Proposal
from studies.judge import candidates, examples, learn, model

DOG = {"caption": "A black dog sits on a white couch", "others": ["a dog on a sofa", "a black dog that sits"]}
MAN: dict[str, Any] = {"caption": "A man eats", "others": []}
ROWS: list[dict[str, Any]] = [
    {**DOG, "op": "replace", "target": "attribute", "to": "grey", "by": "lexicon", "span": [2, 7]},
    {**DOG, "op": "replace", "target": "object", "to": "sofa", "by": "captions", "span": [28, 33]},
    {
        **DOG, "op": "swap", "sort": "quality", "first": [2, 7], "second": [22, 27], "into_first": "white",
        "into_second": "black",
    },
    {
        **DOG, "op": "swap", "sort": "noun", "first": [8, 11], "second": [28, 33], "into_first": "couch",
        "into_second": "dog",
    },
    {**MAN, "op": "replace", "target": "object", "to": "young woman", "by": "gender", "span": [2, 5]},
    {**MAN, "op": "replace", "target": "action", "to": "sits", "by": "judge", "span": [6, 10]},
]  # fmt: skip
VERDICTS = (0, 1, 2, 3, 2, 0)


def given() -> tuple[Any, list[str], Any]:
    """The rows as the learner has them, their words, and a net that has learned nothing."""
    made = examples.Data()
    for row, verdict in zip(ROWS, VERDICTS, strict=True):
        made.add(row, row, np.eye(4)[verdict])
    words = ["<pad>", "<unk>", *"a black dog sits on white couch sofa man eats grey woman that".split()]
    begin = torch.randn(len(words), model.VECTOR, generator=torch.Generator().manual_seed(0))
    begin[0] = 0
    torch.manual_seed(0)
    ids = {word: place for place, word in enumerate(words)}
    return examples.Arrays(made, ids), words, model.Judge(begin)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """The learner's output for all rows; the package reads with the same net."""
    arrays, words, net = given()
    for part in (net.r, net.out2, net.both2):
        part.weight.data *= 5  # so that each fact and each state tells
    model.write(net.eval(), words, ["dog", "man"], ["eat"], tmp_path / "judge.npz")
    with (tmp_path / "judge.npz").open("rb") as handle:
        stored = package.loaded(handle)
    monkeypatch.setattr(package, "net", lambda: stored)
    package._known.cache_clear()
    package._vectors.cache_clear()
    asked, _ = arrays.batch(np.arange(2), 0.0, 9, "cpu")
    with torch.no_grad():
        verdicts, ranks = net(*asked)
    yield verdicts.softmax(-1).numpy(), ranks.numpy()
    package._known.cache_clear()
    package._vectors.cache_clear()


def test_the_package_computes_what_was_learned(written: tuple[Any, Any]) -> None:
    for row, wanted in zip(ROWS, written[0], strict=True):
        reading = Reading(Caption(row["caption"], tuple(row["others"])))
        if row["op"] == "swap":
            sides = row["first"], row["second"], row["into_first"], row["into_second"]
            found = reading.swaps([Pair(SORTS.index(row["sort"]), *sides)])[0]
        else:
            found = reading.chances([Proposal(*row["span"], row["to"], row["target"], row["by"], 1.0)])[0]
        assert np.abs(found - wanted).max() < 0.004 and abs(found.sum() - 1) < 1e-5


def test_the_package_ranks_as_was_learned(written: tuple[Any, Any]) -> None:
    stored = package.net()
    reading = package.reading_of(Caption("A man eats"))
    package.find_places([(reading, [(2, 3)])])
    rank = reading.places[2, 3].rank @ stored.vector(["sits"]) + stored.weights["firstb.weight"][stored.ids["sits"], 0]
    assert abs(float(rank) - written[1][-1]) < 0.02


def test_what_was_written_is_read_again(written: tuple[Any, Any], tmp_path: Path) -> None:
    net, words, nouns, verbs = model.read_again(tmp_path / "judge.npz")
    assert words[:3] == ["<pad>", "<unk>", "a"] and (nouns, verbs) == (["dog", "man"], ["eat"])
    with torch.no_grad():
        found, _ = net.eval()(*given()[0].batch(np.arange(2), 0.0, 9, "cpu")[0])
    assert np.abs(found.softmax(-1).numpy() - written[0]).max() < 0.003


@pytest.mark.parametrize("again", [False, True])
def test_a_small_net_learns(monkeypatch: pytest.MonkeyPatch, again: bool) -> None:
    """Replacements and swaps told apart after some steps, in both passes: the loss goes the right way."""
    arrays, _, net = given()
    for size in ("CAPTIONS", "AGAIN"):
        monkeypatch.setattr(learn, size, 2)
    np.random.seed(0)
    net = learn.learned(net, learn.Given(arrays, arrays, arrays if again else None), 20, "cpu")
    asked, targets = arrays.batch(np.arange(2), 0.0, 9, "cpu")
    with torch.no_grad():
        assert net(*asked)[0].argmax(-1).tolist() == targets.argmax(-1).tolist() == list(VERDICTS)


def test_hidden_others_leave_no_trace() -> None:
    arrays, *_ = given()
    (_, told, shares, asked), _ = arrays.batch(np.arange(2), 1.0, 9, "cpu")
    assert not told.any() and not shares.any() and not asked["facts"][:, 6:9].any()
    assert arrays.batch(np.arange(2), 0.0, 9, "cpu")[0][3]["facts"][:, 6:9].any()


# ---------------------------------------------------------------------------- candidates

PHOTOS = [
    {
        "image": "val2014/COCO_val2014_000000000020.jpg",  # of the learning half
        "caption": ["A black dog sits on a white couch", "A dog on a sofa .", "A man eats a red apple"],
    }
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "coco").mkdir()
    (tmp_path / "coco" / "karpathy_test_first_half.json").write_text(json.dumps(PHOTOS))
    (tmp_path / "coco" / "captions_train2017_part.jsonl.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "flickr8k").mkdir()
    (tmp_path / "flickr8k" / "Flickr_8k.testImages.txt").write_text("2.jpg\n")
    (tmp_path / "flickr8k" / "captions.tsv").write_text("1.jpg#0\tA boy runs\n2.jpg#0\tA girl runs\n")
    (tmp_path / "more.jsonl").write_text(
        json.dumps({"corpus": "coco", "image": "v1", "texts": ["Two cats are next to a small dog", "Two cats"]}) + "\n"
    )
    return tmp_path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("op", ["replace", "swap"])
def test_verdicts_find_their_edits_again(data: Path, op: str) -> None:
    """pool, sheets, collect, verdicts: the same edits come out, with the letters of the readers."""
    more, pool, out = data / "more.jsonl", data / "pool.jsonl", data / "v.tsv.gz"
    candidates.pool(data, more, pool, candidates.ANY)
    assert {block["image"] for block in lines(pool)} == {PHOTOS[0]["image"], "1.jpg", "v1"}
    swaps = {row["text"] for block in lines(pool) for row in block["made"] if row["op"] == "swap"}
    assert {"A white dog sits on a black couch", "A cat is next to two small dogs"} <= swaps
    candidates.sheets(pool, 1, 9, data / "sheets", op)
    read = lines(data / "sheets" / "sheet0.jsonl")
    letters = "".join("ptig"[number % 4] for number in range(len(read)))
    (data / "sheets" / "labels0.txt").write_text("".join(f"{k} {one}\n" for k, one in enumerate(letters, 1)))
    candidates.collect(data / "sheets", out)
    candidates.verdicts(out, data, more, data / "v.jsonl")
    found = lines(data / "v.jsonl")
    assert {row["op"] for row in found} == {op}
    for row, wanted, letter in zip(found, read, letters, strict=True):
        assert row["verdict"] == "ptig".index(letter)
        same = {key: value for key, value in wanted.items() if key not in {"number", "corpus", "place"}}
        assert {key: row[key] for key in same} == same


def test_other_sheets_and_unknown_photos(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second folder adds its sheets; an edit that was not read and a photo that is not there are told, not lost."""
    out = data / "v.tsv.gz"
    about = {"corpus": "coco", "place": 0, "op": "replace", "target": "object", "by": "lexicon", "mark": ""}
    edit = {**about, "span": [5, 9], "to": "dogs"}
    for sheet, image in (("7", "v1"), ("8", PHOTOS[0]["image"])):
        folder = data / sheet
        folder.mkdir()
        rows = [{**edit, "image": image, "number": number} for number in (1, 2)]
        (folder / f"sheet{sheet}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / f"labels{sheet}.txt").write_text("1. t\n2 ?\n")
        candidates.collect(folder, out)
    assert "sheet 8: 1 of 2 edits have no verdict" in capsys.readouterr().out
    candidates.verdicts(out, data, None, data / "v.jsonl")
    assert [row["sheet"] for row in lines(data / "v.jsonl")] == [8]
    assert "1 verdicts are on captions that are neither" in capsys.readouterr().out
    candidates.verdicts(out, data, data / "more.jsonl", data / "v.jsonl")
    assert [(row["sheet"], row["verdict"]) for row in lines(data / "v.jsonl")] == [(7, 1), (8, 1)]


def test_only_what_passes() -> None:
    """For the second pass: what the package's own reader lets pass, and no more."""
    import random

    caption = Caption(DOG["caption"], tuple(DOG["others"]))  # type: ignore[arg-type]
    found = candidates.candidates(caption, random.Random(0), candidates.PASSED)
    proposals = [Proposal(*each.edit.span, each.edit.to, each.edit.target, each.edit.by, 1.0) for each in found]
    assert found and Reading(caption).chances(proposals)[:, 0].min() >= 0.6
    assert len(candidates.candidates(caption, random.Random(0))) > len(found)


def test_verdicts_that_are_kept_can_be_read() -> None:
    rows = candidates.read_rows(candidates.Path(candidates.__file__).with_name("verdicts.tsv.gz"))
    assert len(rows) > 62_757
    assert set(rows[0]) <= set(candidates.FIELDS) and all(row["verdict"] in {"0", "1", "2", "3"} for row in rows)
