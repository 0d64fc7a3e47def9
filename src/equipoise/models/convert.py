"""open_clip's (and OpenAI's) state dicts <-> transformers' CLIPModel, decided by names and shapes alone."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from equipoise.core.errors import Problems, UserError
from equipoise.models.clip import quiet_transformers
from equipoise.models.families import family_of
from equipoise.models.inputs import CLIP_VOCABULARY

if TYPE_CHECKING:
    from transformers import CLIPConfig, CLIPModel

State = dict[str, torch.Tensor]
Heads = tuple[int, int]  # of the vision and of the text tower

ACTIVATIONS = {"quickgelu": "quick_gelu", "gelu": "gelu"}
_NAMES = tomllib.loads((Path(__file__).with_name("data") / "open_clip.toml").read_text(encoding="utf-8"))
ARCHITECTURES: dict[str, tuple[int, ...]] = {name: tuple(sizes) for name, sizes in _NAMES["architectures"].items()}
HEAD_WIDTH = 64  # of every published CLIP except the larger ones, which must be named
BUFFERS = ("attn_mask", "input_resolution", "context_length", "vocab_size")  # not weights; some files hold them

_TRANSPOSED = ("visual.proj", "text_projection")
_TOWERS = (("vision_model", "visual.transformer"), ("text_model", "transformer"))


def to_transformers(
    state: State, *, activation: str, arch: str | None = None, heads: Heads | None = None, where: str
) -> CLIPModel:
    """A CLIPModel in float32 with the weights of an open_clip state dict (already unprefixed, LoRA merged)."""
    from transformers import CLIPModel

    state = {name: tensor for name, tensor in state.items() if name not in BUFFERS}
    _refuse_others(state, activation, where)
    config = infer_config(state, activation=activation, arch=arch, heads=heads, where=where)
    with torch.device("meta"):  # names and shapes without memory
        skeleton = CLIPModel(config)
    expected = {name: tuple(tensor.shape) for name, tensor in _open_clip(skeleton).items()}
    problems = Problems(f"{where}: not the state dict of a CLIP ViT as open_clip names it")
    for name in sorted(expected.keys() | state.keys()):
        if name not in state:
            problems.add("missing", name)
        elif name not in expected:
            problems.add("unexpected", name)
        elif tuple(state[name].shape) != expected[name]:
            problems.add("shape", f"{name} is {tuple(state[name].shape)}, {expected[name]} was expected")
    problems.raise_if_any("Architectures beyond CLIP's own ViT load through openclip:ARCH/FILE?act=... or py:.")
    renamed = _renamed(state, skeleton.state_dict())
    converted = {
        name: tensor.to(torch.float32, copy=True) for name, tensor in renamed
    }  # training must not reach `state`
    with quiet_transformers():  # from_pretrained, because CLIPModel(config) would draw random weights first
        network = CLIPModel.from_pretrained(None, config=config, state_dict=converted, dtype=torch.float32)
    return network.eval()


def to_open_clip(network: CLIPModel) -> State:
    """The weights of a transformers CLIPModel under open_clip's names, for other people's scripts."""
    if not family_of(network).open_clip_names:
        raise UserError("only CLIP models have open_clip's key format; SigLIP's towers are built differently")
    for tower in (network.config.vision_config, network.config.text_config):
        width, heads, eps = tower.hidden_size, tower.num_attention_heads, tower.layer_norm_eps
        known = {sizes[4] for sizes in ARCHITECTURES.values() if sizes[0] == width} | {width // HEAD_WIDTH}
        if heads not in known or eps != 1e-5:
            raise UserError(
                f"open_clip's files do not hold the number of heads or layer_norm_eps. This model has {heads} heads "
                f"for a width of {width} and eps {eps}; open_clip assumes {width // HEAD_WIDTH} and 1e-05, and would "
                "compute another model. Keep it as a folder (save_pretrained), and load that with hf:"
            )
    return _open_clip(network)


def _open_clip(network: CLIPModel) -> State:
    own = {name: tensor.detach() for name, tensor in network.state_dict().items()}
    state = {}
    for ours, theirs in _names(own):
        tensor = own[ours[0]] if len(ours) == 1 else torch.cat([own[name] for name in ours])
        state[theirs] = (tensor.t() if theirs in _TRANSPOSED else tensor).clone(memory_format=torch.contiguous_format)
    return state


def _renamed(state: State, own: Mapping[str, torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
    """open_clip's tensors under transformers' names; the inverse of `to_open_clip`."""
    for ours, theirs in _names(own):
        tensor = state[theirs].t().contiguous() if theirs in _TRANSPOSED else state[theirs]
        for name, part in zip(ours, tensor.chunk(len(ours)) if len(ours) > 1 else (tensor,), strict=True):
            yield name, part.reshape(own[name].shape)


def _names(own: Mapping[str, torch.Tensor]) -> Iterator[tuple[tuple[str, ...], str]]:
    """transformers' names (three for the projections of attention) and open_clip's name of the same weights."""
    for ours, theirs in _NAMES["single"].items():
        yield (ours,), theirs
    for ours, theirs in _TOWERS:
        for layer in range(_layers(own, f"{ours}.encoder.layers.")):
            prefix, their_prefix = f"{ours}.encoder.layers.{layer}.", f"{theirs}.resblocks.{layer}."
            for part in ("weight", "bias"):
                yield from (((f"{prefix}{a}.{part}",), f"{their_prefix}{b}.{part}") for a, b in _NAMES["block"].items())
                yield (
                    tuple(f"{prefix}self_attn.{letter}_proj.{part}" for letter in "qkv"),
                    f"{their_prefix}attn.in_proj_{part}",
                )


def infer_config(
    state: State, *, activation: str, arch: str | None, heads: Heads | None = None, where: str
) -> CLIPConfig:
    """Architecture from shapes; only the heads of unknown and of the largest models must be named."""
    from transformers import CLIPConfig

    needed = ["visual.conv1.weight", "visual.positional_embedding", "visual.proj", "positional_embedding"]
    needed += ["token_embedding.weight", "text_projection"]
    needed += [f"{tower}.resblocks.0.mlp.c_fc.weight" for _, tower in _TOWERS]
    problems = Problems(f"{where}: not the state dict of a CLIP ViT as open_clip names it")
    for name in needed:
        if name not in state:
            problems.add("missing", name)
    problems.raise_if_any(f"Found {len(state)} tensors, the first of them: {', '.join(list(state)[:5])}")

    vision_width, channels, patch, _ = state["visual.conv1.weight"].shape
    grid = round((len(state["visual.positional_embedding"]) - 1) ** 0.5)
    context, text_width = state["positional_embedding"].shape
    vocabulary = len(state["token_embedding.weight"])
    if vocabulary != CLIP_VOCABULARY:
        raise UserError(
            f"{where}: the text tower has {vocabulary} tokens, CLIP's tokenizer {CLIP_VOCABULARY}; "
            "save the model as a transformers folder with its own tokenizer and load that with hf:"
        )
    sizes = (vision_width, patch, grid * patch, text_width)
    vision_heads, text_heads = _heads(sizes, arch, heads, where)
    embed = state["visual.proj"].shape[1]

    def tower(width: int, heads: int, prefix: str) -> dict[str, str | int]:
        return {
            "hidden_size": width,
            "num_attention_heads": heads,
            "num_hidden_layers": _layers(state, f"{prefix}.resblocks."),
            "intermediate_size": len(state[f"{prefix}.resblocks.0.mlp.c_fc.weight"]),
            "hidden_act": ACTIVATIONS[activation],
            "projection_dim": embed,
        }

    return CLIPConfig(
        projection_dim=embed,
        vision_config=tower(vision_width, vision_heads, "visual.transformer")
        | {"image_size": grid * patch, "patch_size": patch, "num_channels": channels},
        text_config=tower(text_width, text_heads, "transformer")
        | {"vocab_size": vocabulary, "max_position_embeddings": context}
        | {
            "bos_token_id": CLIP_VOCABULARY - 2,
            "eos_token_id": CLIP_VOCABULARY - 1,
            "pad_token_id": CLIP_VOCABULARY - 1,
        },
    )


def _heads(sizes: tuple[int, int, int, int], arch: str | None, heads: Heads | None, where: str) -> Heads:
    width, text_width = sizes[0], sizes[3]
    if heads is not None:
        if width % heads[0] or text_width % heads[1]:
            raise UserError(f"{where}: heads={heads[0]},{heads[1]} do not divide the widths {width} and {text_width}")
        return heads
    if arch is None:
        names = [name for name, known in ARCHITECTURES.items() if known[0] == width]
        usual = width // HEAD_WIDTH, text_width // HEAD_WIDTH
        if any(ARCHITECTURES[name][4] != usual[0] for name in names):
            words = f"a vision tower {width} wide has heads of no standard width; add &arch={', '.join(names)}"
            raise UserError(f"{where}: {words}")
        if text_width not in [ARCHITECTURES[name][3] for name in names]:
            raise UserError(
                f"{where}: the number of attention heads is not written in a checkpoint, and a wrong one silently "
                f"changes the scores. Name those of the vision and of the text tower, {width} and {text_width} wide. "
                f"Are they {HEAD_WIDTH} wide, as open_clip's? Then add &heads={usual[0]},{usual[1]}"
            )
        return usual
    known = ARCHITECTURES[arch]
    if sizes != known[:4]:
        parts = ("vision width", "patch size", "image size", "text width")
        wrong = [f"{part} {a} instead of {b}" for part, a, b in zip(parts, sizes, known, strict=False) if a != b]
        raise UserError(f"{where}: the weights are not those of {arch}: {', '.join(wrong)}")
    return known[4], text_width // HEAD_WIDTH


def _layers(names: Iterable[str], prefix: str) -> int:
    return len({name[len(prefix) :].split(".")[0] for name in names if name.startswith(prefix)})


def _refuse_others(state: State, activation: str, where: str) -> None:
    """Refuse known architectures that look similar; open_clip itself has them."""
    if any(name.startswith(("text_model.", "vision_model.")) for name in state):
        raise UserError(f"{where}: already in transformers' format; load its folder with hf:FOLDER")
    for reason, prefixes in _NAMES["others"].items():
        if any(name.startswith(tuple(prefixes)) for name in state):
            raise UserError(
                f"{where}: {reason}; only CLIP's own vision transformers are converted. Load it through open_clip: "
                f"openclip:ARCH/{where}?act={activation}, with open_clip's name of it for ARCH"
            )
