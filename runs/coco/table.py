"""The tables of docs/coco.md: finetuning on COCO's photos, judged on other people's items and on ours.

    python runs/coco/table.py            from runs/coco/results, without a GPU, in about two minutes

Differences are over photos and seeds, as `equipoise compare` has them, and corrected (Holm) for all that are computed.
The seeds of a tower share one base. The tower from scratch was trained before, on fewer and smaller photos, on texts
with swaps only, and judged on fewer kinds of items.
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
TOWERS = {"m": "MiniLM", "s": "text tower from scratch (24,000 photos at 128 px)"}
NAMES = {
    "base": "base",
    "control": "captions alone",
    "hn-negclip": "NegCLIP's negatives",
    "hp-hn-negclip": "NegCLIP's negatives, hard positives",
    "hn": "`balanced` negatives",
    "hp-hn": "`balanced`, the paper's recipe",
    "ce-clip": "`balanced`, CE-CLIP",
    "ours": "`balanced`, `equipoise_2026`",
    "ours-human": "... and human captions as positives",
    "hn-swaps": "`balanced` and swaps, negatives alone",
    "hp-hn-swaps": "`balanced` and swaps, the paper's recipe",
    "ce-clip-swaps": "`balanced` and swaps, CE-CLIP",
    "ours-swaps": "`balanced` and swaps, `equipoise_2026`",
}
KINDS = {
    "replace": "REPLACE",
    "negclip": "NegCLIP's pairs",
    "vsr_symmetric": "VSR symmetric",
    "vsr_inverse": "VSR inverse",
    "human": "human captions",
    "foil": "VALSE foil-it",
    "seen": "our items, seen words",
    "unseen": "our items, unseen words",
    "swap": "our items, swaps",
}
JOINED = {"replace": ("replace_relations", "replace_attributes")}  # one benchmark in two files
METRICS = ("original", "augmented", "brittleness")
SHORT = {"original": "Orig.", "augmented": "Aug.", "brittleness": "Brit."}
SUMMARY = [
    ("replace", "augmented"), ("replace", "brittleness"), ("negclip", "original"), ("vsr_symmetric", "augmented"),
    ("vsr_inverse", "augmented"), ("foil", "augmented"), ("unseen", "augmented"),
]  # fmt: skip
PAIRS = [
    ("hn-negclip", "control"), ("hp-hn-negclip", "control"), ("hn", "control"), ("hp-hn", "control"),
    ("ce-clip", "control"), ("ours", "control"), ("ours", "base"), ("hp-hn", "hn"), ("ours", "hp-hn"),
    ("ours", "ce-clip"), ("ours-human", "ours"), ("hp-hn-swaps", "hp-hn"), ("ours-swaps", "ours"),
    ("hp-hn-swaps", "control"), ("ours-swaps", "control"),
]  # fmt: skip


@cache
def scores(tower: str) -> dict[str, Any]:
    return read_scores(RESULTS / f"{tower}.npz")


@cache
def models(tower: str, stage: str = "final") -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (RESULTS / f"{tower}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["stage"] == stage:
            found.setdefault(row["name"], []).append(row)
    return found


@cache
def run(tower: str, model: str, kind: str) -> Run:
    held, rows = scores(tower), []
    for part in JOINED.get(kind, (kind,)):
        caption, positive = held[f"{model}/{part}"].astype(float).tolist()
        rows += [
            ItemScores(id=f"{part}/{place}", image=str(photo), tags={}, caption=c, positives=[p], negatives=[0.0])
            for place, (photo, c, p) in enumerate(zip(held[f"{part}/photo"].tolist(), caption, positive, strict=True))
        ]
    return Run(Path(model), (), rows, outcomes_of(rows))


def runs(tower: str, name: str, kind: str) -> list[Run]:
    return [run(tower, f"{name}-{row['seed']}", kind) for row in models(tower)[name]]


def mean(tower: str, name: str, kind: str, metric: str) -> float:
    """In percent, over the items of all seeds."""
    held = scores(tower)
    parts = JOINED.get(kind, (kind,))
    found = []
    for row in models(tower)[name]:
        c, p = np.concatenate([held[f"{name}-{row['seed']}/{part}"] for part in parts], axis=1)
        outcome = {
            "original": c > 0,
            "augmented": (c > 0) & (p > 0),
            "brittleness": ((c > 0) & (p < 0)) | ((c < 0) & (p > 0)),
        }
        found.append(outcome[metric].mean())
    return 100 * float(np.mean(found))


def compared() -> dict[tuple[str, tuple[str, str], str, str], Change]:
    found = {}
    for tower, (after, before), kind in product(TOWERS, PAIRS, KINDS):
        if not {after, before} <= models(tower).keys() or kind not in kinds_of(tower):
            continue
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


def kinds_of(tower: str) -> list[str]:
    return [kind for kind in KINDS if all(f"{part}/photo" in scores(tower) for part in JOINED.get(kind, (kind,)))]


def summary(tower: str) -> None:
    """One number of each kind, recall and the correlation with people's ratings."""
    heads = [f"{KINDS[kind]}: {SHORT[metric]}" for kind, metric in SUMMARY]
    print("| finetuned with | " + " | ".join(heads) + " | recalls | CxC | seeds |")
    print("| --- |" + " ---: |" * (len(SUMMARY) + 3))
    for name in (name for name in NAMES if name in models(tower)):
        cells = [f"{mean(tower, name, kind, metric):.1f}" for kind, metric in SUMMARY]
        rows = [row["found"] for row in models(tower)[name]]
        cells += [f"{np.mean([recall(row) for row in rows]):.1f}", f"{np.mean([row['experts'] for row in rows]):.1f}"]
        print(f"| {NAMES[name]} | " + " | ".join(cells) + f" | {len(rows)} |")
    print()


def recall(row: dict[str, float]) -> float:
    """The mean of six."""
    return float(np.mean([row[f"{way}@{top}"] for way in ("t2i", "i2t") for top in (1, 5, 10)]))


def table(tower: str, title: str) -> None:
    """Original / Augmented / Brittleness of each kind."""
    kinds = kinds_of(tower)
    heads = [f"{KINDS[kind]} (n = {count(tower, kind):,})" for kind in kinds]
    print(f"| {title} | " + " | ".join(heads) + " | text-to-image R@1 |")
    print("| --- " * (len(kinds) + 2) + "|")
    for name in (name for name in NAMES if name in models(tower)):
        cells = [" / ".join(f"{mean(tower, name, kind, metric):.1f}" for metric in METRICS) for kind in kinds]
        first = np.mean([row["found"]["t2i@1"] for row in models(tower)[name]])
        print(f"| {NAMES[name]} | " + " | ".join(cells) + f" | {first:.1f} |")
    print()


def relations(tower: str) -> None:
    """Augmented accuracy of VSR by relation: which statements a model gains or loses."""
    names = ("control", "hn-negclip", "hn", "hp-hn", "ours", "hp-hn-swaps", "ours-swaps")
    print("| VSR, Augmented accuracy | n | " + " | ".join(NAMES[name] for name in names) + " |")
    print("| --- |" + " ---: |" * (len(names) + 1))
    groups = {"vsr_symmetric": ("touching",), "vsr_inverse": ("under", "beneath", "below")}
    for (kind, group), inside in product(groups.items(), (True, False)):
        chosen = np.array([(word in group) == inside for word in scores(tower)[f"{kind}/relation"].tolist()])
        cells = []
        for name in names:
            held = [scores(tower)[f"{name}-{row['seed']}/{kind}"] for row in models(tower)[name]]
            cells.append(f"{100 * np.mean([((c > 0) & (p > 0))[chosen].mean() for c, p in held]):.1f}")
        words = ", ".join(group) if inside else "the others"
        print(f"| {KINDS[kind]}: {words} | {chosen.sum()} | " + " | ".join(cells) + " |")
    print()


def count(tower: str, kind: str) -> int:
    return sum(len(scores(tower)[f"{part}/photo"]) for part in JOINED.get(kind, (kind,)))


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    summary("m")
    relations("m")
    for tower, title in TOWERS.items():
        table(tower, title)
    found = compared()
    for tower, title in TOWERS.items():
        print(f"| {title} | items | Original | Augmented | Brittleness |\n| --- | --- | --- | --- | --- |")
        for (after, before), kind in product(PAIRS, KINDS):
            if (tower, (after, before), kind, "original") in found:
                cells = [cell(found[tower, (after, before), kind, metric]) for metric in METRICS]
                print(f"| {after} - {before} | {KINDS[kind]} | " + " | ".join(cells) + " |")
        print()
    print(f"\\*: significant, by interval and by p-value, which is corrected (Holm) for all {len(found)} comparisons.")


if __name__ == "__main__":
    main()
