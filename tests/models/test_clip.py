"""ClipModel: padding, pooling, the card, saving and loading folders."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.models import Embedder, load_model
from equipoise.models.clip import ClipModel
from equipoise.models.families import weight_sha256
from equipoise.models.hf import load_network
from equipoise.models.inputs import Preprocess, clip_preprocess, clip_tokenizer, token_ids

from .conftest import WHOLE, short_tokenizer, tiny_network, word_tokenizer

TEXTS = ["a dog", "the red cat sits on a blue mat", "x"]


def test_embeddings_have_unit_norm_and_the_protocol(tiny_clip: ClipModel, photos: list[Image.Image]) -> None:
    assert isinstance(tiny_clip, Embedder)
    for rows in (tiny_clip.embed_images(photos), tiny_clip.embed_texts(TEXTS)):
        assert rows.dtype == np.float32 and rows.shape[1] == tiny_clip.card["embed_dim"] == 32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert tiny_clip.embed_texts([]).shape == tiny_clip.embed_images([]).shape == (0, 32)


def test_features_are_those_of_transformers(tiny_clip: ClipModel, photos: list[Image.Image]) -> None:
    """Against the model's own forward pass with its own tokenizer call, padded to 77."""
    pixels = np.stack([tiny_clip.preprocess(photo) for photo in photos])
    inputs = tiny_clip.tokenizer(TEXTS, padding="max_length", return_tensors="pt")
    with torch.inference_mode():
        out = tiny_clip.network(input_ids=inputs["input_ids"], pixel_values=torch.from_numpy(pixels))
    np.testing.assert_allclose(tiny_clip.embed_texts(TEXTS), out.text_embeds.numpy(), atol=1e-6)
    np.testing.assert_allclose(tiny_clip.encode_images(pixels), out.image_embeds.numpy(), atol=1e-6)


def test_padding_after_the_end_cannot_change_a_causal_embedding(tiny_clip: ClipModel) -> None:
    """The proof on which cutting the padding rests: any number of columns, any ids in them."""
    ids = tiny_clip.tokenize(TEXTS)
    alone = np.concatenate([tiny_clip.encode_texts([row]) for row in ids])
    for width in (max(map(len, ids)), 20, 77):
        np.testing.assert_allclose(tiny_clip.encode_texts(ids, pad_to=width), alone, atol=1e-6)
    for junk in (0, 320, tiny_clip.tokenizer.bos_token_id, tiny_clip.tokenizer.eos_token_id):
        rows, ends = tiny_clip.pad(ids, pad_to=77)
        for row, end in zip(rows, ends, strict=True):
            row[end + 1 :] = junk
        with torch.inference_mode():
            features = tiny_clip.text_features(rows, ends)
        np.testing.assert_allclose(torch.nn.functional.normalize(features, dim=-1).numpy(), alone, atol=1e-6)


@pytest.mark.parametrize("eos_in_config", [2, 49407])
def test_transformers_own_pooling_is_right_too(eos_in_config: int) -> None:
    """Old configs say eos_token_id 2 and would pool at the highest id; loading puts that right."""
    network = tiny_network(vocab_size=WHOLE, eos_token_id=eos_in_config)
    model = ClipModel("test", network, clip_tokenizer(), clip_preprocess(32), device="cpu")
    rows, _ = model.pad(model.tokenize(TEXTS), pad_to=20)
    with torch.inference_mode():
        own = network.get_text_features(input_ids=rows).pooler_output
    np.testing.assert_allclose(torch.nn.functional.normalize(own, dim=-1).numpy(), model.embed_texts(TEXTS), atol=1e-6)
    assert network.config.text_config.eos_token_id == 49407


def test_siglip_is_padded_as_it_was_trained(tiny_siglip: ClipModel) -> None:
    ids = tiny_siglip.tokenize(["a photo of a dog", "a cat"])
    assert ids[1] == [2, 6, 1]
    assert not tiny_siglip.causal_text
    padded = torch.tensor([row + [1] * (16 - len(row)) for row in ids])
    with torch.inference_mode():
        expected = tiny_siglip.network.get_text_features(input_ids=padded).pooler_output
    expected = torch.nn.functional.normalize(expected, dim=-1).numpy()
    np.testing.assert_allclose(tiny_siglip.encode_texts(ids), expected, atol=1e-6)
    with torch.inference_mode():  # and it matters: a cut one is another embedding
        cut = tiny_siglip.network.get_text_features(input_ids=torch.tensor([ids[1]])).pooler_output
    assert np.abs(torch.nn.functional.normalize(cut, dim=-1).numpy() - expected[1]).max() > 1e-3


def test_truncation_keeps_the_end(tiny_clip: ClipModel) -> None:
    (ids,) = tiny_clip.tokenize(["dog " * 100])
    assert len(ids) == 102
    cut = tiny_clip.truncate(ids)
    assert len(cut) == 77 and cut[0] == ids[0] and cut[-1] == ids[-1] == tiny_clip.tokenizer.eos_token_id
    assert tiny_clip.truncate(ids[:5]) == ids[:5]
    with pytest.raises(UserError, match="102 tokens"):
        tiny_clip.encode_texts([ids])


def test_card(tiny_clip: ClipModel) -> None:
    card = tiny_clip.card
    json.dumps(card)
    assert card["activation"] == {"vision": "quick_gelu", "text": "quick_gelu"}
    assert card["architecture"]["vision"] == {"width": 128, "layers": 2, "heads": 2, "mlp": 512, "patch_size": 16}
    assert card["parameters"] == sum(p.numel() for p in tiny_clip.network.parameters())
    assert card["weight_sha256"] == weight_sha256(tiny_network())
    assert card["weight_sha256"] != weight_sha256(tiny_network(seed=1))
    assert tiny_clip.logit_scale == pytest.approx(np.exp(2.6592))


@pytest.mark.parametrize("which", ["tiny_clip", "tiny_siglip"])
def test_a_saved_folder_loads_the_same(
    which: str, request: pytest.FixtureRequest, tmp_path: Path, photos: list[Image.Image]
) -> None:
    model: ClipModel = request.getfixturevalue(which)
    model.save(tmp_path)
    (tmp_path / "any").touch()
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1, "who may read one file may read the weights"
    again = load_model(f"hf:{tmp_path}", device="cpu")
    assert isinstance(again, ClipModel)
    assert again.card | {"spec": ""} == model.card | {"spec": ""}
    np.testing.assert_array_equal(again.embed_images(photos), model.embed_images(photos))
    np.testing.assert_array_equal(again.embed_texts(TEXTS), model.embed_texts(TEXTS))
    assert pickle.loads(pickle.dumps(again.preprocess)) == model.preprocess
    assert again.tokenize(["Two  Dogs, it's 23"]) == model.tokenize(["Two  Dogs, it's 23"])


def test_vocab_and_merges_files_are_a_tokenizer(clip_folder: Path, tmp_path: Path, tiny_clip: ClipModel) -> None:
    """The hub's older folders have these two and no tokenizer.json."""
    folder = shutil.copytree(clip_folder, tmp_path / "old")
    backend = json.loads((folder / "tokenizer.json").read_text())["model"]
    (folder / "vocab.json").write_text(json.dumps(backend["vocab"]))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in backend["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    (folder / "tokenizer.json").unlink()
    model = load_model(f"hf:{folder}", device="cpu")
    assert isinstance(model, ClipModel)
    assert model.tokenize(TEXTS) == tiny_clip.tokenize(TEXTS)


def test_lower_precision_is_close(clip_folder: Path) -> None:
    full, half = (load_model(f"hf:{clip_folder}", device="cpu", dtype=name) for name in ("float32", "bfloat16"))
    assert isinstance(full, ClipModel) and isinstance(half, ClipModel)
    assert half.card["dtype"] == "bfloat16" and half.card["weight_sha256"] == full.card["weight_sha256"]
    np.testing.assert_allclose(half.embed_texts(TEXTS), full.embed_texts(TEXTS), atol=0.03)


def test_a_tokenizer_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UserError, match="does not fit the text tower") as caught:
        ClipModel("test", tiny_network(), word_tokenizer(), clip_preprocess(32), device="cpu")
    assert "CLIP expects start, words, end" in str(caught.value)
    with pytest.raises(UserError, match="up to 49407, but the text tower has 100"):
        ClipModel("test", tiny_network(vocab_size=100), clip_tokenizer(), clip_preprocess(32), device="cpu")
    with pytest.raises(UserError, match="CLIP expects start, words, end"):
        ClipModel("test", tiny_network(vocab_size=40), word_tokenizer(), clip_preprocess(32), device="cpu")


def test_a_table_of_more_rows_than_tokens_is_a_padded_one(
    clip_folder: Path, tiny_clip: ClipModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Tables are padded to a round number; the rows that no token has change nothing."""
    network = load_network(clip_folder, "CLIPModel", None)
    rows = network.config.text_config.vocab_size
    network.text_model.resize_token_embeddings(rows + 128, mean_resizing=False)
    network.config.text_config.vocab_size = rows + 128
    folder = shutil.copytree(clip_folder, tmp_path / "padded")
    network.save_pretrained(folder)
    model = load_model(f"hf:{folder}", device="cpu")
    assert isinstance(model, ClipModel) and model.card["architecture"]["text"]["vocabulary"] == rows + 128
    np.testing.assert_array_equal(model.embed_texts(TEXTS), tiny_clip.embed_texts(TEXTS))
    assert not caplog.records
    ClipModel("far", tiny_network(vocab_size=3 * rows), short_tokenizer(), clip_preprocess(32), device="cpu")
    assert "is it this model's own?" in caplog.text


def test_preprocessing_of_another_size_is_refused() -> None:
    with pytest.raises(UserError, match=r"\(64, 64\), the vision tower takes \(32, 32\)"):
        ClipModel("test", tiny_network(), short_tokenizer(), Preprocess(64, (64, 64)), device="cpu")


def test_bytes_become_the_same_floats_on_the_device(tiny_clip: ClipModel) -> None:
    """Workers send bytes; the arithmetic is that of Preprocess, bit by bit."""
    size = tiny_clip.preprocess.image_size
    pixels = np.random.default_rng(0).integers(0, 256, (5, *size, 3), dtype=np.uint8)
    seen: list[torch.Tensor] = []
    features = tiny_clip.image_features
    tiny_clip.image_features = lambda floats: seen.append(floats) or features(floats)  # type: ignore[method-assign]
    try:
        found = tiny_clip.begin_images([tiny_clip.send_pixels(pixels[:3]), tiny_clip.send_pixels(pixels[3:])], 7)()
    finally:
        del tiny_clip.image_features  # type: ignore[method-assign]
    floats = np.stack([tiny_clip.preprocess(Image.fromarray(one)) for one in (*pixels, pixels[0], pixels[0])])
    assert (seen[0].numpy() == floats).all() and seen[0].is_contiguous()
    assert (found == tiny_clip.encode_images(floats)).all()


def test_a_text_without_an_end_is_refused(tiny_clip: ClipModel) -> None:
    with pytest.raises(UserError, match="no end token"):
        tiny_clip.encode_texts([[1, 2, 3], tiny_clip.tokenize(["a dog"])[0]], pad_to=3 + 5)


def test_tf32_is_for_gpus(tiny_clip: ClipModel) -> None:
    with pytest.raises(UserError, match="'tf32' is for NVIDIA GPUs"):
        ClipModel("x", tiny_clip.network, tiny_clip.tokenizer, tiny_clip.preprocess, device="cpu", dtype="tf32")


def test_tokens_are_those_of_transformers() -> None:
    tokenizer = clip_tokenizer()
    strings = ["a photo of a cat", "", "<|endoftext|> twice", "caf\u00e9 \U0001f408", "x" * 300, "one, two; three!"]
    tokenizer(strings, padding=True, truncation=True, max_length=8)  # leaves its settings behind
    assert token_ids(tokenizer, strings) == tokenizer(strings)["input_ids"]


def test_the_identity_of_image_embeddings_follows_the_vision_tower(tiny_clip: ClipModel) -> None:
    model = tiny_clip.holding(copy.deepcopy(tiny_clip.network))
    before = model.image_card
    for part, same in (("text_model", True), ("vision_model", False)):
        next(weights for name, weights in model.network.named_parameters() if name.startswith(part)).data += 0.01
        assert (model.image_card == before) is same
