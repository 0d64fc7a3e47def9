"""LoRA: low-rank adapters trained in place of the weights, merged into them on export.

peft starts B at zero, so that training starts at the base model. The code of SVLC, DAC and FSC-CLIP
draws both A and B, and starts somewhere next to it.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.train.recipe import Freeze, Lora, Recipe

TOWERS = ("text_model.", "vision_model.")


def add_lora(network: torch.nn.Module, lora: Lora, seed: int) -> None:
    """Freeze the network and give every linear layer of both towers, and the patch convolution, an adapter."""
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError:
        raise UserError("LoRA needs peft: pip install 'equipoise[lora]'") from None
    targets = [
        name
        for name, module in network.named_modules()
        if name.startswith(TOWERS) and isinstance(module, torch.nn.Linear | torch.nn.Conv2d)
    ]
    torch.manual_seed(seed)
    config = LoraConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules=targets, lora_dropout=0.0, bias="none")
    inject_adapter_in_model(config, network)
    for name, parameter in network.named_parameters():
        parameter.requires_grad = ".lora_" in name


def trained_weights(network: torch.nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in network.named_parameters() if parameter.requires_grad}


def merged(network: Any, plain: Any) -> Any:
    """A network like `plain` (the base, before adapters) with the adapters' changes in its weights.

    Computed on a copy: merging and unmerging in place would round the weights, and a resumed run would differ.
    """
    from peft.tuners.lora import LoraLayer

    result = copy.deepcopy(plain)
    weights = dict(result.named_parameters())
    with torch.no_grad():
        for name, module in network.named_modules():
            if isinstance(module, LoraLayer):
                weight = weights[f"{name}.weight"]
                weight += module.get_delta_weight("default").to(weight)
    return result


# ----------------------------------------------------------------------------
# Freezing the image side: its weights stay, its photos are seen once, and a laptop can finetune the text side.
#
# Locked-image tuning (LiT, Zhai et al. 2022) trains a text tower towards a fixed vision tower; CLIC (2025) does so with
# hard negatives. Without random crops a frozen tower says the same of a photo in every epoch, so it is asked once.


def freeze(network: Any, what: Freeze) -> None:
    """Take the vision tower, and for "vision" its projection too, out of training."""
    frozen = [network.vision_model]
    if what == "vision" and hasattr(network, "visual_projection"):
        frozen.append(network.visual_projection)
    for module in frozen:
        module.requires_grad_(False)


def refuse_with_freeze(recipe: Recipe) -> None:
    """What cannot be had together with photos that are seen once."""
    if recipe.freeze is None:
        return
    for given, why in (
        (recipe.lora is not None, "lora trains adapters in both towers"),
        (recipe.crop is not None, "crop shows other parts of a photo in every epoch"),
        (recipe.needs.tokens, "its local loss looks at patches, of which a frozen tower keeps none (local_weight=0)"),
    ):
        if given:
            raise UserError(f"{recipe.name}: freeze={recipe.freeze} does not go with it: {why}; leave one of them out")
