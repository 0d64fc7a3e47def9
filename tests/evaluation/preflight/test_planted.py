"""Loader bugs, each planted in a loader that works: the right check is among those that are not fine."""

from __future__ import annotations

import functools
import gc
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tests.evaluation.preflight.planted import Loader, Pairs, Pictures, SiglipLoader, copied
from tests.evaluation.preflight.planted_pictures import OF_PICTURES
from tests.evaluation.preflight.planted_texts import OF_TEXTS
from tests.evaluation.preflight.planted_towers import BY_ANSWERS, QUIET, UNLINKED, UNLOADED

from equipoise.evaluation.preflight import judging, probes, tested_model
from equipoise.evaluation.preflight.checks import check, run
from equipoise.evaluation.preflight.judging import preflight
from equipoise.models import hf

OWN = "py:mine:make"


@pytest.fixture(scope="module", autouse=True)
def _one_reference() -> Iterator[None]:
    """The folder that the loaders' network came from is the same for all: a fifth of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hf, "load_folder", functools.cache(hf.load_folder))
        yield


def not_fine(model: Any, spec: str = OWN) -> dict[str, str]:
    return {one.name: one.verdict for one in preflight(model, spec) if one.verdict != "fine"}


class SiglipPaddingTrue(SiglipLoader):
    padding = True


class GeluSwap(Loader):
    def __init__(self) -> None:
        super().__init__()
        self.network = copied()
        for module in self.network.modules():
            if hasattr(module, "activation_fn"):
                module.activation_fn = torch.nn.GELU()


class NotNormalised(Loader):
    """The features as they come, the way get_text_features gives them."""

    def unit(self, rows: torch.Tensor) -> torch.Tensor:
        return rows


class BatchPadding(Loader):
    """The mean over all positions of the padded batch."""

    def read(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return self.network.text_projection(self.network.text_model(input_ids=ids).last_hidden_state.mean(1))


class SwappedIndex(Pairs):
    """All images with all texts, and then the wrong axis is read."""

    def score_pairs(self, images: Pictures, texts: Sequence[str]) -> Any:
        scores = self.embed_images(images) @ self.embed_texts(texts).T
        return scores[np.arange(len(images))[::-1], np.arange(len(texts))]


class WrongCrop(Loader):
    def cut(self, image: Image.Image) -> Image.Image:
        short = min(image.size)
        return image.crop((0, 0, short, short)).resize((48, 48), 3)


class Bgr(Loader):
    def floats(self, image: Image.Image) -> np.ndarray:
        return super().floats(image)[::-1].copy()


class IgnoresExif(Loader):
    def opened(self, image: Image.Image) -> Image.Image:
        return image.convert("RGB")


class TruncatedVocabulary(Loader):
    def tokens(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        ids, lengths = super().tokens(texts)
        return torch.where((ids >= 600) & (ids < 1227), 5, ids), lengths


class Bf16Ties(Pairs):
    def score_pairs(self, images: Pictures, texts: Sequence[str]) -> Any:
        return torch.from_numpy(25 * super().score_pairs(images, texts)).sigmoid().bfloat16().float().numpy()


class AlwaysFirst:
    """Answers A, whatever the first option is."""

    def answer(self, images: Pictures, prompts: Sequence[str]) -> list[str]:
        options = [re.findall(r"^[AB]: (.*)$", prompt, re.MULTILINE) for prompt in prompts]
        return [self.one(image, first, second) for image, (first, second) in zip(images, options, strict=True)]

    def one(self, image: Image.Image, first: str, second: str) -> str:
        return "A"


TWELVE = [  # the twelfth, embeddings of other weights, is in test_judging.py: it takes two models
    (SiglipPaddingTrue, "text padding"),
    (GeluSwap, "activation"),
    (NotNormalised, "normalisation"),
    (BatchPadding, "text padding"),
    (SwappedIndex, "text batch"),
    (WrongCrop, "crop"),
    (Bgr, "pixels"),
    (IgnoresExif, "exif rotation"),
    (TruncatedVocabulary, "vocabulary"),
    (Bf16Ties, "precision"),
    (AlwaysFirst, "position bias"),
]


class ItmIndexSwapped(Pairs):
    def score_pairs(self, images: Pictures, texts: Sequence[str]) -> Any:
        return 1 - super().score_pairs(images, texts)


class SoftmaxOverTheBatch(Pairs):
    def score_pairs(self, images: Pictures, texts: Sequence[str]) -> Any:
        return torch.from_numpy(super().score_pairs(images, texts)).softmax(0).numpy()


class AlwaysYes(Pairs):
    def score_pairs(self, images: Pictures, texts: Sequence[str]) -> Any:
        return np.ones(len(texts))


class NoPicture(Pairs):
    """The prompt has no place for the picture."""

    def score_pairs(self, images: Pictures, texts: Sequence[str]) -> Any:
        return self.embed_texts(texts)[:, 0]


class NoText(Pairs):
    def score_pairs(self, images: Pictures, texts: Sequence[str]) -> Any:
        return self.embed_images(images)[:, 0]


class OneForAll(Pairs):
    def score_pairs(self, images: Pictures, texts: Sequence[str]) -> Any:
        return self.embed_images(images) @ self.embed_texts(texts).T


class WrongLetter(AlwaysFirst):
    """Chooses well and names the other letter."""

    def one(self, image: Image.Image, first: str, second: str) -> str:
        scores = Pairs().score_pairs([image, image], [first, second])
        return "A" if scores[0] < scores[1] else "B"


class Refuses(AlwaysFirst):
    def one(self, image: Image.Image, first: str, second: str) -> str:
        return "I cannot help with that."


class ChoosesBlindly(AlwaysFirst):
    def one(self, image: Image.Image, first: str, second: str) -> str:
        return "A" if first < second else "B"


OF_PAIRS: list[tuple[type, str | set[str]]] = [
    (ItmIndexSwapped, "sign"),
    (SoftmaxOverTheBatch, "text batch"),
    (AlwaysYes, "collapse"),
    (NoPicture, "collapse"),
    (NoText, "collapse"),
    (OneForAll, "shape"),
    (WrongLetter, "sign"),
    (Refuses, "refusals"),
    (ChoosesBlindly, "blind"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "expected"),
    [*TWELVE, *OF_PICTURES, *OF_TEXTS, *OF_PAIRS],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_right_check_names_it(planted: type, expected: str | set[str]) -> None:
    found = not_fine(planted())
    named = {expected} if isinstance(expected, str) else expected
    assert found.keys() & named, f"found {found}"


@pytest.mark.slow
@pytest.mark.parametrize("name", UNLINKED)
def test_towers_without_a_link_are_wrong(name: str) -> None:
    assert not_fine(UNLINKED[name]())["probe set"] == "wrong"


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_ANSWERS)
def test_answers_alone_show_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_answers = [one for one in judging.JUDGING if one not in (judging._untrained, judging._reference)]
    monkeypatch.setattr(judging, "JUDGING", by_answers)
    planted, expected = BY_ANSWERS[name]
    assert expected in not_fine(planted())


@pytest.mark.slow
@pytest.mark.parametrize("name", UNLOADED)
def test_weights_that_were_never_loaded(name: str) -> None:
    found = not_fine(UNLOADED[name]())
    assert found["loaded weights"] == found["reference"] == "suspicious"


@pytest.mark.slow
@pytest.mark.parametrize("name", QUIET)
def test_the_folder_that_a_network_came_from_answers_otherwise(name: str) -> None:
    assert not_fine(QUIET[name]()) in (
        {"reference": "suspicious"},
        {"reference": "suspicious", "probe set": "suspicious"},
    )


class Template(Loader):
    def cleaned(self, text: str) -> str:
        return f"a photo of {text.lower()}"


class Bilinear(Loader):
    def cut(self, image: Image.Image) -> Image.Image:
        return super().cut(image) if image.width != image.height else image.resize((48, 48), 2)


class SeenTwice(Loader):
    """The mirror image of each picture and the picture, averaged."""

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        both = super().see(torch.stack([pixels.flip(3), pixels], 1).flatten(0, 1))
        return both.unflatten(0, (-1, 2)).mean(1)


def test_several_views_of_a_picture_are_not_wrong() -> None:
    assert "wrong" not in not_fine(SeenTwice()).values()


@pytest.mark.parametrize(("right", "expected"), [(Template, {"reference": "suspicious"}), (Bilinear, {})])
def test_a_loader_that_differs_by_choice_is_not_wrong(right: type, expected: dict[str, str]) -> None:
    loader = right()
    gc.freeze()  # as the verbs do when they begin
    assert not_fine(loader) == expected


def test_a_check_with_a_bug_stops_nothing() -> None:
    def _mine(tested: tested_model.TestedModel) -> Any:
        return {}[""]

    def _next(tested: tested_model.TestedModel) -> Any:
        assert tested.rows_of_texts(["a text that is no probe", probes.LONG]).shape == (2, 128)
        assert tested.rows_of_pictures([Image.new("RGB", (9, 9)), probes.shapes()[0]]).shape == (2, 128)

    (found,) = run([_mine, _next], tested_model.TestedModel(Loader(), OWN))
    assert (found.name, found.verdict) == ("mine", "suspicious") and "KeyError" in found.found


def test_a_check_without_its_table_says_which_is_missing() -> None:
    def _no_such_check(tested: tested_model.TestedModel) -> Any:
        return check("no such check", None, "", "fine")

    (found,) = run([_no_such_check], tested_model.TestedModel(Loader(), OWN))
    assert 'data/checks.toml has no ["no such check"]' in found.found


@pytest.mark.parametrize("right", [Loader, Pairs])
def test_the_loaders_themselves_are_fine(right: type) -> None:
    assert not_fine(right()) == {}


def test_a_siglip_of_random_weights_is_only_at_chance() -> None:
    assert not_fine(SiglipLoader()) == {"probe set": "suspicious"}
