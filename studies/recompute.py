"""Recomputes random cells of docs/appendix/tables/papers/ from the kept item scores, with numpy alone.

    python -m studies.recompute [--cells 20] [--seed 0] [--tables FOLDER] [--scores FILE.npz]

Shares, drops and mean scores with their intervals; not the retrievals, classifications, paired differences and
similarities, of which no item scores are kept. Exit code 1: a cell is not what the scores give.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RESAMPLES = 2000
Kept = dict[str, Any]


class Cell(NamedTuple):
    table: str
    row: str
    head: str
    shown: str

    def __str__(self) -> str:
        return f"{self.table} | {self.row} | {self.head}: {self.shown}"


def cells(folder: Path) -> list[Cell]:
    """The cells of the tables of models in a folder; a head without the number of items."""
    listed = []
    for path in sorted(folder.glob("*.tsv")):
        first, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
        heads = [re.sub(r" \((n = [\d,]+|–).*\)$", "", head) for head in first]
        listed += [
            Cell(path.stem, row[0], head, shown)
            for row in rows if heads[0] == "model"
            for head, shown in zip(heads[1:], row[1:], strict=True)
        ]  # fmt: skip
    return listed


def outcome(over: Any, positive: Any, metric: str) -> Any:
    """1 or 0 of every item, from what its caption and its positive are above its negative."""
    right, both = over > 0, (over > 0) & (positive > 0)
    brittle = ((over > 0) & (positive < 0)) | ((over < 0) & (positive > 0))
    return {"original": right, "augmented": both, "drop": right & ~both, "brittleness": brittle}[metric] * 1.0


# What the world has for a column: (test, tag, value) of each group; the column is the mean of its groups.
TYPES = {
    "absence": ("unseen", "type", "absence"), "number": ("unseen", "type", "number"),
    "colour": ("attributes", "type", "colour"), "texture": ("attributes", "type", "texture"),
    "size": ("attributes", "type", "size"), "attributes": ("attributes", "", ""), "relations": ("relations", "", ""),
    "swap": ("swap", "", ""), "unseen": ("unseen", "", ""), "objects": ("objects", "", ""),
    "actions": ("actions", "", ""), "seen a": ("attributes", "synonym", "seen"),
    "seen r": ("relations", "synonym", "seen"), "new a": ("attributes", "synonym", "unseen"),
    "new r": ("relations", "synonym", "unseen"),
}  # fmt: skip
VALSE = "absence number relations actions objects"
CHECKLIST = "colour texture size objects actions relations"
COLUMNS = {
    "REPLACE": "attributes relations", "SWAP": "swap", "Attributes": "attributes", "Relations": "relations",
    "ARO relation": "relations", "ARO attribution": "swap", "VALSE existence": "absence", "VALSE counting": "number",
    "VALSE relations": "relations", "VALSE actions": "actions", "VALSE foil-it": "objects", "VALSE": VALSE,
    "VALSE average": VALSE, "VL-CheckList": CHECKLIST, "VL-CheckList average": CHECKLIST,
    "attribute colour": "colour", "attribute material": "texture", "attribute size": "size",
    "attribute average": "colour texture size", "object average": "objects", "relation action": "actions",
    "relation spatial": "relations", "relation average": "actions relations", "replace object": "objects",
    "replace attribute": "attributes", "replace relation": "relations",
    "replace average": "objects attributes relations", "swap attribute": "swap",
    "SugarCrepe": "objects attributes relations swap", "unseen type": "unseen",
}  # fmt: skip
GROUPS = {name: [TYPES[one] for one in listed.split()] for name, listed in COLUMNS.items()}
GROUPS["seen synonyms"] = [TYPES["seen a"], TYPES["seen r"]]
GROUPS["unseen synonyms"] = [TYPES["new a"], TYPES["new r"]]
METRICS = {"Orig.": "original", "Aug.": "augmented", "drop ↓": "drop", "Brit. ↓": "brittleness"}
TEXTS = {"c ↑": "c", "n ↓": "n", "p ↑": "p"}
SHOWN = re.compile(r"(-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\]")


def asked(cell: Cell) -> tuple[str, str]:
    """Column and metric of a heading; a number below 1 with three digits is a mean score."""
    if cell.head in TEXTS:
        return "REPLACE", TEXTS[cell.head]
    for short, metric in METRICS.items():
        if cell.head.endswith(f" {short}"):
            return (cell.head.removesuffix(f" {short}"), metric)
    return cell.head, "c" if re.match(r"0\.\d{3} ", cell.shown) else "original"


def values_of(scores: Any, metric: str) -> Any:
    """The value of each item, from s(c), s(c) - s(n) and s(p) - s(n)."""
    c, over, positive = scores.astype(np.float64)
    means = {"c": c, "n": c - over, "p": positive + c - over}
    return means[metric] if metric in means else outcome(over, positive, metric)


def measured(kept: Kept, model: str, column: str, metric: str) -> tuple[list[float], int]:
    """The mean of the groups' means with its 95% interval over pictures, and the items of the smallest group."""
    groups, pictures = [], []
    for test, tag, value in GROUPS[column]:
        chosen = kept[f"test/{test}/{tag}"] == value if tag else slice(None)
        groups.append(values_of(kept[f"scores/{model}/{test}"], metric)[chosen])
        pictures.append([f"{test}/{picture}" for picture in kept[f"test/{test}/picture"][chosen]])
    names = {name: place for place, name in enumerate(sorted({name for listed in pictures for name in listed}))}
    places = [np.array([names[name] for name in listed]) for listed in pictures]
    rng = np.random.default_rng(1)
    spread = np.empty(RESAMPLES)
    for turn in range(RESAMPLES):
        times = np.bincount(rng.integers(0, len(names), len(names)), minlength=len(names))
        pairs = [(group, times[place]) for group, place in zip(groups, places, strict=True)]
        spread[turn] = np.mean([group @ weights / weights.sum() for group, weights in pairs if weights.any()])
    low, high = np.quantile(spread, [0.025, 0.975])
    return [float(np.mean([group.mean() for group in groups])), float(low), float(high)], min(map(len, groups))


def again(cell: Cell, kept: Kept, model: str) -> tuple[bool, str]:
    """Whether a cell is right, and its computed value."""
    column, metric = asked(cell)
    printed = [float(part) for part in SHOWN.fullmatch(cell.shown).groups()]  # type: ignore[union-attr]
    scale, digits = (1, 3) if metric in TEXTS.values() else (100, 1)
    shares, least = measured(kept, model, column, metric)
    computed = [scale * value for value in shares]
    rounding = 0.6 * 10**-digits
    # Two bootstraps differ by chance, and a share moves in steps of one item; 99% in place of 95% would differ by
    # 0.16 of the width. A share of none or all has an interval of another kind.
    apart = rounding + 0.08 * (computed[2] - computed[1]) + (scale / least / 2 if scale == 100 else 0)
    whole = scale == 100 and computed[0] in (0.0, 100.0)
    gaps = [abs(a - b) for a, b in zip(printed, computed, strict=True)]
    fine = gaps[0] <= rounding and (whole or max(gaps[1:]) <= apart)
    return fine, f"{computed[0]:.{digits}f} [{computed[1]:.{digits}f}, {computed[2]:.{digits}f}]"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of cells")
    parser.add_argument("--tables", type=Path, default=ROOT / "docs" / "appendix" / "tables" / "papers")
    parser.add_argument("--scores", type=Path, default=ROOT / "studies" / "tables" / "results" / "scores.npz")
    options = parser.parse_args()
    if missing := [str(path) for path in (options.tables, options.scores) if not path.exists()]:
        print(f"missing: {', '.join(missing)}", file=sys.stderr)
        return 2
    with np.load(options.scores) as file:
        kept = {name: file[name] for name in file.files}
    models = {label.replace("`", ""): name for name, label in kept["models"].tolist()}
    known = [
        cell for cell in cells(options.tables)
        if cell.row in models and SHOWN.fullmatch(cell.shown) and asked(cell)[0] in GROUPS
    ]  # fmt: skip
    chosen = [known[place] for place in np.random.default_rng(options.seed).permutation(len(known))[: options.cells]]
    wrong = 0
    for cell in chosen:
        fine, said = again(cell, kept, models[cell.row])
        wrong += not fine
        print(f"{'same' if fine else 'DIFFERS'}: {cell}, recomputed {said}")
    print(f"{len(chosen) - wrong} of {len(chosen)} cells are what the scores give ({len(known):,} can be recomputed)")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
