"""Recipe: the losses, texts (Needs, Slot), adapters (Lora) and optimizer settings of a way to finetune."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from equipoise.data.identity import of_call
from equipoise.data.items import Edit, Operation, Target
from equipoise.train.losses.base import Sum, Term

# Types of options that several recipes have.
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

UNHELD = 10_000.0  # max_scale for papers without a bound


@dataclass(frozen=True)
class Slot:
    """A place for one text per sample, and the edits that may fill it. `kinds` are (operation, target) pairs, None for
    any; a text without an edit fits only a slot that takes anything."""

    name: str = "any"
    kinds: tuple[tuple[Operation | None, Target | None], ...] = ((None, None),)

    def accepts(self, edit: Edit | None) -> bool:
        op, target = (None, None) if edit is None else (edit.op, edit.target)
        return any(k_op in (None, op) and k_target in (None, target) for k_op, k_target in self.kinds)


ANY = Slot()
SWAP = Slot("swap", (("swap", None),))
REPLACE = Slot("replace", (("replace", None),))
SHUFFLE = Slot("shuffle", (("shuffle", None),))


@dataclass(frozen=True)
class Needs:
    """The texts and images that a recipe needs of each item, besides image and caption.

    For every slot, a fitting text of the item is drawn in each epoch; without one, the sample is masked in that slot.
    Items without hard texts still train the contrastive term.
    """

    positive: Slot | None = None  # fills Features.positive
    negatives: tuple[Slot, ...] = ()  # fill Features.negative, slot by slot
    hard_images: bool = False  # another item, drawn from the ids (a JSON list) in tags["hard_images"]
    dense: int = 0  # captions drawn with replacement from the captions and positives of all items of the image
    dense_negatives: bool = False  # and for each of them a negative of the item it came from
    tokens: bool = False  # patch and token features, for FSC-CLIP's local loss
    distinct_images: bool = False  # no two items of one image in a batch
    matching: bool = False  # pairs for a matching head: captions, in-batch hard pairs, the negatives
    teacher: float | None = None  # fills Features.teacher_*: decay of a moving average of the weights; 1: the base


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters on every linear layer of both towers and the patch convolution; everything else is frozen, also
    the logit scale. The update is scaled by alpha / rank."""

    rank: int = 4
    alpha: float = 1.0


Freeze = Literal["vision", "vision_backbone"]  # the whole image side, or all of it but its projection (LiT)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A complete way to finetune. The defaults are open_clip's, which nearly all papers share.

    A recipe function sets what its paper changes; `get_recipe` fills in name, options and source.
    """

    name: str = "unnamed"
    citation: str = ""
    terms: Mapping[str, tuple[float, Term]]  # name -> (weight, loss)
    needs: Needs = Needs()
    options: Mapping[str, object] = field(default_factory=dict)  # the recipe's own options, in full
    source: str | None = None  # sha256 of the file of a user's own recipe (py:module:name)

    batch_size: int = 256  # of all processes together
    epochs: int = 5
    max_steps: int | None = None  # shortens the run and its schedule
    lr: float = 5e-6
    warmup_steps: int = 50
    warmup_share: float = 0.1  # longest warm-up as a share of the steps; 1 if the user sets warmup_steps
    weight_decay: float = 0.1  # not on biases, norms, other 1-d parameters and the logit scale
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-6
    grad_clip: float | None = None  # largest gradient norm
    max_scale: float = 100.0  # exp(logit_scale) is held between 1 and this
    lora: Lora | None = None  # None: every parameter is trained
    freeze: Freeze | None = None  # the vision tower is not trained, and sees each photo once
    crop: tuple[float, float] | None = None  # random crops of this share of the image's area, e.g. (0.9, 1.0)
    wise_ft: float | None = None  # after training: weights = (1 - a) base + a finetuned
    seed: int = 0

    def loss(self) -> Sum:
        """The loss of one run. Terms are copied, so that every run has its own state (CMR's thresholds)."""
        return Sum(copy.deepcopy(dict(self.terms)))

    def describe(self) -> dict[str, object]:
        """The recipe as JSON: for a run's record, and to compare it with a resumed run."""
        return vars(self) | {
            "terms": {name: {"weight": weight, "loss": of_call(loss)} for name, (weight, loss) in self.terms.items()},
            "needs": asdict(self.needs),
            "lora": self.lora and asdict(self.lora),
            "options": {**self.options},
        }
