"""The image side: which image a text prefers, and Winoground's scores, against their definitions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.benchmarks import by_fields
from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.averages import Averages, measure, summarise
from equipoise.evaluation.comparing.differences import Run, difference
from equipoise.evaluation.foreign.measuring import with_items
from equipoise.evaluation.metrics import METRICS
from equipoise.evaluation.outcomes import image_outcomes, outcomes_of
from equipoise.evaluation.record import Comparison
from equipoise.evaluation.results import read_run
from equipoise.evaluation.run import evaluate
from equipoise.evaluation.scores import ImageScores, ItemScores, Scores, read_scores
from equipoise.evaluation.scoring import score_items, scored_photos
from equipoise.report.comparison import render_differences
from equipoise.report.tables import metrics_rows, render

winoground = by_fields.benchmark("winoground")


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


# ---------------------------------------------------------------------------- Winoground's scores


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
    assert list(outcomes.each()) == [{"image_original": True, "image_tie": False}]
    overall = summarise(outcomes, resamples=20).overall
    assert overall["original"] is None and overall.mean_scores.negative is None and overall.n == 1
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
    side = measure(rows, outcomes_of(rows), winoground, resamples=50).overall
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
    found = measure(rows, outcomes_of(rows), winoground)
    assert found.overall["group"] == 1
    with pytest.raises(UserError, match="1 another number of positives, negatives or images than the item: '1'"):
        with_items([row], [colours(positives=())], "the scores")


# ---------------------------------------------------------------------------- Image-Original, -Augmented, -Brittleness


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
    runs = [Run(Path(), (), rows, outcomes_of(rows)) for rows in (before, after)]
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
    one = Run(Path(), (), plain, outcomes_of(plain))
    assert list(difference([one], [one], resamples=20).changes) == ["original"]


def test_a_comparison_shows_the_image_metrics_that_were_measured() -> None:
    rows = [two(4, 1, 2, 3)]
    run = Run(Path(), (), rows, outcomes_of(rows))
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


# ---------------------------------------------------------------------------- scoring and runs on disk


class Pixel:
    """Embeds an image as its first pixel and a text as three numbers in it."""

    def embed_images(self, images: Sequence[Image.Image]) -> Any:
        return np.array([image.getpixel((0, 0)) for image in images], dtype=float) + 1

    def embed_texts(self, strings: Sequence[str]) -> Any:
        return np.array([[float(part) for part in string.split()] for string in strings])


class Pairs:
    """The same by pairs, not normalised."""

    def score_pairs(self, images: Sequence[Image.Image], strings: Sequence[str]) -> Any:
        return [
            float(np.dot(image.getpixel((0, 0)), list(map(float, s.split()))))
            for image, s in zip(images, strings, strict=True)
        ]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, colour in {"red": (250, 0, 0), "pink": (200, 60, 60), "blue": (0, 0, 250)}.items():
        Image.new("RGB", (8, 8), colour).save(folder / f"{name}.png")
    return folder


def colours(**rest: Any) -> Item:
    fields: dict[str, Any] = {
        "id": "1",
        "image": ImageRef(path="red.png"),
        "caption": "1 0 0",
        "positives": texts("1 0.1 0"),
        "negatives": texts("0 0 1"),
        "positive_images": (ImageRef(path="pink.png"),),
        "negative_images": (ImageRef(path="blue.png"),),
        "paired": True,
    }
    return Item(**(fields | rest))


PLAIN = {"id": "plain", "positive_images": (), "negative_images": (), "paired": False}


@pytest.mark.parametrize("model", [Pixel(), Pairs()])
def test_the_whole_matrix_is_scored(model: Any, photos: Path) -> None:
    item = colours()
    row = score_items(model, [colours(**PLAIN), item], images=photos).rows[1]
    for one, ref in zip(row.images(), item.images(), strict=True):
        alone = Item(id="1", image=ref, caption="1 0 0", positives=texts("1 0.1 0"), negatives=texts("0 0 1"))
        (expected,) = score_items(model, [alone], images=photos).rows
        assert (one.image, one.caption) == (ref.path, expected.caption)
        assert (one.positives, one.negatives) == (expected.positives, expected.negatives)
    (outcome,) = outcomes_of([row]).each()
    assert {name: outcome.get(name) for name, one in METRICS.items() if one.side == "images" and not one.less} == {
        "image_original": True,
        "image_augmented": True,
        "image_brittleness": False,
        "text": True,
        "image": True,
        "group": True,
        "group_match": True,
    }
    assert outcome["image_tie"] is False


@pytest.mark.parametrize("model", [Pixel(), Pairs()])
@pytest.mark.parametrize("damage", ["missing", "broken"])
def test_an_alternative_photo_is_needed_like_the_own(model: Any, damage: str, photos: Path) -> None:
    items = [colours(**PLAIN), colours()]
    (photos / "blue.png").unlink() if damage == "missing" else (photos / "blue.png").write_bytes(b"no picture")
    said = r"1 of 3 images are missing .*\n.*blue" if damage == "missing" else r"1 images .* cannot be used:\n.*blue"
    with pytest.raises(UserError, match=said):
        score_items(model, items, images=photos)
    scoring = score_items(model, items, images=photos, allow_missing=True)
    assert [row.id for row in scoring.rows] == ["plain"] and "blue" in scoring.skipped["1"]
    assert scoring.skipped["1"].startswith("image missing: ") == (damage == "missing")


def test_perturbing_a_paired_item_keeps_it_paired() -> None:
    item = colours()
    assert Item.model_validate_json(json.dumps(item.to_json())) == item
    more = item.model_copy(update={"negatives": item.negatives + texts("0 1 0")})
    assert Item.model_validate_json(json.dumps(more.to_json())) == more and more.paired
    with pytest.raises(UserError, match="expected a negative for each negative image, found 0 for 1"):
        colours(negatives=())


def test_a_run_is_one_of_its_alternative_photos(photos: Path, tmp_path: Path) -> None:
    items = [colours(), colours(**PLAIN)]
    card = {"card": {"digest": "x"}}
    model = type("Model", (Pixel,), card)()
    found = evaluate(model, items, images=photos, out=tmp_path / "run")
    assert found.record.images is not None and found.record.images.count == 3
    assert set(scored_photos(items, photos, 1, False)) == {"red.png", "pink.png", "blue.png"}
    record, rows = read_run(tmp_path / "run")
    assert rows == found.rows and record.metrics.overall == found.record.metrics.overall
    lines = [json.loads(line) for line in (tmp_path / "run" / "items.jsonl").read_text().splitlines()]
    assert [one["image"] for one in lines[0]["negative_images"]] == ["blue.png"]
    assert list(lines[1]) == ["id", "image", "caption", "positives", "negatives", "tags", "outcome", "texts"]
    assert {"original", "augmented", "brittleness", "tie"} <= set(lines[1]["outcome"])
    assert evaluate(model, items, images=photos, out=tmp_path / "run").read_from is not None
    Image.new("RGB", (8, 8), (0, 9, 250)).save(photos / "blue.png")
    with pytest.raises(UserError, match=r"(?s)another run.*images"):
        evaluate(model, items, images=photos, out=tmp_path / "run")


def test_an_edited_number_of_the_image_side_is_not_believed(photos: Path, tmp_path: Path) -> None:
    model = type("Model", (Pixel,), {"card": {"digest": "x"}})()
    evaluate(model, [colours()], images=photos, out=tmp_path / "run")
    path = tmp_path / "run" / "result.json"
    value = json.loads(path.read_text())
    value["metrics"]["overall"]["metrics"]["group"]["value"] = 0.5
    path.write_text(json.dumps(value))
    with pytest.raises(UserError, match=r"it was changed after the run"):
        evaluate(model, [colours()], images=photos, out=tmp_path / "run")


def test_scores_of_alternative_images_must_be_whole(tmp_path: Path) -> None:
    good = {"id": "1", "caption": 1, "negatives": [0], "negative_images": [{"caption": 0, "negatives": [0]}]}
    bad: list[dict[str, Any]] = [
        good | {"id": "5", "negatives": [], "negative_images": [{"caption": 0}], "paired": True},
        good | {"id": "2", "negative_images": [{"caption": 0}]},
        good | {"id": "3", "negative_images": [], "negatives": []},
        good | {"id": "4", "positive_images": [{"caption": 0, "negatives": ["x"]}]},
    ]
    path = tmp_path / "scores.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (good, *bad)))
    with pytest.raises(UserError) as refused:
        read_scores(path)
    for part in (
        "line 2: paired: expected a negative for each negative image, found 0 for 1",
        "line 3: negative_images.0: expected the scores of the item's own texts",
        "line 4: negatives: expected at least one score",
        "line 5: positive_images.0.negatives.0",
    ):
        assert part in str(refused.value)
    path.write_text(json.dumps(good | {"negative_images": [{"caption": 1e999, "negatives": [0]}]}) + "\n")
    with pytest.raises(UserError, match="caption of an alternative image: expected finite"):
        read_scores(path)
