"""AdamW as in the papers, and the learning rate as a function of the step."""

from __future__ import annotations

import math

import torch

from equipoise.train.recipe import Recipe


def parameter_groups(network: torch.nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Weight decay only on matrices, not on biases, norms, other vectors and the logit scale (open_clip's rule)."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


def adamw(network: torch.nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    fused = next(network.parameters()).is_cuda
    groups = [group for group in parameter_groups(network, recipe.weight_decay) if group["params"]]
    return torch.optim.AdamW(groups, lr=recipe.lr, betas=recipe.betas, eps=recipe.eps, fused=fused)


def warmup_used(recipe: Recipe, steps: int) -> int:
    """A recipe's warm-up is shortened to its share of the run, since SVLC's 10,000 steps may be longer than a short
    run. A warm-up that the user sets is kept."""
    return min(recipe.warmup_steps, max(1, int(steps * recipe.warmup_share)))


def learning_rate(recipe: Recipe, step: int, steps: int) -> float:
    """Linear warm-up, then a half cosine to zero."""
    warmup = warmup_used(recipe, steps)
    if step < warmup:
        return recipe.lr * (step + 1) / warmup
    return recipe.lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


@torch.no_grad()
def clamp_scale(network: torch.nn.Module, highest: float) -> None:
    """exp(logit_scale) stays between 1 and `highest` (CLIP: 100)."""
    scale = getattr(network, "logit_scale", None)
    if isinstance(scale, torch.nn.Parameter) and scale.requires_grad:
        scale.clamp_(0, math.log(highest))
