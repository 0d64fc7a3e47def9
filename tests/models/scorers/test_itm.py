"""Matching heads: each family's scores are those of a direct call, one pair at a time, whatever the batch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from tests.models.scorers.conftest import TEXTS
from transformers.models.auto.image_processing_auto import AutoImageProcessor

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.scoring import score_items
from equipoise.models import kind_of, load_model

Folder = Callable[[str], Path]
Loaded = Callable[[str], Any]


def _odds(found: Any) -> float:
    return float(found[0, 1] - found[0, 0])


def _flava_itc(found: Any, network: Any) -> float:
    return float(found.contrastive_logits_per_image[0, 0] / network.flava.logit_scale.exp())


# What transformers' own forward gives for one pair: (folder, head) -> class and how its output becomes the score.
DIRECT: dict[tuple[str, str], tuple[str, dict[str, Any], Callable[[Any, Any], float]]] = {
    ("blip", "itm"): ("BlipForImageTextRetrieval", {}, lambda found, _: _odds(found.itm_score)),
    ("blip", "itc"): ("BlipForImageTextRetrieval", {"use_itm_head": False}, lambda found, _: float(found.itm_score)),
    ("blip-2", "itm"): (
        "Blip2ForImageTextRetrieval",
        {"use_image_text_matching_head": True},
        lambda found, _: _odds(found.logits_per_image),
    ),
    ("blip-2", "itc"): ("Blip2ForImageTextRetrieval", {}, lambda found, _: float(found.logits_per_image)),
    ("flava", "itm"): ("FlavaForPreTraining", {"return_loss": False}, lambda found, _: _odds(found.itm_logits)),
    ("flava", "itc"): ("FlavaForPreTraining", {"return_loss": False}, _flava_itc),
    ("align", "itc"): (
        "AlignModel",
        {},
        lambda found, network: float(found.logits_per_image * network.temperature),
    ),
    ("vilt", "itm"): ("ViltForImageAndTextRetrieval", {}, lambda found, _: float(found.logits)),
    ("bridgetower", "itm"): ("BridgeTowerForImageAndTextRetrieval", {}, lambda found, _: _odds(found.logits)),
    ("bridgetower-itc", "itc"): (
        "BridgeTowerForContrastiveLearning",
        {},
        lambda found, _: float((found.text_embeds * found.image_embeds).sum()),
    ),
}
FAMILIES = pytest.mark.parametrize(("name", "head"), DIRECT)


def direct(folder: Path, family: str, head: str, images: Sequence[Image.Image], strings: Sequence[str]) -> list[float]:
    """One pair at a time through transformers' own classes, nothing of ours."""
    name, options, score = DIRECT[family, head]
    network = getattr(transformers, name).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    image_processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
    found = []
    for image, string in zip(images, strings, strict=True):
        tokens = tokenizer(string, return_tensors="pt", return_token_type_ids=False)
        pixels = {"pixel_values": image_processor(image, return_tensors="pt")["pixel_values"]}
        with torch.inference_mode():
            found.append(score(network(**tokens, **pixels, **options), network))
    return found


@pytest.fixture(scope="module")
def pairs(photos: list[Image.Image]) -> tuple[list[Image.Image], list[str]]:
    """Every photo with every text."""
    return [photo for photo in photos for _ in TEXTS], TEXTS * len(photos)


@FAMILIES
def test_scores_are_those_of_a_direct_call(name: str, head: str, matching: Folder, loaded: Loaded, pairs: Any) -> None:
    folder = matching(name)
    model = loaded(f"itm:{folder}?head={head}")
    expected = np.array(direct(folder, name, head, *pairs))
    assert kind_of(model) == "pairs" and model.card["head"] == head
    # Float32 sums differ in the fifth digit between batch sizes, and with which kernels torch takes (ARM, x86).
    assert np.ptp(expected) > 1e-3, "a model that says the same of all pairs would prove nothing"
    np.testing.assert_allclose(model.score_pairs(*pairs), expected, atol=5e-5)
    one_by_one = [model.score_pairs([image], [text])[0] for image, text in zip(*pairs, strict=True)]
    np.testing.assert_allclose(one_by_one, expected, atol=5e-5)


@FAMILIES
def test_image_and_text_both_count(
    name: str, head: str, matching: Folder, loaded: Loaded, photos: list[Image.Image]
) -> None:
    model = loaded(f"itm:{matching(name)}?head={head}")
    assert len(set(model.score_pairs(photos, TEXTS[:1] * 4).round(6))) == 4
    assert len(set(model.score_pairs(photos[:1] * 4, TEXTS).round(6))) == 4


@pytest.mark.slow
@FAMILIES
def test_in_half_precision(name: str, head: str, matching: Folder, loaded: Loaded, photos: list[Image.Image]) -> None:
    """Every part is in it, and near what it is in float32."""
    spec = f"itm:{matching(name)}?head={head}"
    half: Any = load_model(spec, device="cpu", dtype="bfloat16")
    expected, found = loaded(spec).score_pairs(photos, TEXTS), half.score_pairs(photos, TEXTS)
    assert np.abs(found - expected).max() < 0.1 * max(1.0, np.abs(expected).max()) and not (found == expected).all()


def items(photos: list[Image.Image], folder: Path) -> list[Item]:
    for index, photo in enumerate(photos):
        photo.save(folder / f"{index}.png")
    return [
        Item(id=str(index), image=ImageRef(path=f"{index}.png"), caption=TEXTS[0], negatives=texts(*TEXTS[1:], "A DOG"))
        for index in range(len(photos))
    ]


@pytest.mark.parametrize("name", ["blip", "vilt"])
def test_evaluated_in_any_batch_and_kept(
    name: str, matching: Folder, photos: list[Image.Image], tmp_path: Path
) -> None:
    """Through the evaluator: any batch size, the same scores; the same tokens tie; nothing is scored twice."""
    folder = matching(name)
    model: Any = load_model(f"itm:{folder}", device="cpu")
    asked = items(photos, tmp_path)
    cache = EmbeddingCache(tmp_path / "cache")
    rows = score_items(model, asked, images=tmp_path, cache=cache).rows
    expected = direct(folder, name, "itm", [photo for photo in photos for _ in TEXTS], TEXTS * len(photos))
    found = [score for row in rows for score in (row.caption, *row.negatives[:-1])]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert all(row.caption == row.negatives[-1] for row in rows)  # "A DOG" has the tokens of "a dog"
    for batch_size in (1, 3, 64):
        other = score_items(model, asked, images=tmp_path, batch_size=batch_size).rows
        np.testing.assert_allclose([row.negatives for row in other], [row.negatives for row in rows], atol=1e-5, rtol=0)
    subset = score_items(model, asked[2:], images=tmp_path).rows
    if name == "blip":
        assert subset == rows[2:]  # to the bit: neighbours change nothing
    else:  # ViLT keeps the shape of a picture, and only pictures of one shape share a batch
        np.testing.assert_allclose([row.negatives for row in subset], [row.negatives for row in rows[2:]], atol=1e-5)
    again = score_items(load_model(f"itm:{folder}", device="cpu"), asked, images=tmp_path, cache=cache)
    assert again.rows == rows and again.counts["pairs_scored"] == 0


def test_long_texts_are_cut_and_counted(matching: Folder, photos: list[Image.Image], tmp_path: Path) -> None:
    model: Any = load_model(f"itm:{matching('blip')}", device="cpu")
    asked = [items(photos, tmp_path)[0].model_copy(update={"caption": " ".join(["dog"] * 99)})]
    assert score_items(model, asked, images=tmp_path).counts["texts_cut"] == 1
    assert len(model.truncate(model.tokenize([asked[0].caption])[0])) == model.context_length == 48


def test_a_picture_is_looked_at_once(matching: Folder, photos: list[Image.Image]) -> None:
    model: Any = load_model(f"itm:{matching('blip')}", device="cpu")
    looked: list[int] = []
    vision = model.network.vision_model
    handle = vision.register_forward_hook(lambda *_: looked.append(1))
    model.score_pairs([photos[0]] * 3 + [photos[1]], TEXTS)
    model.score_pairs([photos[1], photos[0]], TEXTS[:2])
    handle.remove()
    assert len(looked) == 2


# ---------------------------------------------------------------------------- what is refused


@pytest.fixture
def folder(matching: Folder, tmp_path: Path) -> Path:
    return Path(shutil.copytree(matching("blip"), tmp_path / "blip"))


def refused(spec: str, match: str) -> None:
    with pytest.raises(UserError, match=match):
        load_model(spec, device="cpu")


def test_heads_and_options_that_are_not_there(matching: Folder, folder: Path) -> None:
    refused(f"itm:{matching('vilt')}?head=itc", "family vilt has no head 'itc'")
    refused(f"itm:{folder}?head=mlm", "use itm or itc")
    refused(f"itm:{folder}?haed=itm", "Did you mean head")
    refused("itm:./nowhere", "no folder './nowhere'")


def test_a_family_without_a_head(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "llava"}))
    refused(f"itm:{folder}", "'llava' has no matching head that itm: knows")


def test_a_captioner_is_no_matcher(folder: Path) -> None:
    """Another model of the same family: its head would be random."""
    weights = load_file(folder / "model.safetensors")
    del weights["itm_head.weight"]
    save_file(weights | {"text_decoder.x": torch.zeros(1)}, folder / "model.safetensors", metadata={"format": "pt"})
    refused(f"itm:{folder}", r"missing: itm_head\.weight")


def test_other_heads_in_the_file_do_no_harm(folder: Path, photos: list[Image.Image]) -> None:
    model: Any = load_model(f"itm:{folder}", device="cpu")
    before = model.score_pairs(photos, TEXTS)  # now: older transformers read the weights where the file lies
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"mlm_score.bias": torch.zeros(1)}, folder / "model.safetensors", metadata={"format": "pt"})
    after: Any = load_model(f"itm:{folder}", device="cpu")
    assert (before == after.score_pairs(photos, TEXTS)).all()


def test_only_safetensors(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    refused(f"itm:{folder}", r"no weights \(model\.safetensors\)")


def test_missing_parts(folder: Path) -> None:
    for name, message in [("tokenizer.json", "no tokenizer"), ("preprocessor_config.json", "no image processor")]:
        (folder / name).rename(folder / "away")
        refused(f"itm:{folder}", message)
        (folder / "away").rename(folder / name)
