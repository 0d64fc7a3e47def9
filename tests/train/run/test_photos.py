"""A run is one of its photos, by their bytes; and it stops where more are unreadable than was agreed to."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import pytest
from PIL import Image

from equipoise.core.errors import OtherRun, UserError
from equipoise.core.files import read_json
from equipoise.data.images import FolderImages, TarImages
from equipoise.train.data.batches import Part
from equipoise.train.losses.clip import clip_loss
from equipoise.train.recipe import Recipe
from equipoise.train.run.check import read_photos
from equipoise.train.run.loop import train

RECIPE = Recipe(terms={"clip": (1.0, clip_loss)}, batch_size=6, epochs=1, max_steps=2)


def _tar(folder: Path, out: Path) -> Path:
    with tarfile.open(out, "w") as archive:
        for path in sorted(folder.iterdir()):
            data = path.read_bytes()
            header = tarfile.TarInfo(path.name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return out


@pytest.mark.parametrize("shards", [False, True])
def test_other_images_are_another_run(tiny_model, tiny_items, tmp_path, shards):
    items, images = tiny_items(), tmp_path / "images"
    other = Path(shutil.copytree(images, tmp_path / "other"))
    same = Path(shutil.copytree(images, tmp_path / "same"))
    with Image.open(other / "007.png") as photo:
        changed = photo.copy()
    changed.putpixel((0, 0), (1, 2, 3))
    changed.save(other / "007.png")
    places = [_tar(one, one.with_suffix(".tar")) for one in (images, other, same)] if shards else [images, other, same]

    def run(place: Path) -> Path:
        return train(RECIPE, items, tiny_model(), tmp_path / "out", images=place, show=False)

    model = run(places[0])
    assert read_json(tmp_path / "out" / "run.json")["run"]["images"]["count"] == 24
    with pytest.raises(OtherRun, match=r"images sha256: there [0-9a-f]{10}…, here"):
        run(places[1])
    assert run(places[2]) == model, "the same photos elsewhere are the same run"
    assert "24 items" in (model / "README.md").read_text() and "none was skipped" in (model / "README.md").read_text()


def test_more_unreadable_images_than_agreed_stop_the_run(tiny_model, tiny_items, tmp_path):
    items, images = tiny_items(), tmp_path / "images"

    def run(out: str, **options: float) -> Path:
        return train(RECIPE, items, tiny_model(), tmp_path / out, images=images, show=False, **options)

    (images / "003.png").unlink()
    with pytest.raises(
        UserError, match=r"1 of 24 items \(4.2 %\)(.|\n)*--max-skipped 0.01(.|\n)*item-3: 003.png: no such"
    ):
        run("missing")
    assert not (tmp_path / "missing" / "run.json").exists(), "before anything was trained"
    for number in (4, 5, 6, 7, 8):
        (images / f"{number:03}.png").write_bytes(b"no photo")
    with pytest.raises(UserError, match=r"more than --max-skipped 0.1 allows"):  # found as they are decoded
        run("corrupt", max_skipped=0.1)
    assert run("agreed", max_skipped=0.25).is_dir()


def test_sources_are_hashed_once_and_parts_in_order(tiny_items, tmp_path):
    items = tiny_items(8)
    folder = FolderImages(tmp_path / "images")
    tar = TarImages([_tar(tmp_path / "images", tmp_path / "photos.tar")])
    both = read_photos([Part(items[:4], folder), Part(items[4:], folder)])
    assert both.count == 8 and both.unread == []
    assert read_photos([Part(items, folder)]).sha256 != read_photos([Part(items, tar)]).sha256
    one, other = Part(items, folder), Part(items, tar)
    assert read_photos([one, other]).sha256 != read_photos([other, one]).sha256
    absent = [item.model_copy(update={"image": item.image.model_copy(update={"path": "no.png"})}) for item in items[:2]]
    assert [line.split(": ")[:2] for line in read_photos([Part(absent, tar)]).unread] == [
        ["item-0", "no.png"],
        ["item-1", "no.png"],
    ]


def test_a_source_may_say_itself_what_its_photos_are(tiny_items):
    class Drawn:
        digest = "drawn"

        def read(self, path: str) -> bytes:
            raise AssertionError("nobody should draw thousands of pictures for a hash")

    items = tiny_items(4)
    assert read_photos([Part(items, Drawn())]).sha256 != read_photos([Part(items[:3], Drawn())]).sha256
