"""State dicts of architectures that transformers lacks: each refusal names the command that loads the file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from equipoise.core.errors import UserError
from equipoise.models import load_model, openclip
from equipoise.models.openclip import OpenClipModel


class Network(torch.nn.Module):
    """A stand-in for open_clip's RN50: it embeds, and its state dict has names of its own."""

    context_length = 4

    def __init__(self) -> None:
        super().__init__()
        self.visual = torch.nn.Linear(3, 3)

    def encode_image(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.visual(pixels.mean(dim=(2, 3)))

    def encode_text(self, ids: torch.Tensor) -> torch.Tensor:
        return self.visual(ids[:, :3].float())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Puts a fake open_clip in place, and keeps what it was asked for."""
    calls: list[dict[str, Any]] = []

    def create(arch: str, **options: Any) -> tuple[Any, Any, Any]:
        calls.append({"arch": arch, **options})
        return (
            Network(),
            None,
            lambda image: torch.from_numpy(np.asarray(image.resize((4, 4)), np.float32)).permute(2, 0, 1),
        )

    module = SimpleNamespace(
        list_models=lambda: ["RN50", "RN50-quickgelu", "coca_ViT-B-32"],
        list_pretrained_tags_by_model=lambda arch: ["openai"],
        get_model_config=lambda arch: {"quick_gelu": arch.endswith("quickgelu")},
        create_model_and_transforms=create,
        get_tokenizer=lambda arch: lambda texts: torch.tensor([[len(text), 2, 3, 0] for text in texts]),
    )
    monkeypatch.setattr(openclip, "import_open_clip", lambda: module)
    return calls


def test_a_file_is_loaded_into_open_clips_model(asked: list[dict[str, Any]], tmp_path: Path) -> None:
    torch.manual_seed(1)
    weights = Network().state_dict()
    torch.save({"state_dict": {f"module.{name}": value for name, value in weights.items()}}, tmp_path / "rn50.pt")
    save_file(weights | {"attn_mask": torch.zeros(2)}, tmp_path / "rn50.safetensors")
    rows = []
    for name in ("rn50.pt", "rn50.safetensors"):
        model = load_model(f"openclip:RN50/{tmp_path / name}?act=quickgelu", device="cpu")
        assert isinstance(model, OpenClipModel) and len(model.card["file_sha256"]) == 64
        assert torch.equal(model.network.visual.weight, weights["visual.weight"])
        rows.append(model.embed_images([Image.new("RGB", (8, 8), "red")]))
    np.testing.assert_array_equal(rows[0], rows[1])
    assert all(call["pretrained"] is None and call["force_quick_gelu"] and not call["pretrained_hf"] for call in asked)


def _refused(spec: str, *parts: str) -> str:
    with pytest.raises(UserError) as caught:
        load_model(spec, device="cpu")
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return str(caught.value)


def test_what_does_not_fit_is_refused(asked: list[dict[str, Any]], tmp_path: Path) -> None:
    file = tmp_path / "other.pt"
    torch.save({"visual.weight": torch.zeros(2, 2)}, file)
    _refused(f"openclip:RN50/{file}?act=gelu", "not the state dict of open_clip's RN50", "visual.bias")
    _refused(f"openclip:RN50-quickgelu/{file}?act=gelu", "has QuickGELU")
    _refused(f"openclip:RN5/{file}?act=gelu", "Did you mean RN50")
    _refused(f"openclip:RN50/{file}", f"openclip:RN50/{file}?act=quickgelu (or gelu)")
    _refused(f"openclip:RN50/{file}?context=64", "context has no meaning here")
    _refused(f"openclip:RN50/{tmp_path / 'none.pt'}?act=gelu", "no such checkpoint file")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("visual.layer1.0.conv1.weight", "a ResNet CLIP"),
        ("text_decoder.ln_final.weight", "a CoCa model"),
        ("text.transformer.embeddings.word_embeddings.weight", "a model with a text tower of its own"),
        ("visual.trunk.stem.weight", "a model whose vision tower is timm's"),
    ],
)
def test_a_checkpoint_of_another_kind_names_the_command(tmp_path: Path, name: str, what: str) -> None:
    file = tmp_path / "file.pt"
    torch.save({name: torch.zeros(1)}, file)
    command = f"Load it through open_clip: openclip:ARCH/{file}?act=quickgelu"
    _refused(f"checkpoint:{file}?act=quickgelu", what, command)
