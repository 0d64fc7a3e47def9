"""NegBench: the right option by its number, no prize for a constant score, remarks of a language model told apart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from equipoise.benchmarks import negbench, registry
from equipoise.core.errors import UserError
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ItemScores

HEADER = "image_path,correct_answer,caption_0,caption_1,caption_2,caption_3,correct_answer_template\n"


def test_the_right_option_is_the_one_that_is_named(tmp_path: Path) -> None:
    rows = 'data/coco/val2017/000000397133.jpg,0,"A knife, but no car.",A car.,"A car, no knife.",No knife.,hybrid\n'
    rows += "data/coco/images/val2017/000000397133.jpg,2,A spoon.,(To do),No chair.,A chair.,negative\n"
    (tmp_path / negbench.CHOICES["coco"]).write_text(HEADER + rows)
    first, second = negbench.load(tmp_path, [])
    assert (first.caption, second.caption) == ("A knife, but no car.", "No chair.")
    assert [text.text for text in second.negatives] == ["A spoon.", "(To do)", "A chair."]
    assert first.image is not None and first.image.path == "000000397133.jpg"
    assert first.tags == {"split": "coco", "template": "hybrid", "debris": "none"}
    assert second.tags == {"split": "coco", "template": "negative", "debris": "wrong option"}


def test_an_option_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / negbench.CHOICES["coco"]).write_text(HEADER + "a.jpg,4,a,b,c,d,positive\n")
    with pytest.raises(UserError, match="line 2: correct_answer"):
        negbench.load(tmp_path, [])


def test_the_whole_file(shared_data: Path) -> None:
    items = negbench.load(shared_data / "negbench", [])
    assert len(items) == registry.get("negbench").splits["coco"]
    assert Counter(item.tags["template"] for item in items) == {"positive": 2032, "hybrid": 2012, "negative": 1870}
    assert len({item.image for item in items}) == 3926
    assert Counter(item.tags["debris"] for item in items) == {"none": 5789, "wrong option": 84, "right option": 41}
    assert all(len(set(item.texts())) == 4 for item in items)


def test_a_model_without_an_opinion_wins_nothing(shared_data: Path) -> None:
    items = negbench.load(shared_data / "negbench", [])[:200]
    rows = [ItemScores(id=item.id, caption=0.5, negatives=[0.5] * 3, tags=item.tags) for item in items]
    found = summarise(outcomes_of(rows), resamples=10).overall
    assert (found["original"], found.ties) == (0.0, 200)


def _retrieval(folder: Path, negated: int = 2) -> None:
    plain = [f"val2017/{n}.jpg,\"['a {n} dog', 'a {n} cat']\"\n" for n in range(12)]
    longer = [f'val2017/{n}.jpg,"{["a dog. No cow."] * negated}"\n' for n in range(12)]
    (folder / "COCO_val_retrieval.csv").write_text("filepath,captions\n" + "".join(plain))
    name = "COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true.csv"
    (folder / name).write_text("filepath,captions\n" + "".join(longer))


def test_the_retrieval_layout_pairs_each_caption_with_its_negated_form(tmp_path: Path) -> None:
    _retrieval(tmp_path)
    items = negbench.load_retrieval(tmp_path, [])
    assert len(items) == 24
    last = items[-1]
    assert last.id == "negbench-retrieval-coco/11-1"
    assert (last.caption, last.positives[0].text) == ("a 11 cat", "a dog. No cow.")
    assert [text.text for text in last.negatives] == [f"a {n} dog" for n in range(9)]


def test_two_releases_are_not_mixed(tmp_path: Path) -> None:
    _retrieval(tmp_path, negated=3)
    with pytest.raises(UserError, match="files of one release"):
        negbench.load_retrieval(tmp_path, [])
