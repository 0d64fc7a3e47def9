"""VSR: a sentence against its negation, and a threshold-free score."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from equipoise.benchmarks import vsr
from equipoise.core.errors import UserError
from equipoise.data.items import Item
from equipoise.evaluation.paper_metrics import truth
from equipoise.evaluation.scores import ItemScores

RECORD = {
    "image": "000000451431.jpg",
    "image_link": "http://images.cocodataset.org/train2017/000000451431.jpg",
    "caption": "The person is inside the refrigerator.",
    "label": 1,
    "relation": "inside",
    "vote_true_validator_id": "[2, 9]",
    "reference_frame": None,
}


def _write(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({**RECORD, **one}) + "\n" for one in records))


def test_a_false_sentence_is_the_negative_of_its_negation(tmp_path: Path) -> None:
    _write(tmp_path / "data/splits/random/test.jsonl", {}, {"label": 0, "image_link": "http://x/val2017/1.jpg"})
    true, false = vsr.load(tmp_path, ["random"])
    assert true.caption == false.negatives[0].text == RECORD["caption"]
    assert false.caption == true.negatives[0].text == "The person is not inside the refrigerator."
    assert [item.image.path.split("/")[0] for item in (true, false) if item.image] == ["train2017", "val2017"]
    assert true.tags["statement"] == false.tags["statement"] == RECORD["caption"]


def test_the_folder_tells_a_lone_file_apart(tmp_path: Path) -> None:
    _write(tmp_path / "zeroshot" / "test.jsonl", {})
    _write(tmp_path / "else" / "test.jsonl", {})
    assert vsr.load(tmp_path / "zeroshot", [])[0].id == "vsr-zeroshot/0"
    assert vsr.load(tmp_path / "else" / "test.jsonl", [])[0].id == "vsr-random/0"


def test_a_sentence_without_a_known_verb_is_refused_with_its_line(tmp_path: Path) -> None:
    _write(tmp_path / "test.jsonl", {}, {"caption": "The dog sleeps."}, {"label": 2})
    with pytest.raises(UserError) as caught:
        vsr.load(tmp_path, [])
    assert "line 2: caption: expected one of the verbs contains" in str(caught.value)
    assert "line 3: label" in str(caught.value)


def _scored(items: list[Item], of_statement: list[float]) -> list[ItemScores]:
    """As if the negation of every sentence had the score 0."""
    return [
        ItemScores(
            id=item.id,
            image=item.image.path if item.image else None,
            caption=value if item.tags["label"] == "true" else 0.0,
            negatives=[0.0 if item.tags["label"] == "true" else value],
            tags=item.tags,
        )
        for item, value in zip(items, of_statement, strict=True)
    ]


def test_auc_counts_pairs_of_true_and_false(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"label": 1, "relation": "on", "image": "1.jpg"},
        {"label": 0, "relation": "on", "image": "2.jpg", "caption": "The dog is on it."},
        {"label": 1, "relation": "by", "image": "3.jpg", "caption": "The cat is by it."},
        {"label": 0, "relation": "by", "image": "4.jpg"},
    ]
    _write(tmp_path / "test.jsonl", *rows)
    found = truth(_scored(vsr.load(tmp_path, []), [3.0, 1.0, 2.0, 2.0]))
    assert found["auc"].value == (1 + 1 + 1 + 0.5) / 4  # the tie of 2 and 2 is half
    assert found["auc_within_relation"].value == (1 + 0.5) / 2
    assert (found["same_statement"].n, found["same_statement"].value) == (1, 1.0)  # 3 above 2, of one sentence
    assert (found["majority"].value, found["majority_by_relation"].value) == (0.5, 0.5)


def test_a_tie_of_one_sentence_is_wrong(tmp_path: Path) -> None:
    _write(tmp_path / "test.jsonl", {"image": "1.jpg"}, {"image": "2.jpg", "label": 0})
    assert truth(_scored(vsr.load(tmp_path, []), [1.0, 1.0]))["same_statement"].value == 0.0


def test_the_whole_file(shared_data: Path) -> None:
    items = vsr.load(shared_data / "vsr", [])
    assert len(items) == vsr.SPLITS["random"]
    assert Counter(item.tags["label"] for item in items) == {"true": 1181, "false": 1014}
    relations = Counter(item.tags["relation"] for item in items)
    assert (len(relations), sum(count < 5 for count in relations.values())) == (61, 11)
    images = [item.image.path for item in items if item.image]
    assert (len(set(images)), sum(path.startswith("val2017/") for path in images)) == (1874, 82)
    found = truth(_scored(items, [float(item.tags["label"] == "true") for item in items]))
    assert (found["auc"].value, found["auc_within_relation"].value, found["same_statement"].value) == (1.0, 1.0, 1.0)
    assert found["same_statement"].n == 260
    assert found["majority"].value == pytest.approx(0.538, abs=5e-4)
    assert found["majority_by_relation"].value == pytest.approx(0.574, abs=5e-4)
    constant = truth(_scored(items, [1.0] * len(items)))
    assert (constant["auc"].value, constant["auc_within_relation"].value, constant["same_statement"].value) == (
        0.5,
        0.5,
        0.0,
    )
