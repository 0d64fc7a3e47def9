"""LoRA: low-rank adapters trained in place of the weights, merged into them on export.

peft starts B at zero, so that training starts at the base model. The code of SVLC, DAC and FSC-CLIP
draws both A and B, and starts somewhere beside it.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from equipoise.errors import UserError
from equipoise.train.recipe import Lora

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
