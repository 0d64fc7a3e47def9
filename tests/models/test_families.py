"""The table of families: every row is complete, fits its network, and is the only place that tells them apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import transformers

import equipoise
from equipoise.core.errors import UserError
from equipoise.models.clip import ClipModel
from equipoise.models.families import FAMILIES, family_named, family_of
from equipoise.models.inputs import CLEANERS


@pytest.mark.parametrize("name", FAMILIES)
def test_a_row_names_what_transformers_has(name: str) -> None:
    family = FAMILIES[name]
    network = getattr(transformers, family.network)
    assert network.config_class.model_type == name == family.name
    assert callable(network.get_image_features) and callable(network.get_text_features)
    assert family.image_processor in dir(transformers)
    towers = {"vision_config": {"model_type": "vit"}, "text_config": {"model_type": "bert"}}
    config = network.config_class(**towers) if name == "vision-text-dual-encoder" else network.config_class()
    assert family.embed_dim(config) > 0
    assert family.cleaning is None or family.cleaning in CLEANERS
    assert family.causal_text or not family.by_pieces  # texts are packed behind each other only where none sees another


def test_models_know_their_family(tiny_clip: ClipModel, tiny_siglip: ClipModel) -> None:
    assert (tiny_clip.family.name, tiny_siglip.family.name) == ("clip", "siglip")
    assert family_of(tiny_clip.network) is tiny_clip.family
    assert tiny_clip.card["embed_dim"] == tiny_clip.embed_texts(["a dog"]).shape[1]
    assert tiny_siglip.card["embed_dim"] == tiny_siglip.embed_texts(["a dog"]).shape[1]
    with pytest.raises(UserError, match=r"here: model_type 'blip' is not supported by hf: \(clip, siglip"):
        family_named("blip", "here")


def test_nobody_else_asks_for_a_family_by_name() -> None:
    package = Path(equipoise.__file__).parent
    asking = re.compile(r"model_type\W+(?:==|!=|in)")
    found = [path.name for path in package.rglob("*.py") if asking.search(path.read_text())]
    assert found == []
