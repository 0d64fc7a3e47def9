"""Recipe, the noun: what a way of finetuning tells the data (Needs, Slot), the model (Lora) and the optimizer."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from equipoise.data.identity import of_call
from equipoise.data.items import Edit, Operation, Target
from equipoise.train.features import StatefulLoss
from equipoise.train.losses.masked import Sum, Term


@dataclass(frozen=True)
class Slot:
    """A place for one text per sample, and which edits may fill it. `kinds` are (operation, target)
    pairs, None for any; a text without an edit fits only a slot that takes anything."""

    name: str = "any"
    kinds: tuple[tuple[Operation | None, Target | None], ...] = ((None, None),)

    def accepts(self, edit: Edit | None) -> bool:
        op, target = (None, None) if edit is None else (edit.op, edit.target)
        return any(k_op in (None, op) and k_target in (None, target) for k_op, k_target in self.kinds)


@dataclass(frozen=True)
class Needs:
    """What a recipe wants of each item, besides image and caption.

    For every slot one fitting text of the item is drawn anew each epoch; where there is none, the
    sample is masked in that slot. Items without any text for any slot still train the contrastive term.
    """

    positive: Slot | None = None  # fills Features.positive
    negatives: tuple[Slot, ...] = ()  # fill Features.negative, slot by slot
    hard_images: bool = False  # another item, drawn from the ids (a JSON list) in tags["hard_images"]
    dense: int = 0  # captions drawn with replacement from the captions and positives of all items of the image
    dense_negatives: bool = False  # and for each of them a negative of the item it came from
    tokens: bool = False  # patch and token features (FSC-CLIP's local loss)
    distinct_images: bool = False  # no two items of one image in a batch
    matching: bool = False  # pairs for a matching head: captions, in-batch hard pairs, the negatives
    teacher: float | None = (
        None  # decay of a moving average of the weights, which fills Features.teacher_*; 1: the base
    )


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters on every linear layer of both towers (and the patch convolution), the rest
    frozen, the logit scale too. The update is scaled by alpha / rank."""

    rank: int = 4
    alpha: float = 1.0


Freeze = Literal["vision", "vision_backbone"]  # the whole image side, or all of it but its projection (LiT)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A complete way to finetune. The defaults are what nearly all of the papers share (open_clip's).

    A recipe function gives what is special to its paper: citation, terms, needs and its numbers. Name, options and
    source are filled in by `get_recipe`.
    """

    name: str = "unnamed"
    citation: str = ""
    terms: Mapping[str, tuple[float, Term]]  # name -> (weight, loss); the loss of a batch is their weighted sum
    needs: Needs = Needs()
    options: Mapping[str, Any] = field(default_factory=dict)  # the recipe's own options, in full
    source: str | None = None  # sha256 of the file of a user's own recipe (py:module:name)

    batch_size: int = 256  # of all processes together
    epochs: int = 5
    max_steps: int | None = None  # ends earlier, and the cosine with it
    lr: float = 5e-6
    warmup_steps: int = 50
    warmup_share: float = 0.1  # a run warms up for at most this share of its steps; 1 where a user sets warmup_steps
    weight_decay: float = 0.1  # none on biases, norms, other 1-d parameters and the logit scale
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-6
    grad_clip: float | None = None  # largest gradient norm
    max_scale: float = 100.0  # exp(logit_scale) is held between 1 and this
    lora: Lora | None = None  # None: every parameter is trained
    freeze: Freeze | None = None  # what is not trained; the photos then go through their tower once
    crop: tuple[float, float] | None = None  # random crops of this share of the image's area, e.g. (0.9, 1.0)
    wise_ft: float | None = None  # after training: weights = (1 - a) base + a finetuned
    seed: int = 0

    def loss(self) -> StatefulLoss:
        """The loss of one run. Terms that remember something (CMR's thresholds) are copied, so that every run has
        its own memory and the recipe's stays as it was written."""
        return Sum(copy.deepcopy(dict(self.terms)))

    def describe(self) -> dict[str, Any]:
        """Everything, as JSON: for a run's record, and to see whether a resumed run is the same."""
        return vars(self) | {
            "terms": {name: {"weight": weight, "loss": of_call(loss)} for name, (weight, loss) in self.terms.items()},
            "needs": asdict(self.needs),
            "lora": self.lora and asdict(self.lora),
            "options": {**self.options},
        }
