"""LoRA: low-rank adapters are trained instead of the weights, and merged into them on export.

peft initialises B with zeros, so training starts at the base model. The code of SVLC, DAC and FSC-CLIP initialises both
A and B at random, so it starts near the base, but not at it.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.train.recipe import Freeze, Lora

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TOWERS = ("text_model.", "vision_model.")


def add_lora(network: torch.nn.Module, lora: Lora, seed: int) -> None:
    """Freeze the network and add an adapter to every linear layer of both towers and to the patch convolution."""
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


def merged(network: torch.nn.Module, plain: PreTrainedModel) -> PreTrainedModel:
    """A copy of `plain` (the base without adapters) plus the adapters' changes.

    Merging and unmerging in place would round the weights, and a resumed run would differ.
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


def freeze(network: PreTrainedModel, what: Freeze) -> None:
    """Freeze the vision tower and, for "vision", its projection.

    Locked-image tuning (LiT, Zhai et al. 2022) trains a text tower towards a fixed vision tower; CLIC (2025) does so
    with hard negatives. Without random crops, a frozen tower gives the same output in every epoch, so it runs once per
    photo.
    """
    frozen = [network.vision_model]
    if what == "vision" and hasattr(network, "visual_projection"):
        frozen.append(network.visual_projection)
    for module in frozen:
        module.requires_grad_(False)
