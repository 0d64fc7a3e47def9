"""Tiny random models with matching heads, and tiny generative ones, in folders as transformers writes them."""

from __future__ import annotations

import functools
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
        qformer_config=TEXT
        | {"encoder_hidden_size": 32, "cross_attention_frequency": 1, "use_qformer_text_input": True},
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
def loaded() -> Callable[[str], Any]:
    """Models by their spec, on the CPU, each loaded once: nothing a test does changes one."""
    from equipoise.models import load_model

    return functools.cache(lambda spec: load_model(spec, device="cpu"))


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


# ---------------------------------------------------------------------------- generative models

CHAT = (
    "{% for message in messages %}USER: {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %} {{ part['text'] }}{% endif %}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %} ASSISTANT:{% endif %}"
)
MORE = (
    '<pad> <s> </s> <unk> <image> yes Yes no No does this figure show please answer or describe USER ASSISTANT : ? " .'
)


def chat_tokenizer(words: str = MORE, side: str = "left", image: str = "<image>") -> Any:
    """Words after <s>; the image's placeholder is a token of its own."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: n for n, word in enumerate([*words.replace("<image>", image).split(), *WORDS[5:]])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    special = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    found = PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side=side, **special)
    found.add_special_tokens({"additional_special_tokens": [image, "<|video_pad|>"]})
    return found


def _llava(tokenizer: Any) -> tuple[Any, Any]:
    from transformers import CLIPImageProcessorPil, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor

    config = LlavaConfig(
        vision_config={"model_type": "clip_vision_model"} | VISION,
        text_config={"model_type": "llama", "num_key_value_heads": 2, **TEXT, "max_position_embeddings": 256,
                     "vocab_size": 128},
        image_token_index=4, image_token_id=4, vision_feature_layer=-1,
    )  # fmt: skip
    image_processor = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    processor = LlavaProcessor(
        image_processor,
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    )
    return LlavaForConditionalGeneration(config), processor


def _qwen2_vl(tokenizer: Any) -> tuple[Any, Any]:
    """As many tokens as the image has patches, so photos of two shapes never share a batch; a part for videos."""
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLImageProcessorPil, Qwen2VLProcessor

    vision = {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2, "patch_size": 4}
    text = {"num_key_value_heads": 2, **TEXT, "max_position_embeddings": 512, "vocab_size": 128}
    text |= {"rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}}
    config = Qwen2VLConfig(
        vision_config=vision | {"spatial_merge_size": 2, "temporal_patch_size": 2}, text_config=text, image_token_id=4
    )

    class Still(Qwen2VLProcessor):  # type: ignore[misc]
        """Without videos, whose processor cannot be made without torchvision."""

        @classmethod
        def get_attributes(cls) -> list[str]:
            return ["image_processor", "tokenizer"]

    image_processor = Qwen2VLImageProcessorPil(
        patch_size=4, merge_size=2, temporal_patch_size=2, size={"shortest_edge": 256, "longest_edge": 1024}
    )
    return Qwen2VLForConditionalGeneration(config), Still(
        image_processor, tokenizer, chat_template=CHAT.replace("<image>", "<|image_pad|>")
    )


def write_chat(folder: Path, tokenizer: Any, make: Callable[[Any], tuple[Any, Any]] = _llava) -> Path:
    torch.manual_seed(0)
    network, processor = make(tokenizer)
    for weight in network.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.15)
    network.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


CHATS: dict[str, Callable[[Any], tuple[Any, Any]]] = {"llava": _llava, "qwen2_vl": _qwen2_vl}


@pytest.fixture(scope="session")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family's tiny generative model, made once."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            tokenizer = chat_tokenizer(image="<|image_pad|>" if name == "qwen2_vl" else "<image>")
            made[name] = write_chat(tmp_path_factory.mktemp(name), tokenizer, CHATS[name])
        return made[name]

    return folder
