"""The training recipes by name. This module is data: `train list` and shell completion read it without torch."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    module: str  # a file of recipes/, with a function of the recipe's name; imported when needed
    summary: str


RECIPES = {
    "control": Row(
        "kamath", "Finetuning on captions alone with CLIP's loss: the effect of the data without hard texts."
    ),
    "hn_only": Row("kamath", 'Hard negatives alone ("Our HN" of Kamath et al.), which make a model oversensitive.'),
    "hp_only": Row(
        "kamath", 'Hard positives alone ("0 HN" of Kamath et al.), which teach that a change of words never matters.'
    ),
    "hard_positives_kamath_2024": Row(
        "kamath", "Hard positives and hard negatives together (section 5): L = L_clip + hn_weight L_neg + L_pos."
    ),
    "negclip_yuksekgonul_2023": Row(
        "negclip", "NegCLIP: swapped captions as negatives, and for each image a similar one with its own texts."
    ),
    "svlc_doveh_2023": Row("svlc", "SVLC: contrastive, negative and analogy losses on LoRA adapters."),
    "dac_doveh_2023": Row(
        "dac", "DAC: many captions of each image, some of them right, learned as multiple instances."
    ),
    "ce_clip_zhang_2024": Row(
        "ce_clip", "CE-CLIP: four types of negatives, contrasted with the caption (IMC) and ranked below it (CMR)."
    ),
    "ce_xvlm_zhang_2024": Row(
        "ce_xvlm",
        "CE-XVLM: CE-CLIP's losses on the contrastive part of BLIP or X-VLM, its negatives also for the matching head.",
    ),
    "fsc_clip_oh_2024": Row("fsc_clip", "FSC-CLIP: hard negatives weighted so that zero-shot accuracy is kept."),
    "read_clip_kwon_2025": Row(
        "read_clip", "READ-CLIP without its decoder: NegCLIP's contrast with three swaps, and paraphrases aligned."
    ),
    "clic_peleg_2025": Row(
        "clic", "CLIC on single photos: a frozen vision tower, right captions kept together, the negative apart."
    ),
    "degla_hu_2025": Row(
        "degla", "DeGLA with its mask corrected: four negatives, contrasted with image and text, and self-distillation."
    ),
    "cs_clip_kargi_2026": Row(
        "cs_clip", "CS-CLIP: NegCLIP's contrast with one foil, and two more texts of the photo, each with its own foil."
    ),
    "control_siglip": Row("siglip", "Finetuning a SigLIP model on captions alone, with its own sigmoid loss."),
    "control_itm": Row(
        "ce_xvlm", "Only captions, for a model with a matching head: X-VLM's own finetuning, the control of CE-XVLM."
    ),
    "equipoise_2026": Row(
        "equipoise_2026", "Every right caption above every wrong one; a reworded caption is a caption."
    ),
}
