"""Model specs, py: factories, the open_clip adapter's checks, and what importing costs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.run import Result, evaluate
from equipoise.models import Embedder, PairScorer, TokenEmbedder, kind_of, load_model, plain_spec
from equipoise.models.clip import ClipModel
from equipoise.models.openclip import OpenClipModel


def refused(spec: str, *parts: str) -> None:
    with pytest.raises(UserError) as caught:
        load_model(spec, device="cpu")
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_specs_that_are_none(tmp_path: Path) -> None:
    refused(str(tmp_path), f"Did you mean hf:{tmp_path}?")
    refused("chekpoint:x", "not a model spec", "Did you mean checkpoint")
    refused("hf:", "hf:NAME-or-folder")
    refused("ViT-B-32", "openclip:ARCH/PRETRAINED")
    refused("", "not a model spec")
    refused("world:big", "not a model spec")


def test_a_folder_is_one_model_however_its_path_is_written(
    clip_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trailing slash made another run of it: the spec is part of what a run is."""
    assert load_model(f"hf:{clip_folder}/", device="cpu").card == load_model(f"hf:{clip_folder}", device="cpu").card
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert plain_spec("hf:./mine//") == "hf:mine"
    assert plain_spec("itm:mine/?head=itc") == "itm:mine?head=itc"
    for other in ("hf:gone/", "hf:openai/clip-vit-base-patch32", "py:mine:make", "served:mine/@http://a/", "hf:"):
        assert plain_spec(other) == other


def test_device_and_dtype_that_are_none(clip_folder: Path) -> None:
    with pytest.raises(UserError, match="dtype 'fp8'"):
        load_model(f"hf:{clip_folder}", dtype="fp8")
    with pytest.raises(UserError, match="device tpu is not known"):
        load_model(f"hf:{clip_folder}", device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match=r"no CUDA|no GPU"):
            load_model(f"hf:{clip_folder}", device="cuda")


def test_the_shipped_model(clip_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.models.hf.WORLD", tmp_path / "base")
    refused("world", "not in this installation")
    shutil.copytree(clip_folder, tmp_path / "base")
    model = load_model("world", device="cpu")
    assert isinstance(model, ClipModel) and model.spec == model.card["spec"] == "world"


OWN = """
import numpy as np
class Both:
    def embed_images(self, images): return np.ones((len(images), 2))
    def embed_texts(self, texts): return np.ones((len(texts), 2))
class Pairs:
    def score_pairs(self, images, texts): return np.zeros(len(images))
def make(): return Both()
def make_pairs(): return Pairs()
def make_nothing(): return 3
"""


def test_a_model_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_model.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    model = load_model("py:my_own_model:make")
    assert isinstance(model, Embedder) and not isinstance(model, PairScorer)
    assert isinstance(load_model("py:my_own_model:make_pairs"), PairScorer)
    refused("py:my_own_model:make_nothing", "embed_images and embed_texts", "int")
    refused("py:my_own_model:mak", "Did you mean make")
    refused("py:my_own_model", "py:module:factory")
    refused("py:no_such_module_here:make", "cannot be imported")


def fake_open_clip(quick: bool) -> Any:
    tags = {"quick_gelu": True} if quick else {}
    return SimpleNamespace(
        list_models=lambda: ["ViT-B-32", "ViT-B-32-quickgelu"],
        list_pretrained_tags_by_model=lambda arch: ["openai", "laion2b_s34b_b79k"],
        get_pretrained_cfg=lambda arch, tag: tags,
        get_model_config=lambda arch: {"quick_gelu": True} if arch.endswith("quickgelu") else {},
    )


def test_open_clip_specs_are_checked_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.models import openclip

    monkeypatch.setattr(openclip, "import_open_clip", lambda: fake_open_clip(quick=True))
    refused("openclip:ViT-B32/openai", "Did you mean ViT-B-32")
    refused("openclip:ViT-B-32", "one of: openai")
    refused("openclip:ViT-B-32/openia", "Did you mean openai")
    refused("openclip:ViT-B-32/openai", "trained with QuickGELU; use openclip:ViT-B-32-quickgelu/openai")
    refused(f"openclip:ViT-B-32/{__file__}", "activation must be stated")
    monkeypatch.setattr(openclip, "import_open_clip", lambda: fake_open_clip(quick=False))
    refused("openclip:ViT-B-32-quickgelu/openai", "trained with GELU; use openclip:ViT-B-32/openai")


def test_open_clip_missing_says_how_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    refused("openclip:ViT-B-32/openai", "pip install 'equipoise[openclip]'")


def test_the_open_clip_adapter_embeds_in_batches(photos: list[Image.Image]) -> None:
    """With a stand-in for open_clip's objects; make_openclip.py runs it on the real ones."""

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.eye(3))

        def encode_image(self, pixels: torch.Tensor) -> torch.Tensor:
            return pixels.mean(dim=(2, 3)) @ self.weight

        def encode_text(self, ids: torch.Tensor) -> torch.Tensor:
            return ids[:, :3].to(self.weight.dtype) @ self.weight

    def tokenize(texts: list[str]) -> torch.Tensor:
        return torch.tensor([[len(text), 2, 3, 0] for text in texts])

    tokenizer = type("Tokenizer", (), {"context_length": 4, "__call__": lambda self, texts: tokenize(texts)})()
    preprocess = lambda image: torch.from_numpy(  # noqa: E731
        np.asarray(image.resize((4, 4)), np.float32).transpose(2, 0, 1).copy()
    )
    model = OpenClipModel("test", Network(), tokenizer, preprocess, device="cpu", dtype="float32", arch="x")
    assert isinstance(model, Embedder)
    many = photos * 40  # 160, more than two batches
    rows = model.embed_images(many)
    assert rows.shape == (160, 3)
    np.testing.assert_array_equal(rows[:4], rows[-4:])
    texts = model.embed_texts(["x" * n for n in range(1, 101)])
    assert texts.shape == (100, 3)
    np.testing.assert_allclose(texts[4], np.array([5, 2, 3]) / np.sqrt(38), rtol=1e-6)
    assert len(model.card["weight_sha256"]) == 64


def test_what_a_model_is_asked_for(tiny_clip: ClipModel, tiny_siglip: ClipModel) -> None:
    both = type("Both", (), {"embed_images": lambda self, images: 0, "embed_texts": lambda self, texts: 0})
    pairs = type("Pairs", (both,), {"score_pairs": lambda self, images, texts: 0})
    pieces = type("Pieces", (both,), {"encode_images": lambda self, pixels: 0, "preprocess": lambda self, image: 0})
    assert isinstance(tiny_clip, TokenEmbedder) and not isinstance(both(), TokenEmbedder)
    assert [kind_of(model) for model in (tiny_clip, tiny_siglip, both(), pairs())] == ["tokens"] * 2 + [
        "embeds",
        "pairs",
    ]
    assert kind_of(pieces()) == "embeds"  # some of the pieces are not enough
    with pytest.raises(
        UserError, match="int is not a model: it has neither embed_images and embed_texts, nor score_pairs, nor answer"
    ):
        kind_of(3)


def test_another_factory_or_file_is_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two judges that say no to everything they are asked as a probe are still two models."""
    source = (
        "class Judge:\n"
        "    def __init__(self, word): self.word = word\n"
        "    def score_pairs(self, images, texts): return [float(self.word in text) for text in texts]\n"
        "def a(): return Judge('giraffe')\n"
        "def b(): return Judge('zebra')\n"
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two_judges.py").write_text(source)
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "photos" / "1.png")
    items = [Item(id="1", image=ImageRef(path="1.png"), caption="a giraffe", negatives=texts("a zebra"))]

    def run(name: str) -> Result:
        return evaluate(load_model(f"py:two_judges:{name}"), items, images=tmp_path / "photos", out=tmp_path / "run")

    assert run("a").numbers["original"] == 1
    with pytest.raises(UserError, match=r"(?s)no identity of its own.*model spec.*model source factory"):
        run("b")
    first = load_model("py:two_judges:a").card
    assert first["spec"] == "py:two_judges:a" and len(first["source"]["sha256"]) == 64
    (tmp_path / "two_judges.py").write_text(source + "# changed\n")
    assert load_model("py:two_judges:a").card["source"]["sha256"] != first["source"]["sha256"]


def test_a_card_of_a_models_own_stays_and_one_that_cannot_be_set_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "carded.py").write_text(
        "class Fine:\n"
        "    card = {'spec': 'mine', 'digest': '1'}\n"
        "    def score_pairs(self, images, texts): return [1.0 for text in texts]\n"
        "class Fixed(Fine):\n"
        "    card = property(lambda self: {'digest': '1'})\n"
    )
    card = load_model("py:carded:Fine").card
    assert (card["spec"], card["digest"], card["source"]["factory"]) == ("mine", "1", "carded:Fine")
    refused("py:carded:Fixed", "the attribute `card` of your model cannot be set", "make it a plain dict")
