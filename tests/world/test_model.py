from __future__ import annotations

from pathlib import Path

import pytest
import torch

from equipoise.models import load_model
from equipoise.world import model as world
from equipoise.world.splits import TESTS, UNSEEN, PretrainingItems, world_items


def test_every_word_of_the_world_is_one_token_and_other_text_is_kept() -> None:
    tokenizer = world.build_tokenizer()
    assert all(len(ids) == 3 for ids in tokenizer(world.vocabulary())["input_ids"])
    assert tokenizer.unk_token_id not in tokenizer("Zürich 42 zebra!")["input_ids"][1:-1]


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
