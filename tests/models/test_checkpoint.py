"""checkpoint: and paper: specs: safe opening, prefixes, LoRA, architecture from shapes, explicit activation."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from equipoise.core.errors import UserError
from equipoise.models import load_model
from equipoise.models.checkpoint import PAPERS, merge_lora, read_state, unprefixed
from equipoise.models.clip import ClipModel
from equipoise.models.convert import ARCHITECTURES, infer_config, to_open_clip, to_transformers

from .conftest import WHOLE, tiny_network

State = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def state() -> State:
    return to_open_clip(tiny_network(vocab_size=WHOLE))


@pytest.fixture(scope="module")
def plain(state: State, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "plain.pt"
    torch.save(state, path)
    return path


def load(spec: str) -> ClipModel:
    """With the heads of `tiny_network`."""
    model = load_model(f"{spec}{'&' if '?' in spec else '?'}heads=2,1", device="cpu")
    assert isinstance(model, ClipModel)
    return model


def refused(spec: str, *parts: str) -> None:
    with pytest.raises(UserError) as caught:
        load_model(spec, device="cpu")
    for part in parts:
        assert part in str(caught.value), str(caught.value)


# ---- what a file may look like


def test_every_wrapping_gives_the_same_model(state: State, tmp_path: Path, whole_clip: ClipModel) -> None:
    prefixed = {f"module._orig_mod.module.{name}": tensor for name, tensor in state.items()}
    torch.save({"epoch": 3, "state_dict": prefixed, "optimizer": {"step": 1}}, tmp_path / "ddp.pt")
    torch.save({"model": state, "epoch": 1}, tmp_path / "model.pth")
    torch.save({"module." + k: v for k, v in state.items()}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    save_file(state, tmp_path / "weights.safetensors")
    for path in sorted(tmp_path.iterdir()):
        model = load(f"checkpoint:{path}?act=quickgelu")
        assert model.card["weight_sha256"] == whole_clip.card["weight_sha256"], path.name
        assert model.card["activation"] == {"vision": "quick_gelu", "text": "quick_gelu"}
    np.testing.assert_allclose(model.embed_texts(["a dog"]), whole_clip.embed_texts(["a dog"]), atol=1e-6)


def test_half_precision_weights_become_float32(state: State, tmp_path: Path) -> None:
    torch.save({name: tensor.half() for name, tensor in state.items()}, tmp_path / "half.pt")
    network = load(f"checkpoint:{tmp_path / 'half.pt'}?act=gelu").network
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}


def test_context(state: State, plain: Path, whole_clip: ClipModel) -> None:
    model = load(f"checkpoint:{plain}?act=quickgelu&context=64")
    assert model.context_length == model.card["context_length"] == 64
    assert len(model.truncate(model.tokenize(["dog " * 90])[0])) == 64
    np.testing.assert_allclose(model.embed_texts(["a dog"]), whole_clip.embed_texts(["a dog"]), atol=1e-6)
    refused(f"checkpoint:{plain}?act=quickgelu&context=99", "context=99", "77 positions")


# ---- activation and options are never guessed


def test_an_unknown_activation_is_an_error_that_shows_both(plain: Path) -> None:
    refused(f"checkpoint:{plain}", f"checkpoint:{plain}?act=quickgelu", f"checkpoint:{plain}?act=gelu")
    refused(f"checkpoint:{plain}?context=64", f"checkpoint:{plain}?context=64&act=quickgelu")


def test_bad_options(plain: Path) -> None:
    refused(f"checkpoint:{plain}?act=relu", "act=relu", "quickgelu or gelu")
    refused(f"checkpoint:{plain}?akt=gelu", "no option 'akt'", "Did you mean act")
    refused(f"checkpoint:{plain}?act=gelu&arch=ViT-B32", "Did you mean ViT-B-32")
    refused(f"checkpoint:{plain}?act=gelu&arch=ViT-B-32-quickgelu", "contradict")
    refused(f"checkpoint:{plain}?act=gelu&context=many", "not a number of tokens")
    refused(f"checkpoint:{plain}.gone?act=gelu", "no such checkpoint file")


def test_a_stated_architecture_must_be_right(plain: Path) -> None:
    refused(
        f"checkpoint:{plain}?act=gelu&arch=ViT-B-32",
        "vision width 128 instead of 768, patch size 16 instead of 32, image size 32 instead of 224",
    )


# ---- files that are not state dicts, or worse


class Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_that_would_run_code_does_not(state: State, tmp_path: Path, zipped: bool) -> None:
    ran = tmp_path / "ran"
    path = tmp_path / "evil.pt"
    torch.save({"state_dict": state, "x": Canary(ran)}, path, _use_new_zipfile_serialization=zipped)
    refused(f"checkpoint:{path}?act=gelu", "refused", "mkdir", "Nothing was run")
    assert not ran.exists()
    torch.load(path, weights_only=False)  # the canary does sing when it is let
    assert ran.exists()


def test_training_arguments_in_a_checkpoint_are_refused_with_the_way_out(state: State, tmp_path: Path) -> None:
    torch.save({"state_dict": state, "args": argparse.Namespace(lr=1)}, tmp_path / "args.pt")
    refused(f"checkpoint:{tmp_path / 'args.pt'}?act=gelu", "argparse.Namespace", "keep the tensors alone")


def test_torchscript_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "ViT-B-32.pt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), str(path))
    refused(f"checkpoint:{path}?act=quickgelu", "TorchScript", "torch.jit.load", "ViT-B-32-state.pt?act=quickgelu")


def test_broken_files(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.pt").touch()
    (tmp_path / "cut.pt").write_bytes(plain.read_bytes()[:5000])
    (tmp_path / "text.pt").write_text("hello")
    (tmp_path / "text.safetensors").write_text("hello")
    torch.save({"epoch": 1, "lr": 0.1}, tmp_path / "nothing.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    for name, message in [
        ("empty.pt", "empty"),
        ("cut.pt", ""),
        ("text.pt", ""),
        ("text.safetensors", "not a whole safetensors file"),
        ("nothing.pt", "found a dict with ['epoch', 'lr']"),
        ("list.pt", "found list"),
    ]:
        refused(f"checkpoint:{tmp_path / name}?act=gelu", name, message)


# ---- architectures


def test_all_wrong_names_and_shapes_at_once(state: State, tmp_path: Path) -> None:
    broken = dict(state)
    broken["ln_final.wait"] = broken.pop("ln_final.weight")
    broken["visual.ln_pre.bias"] = torch.zeros(7)
    torch.save(broken, tmp_path / "broken.pt")
    refused(
        f"checkpoint:{tmp_path / 'broken.pt'}?act=gelu&heads=2,1",
        "3 problems",
        "missing: ln_final.weight",
        "unexpected: ln_final.wait",
        "visual.ln_pre.bias is (7,), (128,) was expected",
    )


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("visual.layer1.0.conv1.weight", "ResNet"),
        ("text_decoder.ln_final.weight", "CoCa"),
        ("text.transformer.embeddings.word_embeddings.weight", "text tower of its own"),
        ("visual.trunk.cls_token", "timm"),
        ("vision_model.post_layernorm.weight", "hf:FOLDER"),
    ],
)
def test_other_architectures_are_named(key: str, message: str, tmp_path: Path) -> None:
    torch.save({key: torch.zeros(2)}, tmp_path / "other.pt")
    refused(f"checkpoint:{tmp_path / 'other.pt'}?act=gelu", message)


def test_another_vocabulary_is_refused(state: State, tmp_path: Path) -> None:
    torch.save(state | {"token_embedding.weight": torch.zeros(100, 64)}, tmp_path / "small.pt")
    refused(f"checkpoint:{tmp_path / 'small.pt'}?act=gelu", "100 tokens, CLIP's tokenizer 49408")


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_published_architectures_from_shapes(name: str) -> None:
    """Shapes alone (no memory is used); the largest, whose heads shapes do not tell, must be named."""
    width, patch, size, text, heads = ARCHITECTURES[name]
    shapes = {
        "visual.conv1.weight": (width, 3, patch, patch),
        "visual.positional_embedding": ((size // patch) ** 2 + 1, width),
        "visual.proj": (width, 512),
        "positional_embedding": (77, text),
        "token_embedding.weight": (49408, text),
        "text_projection": (text, 512),
        "visual.transformer.resblocks.0.mlp.c_fc.weight": (4 * width, width),
        "visual.transformer.resblocks.1.mlp.c_fc.weight": (4 * width, width),
        "transformer.resblocks.0.mlp.c_fc.weight": (4 * text, text),
    }
    state = {key: torch.empty(shape, device="meta") for key, shape in shapes.items()}
    config = infer_config(state, activation="quickgelu", arch=name, where="test")
    vision = config.vision_config
    assert (vision.hidden_size, vision.patch_size, vision.image_size) == (width, patch, size)
    assert vision.num_attention_heads == heads and vision.num_hidden_layers == 2
    assert config.text_config.num_attention_heads == text // 64
    assert config.text_config.eos_token_id == 49407
    if width // 64 == heads:
        unnamed = infer_config(state, activation="quickgelu", arch=None, where="test")
        assert unnamed.vision_config.num_attention_heads == heads
    else:
        with pytest.raises(UserError, match=f"arch={name}"):
            infer_config(state, activation="quickgelu", arch=None, where="test")


# ---- LoRA


def test_lora_is_merged_as_its_authors_apply_it(state: State) -> None:
    """Against the forward pass of a layer with its low-rank part beside it: W x + B(A x) / r."""
    random = torch.Generator().manual_seed(0)
    rank = 4

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random) * 0.1

    block, lora = "visual.transformer.resblocks.0.", {}
    lora[f"{block}attn.in_proj_weight_lora_A"] = draw(rank, 128)
    lora[f"{block}attn.in_proj_weight_lora_B"] = draw(3 * 128, rank)
    for name, rows, columns in (("attn.out_proj", 128, 128), ("mlp.c_fc", 512, 128), ("mlp.c_proj", 128, 512)):
        lora[f"{block}{name}.lora_A"] = draw(rank, columns)
        lora[f"{block}{name}.lora_B"] = draw(rows, rank)
    lora["visual.conv1.lora_A"] = draw(rank * 16, 3 * 16)
    lora["visual.conv1.lora_B"] = draw(128 * 16, rank * 16)
    merged, count = merge_lora(state | lora, "test")
    assert count == 5 and merged.keys() == state.keys()

    for name, weight in (("attn.in_proj_weight", "attn.in_proj_weight"), ("mlp.c_fc.", "mlp.c_fc.weight")):
        x = draw(3, 128)
        joint = name if name.endswith(".") else f"{name}_"
        low = x @ lora[f"{block}{joint}lora_A"].T @ lora[f"{block}{joint}lora_B"].T
        expected = x @ state[block + weight].T + low / rank
        torch.testing.assert_close(x @ merged[block + weight].T, expected, atol=1e-5, rtol=1e-5)
    delta = merged["visual.conv1.weight"] - state["visual.conv1.weight"]
    expected = (lora["visual.conv1.lora_B"] @ lora["visual.conv1.lora_A"]).view(128, 3, 16, 16) / rank
    torch.testing.assert_close(delta, expected, atol=1e-5, rtol=1e-4)
    untouched = "transformer.resblocks.0.mlp.c_fc.weight"
    assert torch.equal(merged[untouched], state[untouched])


def test_lora_without_its_other_half_is_an_error(state: State) -> None:
    with pytest.raises(UserError, match=r"c_fc\.lora_A has no .*c_fc\.lora_B"):
        merge_lora(state | {"transformer.resblocks.0.mlp.c_fc.lora_A": torch.zeros(4, 64)}, "test")
    wrong = {
        "transformer.resblocks.0.mlp.c_fc.lora_A": torch.zeros(4, 64),
        "transformer.resblocks.0.mlp.c_fc.lora_B": torch.zeros(9, 4),
    }
    with pytest.raises(UserError, match="does not fit"):
        merge_lora(state | wrong, "test")


def test_prefixes_are_stripped_from_the_front_only() -> None:
    state = {"module._orig_mod.a.module.b": torch.zeros(1), "epoch": 3}
    assert list(unprefixed(state, "test")) == ["a.module.b"]


# ---- papers


def test_every_paper_states_its_activation(plain: Path) -> None:
    assert {name for name, paper in PAPERS.items() if paper["activation"] != "quickgelu"} == {"fsc-clip-dcxl"}
    for name, activation, context in [
        ("negclip", "quick_gelu", 77),
        ("clove", "quick_gelu", 64),
        ("fsc-clip-dcxl", "gelu", 77),
    ]:
        model = load(f"paper:{name}@{plain}")
        assert model.card["activation"] == {"vision": activation, "text": activation}
        assert model.card["paper"] == PAPERS[name]["title"]
        assert model.context_length == context


def test_a_published_mistake_can_be_repeated_and_is_written_down(plain: Path) -> None:
    card = load(f"paper:negclip@{plain}?act=gelu").card
    assert card["activation"]["vision"] == "gelu"
    assert "LOADED WITH GELU, though trained with quickgelu" in card["quirks"]


def test_paper_specs_that_are_wrong(plain: Path) -> None:
    refused(f"paper:negclipp@{plain}", "no paper 'negclipp'", "Did you mean negclip")
    refused("paper:negclip", "which file? paper:negclip@FILE")


def test_a_svlc_like_file(state: State, tmp_path: Path, whole_clip: ClipModel) -> None:
    """DDP prefix, training dict and unmerged LoRA together; the card counts what was merged."""
    name = "transformer.resblocks.0.mlp.c_fc."
    lora = {f"{name}lora_A": torch.ones(4, 64), f"{name}lora_B": torch.ones(256, 4)}
    wrapped = {f"module.{key}": tensor for key, tensor in (state | lora).items()}
    torch.save({"epoch": 5, "name": "x", "state_dict": wrapped}, tmp_path / "svlc.pt")
    model = load(f"paper:svlc@{tmp_path / 'svlc.pt'}")
    assert model.card["lora_merged"] == 1
    own = model.network.state_dict()["text_model.encoder.layers.0.mlp.fc1.weight"]
    torch.testing.assert_close(own, state[f"{name}weight"] + 1)


# ---- and back


def test_export_of_a_model_is_a_checkpoint_again(whole_clip: ClipModel, tmp_path: Path) -> None:
    torch.save(to_open_clip(whole_clip.network), tmp_path / "export.pt")
    again = to_transformers(read_state(tmp_path / "export.pt"), activation="quickgelu", heads=(2, 1), where="test")
    for name, tensor in whole_clip.network.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name


def test_heads_are_asked_for_and_obeyed(plain: Path, state: State, whole_clip: ClipModel) -> None:
    """The weights are the same, the numbers are not."""
    refused(f"checkpoint:{plain}?act=quickgelu", "&heads=2,1")
    for heads in ("3,1", "2", "0,1", "2,1&arch=ViT-B-32"):
        refused(f"checkpoint:{plain}?act=quickgelu&heads={heads}", f"heads={heads.partition('&')[0]}")
    other = load_model(f"checkpoint:{plain}?act=quickgelu&heads=4,2", device="cpu")
    assert isinstance(other, ClipModel) and other.card["weight_sha256"] == whole_clip.card["weight_sha256"]
    assert other.card["architecture"]["vision"]["heads"] == 4
    assert np.abs(other.embed_texts(["a dog"]) - whole_clip.embed_texts(["a dog"])).max() > 1e-4


def test_what_the_format_cannot_say_is_not_written() -> None:
    for changed in ({"num_attention_heads": 2}, {"layer_norm_eps": 1e-3}):
        with pytest.raises(UserError, match="hf:"):
            to_open_clip(tiny_network(**changed))


def test_a_converted_model_shares_no_memory_with_the_state_it_came_from(state: State) -> None:
    before = {name: tensor.clone() for name, tensor in state.items()}
    network = to_transformers(state, activation="gelu", heads=(2, 1), where="test")
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(7)
    assert all(torch.equal(state[name], before[name]) for name in state)


def test_siglip_has_no_open_clip_form(tiny_siglip: ClipModel) -> None:
    with pytest.raises(UserError, match="only CLIP models"):
        to_open_clip(tiny_siglip.network)
