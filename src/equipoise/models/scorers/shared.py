"""Shared by the pair scorers: image processors, the card, features of recent images, padding."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from PIL import Image

from equipoise.core.errors import UserError, first_line
from equipoise.models.clip import TorchModel, quiet_transformers, tokenizer_card
from equipoise.models.families import config_sha256

if TYPE_CHECKING:
    from transformers import BaseImageProcessor, PreTrainedModel, PreTrainedTokenizerBase

    from equipoise.models.scorers.xvlm import XVLM, Pixels

LENGTH_STEP = 8  # texts are padded to a multiple of it, so that other texts of the batch change nothing
KEPT = 256  # images with features in memory, the last used


def load_image_processor(folder: Path) -> BaseImageProcessor:
    """The processor with Pillow, always: if torchvision is installed, transformers takes another, with other pixels."""
    # From its own file: before 5.18, importing from the package needs torchvision.
    from transformers.models.auto.image_processing_auto import AutoImageProcessor

    try:
        with quiet_transformers():
            return AutoImageProcessor.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False, backend="pil"
            )
    except Exception as error:  # a config may say anything
        raise UserError(f"{folder}: no image processor that works with Pillow alone ({first_line(error)})") from error


class Scorer(TorchModel):
    """A network that reads image and text together; subclasses have `score_pairs`."""

    def __init__(
        self,
        spec: str,
        network: PreTrainedModel | XVLM,
        tokenizer: PreTrainedTokenizerBase,
        image_processor: BaseImageProcessor | Pixels,
        *,
        context_length: int,
        notes: dict[str, object],
        **rest: str,
    ) -> None:
        self.image_processor, self.context_length = image_processor, context_length
        card = {
            "architecture": {"class": type(network).__name__, "config": config_sha256(network.config)},
            "attention": network.config._attn_implementation,
            "preprocessing": json.loads(image_processor.to_json_string()),
            "tokenizer": tokenizer_card(tokenizer),
            "context_length": context_length,
        }
        super().__init__(spec, network, tokenizer, card | notes, **rest)

    @property
    def default_batch(self) -> int:
        return 64 if self.device.type == "cuda" else 16

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """All tokens of each text, with those that begin and end it; neither padded nor cut."""
        return [list(ids) for ids in self.tokenizer(list(texts), verbose=False)["input_ids"]] if texts else []

    def truncate(self, ids: Sequence[int]) -> list[int]:
        """Cut to the context length, keeping the last token, which ends a text."""
        return list(ids) if len(ids) <= self.context_length else [*ids[: self.context_length - 1], ids[-1]]


class RecentFeatures:
    """Features of the last images, so that a picture with many texts is encoded once.

    Pictures are compared by identity: Pillow's have no hash, and comparing pixels costs as much as encoding. On a CPU
    each is encoded alone, which costs nothing and keeps its bits independent of its neighbours; on a GPU all at once.
    """

    def __init__(self, look: Callable[[list[Image.Image]], list[torch.Tensor]], at_once: int) -> None:
        self._look, self._at_once = look, at_once
        self._kept: OrderedDict[int, tuple[Image.Image, torch.Tensor]] = OrderedDict()

    def of(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        distinct = {id(image): image for image in images}
        new = [image for name, image in distinct.items() if name not in self._kept]
        for start in range(0, len(new), self._at_once):
            part = new[start : start + self._at_once]
            for image, features in zip(part, self._look(part), strict=True):
                self._kept[id(image)] = (image, features)  # the image too: its id could become another image's
        features_of = {name: self._kept[name][1] for name in distinct}
        for name in distinct:
            self._kept.move_to_end(name)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return [features_of[id(image)] for image in images]


def padded(ids: Sequence[Sequence[int]], pad: int, highest: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and attention mask, padded on the right to a multiple of LENGTH_STEP."""
    longest = max(len(row) for row in ids)
    width = min(-(-longest // LENGTH_STEP) * LENGTH_STEP, max(highest, longest))
    tokens = torch.full((len(ids), width), pad, dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for row, values in enumerate(ids):
        tokens[row, : len(values)] = torch.tensor(values)
        mask[row, : len(values)] = 1
    return tokens, mask
