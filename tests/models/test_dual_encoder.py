"""transformers' VisionTextDualEncoder: a convolutional tower and BERT, whose padding is masked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    EfficientNetConfig,
    EfficientNetModel,
    RobertaConfig,
    RobertaModel,
    VisionTextDualEncoderConfig,
    VisionTextDualEncoderModel,
)

from equipoise.core.errors import UserError
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.models.inputs import clip_preprocess

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "blue", "dog", "cat", "runs", "on", "grass"]


def _model(folder: Path, tower: type = BertModel, config_of: type = BertConfig) -> ClipModel:
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    torch.manual_seed(0)
    text = tower(
        config_of(
            vocab_size=len(WORDS),
            pad_token_id=0,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=12,
        )
    )
    vision = EfficientNetModel(
        EfficientNetConfig(
            image_size=32,
            in_channels=[32],
            out_channels=[8],
            kernel_sizes=[3],
            strides=[2],
            expand_ratios=[1],
            num_block_repeats=[1],
            width_coefficient=1.0,
            depth_coefficient=1.0,
            hidden_dim=1280,
            hidden_size=1280,
        )
    )
    config = VisionTextDualEncoderConfig(vision_config=vision.config.to_dict(), text_config=text.config.to_dict())
    config.vision_config._attn_implementation = config.text_config._attn_implementation = "eager"
    network = VisionTextDualEncoderModel(config, vision, text).eval()
    return ClipModel("tiny", network, tokenizer, clip_preprocess(32), device="cpu")


def test_saved_and_loaded_it_is_the_same_model(tmp_path: Path) -> None:
    model = _model(tmp_path)
    model.save(tmp_path / "m")
    again = load_model(f"hf:{tmp_path / 'm'}", device="cpu")
    assert isinstance(again, ClipModel)
    assert again.card["weight_sha256"] == model.card["weight_sha256"]
    assert again.card["architecture"]["vision"]["heads"] is None
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 50, 3), dtype=np.uint8))
    np.testing.assert_allclose(again.embed_images([photo]), model.embed_images([photo]), atol=1e-6)


def test_a_vocabulary_of_words_is_a_tokenizer(tmp_path: Path) -> None:
    """vocab.txt, as BERT's towers are published."""
    model = _model(tmp_path)
    model.save(tmp_path / "m")
    (tmp_path / "m" / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").rename(tmp_path / "m" / "vocab.txt")
    again = load_model(f"hf:{tmp_path / 'm'}", device="cpu")
    assert isinstance(again, ClipModel) and again.tokenize(["a red dog"]) == model.tokenize(["a red dog"])


def test_padding_is_masked(tmp_path: Path) -> None:
    model = _model(tmp_path)
    texts = ["a dog", "a red dog runs on grass"]
    together = model.embed_texts(texts)
    alone = np.concatenate([model.embed_texts([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    direct = model.network.get_text_features(**model.tokenizer(texts, padding=True, return_tensors="pt")).pooler_output
    direct = torch.nn.functional.normalize(direct, dim=-1).detach().numpy()
    np.testing.assert_allclose(together, direct, atol=1e-6)
    ids = torch.tensor([[2, 5, 8, 3, 0, 0]])
    blind = model.network.get_text_features(input_ids=ids).pooler_output  # the padding read as words
    blind = torch.nn.functional.normalize(blind, dim=-1).detach().numpy()
    assert abs(blind - together[:1]).max() > 1e-4


def test_a_tokenizer_that_pads_with_a_word_is_refused(tmp_path: Path) -> None:
    model = _model(tmp_path)
    model.network.config.text_config.pad_token_id = 5
    with pytest.raises(UserError, match="padding would be read as words"):
        ClipModel("tiny", model.network, model.tokenizer, model.preprocess, device="cpu")


def test_training_reads_short_texts_without_the_padding_of_long_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from equipoise.train.step import towers

    model = _model(tmp_path)
    texts = ["a red dog runs on grass", "a dog", "a red cat", "a cat", "a blue dog runs on grass"]
    ids = model.pad(model.tokenize(texts))[0]
    read = towers.read_texts
    widths: list[int] = []
    monkeypatch.setattr(towers, "read_texts", lambda network, ids: (widths.append(ids.shape[1]), read(network, ids))[1])
    monkeypatch.setattr(towers, "ALIKE", 2)
    found = towers.Towers(model.network, model.preprocess).texts(ids)[0].detach().numpy()
    np.testing.assert_allclose(found, model.embed_texts(texts), atol=1e-6)
    assert widths == [4, 8, 8]  # not 8 three times; the two shortest go together


def test_a_tower_without_a_padding_token_is_refused(tmp_path: Path) -> None:
    model = _model(tmp_path, RobertaModel, RobertaConfig)
    model.network.config.text_config.pad_token_id = None
    with pytest.raises(UserError, match="pad_token_id is None"):
        ClipModel("tiny", model.network, model.tokenizer, model.preprocess, device="cpu")


def test_a_long_text_fits_a_tower_whose_positions_begin_after_the_padding(tmp_path: Path) -> None:
    model = _model(tmp_path, RobertaModel, RobertaConfig)
    assert model.context_length == 11  # of 12 positions, one is the padding's
    assert model.embed_texts(["a dog " * 20]).shape == model.embed_texts(["a dog"]).shape
