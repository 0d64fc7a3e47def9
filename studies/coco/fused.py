"""A small model with X-VLM's layout: a base of base.py, and layers in which the text looks at the photo.

The text's states look at the 9 x 9 places of the photo and at their mean; a head says from the text's first token
whether the two belong together.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import BlipTextConfig
from transformers.models.blip.modeling_blip_text import BlipTextLayer

from equipoise.train.data.batches import MISSING, Batch
from equipoise.train.features import Features
from equipoise.train.step.matching import MatchingTowers, pairs
from studies.coco.trained import Trained

LAYERS = 3
LONGEST = 26  # tokens of a training text; 99 in 100 are as short, and the others are cut
NEW = ("states.", "places", "cross.", "itm_head.")  # weights that the base does not have


class Fused(nn.Module):
    """A dual encoder, X-VLM's cross encoder on its states, and a matching head."""

    def __init__(self, trained: Trained) -> None:
        super().__init__()
        self.towers, self.block, self.top = trained.network, trained.block, trained.top
        self.logit_scale = self.towers.logit_scale
        self.towers.vision_model.requires_grad_(False)
        text, width = self.towers.text_model, self.towers.text_model.config.hidden_size
        same = ("hidden_size", "num_attention_heads", "intermediate_size", "layer_norm_eps", "hidden_dropout_prob")
        config = BlipTextConfig(
            **{name: getattr(text.config, name) for name in same}, encoder_hidden_size=width, is_decoder=True
        )
        self.states = nn.Sequential(nn.Linear(self.towers.visual_projection.in_features, width), nn.LayerNorm(width))
        self.places = nn.Parameter(torch.zeros(1 + 9 * 9, width))
        self.cross = nn.ModuleList(BlipTextLayer(config, number) for number in range(LAYERS))
        own = text.encoder.layer[-1 - LAYERS : -1]  # MiniLM's last; the one above takes their mean (parts.averaging)
        for new, old in zip(self.cross, own, strict=True):
            new.load_state_dict(old.state_dict(), strict=False)  # all but the look at the photo
        self.itm_head = nn.Sequential(
            nn.Linear(width, 2 * width), nn.LayerNorm(2 * width), nn.GELU(), nn.Linear(2 * width, 2)
        )

    def train(self, mode: bool = True) -> Fused:
        super().train(mode)
        self.towers.vision_model.eval()
        return self

    def look(self, grid: Tensor) -> tuple[Tensor, Tensor]:
        """The photo's mean before its projection, and the states that the text looks at."""
        with torch.no_grad():
            seen = self.block(grid)
            seen = self.top.top_activation(self.top.top_bn(self.top.top_conv(seen))).flatten(2).transpose(1, 2)
            mean = seen.mean(1)
        return mean, self.states(torch.cat([mean[:, None], seen], 1)) + self.places

    def read(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The embedding of the text alone, and its states below the layer that takes their mean."""
        read = self.towers.text_model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        return self.towers.text_projection(read.pooler_output), read.hidden_states[-2]

    def match(self, seen: Tensor, read: Tensor, mask: Tensor) -> Tensor:
        """Log-odds."""
        added = (1 - mask[:, None, None].to(read.dtype)) * torch.finfo(read.dtype).min
        for layer in self.cross:
            read = layer(read, encoder_hidden_states=seen, attention_mask=added)
        logits: Tensor = self.itm_head(read[:, 0])
        return logits[:, 1] - logits[:, 0]


class FusedTowers(MatchingTowers):
    """In a batch of these, a photo is its number among the training photos."""

    def __init__(self, network: Fused, grid: Tensor, padding: int) -> None:
        self.network, self.grid, self.padding, self.dtype = network, grid, padding, torch.float32

    def images(self, pixels: Tensor) -> tuple[Tensor, Tensor | None]:
        views = torch.randint(len(self.grid), (len(pixels),)).to(pixels.device)  # `backward` sets the seed
        mean, states = self.network.look(self.grid[views, pixels].float())
        return self._unit(self.network.towers.visual_projection(mean)), states

    def texts(self, chunk: Any) -> tuple[Tensor, Tensor | None, Tensor | None]:
        chunk = chunk[:, :LONGEST]
        features, self._states = self.network.read(chunk, self._mask(chunk))
        return self._unit(features), None, None

    def match(self, features: Features, batch: Batch, states: Tensor, seed: int) -> None:
        """The package's pairs, and a match for each hard positive. As in X-VLM, a text's own states are read once."""
        images, texts, matching = pairs(features, batch.fields, seed)
        if (positive := batch.fields.get("positive")) is not None:
            there = positive != MISSING
            images, texts = torch.cat([images, batch.fields["image"][there]]), torch.cat([texts, positive[there]])
            matching = torch.cat([matching, matching.new_ones(len(texts) - len(matching))])
        (chunk,) = (chunk for chunk in batch.texts if isinstance(chunk, Tensor))
        mask = self._mask(chunk[:, :LONGEST])[texts]
        features.matching = matching
        features.match = self.network.match(states[images], self._states[texts], mask).to(self.dtype)
