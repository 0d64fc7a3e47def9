from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from equipoise.benchmarks import negclip
from equipoise.core.errors import UserError


def test_records_in_the_published_layout(samples: Path) -> None:
    items = negclip.load(samples / "negclip", [])
    assert [item.id for item in items] == [f"negclip-valid/{row}" for row in range(30)]
    assert Counter(len(item.negatives) for item in items) == {1: 21, 2: 9}
    assert all(len(item.tags["hard_images"].split()) == 3 for item in items)
    hard = json.loads(items[0].tags["hard_images"])
    assert hard == ["negclip-valid/1", "negclip-valid/2", "negclip-valid/4000"]
    quoted = items[12]
    assert quoted.image is not None and quoted.image.path == "coco/val2014/COCO_val2014_000000007372.jpg"
    assert quoted.caption == "A cook's spoon lying near the waiter's cup."
    assert [text.text for text in quoted.negatives] == ["A waiter 's spoon lying near the cook 's cup ."]


def test_the_table_itself_can_be_named(samples: Path) -> None:
    assert len(negclip.load(samples / "negclip" / "valid_neg_clip.tsv", [])) == 30


def test_problems_come_with_line_and_column(tmp_path: Path) -> None:
    lines = [
        "\ttitle\tfilepath\tneg_caption\tneg_image",
        "0\ta cat\tcoco/a.jpg\t[]\t[1]",
        "1\ta\tb.jpg\t['x', 2]\tnone",
    ]
    (tmp_path / "train_neg_clip.tsv").write_text("\n".join(lines))
    with pytest.raises(UserError) as caught:
        negclip.load(tmp_path, [])
    assert "line 2: neg_caption: value should have at least 1 item" in str(caught.value)
    assert "line 3: neg_caption.1: input should be a valid string; found 2" in str(caught.value)
    assert "line 3: neg_image: expected a list such as" in str(caught.value)
