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
    dropout: float = 0.1  # of a text tower from scratch


def job(name: str, recipe: str | None = None, **options: Any) -> Job:
    return Job(name, recipe, tuple(options.items()))


BASES = [
    Job("e6", "control", (("lr", 5e-4), ("epochs", 6)), dropout=0.1),
    Job("e12-d3", "control", (("lr", 5e-4), ("epochs", 12)), dropout=0.3),
    Job("e12-wd", "control", (("lr", 5e-4), ("epochs", 12), ("weight_decay", 1.0)), dropout=0.2),
    Job("e12-b512", "control", (("lr", 1e-3), ("epochs", 12), ("batch_size", 512)), dropout=0.3),
]
MINI_BASES = [
    job("m-1e4-6", "control", lr=1e-4, epochs=6),
    job("m-3e4-6", "control", lr=3e-4, epochs=6),
    job("m-1e4-12", "control", lr=1e-4, epochs=12),
]
OURS = "equipoise_2026"
RIVALS = [
    job("base"),
    job("control", "control"),
    job("hn", "hn_only"),
    job("hp-hn", "hard_positives_kamath_2024"),
    job("ce-clip", "ce_clip_zhang_2024"),
    job("fsc", "fsc_clip_oh_2024", local_weight=0),
    job("hp", "hp_only"),
]
SWEEP = [
    *RIVALS[:5],
    job("A", OURS, slots=1, margin=2, text_weight=1.0),
    job("B", OURS, slots=1, margin=3, text_weight=1.0),
    job("C", OURS, slots=1, margin=2, text_weight=1.0, agreement_weight=0.1),
    job("D", OURS, slots=1, margin=3, text_weight=1.0, agreement_weight=0.2),
    job("E", OURS, slots=1, margin=5, text_weight=1.0),
    job("F", OURS, slots=1, margin=3, text_weight=2.0),
    job("G", OURS, slots=1, margin=3, text_weight=1.0, two=False),
    job("H", OURS, slots=1, margin=3, text_weight=1.0, rank_weight=0.5),
    job("J", OURS, margin=3, text_weight=1.0),
    job("K", OURS, slots=1, margin=3, text_weight=1.0, wise_ft=0.8),
]
FINAL = RIVALS
