"""The dual encoders of transformers that `hf:` loads: one row per family, and no other code names a family.

The `model_type` of a config.json names the family. Its network must have `get_image_features` and `get_text_features`,
and read texts in one of three known ways: causal, pooled at the first end token (CLIP); padded to the full context, as
trained (SigLIP); or with an attention mask over the padding, as BERT's towers want it (any vision model next to any
text model, joined by transformers' VisionTextDualEncoder). A family that needs more is better wrapped in two methods
and named `py:module:factory`. At the end: the hashes of a network's weights and configuration.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from equipoise.core.errors import UserError
from equipoise.core.files import sha256_json

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from transformers import PretrainedConfig, PreTrainedModel


@dataclass(frozen=True)
class Family:
    name: str  # model_type of config.json
    network: str  # the class of transformers
    image_processor: str  # its name in preprocessor_config.json
    width: str  # the width of an embedding in its config
    causal_text: bool = False  # read at the first end token; False: padded to the context and read at the last position
    by_pieces: bool = False  # its modules are named as CLIP's: training packs its texts, losses see its tokens
    open_clip_names: bool = False  # its weights have names in open_clip's checkpoints
    cleaning: str | None = None  # of its texts (inputs.CLEANERS); None: as its tokenizer's class says
    attention: str = "sdpa"  # transformers' name; not every class has each
    masked_text: bool = False  # the text tower needs an attention mask for the padding

    def embed_dim(self, config: PretrainedConfig) -> int:
        return int(attrgetter(self.width)(config))


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "clip",
            "CLIPModel",
            "CLIPImageProcessor",
            "projection_dim",
            causal_text=True,
            by_pieces=True,
            open_clip_names=True,
        ),
        Family("siglip", "SiglipModel", "SiglipImageProcessor", "text_config.projection_size"),
        Family(
            "vision-text-dual-encoder",
            "VisionTextDualEncoderModel",
            "CLIPImageProcessor",
            "projection_dim",
            attention="eager",  # the vision tower may be a convolutional one
            masked_text=True,
        ),
    )
}


def family_of(network: PreTrainedModel) -> Family:
    """The family of a transformers model, by its config."""
    return family_named(getattr(network.config, "model_type", None), type(network).__name__)


def read_texts(network: PreTrainedModel, ids: Tensor) -> Tensor:
    """The projected features of padded token rows, by a family that is not walked through by its pieces."""
    mask = {}
    if family_of(network).masked_text:
        mask = {"attention_mask": (ids != network.config.text_config.pad_token_id).long()}
    return network.get_text_features(input_ids=ids, **mask).pooler_output


def family_named(name: object, where: str) -> Family:
    if name not in FAMILIES:
        raise UserError(
            f"{where}: model_type {name!r} is not supported by hf: ({', '.join(FAMILIES)} are); "
            "a model with a matching head is itm:, any other is wrapped in two methods and named py:module:factory"
        )
    return FAMILIES[name]


_AFTER_PADDING = {  # kinds of text towers
    *("roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "camembert", "data2vec-text", "mpnet"),
    "bridgetower_text_model",
}


def text_positions(config: PretrainedConfig) -> int:
    """Tokens that a text tower has positions for; RoBERTa's begin after the padding's."""
    positions, kind = int(config.max_position_embeddings), str(config.model_type)
    return positions - int(config.pad_token_id) - 1 if kind in _AFTER_PADDING else positions


def weight_sha256(network: Module, part: str = "") -> str:
    """Hash of the tensors as float32, by name: the same however a model was stored, named or converted. `part`: only
    tensors whose names begin so."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        if not name.startswith(part):
            continue
        values = tensor.detach().to("cpu", torch.float32).contiguous().numpy()
        digest.update(f"{name} {tuple(values.shape)}\n".encode())
        digest.update(values.reshape(-1))  # not a copy of it
    return digest.hexdigest()


def config_sha256(config: PretrainedConfig) -> str:
    """Hash of the configuration without the path and version it was saved with."""
    return sha256_json(_shaping(config.to_dict()))


def _shaping(value: object) -> object:
    if isinstance(value, dict):
        return {str(name): _shaping(part) for name, part in value.items() if name not in _SAVED}
    return value if isinstance(value, str | int | float | list | None) else str(value)


_SAVED = {"_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype"}
