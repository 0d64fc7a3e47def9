"""Features are rows of the distinct embeddings; what is missing is zero and masked."""

from __future__ import annotations

import torch

from equipoise.train.data.batches import MISSING
from equipoise.train.step.backward import Embeddings, assemble, join, widen


def test_fields_pick_their_rows_and_missing_ones_are_masked():
    generator = torch.Generator().manual_seed(0)
    images, texts = torch.randn(3, 4, generator=generator), torch.randn(5, 4, generator=generator)
    fields = {
        "image": torch.tensor([2, 0]),
        "caption": torch.tensor([1, 1]),
        "positive": torch.tensor([MISSING, 3]),
        "negative": torch.tensor([[4, MISSING, 0], [MISSING, 2, 2]]),
        "hard_image": torch.tensor([1, MISSING]),
        "hard_caption": torch.tensor([0, MISSING]),
    }
    features = assemble(Embeddings(images, texts), fields, torch.tensor(7.0), None)
    assert torch.equal(features.image, images[[2, 0]]) and torch.equal(features.caption, texts[[1, 1]])
    assert features.positive_mask.tolist() == [False, True]
    assert not features.positive[0].any() and torch.equal(features.positive[1], texts[3])
    assert features.negative_mask.tolist() == [[True, False, True], [False, True, True]]
    assert not features.negative[~features.negative_mask].any()
    assert torch.equal(features.negative[features.negative_mask], texts[[4, 0, 2, 2]])
    assert features.hard_image_mask.tolist() == [True, False] and torch.equal(features.hard_image[0], images[1])
    assert torch.equal(features.hard_caption[0], texts[0]) and not features.hard_caption[1].any()
    assert features.scale == 7 and features.dense is None and features.patches is None


def test_token_features_follow_their_texts():
    tokens, mask = torch.randn(3, 2, 4), torch.tensor([[False, True], [False, True], [True, True]])
    patches = torch.randn(2, 5, 4)
    fields = {
        "image": torch.tensor([1, 0]),
        "caption": torch.tensor([0, 2]),
        "negative": torch.tensor([[1], [MISSING]]),
    }
    embeddings = Embeddings(torch.randn(2, 4), torch.randn(3, 4), patches, tokens, mask)
    features = assemble(embeddings, fields, torch.tensor(1.0), None)
    assert torch.equal(features.patches, patches[[1, 0]])
    assert torch.equal(features.caption_tokens, tokens[[0, 2]])
    assert torch.equal(features.caption_tokens_mask, mask[[0, 2]])
    assert torch.equal(features.negative_tokens[0, 0], tokens[1]) and not features.negative_tokens[1].any()
    assert features.negative_tokens_mask.tolist() == [[[False, True]], [[False, False]]]


def test_chunks_of_different_lengths_are_joined():
    one = (torch.ones(2, 3), torch.ones(2, 4, 3), torch.ones(2, 4, dtype=torch.bool))
    two = (torch.ones(1, 3), torch.ones(1, 6, 3), torch.ones(1, 6, dtype=torch.bool))
    joined = join([(torch.ones(2, 3), None)], [one, two])
    assert joined.tokens.shape == (3, 6, 3) and joined.tokens_mask.sum(1).tolist() == [4, 4, 6]
    assert not joined.tokens[:2, 4:].any() and joined.patches is None
    assert widen(torch.ones(1, 2), 2).shape == (1, 2)
