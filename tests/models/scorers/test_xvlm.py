"""X-VLM's published layout: a random checkpoint written in it scores as X-VLM's own code scored it.

tests/golden/xvlm.json holds what github.com/zengyan-97/X-VLM (cb4fff1) gave for these weights, pixels and tokens: its
model_retrieval.XVLM in eval mode, get_vision_embeds, get_text_embeds, get_cross_embeds, itm_head and get_features.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tests.models.scorers.conftest import TEXTS, bert_tokenizer

from equipoise.core.errors import UserError
from equipoise.models import load_model

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "xvlm.json"
EMBED, DEPTHS, HEADS, WINDOW = 16, (2, 2), (2, 4), 4  # an image of 32 x 32
HIDDEN, LAYERS, FUSION, INNER, WORDS, POSITIONS, WIDTH = 128, 4, 2, 64, 40, 48, 24


def layout() -> dict[str, torch.Tensor]:
    """Random tensors with the names and shapes of a finetuned X-VLM."""
    shapes: dict[str, tuple[int, ...]] = {}

    def linear(name: str, rows: int, columns: int, bias: bool = True) -> None:
        shapes[f"{name}.weight"] = (rows, columns)
        if bias:
            shapes[f"{name}.bias"] = (rows,)

    def norm(name: str, width: int) -> None:
        shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (width,)

    vision = "vision_encoder."
    shapes[f"{vision}patch_embed.proj.weight"] = (EMBED, 3, 4, 4)
    shapes[f"{vision}patch_embed.proj.bias"] = (EMBED,)
    norm(f"{vision}patch_embed.norm", EMBED)
    for stage, (depth, heads) in enumerate(zip(DEPTHS, HEADS, strict=True)):
        width = EMBED * 2**stage
        for block in range(depth):
            name = f"{vision}layers.{stage}.blocks.{block}."
            norm(f"{name}norm1", width)
            shapes[f"{name}attn.relative_position_bias_table"] = ((2 * WINDOW - 1) ** 2, heads)
            linear(f"{name}attn.qkv", 3 * width, width)
            linear(f"{name}attn.proj", width, width)
            norm(f"{name}norm2", width)
            linear(f"{name}mlp.fc1", 4 * width, width)
            linear(f"{name}mlp.fc2", width, 4 * width)
        if stage < len(DEPTHS) - 1:
            norm(f"{vision}layers.{stage}.downsample.norm", 4 * width)
            linear(f"{vision}layers.{stage}.downsample.reduction", 2 * width, 4 * width, bias=False)
    seen = EMBED * 2 ** (len(DEPTHS) - 1)
    norm(f"{vision}norm", seen)
    text = "text_encoder."
    for name, rows in (("word", WORDS), ("position", POSITIONS), ("token_type", 2)):
        shapes[f"{text}embeddings.{name}_embeddings.weight"] = (rows, HIDDEN)
    norm(f"{text}embeddings.LayerNorm", HIDDEN)
    for layer in range(LAYERS):
        name = f"{text}encoder.layer.{layer}."
        for attention, width in (("attention", HIDDEN), ("crossattention", seen)):
            if attention == "attention" or layer >= FUSION:
                linear(f"{name}{attention}.self.query", HIDDEN, HIDDEN)
                linear(f"{name}{attention}.self.key", HIDDEN, width)
                linear(f"{name}{attention}.self.value", HIDDEN, width)
                linear(f"{name}{attention}.output.dense", HIDDEN, HIDDEN)
                norm(f"{name}{attention}.output.LayerNorm", HIDDEN)
        linear(f"{name}intermediate.dense", INNER, HIDDEN)
        linear(f"{name}output.dense", HIDDEN, INNER)
        norm(f"{name}output.LayerNorm", HIDDEN)
    linear("vision_proj", WIDTH, seen)
    linear("text_proj", WIDTH, HIDDEN)
    shapes["temp"] = ()
    linear("itm_head.0", 2 * HIDDEN, HIDDEN)
    norm("itm_head.1", 2 * HIDDEN)
    linear("itm_head.3", 2, 2 * HIDDEN)
    rng = np.random.default_rng(0)
    scales = {name: float(len(shape) == 1 and name.endswith("weight")) for name, shape in shapes.items()}  # of norms
    found = {name: rng.normal(scales[name], 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    return {name: torch.from_numpy(np.asarray(values)) for name, values in found.items()}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    torch.save({"model": layout(), "epoch": 9}, tmp_path / "xvlm.pth")
    bert_tokenizer().save_pretrained(tmp_path)
    return tmp_path / "xvlm.pth"


def pictures() -> list[Image.Image]:
    """Pictures of the size that the model takes, so that no resizing differs between two programs."""
    rng = np.random.default_rng(1)
    return [Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)) for _ in TEXTS]


@pytest.mark.parametrize("head", ["itm", "itc", "sum"])
def test_scores_are_those_of_its_own_code(head: str, file: Path) -> None:
    golden = json.loads(GOLDEN.read_text())
    model: Any = load_model(f"itm:{file}?head={head}", device="cpu")
    assert model.tokenize(TEXTS) == golden["tokens"]
    expected = np.array(golden[head])
    assert np.ptp(expected) > 1e-3
    np.testing.assert_allclose(model.score_pairs(pictures(), TEXTS), expected, atol=1e-5)
    one_by_one = [model.score_pairs([image], [text])[0] for image, text in zip(pictures(), TEXTS, strict=True)]
    np.testing.assert_allclose(one_by_one, expected, atol=1e-5)
    assert model.card["head"] == head and model.card["fusion_layer"] == FUSION and model.context_length == 40


def test_the_pretrained_layout_and_ce_xvlm(file: Path) -> None:
    """Pretraining keeps its BERT under .bert with heads of its own; CE-XVLM's was saved out of DDP."""
    before: Any = load_model(f"itm:{file}", device="cpu")
    state = {name.replace("text_encoder.", "text_encoder.bert."): values for name, values in layout().items()}
    state |= {"text_encoder.cls.predictions.bias": torch.zeros(WORDS), "bbox_head.0.bias": torch.zeros(4)}
    state["vision_encoder.layers.0.blocks.1.attn_mask"] = torch.zeros(4, 16, 16)
    torch.save({f"module.{name}": values for name, values in state.items()}, file)
    after: Any = load_model(f"itm:{file}", device="cpu")
    assert (before.score_pairs(pictures(), TEXTS) == after.score_pairs(pictures(), TEXTS)).all()


def test_what_is_no_xvlm(file: Path) -> None:
    whole = layout()
    for state, message in [
        ({"visual.conv1.weight": torch.zeros(1)}, "not a checkpoint of X-VLM with Swin and BERT"),
        ({name: values for name, values in whole.items() if not name.startswith("itm_head.3")}, "missing: itm_head"),
        (whole | {"itm_head.0.bias": torch.zeros(3)}, r"itm_head.0.bias: expected \(256,\), found \(3,\)"),
    ]:
        torch.save(state, file)
        with pytest.raises(UserError, match=message):
            load_model(f"itm:{file}", device="cpu")
    (file.parent / "tokenizer.json").unlink()
    with pytest.raises(UserError, match="no tokenizer"):
        load_model(f"itm:{file}", device="cpu")
