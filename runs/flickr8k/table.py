"""docs/flickr8k.md's table: every recipe on the test photos; ours against the paper's, paired by photo and seed.

    python runs/flickr8k/table.py OUT [--ours NAME]        OUT is what run.py final wrote

A difference is taken per photo and seed; both are drawn again 2,000 times (seeds first, then photos), and the middle
95% is shown. The three seeds share one base, as a paper's models share one CLIP.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.evaluation.metrics import judge
from equipoise.evaluation.scores import read_scores

KINDS = {"seen": "seen synonyms", "unseen": "unseen synonyms", "swap": "swap", "type": "unseen type (relations)"}
RESAMPLES = 2000


def outcomes(path: Path) -> tuple[list[str], NDArray[Any]]:
    """Photo of each item; columns Original, Augmented, Brittleness."""
    rows = read_scores(path)
    found = judge(rows)
    return [row.image or row.id for row in rows], np.stack([found.original, found.augmented, found.brittle], 1) * 1.0


def difference(out: Path, before: str, after: str, kind: str, seeds: list[int]) -> list[tuple[float, float, float]]:
    """Points and 95% interval of after - before: Original, Augmented, Brittleness."""
    found = []
    for seed in seeds:
        photos, one = outcomes(out / "scores" / f"{before}-{seed}" / f"{kind}.jsonl")
        _, two = outcomes(out / "scores" / f"{after}-{seed}" / f"{kind}.jsonl")
        found.append(two - one)
    names = {name: number for number, name in enumerate(dict.fromkeys(photos))}
    where = np.array([names[name] for name in photos])
    sums = np.stack([[np.bincount(where, d[:, k], len(names)) for k in range(3)] for d in found])  # seeds, 3, photos
    counts = np.bincount(where, minlength=len(names)).astype(float)
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(len(seeds), size=len(seeds))
        weight = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
        drawn.append((sums[chosen].mean(0) @ weight) / (counts @ weight))
    low, high = np.percentile(np.array(drawn), [2.5, 97.5], axis=0)
    middle = sums.mean(0).sum(1) / counts.sum()
    return [(100 * m, 100 * a, 100 * b) for m, a, b in zip(middle, low, high, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--ours", default="ours")
    parser.add_argument("--theirs", default="hp-hn")
    options = parser.parse_args()
    rows: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((options.out / "final").glob("*.json")):
        row = json.loads(path.read_text())
        rows.setdefault(row["name"], []).append(row)
    heads = ["model", *(f"{kind}: Aug. / Brit." for kind in KINDS.values()), "R@1 t2i / i2t", "experts"]
    print("|", " | ".join(heads), "|\n|", " | ".join("---" for _ in heads), "|")
    for name, runs in rows.items():
        mean = {key: np.mean([run["found"][key] for run in runs]) for key in runs[0]["found"]}
        cells = [f"{mean[f'{kind}/augmented']:.1f} / {mean[f'{kind}/brittleness']:.1f}" for kind in KINDS]
        print(
            "|", " | ".join([name, *cells, f"{mean['t2i@1']:.1f} / {mean['i2t@1']:.1f}", f"{mean['experts']:.1f}"]), "|"
        )
    seeds = sorted({run["seed"] for run in rows[options.ours]})
    print(f"\n{options.ours} - {options.theirs}, {len(seeds)} seeds:")
    print("| items | n | Original | Augmented | Brittleness |\n| --- | --- | --- | --- | --- |")
    for kind, words in KINDS.items():
        n = len(outcomes(options.out / "scores" / f"{options.ours}-{seeds[0]}" / f"{kind}.jsonl")[0])
        cells = [
            f"{m:+.1f} [{a:+.1f}, {b:+.1f}]"
            for m, a, b in difference(options.out, options.theirs, options.ours, kind, seeds)
        ]
        print("|", " | ".join([words, f"{n:,}", *cells]), "|")


if __name__ == "__main__":
    main()
