"""The tokens of a text are those of CLIP's tokenizer, however they are asked for."""

from __future__ import annotations

import pytest

from equipoise.models.inputs import clip_tokenizer, token_ids

TEXTS = [
    "a dog", "dog", "", "a", "two dogs ' s tail", "a dog's tail", "it isn't", "antidisestablishmentarianism zzxqy",
    "a t-shirt", "3 dogs", "dogs3", "a  dog", " a dog", "a café", "a dog.", "a\tdog", "startoftext endoftext",
    "<|endoftext|> a", "s t re ve m ll d", "a dog a dog a dog",
]  # fmt: skip


def test_the_tokens_of_transformers() -> None:
    tokenizer = clip_tokenizer()
    assert token_ids(tokenizer, TEXTS) == [tokenizer(text)["input_ids"] for text in TEXTS]
    for text in TEXTS:  # neighbours do not matter
        assert token_ids(tokenizer, [text]) == [tokenizer(text)["input_ids"]]


@pytest.mark.parametrize("added", ["hot dog", "dog"])
def test_tokens_that_somebody_added(added: str) -> None:
    """A token with a blank in it reaches over words."""
    tokenizer = clip_tokenizer.__wrapped__()
    tokenizer.add_tokens([added])
    texts = ["a hot dog", "dog", "hotdog", "hot dog hot"]
    found = token_ids(tokenizer, texts)
    assert found == [tokenizer(text)["input_ids"] for text in texts]
    assert found != token_ids(clip_tokenizer(), texts)
