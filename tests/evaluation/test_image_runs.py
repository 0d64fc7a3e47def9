"""Items with alternative images: scoring them, and their runs on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.metrics import METRICS
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.results import each_outcome, read_run
from equipoise.evaluation.run import evaluate
from equipoise.evaluation.scores import read_scores
from equipoise.evaluation.scoring import score_items, scored_photos


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
    (outcome,) = each_outcome(outcomes_of([row]))
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
