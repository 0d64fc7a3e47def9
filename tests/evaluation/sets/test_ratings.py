"""Correlation with human ratings: held against the definitions, ties and weights included."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.evaluation.sets.helpers import COLOURS, Blind, Eye, Pairs, paint

from equipoise.core.errors import UserError
from equipoise.data.readers.sets.kinds import RatingSet
from equipoise.evaluation.run import evaluate_set
from equipoise.evaluation.sets import RatingRow
from equipoise.evaluation.sets.kinds import open_set
from equipoise.evaluation.sets.ratings import measure, spearman
from equipoise.models import load_model


def rho(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's correlation of mean ranks."""
    ranks = [[np.mean(np.flatnonzero(np.sort(part) == value)) for value in part] for part in (x, y)]
    return float(np.corrcoef(ranks)[0, 1])


@pytest.mark.parametrize("levels", [3, 50])
def test_correlations_by_definition_with_ties_and_repeated_pairs(levels: int) -> None:
    rng = np.random.default_rng(levels)
    x, y = rng.integers(0, 12, 40).astype(float), rng.integers(0, levels, 40).astype(float)
    weights = rng.integers(0, 4, (5, 40)).astype(float)
    for row in range(5):
        times = weights[row].astype(int)
        a, b = np.repeat(x, times), np.repeat(y, times)
        assert spearman(x, y, weights)[row] == pytest.approx(rho(a, b))


def test_known_values() -> None:
    x, y, once = np.array([1.0, 2, 3, 4, 5]), np.array([3.0, 1, 2, 5, 4]), np.ones((1, 5))
    assert spearman(x, y, once)[0] == pytest.approx(0.6)  # 1 - 6 * 8 / 120
    assert spearman(x, -x, once)[0] == pytest.approx(-1)


def test_photos_are_resampled_not_pairs() -> None:
    """Ten equal pairs of each photo say no more than one: the interval must not shrink."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=12), rng.integers(1, 5, 12).astype(float)

    def width(times: int) -> float:
        rows = [
            RatingRow(id=f"{n}/{k}", image=str(n), rating=y[n], score=x[n]) for n in range(12) for k in range(times)
        ]
        low, high = measure(rows, {}, 0, 500)[0]["spearman"].interval() or (0, 0)
        return high - low

    assert width(10) == pytest.approx(width(1), rel=0.1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A photo of each colour; its own colour is rated 4, red 2 and everything else 1."""
    for colour in COLOURS:
        paint(tmp_path / f"{colour}.png", colour)
    lines = ["image,caption,rating_1,rating_2"]
    for colour in COLOURS:
        lines += [f"{colour}.png,a {other} one,{4 if other == colour else 1},4" for other in COLOURS]
    (tmp_path / "rated.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_table_for_any_kind_of_model(table: Path) -> None:
    data = open_set("ratings:" + str(table / "rated.csv"), data=table)
    assert isinstance(data, RatingSet) and len(data.pairs) == 36
    assert {pair.rating for pair in data.pairs} == {4.0, 2.5}  # the mean of two
    found = [evaluate_set(model, data, workers=1) for model in (Eye(), Pairs())]
    assert found[0] is not None and found[1] is not None
    rho_ = found[0].record.metrics.overall.metrics["spearman"]
    assert rho_.value is not None and rho_.value > 0.5
    assert rho_.n == 36 and found[0].record.metrics.overall.images == 6
    pairs = found[1].record.metrics.overall.metrics["spearman"].value
    assert pairs == pytest.approx(rho_.value, abs=0.05)


def test_a_scorer_of_texts_alone_opens_no_photo_and_is_read_again(table: Path, tmp_path: Path) -> None:
    class Wordy:
        card = {"spec": "wordy", "digest": "1", "blind": True}  # noqa: RUF012
        reads_images = False

        def score_pairs(self, images: list[object], strings: list[str]) -> list[float]:
            assert not images
            return [float(len(string)) for string in strings]

    data = open_set("ratings:" + str(table / "rated.csv"), data=table)
    first = evaluate_set(Wordy(), data, out=tmp_path / "run", workers=1)
    assert first is not None and first.record.images is not None and first.record.images.count == 0
    assert first.record.metrics.overall.metrics["spearman"].n == 36
    again = evaluate_set(Wordy(), data, out=tmp_path / "run", workers=1)
    assert again is not None and again.read_from is not None and again.rows == first.rows


def test_what_needs_hard_negatives_is_refused(table: Path) -> None:
    data = open_set("ratings:" + str(table / "rated.csv"), data=table)
    with pytest.raises(UserError, match=r"blind:ngram compares a caption .* rated-ratings \(ratings\)"):
        evaluate_set(load_model("blind:ngram"), data, workers=1)


def test_a_model_with_one_score_has_no_correlation(table: Path) -> None:
    result = evaluate_set(Blind(), open_set("ratings:" + str(table / "rated.csv"), data=table), workers=1)
    assert result is not None
    assert result.record.metrics.overall.metrics.get("spearman") is None and result.record.metrics.overall.ties == 36


def test_jsonl_and_problems_all_at_once(table: Path) -> None:
    path = table / "rated.jsonl"
    good = [{"image": "red.png", "caption": "a", "rating": 1.5}]
    good += [{"image": "blue.png", "caption": "b", "ratings": [2, 4]}]
    path.write_text("".join(json.dumps(line) + "\n" for line in good))
    data = open_set("ratings:" + str(path), data=table)
    assert isinstance(data, RatingSet) and [pair.rating for pair in data.pairs] == [1.5, 3.0]
    bad = [*good, {"image": "../x.png", "caption": "a", "rating": 1}, {"image": "x.png", "caption": "c"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in bad))
    with pytest.raises(UserError, match="2 problems"):
        open_set("ratings:" + str(path), data=table)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rated_by": "me"}, "line 3: rated_by: extra inputs are not permitted"),
        ({"rating": True}, "line 3: rating: input should be a valid number"),
        ({"rating": "3"}, "line 3: rating: input should be a valid number"),
        ({"rating": 10**400}, "line 3: rating: input should be"),
        ({"ratings": [1e308, 1e308]}, "line 3: ratings.0: input should be less than or equal to 1000000000"),
        ({"ratings": [3, [4]]}, "line 3: ratings.1: input should be a valid number"),
        ({"id": 0}, "line 3: id: input should be a valid string"),
        ({"caption": " "}, "line 3: caption: expected some text"),
    ],
)
def test_odd_fields_of_json_are_refused(table: Path, change: dict[str, object], said: str) -> None:
    good = {"image": "red.png", "caption": "a", "rating": 1.5}
    lines = [good, good | {"rating": 3}, good | change]
    (table / "rated.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UserError) as raised:
        open_set(f"ratings:{table / 'rated.jsonl'}", data=table)
    assert said in str(raised.value)


def test_columns_of_one_name_are_averaged_and_ids_kept(table: Path) -> None:
    path = table / "two.csv"
    path.write_text("id,image,caption,rating,rating,who\n0,red.png,a,1,2,x\n7,blue.png,b,3,,y\n")
    data = open_set(f"ratings:{path}", data=table)
    assert isinstance(data, RatingSet)
    assert [(pair.id, pair.rating) for pair in data.pairs] == [("0", 1.5), ("7", 3.0)]
    path.write_text("image,caption,score\nred.png,a,1\n")
    with pytest.raises(UserError, match='line 1: expected the columns image, caption, rating, found "image, caption'):
        open_set(f"ratings:{path}", data=table)
    path.write_text("image,caption,rating\nred.png,a,good\nred.png,b,inf\nblue.png,,2\n")
    with pytest.raises(UserError, match=r"(?s)3 problems.*line 2: ratings.0: .*line 3: .*line 4: caption"):
        open_set(f"ratings:{path}", data=table)


def test_flickr8ks_experts(table: Path) -> None:
    (table / "captions.tsv").write_text("red.png#0\ta red one .\nblue.png#1\ta blue one .\n")
    lines = ["red.png\tred.png#0\t4\t4\t3", "red.png\tblue.png#1\t1\t1\t1", "blue.png\tblue.png#1\t3\t4\t4"]
    (table / "ExpertAnnotations.txt").write_text("\n".join(lines) + "\n")
    data = open_set("flickr8k-ratings", source=table)
    assert isinstance(data, RatingSet) and [pair.rating for pair in data.pairs] == [11 / 3, 1, 11 / 3]
    (table / "ExpertAnnotations.txt").write_text("\n".join([*lines, "red.png\tno.png#0\t1\t1\t1", "x"]) + "\n")
    with pytest.raises(UserError, match="2 problems"):
        open_set("flickr8k-ratings", source=table)


@pytest.mark.slow
def test_flickr8ks_experts_whole(shared_data: Path) -> None:
    data = open_set("flickr8k-ratings", source=shared_data / "flickr8k")
    assert isinstance(data, RatingSet) and len(data.pairs) == 5822 and len(data.refs()) == 1000


def test_json_is_read_whatever_its_name_is(table: Path) -> None:
    rows = [{"image": f"{name}.png", "caption": "a", "rating": n, "ratings": None} for n, name in enumerate(COLOURS)]
    (path := table / "rated.txt").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = open_set(f"ratings:{path}", data=table)
    assert isinstance(data, RatingSet) and [pair.rating for pair in data.pairs] == [float(n) for n in range(len(rows))]
    (path := table / "rated.jsonl").write_text("5\n")
    with pytest.raises(UserError, match="expected an object with image, caption and rating, found 5"):
        open_set(f"ratings:{path}", data=table)
