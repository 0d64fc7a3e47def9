"""CE-CLIP+ from end to end: COCO, CC3M and Visual Genome as their owners give them, perturbed, joined and trained."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.files import read_json
from equipoise.data.items import load_items
from equipoise.models.clip import ClipModel
from equipoise.train.run.log import read_log

CAPTIONS = (
    "A small black dog is sitting on a wooden bench near the table.",
    "A young woman in a red dress is holding a white cup.",
    "Two brown horses are running across a large green field.",
    "An old man is riding a blue bicycle down the street.",
)


def _photo(seed: int) -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (24, 30, 3), np.uint8)
    Image.fromarray(pixels).save(buffer, "JPEG")
    return buffer.getvalue()


def _coco(folder: Path) -> tuple[Path, Path]:
    """Annotations as captions_train2014.json has them, the photos in a folder."""
    images = [{"id": n, "file_name": f"COCO_train2014_{n:012d}.jpg"} for n in range(1, 5)]
    notes = [{"image_id": n, "id": 10 * n + k, "caption": CAPTIONS[n - 1]} for n in range(1, 5) for k in range(2)]
    (folder / "train2014").mkdir(parents=True)
    for image in images:
        (folder / "train2014" / str(image["file_name"])).write_bytes(_photo(int(str(image["id"]))))
    (folder / "captions_train2014.json").write_text(json.dumps({"images": images, "annotations": notes}))
    return folder / "captions_train2014.json", folder / "train2014"


def _cc3m(folder: Path) -> tuple[Path, Path]:
    """A table of captions that names the members of a webdataset shard, which is never unpacked."""
    folder.mkdir()
    names = [f"{n:09d}.jpg" for n in range(4)]
    with tarfile.open(folder / "00000.tar", "w") as archive:
        for seed, name in enumerate(names):
            for member, data in ((name, _photo(100 + seed)), (f"{name[:-4]}.txt", CAPTIONS[seed].encode())):
                header = tarfile.TarInfo(member)
                header.size = len(data)
                archive.addfile(header, io.BytesIO(data))
    rows = [f"{name}\t{caption.lower()}" for name, caption in zip(names, CAPTIONS, strict=True)]
    (folder / "cc3m.tsv").write_text("\n".join(["filepath\ttitle", *rows]) + "\n")
    return folder / "cc3m.tsv", folder / "00000.tar"


def _visual_genome(folder: Path) -> tuple[Path, Path]:
    """Regions with their boxes, the photos in VG_100K beside the file."""
    (folder / "VG_100K").mkdir(parents=True)
    regions = []
    for n in range(1, 5):
        (folder / "VG_100K" / f"{n}.jpg").write_bytes(_photo(200 + n))
        box = {"x": 2, "y": 3, "width": 20, "height": 15}
        regions.append({"id": n, "regions": [{"region_id": n, "image_id": n, "phrase": CAPTIONS[n - 1], **box}]})
    (folder / "region_descriptions.json").write_text(json.dumps(regions))
    return folder / "region_descriptions.json", folder


@pytest.mark.slow
@pytest.mark.parametrize("share", [False, True])
def test_three_sources_are_perturbed_joined_and_trained(
    tiny_model: Callable[..., ClipModel], tmp_path: Path, share: bool
) -> None:
    def command(*arguments: str) -> str:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    tiny_model().save(tmp_path / "tiny")
    given: list[str] = []
    count = 0
    for name, make in (("coco", _coco), ("cc3m", _cc3m), ("vg", _visual_genome)):
        captions, images = make(tmp_path / name)
        out = tmp_path / f"{name}.jsonl"
        command("perturb", str(captions), "--recipe", "ce_clip_zhang_2024", "--out", str(out), "--workers", "1")
        items = load_items(out)
        assert items and all(item.image is not None and item.negatives for item in items)
        assert {text.edit.op for item in items for text in item.negatives if text.edit} == {"swap", "replace"}
        count += len(items)
        given += ["--items", str(out), "--images", str(images)]
    options = ["--model", f"hf:{tmp_path / 'tiny'}", "--out", str(tmp_path / "run")]
    options += ["--set", "batch_size=6", "--set", "max_steps=2", "--device", "cpu"]
    options += ["--weight", "3", "--weight", "1", "--weight", "1"] if share else []
    command("train", "ce_clip_zhang_2024", *given, *options)
    described = read_json(tmp_path / "run" / "run.json")["run"]
    assert described["items"]["count"] == count
    assert described["items"]["mixing"] == ([3.0, 1.0, 1.0] if share else "every item once per epoch")
    steps = [record for record in read_log(tmp_path / "run") if "loss" in record]
    assert len(steps) == 2 and all(set(step["parts"]) >= {"itc", "imc", "cmr"} for step in steps)
    assert not (tmp_path / "run" / "skipped_images.txt").exists(), "every photo of every source was read"
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()


def test_a_shard_is_a_caption_file_of_its_own(tmp_path: Path) -> None:
    """CC3M as img2dataset leaves it: the shard alone gives captions and photos."""
    table, shard = _cc3m(tmp_path / "cc3m")
    for captions in (table, shard):
        arguments = ["perturb", str(captions), "--recipe", "ce_clip_zhang_2024", "--out", f"{captions}.jsonl"]
        assert CliRunner().invoke(app, [*arguments, "--workers", "1"]).exit_code == 0
    names = [[item.image and item.image.path for item in load_items(f"{one}.jsonl")] for one in (table, shard)]
    assert names[0] == names[1]
