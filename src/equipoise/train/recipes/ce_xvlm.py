"""CE-XVLM (Zhang et al. 2024): CE-CLIP's losses for a model with a matching head, and its control."""

from __future__ import annotations

from dataclasses import replace

from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.itm import itm
from equipoise.train.recipe import Needs, Recipe, Weight
from equipoise.train.recipes.ce_clip import ce_clip_zhang_2024


def ce_xvlm_zhang_2024(*, imc_weight: Weight = 0.2, cmr_weight: Weight = 0.4) -> Recipe:
    """CE-XVLM: CE-CLIP's losses on the contrastive part of BLIP or X-VLM, its negatives also for the matching head.

    L = L_itc(hn) + 0.2 L_imc + 0.4 L_cmr + L_itm. The paper finetunes X-VLM-16M for 5 epochs in batches of 64 with
    X-VLM's defaults for COCO retrieval: learning rate 3e-5, weight decay 0.01 and a warm-up of a tenth of the steps.
    X-VLM's learning rate then falls linearly, ours along a cosine. A model without a temperature (transformers does not
    keep BLIP's) starts at 0.07. `control_itm` is the same without generated negatives."""
    ce_clip = ce_clip_zhang_2024(imc_weight=imc_weight, cmr_weight=cmr_weight)
    return replace(
        control_itm(),
        citation=ce_clip.citation,
        terms={**ce_clip.terms, "itm": (1, itm)},
        needs=replace(ce_clip.needs, matching=True),
    )


def control_itm() -> Recipe:
    """Only captions, for a model with a matching head: X-VLM's own finetuning, the control of CE-XVLM.

    L = L_itc + L_itm, with the settings of `ce_xvlm_zhang_2024`."""
    return Recipe(
        citation="Zeng et al. 2022, Multi-Grained Vision Language Pre-Training, ICML",
        terms={"itc": (1, clip_loss), "itm": (1, itm)},
        needs=Needs(matching=True),
        batch_size=64,
        lr=3e-5,
        warmup_steps=4_400,  # a tenth of 5 epochs of 113,287 x 5 captions in batches of 64
        weight_decay=0.01,
        eps=1e-8,
        max_scale=1000.0,
        seed=42,
    )
