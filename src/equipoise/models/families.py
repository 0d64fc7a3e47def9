"""The dual encoders of transformers that `hf:` loads: one row per family, and nowhere else a word about which is which.

A family is what `model_type` of a config.json says. Its network must have `get_image_features` and `get_text_features`,
and its texts one of the two ways to be read that are known here: causal, pooled at the first end token (CLIP), or
padded to the full context, as trained (SigLIP). A family that needs more (an attention mask, as BERT's towers do) is
better wrapped in two methods and named `py:module:factory`.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from equipoise.errors import UserError


@dataclass(frozen=True)
class Family:
    name: str  # model_type of config.json
    network: str  # the class of transformers
    image_processor: str  # what `save` writes into preprocessor_config.json
    causal_text: bool  # read at the first end token; False: padded to the context and read at the last position
    by_pieces: bool  # its modules are named as CLIP's: training packs its texts, losses see its tokens
    open_clip_names: bool  # its weights have names in open_clip's checkpoints
    width: str  # where its config keeps the width of an embedding
    cleaning: str | None = None  # of its texts (tokens.CLEANERS); None: as its tokenizer's class says

    def embed_dim(self, config: Any) -> int:
        return int(attrgetter(self.width)(config))


FAMILIES = {
    family.name: family
    for family in (
        Family(
            name="clip",
            network="CLIPModel",
            image_processor="CLIPImageProcessor",
            causal_text=True,
            by_pieces=True,
            open_clip_names=True,
            width="projection_dim",
        ),
        Family(
            name="siglip",
            network="SiglipModel",
            image_processor="SiglipImageProcessor",
            causal_text=False,
            by_pieces=False,
            open_clip_names=False,
            width="text_config.projection_size",
        ),
    )
}


def family_of(network: Any) -> Family:
    """The family of a transformers model, by its config."""
    return family_named(getattr(network.config, "model_type", None), type(network).__name__)


def family_named(name: Any, where: str) -> Family:
    if name not in FAMILIES:
        raise UserError(
            f"{where}: model_type {name!r} is not supported by hf: ({', '.join(FAMILIES)} are); "
            "wrap another model in two methods and name it py:module:factory"
        )
    return FAMILIES[name]
