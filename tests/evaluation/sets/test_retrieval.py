"""Retrieval: ranks held against a slow reference, files of captions, both kinds of models, the run on disk."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.evaluation.sets.helpers import COLOURS, Blind, Eye, Pairs, paint

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts, write_items
from equipoise.data.readers.sets.kinds import CaptionSet
from equipoise.evaluation.results import read_run
from equipoise.evaluation.run import Result, evaluate_set
from equipoise.evaluation.sets.kinds import open_set
from equipoise.evaluation.sets.retrieval import by_cosines, distinct, ranked


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for colour in COLOURS:
        paint(tmp_path / "photos" / f"{colour}.png", colour)
    lines = [{"image": f"{colour}.png", "caption": [f"a {colour} square", f"all {colour}"]} for colour in COLOURS]
    (tmp_path / "captions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def run(model: object, data: object, **options: object) -> Result:
    result = evaluate_set(model, data, workers=1, **options)  # type: ignore[arg-type]
    assert result is not None
    return result


def opened(folder: Path) -> CaptionSet:
    data = open_set("retrieval:" + str(folder / "captions.jsonl"), data=folder / "photos")
    assert isinstance(data, CaptionSet)
    return data


def values(result: Result) -> dict[str, float | None]:
    return {name: one.value for name, one in result.record.metrics.overall.metrics.items()}


def test_a_model_that_sees(folder: Path) -> None:
    result = run(Eye(), opened(folder))
    assert values(result)["text_to_image_recall@1"] == 1.0 and values(result)["image_to_text_recall@1"] == 1.0
    metrics = result.record.metrics.overall.metrics
    assert (metrics["text_to_image_recall@1"].n, metrics["image_to_text_recall@1"].n) == (12, 6)
    low, high = metrics["text_to_image_recall@1"].interval or (0, 0)
    assert low < 1 and high == 1  # Wilson's: six photos do not prove certainty


def test_a_blind_model_ties_with_everything(folder: Path) -> None:
    result = run(Blind(), opened(folder))
    assert values(result)["text_to_image_recall@5"] == 0 and values(result)["image_to_text_recall@10"] == 0
    assert values(result)["text_to_image_recall@10"] == 1.0  # there are six photos
    assert result.record.metrics.overall.ties == 18


def test_a_pair_scorer_finds_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.evaluation.sets.scoring.PAIRS", 30)  # several parts
    data = opened(folder)
    assert run(Pairs(), data).rows == run(Eye(), data).rows
    assert run(Pairs(), data).record.counts["pairs_scored"] == 72


def test_a_shared_text_is_right_for_both_and_fills_two_places_for_others(folder: Path) -> None:
    """Nobody can tell equal texts apart: either photo is right. For a third photo it is wrong twice."""
    lines = [("red.png", "a green square"), ("blue.png", "blue"), ("green.png", "a red thing"), ("red.png", "a yellow")]
    lines += [("grey.png", "blue")]
    (folder / "captions.jsonl").write_text("".join(json.dumps({"image": a, "caption": b}) + "\n" for a, b in lines))
    ranks = {(row.find, row.id.partition("#")[0]): row.rank for row in run(Eye(), opened(folder)).rows}
    assert ranks["image", "blue.png"] == ranks["image", "grey.png"] == 0
    # green's own caption is "a red thing"; "a green square", "a yellow" and (twice) "blue" are nearer to it or not
    ahead = [text for photo, text in lines if photo != "green.png" and _green(folder, text) >= _green(folder, "a red")]
    assert ranks["text", "green.png"] == len(ahead) and ahead.count("blue") == 2


def _pair(folder: Path, photo: str, text: str) -> tuple[list[Image.Image], list[str]]:
    return [Image.open(folder / "photos" / photo)], [text]


def _green(folder: Path, text: str) -> float:
    return round(float(Pairs().score_pairs(*_pair(folder, "green.png", text))[0]), 6)


def slow(scores: np.ndarray, owns: list[tuple[int, int]]) -> tuple[list[tuple[int, bool]], list[tuple[int, bool]]]:
    """Ranks by their definition, one search at a time."""
    to_image, to_text = [], []
    for text in range(scores.shape[1]):
        mine = {photo for photo, own in owns if own == text}
        best = max(scores[photo, text] for photo in mine)
        others = [scores[photo, text] for photo in range(len(scores)) if photo not in mine]
        to_image.append((sum(other >= best for other in others), best in others))
    for photo in range(len(scores)):
        mine = {text for one, text in owns if one == photo}
        best = max(scores[photo, text] for text in mine)
        others = [scores[photo, text] for _, text in owns if text not in mine]  # as often as photos have it
        to_text.append((sum(other >= best for other in others), best in others))
    return to_image, to_text


@pytest.mark.parametrize("seed", range(3))
def test_chunked_equals_full_and_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    images, captions = (rng.integers(-2, 3, (count, 3)).astype(np.float32) for count in (11, 23))
    owns = [(text % 11, text) for text in range(23)] + [(3, 0), (5, 0)]  # three photos share a text
    weight = np.bincount([text for _, text in owns], minlength=23)
    wanted = slow(images.astype(float) @ captions.T, owns)
    assert any(tie for part in wanted for _, tie in part)
    for step in (1, 4, 1000, None):
        assert ranked(by_cosines(images, captions), owns, len(images), weight, step) == wanted
    matrix = images.astype(float) @ captions.T
    rows = (lambda some: matrix.T[some], lambda some: matrix[some])
    assert ranked(rows, owns, len(images), weight, 2) == wanted


def test_equal_vectors_tie_whatever_the_matrix_multiplication_rounds() -> None:
    vector = np.random.default_rng(0).normal(size=(1, 515)).astype(np.float32)
    images, captions = np.repeat(vector, 37, axis=0), np.repeat(vector, 53, axis=0)
    rows, place = distinct(captions)
    assert rows.shape == (1, 515) and not place.any() and (rows[0] == vector[0]).all()
    owns = [(n % 37, n) for n in range(53)]
    to_image, to_text = ranked(by_cosines(images, captions), owns, len(images), np.ones(53, np.int64))
    assert set(to_image) == {(36, True)} and all(tie for _, tie in to_text)


@pytest.mark.slow
def test_memory_is_flat() -> None:
    rng = np.random.default_rng(0)
    images, captions = (rng.normal(size=(count, 64)).astype(np.float32) for count in (5000, 25_000))
    owns = [(text // 5, text) for text in range(25_000)]
    tracemalloc.start()
    ranked(by_cosines(images, captions), owns, len(images), np.ones(25_000, np.int64))
    assert tracemalloc.get_traced_memory()[1] < 500e6  # the whole matrix alone is 1 GB
    tracemalloc.stop()


def test_karpathys_file_by_split(folder: Path) -> None:
    images = [
        {
            "filepath": "val2014",
            "sentids": [place],
            "filename": f"{colour}.png",
            "split": "test" if place < 4 else "restval",
            "sentences": [{"raw": f"a {colour}\n thing", "sentid": place}, {"raw": f"{colour}", "sentid": 90 + place}],
        }
        for place, colour in enumerate(COLOURS)
    ]
    (folder / "dataset_coco.json").write_text(json.dumps({"images": images, "dataset": "coco"}))
    (folder / "val2014").symlink_to(folder / "photos")
    for data in (
        open_set("coco-retrieval", source=folder),
        open_set("retrieval:" + str(folder / "dataset_coco.json"), data=folder),
    ):
        assert isinstance(data, CaptionSet) and len(data.photos) == 4 and len(data.captions) == 8
        assert data.captions[0].text == "a red thing" and data.captions[0].id == "0"
        assert values(run(Eye(), data))["text_to_image_recall@1"] == 1.0
    with pytest.raises(UserError, match=r"test \(4\), restval \(2\) \(--splits\)"):
        open_set("coco-retrieval", source=folder, split="val")


def test_flickr8k_by_its_list(folder: Path) -> None:
    lines = [f"{colour}.png#{n}\ta {colour} thing number {n} ." for colour in COLOURS for n in range(2)]
    (folder / "captions.tsv").write_text("\n".join(lines) + "\n")
    (folder / "Flickr_8k.testImages.txt").write_text("red.png\nblue.png\n")
    data = open_set("flickr8k-retrieval", source=folder, data=folder / "photos")
    assert isinstance(data, CaptionSet) and [photo.path for photo in data.photos] == ["red.png", "blue.png"]
    assert len(data.captions) == 4
    with pytest.raises(UserError, match=r"devImages.*--splits"):
        open_set("flickr8k-retrieval", source=folder, split="dev")


@pytest.mark.parametrize("kind", ["retrieval", "zeroshot"])
def test_clip_benchmarks_retrieval_shards_are_not_read(folder: Path, kind: str) -> None:
    (folder / "test").mkdir()
    (folder / "test" / "nshards.txt").write_text("1")
    (folder / "dataset_type.txt").write_text("retrieval\n")
    with pytest.raises(UserError, match=r"retrieval shards are not read\. Write retrieval:FILE"):
        open_set(f"{kind}:{folder}")


def test_items_lend_their_captions(folder: Path) -> None:
    items = [
        Item(id=f"{c}{n}", image=ImageRef(path=f"{c}.png"), caption=f"a {c} square", negatives=texts(f"no {c} {n}"))
        for c in COLOURS
        for n in range(3)
    ]
    write_items(folder / "items.jsonl", items)
    data = open_set("retrieval:" + str(folder / "items.jsonl"), data=folder / "photos")
    assert isinstance(data, CaptionSet) and len(data.captions) == len(data.photos) == 6  # asked three times, found once


def test_a_finished_run_is_read_and_another_is_refused(folder: Path) -> None:
    data, model = opened(folder), Eye()
    first = run(model, data, out=folder / "run")
    asked = len(model.read)
    again = run(model, opened(folder), out=folder / "run")
    assert again.read_from == folder / "run" and len(model.read) == asked
    assert again.record.metrics.overall == first.record.metrics.overall and again.rows == first.rows
    with pytest.raises(UserError, match=r"another run:\n  model"):
        run(Blind(), data, out=folder / "run")
    paint(folder / "photos" / "red.png", "red", 1)
    with pytest.raises(UserError, match="images sha256"):
        run(model, data, out=folder / "run")
    (folder / "captions.jsonl").write_text((folder / "captions.jsonl").read_text().replace("square", "thing"))
    with pytest.raises(UserError, match="benchmark items sha256"):
        run(model, opened(folder), out=folder / "run")


def test_a_changed_run_is_not_believed(folder: Path) -> None:
    data = opened(folder)
    run(Eye(), data, out=folder / "run")
    path = folder / "run" / "result.json"
    path.write_text(path.read_text().replace('"value": 1.0', '"value": 0.5', 1))
    with pytest.raises(UserError, match="it was changed after the run"):
        run(Eye(), data, out=folder / "run")
    rows = folder / "run" / "items.jsonl"
    rows.write_text(rows.read_text().replace('"rank": 0', '"rank": 1', 1))
    with pytest.raises(UserError, match="changed after the run"):
        read_run(folder / "run")


def test_captions_without_photos_are_refused(folder: Path) -> None:
    (folder / "c.txt").write_text("a cat\na dog\n")
    with pytest.raises(UserError, match="2 captions do not say which photo"):
        open_set("retrieval:" + str(folder / "c.txt"), data=folder)
    with pytest.raises(UserError, match="--images"):
        open_set("retrieval:" + str(folder / "c.txt"))
    with pytest.raises(UserError, match="Did you mean flickr8k"):
        open_set("flickr8-retrieval", data=folder)


@pytest.mark.slow
def test_flickr8k_whole(shared_data: Path) -> None:
    data = open_set("flickr8k-retrieval", source=shared_data / "flickr8k")
    assert isinstance(data, CaptionSet) and len(data.photos) == 1000
    assert len(data.captions) == 4999  # one photo has the same caption twice
    assert values(run(Blind(), data))["text_to_image_recall@10"] == 0
