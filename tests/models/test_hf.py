"""hf: folders and hub names that are wrong in some way."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from equipoise.core.errors import UserError
from equipoise.models import load_model
from equipoise.models.clip import ClipModel


@pytest.fixture
def folder(clip_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clip_folder, tmp_path / "model"))


def refused(folder: Path, match: str) -> None:
    with pytest.raises(UserError, match=match):
        load_model(f"hf:{folder}", device="cpu")


def test_missing_parts(folder: Path) -> None:
    for name, message in [
        ("model.safetensors", "no weights"),
        ("tokenizer.json", "no tokenizer"),
        ("preprocessor_config.json", "no preprocessor_config.json"),
        ("config.json", "no config.json"),
    ]:
        (folder / name).rename(folder / "away")
        refused(folder, message)
        (folder / "away").rename(folder / name)
    refused(folder / "nowhere", "no folder")


def test_a_folder_that_is_misspelt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a slash at its end it is a folder, and the hub is not asked."""
    monkeypatch.chdir(folder.parent)
    with pytest.raises(UserError, match=rf"no folder '{folder.name}x/'\. Did you mean {folder.name}\?"):
        load_model(f"hf:{folder.name}x/", device="cpu")


def test_weights_alone_are_told_all_they_lack_and_the_command(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "preprocessor_config.json").unlink()
    refused(folder, r"no preprocessor_config.json .* and no tokenizer .*AutoProcessor.*save_pretrained\('.*model'\)")


def test_another_family(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "blip"}))
    refused(folder, "'blip' is not supported")


def test_weights_that_do_not_match_are_all_reported(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["visual_projection.weigth"] = weights.pop("visual_projection.weight")
    weights["text_projection.weight"] = torch.zeros(3, 3)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match="do not match") as caught:
        load_model(f"hf:{folder}", device="cpu")
    for part in ("missing: visual_projection.weight", "unexpected: visual_projection.weigth", "text_projection"):
        assert part in str(caught.value)


def test_truncated_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    refused(folder, "could not be loaded")


class Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return os.mkdir, (str(self.path),)


def test_a_bin_file_is_data(folder: Path, tmp_path: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    assert isinstance(load_model(f"hf:{folder}", device="cpu"), ClipModel)
    torch.save(weights | {"x": Canary(tmp_path / "ran")}, folder / "pytorch_model.bin")
    refused(folder, "Nothing was run")
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def hub(clip_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A stand-in for the hub: `cached` is what its cache holds, `asked` what it was asked to download."""
    import huggingface_hub
    from huggingface_hub import constants
    from huggingface_hub.errors import LocalEntryNotFoundError

    state = SimpleNamespace(cached=None, asked=[], reachable=True)

    def download(name: str, local_files_only: bool = False, allow_patterns: list[str] | None = None) -> str:
        if local_files_only:
            if state.cached is None:
                raise LocalEntryNotFoundError("not cached")
            return str(state.cached)
        state.asked.append(allow_patterns)
        return str(clip_folder)

    class Api:
        def model_info(self, name: str, files_metadata: bool) -> SimpleNamespace:
            if not state.reachable:
                raise LookupError("Name or service not known")  # an error class nobody could list
            names = ["config.json", "model.safetensors", "pytorch_model.bin", "onnx/model.safetensors"]
            return SimpleNamespace(siblings=[SimpleNamespace(rfilename=n, size=5_000_000) for n in names])

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return state


def test_a_download_is_announced(hub: SimpleNamespace, clip_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = load_model("hf:some/model", device="cpu")
    assert isinstance(model, ClipModel) and model.card["revision"] == clip_folder.name
    assert "downloading some/model from the Hugging Face hub: 5 MB" in capsys.readouterr().err
    (asked,) = hub.asked
    assert "model.safetensors" in asked and "pytorch_model.bin" not in asked


def test_the_cache_is_used_when_it_is_whole(hub: SimpleNamespace, folder: Path) -> None:
    hub.cached = folder
    assert load_model("hf:some/model", device="cpu").card["revision"] == folder.name  # type: ignore[union-attr]
    assert hub.asked == []
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    load_model("hf:some/model", device="cpu")
    assert len(hub.asked) == 1, "a broken-off download is completed"


def test_offline_is_respected(hub: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="HF_HUB_OFFLINE is set"):
        load_model("hf:some/model", device="cpu")
    assert hub.asked == []


def test_a_hub_that_is_not_there(hub: SimpleNamespace) -> None:
    hub.reachable = False
    with pytest.raises(UserError, match="the Hugging Face hub cannot be reached"):
        load_model("hf:some/model", device="cpu")
    with pytest.raises(UserError, match="no folder"):
        load_model("hf:./missing/folder", device="cpu")
