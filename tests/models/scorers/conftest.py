"""Tiny random models with matching heads, and tiny generative ones, in folders as transformers writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

torch.set_num_threads(1)

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a photo of dog cat the red blue on table two small cup bird and".split()
TEXTS = ["a dog", "a cat on the red table", "two small bird and a blue cup on the table of the dog", "a red cup"]
TEXT = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
TEXT |= {"vocab_size": 40, "max_position_embeddings": 48, "pad_token_id": 0}
VISION = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
VISION |= {"image_size": 32, "patch_size": 16}


def bert_tokenizer(limit: int = 48) -> Any:
    """Words between [CLS] and [SEP]; knows no capitals, as BERT's uncased one."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=limit, **special)


def _blip() -> tuple[Any, Any]:
    from transformers import BlipConfig, BlipForImageTextRetrieval, BlipImageProcessorPil

    text = TEXT | {"encoder_hidden_size": 32, "projection_dim": 16, "bos_token_id": 2, "sep_token_id": 3}
    config = BlipConfig(text_config=text, vision_config=VISION | {"projection_dim": 16}, image_text_hidden_size=16)
    return BlipForImageTextRetrieval(config), BlipImageProcessorPil(size={"height": 32, "width": 32})


def _blip2() -> tuple[Any, Any]:
    from transformers import Blip2Config, Blip2ForImageTextRetrieval, BlipImageProcessorPil

    config = Blip2Config(
        vision_config=VISION,
        qformer_config=TEXT | {"encoder_hidden_size": 32, "cross_attention_frequency": 1, "use_qformer_text_input": True},
        num_query_tokens=4,
        image_text_hidden_size=16,
        image_token_index=None,
    )
    network = Blip2ForImageTextRetrieval(config)
    torch.nn.init.normal_(network.query_tokens)  # zeros before training, and then no query differs from another
    return network, BlipImageProcessorPil(size={"height": 32, "width": 32})


def _flava() -> tuple[Any, Any]:
    from transformers import FlavaConfig, FlavaForPreTraining, FlavaImageProcessorPil

    config = FlavaConfig(
        text_config=TEXT,
        image_config=VISION | {"vocab_size": 40},
        multimodal_config={name: TEXT[name] for name in VISION if name in TEXT},
        hidden_size=32,
        projection_dim=16,
        init_codebook=False,
    )
    sizes = {"size": {"height": 32, "width": 32}, "crop_size": {"height": 32, "width": 32}}
    return FlavaForPreTraining(config), FlavaImageProcessorPil(**sizes)


def _align() -> tuple[Any, Any]:
    from transformers import AlignConfig, AlignModel, EfficientNetImageProcessorPil

    vision = {
        "image_size": 32, "width_coefficient": 1.0, "depth_coefficient": 1.0, "depth_divisor": 4, "hidden_dim": 16,
        "kernel_sizes": [3, 3], "in_channels": [32, 8], "out_channels": [8, 16], "strides": [1, 2],
        "num_block_repeats": [1, 1], "expand_ratios": [1, 2], "depthwise_padding": [],
    }  # fmt: skip
    config = AlignConfig(text_config=TEXT, vision_config=vision, projection_dim=16)
    return AlignModel(config), EfficientNetImageProcessorPil(size={"height": 32, "width": 32})


def _vilt() -> tuple[Any, Any]:
    from transformers import ViltConfig, ViltForImageAndTextRetrieval, ViltImageProcessorPil

    config = ViltConfig(**TEXT | VISION)
    return ViltForImageAndTextRetrieval(config), ViltImageProcessorPil(size={"shortest_edge": 32}, size_divisor=16)


def _bridgetower(name: str = "BridgeTowerForImageAndTextRetrieval") -> tuple[Any, Any]:
    import transformers
    from transformers import BridgeTowerConfig, BridgeTowerImageProcessorPil

    config = BridgeTowerConfig(
        text_config=TEXT | {"hidden_size": 64, "type_vocab_size": 1},
        vision_config={"hidden_size": 64, "num_hidden_layers": 2, "image_size": 32, "patch_size": 16},
        hidden_size=64,  # 64 a head, whatever else the config says
        num_hidden_layers=2,
        num_attention_heads=2,
        contrastive_hidden_size=16,
        logit_scale_init_value=2.6,
    )
    sizes = {"size": {"shortest_edge": 32}, "crop_size": {"shortest_edge": 32}, "size_divisor": 16}
    return getattr(transformers, name)(config), BridgeTowerImageProcessorPil(**sizes)


MADE: dict[str, Callable[[], tuple[Any, Any]]] = {
    "blip": _blip,
    "blip-2": _blip2,
    "flava": _flava,
    "align": _align,
    "vilt": _vilt,
    "bridgetower": _bridgetower,
    "bridgetower-itc": lambda: _bridgetower("BridgeTowerForContrastiveLearning"),
}


@pytest.fixture(scope="session")
def matching(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family's tiny model, made once."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            torch.manual_seed(0)
            network, image_processor = MADE[name]()
            for weight in network.parameters():  # larger than transformers begins with: scores far apart
                if weight.dim() > 1:
                    torch.nn.init.normal_(weight, std=0.3)
            made[name] = tmp_path_factory.mktemp(name)
            network.eval().save_pretrained(made[name])
            bert_tokenizer().save_pretrained(made[name])
            image_processor.save_pretrained(made[name])
        return made[name]

    return folder
