"""Items become a study: drawn by seed, pictures under numbers, and a folder that is never overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from tests.study.conftest import Make, some_items

from equipoise.core.errors import OtherRun, UserError
from equipoise.data.items import ImageRef, texts
from equipoise.study.making import choose, make_study
from equipoise.study.questions import MOST_TEXTS, read_study


def test_the_same_seed_draws_the_same(make: Make) -> None:
    first, again, other = (make(name=name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    read = [(folder / "study.json").read_bytes() for folder in (first, again, other)]
    assert read[0] == read[1] != read[2]
    names = [[path.name for path in sorted((folder / "images").iterdir())] for folder in (first, again)]
    assert names[0] == names[1] == [f"{number:05}.jpg" for number in range(len(names[0]))]
    for name in names[0]:
        assert (first / "images" / name).read_bytes() == (again / "images" / name).read_bytes()


def test_pictures_are_cut_small_and_bare(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken by somebody at home"
    Image.new("RGB", (4000, 2000), (200, 10, 10)).save(tmp_path / "large.jpg", exif=exif)
    items = some_items(2, image=ImageRef(path="large.jpg", box=(0, 0, 3000, 1000)))
    study = make_study(items, "made", tmp_path / "study", 2, 0, "rank", tmp_path)
    assert len(study.pictures) == 1  # of two items
    with Image.open(tmp_path / "study" / "images" / "00000.jpg") as picture:
        assert picture.size == (900, 300) and not picture.getexif()


def test_what_a_kill_left_goes(make: Make) -> None:
    folder = make()
    (folder / "study.json").unlink()
    left = [folder / ".study.json.abcd1234.part", folder / "images" / ".00001.jpg.abcd1234.part"]
    for path in left:
        path.write_bytes(b"half")
    make()
    assert (folder / "study.json").is_file() and not any(path.exists() for path in left)


def test_a_folder_with_answers_is_left_alone(make: Make) -> None:
    folder = make()
    (folder / "answers-anna.json").write_bytes(b"not to be touched")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    make()
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(OtherRun, match=r"seed: there 0, here 1"):
        make(seed=1)


def test_what_cannot_be_asked(tmp_path: Path, photos: Path) -> None:
    with pytest.raises(UserError, match="only 3 of 3 items have a picture and a hard negative"):
        choose(some_items(3), 4, 0, "rank")
    with pytest.raises(UserError, match="only 0 of 3 items"):
        choose(some_items(3, image=None), 1, 0, "rank")
    with pytest.raises(UserError, match="only 0 of 3 items have a hard positive or"):
        choose(some_items(3, positives=(), negatives=()), 1, 0, "pairs")
    with pytest.raises(UserError, match="--images"):
        make_study(some_items(3), "made", tmp_path / "a", 2, 0, "rank")
    with pytest.raises(UserError, match=r"(?s)1 problem.*lost\.png: no such file"):
        make_study(some_items(3, image=ImageRef(path="lost.png")), "made", tmp_path / "b", 3, 0, "rank", photos)
    assert not (tmp_path / "b" / "study.json").exists()


def test_more_texts_than_keys(make: Make) -> None:
    many = texts(*(f"wrong {number}" for number in range(12)))
    study = read_study(make(n=20, negatives=many))
    for question in study.questions:
        roles = [text.role for text in question.texts]
        assert len(roles) == MOST_TEXTS and roles.count("c") == roles.count("p") == 1
    assert study.texts_left_out == 20 * (14 - MOST_TEXTS)


def test_pairs_are_of_both_kinds(make: Make) -> None:
    study = read_study(make(n=20, ask="pairs"))
    other = [next(text.role for text in question.texts if text.role != "c") for question in study.questions]
    assert 4 <= other.count("p") <= 16 and {len(question.texts) for question in study.questions} == {2}
    assert not study.pictures and all(question.image is None for question in study.questions)
    first = [question.texts[0].role for question in study.questions]
    assert 4 <= first.count("c") <= 16
