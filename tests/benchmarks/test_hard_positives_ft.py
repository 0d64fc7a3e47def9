"""Made-up records in the published layout: one bare JSON string per line, line k about COCO's k-th caption."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.benchmarks import hard_positives_ft, registry
from equipoise.core.errors import UserError

CAPTIONS = ["A bicycle parked by a wall", "A cat and a dog on a mat", "Two men riding a red bus"]
REPLACED = ["A bike parked by a wall", "A feline and a dog on a mat", "Two guys riding a red bus"]
SWAPPED = ["None", "A dog and a cat on a mat", "None"]


def write(folder: Path, **files: list[str]) -> None:
    (folder / "annotations").mkdir(exist_ok=True)
    notes = [{"image_id": 9 + place // 2, "id": 100 + place, "caption": text} for place, text in enumerate(CAPTIONS)]
    (folder / "annotations" / "captions_train2017.json").write_text(json.dumps({"images": [], "annotations": notes}))
    (folder / "hard_positives_ft").mkdir(exist_ok=True)
    for name, lines in files.items():
        (folder / "hard_positives_ft" / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_line_k_is_the_answer_to_caption_k(tmp_path: Path) -> None:
    write(tmp_path, replace_hp=REPLACED, swap_hp=SWAPPED)
    items, benchmark = registry.load("hard-positives-ft", tmp_path)
    assert benchmark.name == "hard-positives-ft"
    assert [item.id for item in items] == [f"hard-positives-ft-train/{number}" for number in (100, 101, 102)]
    assert [item.caption for item in items] == CAPTIONS
    assert [[text.text for text in item.positives] for item in items] == [
        [REPLACED[0]],
        [REPLACED[1], SWAPPED[1]],
        [REPLACED[2]],
    ]
    assert [text.edit.op for text in items[1].positives if text.edit] == ["replace", "swap"]
    assert [item.image.path for item in items if item.image] == [
        "train2017/000000000009.jpg",
        "train2017/000000000009.jpg",
        "train2017/000000000010.jpg",
    ]
    assert not any(item.negatives for item in items)


def test_one_of_the_two_files_is_enough(tmp_path: Path) -> None:
    write(tmp_path, swap_hp=SWAPPED)
    assert [len(item.positives) for item in hard_positives_ft.load(tmp_path, [])] == [0, 1, 0]


def test_another_number_of_lines_or_another_order_is_refused(tmp_path: Path) -> None:
    write(tmp_path, replace_hp=REPLACED[:2])
    with pytest.raises(UserError, match="2 lines, but COCO's annotations hold 3 captions"):
        hard_positives_ft.load(tmp_path, [])
    write(tmp_path, replace_hp=[REPLACED[2], REPLACED[0], "Many elephants under trees"])
    with pytest.raises(UserError, match="do not belong to the captions of the same number"):
        hard_positives_ft.load(tmp_path, [])


def test_what_is_no_string_is_named(tmp_path: Path) -> None:
    write(tmp_path, replace_hp=[*REPLACED[:2], {"text": "x"}])  # type: ignore[list-item]
    with pytest.raises(UserError, match=r"line 3: expected a string, found \{"):
        hard_positives_ft.load(tmp_path, [])


def test_without_the_captions_it_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "replace_hp.jsonl").write_text('"a"\n')
    with pytest.raises(UserError, match=r"captions_train2017\.json"):
        hard_positives_ft.load(tmp_path, [])
