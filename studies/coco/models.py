"""Every model that run.py finetunes, by name: a recipe, its options, and the texts that it is trained on.

SEARCH is tried on dev, MAIN and BEST are in the main tables, the others in those of ablations. EVERY is what
`run.py --only every` makes: each recipe of the package, then what CE-CLIP's paper claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

OURS = "equipoise_2026"
PAPER, CE = "hard_positives_kamath_2024", "ce_clip_zhang_2024"
SEEDS = range(9)
CONTEST = {"hn": "hn_only", "hp-hn": PAPER, "ce-clip": CE, "ours": OURS}
TRIED = [  # texts, times the rate, passes over the captions
    ("thesaurus", 3.0, 2), ("phrases", 3.0, 2), ("thesaurus", 3.0, 1), ("balanced", 3.0, 1),
]  # fmt: skip
SHARES = (0.4, 0.5, 0.6, 0.8, 1.0)  # of the finetuned weights; the rest is the base's


@dataclass(frozen=True)
class Model:
    name: str
    recipe: str | None = None  # None: the base as it is
    options: tuple[tuple[str, Any], ...] = ()
    speed: float = 1.0  # times the learning rate of the others
    texts: str = "balanced"  # that it is trained on (texts.py)
    start: str = ""  # letter of its bases, where it is not the text tower's


def model(
    name: str, recipe: str | None, texts: str = "balanced", speed: float = 1.0, start: str = "", **options: Any
) -> Model:
    return Model(name, recipe, tuple(options.items()), speed, texts, start)


SEARCH = [model("control", "control")] + [
    model(f"{name}.{texts}.{speed:.0f}.{epochs}", recipe, texts, speed, epochs=epochs)
    for (texts, speed, epochs), (name, recipe) in product(TRIED, CONTEST.items())  # the longest first
]
MAIN = [
    model("base", None),
    model("control", "control"),
    model("hn-negclip", "hn_only", "negclip"),
    model("hp-hn-negclip", PAPER, "negclip"),
    *(model(name, recipe) for name, recipe in CONTEST.items()),
    *(model(f"{name}-swaps", recipe, "both") for name, recipe in CONTEST.items()),
]
BEST = [model(f"{name}-best", recipe) for name, recipe in CONTEST.items()]  # texts and rate: chosen
BEST += [model("ours-best-known", OURS)]  # as chosen, and REPLACE's words in the training texts
AS_OURS = [  # rivals with the setting that was chosen for ours
    model("hp-hn-best-as-ours", PAPER),
    model("hp-hn-best-known", PAPER),
    model("ce-clip-best-as-ours", CE),
    model("hn-best-as-ours", "hn_only"),
]
EQUAL = [  # 1,024 texts a step for every recipe, which is what ours has
    model("control-equal", "control", batch_size=1024),
    model("hn-equal", "hn_only", batch_size=512),
    model("hp-hn-equal", PAPER, batch_size=341),
    model("ce-clip-equal", CE, batch_size=205),
]
PAPERS = [  # Table 3 and the ablations of the hard-positive paper, Table 4 of CE-CLIP, and both with parts of ours
    *(model(f"hp-hn-{share}", PAPER, "both", hn_weight=float(share)) for share in ("0", "0.25", "0.5", "0.75")),
    model("hp-hn-replace-only", PAPER, "both", replace_only=True),
    model("hp-hn-swap-only", PAPER, "both", swap_only=True),
    model("ce-clip-itc", CE, "both", imc_weight=0.0, cmr_weight=0.0),
    model("ce-clip-imc", CE, "both", cmr_weight=0.0),
    model("ce-clip-cmr", CE, "both", imc_weight=0.0),
    model("ce-clip-fixed", CE, "both", fixed_threshold=0.0),
    model("hp-hn-keep", "py:studies.coco.recipes:paper_keep"),
    model("hp-hn-margin", "py:studies.coco.recipes:paper_margin"),
    model("ce-clip-positives", "py:studies.coco.recipes:ce_clip_positives"),
]
WITHOUT: dict[str, dict[str, Any]] = {  # a part of ours
    "no-rank": {"rank_weight": 0.0},
    "no-text": {"text_weight": 0.0},
    "no-agreement": {"agreement_weight": 0.0},
    "no-keep": {"keep_weight": 0.0},
    "no-second-caption": {"two_captions_each": False},
    "one-negative": {"by_operation": False},
}
OTHERS = [
    model("svlc", "svlc_doveh_2023", lora=0, warmup_steps=50),
    model("dac", "dac_doveh_2023", dense_captions=3, lora=0, warmup_steps=50),
    *(model(f"ours-{name}", OURS, **options) for name, options in WITHOUT.items()),
]
ALL = [  # the other recipes with these texts are in MAIN. A frozen vision tower keeps no patches and takes no LoRA
    model("negclip-swaps", "negclip_yuksekgonul_2023", "both"),
    model("svlc-swaps", "svlc_doveh_2023", "both", lora=0),
    model("dac-swaps", "dac_doveh_2023", "both", dense_captions=3, lora=0),
    model("fsc-swaps", "fsc_clip_oh_2024", "shuffled", local_weight=0.0),
    model("read-swaps", "read_clip_kwon_2025", "both"),
    model("clic-swaps", "clic_peleg_2025", "both", freeze="vision"),
    model("degla-swaps", "degla_hu_2025", "both"),
    model("cs-swaps", "cs_clip_kargi_2026", "both"),
]
EARLY = [  # on bases that hardly know COCO, as CLIP does not
    model("early-base", None, start="e"),
    model("early-control", "control", start="e"),
    model("early-ce-clip", CE, "both", start="e"),
]
CLAIMS = [
    *(model(f"ce-clip-{one}", CE, "both", types=(one,)) for one in ("object", "attribute", "relation", "action")),
    model("ce-clip-fixed-10", CE, "both", fixed_threshold=10.0),
    model("ce-clip-half", CE, "half", epochs=2),  # half the photos for as many steps
    model("ce-clip-fixed-2", CE, "both", fixed_threshold=2.0),
    model("control-half", "control", "half", epochs=2),
    model("ce-clip-fixed-5", CE, "both", fixed_threshold=5.0),
]
MODELS = {one.name: one for one in (*MAIN, *BEST, *AS_OURS, *EQUAL, *PAPERS, *OTHERS, *ALL, *EARLY, *CLAIMS)}
EVERY = [
    "base", "control", "hn-swaps", "hp-hn-swaps", "ce-clip-swaps", "ours-swaps",
    *(one.name for one in (*ALL, *CLAIMS, *EARLY)),
]  # fmt: skip
SCRATCH = ("base", "control", "hn-negclip", "hn", "hp-hn", "ce-clip", "ours", "hp-hn-swaps", "ours-swaps")
