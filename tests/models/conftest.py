"""Tiny random models, made once."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from equipoise.models.clip import ClipModel
from equipoise.models.inputs import Preprocess, clip_preprocess, clip_tokenizer

torch.set_num_threads(1)


WHOLE = 49_408  # tokens of CLIP, for `tiny_network`
MERGES = 4_000


@functools.cache
def short_tokenizer() -> Any:
    """CLIP's tokenizer without most of its merges: to load and to hash all of them takes most of a test's time."""
    from transformers import CLIPTokenizer

    model = json.loads(clip_tokenizer().backend_tokenizer.to_str())["model"]
    words = sorted(model["vocab"], key=model["vocab"].get)
    words = words[: 2 * 256 + MERGES] + words[-2:]  # each byte within and at the end of a word; start, end
    vocabulary = {word: number for number, word in enumerate(words)}
    merges = [tuple(pair) for pair in model["merges"][:MERGES]]
    return CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=77)


def tiny_network(
    activation: str = "quick_gelu", seed: int = 0, vocab_size: int = 2 * 256 + MERGES + 2, **text: Any
) -> Any:
    """Has the tokens of `short_tokenizer`."""
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(seed)
    shared = {"num_hidden_layers": 2, "hidden_act": activation}
    return CLIPModel(
        CLIPConfig(
            text_config={
                "hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 1, "vocab_size": vocab_size,
                "bos_token_id": vocab_size - 2, "eos_token_id": vocab_size - 1,
                "max_position_embeddings": 77, "projection_dim": 32, **shared, **text,
            },
            vision_config={
                "hidden_size": 128, "intermediate_size": 512, "num_attention_heads": 2, "image_size": 32,
                "patch_size": 16, "projection_dim": 32, **shared,
            },
            projection_dim=32,
        )
    ).eval()  # fmt: skip


@pytest.fixture(scope="session")
def tiny_clip() -> ClipModel:
    return ClipModel("test:clip", tiny_network(), short_tokenizer(), clip_preprocess(32), device="cpu")


@pytest.fixture(scope="session")
def whole_clip() -> ClipModel:
    """With all of CLIP's tokens, as checkpoints have them."""
    return ClipModel("test:clip", tiny_network(vocab_size=WHOLE), clip_tokenizer(), clip_preprocess(32), device="cpu")


@pytest.fixture(scope="session")
def clip_folder(tiny_clip: ClipModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    tiny_clip.save(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_siglip() -> ClipModel:
    from transformers import SiglipConfig, SiglipModel

    torch.manual_seed(1)
    shared = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2}
    network = SiglipModel(
        SiglipConfig(
            text_config={**shared, "vocab_size": 40, "max_position_embeddings": 16},
            vision_config={**shared, "image_size": 32, "patch_size": 16},
        )
    ).eval()
    preprocess = Preprocess(resize=(32, 32), crop=None, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    return ClipModel("test:siglip", network, word_tokenizer(), preprocess, device="cpu")


def word_tokenizer(size: int = 40) -> Any:
    """A stand-in for SigLIP's: words, the end token 1, which also pads."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "</s>", "a", "photo", "of", "dog", "cat", "the", "red", "blue"]
    words += [f"w{n}" for n in range(size - len(words))]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="</s>", pad_token="</s>", unk_token="<unk>", padding_side="right"
    )


@pytest.fixture(scope="session")
def photos() -> list[Image.Image]:
    generator = torch.Generator().manual_seed(3)
    sizes = [(40, 60), (33, 32), (32, 32), (90, 31)]
    return [
        Image.fromarray(torch.randint(0, 256, (height, width, 3), generator=generator, dtype=torch.uint8).numpy())
        for height, width in sizes
    ]
