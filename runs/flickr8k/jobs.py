"""What is trained: the bases, the configurations that were compared on dev, and what was read once on test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SEEDS = [0, 1, 2]


@dataclass(frozen=True)
class Job:
    name: str
    recipe: str | None = None  # None: the base as it is
    options: tuple[tuple[str, Any], ...] = ()
    items: str = "train"


def job(name: str, recipe: str | None = None, **options: Any) -> Job:
    return Job(name, recipe, tuple(options.items()))


BASES = [
    job("lr5-20", "control", lr=5e-4, epochs=20),
    job("lr5-40", "control", lr=5e-4, epochs=40),
    job("lr10-20", "control", lr=1e-3, epochs=20),
    job("lr10-40", "control", lr=1e-3, epochs=40),
]
OURS = "equipoise_2026"
SWEEP = [
    job("base"),
    job("control", "control"),
    job("hn", "hn_only"),
    job("hp", "hp_only"),
    job("hp+hn", "hard_positives_kamath_2024"),
    job("ce-clip", "ce_clip_zhang_2024"),
    job("negclip-loss", "svlc_doveh_2023"),
    job("fsc", "fsc_clip_oh_2024", local_weight=0),
    job("two+rank", OURS, text_weight=0),
    job("rank", OURS, text_weight=0, two=False),
    job("ours", OURS),
    job("text1", OURS, text_weight=1.0),
    job("text.2", OURS, text_weight=0.2),
    job("scale30", OURS, text_scale=30),
    job("agree.1", OURS, agreement_weight=0.1),
    job("agree.5", OURS, agreement_weight=0.5),
    job("agree.1-notext", OURS, agreement_weight=0.1, text_weight=0),
    job("focal2", OURS, gamma=2.0),
    job("margin1", OURS, margin=1.0),
    job("margin3", OURS, margin=3.0),
    job("slots", OURS, slots=1),
    job("rank2", OURS, rank_weight=2.0),
    job("rank.5", OURS, rank_weight=0.5),
]
FINAL = SWEEP[:8]
