"""Model files of strangers: what would change the numbers in silence, or run for minutes, is refused by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from equipoise.core.errors import UserError
from equipoise.models import load_model
from equipoise.models.checkpoint import file_options, merge_lora, unprefixed
from equipoise.models.clip import ClipModel


@pytest.fixture
def folder(clip_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clip_folder, tmp_path / "model"))


def change(folder: Path, **parts: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    for name, value in parts.items():
        config[name] = {**config[name], **value} if isinstance(value, dict) else value
    (folder / "config.json").write_text(json.dumps(config))


def refused(folder: Path, match: str) -> None:
    with pytest.raises(UserError, match=match):
        load_model(f"hf:{folder}", device="cpu")


def test_a_transposed_adapter_is_refused_although_it_has_as_many_numbers() -> None:
    state = {"x.weight": torch.zeros(4, 6), "x.lora_A": torch.ones(2, 4), "x.lora_B": torch.ones(6, 2)}
    with pytest.raises(UserError, match=r"\(6, 2\) @ its A \(2, 4\) does not fit the weight \(4, 6\)"):
        merge_lora(state, "test")


def test_half_an_adapter_is_refused_whichever_half() -> None:
    with pytest.raises(UserError, match=r"x\.lora_B has no x\.lora_A"):
        merge_lora({"x.weight": torch.zeros(4, 6), "x.lora_B": torch.ones(4, 2)}, "test")


def test_an_option_given_twice_is_refused() -> None:
    with pytest.raises(UserError, match="act is given more than once"):
        file_options("f.pt?act=gelu&act=quickgelu", "checkpoint:f.pt")


@pytest.mark.parametrize(
    "odd", [torch.zeros(2, 2).to_sparse(), torch.zeros(2, device="meta"), torch.zeros(2, dtype=torch.complex64)]
)
def test_tensors_that_are_no_plain_numbers(odd: torch.Tensor) -> None:
    with pytest.raises(UserError, match="is not a plain tensor of numbers"):
        unprefixed({"weight": odd}, "test")


def test_adapters_beside_a_model_are_refused(folder: Path) -> None:
    """With peft installed transformers would merge them, without it would not: two models of one folder."""
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "my/base"}')
    refused(folder, "(?s)adapter_config.json.*'my/base'.*merge_and_unload")
    (folder / "config.json").unlink()  # a folder as peft writes it
    refused(folder, "(?s)adapter_config.json.*'my/base'.*merge_and_unload")


def test_a_kernel_named_by_the_config_is_never_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(
        folder,
        _attn_implementation="attacker/kernel",
        attn_implementation="attacker/kernel",
        text_config={"_attn_implementation": "attacker/kernel"},
    )
    model = load_model(f"hf:{folder}", device="cpu")
    assert isinstance(model, ClipModel)
    network = model.network.config
    assert {network._attn_implementation, network.text_config._attn_implementation} == {"sdpa"}
    assert model.card["attention"] == "sdpa"


def test_an_index_may_not_name_files_outside(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder.parent / "outside.safetensors")
    index = {"metadata": {}, "weight_map": {"a": "../outside.safetensors", "b": "gone.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(folder, r"(?s)2 problems.*'\.\./outside\.safetensors'.*'gone\.safetensors'")


def test_absurd_sizes_are_refused_before_anything_is_built(folder: Path) -> None:
    change(folder, text_config={"num_hidden_layers": 10**7}, vision_config={"hidden_size": 10**9})
    refused(folder, r"(?s)2 problems.*text_config.num_hidden_layers is 10,000,000.*vision_config.hidden_size")


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "config.json", "preprocessor_config.json"])
@pytest.mark.parametrize("junk", ['{"a": ', "[1, 2]", '{"version": "1.0", "model": {"type": "BPE"}}', "\0\0\0"])
def test_damaged_small_files_are_the_users_error(folder: Path, name: str, junk: str) -> None:
    if not (folder / name).exists():
        pytest.skip(f"this transformers writes no {name}")
    (folder / name).write_text(junk)
    try:
        load_model(f"hf:{folder}", device="cpu")
    except UserError as error:
        assert str(folder) in str(error)


@pytest.mark.parametrize("device", ["meta", "xla", "mps", "cuda:99", "toaster", "cpu:x"])
def test_devices_that_are_not_here(device: str) -> None:
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(UserError, match="device"):
        load_model("world", device=device)


def test_names_of_tensors_reach_the_terminal_without_their_escape_codes(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """transformers prints a report of what does not fit, with the names as the file has them."""
    from safetensors.torch import load_file, save_file

    state = load_file(folder / "model.safetensors")
    save_file(state | {"\x1b]0;mine\x07": torch.zeros(2)}, folder / "model.safetensors", {"format": "pt"})
    refused(folder, "unexpected")
    assert "\x1b" not in "".join(capfd.readouterr())
