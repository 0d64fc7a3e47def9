"""Recomputes random cells of docs/appendix/tables/ from the kept item scores, with numpy alone.

    python -m studies.recompute papers [--cells 20] [--seed 0] [--tables FOLDER] [--scores FILE.npz]
    python -m studies.recompute coco

papers: shares, drops and mean scores with their intervals; not the retrievals, classifications, paired differences and
similarities, of which no item scores are kept. coco: levels and mean scores of every recipe on the same texts; levels
of one test also from what was measured before the scores were rounded. Exit code 1: a cell is not what the scores give.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
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


def cells(folder: Path, file: str = "*", first_head: str = "") -> list[Cell]:
    """Of the tables of a folder; a head without the number of items."""
    found = []
    for path in sorted(folder.glob(f"{file}.tsv")):
        first, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
        heads = [re.sub(r" \((n = [\d,]+|–).*\)$", "", head) for head in first]
        found += [
            Cell(path.stem, row[0], head, shown)
            for row in rows if heads[0] == (first_head or heads[0])
            for head, shown in zip(heads[1:], row[1:], strict=True)
        ]  # fmt: skip
    return found


def outcome(over: Any, positive: Any, metric: str) -> Any:
    """1 or 0 of every item, from what its caption and its positive are above its negative."""
    right, both = over > 0, (over > 0) & (positive > 0)
    brittle = ((over > 0) & (positive < 0)) | ((over < 0) & (positive > 0))
    return {"original": right, "augmented": both, "drop": right & ~both, "brittleness": brittle}[metric] * 1.0


# ---------------------------------------------------------------------------- the papers' tables on the drawn world

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
    """Of each item, from s(c), s(c) - s(n) and s(p) - s(n)."""
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
        pairs = [(one, times[place]) for one, place in zip(groups, places, strict=True)]
        spread[turn] = np.mean([one @ weights / weights.sum() for one, weights in pairs if weights.any()])
    low, high = np.quantile(spread, [0.025, 0.975])
    return [float(np.mean([one.mean() for one in groups])), float(low), float(high)], min(map(len, groups))


def papers(tables: Path, kept: Kept, _: Path) -> tuple[list[Cell], Callable[[Cell], tuple[bool, str]]]:
    """The cells that can be recomputed; and whether one is right, with what comes out instead."""
    models = {label.replace("`", ""): name for name, label in kept["models"].tolist()}
    there = [
        cell for cell in cells(tables, first_head="model")
        if cell.row in models and SHOWN.fullmatch(cell.shown) and asked(cell)[0] in GROUPS
    ]  # fmt: skip

    def again(cell: Cell) -> tuple[bool, str]:
        column, metric = asked(cell)
        printed = [float(part) for part in SHOWN.fullmatch(cell.shown).groups()]  # type: ignore[union-attr]
        scale, digits = (1, 3) if metric in TEXTS.values() else (100, 1)
        shares, least = measured(kept, models[cell.row], column, metric)
        found = [scale * value for value in shares]
        rounding = 0.6 * 10**-digits
        # Two bootstraps differ by chance, and a share moves in steps of one item; 99% in place of 95% would differ by
        # 0.16 of the width. A share of none or all has an interval of another kind.
        apart = rounding + 0.08 * (found[2] - found[1]) + (scale / least / 2 if scale == 100 else 0)
        whole = scale == 100 and found[0] in (0.0, 100.0)
        gaps = [abs(a - b) for a, b in zip(printed, found, strict=True)]
        fine = gaps[0] <= rounding and (whole or max(gaps[1:]) <= apart)
        return fine, f"{found[0]:.{digits}f} [{found[1]:.{digits}f}, {found[2]:.{digits}f}]"

    return there, again


# ---------------------------------------------------------------------------- every recipe on COCO photos

BASES = 3
MODELS = {
    "base": "base", "captions alone": "control", "hn_only": "hn-swaps", "hard_positives_kamath_2024": "hp-hn-swaps",
    "negclip_yuksekgonul_2023": "negclip-swaps", "svlc_doveh_2023": "svlc-swaps", "dac_doveh_2023": "dac-swaps",
    "ce_clip_zhang_2024": "ce-clip-swaps", "fsc_clip_oh_2024": "fsc-swaps", "read_clip_kwon_2025": "read-swaps",
    "clic_peleg_2025": "clic-swaps", "degla_hu_2025": "degla-swaps", "cs_clip_kargi_2026": "cs-swaps",
    "equipoise_2026": "ours-swaps", "CE-CLIP, half the photos": "ce-clip-half",
    "captions alone, half the photos": "control-half", "base of one epoch": "early-base",
    "captions alone, from one epoch": "early-control", "CE-CLIP, from one epoch": "early-ce-clip",
    **{f"negatives of {one} alone": f"ce-clip-{one}" for one in ("object", "attribute", "action", "relation")},
    **{f"threshold fixed at {one}": f"ce-clip-fixed-{one}" for one in (2, 5, 10)},
}  # fmt: skip
SUGAR = {
    "replace object": "replace_obj", "attribute": "replace_att", "relation": "replace_rel", "swap object": "swap_obj",
    "swap attribute": "swap_att", "add object": "add_obj", "add attribute": "add_att",
}  # fmt: skip
CHECKED = {
    "attribute action": "Attribute_action", "colour": "Attribute_color", "material": "Attribute_material",
    "size": "Attribute_size", "state": "Attribute_state", "relation action": "Relation_action",
    "relation spatial": "Relation_spatial",
}  # fmt: skip
SETS = {"ImageNet": "imagenet", "CIFAR-10": "cifar10", "pets": "pets", "scenes": "scenes"}
TWO = ["foil", "coreference"]
CHECKLISTS = [f"vl_checklist:{one}" for one in CHECKED.values()]
LAYOUTS = [f"sugarcrepe:{one}" for one in SUGAR.values()]
REPLACE = ["replace_attributes", "replace_relations"]
LEVELS: dict[str, tuple[list[list[str]], str]] = {  # head: sets of tests, of whose means it is the mean; and metric
    "NegCLIP's pairs: Orig.": ([["negclip"]], "original"), "VSR symmetric: Aug.": ([["vsr_symmetric"]], "augmented"),
    "VSR inverse: Aug.": ([["vsr_inverse"]], "augmented"), "VALSE foil-it: Aug.": ([["foil"]], "augmented"),
    "our items, unseen words: Aug.": ([["unseen"]], "augmented"), "our layouts: Orig.": ([LAYOUTS], "original"),
    "recalls": ([[f"{way}@{top}" for way in ("t2i", "i2t") for top in (1, 5, 10)]], "original"),
    "classes": ([[f"{one}@1" for one in SETS.values()]], "original"), "image R@1": ([["t2i@1"]], "original"),
    "text R@1": ([["i2t@1"]], "original"), "T2I R@5": ([["t2i@5"]], "original"), "I2T R@5": ([["i2t@5"]], "original"),
    "VALSE foil-it": ([["foil"]], "original"), "VALSE coreference": ([["coreference"]], "original"),
    "VALSE, two parts": ([TWO], "original"), "VL-CheckList": ([CHECKLISTS], "original"),
    "our layouts": ([LAYOUTS], "original"), "swapped attributes": ([["sugarcrepe:swap_att"]], "original"),
    "mean of VALSE, VL-CheckList, our layouts": ([TWO, CHECKLISTS, LAYOUTS], "original"),
    **{said: ([[f"vl_checklist:{one}"]], "original") for said, one in CHECKED.items()},
    **{said: ([[f"sugarcrepe:{one}"]], "original") for said, one in SUGAR.items()},
    **{f"{said} acc@{top}": ([[f"{one}@{top}"]], "original") for said, one in SETS.items() for top in (1, 5)},
    **{
        f"{part}: {metric}": ([[f"replace_{part}"]], metric)
        for part in ("attributes", "relations") for metric in ("original", "augmented", "brittleness")
    },
    **{
        f"{said}: {short.removesuffix(' ↓')}": ([own], metric)
        for said, own in (("REPLACE", REPLACE), ("our swaps", ["swap"])) for short, metric in METRICS.items()
    },
}  # fmt: skip
MEANS = {  # of s(c), s(p) and s(n)
    "REPLACE: s(c)": (1, 0, 0), "s(p)": (0, 1, 0), "s(n)": (0, 0, 1), "s(c) - s(n)": (1, 0, -1),
    "s(p) - s(n)": (0, 1, -1), "s(c) - s(p)": (1, -1, 0),
}  # fmt: skip
FILES = (
    "every-recipe-on-balanced-and-swaps", "hard-positive-paper-table-1", "hard-positive-paper-table-7",
    "hard-positive-paper-table-10", "ce-clip-tables-1-and-2", "ce-clip-table-3", "ce-clip-table-5",
    "ce-clip-fig-4-and-5a", "mean-scores",
)  # fmt: skip


def right(kept: Kept, model: str, test: str, metric: str) -> Any:
    """1 or 0 for every item of a test."""
    name, at, top = test.partition("@")
    if at:
        return (kept[f"{model}/{name}" + "/ranks" * (name in SETS.values())] < int(top)) * 1.0
    name, _, group = test.partition(":")
    c, p, n = kept[f"{model}/{name}"].astype(int)
    chosen = kept[f"{name}/relation"] == group if group else slice(None)
    return outcome(c - n, p - n, metric)[chosen]


def level(kept: Kept, model: str, sets: list[list[str]], metric: str) -> float:
    over_bases = [
        np.mean([np.mean([right(kept, f"{model}-{base}", test, metric).mean() for test in own]) for own in sets])
        for base in range(BASES)
    ]
    return 100 * float(np.mean(over_bases))


def coco(tables: Path, kept: Kept, scores: Path) -> tuple[list[Cell], Callable[[Cell], tuple[bool, str]]]:
    """As `papers`."""
    before: dict[str, list[dict[str, float]]] = {}
    for line in scores.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        before.setdefault(row["name"], []).append(row["found"])

    def again(cell: Cell) -> tuple[bool, str]:
        model = MODELS[cell.row]
        if cell.head in MEANS:
            parts = [kept[f"{model}-{base}/{test}"].mean(1) / 100 for base in range(BASES) for test in REPLACE]
            value = float(np.mean(parts, 0) @ np.array(MEANS[cell.head]))
            return abs(value - float(cell.shown)) < 6e-4, f"{value:.3f}"
        sets, metric = LEVELS[cell.head]
        value = level(kept, model, sets, metric)
        fine, said = abs(value - float(cell.shown)) <= 0.0501, f"{value:.1f}"
        if len(sets) == len(sets[0]) == 1 and ":" not in sets[0][0]:
            name, at, top = sets[0][0].partition("@")
            key = f"{name}/accuracy@{top}" if name in SETS.values() else f"{name}@{top}" if at else f"{name}/{metric}"
            if key in before[model][0]:
                then = float(np.mean([one[key] for one in before[model]]))
                fine &= abs(then - value) < 0.05
                said += f", measured {then:.1f}"
        return fine, said

    return [cell for file in FILES for cell in cells(tables, file) if cell.head in LEVELS or cell.head in MEANS], again


BOOKS = {"papers": (papers, "tables/results/scores.npz"), "coco": (coco, "coco/results/a.npz")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables_of", choices=BOOKS)
    parser.add_argument("--cells", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of cells")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--scores", type=Path)
    options = parser.parse_args()
    book, kept = BOOKS[options.tables_of]
    tables = options.tables or ROOT / "docs" / "appendix" / "tables" / options.tables_of
    scores = options.scores or ROOT / "studies" / kept
    if missing := [str(path) for path in (tables, scores) if not path.exists()]:
        print(f"missing: {', '.join(missing)}", file=sys.stderr)
        return 2
    with np.load(scores) as file:
        there, again = book(tables, {name: file[name] for name in file.files}, scores)
    chosen = [there[place] for place in np.random.default_rng(options.seed).permutation(len(there))[: options.cells]]
    wrong = 0
    for cell in chosen:
        fine, said = again(cell)
        wrong += not fine
        print(f"{'same' if fine else 'DIFFERS'}: {cell}, recomputed {said}")
    print(f"{len(chosen) - wrong} of {len(chosen)} cells are what the scores give ({len(there):,} can be recomputed)")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
