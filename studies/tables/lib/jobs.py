"""Every model of the tables by name: a recipe, its options, and the items that it is finetuned on.

A model is trained once and read by every table that shows it. `items` names one of the sets that `world.py` (quick) and
`real.py` (real) know. A row named after an earlier paper is that paper's loss on our items unless the real form finds
the published checkpoint; `Form.label` says which in every table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

HP = "hard_positives_kamath_2024"
CE = "ce_clip_zhang_2024"


@dataclass(frozen=True)
class Job:
    name: str  # of its folder
    label: str  # in a table
    recipe: str | None = None  # None: a base model as it is
    options: tuple[tuple[str, Any], ...] = ()
    items: str = "captions"
    short: bool = False  # half of the steps in the quick form: CE-CLIP's family, whose twenty models share that
    variant: str = ""  # a base model other than the usual one; see variants.py and real.py
    checkpoint: str = ""  # "PAPER/VARIANT": in the real form DATA/checkpoints/PAPER-VARIANT.pt is used if it exists
    seen: str = ""  # which of REPLACE and SWAP its hard negatives are like: the shading of the paper's Table 1

    @property
    def file(self) -> str:
        """The name of its checkpoint below DATA/checkpoints."""
        return f"{self.checkpoint.replace('/', '-')}.pt"


def job(name: str, label: str, recipe: str | None = None, seen: str = "", **options: Any) -> Job:
    return Job(name, label, recipe, tuple(options.items()), seen=seen)


def ce(name: str, label: str, items: str = "four-types", **options: Any) -> Job:
    return Job(name, label, CE, tuple(options.items()), items, short=True)


def prior(
    name: str,
    label: str,
    seen: str,
    checkpoint: str,
    recipe: str | None = None,
    items: str = "captions",
    **options: Any,
) -> Job:
    """A model of an earlier paper; without a recipe it exists only as its checkpoint."""
    return Job(name, label, recipe, tuple(options.items()), items, checkpoint=checkpoint, seen=seen)


BASE = job("base", "base (not finetuned)")
CONTROL = job("control", "`control` (captions alone)", "control")
HN = job("hn", "Our HN", "hn_only", "both")
HP_HN = job("hp-hn", "Our HP+HN", HP, "both")
SWAP_ONLY = job("hp-hn-swap", "Our HP+HN (Swap-only)", HP, "SWAP", swap_only=True)
REPLACE_ONLY = job("hp-hn-replace", "Our HP+HN (Replace-only)", HP, "REPLACE", replace_only=True)
RATIOS = (
    job("hp", "0 HN", "hp_only"),
    job("hn-25", "0.25 HN", HP, "both", hn_weight=0.25),
    job("hn-50", "0.50 HN", HP, "both", hn_weight=0.5),
    job("hn-75", "0.75 HN", HP, "both", hn_weight=0.75),
)
NEG = "negclip_yuksekgonul_2023"
NEGCLIP = prior("negclip", "NegCLIP", "SWAP", "negclip", NEG, "mined")
DAC = prior("dac", "DAC-LLM", "REPLACE", "dac/llm", "dac_doveh_2023")
PRIOR = (
    NEGCLIP,
    prior("crepe-swap", "CREPE-Swap", "SWAP", "crepe-ft/swap", NEG, "swaps", hard_images=False),
    prior("crepe-replace", "CREPE-Replace", "REPLACE", "crepe-ft/replace", NEG, "replacements", hard_images=False),
    prior("svlc", "SVLC", "REPLACE", "svlc/llm_and_rb_negs", "svlc_doveh_2023", positive_weight=0),
    prior("svlc-pos", "SVLC+Pos", "REPLACE", "svlc/llm_and_rb_negs_pos", "svlc_doveh_2023"),
    DAC,
    prior("dac-sam", "DAC-SAM", "REPLACE", "dac/sam"),
)
OURS = job("equipoise", "`equipoise_2026`", "equipoise_2026")
NEW = (  # the recipes of 2024 to 2026, on the same items as the rest of the hard-positive paper's table
    job("ce-clip-captions", "`ce_clip_zhang_2024`", CE),
    job("fsc-clip", "`fsc_clip_oh_2024`", "fsc_clip_oh_2024"),
    job("read-clip", "`read_clip_kwon_2025`", "read_clip_kwon_2025"),
    job("clic", "`clic_peleg_2025`", "clic_peleg_2025"),
    job("degla", "`degla_hu_2025`", "degla_hu_2025"),
    job("cs-clip", "`cs_clip_kargi_2026`", "cs_clip_kargi_2026"),
    OURS,
)

CLIP_FT = Job("clip-ft", "CLIP-FT (captions alone)", "control", items="four-types", short=True)
CE_CLIP = ce("ce-clip", "CE-CLIP")
CE_RELEASED = prior("ce-clip-released", "CE-CLIP", "", "ce-clip")  # the ablations need one that is trained here
CE_PLUS = replace(ce("ce-clip-plus", "CE-CLIP+", "more"), checkpoint="ce-clip/plus")
LOSSES = (
    ce("ce-itc", "itc(hn)", imc_weight=0, cmr_weight=0),
    ce("ce-imc", "IMC, contrast without negatives", itc="plain", cmr_weight=0),
    ce("ce-itc-imc", "itc(hn) + IMC", cmr_weight=0),
    ce("ce-itc-cmr", "itc(hn) + CMR", imc_weight=0),
)
TYPES = tuple(ce(f"ce-{one}", f"{one} alone", types=(one,)) for one in ("relation", "attribute", "object", "action"))
FIXED = tuple(ce(f"ce-fixed-{value}", f"fixed at {value}", fixed_threshold=value) for value in (2, 5, 10))
BOUNDS = tuple(ce(f"ce-upper-{value}", f"u = {value}", upper_threshold=value) for value in (2, 5, 20))
WEIGHTS = (
    ce("ce-a4-b4", "0.4, 0.4", imc_weight=0.4),
    ce("ce-a10-b4", "1.0, 0.4", imc_weight=1.0),
    ce("ce-a2-b2", "0.2, 0.2", cmr_weight=0.2),
    ce("ce-a2-b10", "0.2, 1.0", cmr_weight=1.0),
    ce("ce-a10-b10", "1.0, 1.0", imc_weight=1.0, cmr_weight=1.0),
)


def variant(name: str, label: str) -> Job:
    """Another base model of a form."""
    return Job(f"variant-{name}", label, variant=name)
