"""Language models as blind judges: tiny random models, scored as a direct call would score them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.scoring import score_items
from equipoise.language.language_model import CausalLM
from equipoise.models import load_model

WORDS = "a dog cat on the mat red blue under and".split()
SPECIAL = ["[PAD]", "[UNK]", "[BOS]", "[EOS]"]
TEXTS = ["a dog on the mat", "a red cat", "the blue dog and the red cat under a mat"]
SIZE = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 16}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({word: at for at, word in enumerate([*SPECIAL, *WORDS])}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "bos_token": "[BOS]", "eos_token": "[EOS]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, **names)
    tokenizer.save_pretrained(folder)
    return tokenizer


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("lm")
    _tokenizer(folder)
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(vocab_size=14, max_position_embeddings=64, **SIZE)).save_pretrained(folder)
    return folder


def test_likelihood_is_that_of_a_direct_call(lm: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(lm), AutoModelForCausalLM.from_pretrained(lm).eval()
    means, sums = (load_model(f"blind:lm:{lm}{option}") for option in ("", "?likelihood=sum"))
    assert means.card["likelihood"] == "mean" and sums.card["likelihood"] == "sum"  # type: ignore[union-attr]
    for text in TEXTS:
        ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
        with torch.inference_mode():
            loss = float(model(input_ids=ids, labels=ids).loss)
        assert means.score_pairs([], [text])[0] == pytest.approx(-loss, abs=1e-5)  # type: ignore[union-attr]
        whole = -loss * (ids.shape[1] - 1)
        assert sums.score_pairs([], [text])[0] == pytest.approx(whole, abs=1e-4)  # type: ignore[union-attr]


def test_texts_of_one_length_are_read_together_and_nothing_is_padded(lm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []
    alone, together = CausalLM(lm), CausalLM(lm, together=2)
    forward = together.model.forward

    def seen(**given: Any) -> Any:
        shapes.append(tuple(given["input_ids"].shape))
        return forward(**given)

    monkeypatch.setattr(together.model, "forward", seen)
    asked = [*TEXTS, "a blue dog", "the red mat", "", "on a cat"]
    assert together(asked) == pytest.approx(alone(asked), abs=1e-6)
    assert shapes == [(2, 4), (2, 4), (1, 6), (1, 11)]


def test_any_batch_gives_the_same_scores_and_a_second_run_asks_nothing(lm: Path, tmp_path: Path) -> None:
    image = ImageRef(path="nobody-opens-it.jpg")
    items = [
        Item(id=text, image=image, caption=text, negatives=texts(*(other for other in TEXTS if other != text)))
        for text in TEXTS
    ]
    model = load_model(f"blind:lm:{lm}")
    cache = EmbeddingCache(tmp_path)
    first = score_items(model, items, batch_size=1, cache=cache)
    assert first.counts["pairs_scored"] == len(TEXTS)  # each distinct text once, and no image was asked for

    def refuse(images: object, texts: object) -> list[float]:
        raise AssertionError("asked again")

    model.score_pairs = refuse  # type: ignore[method-assign, union-attr]
    assert score_items(model, items, batch_size=2, cache=cache).rows == first.rows
    again = score_items(load_model(f"blind:lm:{lm}"), items, batch_size=3).rows
    assert [row.caption for row in again] == pytest.approx([row.caption for row in first.rows], abs=1e-6)
    summed = score_items(load_model(f"blind:lm:{lm}?likelihood=sum"), items, cache=cache)
    assert summed.rows != first.rows  # another score, another key


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("blind:", "blind:length, blind:ngram or blind:lm:FOLDER"),
        ("blind:ngrams", "Did you mean ngram?"),
        ("blind:length:x", "expected blind:length"),
        ("blind:lm", "blind:lm:FOLDER"),
        ("blind:lm:nowhere", "no folder nowhere"),
        ("blind:lm:.?likelihood=most", "likelihood=most is not known; use mean or sum"),
    ],
)
def test_a_spec_that_is_none(spec: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        load_model(spec)
    assert said in str(caught.value)


def test_a_folder_that_is_no_language_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config\.json, weights and tokenizer"):
        load_model(f"blind:lm:{tmp_path}")
