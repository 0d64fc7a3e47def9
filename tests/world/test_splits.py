from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from equipoise.benchmarks import registry
from equipoise.benchmarks.base import splits_of
from equipoise.core.errors import Busy, UserError
from equipoise.core.run_folder import locked
from equipoise.data.items import load_items
from equipoise.models.blind import by_ngrams
from equipoise.train.recipes import get_recipe
from equipoise.world import benchmarks
from equipoise.world.draw import PIXELS
from equipoise.world.splits import (
    BALANCED,
    TESTS,
    UNSEEN,
    DrawnImages,
    case_at,
    make_world,
    picture,
    scene_of,
    world_items,
)
from equipoise.world.vocabulary import FAMILIES
from studies.world_captions import pretraining_at


def test_the_test_sets_are_frozen() -> None:
    """A change here changes published numbers: it needs a new base model and new tables."""
    items = [item.to_json() for item in world_items("test", 250, 0, (*TESTS, *UNSEEN))]
    digest = hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()
    assert digest == "3480c3dcdb47d5563ce40163e38c42e5196791508686b3f222893617f7af3016"


def test_the_balanced_test_set_is_frozen() -> None:
    items = [item.to_json() for item in world_items("test", 200, 0, BALANCED)]
    digest = hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()
    assert digest == "ae748fc639ad6fa39d9a6e1361f85355712e62631bddb049a85af7c3be28e45e"


def test_no_word_of_the_balanced_test_set_tells_a_caption_from_a_negative() -> None:
    """Three standard deviations of a fair coin; on the other sets n-grams win 75 to 81 of 100."""
    items = list(world_items("test", 2000, 0, BALANCED))
    outcomes = [scores[0] > scores[2] for scores in by_ngrams(items)]
    assert abs(sum(outcomes) / 2000 - 0.5) < 3 * 0.5 / 2000**0.5
    rare = [sum(item.tags[side] == "rare" for item in items if side in item.tags) for side in ("caption", "negative")]
    assert abs(rare[0] - rare[1]) < 100 and min(rare) > 600
    assert sum(scores[0] > scores[2] for scores in by_ngrams(list(world_items("test", 500, 0, TESTS[:1])))) > 350


def test_the_finetuning_set_is_frozen() -> None:
    """The demo's numbers follow from it to the digit."""
    items = [item.to_json() for item in world_items("finetune", 250, 0)]
    digest = hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()
    assert digest == "d51c6b2873ac0c031df9619ea9fa0056bb772b7d03da811ed9aca22be0f554cc"


def test_object_negatives_have_a_split_of_their_own() -> None:
    """CE-CLIP has a threshold for each type: three of its four can move here, all in finetune-actions."""
    items = list(world_items("finetune-objects", 120))
    slots = get_recipe("ce_clip_zhang_2024").needs.negatives
    counts = {slot.name: sum(slot.accepts(item.negatives[0].edit) for item in items) for slot in slots}
    assert counts == {"relation": 60, "attribute": 30, "object": 30, "action": 0}
    objects = [item for item in items if item.tags["split"] == "replace-objects"]
    assert {item.tags["synonym"] for item in objects} == {"seen"} and {item.tags["type"] for item in objects} == {
        "kind"
    }
    assert len({item.negatives[0].text for item in objects}) == 30
    cases = [case_at("finetune-objects", "replace-objects", 0, index) for index in range(60)]
    assert all(case.right() for case in cases)
    inside = sum(case.changed[2].value in {each.kind for each in case.scene.objects} for case in cases if case.changed)
    assert 5 <= inside <= 45, "some negatives name a thing that is in the picture, some do not"
    image = objects[0].image
    assert image is not None and scene_of(image.path) == cases[0].scene


def test_actions_have_a_split_with_all_of_ce_clips_types() -> None:
    items = list(world_items("finetune-actions", 150))
    slots = get_recipe("ce_clip_zhang_2024").needs.negatives
    counts = {slot.name: sum(slot.accepts(item.negatives[0].edit) for item in items) for slot in slots}
    assert counts == {"relation": 60, "attribute": 30, "object": 30, "action": 30}
    acting = [item for item in items if item.tags["split"] == "replace-actions"]
    for item in acting:
        assert (item.tags["type"], item.tags["synonym"]) == ("action", "seen")
        for changed in (item.positives[0], item.negatives[0]):
            edit = changed.edit
            assert edit is not None and (edit.op, edit.target) == ("replace", "action")
            assert edit.source is not None and edit.to is not None
            assert changed.text.split() == [edit.to if word == edit.source else word for word in item.caption.split()]
    cases = [case_at("finetune-actions", "replace-actions", 0, index) for index in range(90)]
    assert all(case.right() for case in cases)
    shown = sum(case.changed[2].value in {each.action for each in case.scene.objects} for case in cases if case.changed)
    assert 9 <= shown <= 70, "some negatives name what another thing in the picture does, some do not"
    image = acting[0].image
    assert image is not None and scene_of(image.path) == cases[0].scene


def test_splits_share_no_scene() -> None:
    scenes = {
        split: {case_at(split, test, 0, n).scene for test in TESTS for n in range(60)}
        for split in ("finetune", "validation", "test")
    }
    scenes["pretrain"] = {pretraining_at(0, n)[0] for n in range(200)}
    every = [scene for found in scenes.values() for scene in found]
    assert len(every) == len(set(every))


def test_finetuning_never_shows_unseen_synonyms_as_positives_nor_the_unseen_types() -> None:
    items = list(world_items("finetune", 300))
    assert {item.tags["split"] for item in items} == set(TESTS)
    assert {item.tags["synonym"] for item in items} == {"seen", "none"}
    tested = {item.tags["synonym"] for item in world_items("test", 60)}
    assert tested == {"seen", "unseen", "none"}


def test_make_world_writes_items_and_their_pictures(tmp_path: Path) -> None:
    file = make_world(7, 5, tmp_path, "validation")
    items = load_items(file)
    assert items == list(world_items("validation", 7, 5))
    for item in items:
        assert item.image is not None
        with Image.open(tmp_path / item.image.path) as image:
            assert image.size == (PIXELS, PIXELS)
            assert (np.asarray(image) == np.asarray(picture(item.image.path))).all()


def test_a_second_call_draws_nothing_and_other_items_are_drawn(tmp_path: Path) -> None:
    file = make_world(4, 0, tmp_path)
    first = next(tmp_path.rglob("*.png"))
    first.write_bytes(b"touched")
    make_world(4, 0, tmp_path)
    assert first.read_bytes() == b"touched"
    file.write_text(file.read_text().replace("world/finetune", "world/other", 1))
    make_world(4, 0, tmp_path)
    assert first.read_bytes() != b"touched"


def test_an_empty_or_missing_picture_is_drawn_again(tmp_path: Path) -> None:
    """A power cut, or a kill of an older version, left such pictures in worlds that counted as finished."""
    file = make_world(4, 0, tmp_path)
    first, second, *rest = sorted(tmp_path.rglob("*.png"))
    whole = first.read_bytes(), second.read_bytes()
    stamps = [path.stat().st_mtime_ns for path in (file, *rest)]
    first.write_bytes(b"")
    second.unlink()
    make_world(4, 0, tmp_path)
    assert (first.read_bytes(), second.read_bytes()) == whole
    assert [path.stat().st_mtime_ns for path in (file, *rest)] == stamps


KILLED = """
import os, signal, sys
from equipoise.world import splits
from pathlib import Path
from PIL import Image

drawn, save = [], Image.Image.save

def half(image, target, *arguments, **options):  # killed while the third picture is written
    drawn.append(1)
    if len(drawn) == 3:
        handle = target if hasattr(target, "write") else open(target, "wb")
        handle.write(b"half")
        handle.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    save(image, target, *arguments, **options)

Image.Image.save = half
splits.make_world(6, 0, Path(sys.argv[1]))
"""


def test_a_kill_while_a_world_is_enlarged_leaves_no_broken_picture(tmp_path: Path) -> None:
    make_world(4, 0, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.png")}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -9
    assert {path: path.read_bytes() for path in before} == before
    make_world(6, 0, tmp_path)
    make_world(6, 0, tmp_path / "fresh")
    for path in (tmp_path / "fresh").rglob("*.png"):
        assert (tmp_path / path.relative_to(tmp_path / "fresh")).read_bytes() == path.read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_names_the_file_and_leaves_none_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    plain, made = tempfile.mkstemp, []

    def fills_up(**options: str) -> tuple[int, str]:
        made.append(1)
        if len(made) < 4:  # the claim and two pictures
            return plain(**options)
        return os.open("/dev/full", os.O_WRONLY), str(tmp_path / "part")

    monkeypatch.setattr(tempfile, "mkstemp", fills_up)
    with pytest.raises(UserError, match=r"finetune/.*\.png: could not be written \(No space left on device\)"):
        make_world(4, 0, tmp_path / "world")
    pictures = [path for path in (tmp_path / "world").rglob("*") if path.is_file() and path.name[0] != "."]
    assert len(pictures) == 2 and all(Image.open(path).load() for path in pictures)


def test_files_that_the_world_did_not_draw_are_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "finetune-0.jsonl").write_text("mine\n")
    with pytest.raises(
        UserError, match=r"no run of equipoise bench build world: finetune-0\.jsonl would be overwritten"
    ):
        make_world(4, 0, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["finetune-0.jsonl"]
    photo = tmp_path / "photos" / "finetune" / "swap" / "0" / "000000.png"
    photo.parent.mkdir(parents=True)
    photo.write_bytes(b"mine")
    with pytest.raises(UserError, match="would be overwritten"):
        make_world(4, 0, tmp_path / "photos")
    assert photo.read_bytes() == b"mine"
    make_world(4, 0, tmp_path / "world")
    make_world(4, 1, tmp_path / "world")  # another seed is another file of the same world


def test_two_worlds_at_once(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(Busy):
        make_world(4, 0, tmp_path)
    make_world(4, 0, tmp_path)
    with locked(tmp_path):
        make_world(4, 0, tmp_path)  # finished: nothing to write


def test_images_can_be_read_without_files() -> None:
    path = "test/swap/0/000003.png"
    with Image.open(io.BytesIO(DrawnImages().read(path))) as image:
        assert (np.asarray(image) == np.asarray(picture(path))).all()


@pytest.mark.parametrize("path", ["photo.jpg", "test/swap/0/x.png", "nowhere/swap/0/1.png", "test/nothing/0/1.png"])
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(UserError, match="not an image of the drawn world"):
        scene_of(path)


def test_bad_arguments_are_explained(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no split 'tests'"):
        make_world(3, 0, tmp_path, "tests")
    with pytest.raises(UserError, match="above 0"):
        make_world(0, 0, tmp_path)


def test_benchmarks_draw_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def few(name: str) -> dict[str, int]:
        return {split: 12 // len(splits_of(name)) for split in splits_of(name)}

    monkeypatch.setattr(benchmarks, "splits_of", few)
    for benchmark in map(registry.get, registry.expand("world")):
        items = benchmark.load(tmp_path, ())
        assert len(items) == 12 and {item.tags["split"] for item in items} == set(benchmark.splits)
        assert all(item.image is not None and (tmp_path / item.image.path).exists() for item in items)
    assert len(benchmarks.load_unseen(tmp_path, ("count",))) == 6


def test_large_picture_is_a_png() -> None:
    item = next(world_items("test", 1))
    assert item.image is not None
    with Image.open(io.BytesIO(benchmarks.LargePictures().read(item.image.path))) as image:
        assert image.format == "PNG" and image.size == (160, 160)


def test_no_word_of_a_matched_item_gives_its_negative_away() -> None:
    """The negative's word is as common as the caption's, and no unseen synonym occurs in any text."""
    items = list(world_items("finetune-matched", 400))
    replaced = [item for item in items if item.tags["split"] != "swap"]
    for item in replaced:
        caption, positive, negative = item.caption, item.positives[0].edit, item.negatives[0].edit
        assert positive is not None and negative is not None and positive.source in caption
        common = {words[0] for values in FAMILIES.values() for words in values.values()}
        assert (positive.source in common) == (negative.to in common) != (positive.to in common)
    unseen = {words[-1] for family in ("colour", "size", "texture", "relation") for words in FAMILIES[family].values()}
    said = [text for item in items for text in (item.caption, item.positives[0].text, item.negatives[0].text)]
    assert not [text for text in said if any(f" {word} " in f" {text} " for word in unseen)]
    assert 70 < sum(item.tags["negative"] == "rare" for item in replaced) < 130  # of 200


def test_matched_items_are_of_the_same_pictures() -> None:
    usual, matched = (list(world_items(split, 40)) for split in ("finetune", "finetune-matched"))
    assert [item.image for item in usual] == [item.image for item in matched]
    assert all(case_at("finetune-matched", test, 3, index).right() for test in TESTS for index in range(60))
