"""`itm:FILE.pth`: X-VLM (Zeng et al. 2022) and CE-XVLM (Zhang et al. 2024) from their published checkpoints.

The layout is that of github.com/zengyan-97/X-VLM: `vision_encoder.` a Swin transformer with Microsoft's names, with the
mean of its states put in front; `text_encoder.` (pretraining: `text_encoder.bert.`) a BERT whose upper layers also look
at the image; `itm_head.`, `vision_proj.`, `text_proj.`. It is loaded into transformers' Swin and into the text layers
that transformers keeps for BLIP, which are BERT's with such a look. Every size is read from the shapes. CE-XVLM has the
same layout.

BERT's tokenizer (tokenizer.json) lies in the same folder. Texts are given as they are, cut at 40 tokens, as
the evaluations of ARO and CE-CLIP do; X-VLM's own retrieval first takes out punctuation.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn
from torch.nn.functional import normalize

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import sha256_file, write_json
from equipoise.models.checkpoint import read_state, unprefixed
from equipoise.models.inputs import Preprocess

if TYPE_CHECKING:
    from transformers import BertConfig, BlipTextConfig, SwinConfig

CONTEXT = 40  # max_tokens of its retrieval
HEAD_WIDTH = 64  # of BERT's attention, at every published size
PATCH = 4
CONFIG = {"model_type": "xvlm"}  # config.json next to a finetuned one, whose sizes follow from the shapes

State = dict[str, torch.Tensor]


class XVLM(nn.Module):
    """Swin, BERT with fusion layers, and the heads."""

    def __init__(self, swin: SwinConfig, text: BertConfig, fusion: int, width: int) -> None:
        from transformers import SwinModel
        from transformers.models.bert.modeling_bert import BertEmbeddings
        from transformers.models.blip.modeling_blip_text import BlipTextLayer

        super().__init__()
        lower = _layer_config(text, decoder=False, width=swin.hidden_size)
        upper = _layer_config(text, decoder=True, width=swin.hidden_size)
        layers = [BlipTextLayer(upper if n >= fusion else lower, n) for n in range(text.num_hidden_layers)]
        self.config, self.fusion = text, fusion
        self.names: dict[str, tuple[str, ...]] = {}  # of a tensor in the authors' file -> ours: three for qkv
        self.vision = SwinModel(swin, add_pooling_layer=False)
        self.embeddings = BertEmbeddings(text)
        self.layers = nn.ModuleList(layers)
        self.vision_proj = nn.Linear(swin.hidden_size, width)
        self.text_proj = nn.Linear(text.hidden_size, width)
        hidden = text.hidden_size
        self.itm_head = nn.Sequential(
            nn.Linear(hidden, 2 * hidden), nn.LayerNorm(2 * hidden), nn.GELU(), nn.Linear(2 * hidden, 2)
        )

    def look(self, pixels: torch.Tensor) -> torch.Tensor:
        states = self.vision(pixel_values=pixels).last_hidden_state
        return torch.cat([states.mean(dim=1, keepdim=True), states], dim=1)

    def read(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The states of the text alone, and the mask in the form that attention adds."""
        states = self.embeddings(input_ids=ids)
        added = (1 - mask[:, None, None].to(states.dtype)) * torch.finfo(states.dtype).min
        for layer in self.layers[: self.fusion]:
            states = layer(states, attention_mask=added)
        return states, added

    def cosine(self, seen: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        left, right = normalize(self.vision_proj(seen[:, 0]), dim=-1), normalize(self.text_proj(text[:, 0]), dim=-1)
        return (left * right).sum(dim=-1)

    def match(self, seen: torch.Tensor, text: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        """Logits of no match and of a match."""
        for layer in self.layers[self.fusion :]:
            text = layer(text, encoder_hidden_states=seen, attention_mask=added)
        return self.itm_head(text[:, 0])

    def itm(self, seen: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        logits = self.match(seen, *self.read(ids, mask))
        return logits[:, 1] - logits[:, 0]

    def itc(self, seen: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.cosine(seen, self.read(ids, mask)[0])

    def match_plus_cosine(self, seen: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The score that ARO and CE-CLIP publish for X-VLM: the logit of a match plus the cosine."""
        text, added = self.read(ids, mask)
        return self.match(seen, text, added)[:, 1] + self.cosine(seen, text)

    def embed_image(self, seen: torch.Tensor) -> torch.Tensor:
        return self.vision_proj(seen[:, 0])

    def embed_text(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.text_proj(self.read(ids, mask)[0][:, 0])

    def ours(self, state: State) -> State:
        """A file's tensors by our names; tensors without one (boxes, masked words, masks of attention) are left out."""
        tensors = {name: state[name] for name in ("logit_scale",) if name in state}
        if "temp" in state and not tensors:
            tensors["logit_scale"] = -state["temp"].float().clamp(0.001, 0.5).log()  # held there in its training
        for name in self.names.keys() & state.keys():
            tensors |= zip(self.names[name], state[name].chunk(len(self.names[name])), strict=True)
        return tensors

    def save_pretrained(self, folder: Path) -> None:
        """Write the authors' layout, in safetensors, with our scale too: their temperature would round it."""
        state = self.state_dict()
        theirs = {name: torch.cat([state[part] for part in ours]) for name, ours in self.names.items()}
        if "logit_scale" in state:
            theirs |= {"logit_scale": state["logit_scale"], "temp": (-state["logit_scale"]).exp()}
        save_file({name: tensor.contiguous() for name, tensor in theirs.items()}, folder / "model.safetensors")
        write_json(folder / "config.json", CONFIG)


class Pixels:
    """Its preprocessing (a square, bicubic, CLIP's mean and deviation), called as transformers' are."""

    def __init__(self, side: int) -> None:
        self._preprocess = Preprocess(resize=(side, side), crop=None)

    def __call__(self, images: list[Image.Image], return_tensors: str) -> dict[str, torch.Tensor]:
        return {"pixel_values": torch.stack([torch.from_numpy(self._preprocess(image)) for image in images])}

    def to_json_string(self) -> str:
        return json.dumps(self._preprocess.to_config("equipoise, Pillow"))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write nothing: the size follows from the weights."""


def read_xvlm(path: Path) -> tuple[XVLM, Pixels, dict[str, object]]:
    """The network of a checkpoint file, its preprocessing, and the card's fields on the file."""
    state = unprefixed(read_state(path), str(path))
    state = {name.replace("text_encoder.bert.", "text_encoder."): tensor for name, tensor in state.items()}
    for part in ("vision_encoder.layers.0.blocks.0.attn.qkv.weight", "text_encoder.embeddings.word_embeddings.weight"):
        if part not in state:
            raise UserError(
                f"{path}: not a checkpoint of X-VLM with Swin and BERT: no {part} in it. A model that transformers can "
                "load is named by its folder"
            )
    swin, text, fusion = _sizes(state, path)
    network = XVLM(swin, text, fusion, len(state["vision_proj.weight"]) if "vision_proj.weight" in state else 1)
    network.names = _names(state, network)
    ours = network.ours(state)
    if "logit_scale" in ours:
        network.logit_scale = nn.Parameter(torch.zeros(()))
    expected = network.state_dict()
    problems = Problems(f"{path}: not a whole X-VLM checkpoint")
    for name in sorted(expected.keys() - ours.keys()):
        if not name.endswith(("position_ids", "token_type_ids", "relative_position_index")):
            problems.add("missing", name)
    for name in sorted(expected.keys() & ours.keys()):
        if expected[name].shape != ours[name].shape:
            problems.add(name, f"expected {tuple(expected[name].shape)}, found {tuple(ours[name].shape)}")
    problems.raise_if_any()
    network.load_state_dict({name: ours[name].float() for name in expected.keys() & ours.keys()}, strict=False)
    notes = {"file": path.name, "file_sha256": sha256_file(path), "layout": "X-VLM", "fusion_layer": fusion}
    return network, Pixels(swin.image_size), notes


def _sizes(state: State, path: Path) -> tuple[SwinConfig, BertConfig, int]:
    """Configurations, and the first layer that looks at the image. The last stage of its Swin is one window wide."""
    from transformers import BertConfig, SwinConfig

    def count(pattern: str) -> int:
        numbers = [int(match[1]) for name in state if (match := re.match(pattern, name))]
        return max(numbers, default=-1) + 1

    stages = count(r"vision_encoder\.layers\.(\d+)\.")
    depths = [count(rf"vision_encoder\.layers\.{stage}\.blocks\.(\d+)\.") for stage in range(stages)]
    tables = [
        state[f"vision_encoder.layers.{stage}.blocks.0.attn.relative_position_bias_table"] for stage in range(stages)
    ]
    window = (round(len(tables[0]) ** 0.5) + 1) // 2
    swin = SwinConfig(
        image_size=window * PATCH * 2 ** (stages - 1),
        patch_size=PATCH,
        embed_dim=len(state["vision_encoder.patch_embed.proj.weight"]),
        depths=depths,
        num_heads=[table.shape[1] for table in tables],
        window_size=window,
        attn_implementation="eager",
    )
    words = state["text_encoder.embeddings.word_embeddings.weight"]
    crossed = [
        int(match[1]) for name in state if (match := re.match(r"text_encoder\.encoder\.layer\.(\d+)\.crossatt", name))
    ]
    if not crossed or words.shape[1] % HEAD_WIDTH:
        raise UserError(f"{path}: its text encoder has no layer that looks at an image, or an odd width")
    text = BertConfig(
        vocab_size=len(words),
        hidden_size=words.shape[1],
        num_hidden_layers=count(r"text_encoder\.encoder\.layer\.(\d+)\."),
        num_attention_heads=words.shape[1] // HEAD_WIDTH,
        intermediate_size=len(state["text_encoder.encoder.layer.0.intermediate.dense.weight"]),
        max_position_embeddings=len(state["text_encoder.embeddings.position_embeddings.weight"]),
        attn_implementation="eager",
        vision=swin.to_dict(),
    )
    return swin, text, min(crossed)


def _layer_config(text: BertConfig, *, decoder: bool, width: int) -> BlipTextConfig:
    from transformers import BlipTextConfig

    return BlipTextConfig(
        hidden_size=text.hidden_size,
        num_attention_heads=text.num_attention_heads,
        intermediate_size=text.intermediate_size,
        encoder_hidden_size=width,
        layer_norm_eps=1e-12,
        is_decoder=decoder,
        hidden_dropout_prob=text.hidden_dropout_prob,
        attention_probs_dropout_prob=text.attention_probs_dropout_prob,
    )


_NAMES = tomllib.loads((Path(__file__).parents[1] / "data" / "xvlm.toml").read_text(encoding="utf-8"))


def _names(state: State, network: XVLM) -> dict[str, tuple[str, ...]]:
    vision = network.vision.state_dict().keys()

    def present(names: Sequence[str]) -> str:
        return next(name for name in names if any(f".{name}" in key for key in vision))

    ours: dict[str, tuple[str, ...]] = {}
    for name in state:
        part, _, rest = name.partition(".")
        if part == "text_encoder":
            rest = rest.replace("encoder.layer.", "layers.", 1) if rest.startswith("encoder.layer.") else rest
            ours[name] = (rest,)
        elif part == "vision_encoder" and not rest.endswith(("relative_position_index", "attn_mask")):
            for pattern, new in _NAMES["swin"].items():
                rest = re.sub(pattern, new, rest)
            if ".attn.qkv." in rest:
                ours[name] = tuple(
                    f"vision.{rest.replace('attn.qkv', present(names))}" for names in _NAMES["qkv"].values()
                )
                continue
            for old, names in _NAMES["block"].items():
                if f".{old}" in rest:
                    rest = rest.replace(old, present(names))
                    break
            ours[name] = (f"vision.{rest}",)
        elif part in {"itm_head", "vision_proj", "text_proj"}:
            ours[name] = (name,)
    known = network.state_dict().keys()
    return {name: new for name, new in ours.items() if all(key in known for key in new)}
