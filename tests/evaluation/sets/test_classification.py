"""Zero-shot classification on painted folders: what is read, what counts, what is refused."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.evaluation.sets.helpers import COLOURS, Blind, Eye, Pairs, paint

from equipoise.core.errors import UserError
from equipoise.data.readers.sets.kinds import AnySet, ClassSet
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.run import Result, evaluate_set
from equipoise.evaluation.sets.classification import _mean, ranked
from equipoise.evaluation.sets.kinds import open_set


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six colours with two photos each, one of the pink ones painted blue."""
    for colour in COLOURS:
        for number in range(2):
            paint(tmp_path / "colours" / colour / f"{number}.png", colour, 20 * number)
    paint(tmp_path / "colours" / "pink" / "1.png", "blue")
    return tmp_path / "colours"


def run(model: object, data: AnySet, **options: object) -> Result:
    result = evaluate_set(model, data, workers=1, **options)  # type: ignore[arg-type]
    assert result is not None
    return result


def test_a_folder_of_classes(folder: Path) -> None:
    data = open_set("zeroshot:" + str(folder))
    assert isinstance(data, ClassSet) and data.classes == tuple(sorted(COLOURS)) and len(data.photos) == 12
    model = Eye()
    metrics = run(model, data).record.metrics.overall.metrics
    assert metrics["accuracy@1"].value == pytest.approx(11 / 12) and metrics["accuracy@5"].value == 1.0
    assert metrics["mean_per_class_recall"].value == pytest.approx(5.5 / 6)
    low, high = metrics["accuracy@1"].interval or (0, 0)
    assert low < 11 / 12 <= high and metrics["accuracy@1"].n == 12
    assert set(model.read) == {f"a photo of a {name}." for name in COLOURS}


def test_mean_per_class_recall_weighs_classes_not_photos(folder: Path) -> None:
    for number in range(2, 10):
        paint(folder / "red" / f"{number}.png", "red")
    metrics = run(Eye(), open_set("zeroshot:" + str(folder))).record.metrics.overall.metrics
    assert metrics["accuracy@1"].value == pytest.approx(19 / 20)
    assert metrics["mean_per_class_recall"].value == pytest.approx(5.5 / 6)


def test_a_tie_is_never_a_win(folder: Path) -> None:
    record = run(Blind(), open_set("zeroshot:" + str(folder))).record
    assert (
        record.metrics.overall.metrics["accuracy@1"].value == 0
        and record.metrics.overall.metrics["accuracy@5"].value == 0
    )
    assert record.metrics.overall.ties == 12


def test_templates_are_averaged_and_given_by_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("a {c} square\n\nsomething {}\n")
    data = open_set("zeroshot:" + str(folder), templates=tmp_path / "t.txt")
    assert isinstance(data, ClassSet) and data.templates == ("a {} square", "something {}")
    (tmp_path / "t.txt").write_text("a square\n{} and {}\n")
    with pytest.raises(UserError, match="2 problems"):
        open_set("zeroshot:" + str(folder), templates=tmp_path / "t.txt")


def test_a_class_is_a_unit_vector_however_its_templates_differ(tmp_path: Path) -> None:
    """Two texts far apart have a short mean; without making it a unit vector the class would lose for that alone."""

    class Two(Eye):
        def embed_images(self, images: Sequence[Image.Image]) -> Any:
            return np.array([[1.0, 0.9, 0.0]] * len(images))

        def embed_texts(self, texts: Sequence[str]) -> Any:
            far = {"one cat": (1, 0, 0), "two cat": (0, 1, 0), "one dog": (0.6, 0.6, 0.5), "two dog": (0.6, 0.6, 0.5)}
            return np.array([far[text] for text in texts], float)

    for name in ("cat", "dog"):
        paint(tmp_path / "pets" / name / "1.png", "red")
    (tmp_path / "t.txt").write_text("one {}\ntwo {}\n")
    rows = run(Two(), open_set("zeroshot:" + str(tmp_path / "pets"), templates=tmp_path / "t.txt")).rows
    assert [row.predicted for row in rows] == [0, 0]
    assert not _mean(np.array([[1, 0], [-1, 0]], np.float32)).any()  # they cancel out: near to nothing, and no NaN


def test_texts_are_embedded_once_and_cached(folder: Path, tmp_path: Path) -> None:
    class Known(Eye):
        card = {"spec": "known", "weight_sha256": "7"}  # noqa: RUF012

    first, second = Known(), Known()
    a = run(first, open_set("zeroshot:" + str(folder)), cache=EmbeddingCache(tmp_path / "cache"))
    b = run(second, open_set("zeroshot:" + str(folder)), cache=EmbeddingCache(tmp_path / "cache"))
    assert len(first.read) == 6 and not second.read
    assert a.rows == b.rows and b.record.counts["texts_encoded"] == b.record.counts["images_encoded"] == 0


def test_clip_benchmarks_shards(folder: Path, tmp_path: Path) -> None:
    names = sorted(COLOURS)
    wds = tmp_path / "wds" / "colours"
    (wds / "test").mkdir(parents=True)
    (wds / "classnames.txt").write_text("\n".join(names) + "\n")
    (wds / "zeroshot_classification_templates.txt").write_text("a photo of a {c}.\n")
    (wds / "test" / "nshards.txt").write_text("2\n")
    plain = open_set("zeroshot:" + str(folder))
    assert isinstance(plain, ClassSet)
    for shard in range(2):
        with tarfile.open(wds / "test" / f"{shard}.tar", "w") as archive:
            for place, (path, label) in enumerate(plain.photos[shard * 6 : shard * 6 + 6]):
                for ending, data in (("png", (folder / path).read_bytes()), ("cls", str(label).encode())):
                    member = tarfile.TarInfo(f"s{shard * 6 + place:07}.{ending}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    data = open_set("zeroshot:" + str(wds))
    assert isinstance(data, ClassSet) and [label for _, label in data.photos] == [label for _, label in plain.photos]
    numbers = run(Eye(), data).record.metrics.overall
    assert numbers.metrics["accuracy@1"].value == pytest.approx(11 / 12)
    (wds / "test" / "nshards.txt").write_text("3\n")
    with pytest.raises(UserError, match=r"1 are missing.*2\.tar"):
        open_set("zeroshot:" + str(wds))
    (wds / "classnames.txt").write_text("red\nblue\n")
    (wds / "test" / "nshards.txt").write_text("2\n")
    with pytest.raises(UserError, match="8 problems"):
        open_set("zeroshot:" + str(wds))


def test_folders_called_by_codes_need_names(folder: Path) -> None:
    for place, colour in enumerate(sorted(COLOURS)):
        (folder / colour).rename(folder / f"n0000000{place}")
    with pytest.raises(UserError, match=r"6 of 6 folders.*classnames\.txt"):
        open_set("zeroshot:" + str(folder))
    (folder / "classnames.txt").write_text("".join(f"n0000000{p}\t{c}\n" for p, c in enumerate(sorted(COLOURS))))
    data = open_set("zeroshot:" + str(folder))
    assert isinstance(data, ClassSet) and data.classes == tuple(sorted(COLOURS))
    (folder / "classnames.txt").write_text("one\ntwo\n")
    with pytest.raises(UserError, match="2 names"):
        open_set("zeroshot:" + str(folder))


def test_missing_and_corrupt_photos(folder: Path) -> None:
    (folder / "red" / "1.png").write_bytes(b"not an image")
    with pytest.raises(UserError, match=r"1 photos[^\n]*\n  red/1\.png"):
        run(Eye(), open_set("zeroshot:" + str(folder)))
    record = run(Eye(), open_set("zeroshot:" + str(folder)), allow_missing=True).record
    assert record.metrics.overall.metrics["accuracy@1"].n == 11 and list(record.skipped) == ["red/1.png"]


def test_a_pair_scorer_is_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="needs a model that embeds"):
        run(Pairs(), open_set("zeroshot:" + str(folder)))


def test_chunked_equals_full() -> None:
    rng = np.random.default_rng(0)
    images, classes = rng.integers(-2, 3, (37, 3)).astype(np.float32), rng.integers(-2, 3, (9, 3)).astype(np.float64)
    labels = rng.integers(9, size=37).tolist()
    whole = ranked(images, range(37), classes, labels, step=37)
    for step in (1, 5):
        assert all((a == b).all() for a, b in zip(whole, ranked(images, range(37), classes, labels, step), strict=True))
    scores = images.astype(float) @ classes.T
    for place, label in enumerate(labels):
        own = scores[place, label]
        assert whole[0][place] == sum(value >= own for value in np.delete(scores[place], label))
        assert whole[1][place] == any(value == own for value in np.delete(scores[place], label))
    assert whole[1].any()
