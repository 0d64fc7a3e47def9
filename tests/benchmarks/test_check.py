from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from equipoise.benchmarks import registry
from equipoise.benchmarks.check import CheckReport, check
from equipoise.core.errors import UserError
from equipoise.data.items import Box, ImageRef, Item, texts

sugarcrepe = registry.get("sugarcrepe")


def item(
    name: str,
    caption: str,
    *negatives: str,
    positives: tuple[str, ...] = (),
    image: str = "a.jpg",
    box: Box | None = None,
) -> Item:
    return Item(
        id=name,
        image=ImageRef(path=image, box=box),
        caption=caption,
        positives=texts(*positives),
        negatives=texts(*negatives),
        tags={"split": "swap_obj"},
    )


def found(report: CheckReport, what: str) -> tuple[int, list[str]]:
    matching = [finding for finding in report.findings if what in finding.what]
    return (matching[0].count, matching[0].examples) if matching else (0, [])


def test_clean_items_have_no_findings() -> None:
    report = check([item("1", "a dog", "a cat", positives=("one dog",)), item("2", "a cow", "a pig")])
    assert report.ok and report.findings == [] and report.lines()[-1] == "ok"
    assert report.counts == {"swap_obj": (2, None)}


def test_counts_are_compared_with_the_published_ones() -> None:
    report = check([item("1", "a dog", "a cat")], sugarcrepe)
    assert not report.ok
    assert found(report, "count is not the published one") == (1, ["swap_obj: 1 instead of 245"])
    assert found(report, "not here")[0] == 6
    whole = check([item(str(i), f"dog {i}", "a cat") for i in range(245)], sugarcrepe)
    assert whole.ok and "  swap_obj: 245 as published" in whole.lines()


def test_defects_of_items() -> None:
    report = check(
        [
            item("same", "a dog", "a cat"),
            item("again", "A  dog", "a cat"),
            item("other-box", "a dog", "a cat", box=(0, 0, 1, 1)),
            item("tie", "a DOG ON a mat", "a dog on a  mat"),
            item("tie-by-positive", "a boat", "a ship", positives=("a Ship",)),
            item("idle", "a cup", "a mug", positives=("A cup",)),
            item("contrary", "a cat", "a horse"),
            item("nothing", "a tree"),
        ]
    )
    assert found(report, "twice") == (1, ["again is same again"])
    assert found(report, "forced ties")[0] == 2
    assert [line.split(":")[0] for line in found(report, "forced ties")[1]] == ["tie", "tie-by-positive"]
    assert found(report, "read the same as their caption") == (1, ["idle: 'a cup'"])
    assert found(report, "right in one item") == (1, ["'a cat': right in contrary, wrong in same"])
    assert found(report, "without a negative") == (1, ["nothing"])
    assert report.ok, "the others can be judged, as perturb's own output"


def test_items_without_a_negative_are_a_note_as_long_as_others_can_be_judged() -> None:
    some = check([item("1", "a dog", "a cat"), item("2", "a tree"), item("3", "a house")])
    assert (
        some.ok
        and "  2 items without a negative: they are not judged, the others are; train takes them" in some.lines()
    )
    assert some.lines().index("To know:") < some.lines().index("    2")
    none = check([item("2", "a tree"), item("3", "a house")])
    assert not none.ok and "  2 items without a negative: none can be judged" in none.lines()
    published = check([item(str(i), f"dog {i}", *["a cat"] * (i > 0)) for i in range(245)], sugarcrepe)
    assert not published.ok, "a published benchmark with an item less is another benchmark"


def test_a_text_that_several_items_call_right_contradicts_even_if_one_of_them_is_the_item_itself() -> None:
    tie = item("tie", "a dog", "A dog")
    report = check([tie, item("other", "a dog", "a cat")])
    assert found(report, "right in one item") == (1, ["'A dog': right in other, wrong in tie"])
    assert found(check([tie]), "right in one item")[0] == 0


def _huge_png(path: Path) -> None:
    """A valid header that claims 20,000 x 20,000 pixels, and nothing behind it."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header)))


def test_images_are_opened_whole(tmp_path: Path) -> None:
    Image.effect_noise((64, 64), 50).convert("RGB").save(tmp_path / "good.jpg")
    (tmp_path / "short.jpg").write_bytes((tmp_path / "good.jpg").read_bytes()[:-400])
    (tmp_path / "text.jpg").write_text("not an image")
    _huge_png(tmp_path / "huge.png")
    steps: list[int] = []
    names = ["good.jpg", "short.jpg", "text.jpg", "huge.png", *(f"gone{i}.jpg" for i in range(7)), "gone0.jpg"]
    items = [item(f"{i}", f"caption {i}", "wrong", image=name) for i, name in enumerate(names)]
    items.append(item("box", "a", "b", image="good.jpg", box=(70, 0, 5, 5)))
    report = check(items, None, tmp_path, steps.append)
    assert not report.ok
    assert found(report, "missing") == (7, [f"gone{i}.jpg" for i in range(7)])
    count, problems = found(report, "cannot be used")
    assert count == 4 and [problem.split(":")[0] for problem in problems] == [
        "short.jpg",
        "text.jpg",
        "huge.png",
        "good.jpg",
    ]
    assert sum(steps) == 12, "4 images, 7 that are missing and a box"
    assert "    ... and 2 more (--json has all)" in report.lines()


def test_good_images_are_ok(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "a.jpg")
    report = check([item("1", "a", "b")], None, tmp_path)
    assert report.ok and "all opened" in report.lines()[0]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--images is the folder of the images"):
        check([item("1", "a", "b")], None, tmp_path / "none")


def test_contradictions_of_replace(replace_items: list[Item]) -> None:

    report = check(replace_items, registry.get("replace"))
    assert found(report, "right in one item")[0] == 15
