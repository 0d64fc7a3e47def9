from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer

from equipoise import world as drawn
from equipoise.models import load_model
from equipoise.world.splits import TESTS, UNSEEN, world_items
from equipoise.world.vocabulary import ACTIONS
from studies import world_model as world
from studies.world_captions import PretrainingItems


def test_every_word_of_the_world_is_one_token_and_other_text_is_kept() -> None:
    tokenizer = world.build_tokenizer()
    assert all(len(ids) == 3 for ids in tokenizer(world.vocabulary())["input_ids"])
    assert tokenizer.unk_token_id not in tokenizer("Zürich 42 zebra!")["input_ids"][1:-1]


def test_verbs_left_the_shipped_model_as_it_was() -> None:
    """They are spelled in pieces; every other token keeps its number, and the demo its digits."""
    base = Path(drawn.__file__).parent / "base"
    digest = hashlib.sha256((base / "model.safetensors").read_bytes()).hexdigest()
    assert digest == "deb6fed63ab8fddc1a589522cb49f2d1ca0644fecfe0f52f1dcbc2bc5e3e2682"
    shipped = AutoTokenizer.from_pretrained(base)
    built = world.build_tokenizer()
    assert shipped.get_vocab() == built.get_vocab()
    verbs = [word for words in ACTIONS.values() for word in words]
    assert not set(verbs) & set(world.vocabulary())
    spelled = shipped(verbs)["input_ids"]
    assert spelled == built(verbs)["input_ids"]
    assert len({tuple(ids) for ids in spelled}) == len(verbs)
    assert all(shipped.unk_token_id not in ids[1:-1] and 4 <= len(ids) <= 8 for ids in spelled)
    texts = [item.negatives[0].text for item in world_items("finetune-actions", 300, 0, ("replace-actions",))]
    assert max(len(ids) for ids in shipped(texts)["input_ids"]) < world.CONTEXT


def test_every_sentence_fits_the_context() -> None:
    longest = max(
        (
            text
            for item in world_items("test", 1000, 0, (*TESTS, *UNSEEN))
            for text in (item.caption, item.positives[0].text)
        ),
        key=lambda text: len(text.split()),
    )
    noisy = max((item.caption for item in PretrainingItems(1000)), key=lambda text: len(text.split()))
    assert max(len(longest.split()), len(noisy.split())) + 2 <= world.CONTEXT


def test_the_same_seed_gives_the_same_weights() -> None:
    one, same, other = (world.build_model(seed).state_dict() for seed in (0, 0, 1))
    name = "text_projection.weight"
    assert torch.equal(one[name], same[name]) and not torch.equal(one[name], other[name])


def test_a_saved_model_loads_like_any_other(tmp_path: Path) -> None:
    network = world.build_model()
    world.save(network, tmp_path)
    loaded = load_model(f"hf:{tmp_path}", device="cpu")
    ids = world.build_tokenizer()(["a red cat"], return_tensors="pt")["input_ids"]
    with torch.no_grad():
        expected = network.get_text_features(input_ids=ids)
    expected = getattr(expected, "pooler_output", expected)
    found = torch.as_tensor(loaded.embed_texts(["a red cat"]))
    assert torch.nn.functional.cosine_similarity(found, expected).item() == pytest.approx(1, abs=1e-5)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 12_000_000
