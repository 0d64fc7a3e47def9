"""Items to look at: from every class, inside the budget, whatever their texts and pictures are."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

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
