"""The towers of a model with a matching head, and the pairs of a batch that train the head.

The head reads the states of all patches, so the vision tower returns them with the embedding. A text is read alone for
its embedding, and with an image for each of its pairs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from equipoise.models.scorers.itm import MatchingModel
from equipoise.train.data.batches import MISSING, Batch
from equipoise.train.losses.base import Features
from equipoise.train.step.towers import Towers

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from equipoise.models.scorers.xvlm import XVLM

TEMPERATURE = 0.07  # initial value of BLIP and X-VLM
FLOOR = 1e-5  # X-VLM's: every pair can be drawn


def add_scale(network: PreTrainedModel | XVLM) -> None:
    """Add a scale to the contrastive part if it has none: transformers does not keep BLIP's."""
    if not hasattr(network, "logit_scale"):
        weight = next(network.parameters())
        network.logit_scale = torch.nn.Parameter(weight.new_tensor(math.log(1 / TEMPERATURE)))


class MatchingTowers(Towers):
    def __init__(self, model: MatchingModel, network: PreTrainedModel | XVLM) -> None:
        assert model.family.contrast is not None  # run/check.py refuses others
        self.network, self.padding = network, int(model.tokenizer.pad_token_id)
        self._contrast, self._head = model.family.contrast, model.family.heads["itm"]
        weight, preprocess = next(network.parameters()), model.preprocess
        self.dtype = weight.dtype
        self.mean, self.deviation = weight.new_tensor(preprocess.mean), weight.new_tensor(preprocess.std)

    def images(self, pixels: Tensor) -> tuple[Tensor, Tensor | None]:
        """Bytes (I, H, W, 3) -> (I, D) unit norm, and the states (I, P, width) for the head."""
        states = self._head.look(self.network, self.normalized(pixels).permute(0, 3, 1, 2))
        return self._unit(self._contrast.image(self.network, states)), states

    def texts(self, chunk: Any) -> tuple[Tensor, Tensor | None, Tensor | None]:
        return self._unit(self._contrast.text(self.network, chunk, self._mask(chunk))), None, None

    def match(self, features: Features, batch: Batch, states: Tensor, seed: int) -> None:
        """Set the log-odds of the batch's pairs; `states` are those of its distinct images."""
        chunks = [chunk for chunk in batch.texts if isinstance(chunk, Tensor)]
        widest = max(chunk.shape[1] for chunk in chunks)
        ids = torch.cat([pad(chunk, [0, widest - chunk.shape[1]], value=self.padding) for chunk in chunks])
        images, texts, features.matching = pairs(features, batch.fields, seed)
        read = ids[texts]
        features.match = self._head.match(self.network, states[images], read, self._mask(read)).to(self.dtype)

    def _mask(self, ids: Tensor) -> Tensor:
        return (ids != self.padding).long()


@torch.no_grad()
def pairs(features: Features, fields: dict[str, Tensor], seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of the batch's distinct images and texts, and 1 where they match: every image with its caption, every
    caption with a hard image, every image with a hard caption, every image with its hard negatives.

    Hard images and captions are drawn by the softmax of the scaled cosines, never of the same photo or caption."""
    image, caption = fields["image"], fields["caption"]
    same = (image[:, None] == image) | (caption[:, None] == caption)
    scores = features.scale * features.image @ features.caption.T
    chance = torch.Generator().manual_seed(seed)
    to_text, texts_of = _drawn(scores, same, chance)
    to_image, images_of = _drawn(scores.T, same, chance)
    negative = fields.get("negative", image.new_empty(len(image), 0))
    exists = negative != MISSING
    images = [image, image[images_of], image[to_text], image[:, None].expand_as(negative)[exists]]
    texts = [caption, caption[to_image], caption[texts_of], negative[exists]]
    matching = torch.arange(sum(map(len, images)), device=image.device) < len(image)
    return torch.cat(images), torch.cat(texts), matching.to(features.image.dtype)


def _drawn(scores: Tensor, same: Tensor, chance: torch.Generator) -> tuple[Tensor, Tensor]:
    """The rows with a column to draw, and the column drawn for each; on the CPU, so that all devices draw the same."""
    weights = (scores.softmax(1) + FLOOR).masked_fill(same, 0).cpu()
    rows = weights.any(1).nonzero()[:, 0]
    drawn = torch.multinomial(weights[rows], 1, generator=chance)[:, 0] if len(rows) else rows
    return rows.to(scores.device), drawn.to(scores.device)
