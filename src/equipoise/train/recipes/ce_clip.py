"""CE-CLIP (Zhang et al. 2024): four types of negatives, contrasted with the caption and ranked below it."""

from __future__ import annotations

from typing import Literal

from equipoise.core.errors import UserError
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.cmr import Cmr
from equipoise.train.losses.imc import Imc
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.recipe import Needs, Recipe, Slot, Weight

NegativeType = Literal["relation", "attribute", "object", "action"]

# The paper makes its relation negatives by swapping two nouns, the other three by replacing a word.
SLOTS: dict[NegativeType, Slot] = {
    "relation": Slot("relation", (("swap", None), (None, "relation"))),
    "attribute": Slot("attribute", (("replace", "attribute"),)),
    "object": Slot("object", (("replace", "object"),)),
    "action": Slot("action", (("replace", "action"),)),
}
UPPER = 10.0  # the paper's u


def ce_clip_zhang_2024(
    *,
    itc: Literal["hn", "plain", "off"] = "hn",
    imc_weight: Weight = 0.2,
    cmr_weight: Weight = 0.4,
    imc_form: Literal["all", "own", "paper"] = "all",
    cmr_mean: Literal["paper", "code"] = "paper",
    fixed_threshold: Weight | None = None,
    upper_threshold: Weight = UPPER,
    types: tuple[NegativeType, ...] = ("relation", "attribute", "object", "action"),
) -> Recipe:
    """CE-CLIP: four types of negatives, contrasted with the caption (IMC) and ranked below it (CMR).

    L = L_itc(hn) + 0.2 L_imc + 0.4 L_cmr. A weight of 0 switches a loss off; `itc=plain` removes the negatives from
    the contrastive term, `itc=off` removes the term; `types=relation,object` keeps only those negatives. With
    `cmr_mean=code`, CMR shrinks with every negative that a caption lacks, as in the public code. For `imc_form` and the
    defects of the public code see losses/imc.py and losses/cmr.py. The code's latest script has weights 0.3 (IMC) and
    0.2 (CMR), 10 epochs and a batch of 1,512."""
    if not types or len(set(types)) != len(types):
        raise UserError(f"ce_clip_zhang_2024: types: expected some of {', '.join(SLOTS)}, each once; found {types}")
    if fixed_threshold is not None and upper_threshold != UPPER:
        raise UserError("ce_clip_zhang_2024: upper_threshold bounds adaptive thresholds; fixed_threshold has none")
    used = itc == "hn" or imc_weight or cmr_weight
    return Recipe(
        citation="Zhang et al. 2024, Contrasting Intra-Modal and Ranking Cross-Modal Hard Negatives, CVPR",
        terms={
            "itc": (0 if itc == "off" else 1, itc_hn if itc == "hn" else clip_loss),
            "imc": (imc_weight, Imc(imc_form)),
            "cmr": (cmr_weight, Cmr(types, upper_threshold, fixed_threshold, cmr_mean)),
        },
        needs=Needs(negatives=tuple(SLOTS[name] for name in types) if used else ()),
        seed=42,
    )
