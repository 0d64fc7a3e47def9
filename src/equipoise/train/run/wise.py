"""WiSE-FT (Wortsman et al. 2022): between the base and the finetuned weights often lies the better model."""

from __future__ import annotations

import torch

from equipoise.errors import UserError


@torch.no_grad()
def interpolate(base: torch.nn.Module, tuned: torch.nn.Module, alpha: float) -> None:
    """Make the weights of `tuned` (1 - alpha) base + alpha tuned: 0 gives the base back, 1 changes nothing."""
    if not 0 <= alpha <= 1:
        raise UserError(f"WiSE-FT's weight of the finetuned model must lie between 0 and 1, found {alpha}")
    old = base.state_dict()
    new = tuned.state_dict()
    if old.keys() != new.keys():
        odd = sorted(old.keys() ^ new.keys())
        raise UserError(f"base and finetuned model are of different architectures ({len(odd)} weights, first {odd[0]})")
    for name, weight in new.items():
        if weight.is_floating_point():
            weight.lerp_(old[name].to(weight), 1 - alpha) if alpha != 1 else None
