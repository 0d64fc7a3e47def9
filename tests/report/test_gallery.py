"""Items to look at: from every class, inside the budget, whatever their texts and pictures are."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.data.items import ImageRef
from equipoise.evaluation.scores import Scores
from equipoise.report.chapters import read_chapters
from equipoise.report.gallery import build_gallery, choose, embedded
from equipoise.report.orderings import OUTCOMES

Runs = Callable[..., list[Path]]


def test_every_class_comes_before_any_comes_again(make_runs: Runs) -> None:
    (chapter,) = read_chapters(make_runs(800))
    first = [item for item, _ in zip(choose(chapter), range(40), strict=False)]
    for codes in chapter.codes:
        assert set(codes[first]) == set(codes)
    right = [np.isin(codes, OUTCOMES["right"][1]) for codes in chapter.codes]
    assert (right[0] & ~right[1])[first].any() and (right[1] & ~right[0])[first].any()
    whole = list(choose(chapter))
    assert sorted(whole) == list(range(800)), "each once"
    assert whole == list(choose(chapter)) and whole != list(choose(chapter, seed=1))


def test_pictures_are_small_and_within_the_budget(make_runs: Runs) -> None:
    chapters = read_chapters(make_runs())
    data = build_gallery(chapters, 200_000).data
    (part,) = data["chapters"]
    assert len(part["items"]) == 64 and len(data["pictures"]) == 8, "each picture once"
    with Image.open(io.BytesIO(base64.b64decode(data["pictures"][0]))) as image:
        assert (image.format, image.size) == ("JPEG", (160, 107))
    item = part["items"][0]
    number = item["i"]
    assert item["texts"] == [f"a cat number {number}", [f"one cat number {number}"], [f"a dog number {number}"]]
    row = chapters[0].entries[1].run.rows[number]
    assert item["scores"][1] == [row.caption, row.positives, row.negatives]
    assert base64.b64decode(part["codes"][0]) == chapters[0].codes[0].tobytes()
    small = build_gallery(chapters, 20_000)
    largest = max(map(len, data["pictures"]))
    assert len(json.dumps(small.data["chapters"]) + json.dumps(small.data["pictures"])) < 20_000 + largest
    items = small.data["chapters"][0]["items"]
    assert 0 < len(items) < 64 and 0 < len(small.data["pictures"]) < len({item["path"] for item in items})


def test_rows_are_made_once_an_item_and_not_by_every_run(make_runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    chapters = read_chapters(make_runs())
    made = []
    row = Scores.__getitem__
    monkeypatch.setattr(Scores, "__getitem__", lambda self, place: made.append(place) or row(self, place))
    items = build_gallery(chapters, 200_000).data["chapters"][0]["items"]
    assert len(made) == 2 * len(items), "for its texts and for its picture"


def test_missing_pictures_are_said(make_runs: Runs, tmp_path: Path) -> None:
    chapters = read_chapters(make_runs())
    (tmp_path / "photos" / "3.png").unlink()
    (tmp_path / "photos" / "5.png").write_bytes(b"no picture")
    found = build_gallery(chapters, 200_000)
    assert len(found.data["pictures"]) == 6
    assert "... and 1 more." in found.notes[0]
    (tmp_path / "photos").rename(tmp_path / "elsewhere")
    found = build_gallery(chapters, 200_000)
    assert not found.data["pictures"] and "no such folder" in found.notes[0] and "--images DIR" in found.notes[0]
    assert len(build_gallery(chapters, 200_000, tmp_path / "elsewhere").data["pictures"]) == 6


@pytest.mark.parametrize("text", ["</script><script>", "<!--", "]]>", "\u2028", "a & b"])
def test_embedded_json_stays_inside_its_element(text: str) -> None:
    found = embedded({"text": text})
    assert json.loads(found) == {"text": text}
    assert not set(found) & set("<>&\u2028") and found.isascii()


def test_boxes_are_shares_of_the_picture(make_runs: Runs) -> None:
    """The pictures are 300 by 200; what leaves the picture is cut off, and a picture without a box has none."""

    def boxed(number: int) -> dict[str, Any]:
        box = (30, 50, 150, 100) if number % 2 else (270, 150, 100, 100)
        return {"image": ImageRef(path=f"{number % 8}.png", box=box if number < 60 else None)}

    items = build_gallery(read_chapters(make_runs(change=boxed)), 4_000_000).data["chapters"][0]["items"]
    boxes = {item["i"]: item.get("box") for item in items}
    assert boxes[1] == [10, 25, 50, 50] and boxes[2] == [90, 75, 10, 25] and boxes[63] is None


def test_other_pictures_of_an_item(make_runs: Runs) -> None:
    def two(_: int) -> dict[str, Any]:
        return {"negative_images": (ImageRef(path="7.png", box=(0, 0, 30, 20)), ImageRef(path="6.png"))}

    (chapter,) = chapters = read_chapters(make_runs(16, change=two))
    data = build_gallery(chapters, 4_000_000).data
    item = next(item for item in data["chapters"][0]["items"] if item["i"] == 0)
    first, second = item["others"]
    assert (first["right"], first["path"], first["box"]) == (False, "7.png", [0, 0, 10, 10]) and "box" not in second
    assert first["scores"] == [rows.negative_images[0].caption for rows in chapter.rows(0)]
    assert len({first["picture"], second["picture"], item["picture"]}) == 3 <= len(data["pictures"]) <= 8


def test_boxes_without_pictures_are_left_out(make_runs: Runs, tmp_path: Path) -> None:
    chapters = read_chapters(make_runs(change=lambda _: {"image": ImageRef(path="1.png", box=(0, 0, 10, 10))}))
    (tmp_path / "photos").rename(tmp_path / "gone")
    assert not any("box" in item for item in build_gallery(chapters, 4_000_000).data["chapters"][0]["items"])
