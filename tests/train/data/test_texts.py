"""Packed captions give the embeddings of padded ones."""

from __future__ import annotations

import random

import pytest
import torch
from torch.nn.functional import normalize

from equipoise.train.step.towers import PADDING, Towers, pack, row_length


def _ragged(count: int, longest: int, vocabulary: int, end: int, seed: int = 0) -> list[list[int]]:
    rng = random.Random(seed)
    return [
        [end - 1, *(rng.randrange(vocabulary - 2) for _ in range(rng.randint(0, longest - 2))), end]
        for _ in range(count)
    ]


def test_every_text_lies_whole_in_one_row_and_positions_start_anew():
    ids = _ragged(50, 30, 90, 89)
    packed = pack(ids, 32)
    flat = packed.tokens.flatten()
    for text, start, length in zip(ids, packed.starts.tolist(), packed.lengths.tolist(), strict=True):
        assert flat[start : start + length].tolist() == text
        assert packed.positions.flatten()[start : start + length].tolist() == list(range(length))
        assert start // 32 == (start + length - 1) // 32
    used = int((packed.segments != PADDING).sum())
    assert used == sum(map(len, ids))
    assert used / packed.segments.numel() > 0.9


@pytest.mark.parametrize("bad", [[[]], [[1] * 9]])
def test_texts_that_cannot_be_packed_are_refused(bad):
    with pytest.raises(ValueError):
        pack(bad, 8)


def test_row_length_holds_the_longest_text():
    assert row_length(77) == 80
    assert row_length(10) == 32


def test_images_by_pieces_equal_the_whole_tower(tiny_model):
    model = tiny_model()
    network = model.network.double()
    pixels = torch.randint(256, (5, 16, 16, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    towers = Towers(network, model.preprocess, tokens=True)
    ours, patches = towers.images(pixels)
    output = network.vision_model(pixel_values=towers.normalized(pixels).permute(0, 3, 1, 2))
    torch.testing.assert_close(
        ours, normalize(network.visual_projection(output.pooler_output), dim=-1), rtol=0, atol=1e-12
    )
    tokens = network.vision_model.post_layernorm(output.last_hidden_state[:, 1:])
    torch.testing.assert_close(patches, network.visual_projection(tokens), rtol=0, atol=1e-11)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_packed_equals_padded(tiny_model, attention):
    model = tiny_model()
    model.network.double().set_attn_implementation(attention)
    ids = _ragged(40, 24, model.network.config.text_config.vocab_size, model.end_id)
    rows, ends = model.pad(ids, 24)
    padded = normalize(model.text_features(rows, ends), dim=-1)
    chunk = pack(ids, row_length(24))
    packed, _, _ = Towers(model.network, model.preprocess).texts(chunk)
    torch.testing.assert_close(packed, padded, rtol=0, atol=1e-6 if attention == "eager" else 1e-12)
    weights = torch.randn_like(packed)
    gradients = [
        torch.autograd.grad((value * weights).sum(), list(model.network.text_model.parameters()))
        for value in (packed, padded)
    ]
    for ours, theirs in zip(*gradients, strict=True):
        tolerance = 1e-11 if attention == "sdpa" else 1e-5  # eager attention takes its softmax in float32
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def test_recorded_towers_give_the_same_for_any_number_of_rows(tiny_model, monkeypatch):
    """Without a GPU the recording itself cannot run; the rounding to fixed shapes can."""
    recorded = []

    def record(module, samples, allow_unused_input):
        recorded.append([tuple(sample.shape) for sample in samples])
        return module

    monkeypatch.setattr(torch.cuda, "make_graphed_callables", record)
    model = tiny_model()
    network = model.network.double()
    plain, graphed = (Towers(network, model.preprocess, graphed=graphed) for graphed in (False, True))
    for count in (3, 16, 20):
        pixels = torch.randint(256, (count, 16, 16, 3), dtype=torch.uint8)
        torch.testing.assert_close(graphed.images(pixels)[0], plain.images(pixels)[0], rtol=0, atol=1e-12)
        chunk = pack(_ragged(count, 24, 90, model.end_id), 32)
        ours, theirs = graphed.texts(chunk)[0], plain.texts(chunk)[0]
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
        gradients = [torch.autograd.grad(t[:, 0].sum(), list(network.text_model.parameters())) for t in (ours, theirs)]
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-11)
    assert [shapes[0][0] for shapes in recorded if len(shapes) == 1] == [16, 32]  # images; 3 and 16 share one


def test_token_features_are_those_of_the_padded_form(tiny_model):
    model = tiny_model()
    ids = _ragged(10, 20, 90, model.end_id)
    rows, _ = model.pad(ids, 24)
    hidden = model.network.text_projection(model.network.text_model(input_ids=rows).last_hidden_state)
    _, tokens, mask = Towers(model.network, model.preprocess, tokens=True).texts(pack(ids, 32))
    assert tokens is not None and mask is not None
    for number, text in enumerate(ids):
        assert mask[number].nonzero().flatten().tolist() == list(range(1, len(text)))  # no start token
        torch.testing.assert_close(tokens[number, 1 : len(text)], hidden[number, 1 : len(text)], rtol=0, atol=1e-5)
        assert not tokens[number, ~mask[number]].any()
