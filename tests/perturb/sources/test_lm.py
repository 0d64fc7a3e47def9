"""Masked and causal language models as sources: tiny random models whose guesses the test decides."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli.perturb import describe
from equipoise.core.errors import UserError
from equipoise.data.identity import of_folder
from equipoise.data.items import Item
from equipoise.language.caption import Caption
from equipoise.language.language_model import CausalLM
from equipoise.perturb.bias.thinning import judge_named
from equipoise.perturb.recipe import perturb_caption
from equipoise.perturb.recipes import Setup, get_recipe
from equipoise.perturb.run.engine import perturb_file
from equipoise.perturb.sources.masked_lm import MaskedLM

WORDS = "a an the on under and dog dogs hound animal cat elephant ran quickly red blue sits runs mat table".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = {word: number for number, word in enumerate([*SPECIAL, *WORDS, "##s", "42", ".", "[unused1]"])}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def save_bert(folder: Path, favourites: list[str]) -> Path:
    """A masked LM whose guesses are `favourites` in this order, whatever the text."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    model = BertForMaskedLM(BertConfig(vocab_size=len(VOCABULARY), max_position_embeddings=32, **size))
    with torch.no_grad():
        for rank, word in enumerate(favourites):
            model.cls.predictions.bias[VOCABULARY[word]] = 100.0 - rank
    model.save_pretrained(folder)
    return folder


def guesses(source: MaskedLM, text: str, target: Any) -> list[tuple[str, str]]:
    caption = Caption(text)
    return [(text[proposal.start : proposal.end], proposal.to) for proposal in source.contrasts(caption, target)]


def test_what_ce_clip_would_take_is_refused(tmp_path: Path) -> None:
    """The word itself, its plural, a synonym, a hypernym, a piece, a number, a special token, an adverb; then a cat."""
    wrong = ["dog", "dogs", "hound", "animal", "##s", "42", "[SEP]", "quickly", "."]
    source = MaskedLM(save_bert(tmp_path, [*wrong, "cat"]))
    assert guesses(source, "a dog on the mat", "object")[0] == ("dog", "cat")
    assert not {to for old, to in guesses(source, "a dog on the mat", "object") if old == "dog"} & set(wrong)


def test_only_the_first_guesses_count(tmp_path: Path) -> None:
    source = MaskedLM(save_bert(tmp_path, ["dog", "##s", "42", "cat"]), guesses=3)
    assert guesses(source, "a dog", "object") == []


def test_each_target_has_its_part_of_speech(tmp_path: Path) -> None:
    source = MaskedLM(save_bert(tmp_path, ["cat", "blue", "runs", "quickly"]), guesses=4)
    assert guesses(source, "a red dog sits", "attribute") == [("red", "blue")]
    assert guesses(source, "a red dog sits", "action") == [("sits", "runs")]
    assert guesses(source, "a red dog sits", "object") == [("dog", "cat")]


def test_a_preposition_is_not_replaced_by_itself(tmp_path: Path) -> None:
    source = MaskedLM(save_bert(tmp_path, ["on", "under", "cat"]), guesses=3)
    assert guesses(source, "a dog on the mat", "relation") == [("on", "under")]


def test_a_caption_without_such_a_word_gives_nothing(tmp_path: Path) -> None:
    source = MaskedLM(save_bert(tmp_path, ["blue"]))
    assert guesses(source, "a dog on the mat", "attribute") == []
    assert list(source.synonyms(Caption("a red dog"), "attribute")) == []


def test_a_text_longer_than_the_model_reads(tmp_path: Path) -> None:
    source = MaskedLM(save_bert(tmp_path, ["cat"]))
    assert guesses(source, "the table and " * 30 + "a dog", "object")[-1][0] == "table"


def test_pieces_are_known_in_vocabularies_that_mark_beginnings(tmp_path: Path) -> None:
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

    made = ByteLevelBPETokenizer()
    made.train_from_iterator(
        [" ".join(WORDS)] * 50, vocab_size=330, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    )
    names = {
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    PreTrainedTokenizerFast(tokenizer_object=made._tokenizer, **names).save_pretrained(tmp_path)
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    RobertaForMaskedLM(RobertaConfig(vocab_size=made.get_vocab_size(), **size)).save_pretrained(tmp_path)
    source = MaskedLM(tmp_path)
    vocabulary = made.get_vocab()
    beginning = next(piece for piece in vocabulary if piece.startswith("Ġ") and piece[1:] in WORDS and len(piece) > 3)
    assert source._whole_word(vocabulary[beginning]) == beginning[1:]
    inner = next(piece for piece in vocabulary if piece.isascii() and piece.isalpha() and len(piece) > 1)
    assert source._whole_word(vocabulary[inner]) is None
    assert source._whole_word(vocabulary["<mask>"]) is None


def test_ce_clip_with_a_masked_lm(tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "model", ["dog", "elephant", "blue"])
    setup = Setup("ce_clip_zhang_2024", masked_lm=str(folder))
    found = perturb_caption(setup.recipe(), Caption("a dog on the red mat"), 0)
    texts = {negative.text: negative.edit.by for negative in found.negatives}
    assert texts.get("a dog on the blue mat") == "masked_lm"
    assert not any("[MASK]" in text or "<mask>" in text for text in texts)
    assert get_recipe("ce_clip_zhang_2024").sources == setup.recipe().sources[1:]
    (tmp_path / "c.txt").write_text("a red dog on the mat\nan elephant sits\n")
    report = perturb_file(tmp_path / "c.txt", tmp_path / "items.jsonl", setup)
    assert report["setup"]["masked_lm"] == of_folder(folder)


def test_the_papers_rule_takes_the_fourth_guess(tmp_path: Path) -> None:
    setup = Setup("ce_clip_zhang_2024_faithful", masked_lm=str(save_bert(tmp_path, ["cat", "mat", "runs", "hound"])))
    found = perturb_caption(setup.recipe(), Caption("the dog sits"), 0).negatives
    assert [(n.text, n.edit.by) for n in found] == [("the dog hound", "masked_lm"), ("the hound sits", "masked_lm")]
    other = Setup("ce_clip_zhang_2024_faithful", masked_lm=str(save_bert(tmp_path / "o", ["cat", "mat", "red", "dog"])))
    assert "the dog" not in [n.text for n in perturb_caption(other.recipe(), Caption("the dog"), 0).negatives]


@pytest.mark.parametrize("recipe", ["hard_positives_rules", "negclip_yuksekgonul_2023", "aro_order_yuksekgonul_2023"])
def test_a_recipe_that_cannot_use_a_masked_lm_says_so(tmp_path: Path, recipe: str) -> None:
    with pytest.raises(UserError, match=f"--masked-lm: {recipe} asks none for words; .*ce_clip_zhang_2024"):
        Setup(recipe, masked_lm=str(tmp_path)).recipes()
    folder = save_bert(tmp_path, ["cat", "elephant"])
    first, second = Setup(f"{recipe},crepe_ma_2023", masked_lm=str(folder)).recipes()
    assert first == get_recipe(recipe) and len(second.sources) == 3


def test_the_report_says_that_no_masked_lm_was_used(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("a red dog on the mat\n")
    for name in ("ce_clip_zhang_2024", "ce_clip_zhang_2024_faithful"):
        report = perturb_file(tmp_path / "c.txt", tmp_path / f"{name}.jsonl", Setup(name))
        assert f"{name}: no masked language model was used" in describe(report)
        assert report["edits"]["negative replace object"] == 1, "the coverage of each type"
    with_one = Setup("ce_clip_zhang_2024", masked_lm=str(save_bert(tmp_path / "model", ["cat"])))
    assert with_one.notes() == [] == Setup("balanced").notes()


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_a_folder_that_holds_no_model(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(UserError, match=str(tmp_path)):
        MaskedLM(tmp_path)


def damage(folder: Path, how: str) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    weights, config = folder / "model.safetensors", json.loads((folder / "config.json").read_text())
    if how == "cut weights":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif how == "a pickle":
        weights.unlink()
        (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    elif how == "other sizes":
        (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 2 * config["hidden_size"]}))
    elif how == "no tokenizer":
        for path in folder.glob("*token*"):
            path.unlink()
    elif how == "its own code":
        own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModelForMaskedLM": "own.Model"}}
        (folder / "config.json").write_text(json.dumps(config | own))
    elif how == "not a number":
        tensors = {name: torch.full_like(value, float("nan")) for name, value in load_file(weights).items()}
        save_file(tensors, weights, metadata={"format": "pt"})
    elif how == "no head":
        save_file(
            {name: value for name, value in load_file(weights).items() if "cls" not in name},
            weights,
            metadata={"format": "pt"},
        )


@pytest.mark.parametrize(
    "how", ["cut weights", "a pickle", "other sizes", "no tokenizer", "its own code", "not a number", "no head"]
)
def test_a_damaged_folder_is_an_error_for_people(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("nobody is asked whether to run code"))
    damage(save_bert(tmp_path, ["cat"]), how)
    with pytest.raises(UserError, match=str(tmp_path)):
        guesses(MaskedLM(tmp_path), "a dog on the mat", "object")


# ---------------------------------------------------------------------------- causal


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("gpt")
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="[CLS]", unk_token="[UNK]").save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(VOCABULARY), n_embd=8, n_layer=1, n_head=1, n_positions=24, bos_token_id=2)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def test_fluency_is_the_mean_log_likelihood(gpt: Path) -> None:
    import torch

    lm = CausalLM(gpt)
    text = "a dog on the mat"
    ids = torch.tensor([[VOCABULARY["[CLS]"], *(VOCABULARY[word] for word in text.split())]])
    with torch.inference_mode():
        loss = lm.model(input_ids=ids, labels=ids).loss
    assert lm([text])[0] == pytest.approx(-float(loss), abs=1e-5)


def test_fluency_does_not_depend_on_the_company(gpt: Path) -> None:
    lm = CausalLM(gpt)
    texts = ["a dog", "a red dog on the mat and the table", "dog " * 100, ""]
    together = lm(texts)
    assert together == [lm([text])[0] for text in texts]
    assert all(math.isfinite(value) for value in together) and together[3] == 0.0


def test_a_likelihood_that_is_no_number(gpt: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(gpt, tmp_path / "gpt"))
    damage(folder, "not a number")
    with pytest.raises(UserError, match="no finite likelihood"):
        CausalLM(folder)(["a dog"])


def test_fluency_as_a_blind_judge(gpt: Path) -> None:
    item = Item(id="1", caption="a dog")
    texts = ["a dog", "dog a dog a"]
    assert judge_named(f"lm:{gpt}", [], "negatives")(item, texts) == CausalLM(gpt)(texts)
