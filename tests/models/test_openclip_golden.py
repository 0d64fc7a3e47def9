"""Against open_clip 3.3.0 itself, by the files tests/golden/make_openclip.py wrote in its own environment."""

from __future__ import annotations

import html
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.models.checkpoint import load_file
from equipoise.models.clip import ClipModel
from equipoise.models.convert import to_open_clip, to_transformers
from equipoise.models.inputs import PLAIN, Preprocess, clean_clip, clip_preprocess, clip_tokenizer

GOLDEN = Path(__file__).resolve().parents[1] / "golden"

spec = importlib.util.spec_from_file_location("openclip_inputs", GOLDEN / "openclip_inputs.py")
assert spec and spec.loader
inputs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(inputs)


@pytest.fixture(scope="module")
def tokens() -> dict[str, Any]:
    return dict(json.loads((GOLDEN / "openclip_tokens.json").read_text()))


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "openclip_arrays.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="module")
def state() -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(values) for name, values in inputs.drawn_state().items()}


@pytest.mark.parametrize("text", inputs.STRINGS, ids=lambda text: ascii(text)[:40])
def test_tokens_are_open_clips(text: str, whole_clip: ClipModel, tokens: dict[str, Any]) -> None:
    if not PLAIN.fullmatch(text):
        pytest.importorskip("ftfy", reason="CLIP's cleaning of such text needs ftfy")
    assert whole_clip.tokenize([text]) == [tokens["tokens"][text]]


def test_truncation_is_open_clips(whole_clip: ClipModel, tokens: dict[str, Any]) -> None:
    (ids,) = whole_clip.tokenize([inputs.LONG])
    assert whole_clip.truncate(ids) == tokens["truncated"]


def test_plain_text_needs_no_cleaning_beyond_spaces_and_case() -> None:
    """The shortcut of clean_clip, against the whole cleaning."""
    ftfy = pytest.importorskip("ftfy")
    strings = [
        *inputs.STRINGS,
        "a dog. \n",
        "black & white\tvase &",
        "AT&T",
        "R&B;",
        "&#",
        "a\x0bb",
        "a\x1cb",
        "&lt",
        "\r\n",
    ]
    plain = [text for text in strings if PLAIN.fullmatch(text)]
    assert 20 < len(plain) < len(strings)
    assert {"a dog. \n", "black & white\tvase &", "\r\n"} < set(plain)
    for text in strings:
        whole = html.unescape(html.unescape(ftfy.fix_text(text)))
        assert clean_clip(text) == " ".join(whole.split()).lower(), text


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["shortest", "squash"])
def test_preprocessing_is_open_clips_within_one_grey_level(mode: str, arrays: dict[str, np.ndarray]) -> None:
    preprocess = clip_preprocess(224) if mode == "shortest" else Preprocess((224, 224), None)
    compared = 0
    for size in inputs.SIZES:
        for image_mode in inputs.MODES:
            expected = arrays[f"pixels/{mode}/{size[0]}x{size[1]}/{image_mode}"].astype(int)
            pixels = np.asarray(preprocess.pixels(inputs.drawn_image(size, image_mode))).astype(int)[::16, ::16]
            assert np.abs(pixels - expected).max() <= 1, (size, image_mode)
            compared += 1
    assert compared == 35


def test_normalisation_is_open_clips(arrays: dict[str, np.ndarray]) -> None:
    pixels = clip_preprocess(32)(inputs.drawn_image(inputs.SIZES[0], "RGB"))
    assert pixels.dtype == np.float32 and pixels.shape == (3, 32, 32)
    np.testing.assert_allclose(pixels[None, :, ::4, ::4], arrays["normalised"], atol=1.01 / 255 / 0.26)
    np.testing.assert_allclose(pixels[None, :, ::4, ::4].mean(), arrays["normalised"].mean(), atol=1e-3)


@pytest.mark.parametrize("activation", ["gelu", "quickgelu"])
def test_the_converted_forward_pass_is_open_clips(
    activation: str, state: dict[str, torch.Tensor], arrays: dict[str, np.ndarray], tmp_path: Path
) -> None:
    path = tmp_path / "epoch_5.pt"
    torch.save({"epoch": 5, "name": "x", "state_dict": {f"module.{k}": v for k, v in state.items()}}, path)
    model = load_file(path, {"act": activation, "heads": "2,2"}, spec="test", device="cpu")
    assert model.card["architecture"]["vision"] == {"width": 128, "layers": 2, "heads": 2, "mlp": 512, "patch_size": 8}
    texts = model.embed_texts(inputs.STRINGS[:8])
    images = model.embed_images([inputs.drawn_image(size, "RGB") for size in inputs.SIZES])
    for ours, name in ((texts, "texts"), (images, "images")):
        for other in ("gelu", "quickgelu"):
            theirs = arrays[f"{other}/{name}"]
            theirs = theirs / np.linalg.norm(theirs, axis=1, keepdims=True)
            difference = np.abs(ours - theirs).max()
            if other == activation:
                assert difference < 1e-5
            else:
                assert difference > 1e-3, "the activation must show, or this test shows nothing"


def test_features_before_the_norm_are_open_clips(state: dict[str, torch.Tensor], arrays: dict[str, np.ndarray]) -> None:
    network = to_transformers(state, activation="gelu", heads=(2, 2), where="test")
    model = ClipModel("test", network, clip_tokenizer(), clip_preprocess(32), device="cpu")
    rows, ends = model.pad(model.tokenize(inputs.STRINGS[:8]), pad_to=77)
    pixels = torch.from_numpy(np.stack([model.preprocess(inputs.drawn_image(size, "RGB")) for size in inputs.SIZES]))
    with torch.inference_mode():
        np.testing.assert_allclose(model.text_features(rows, ends).numpy(), arrays["gelu/texts"], atol=1e-5)
        np.testing.assert_allclose(model.image_features(pixels).numpy(), arrays["gelu/images"], atol=1e-5)
    assert model.logit_scale == pytest.approx(1 / 0.07)


def test_back_to_open_clip_bit_for_bit(state: dict[str, torch.Tensor]) -> None:
    back = to_open_clip(to_transformers(state, activation="gelu", heads=(2, 2), where="test"))
    assert back.keys() == state.keys()
    for name, values in state.items():
        assert back[name].shape == values.shape and torch.equal(back[name], values), name
