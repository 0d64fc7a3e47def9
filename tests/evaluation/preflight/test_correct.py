"""Correct models of many families: nothing is wrong with them, and at most one thing is suspicious.

Most have random weights, and a random model is at chance on the probe set: that is the one thing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.evaluation.preflight.planted import SiglipLoader
from tests.models.conftest import short_tokenizer, tiny_network
from tests.models.scorers import conftest as tiny

from equipoise.evaluation.preflight import probes
from equipoise.evaluation.preflight.judging import preflight
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.models.inputs import Preprocess, clip_preprocess, clip_tokenizer

SPECIAL = tiny.WORDS[:5]


@pytest.fixture(autouse=True)
def all_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny tokenizers know the words of the probes."""
    words = {word for text in probes.all_texts() for word in text.lower().replace(",", " , ").split()}
    words |= {word for text in probes.CAPITALS for word in text.split()}
    monkeypatch.setattr(tiny, "WORDS", [*SPECIAL, *sorted(words | {"two", ","})])
    monkeypatch.setitem(tiny.TEXT, "vocab_size", 160)
    monkeypatch.setitem(tiny.TEXT, "max_position_embeddings", 64)


def clip(folder: Path) -> Any:
    return ClipModel("hf:clip", tiny_network("gelu"), short_tokenizer(), clip_preprocess(32), device="cpu")


def siglip(folder: Path) -> Any:
    preprocess = Preprocess(resize=(32, 32), crop=None, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    return ClipModel("hf:siglip", SiglipLoader().network, clip_tokenizer(), preprocess, device="cpu")


def dual_encoder(folder: Path) -> Any:
    """CLIP's vision tower beside BERT."""
    from transformers import BertConfig, BertModel, CLIPVisionConfig, CLIPVisionModel
    from transformers import VisionTextDualEncoderConfig as Config
    from transformers import VisionTextDualEncoderModel as Model

    text, vision = BertModel(BertConfig(**tiny.TEXT)), CLIPVisionModel(CLIPVisionConfig(**tiny.VISION))
    config = Config(vision_config=vision.config.to_dict(), text_config=text.config.to_dict())
    config.vision_config._attn_implementation = config.text_config._attn_implementation = "eager"
    network = _spread(Model(config, vision, text))
    return ClipModel("hf:dual", network, tiny.bert_tokenizer(), clip_preprocess(32), device="cpu")


def _spread(network: Any) -> Any:
    """Weights larger than transformers begins with: scores far apart."""
    torch.manual_seed(0)
    for weight in network.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.3)
    return network.eval()


def matching(name: str, head: str) -> Any:
    def make(folder: Path) -> Any:
        network, image_processor = tiny.MADE[name]()
        _spread(network).save_pretrained(folder)
        tiny.bert_tokenizer(64).save_pretrained(folder)
        image_processor.save_pretrained(folder)
        return load_model(f"itm:{folder}?head={head}", device="cpu")

    return make


def generative(name: str, spec: str) -> Any:
    def make(folder: Path) -> Any:
        return load_model(f"{spec}:{tiny.write_chat(folder, tiny.chat_tokenizer(), tiny.CHATS[name])}", device="cpu")

    return make


FAMILIES: dict[str, Any] = {
    "world": lambda _: load_model("world", device="cpu"),
    "clip": clip,
    "siglip": siglip,
    "dual encoder": dual_encoder,
    "blip itm": matching("blip", "itm"),
    "blip itc": matching("blip", "itc"),
    "blip-2": matching("blip-2", "itm"),
    "flava": matching("flava", "itm"),
    "align": matching("align", "itc"),
    "vilt": matching("vilt", "itm"),
    "bridgetower": matching("bridgetower", "itm"),
    "llava": generative("llava", "vqa"),
    "llava likelihood": generative("llava", "likelihood"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_nothing_is_wrong(name: str, tmp_path: Path) -> None:
    model = FAMILIES[name](tmp_path)
    found = [one for one in preflight(model, model.spec) if one.verdict != "fine"]
    said = "\n".join(f"{one.verdict} {one.name}: {one.found}" for one in found)
    assert not any(one.verdict == "wrong" for one in found) and len(found) <= 1, said
    assert name != "world" or not found
