"""The tables of docs/appendix/coco.md: finetuning on COCO's photos, on other people's items and on ours.

    python runs/coco/table.py            from runs/coco/results, without a GPU, in about two minutes

Differences are over photos and seeds, as `equipoise compare` has them, and corrected (Holm) for all that are computed.
The seeds of a tower share one base.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "flickr8k"))

import numpy as np
from scores import read_scores

from equipoise.evaluation.comparing.differences import Run
from equipoise.evaluation.comparing.inference import holm
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Change
from equipoise.evaluation.scores import ItemScores

RESULTS = Path(__file__).parent / "results"
TOWERS = {"m": "text tower MiniLM", "s": "text tower from scratch"}
NAMES = {
    "base": "base",
    "control": "captions alone (`control`)",
    "hn-negclip": "NegCLIP-style negatives (`hn_only`)",
    "hp-hn-negclip": "NegCLIP-style negatives and hard positives (`hard_positives_kamath_2024`)",
    "hn": "`balanced` negatives (`hn_only`)",
    "hp-hn": "`balanced` negatives and hard positives (`hard_positives_kamath_2024`)",
    "ce-clip": "`ce_clip_zhang_2024`",
    "ours": "`equipoise_2026`",
}
KINDS = {
    "negclip": "NegCLIP's pairs",
    "vsr_symmetric": "VSR symmetric",
    "vsr_inverse": "VSR inverse",
    "replace_relations": "REPLACE relations",
    "replace_attributes": "REPLACE attributes",
    "seen": "our items, seen words",
    "unseen": "our items, unseen words",
    "swap": "our items, swaps",
}
METRICS = ("original", "augmented", "brittleness")
PAIRS = [
    ("hn-negclip", "control"), ("hn", "control"), ("hp-hn", "control"), ("ce-clip", "control"), ("ours", "control"),
    ("hp-hn", "hn"), ("ours", "hp-hn"),
]  # fmt: skip


@cache
def scores(tower: str) -> dict[str, Any]:
    return read_scores(RESULTS / f"{tower}.npz")


@cache
def models(tower: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (RESULTS / f"{tower}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["name"], []).append(row)
    return found


@cache
def run(tower: str, model: str, kind: str) -> Run:
    held = scores(tower)
    caption, positive = held[f"{model}/{kind}"].astype(float).tolist()
    rows = [
        ItemScores(id=str(place), image=str(photo), tags={}, caption=c, positives=[p], negatives=[0.0])
        for place, (photo, c, p) in enumerate(zip(held[f"{kind}/photo"].tolist(), caption, positive, strict=True))
    ]
    return Run(Path(model), (), rows, outcomes_of(rows))


def runs(tower: str, name: str, kind: str) -> list[Run]:
    return [run(tower, f"{name}-{row['seed']}", kind) for row in models(tower)[name]]


def compared() -> dict[tuple[str, tuple[str, str], str, str], Change]:
    found = {}
    for tower, (after, before), kind in product(TOWERS, PAIRS, KINDS):
        whole = compare_models(runs(tower, before, kind), runs(tower, after, kind))
        for metric in METRICS:
            change = whole[metric]
            assert change is not None
            found[tower, (after, before), kind, metric] = change
    adjusted = holm([change.p or 0.0 for change in found.values()])
    return {
        line: change.model_copy(update={"adjusted": p})
        for (line, change), p in zip(found.items(), adjusted, strict=True)
    }


def cell(change: Change) -> str:
    low, high = change.interval
    return f"{100 * change.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]" + (
        "\\*" if change.significant else ""
    )


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    for tower, title in TOWERS.items():
        print(
            f"| {title} | " + " | ".join(f"{words}: Orig. / Aug. / Brit." for words in KINDS.values()) + " | recalls |"
        )
        print("| --- " * (len(KINDS) + 2) + "|")
        for name, words in NAMES.items():
            rows = [row["found"] for row in models(tower)[name]]
            cells = [
                " / ".join(f"{np.mean([row[f'{kind}/{metric}'] for row in rows]):.1f}" for metric in METRICS)
                for kind in KINDS
            ]
            recall = np.mean([[row[f"{way}@{top}"] for way in ("t2i", "i2t") for top in (1, 5, 10)] for row in rows])
            print(f"| {words} | " + " | ".join(cells) + f" | {recall:.1f} |")
        print()
    found = compared()
    for tower, title in TOWERS.items():
        print(f"| {title} | items | Original | Augmented | Brittleness |\n| --- | --- | --- | --- | --- |")
        for (after, before), kind in product(PAIRS, KINDS):
            cells = [cell(found[tower, (after, before), kind, metric]) for metric in METRICS]
            print(f"| {after} - {before} | {KINDS[kind]} | " + " | ".join(cells) + " |")
        print()
    print(
        f"\\*: significant: the interval leaves zero out, and p, corrected (Holm) for all {len(found)} "
        "comparisons, is below 0.05."
    )
    counts = {kind: len(scores("m")[f"{kind}/photo"]) for kind in KINDS}
    print("n: " + ", ".join(f"{words} {counts[kind]:,}" for kind, words in KINDS.items()))


if __name__ == "__main__":
    main()
