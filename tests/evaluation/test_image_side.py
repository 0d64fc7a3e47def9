"""The image side: which image a text prefers, and Winoground's scores, against their definitions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.evaluation.test_image_runs import colours

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError
from equipoise.evaluation.averages import Averages, measure, summarise
from equipoise.evaluation.comparing.differences import difference
from equipoise.evaluation.outcomes import image_outcomes, outcomes_of
from equipoise.evaluation.record import Comparison
from equipoise.evaluation.results import LoadedRun, each_outcome
from equipoise.evaluation.scores import ImageScores, ItemScores, Scores
from equipoise.published.measuring import with_items
from equipoise.report.comparison import render_differences
from equipoise.report.tables import metrics_rows, render

winoground = registry.get("winoground")


def two(c0i0: float, c1i0: float, c0i1: float, c1i1: float, name: str = "1", **rest: Any) -> ItemScores:
    other = ImageScores(image=f"{name}b", caption=c0i1, negatives=[c1i1])
    fields = {"id": name, "image": f"{name}a", "caption": c0i0, "negatives": [c1i0], "negative_images": (other,)}
    return ItemScores.model_validate(fields | {"paired": True} | rest)


def matrix(right: Sequence[Sequence[float]], wrong: Sequence[Sequence[float]], name: str = "1") -> ItemScores:
    """Rows are images, columns the caption and the positives; a negative text that belongs to none of them."""
    own, *more = [ImageScores(caption=row[0], positives=list(row[1:]), negatives=[0.0]) for row in right]
    others = tuple(ImageScores(caption=row[0], positives=list(row[1:]), negatives=[0.0]) for row in wrong)
    return ItemScores(
        id=name,
        caption=own.caption,
        positives=own.positives,
        negatives=own.negatives,
        positive_images=tuple(more),
        negative_images=others,
    )


def test_two_by_two_against_the_definition() -> None:
    """Every order of four scores, ties among them: text compares captions of an image, image the other way."""
    for c0i0, c1i0, c0i1, c1i1 in itertools.product([1.0, 2.0, 3.0, 4.0], repeat=4):
        found = image_outcomes(Scores([two(c0i0, c1i0, c0i1, c1i1)]))
        text, image = c0i0 > c1i0 and c1i1 > c0i1, c0i0 > c0i1 and c1i1 > c1i0
        assert (found.text[0], found.image[0], found.group[0]) == (text, image, text and image)
        assert found.tie[0] == (c0i0 in (c1i0, c0i1) or c1i1 in (c0i1, c1i0))
        assert found.original[0] == (c0i0 > c0i1)


def test_three_images_and_three_captions() -> None:
    def item(scores: list[list[float]]) -> ItemScores:
        first, *rest = scores
        others = tuple(ImageScores(caption=row[0], negatives=row[1:]) for row in rest)
        return ItemScores(id="1", caption=first[0], negatives=first[1:], negative_images=others, paired=True)

    for scores, text, image in (
        ([[9, 1, 1], [2, 9, 2], [3, 3, 9]], True, True),
        ([[9, 1, 1], [2, 9, 2], [3, 9.5, 9]], False, False),  # the third image prefers the second text, and back
        ([[9, 1, 1], [2, 4, 2], [3, 5, 9]], True, False),
        ([[9, 1, 1], [5, 4, 2], [3, 3, 9]], False, True),
    ):
        found = image_outcomes(Scores([item([[float(value) for value in row] for row in scores])]))
        assert (bool(found.text[0]), bool(found.image[0])) == (text, image)


def test_images_without_texts_of_their_own_have_no_text_score() -> None:
    alone = [ImageScores(caption=value) for value in (0.1, 0.2)]
    row = ItemScores(id="1", caption=0.3, negative_images=tuple(alone))
    outcomes = outcomes_of([row])
    assert list(each_outcome(outcomes)) == [{"image_original": True, "image_tie": False}]
    overall = summarise(outcomes, resamples=20).overall
    assert overall["original"] is None and overall["mean_score_negative"] is None and overall.n == 1
    assert overall["image_original"] == 1 and overall["text"] is None
    assert (overall.count("image_original"), overall.count("text")) == (1, 0)


def test_items_without_a_negative_text_do_not_count_for_original() -> None:
    """They would pass for wins or losses; the others' number stays theirs."""
    alone = ItemScores(id="2", caption=0.3, negative_images=(ImageScores(caption=0.1),))
    rows = [ItemScores(id="1", caption=0.3, negatives=[0.1], positives=[0.2]), alone]
    overall = summarise(outcomes_of(rows), resamples=20).overall
    assert (overall["original"], overall["augmented"], overall.n, overall.n_positives) == (1, 1, 2, 1)
    assert overall.metrics["original"] == summarise(outcomes_of(rows[:1]), resamples=20).overall.metrics["original"]


def published(path: Path) -> list[ItemScores]:
    score = {row["label"]: row["score"] for row in map(json.loads, path.read_text().splitlines())}
    parts = ("c0_i0", "c1_i0", "c0_i1", "c1_i1")
    return [two(*(score[f"{number}_{part}"] for part in parts), name=str(number)) for number in range(400)]


def test_winoground_against_its_definition() -> None:
    """All orders of four scores: text compares captions for an image, image compares images for a caption."""
    orders = list(itertools.permutations([1.0, 2.0, 3.0, 4.0]))
    found = image_outcomes(Scores(two(*scores, name=str(number)) for number, scores in enumerate(orders)))
    for number, (c0i0, c1i0, c0i1, c1i1) in enumerate(orders):
        text, image = c0i0 > c1i0 and c1i1 > c0i1, c0i0 > c0i1 and c1i1 > c1i0
        assert (found.text[number], found.image[number], found.group[number]) == (text, image, text and image)
    assert (found.text.mean(), found.image.mean(), found.group.mean()) == pytest.approx((1 / 4, 1 / 4, 1 / 6))


def test_a_tie_wins_nothing_at_winoground() -> None:
    found = image_outcomes(Scores([two(2, 2, 1, 3), two(2, 1, 2, 3, name="2")]))
    assert (found.text.tolist(), found.image.tolist(), found.tie.all()) == ([False, True], [True, False], True)


@pytest.mark.parametrize(
    ("model", "expected", "ties"),
    [
        ("clip", (30.75, 10.5, 8.0), 0),
        ("flava_itm", (32.25, 20.5, 14.25), 1),
        ("vilt", (34.75, 14.0, 9.25), 1),
        ("vinvl", (37.75, 17.75, 14.5), 3),
    ],
)
def test_published_scores_of_four_models(model: str, expected: tuple[float, ...], ties: int, shared_data: Path) -> None:
    rows = published(shared_data / "winoground_scores" / f"{model}.jsonl")
    side = measure(outcomes_of(rows), winoground, resamples=50).overall
    assert (side.count("group"), side.image_ties) == (400, ties)
    assert [100 * (side[name] or 0) for name in ("text", "image", "group")] == pytest.approx(expected)


def test_only_a_paired_item_has_winogrounds_scores() -> None:
    """One negative text and one negative image need not belong together; more negatives change nothing."""
    (row,) = [two(4, 1, 2, 3)]
    loose, more = row.model_copy(update={"paired": False}), {"caption": 2, "negatives": [3, 9]}
    wider = ItemScores.model_validate_json(
        json.dumps({"id": "1", "caption": 4, "negatives": [1, 9], "negative_images": [more], "paired": True})
    )
    found = image_outcomes(Scores([row, loose, wider]))
    assert found.square.tolist() == [True, False, True] == found.group.tolist()
    assert found.asked.all()


def test_scores_made_elsewhere_are_paired_where_their_items_are() -> None:
    row = two(4, 1, 2, 3).model_copy(update={"paired": False})
    item = colours(positives=(), positive_images=())
    rows = with_items([row], [item], "the scores")
    found = measure(outcomes_of(rows), winoground)
    assert found.overall["group"] == 1
    with pytest.raises(UserError, match="1 another number of positives, negatives or images than the item: '1'"):
        with_items([row], [colours(positives=())], "the scores")


def test_image_metrics_against_the_definition() -> None:
    """One positive text, one positive image and one negative image with all scores of 1, 2, 3: by brute force."""
    rows, expected = [], []
    for number, values in enumerate(itertools.product([1.0, 2.0, 3.0], repeat=6)):
        right, wrong = (values[0:2], values[2:4]), values[4:6]
        rows.append(matrix(right, [wrong], name=str(number)))
        signs = [np.sign(right[image][text] - wrong[text]) for image in (0, 1) for text in (0, 1)]
        tie = 0 in signs
        expected.append((signs[0] > 0, min(signs) > 0, -1 in signs and 1 in signs and not tie, tie))
    found = image_outcomes(Scores(rows))
    assert list(zip(found.original, found.augmented, found.brittle, strict=True)) == [one[:3] for one in expected]
    assert found.tie.tolist() == [one[3] for one in expected] and found.more.all() and not found.square.any()


def test_every_negative_image_must_be_below() -> None:
    found = image_outcomes(Scores([matrix([[0.5]], [[0.4], [0.6]]), matrix([[0.5]], [[0.4], [0.3]], name="2")]))
    assert found.original.tolist() == [False, True]
    assert not found.more.any() and not found.square.any(), "one right pair alone is not augmented"


def test_a_text_is_compared_with_itself_only() -> None:
    """The positive scores low with every image, its own among them: that is no image mistaken for another."""
    found = image_outcomes(Scores([matrix([[0.9, 0.2]], [[0.5, 0.1]])]))
    assert found.augmented.tolist() == [True] and found.brittle.tolist() == [False]


def test_numbers_and_intervals_of_groups() -> None:
    rows = [two(4, 1, 2, 3, name=str(n), tags={"split": "a"}) for n in range(3)]
    rows += [two(1, 4, 2, 3, name=str(n), tags={"split": "b"}) for n in range(3, 4)]
    outcomes = outcomes_of(rows)
    found = summarise(outcomes, resamples=50)
    assert found.overall["image"] == 0.75 and found.overall.interval("image").low < 0.75
    part = found.by["split"]["b"]
    assert (part.count("image_original"), part["image"], part["image_augmented"]) == (1, 0, None)
    average = Averages(outcomes, resamples=50).macro(("split",))
    assert average is not None
    assert (average["image"], average["group"], average.count("image")) == (0.5, 0.5, 4)


def test_items_that_share_any_photo_are_one_cluster() -> None:
    def row(name: str, own: str, other: str) -> ItemScores:
        return ItemScores(
            id=name,
            image=own,
            caption=1,
            negatives=[0],
            negative_images=(ImageScores(image=other, caption=0, negatives=[0]),),
        )

    rows = [row("1", "a", "b"), row("2", "c", "d"), row("3", "e", "a"), row("4", "d", "f")]
    assert outcomes_of(rows).cluster.tolist() == [0, 1, 0, 1]
    plain = [
        ItemScores(id=name, image=image, caption=1, negatives=[0]) for name, image in zip("123", "aba", strict=True)
    ]
    assert outcomes_of(plain).cluster.tolist() == [0, 1, 0] and not outcomes_of(plain).images.asked.any()


def test_two_models_are_compared_on_images_too() -> None:
    before = [two(1, 4, 2, 3, name=str(n)) for n in range(10)]
    after = [two(4, 1, 2, 3, name=str(n)) for n in range(10)]
    runs = [LoadedRun(Path(), (), outcomes_of(rows)) for rows in (before, after)]
    found = difference(runs[:1], runs[1:], resamples=20)
    assert found["original"] is not None and found["original"].difference == 1
    assert {name: change.difference for name, change in found.changes.items()} == {
        "original": 1,
        "image_original": 1,
        "text": 1,
        "image": 1,
        "group": 1,
        "group_match": 1,
    }
    plain = [ItemScores(id="1", caption=1, negatives=[0])]
    one = LoadedRun(Path(), (), outcomes_of(plain))
    assert list(difference([one], [one], resamples=20).changes) == ["original"]


def test_a_comparison_shows_the_image_metrics_that_were_measured() -> None:
    rows = [two(4, 1, 2, 3)]
    run = LoadedRun(Path(), (), outcomes_of(rows))
    found = Comparison(benchmark="x", before="a", after="b", **dict(difference([run], [run], resamples=20)))
    shown = render_differences([found])
    assert "Image-Orig." in shown and " group " in shown and "Image-Aug." not in shown
    assert "Image-" not in render_differences(
        [found.model_copy(update={"changes": {"original": found.changes["original"]}})]
    )


def test_the_table_has_a_part_for_images() -> None:
    rows = [two(4, 1, 2, 3)]
    shown = {form: render(metrics_rows(summarise(outcomes_of(rows), resamples=20)), form, "the end") for form in FORMS}
    for form in ("text", "md", "latex"):
        assert "Image-Orig." in shown[form] and shown[form].count("the end") == 1
    header, line = shown["csv"].splitlines()
    cells = dict(zip(header.split(","), line.split(","), strict=True))
    assert (cells["group"], cells["image_n"], cells["image_augmented"]) == ("1.0", "1", "")
    assert json.loads(shown["json"])[0]["metrics"]["group"]["value"] == 1
    plain = summarise(outcomes_of([ItemScores(id="1", caption=1, negatives=[0])]), resamples=20)
    assert not any("mage-" in render(metrics_rows(plain), form) for form in FORMS)


FORMS: tuple[Any, ...] = ("text", "md", "latex", "csv", "json")
