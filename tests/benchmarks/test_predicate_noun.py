from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from equipoise.benchmarks import predicate_noun, registry
from equipoise.benchmarks.check import check
from equipoise.core.errors import UserError
from equipoise.evaluation.paper_metrics import mirrored
from equipoise.evaluation.scores import ItemScores


def record(number: int, right: str, wrong: str, pos: str = "object") -> dict[str, Any]:
    return {
        "id": number,
        "img_filename": f"{number}.png",
        "sentence_target": f"a man is {right}",
        "sentence_distractor": f"a man is {wrong}",
        "sentence_target_alt": f"the man, {right}",
        "sentence_distractor_alt": f"the man, {wrong}",
        "relationship_target": {"bounding_box": [0.5, 0.25, 0.25, 0.5]},
        "pos": pos,
        "open_images_split": "train",
    }


def write(folder: Path, *records: dict[str, Any]) -> Path:
    (folder / "eval_set.json").write_text(json.dumps(records))
    return folder


PAIR = (record(0, "singing", "running"), record(1, "running", "singing"))


def test_each_row_is_asked_in_both_wordings(tmp_path: Path) -> None:
    first, _, alt, _ = predicate_noun.load(write(tmp_path, *PAIR), [])
    assert (first.id, alt.id) == ("predicate-noun-first/0", "predicate-noun-alt/0")
    assert first.caption == alt.positives[0].text == "a man is singing"
    assert alt.caption == first.positives[0].text == "the man, singing"
    assert (first.negatives[0].text, alt.negatives[0].text) == ("a man is running", "the man, running")
    assert first.tags == {"split": "first", "pair": "0", "part": "predicate", "open_images": "train"}
    assert len(predicate_noun.load(tmp_path, ["alt"])) == 2


def test_rows_that_do_not_mirror_each_other_are_refused(tmp_path: Path) -> None:
    write(tmp_path, *PAIR, record(2, "singing", "running"), record(3, "running", "flying"), record(4, "a", "b"))
    with pytest.raises(
        UserError,
        match="4 of 6 pairs are not two rows that mirror each other: 'first 2 and 3', 'first 4 and 5', 'alt 2",
    ):
        predicate_noun.load(tmp_path, [])
    write(tmp_path, PAIR[0], PAIR[1] | {"pos": "subject"})
    with pytest.raises(UserError, match="2 of 2 pairs"):
        predicate_noun.load(tmp_path, [])


def test_problems_are_counted_once(tmp_path: Path) -> None:
    bad = PAIR[1] | {"relationship_target": {"bounding_box": [0.5, 0.25, 250, 0.5]}}
    with pytest.raises(UserError, match=r"1 problem\n.*record 1: relationship_target.bounding_box.2: .*found 250"):
        predicate_noun.load(write(tmp_path, PAIR[0], bad), [])


def test_boxes_become_pixels_of_the_photos(tmp_path: Path) -> None:
    write(tmp_path, *PAIR)
    with pytest.raises(UserError, match=r"2 problems(?s:.*)0\.png: no such file.* must lie in .*images"):
        predicate_noun.load_cropped(tmp_path, [])
    (tmp_path / "images").mkdir()
    Image.new("RGB", (40, 20)).save(tmp_path / "images" / "0.png")
    with pytest.raises(UserError, match=r"1 problem\n.*1\.png: no such file"):
        predicate_noun.load_cropped(tmp_path, [])
    Image.new("RGB", (80, 20)).save(tmp_path / "images" / "1.png")
    items = predicate_noun.load_cropped(tmp_path, ["first"])
    assert [item.image.box for item in items if item.image] == [(20, 5, 10, 10), (40, 5, 20, 10)]
    assert items[0].id == "predicate-noun-cropped-first/0"


def test_the_whole_file(shared_data: Path) -> None:
    items = predicate_noun.load(shared_data / "predicate_noun", [])
    assert Counter(item.tags["split"] for item in items) == {"first": 2584, "alt": 2584}
    first = [item for item in items if item.tags["split"] == "first"]
    assert Counter(item.tags["part"] for item in first) == {"predicate": 1486, "noun": 1098}
    assert Counter(item.tags["open_images"] for item in first)["test"] == 302
    assert len({item.image for item in items}) == 1673
    assert check(items, registry.get("predicate-noun")).findings == []


# ---------------------------------------------------------------------------- the paper's metric


def row(split: str, number: int, caption: float, negative: float, part: str = "noun") -> ItemScores:
    tags = {"split": split, "pair": str(number // 2), "part": part}
    return ItemScores(id=f"predicate-noun-{split}/{number}", caption=caption, negatives=[negative], tags=tags)


def test_a_model_that_likes_one_sentence_wins_rows_and_no_pair() -> None:
    liked = [row("first", 0, 0.9, 0.1), row("first", 1, 0.1, 0.9)]
    both = [row("first", 2, 0.9, 0.1, "predicate"), row("first", 3, 0.9, 0.1, "predicate")]
    tie = [row("first", 4, 0.9, 0.1), row("first", 5, 0.5, 0.5)]
    found = mirrored([*liked, *both, *tie, row("first", 6, 0.9, 0.1)])
    assert (found["pair_first"].n, found["incomplete"].value) == (3, 1)
    assert found["pair_first"].value == pytest.approx(1 / 3)
    assert (found["noun_first"].value, found["predicate_first"].value) == (0, 1)
    assert "one_wording" not in found


def test_wordings_are_compared_row_by_row() -> None:
    scores = [row("first", 0, 0.9, 0.1), row("first", 1, 0.9, 0.1), row("first", 2, 0.5, 0.5), row("first", 3, 0, 1)]
    scores += [row("alt", 0, 0.9, 0.1), row("alt", 1, 0.1, 0.9), row("alt", 2, 0.9, 0.1), row("alt", 3, 0, 1)]
    found = mirrored(scores)
    assert (found["both_wordings"].n, found["both_wordings"].value, found["one_wording"].value) == (4, 1 / 4, 1 / 4)
    assert (found["pair_first"].value, found["pair_alt"].value) == (1 / 2, 0)
