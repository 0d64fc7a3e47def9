from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from equipoise.benchmarks import negclip
from equipoise.errors import UserError


def test_real_records(samples: Path) -> None:
    items = negclip.load(samples / "negclip", [])
    assert [item.id for item in items] == [f"negclip-valid/{row}" for row in range(60)]
    assert Counter(len(item.negatives) for item in items) == {1: 37, 2: 18, 3: 4, 4: 1}
    assert all(len(item.tags["hard_images"].split()) == 3 for item in items)
    hard = json.loads(items[0].tags["hard_images"])
    assert hard == ["negclip-valid/2973", "negclip-valid/1515", "negclip-valid/2235"]
    quoted = items[48]
    assert quoted.image is not None and quoted.image.path == "coco/val2014/COCO_val2014_000000551952.jpg"
    assert quoted.caption == "A white truck filled with motorcycle on it's flatbed."
    assert [text.text for text in quoted.negatives] == ["A white motorcycle filled with truck on it 's flatbed ."]


def test_the_table_itself_can_be_named(samples: Path) -> None:
    assert len(negclip.load(samples / "negclip" / "valid_neg_clip.tsv", [])) == 60


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
