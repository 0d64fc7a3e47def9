"""A CLIP small enough to train in a test, and items with pictures to train it on."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import CLIPConfig, CLIPModel, CLIPTokenizer, SiglipConfig, SiglipModel

from equipoise.data.items import Edit, ImageRef, Item, texts
from equipoise.models.clip import ClipModel
from equipoise.models.inputs import clip_preprocess

COLOURS = ("red", "green", "blue", "black")
THINGS = ("cat", "dog", "car", "tree", "cup")


@pytest.fixture(autouse=True)
def _quick() -> None:
    torch.set_num_threads(1)


def _tokenizer() -> CLIPTokenizer:
    words = ["a", "and", "is", "on", "the", "with", "of", "photo", *COLOURS, *THINGS]
    letters = [chr(code) for code in range(97, 123)]
    vocabulary = [*letters, *(letter + "</w>" for letter in letters)]
    merges: list[tuple[str, str]] = []
    for word in words:  # each word is built letter by letter into one token
        pieces = [*word[:-1], word[-1] + "</w>"]
        while len(pieces) > 1:
            pair = (pieces[0], pieces[1])
            pieces[:2] = ["".join(pair)]
            if pieces[0] not in vocabulary:
                vocabulary.append(pieces[0])
                merges.append(pair)
    vocabulary += ["<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={word: number for number, word in enumerate(vocabulary)}, merges=merges)


@functools.cache
def _tiny_network(seed: int, context: int) -> CLIPModel:
    """Made once, and copied for each test that trains it."""
    torch.manual_seed(seed)
    tokenizer = _tokenizer()
    tower = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = CLIPConfig(
        text_config={
            **tower,
            "vocab_size": len(tokenizer),
            "max_position_embeddings": context,
            "eos_token_id": tokenizer.eos_token_id,
            "bos_token_id": tokenizer.bos_token_id,
        },
        vision_config={**tower, "image_size": 16, "patch_size": 8},
        projection_dim=12,
    )
    network = CLIPModel(config)
    with torch.no_grad():  # transformers starts so small that all embeddings are nearly alike
        for parameter in network.parameters():
            if parameter.ndim >= 2:
                parameter.mul_(8)
    return network


@pytest.fixture
def tiny_model() -> Callable[..., ClipModel]:
    """Makes a random CLIP of two layers a tower, 16 px images."""

    def make(seed: int = 0, context: int = 24) -> ClipModel:
        torch.manual_seed(seed)
        network = copy.deepcopy(_tiny_network(seed, context))
        return ClipModel("tiny", network, _tokenizer(), clip_preprocess(16), device="cpu")

    return make


@pytest.fixture
def tiny_siglip() -> Callable[[], ClipModel]:
    """Makes a random SigLIP, whose text tower is not causal and whose loss has a bias."""

    def make() -> ClipModel:
        torch.manual_seed(0)
        tokenizer = _tokenizer()
        tower = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
        text = {**tower, "vocab_size": len(tokenizer), "max_position_embeddings": 24, "projection_size": 16}
        network = SiglipModel(
            SiglipConfig(text_config=text, vision_config={**tower, "image_size": 16, "patch_size": 8})
        )
        return ClipModel("siglip", network, tokenizer, clip_preprocess(16), device="cpu")

    return make


@pytest.fixture
def tiny_items(tmp_path: Path) -> Callable[..., list[Item]]:
    """Makes items whose pictures lie in tmp_path/images; some lack a positive or a negative."""

    def make(count: int = 24, per_image: int = 1) -> list[Item]:
        rng = random.Random(0)
        folder = tmp_path / "images"
        folder.mkdir(exist_ok=True)
        items = []
        for number in range(count):
            name = f"{number // per_image:03d}.png"
            pixels = np.random.default_rng(number // per_image).integers(0, 255, (16 + number % 3, 20, 3), np.uint8)
            if not (folder / name).exists():
                Image.fromarray(pixels).save(folder / name)
            colour, thing, other = rng.choice(COLOURS), *rng.sample(THINGS, 2)
            wrong = rng.choice([c for c in COLOURS if c != colour])
            positives = texts(f"the {colour} {thing} and the {other}") if number % 4 else ()
            negatives = texts(f"a {wrong} {thing} and a {other}", edit=Edit(op="replace", target="attribute")) + texts(
                f"a {colour} {other} and a {thing}", edit=Edit(op="swap", target="object")
            )
            items.append(
                Item(
                    id=f"item-{number}",
                    image=ImageRef(path=name),
                    caption=f"a {colour} {thing} and a {other}",
                    positives=positives,
                    negatives=negatives if number % 5 else (),
                )
            )
        return items

    return make
