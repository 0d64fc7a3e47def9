"""`itm:NAME-or-folder?head=itc`: models with an image-text matching head, in transformers' format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.models.base import split_options
from equipoise.models.clip import precision
from equipoise.models.families import text_positions
from equipoise.models.hf import check_folder, find_folder, load_network, load_tokenizer, read_config
from equipoise.models.inputs import Preprocess, check_tokenizer, from_config
from equipoise.models.scorers import xvlm
from equipoise.models.scorers.heads import Contrast, Head, HeadFamily, family_named
from equipoise.models.scorers.shared import RecentFeatures, Scorer, load_image_processor, padded
from equipoise.models.scorers.xvlm import XVLM, Pixels

if TYPE_CHECKING:
    from transformers import BaseImageProcessor, PreTrainedModel, PreTrainedTokenizerBase

SCORES = {"itm": "log-odds of a match", "itc": "cosine", "sum": "logit of a match plus cosine"}


class MatchingModel(Scorer):
    """A model that scores pairs by one head; an image's features are computed once for all its texts."""

    def __init__(
        self,
        spec: str,
        network: PreTrainedModel | XVLM,
        tokenizer: PreTrainedTokenizerBase,
        image_processor: BaseImageProcessor | Pixels,
        family: HeadFamily,
        head: str,
        *,
        folder: Path,
        notes: dict[str, Any],
        **rest: Any,
    ) -> None:
        of_head = {"head": head, "heads": list(family.heads), "score": SCORES[head]}
        super().__init__(spec, network, tokenizer, image_processor, notes=of_head | notes, **rest)
        self.folder = folder
        self.family, self._head = family, family.heads[head]
        self._forget()

    def _forget(self) -> None:
        self._seen = RecentFeatures(self._look, at_once=32 if self.device.type == "cuda" else 1)

    @torch.inference_mode()
    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> NDArray[np.float64]:
        ids = [self.truncate(row) for row in self.tokenize(texts)]
        seen = self._seen.of(images)
        scores = np.zeros(len(texts))
        # Images that keep their shape have as many features as they are large.
        by_shape: dict[tuple[int, ...], list[int]] = {}
        for row, features in enumerate(seen):
            by_shape.setdefault(tuple(features.shape), []).append(row)
        for rows in by_shape.values():
            tokens, mask = padded([ids[row] for row in rows], self.tokenizer.pad_token_id, self.context_length)
            shown = torch.stack([seen[row] for row in rows])
            with precision(self.tf32):
                matched = self._head.match(self.network, shown, tokens.to(self.device), mask.to(self.device))
            scores[rows] = matched.float().cpu().numpy()
        return scores

    def _look(self, images: list[Image.Image]) -> list[torch.Tensor]:
        pixels = [self.image_processor([image], return_tensors="pt")["pixel_values"][0] for image in images]
        same = len({tuple(picture.shape) for picture in pixels}) == 1
        features: list[torch.Tensor] = []
        for part in [pixels] if same else [[picture] for picture in pixels]:
            with precision(self.tf32):
                features += self._head.look(self.network, torch.stack(part).to(self.device, self.dtype)).unbind()
        return features

    @property
    def preprocess(self) -> Preprocess:
        if self.family.contrast is None:  # such a family cannot be finetuned, and ours may not describe its pixels
            raise AttributeError(f"{self.spec} has no preprocess")
        return from_config(self.card["preprocessing"], self.spec)

    def pad(self, ids: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        return padded(ids, self.tokenizer.pad_token_id, self.context_length)

    def holding(self, network: PreTrainedModel | XVLM) -> Self:
        """This model with other weights, without the features of images that it saw with the old ones."""
        model = super().holding(network)
        model._forget()
        return model

    def save(self, folder: str | Path) -> None:
        """Write a folder of transformers that `itm:` loads."""
        super().save(folder)
        self.image_processor.save_pretrained(folder)


def load_itm(rest: str, *, spec: str, device: str = "auto", dtype: str = "float32") -> MatchingModel:
    name, options = split_options(rest, spec, {"head": ("itm", "itc", "sum")})
    if Path(name).expanduser().is_file():
        return _load_xvlm(Path(name).expanduser(), options.get("head", "itm"), spec, device, dtype)
    folder, notes = find_folder(name, spec)
    config = read_config(folder)
    if config == xvlm.CONFIG:  # as training saves it
        return _load_xvlm(folder / "model.safetensors", options.get("head", "itm"), spec, device, dtype)
    family = family_named(config.get("model_type"), str(folder / "config.json"))
    chosen = options.get("head", next(iter(family.heads)))
    if chosen not in family.heads:
        raise UserError(
            f"{spec}: a model of the family {family.name} has no head {chosen!r} ({', '.join(family.heads)})"
        )
    check_folder(folder, config)
    tokenizer, image_processor = load_tokenizer(folder), load_image_processor(folder)
    head = family.heads[chosen]
    network = load_network(folder, head.network, "eager", scores=True)
    if family.contrast is not None:
        _read_scale(folder, network)
    text = getattr(network.config, family.text) if family.text else network.config
    check_tokenizer(tokenizer, text.vocab_size, causal=False, where=spec)
    if tokenizer.pad_token_id is None:
        raise UserError(f"{spec}: the tokenizer has no padding token, so texts of two lengths cannot share a batch")
    context = min(text_positions(text), int(tokenizer.model_max_length))
    parts = (spec, network, tokenizer, image_processor, family, chosen)
    return MatchingModel(*parts, folder=folder, context_length=context, device=device, dtype=dtype, notes=notes)


def _read_scale(folder: Path, network: PreTrainedModel) -> None:
    """The temperature that training saved next to BLIP's weights; transformers' class has none and leaves it out."""
    from safetensors import safe_open

    for path in folder.glob("*.safetensors"):
        with safe_open(path, "pt") as weights:
            if "logit_scale" in weights.keys():  # noqa: SIM118 (not a dict)
                network.logit_scale = torch.nn.Parameter(weights.get_tensor("logit_scale").float())


def _load_xvlm(path: Path, chosen: str, spec: str, device: str, dtype: str) -> MatchingModel:
    """Load a file: only X-VLM is one, every other family is a folder."""
    matches = {"itm": XVLM.itm, "itc": XVLM.itc, "sum": XVLM.match_plus_cosine}
    heads = {name: Head("XVLM", XVLM.look, match) for name, match in matches.items()}
    family = HeadFamily("xvlm", heads, contrast=Contrast(XVLM.embed_image, XVLM.embed_text))
    tokenizer = load_tokenizer(path.parent)
    network, pixels, notes = xvlm.read_xvlm(path)
    check_tokenizer(tokenizer, network.config.vocab_size, causal=False, where=spec)
    parts = (spec, network, tokenizer, pixels, family, chosen)
    return MatchingModel(
        *parts, folder=path.parent, context_length=xvlm.CONTEXT, device=device, dtype=dtype, notes=notes
    )
