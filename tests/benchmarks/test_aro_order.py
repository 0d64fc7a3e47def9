from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests import own_records

from equipoise.benchmarks import aro_order
from equipoise.benchmarks.aro_order import negatives, pre_caption
from equipoise.data.items import Item

RECORDS = [
    {"image": "val2014/COCO_val2014_000000391895.jpg", "caption": ["A man with a red helmet on a small moped. ", "Hi"]},
    {"image": "val2014/COCO_val2014_000000060623.jpg", "caption": ["A young girl inhales; then blows out a candle!"]},
]


def load(folder: Path, records: list[dict[str, object]]) -> list[Item]:
    (folder / "coco_karpathy_test.json").write_text(json.dumps(records))
    return aro_order.load_coco(folder, [])


def test_pre_caption_is_blips() -> None:
    assert pre_caption('A "big"  dog; (brown), isn\'t it?!\n') == "a big dog brown , isn't it?"
    assert pre_caption("word " * 40) == " ".join(["word"] * 30)


def test_the_shuffles_are_frozen() -> None:
    """If this changes, every published number of this benchmark changes its meaning: do not just update it."""
    assert [text.text for text in negatives("A man with a red helmet on a small moped.", "0/x#0")] == [
        "a man with a small helmet on a red moped",
        "man a a red helmet a with small moped on",
        "a man with red a helmet a on small moped",
        "a man with moped a red helmet on a small",
    ]


def test_each_kind_of_shuffle_changes_what_it_may() -> None:
    caption = "a young man with a red helmet rides a small moped on a dirt road"
    found = {text.edit.by: text.text.split() for text in negatives(caption, "s") if text.edit}
    words = caption.split()
    nouns = {"man", "helmet", "moped", "dirt", "road", "young", "red", "small"}
    assert all(sorted(shuffled) == sorted(words) and shuffled != words for shuffled in found.values())
    kept = [i for i, word in enumerate(words) if word not in nouns]
    assert [found["nouns_and_adjectives"][i] for i in kept] == [words[i] for i in kept]
    kept = [i for i, word in enumerate(words) if word in nouns]
    assert [found["all_but_nouns_and_adjectives"][i] for i in kept] == [words[i] for i in kept]
    for start in range(0, len(words), 3):
        assert sorted(found["within_trigrams"][start : start + 3]) == sorted(words[start : start + 3])
    assert words[:3] in [found["trigrams"][i : i + 3] for i in range(len(words))]


def test_any_subset_gives_the_same_items_and_nothing_is_a_forced_tie(tmp_path: Path) -> None:
    whole = load(tmp_path, RECORDS)
    assert load(tmp_path, RECORDS[1:]) == whole[1:]
    assert [item.id for item in whole] == [
        "aro-coco-order-test/COCO_val2014_000000391895#0",
        "aro-coco-order-test/COCO_val2014_000000060623#0",
    ], "a caption of one word has no shuffle and is left out"
    for item in whole:
        shuffles = [text.text for text in item.negatives]
        assert len({item.caption, *shuffles}) == 5


def test_real_captions(whole_data: Path | None, tmp_path: Path) -> None:
    corpora = [own_records.captions()]
    if whole_data is not None:
        corpora.append(json.loads((whole_data / "coco" / "karpathy_test_first_half.json").read_text())[:200])
    for records in corpora:
        items = load(tmp_path, records)
        assert len(items) == sum(len(record["caption"]) for record in records)
        assert sum(len(item.negatives) == 4 for item in items) / len(items) > 0.99


def test_no_caption_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="record 0: caption"):
        load(tmp_path, [{"image": "a.jpg", "caption": []}])
