"""Bugs planted in small models, each named by its check; correct models pass."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from tests.models.conftest import tiny_network
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.errors import UserError
from equipoise.evaluation.preflight import checks, probes
from equipoise.evaluation.preflight.checks import Check, preflight
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.models.preprocess import Preprocess, clip_preprocess
from equipoise.models.tokens import clip_tokenizer

OWN = "py:mine:make"
Pictures = Sequence[Image.Image]


@cache
def world() -> Any:
    return load_model("world", device="cpu")


class Right:
    """Somebody's own wrapper of a good model; turns photos upright. Not normalised, which is no mistake."""

    def embed_images(self, images: Pictures) -> Any:
        return 7 * world().embed_images([ImageOps.exif_transpose(image) for image in images])

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return 3 * world().embed_texts(texts)


class NotANumber(Right):
    def embed_texts(self, texts: Sequence[str]) -> Any:
        rows = super().embed_texts(texts)
        return np.where(np.array(["fish" in text for text in texts])[:, None], np.nan, rows)


class Zeros(Right):
    def embed_images(self, images: Pictures) -> Any:
        return np.zeros((len(images), 128))


class Constant(Right):
    def embed_images(self, images: Pictures) -> Any:
        return np.ones((len(images), 128))


class Dropout(Right):
    generator = np.random.default_rng(0)

    def embed_texts(self, texts: Sequence[str]) -> Any:
        rows = super().embed_texts(texts)
        return rows * (self.generator.random(rows.shape) > 0.1)


class Widths(Right):
    def embed_texts(self, texts: Sequence[str]) -> Any:
        return super().embed_texts(texts)[:, :64]


class Swapped(Right):
    embed_images, embed_texts = Right.embed_texts, Right.embed_images  # type: ignore[assignment]


class Squeezed(Right):
    def embed_texts(self, texts: Sequence[str]) -> Any:
        return super().embed_texts(texts).squeeze()


class NormalisedOverTexts(Right):
    def embed_texts(self, texts: Sequence[str]) -> Any:
        rows = super().embed_texts(texts)
        return rows - 0.5 * rows.mean(0)


class NormalisedOverImages(Right):
    def embed_images(self, images: Pictures) -> Any:
        rows = super().embed_images(images)
        return rows - 0.5 * rows.mean(0)


class SortedImages(Right):
    def embed_images(self, images: Pictures) -> Any:
        return super().embed_images(sorted(images, key=lambda image: image.size))


class IgnoresExif(Right):
    def embed_images(self, images: Pictures) -> Any:
        return world().embed_images(images)


class FirstWords(Right):
    words = 6

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return super().embed_texts([" ".join(text.split()[: self.words]) for text in texts])


class FewWords(Right):
    def embed_texts(self, texts: Sequence[str]) -> Any:
        known = {"a", "and", "photo", "of", "moon", "box", *probes.KINDS, *probes.COLOURS}
        return super().embed_texts([" ".join(w if w in known else "unk" for w in text.split()) for text in texts])


class Bgr(Right):
    def embed_images(self, images: Pictures) -> Any:
        return super().embed_images([Image.fromarray(np.asarray(image)[:, :, ::-1].copy()) for image in images])


class Shuffled(Right):
    """Weights of a projection that was never loaded."""

    def embed_images(self, images: Pictures) -> Any:
        return np.roll(super().embed_images(images), 17, axis=1)


class Unmasked(Right):
    """The mean over all tokens of the padded batch."""

    table = np.random.default_rng(1).normal(size=(1229, 128))

    def embed_texts(self, texts: Sequence[str]) -> Any:
        ids = world().tokenize(texts)
        longest = max(map(len, ids))
        return np.stack([self.table[[*row, *[0] * (longest - len(row))]].mean(0) for row in ids])


def tiny_siglip() -> ClipModel:
    from transformers import SiglipConfig, SiglipModel

    torch.manual_seed(1)
    shared = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2}
    text = {**shared, "vocab_size": 49408, "max_position_embeddings": 64}
    network = SiglipModel(SiglipConfig(text_config=text, vision_config={**shared, "image_size": 32, "patch_size": 16}))
    preprocess = Preprocess(resize=(32, 32), crop=None, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    return ClipModel("hf:siglip", network.eval(), clip_tokenizer(), preprocess, device="cpu")


def tiny_clip() -> ClipModel:
    return ClipModel("hf:clip", tiny_network(), clip_tokenizer(), clip_preprocess(32), device="cpu")


class SiglipPaddedToTheLongest:
    def __init__(self) -> None:
        self.inner = tiny_siglip()

    def embed_images(self, images: Pictures) -> Any:
        return self.inner.embed_images(images)

    @torch.inference_mode()
    def embed_texts(self, texts: Sequence[str]) -> Any:
        ids = self.inner.tokenizer(list(texts), padding=True, return_tensors="pt")["input_ids"]
        return self.inner.network.get_text_features(input_ids=ids).pooler_output.numpy()


def not_fine(model: Any, spec: str = OWN) -> dict[str, str]:
    return {one.name: one.verdict for one in preflight(model, spec) if one.verdict != "fine"}


PLANTED = [
    (NotANumber, {"finite": "wrong"}),
    (Zeros, {"finite": "wrong"}),
    (Constant, {"collapse": "wrong"}),
    (Dropout, {"determinism": "wrong"}),
    (Widths, {"shape": "wrong"}),
    (Swapped, {"shape": "wrong"}),
    (Squeezed, {"text batch": "wrong"}),
    (NormalisedOverTexts, {"text batch": "wrong"}),
    (NormalisedOverImages, {"image batch": "wrong"}),
    (SortedImages, {"image batch": "wrong"}),
    (IgnoresExif, {"exif rotation": "suspicious"}),
    (FirstWords, {"text end": "wrong"}),
    (FewWords, {"vocabulary": "wrong"}),
    (Bgr, {"channels": "suspicious"}),
    (Shuffled, {"probe set": "suspicious"}),
]


@pytest.mark.parametrize(("planted", "expected"), PLANTED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_planted_bug_is_named_by_its_check(planted: type[Right], expected: dict[str, str]) -> None:
    found = not_fine(planted())
    assert found.items() >= expected.items()
    wrong = {name for name, verdict in found.items() if verdict == "wrong"}
    assert wrong <= expected.keys(), "no other check is wrong"


@pytest.mark.parametrize("planted", [Unmasked, SiglipPaddedToTheLongest])
def test_padding_to_the_longest_of_the_batch(planted: type) -> None:
    (wrong,) = (one for one in preflight(planted(), OWN) if one.verdict == "wrong")
    assert wrong.name == "text padding" and "max_length" in wrong.fix and (wrong.number or 0) > checks.HARMFUL


def test_correct_models_pass() -> None:
    assert not_fine(world(), "world") == {}
    assert not_fine(Right()) == {}
    for random in (tiny_clip(), tiny_siglip()):
        found = not_fine(random, random.spec)
        assert found.items() <= {"probe set": "suspicious"}.items()


def test_swapped_methods_are_told_from_broken_ones() -> None:
    assert "swap the two" in preflight(Swapped(), OWN)[-1].fix
    assert "swap the two" not in preflight(Widths(), OWN)[-1].fix


def test_a_stated_context_length_is_held_against_the_model() -> None:
    model = FirstWords()
    model.words = 20
    assert "text end" not in not_fine(model), "captions fit, and nothing was stated"
    model.context_length = 77  # type: ignore[attr-defined]
    assert not_fine(model)["text end"] == "wrong"


def test_a_format_that_is_decoded_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    real = probes.formats()
    monkeypatch.setattr(probes, "formats", lambda: real | {"CMYK": (ImageOps.invert(real["CMYK"][0]), real["CMYK"][1])})
    (wrong,) = (one for one in preflight(world(), "world") if one.verdict == "wrong")
    assert wrong.name == "photo formats" and "CMYK" in wrong.found


def test_a_model_that_fails_shows_its_line_and_no_traceback() -> None:
    class Fails(Right):
        def embed_texts(self, texts: Sequence[str]) -> Any:
            raise KeyError("vision_tower")

    (only,) = preflight(Fails(), OWN)
    assert only.verdict == "wrong" and "vision_tower" in only.found


def test_pair_scorers_are_refused() -> None:
    class Pairs:
        def score_pairs(self, images: Pictures, texts: Sequence[str]) -> Any:
            return [0.0] * len(texts)

    with pytest.raises(UserError, match="no checks yet"):
        preflight(Pairs(), OWN)


SOURCE = "from tests.evaluation.preflight.test_checks import Constant, Right\n"


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted_models.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    good = run(app, ["doctor", "py:planted_models:Right", "--json"])
    found = [Check(**one) for one in json.loads(good.stdout)]
    assert good.exit_code == 0 and all(one.why for one in found) and not any(one.fix for one in found)
    bad = run(app, ["doctor", "py:planted_models:Constant"])
    assert bad.exit_code == 1 and "wrong       collapse" in bad.stdout and "fix:" in bad.stdout
    assert "1 wrong; the other checks come after this fix" in bad.stdout
