"""A teacher: a copy of the network that follows the student's weights slowly and never learns by itself.

Self-distillation (DeGLA, Hu et al. 2025) holds a finetuned model near a moving average of itself:

    teacher <- decay teacher + (1 - decay) student        after every step, over the weights that are trained

A decay of 1 is the untouched base. Of adapters (LoRA) the two factors are averaged each by itself. The teacher's
weights are in the checkpoint, so that a run that was stopped goes on with the same teacher to the bit. It costs a
forward pass of both towers and a second copy of the weights.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from equipoise.models.preprocess import Preprocess
from equipoise.train.step.lora import trained_weights
from equipoise.train.step.towers import Towers


class Teacher:
    def __init__(self, student: Any, preprocess: Preprocess, decay: float) -> None:
        self.decay = decay
        network = copy.deepcopy(student).eval()
        weights = dict(network.named_parameters())
        self._followed = {name: weights[name] for name in trained_weights(student)}
        network.requires_grad_(False)
        self.towers = Towers(network, preprocess)

    @torch.no_grad()
    def follow(self, student: torch.nn.Module) -> None:
        """To be called once after each optimizer step."""
        for name, weight in trained_weights(student).items():
            self._followed[name].lerp_(weight, 1 - self.decay)

    def state_dict(self) -> dict[str, Tensor]:
        return {name: weight.detach() for name, weight in self._followed.items()}

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        for name, weight in self._followed.items():
            weight.copy_(state[name])
