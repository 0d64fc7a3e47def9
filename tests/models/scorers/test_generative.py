"""vqa: and likelihood: on tiny random models: a direct call's scores in any batch, the image used, what is refused."""

from __future__ import annotations

import functools
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from tests.models.scorers.conftest import CHAT, MORE, TEXTS, chat_tokenizer, write_chat
from transformers.models.auto.image_processing_auto import AutoImageProcessor

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts, write_items
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.scoring import score_items
from equipoise.models import kind_of, load_model
from equipoise.models.scorers.generative import BLANK, answers

Folder = Callable[[str], Path]
Loaded = Callable[[str], Any]
ASKED = 'USER: <image> Does this figure show "{}"? Please answer yes or no. ASSISTANT:'
DESCRIBED = "USER: <image> Describe the image. ASSISTANT:"
BOTH = pytest.mark.parametrize("name", ["llava", "qwen2_vl"])


class Direct:
    """One pair at a time through transformers' own classes; the prompt is written out here."""

    def __init__(self, folder: Path) -> None:
        self.network = transformers.AutoModelForImageTextToText.from_pretrained(folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.image_processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
        self.by_patches = "qwen" in folder.name

    def logits(self, image: Image.Image, prompt: str, more: Sequence[int] = ()) -> torch.Tensor:
        seen = dict(self.image_processor(image, return_tensors="pt"))
        count = int(seen["image_grid_thw"].prod()) // 4 if self.by_patches else 4
        token = "<|image_pad|>" if self.by_patches else "<image>"
        tokens = self.tokenizer(prompt.replace("<image>", token * count))["input_ids"] + list(more)
        ids = torch.tensor([tokens])
        if self.by_patches:
            seen["mm_token_type_ids"] = (ids == 4).long()
        with torch.inference_mode():
            found = self.network(input_ids=ids, attention_mask=torch.ones_like(ids), **seen)
        logits: torch.Tensor = found.logits[0].double()
        return logits

    def vqa(self, image: Image.Image, text: str) -> float:
        chances = self.logits(image, ASKED.replace("{}", text))[-1].softmax(-1)
        words = self.tokenizer.get_vocab()
        yes, no = (sum(float(chances[words[word]]) for word in pair) for pair in (("yes", "Yes"), ("no", "No")))
        return yes / (yes + no)

    def likelihood(self, image: Image.Image, text: str) -> float:
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        chances = self.logits(image, DESCRIBED, ids).log_softmax(-1)
        return sum(float(chances[place - len(ids) - 1, token]) for place, token in enumerate(ids))

    def lift(self, image: Image.Image, text: str) -> float:
        grey, side = BLANK
        return self.likelihood(image, text) - self.likelihood(Image.new("RGB", (side, side), (grey,) * 3), text)


SPECS = {"vqa:{}": Direct.vqa, "likelihood:{}": Direct.likelihood, "likelihood:{}?prior=blank": Direct.lift}


asked_directly = functools.cache(Direct)  # of each folder once


@pytest.fixture(scope="module")
def pairs(photos: list[Image.Image]) -> tuple[list[Image.Image], list[str]]:
    return [photo for photo in photos for _ in TEXTS], TEXTS * len(photos)


@BOTH
@pytest.mark.parametrize("spec", SPECS)
def test_scores_are_those_of_a_direct_call(name: str, spec: str, chats: Folder, loaded: Loaded, pairs: Any) -> None:
    folder = chats(name)
    model = loaded(spec.format(folder))
    direct = asked_directly(folder)
    expected = np.array([SPECS[spec](direct, image, text) for image, text in zip(*pairs, strict=True)])
    assert kind_of(model) == "pairs" and np.ptp(expected) > 1e-2
    np.testing.assert_allclose(model.score_pairs(*pairs), expected, atol=1e-5)
    starts = range(0, len(pairs[0]), 3)  # a test below asks in batches of 1
    parts = [model.score_pairs(*(own[start : start + 3] for own in pairs)) for start in starts]
    np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-5)


@BOTH
@pytest.mark.parametrize("spec", SPECS)
def test_the_image_is_used(name: str, spec: str, chats: Folder, loaded: Loaded, photos: list[Image.Image]) -> None:
    """The same text with four photos has four scores, by more than rounding."""
    model = loaded(spec.format(chats(name)))
    for text in TEXTS:
        scores = np.sort(model.score_pairs(photos, [text] * len(photos)))
        assert np.diff(scores).min() > 1e-5


def test_any_padding_side(chats: Folder, loaded: Loaded, photos: list[Image.Image], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(chats("llava"), tmp_path / "right"))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    assert config["padding_side"] == "left"
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"padding_side": "right"}))
    for spec in SPECS:
        left = loaded(spec.format(chats("llava")))
        right: Any = load_model(spec.format(folder), device="cpu")
        assert (left.score_pairs(photos, TEXTS) == right.score_pairs(photos, TEXTS)).all()


@BOTH
def test_in_half_precision(name: str, chats: Folder, loaded: Loaded, photos: list[Image.Image]) -> None:
    half: Any = load_model(f"vqa:{chats(name)}", device="cpu", dtype="bfloat16")
    expected, found = loaded(f"vqa:{chats(name)}").score_pairs(photos, TEXTS), half.score_pairs(photos, TEXTS)
    assert np.abs(found - expected).max() < 0.1 and not (found == expected).all()
    assert {str(weight.dtype) for weight in half.network.parameters()} == {"torch.bfloat16"}


def items(photos: list[Image.Image], folder: Path) -> list[Item]:
    for index, photo in enumerate(photos):
        photo.save(folder / f"{index}.png")
    return [
        Item(id=str(n), image=ImageRef(path=f"{n}.png"), caption=TEXTS[0], negatives=texts(*TEXTS[1:], "a  dog"))
        for n in range(len(photos))
    ]


@pytest.mark.parametrize("spec", SPECS)
def test_evaluated_in_any_batch_and_kept(spec: str, chats: Folder, photos: list[Image.Image], tmp_path: Path) -> None:
    folder = chats("llava")
    model: Any = load_model(spec.format(folder), device="cpu")
    asked = items(photos, tmp_path)
    cache = EmbeddingCache(tmp_path / "cache")
    rows = score_items(model, asked, images=tmp_path, cache=cache).rows
    direct = asked_directly(folder)
    for row, photo in zip(rows, photos, strict=True):
        expected = [SPECS[spec](direct, photo, text) for text in TEXTS]
        np.testing.assert_allclose([row.caption, *row.negatives[:-1]], expected, atol=1e-5)
        assert row.caption == row.negatives[-1]  # two blanks are no other tokens
    for batch_size in (1, 64):
        other = score_items(model, asked, images=tmp_path, batch_size=batch_size).rows
        np.testing.assert_allclose([r.negatives for r in other], [r.negatives for r in rows], atol=1e-5)
    again: Any = load_model(spec.format(folder), device="cpu")
    scoring = score_items(again, asked, images=tmp_path, cache=cache)
    assert scoring.rows == rows and scoring.counts["pairs_scored"] == 0


def test_another_template_is_another_model(chats: Folder, photos: list[Image.Image]) -> None:
    first: Any = load_model(f"vqa:{chats('llava')}", device="cpu")
    other: Any = load_model(f"vqa:{chats('llava')}?template=a photo of {{}} ?", device="cpu")
    assert first.card["template"] == 'Does this figure show "{}"? Please answer yes or no.'
    assert other.card["template"] == "a photo of {} ?" and "a photo of a photo of a dog ?" in other.card["prompt"]
    assert not np.allclose(first.score_pairs(photos, TEXTS), other.score_pairs(photos, TEXTS))
    assert first.card["answers"] == {"yes": ["Yes", "yes"], "no": ["No", "no"]}


def test_a_template_that_begins_the_text_does_so_once(photos: list[Image.Image], tmp_path: Path) -> None:
    folder = write_chat(tmp_path, chat_tokenizer())
    plain: Any = load_model(f"vqa:{folder}", device="cpu")
    (folder / "chat_template.jinja").write_text("<s>" + CHAT)
    begun: Any = load_model(f"vqa:{folder}", device="cpu")
    assert begun.card["prompt"] == "<s>" + plain.card["prompt"]
    assert (begun.score_pairs(photos, TEXTS) == plain.score_pairs(photos, TEXTS)).all()


def test_the_day_does_not_matter(photos: list[Image.Image], tmp_path: Path) -> None:
    folder = write_chat(tmp_path, chat_tokenizer())
    day = "{% if date_string is not defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"
    (folder / "chat_template.jinja").write_text(day + "{{ date_string }} " + CHAT)
    model: Any = load_model(f"vqa:{folder}", device="cpu")
    assert model.card["prompt"].startswith("26 Jul 2024 USER:")


def test_words_for_yes() -> None:
    class Vocabulary:
        def get_vocab(self) -> dict[str, int]:
            return {"yes": 1, "\u0120Yes": 2, "\u2581YES": 3, "yes</w>": 4, "yesterday": 5, "eyes": 6, "no": 7}

    assert set(answers(Vocabulary(), "yes").values()) == {1, 2, 3, 4}


# ---------------------------------------------------------------------------- what is refused


def refused(spec: str, match: str) -> None:
    with pytest.raises(UserError, match=match):
        load_model(spec, device="cpu")


def test_no_chat_template(chats: Folder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(chats("llava"), tmp_path / "model"))
    (folder / "chat_template.jinja").unlink()
    refused(f"vqa:{folder}", "has no chat template")
    refused(f"likelihood:{folder}", "has no chat template")


def test_no_word_for_yes(photos: list[Image.Image], tmp_path: Path) -> None:
    folder = write_chat(tmp_path, chat_tokenizer(MORE.replace("yes Yes", "aye Aye")))
    refused(f"vqa:{folder}", "no token of its vocabulary is the word 'yes'.*use likelihood:")
    model: Any = load_model(f"likelihood:{folder}", device="cpu")
    assert np.isfinite(model.score_pairs(photos, TEXTS)).all()


def test_a_template_without_the_image(chats: Folder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(chats("llava"), tmp_path / "model"))
    (folder / "chat_template.jinja").write_text(CHAT.replace("<image>", ""))
    refused(f"vqa:{folder}", "leaves the image out")


def test_other_folders_and_options(chats: Folder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(chats("llava"), tmp_path / "model"))
    refused(f"vqa:{folder}?template=is it so", "expected one {}")
    refused(f"likelihood:{folder}?prior=grey", "use blank or none")
    refused(f"likelihood:{folder}?head=itm", "no option 'head'")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "clip"}))
    refused(f"vqa:{folder}", "'clip' .* does not answer questions about images")


def test_a_folder_asks_nobody(chats: Folder, matching: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a folder needs no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for spec in (f"vqa:{chats('llava')}", f"likelihood:{chats('qwen2_vl')}", f"itm:{matching('blip')}"):
        load_model(spec, device="cpu")


def test_a_text_that_looks_like_an_image(chats: Folder, photos: list[Image.Image]) -> None:
    model: Any = load_model(f"vqa:{chats('llava')}", device="cpu")
    with pytest.raises(UserError, match="holds <image>, which this model reads as an image"):
        model.score_pairs(photos[:1], ["a dog <image>"])


def test_a_text_that_is_too_long(chats: Folder, photos: list[Image.Image]) -> None:
    model: Any = load_model(f"likelihood:{chats('llava')}", device="cpu")
    with pytest.raises(UserError, match="more than the 256 it reads"):
        model.score_pairs(photos[:1], [" ".join(["dog"] * 300)])


@pytest.mark.slow
@pytest.mark.long
def test_the_command_ends_with_2_and_no_traceback(chats: Folder, photos: list[Image.Image], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(chats("llava"), tmp_path / "model"))
    asked = items(photos, tmp_path)
    write_items(tmp_path / "items.jsonl", asked)
    command = [sys.executable, "-m", "equipoise", "eval", f"vqa:{folder}", "--bench", str(tmp_path / "items.jsonl")]
    command += ["--images", str(tmp_path), "--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "runs")]
    command.append("--skip-preflight")  # a random model fails it
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    card = json.loads(next((tmp_path / "runs").rglob("result.json")).read_text())["model"]
    assert card["template"].startswith("Does this figure show") and card["answers"]["yes"] == ["Yes", "yes"]
    (folder / "chat_template.jinja").unlink()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 2 and "no chat template" in done.stderr and "Traceback" not in done.stderr
