"""`equipoise audit --against`: training photos and captions in a test."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from equipoise import cli
from equipoise.audit.overlap import as_words, overlap, photo_id, photo_ids
from equipoise.audit.record import Audit, TextCheck
from equipoise.benchmarks import registry
from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, load_items, texts, write_items
from equipoise.data.readers.captions.groups import read_captions


def run(*arguments: str | Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["equipoise", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def item(number: int, photo: str | None, caption: str) -> Item:
    image = None if photo is None else ImageRef(path=photo)
    return Item(id=str(number), image=image, caption=caption, negatives=texts(f"{caption} upside down"))


def ids(checks: list[TextCheck]) -> dict[str, list[str]]:
    return {check.name: [one.id for one in check.found] for check in checks}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("coco/val2014/COCO_val2014_000000123456.jpg", ("COCO", "123456")),
        ("000000123456.jpg", ("COCO", "123456")),
        ("coco/123456.png", ("COCO", "123456")),
        ("val2017/123456", ("COCO", "123456")),
        ("VG_100K_2/123456.jpg", ("Visual Genome", "123456")),
        ("2408124.jpg", ("Visual Genome", "2408124")),
        ("1000268201_693b08cb0e.jpg", ("Flickr", "1000268201")),
        ("flickr30k/1000268201.jpg", ("Flickr", "1000268201")),
        ("123456.jpg", ("", "123456")),
        ("coconuts/123456.jpg", ("", "123456")),
        ("000000123.jpg", ("path", "000000123.jpg")),  # a row's number, as img2dataset writes it
        ("202611181430.jpg", ("path", "202611181430.jpg")),  # a date
        ("a/Kitchen.jpg", ("path", "a/Kitchen.jpg")),
    ],
)
def test_the_id_in_a_name(path: str, expected: tuple[str, str]) -> None:
    assert photo_id(path) == expected


def test_numbers_alone_are_of_the_set_of_the_other_photos(caplog: pytest.LogCaptureFixture) -> None:
    assert photo_ids(["000000000009.jpg", "25.jpg"], "x")["25.jpg"] == ("COCO", "25")
    assert photo_ids(["2408124.jpg", "25.jpg"], "x")["25.jpg"] == ("Visual Genome", "25")
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        assert photo_ids(["000000000009.jpg", "2408124.jpg", "25.jpg"], "x")["25.jpg"] == ("path", "25.jpg")
    assert "1 photos are numbers" in caplog.text


def test_captions_are_compared_without_case_and_punctuation() -> None:
    assert as_words(" A dog's  bed, red. ") == as_words("a dogs bed red") != as_words("a dogs red bed")


def test_photos_and_captions_of_each_kind_of_file(tmp_path: Path) -> None:
    items = [
        item(1, "COCO_val2014_000000000009.jpg", "a red bus"),
        item(2, "000000000010.jpg", "A dog, running."),
        item(3, "VG_100K/9.jpg", "..."),
        item(4, None, "a lamp"),
    ]
    expected = {"train_photos": ["1"], "train_captions": ["2"]}
    table = tmp_path / "train.tsv"
    table.write_text("title\tfilepath\ncoco/9\tcoco/000000000009.jpg\na dog running\tcoco/77.jpg\n")
    checks = overlap(items, table)
    assert ids(checks) == expected
    assert [(check.count, check.of, check.share) for check in checks] == [(1, 3, 1 / 3), (1, 4, 1 / 4)]
    for name in ("train.jsonl", "train.parquet"):
        trained = [item(8, "train2017/9.jpg", "a hill"), item(9, None, "a dog running")]
        write_items(tmp_path / name, trained)
        assert ids(overlap(items, tmp_path / name)) == expected


def test_a_file_without_photos_is_compared_by_captions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "train.txt").write_text("a lamp\n")
    with caplog.at_level(logging.WARNING):
        assert ids(overlap([item(1, "1.jpg", "A lamp.")], tmp_path / "train.txt")) == {"train_captions": ["1"]}
    assert "no photo is named" in caplog.text


def test_contents_find_renamed_photos_and_settle_equal_paths(tmp_path: Path) -> None:
    for place, bytes_ in {"test/1.jpg": b"one", "test/2.jpg": b"two", "train/1.jpg": b"two"}.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(bytes_)
    (tmp_path / "train.csv").write_text("image,caption\n1.jpg,a hill\n")
    items = [item(1, "1.jpg", "a cat"), item(2, "2.jpg", "a dog")]
    assert ids(overlap(items, tmp_path / "train.csv"))["train_photos"] == ["1"]
    found = overlap(items, tmp_path / "train.csv", tmp_path / "test", tmp_path / "train")
    assert ids(found) == {"train_photos": [], "train_contents": ["2"], "train_captions": []}
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(UserError, match="none of the 1 photos"):
        overlap(items, tmp_path / "train.csv", tmp_path / "test", tmp_path / "elsewhere")


def test_the_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    mine, train, clean = tmp_path / "mine.jsonl", tmp_path / "train.csv", tmp_path / "clean.jsonl"
    write_items(mine, [item(n, f"{n:012d}.jpg", f"the bus {'x' * n}") for n in range(1, 9)])
    train.write_text("image,caption\n" + "".join(f"COCO_train2014_{n:012d}.jpg,a hill\n" for n in range(1, 8)))
    arguments = ("audit", mine, "--against", train)
    assert run(*arguments, "--json", "--clean", clean, monkeypatch=monkeypatch) == 1
    record = Audit.model_validate_json(capsys.readouterr().out)
    assert (record.checks[0].name, record.checks[0].count, record.checks[0].of) == ("train_photos", 7, 8)
    assert [one.id for one in record.checks[0].found] == [one.id for one in record.bad] == list("1234567")
    assert [one.id for one in load_items(clean)] == ["8"]
    assert run(*arguments, monkeypatch=monkeypatch) == 1
    assert "Photo in the training file: 7 of 8 (87.5 %)" in capsys.readouterr().out
    assert run(*arguments, "--out", tmp_path / "page.html", monkeypatch=monkeypatch) == 1
    assert "in the training file, a copy" in (tmp_path / "page.html").read_text()
    assert run("audit", clean, "--against", train, monkeypatch=monkeypatch) == 0
    for more in ("--train-images", "--models", "--images"):
        assert run(*arguments, more, tmp_path, monkeypatch=monkeypatch) == 2
    assert run("audit", mine, "--against", tmp_path / "none.csv", monkeypatch=monkeypatch) == 2


def test_negclip_against_coco_val(shared_data: Path) -> None:
    """NegCLIP's validation file, the one that is there, has photos of COCO val2014; val2017 is a part of that."""
    negclip = shared_data / "negclip" / "valid_neg_clip.tsv"
    groups = read_captions(shared_data / "coco" / "captions_val2017.json.gz")
    coco = [
        Item(id=one.image or "", image=ImageRef(path=one.image or ""), caption=one.records[0].text) for one in groups
    ]
    found = {check.name: (check.count, check.of) for check in overlap(coco, negclip)}
    assert found == {"train_photos": (583, 5_000), "train_captions": (624, 5_000)}
    crepe, _ = registry.load("sugarcrepe", shared_data / "sugarcrepe")
    found = {check.name: (check.count, check.of) for check in overlap(crepe, negclip)}
    assert found == {"train_photos": (751, 7_266), "train_captions": (173, 7_266)}
