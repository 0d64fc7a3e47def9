"""Preprocessing read from the hub's configuration files, and images of odd shapes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.models.inputs import CLIP_MEAN, CLIP_STD, Preprocess, clip_preprocess, from_config

OLD_CLIP: dict[str, Any] = {  # as OpenAI's folders on the hub have it
    "crop_size": 224,
    "do_center_crop": True,
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": list(CLIP_MEAN),
    "image_std": list(CLIP_STD),
    "resample": 3,
    "size": 224,
}
NEW_CLIP = OLD_CLIP | {"size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 224}}
SIGLIP: dict[str, Any] = {  # Google's
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "image_processor_type": "SiglipImageProcessor",
    "resample": 3,
    "rescale_factor": 0.00392156862745098,
    "size": {"height": 256, "width": 256},
}


def test_the_hubs_files() -> None:
    assert from_config(OLD_CLIP, "x") == from_config(NEW_CLIP, "x") == clip_preprocess(224)
    siglip = from_config(SIGLIP, "x")
    assert siglip == Preprocess((256, 256), None, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    for preprocess, kind in ((siglip, "SiglipImageProcessor"), (clip_preprocess(224), "CLIPImageProcessor")):
        assert from_config(preprocess.to_config(kind), "x") == preprocess
        assert pickle.loads(pickle.dumps(preprocess)) == preprocess


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"do_normalize": False}, "do_normalize is false"),
        ({"rescale_factor": 1}, "1/255 was expected"),
        ({"size": {"longest_edge": 5}}, "not a CLIP or SigLIP"),
        ({"image_mean": None}, "not a CLIP or SigLIP"),
        ({"image_mean": [0.5]}, "expected 3"),
        ({"resample": 99}, "not a CLIP or SigLIP"),
    ],
)
def test_what_cannot_be_done_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        from_config(NEW_CLIP | change, "file.json")


def test_transformers_own_pil_processor_agrees_on_rgb() -> None:
    """transformers' Pillow preprocessor is the same for RGB, up to the rounding of the longer side."""
    from transformers import CLIPImageProcessorPil

    random = np.random.default_rng(0)
    image = Image.fromarray(random.integers(0, 256, (300, 400, 3), dtype=np.uint8))
    theirs = CLIPImageProcessorPil()(image, return_tensors="np")["pixel_values"][0]
    ours = clip_preprocess(224)(image)
    assert np.abs(ours - theirs).max() <= 1.01 / 255 / min(CLIP_STD)


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (500, 2), (224, 224), (3000, 20)])
def test_odd_shapes_give_the_right_size(size: tuple[int, int]) -> None:
    image = Image.new("RGB", size, (255, 0, 0))
    pixels = clip_preprocess(64)(image)
    assert pixels.shape == (3, 64, 64) and pixels.dtype == np.float32 and pixels.flags.c_contiguous
    np.testing.assert_allclose(pixels[0], (1 - CLIP_MEAN[0]) / CLIP_STD[0], atol=0.02)


def test_a_crop_beyond_the_image_is_black() -> None:
    framed = Preprocess(resize=10, crop=(14, 14)).pixels(Image.new("RGB", (10, 10), "white"))
    values = np.asarray(framed)[..., 0]
    assert values.shape == (14, 14) and values[2:12, 2:12].min() == 255 and values.sum() == 255 * 100


def test_a_size_left_open_is_an_error() -> None:
    with pytest.raises(UserError, match="image sizes would differ"):
        _ = Preprocess(resize=10, crop=None).image_size
