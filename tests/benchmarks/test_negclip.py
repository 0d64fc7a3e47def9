from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from equipoise.benchmarks import negclip
from equipoise.errors import UserError


def test_counts_of_the_real_file(shared_data: Path) -> None:
    items = negclip.load(shared_data / "negclip", [])
    assert len(items) == 4839
    sizes = Counter(len(item.negatives) for item in items)
    assert sizes == {1: 2891, 2: 1418, 3: 480, 4: 47, 5: 3}
    chance = sum(count / (1 + size) for size, count in sizes.items()) / 4839
    assert negclip.BENCHMARK.chance["original"] == pytest.approx(chance, abs=5e-5)
    assert all(len(item.tags["hard_images"].split()) == 3 for item in items)
    hard = json.loads(items[0].tags["hard_images"])
    assert hard == ["negclip-valid/2973", "negclip-valid/1515", "negclip-valid/2235"]
    known = {item.id for item in items}
    assert all(set(json.loads(item.tags["hard_images"])) <= known for item in items)


def test_the_table_itself_can_be_named(shared_data: Path) -> None:
    assert len(negclip.load(shared_data / "negclip" / "valid_neg_clip.tsv", [])) == 4839


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
