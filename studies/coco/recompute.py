"""Recomputes the tables of every recipe (docs/appendix/tables/coco/) from the kept scores, with numpy alone.

    python -m studies.coco.recompute [--cells 40] [--seed 0] [--levels]

Random cells: levels, mean scores and differences with their intervals, from the scores of every item; levels of one
test also from what the device had measured before the scores were rounded. Then every star: p of all comparisons again
and the Holm correction of them all; where p is near 0.05, other resamples may give another star. Exit code 1: a cell,
or a star that is not near, is not what the scores give.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
RESAMPLES = 2000
BORDER = (0.035, 0.07)  # a corrected p this near to 0.05 may be on the other side with other resamples
BASES = 3
MODELS = {
    "base": "base", "captions alone": "control", "hn_only": "hn-swaps", "hard_positives_kamath_2024": "hp-hn-swaps",
    "negclip_yuksekgonul_2023": "negclip-swaps", "svlc_doveh_2023": "svlc-swaps", "dac_doveh_2023": "dac-swaps",
    "ce_clip_zhang_2024": "ce-clip-swaps", "fsc_clip_oh_2024": "fsc-swaps", "read_clip_kwon_2025": "read-swaps",
    "clic_peleg_2025": "clic-swaps", "degla_hu_2025": "degla-swaps", "cs_clip_kargi_2026": "cs-swaps",
    "equipoise_2026": "ours-swaps", "CE-CLIP, half the photos": "ce-clip-half",
    "captions alone, half the photos": "control-half", "base of one epoch": "early-base",
    "captions alone, from one epoch": "early-control", "CE-CLIP, from one epoch": "early-ce-clip",
    "negatives of object alone": "ce-clip-object", "negatives of attribute alone": "ce-clip-attribute",
    "negatives of action alone": "ce-clip-action", "negatives of relation alone": "ce-clip-relation",
    "threshold fixed at 2": "ce-clip-fixed-2", "threshold fixed at 5": "ce-clip-fixed-5",
    "threshold fixed at 10": "ce-clip-fixed-10",
}  # fmt: skip
LAYOUTS = "replace_obj replace_att replace_rel swap_obj swap_att add_obj add_att"
CHECKED = (
    "Attribute_action Attribute_color Attribute_material Attribute_size Attribute_state Relation_action "
    "Relation_spatial"
)
VALSE = ["foil", "coreference"]
CHECKLIST = [f"vl_checklist:{one}" for one in CHECKED.split()]
SUGAR = [f"sugarcrepe:{one}" for one in LAYOUTS.split()]
REPLACE = ["replace_attributes", "replace_relations"]
RECALLS = [f"{way}@{top}" for way in ("t2i", "i2t") for top in (1, 5, 10)]
SETS = ["imagenet", "cifar10", "pets", "scenes"]
COLUMNS: dict[str, tuple[list[list[str]], str]] = {  # head: sets of tests, of whose means it is the mean; and metric
    "REPLACE: Aug.": ([REPLACE], "augmented"), "REPLACE: Brit.": ([REPLACE], "brittleness"),
    "NegCLIP's pairs: Orig.": ([["negclip"]], "original"), "VSR symmetric: Aug.": ([["vsr_symmetric"]], "augmented"),
    "VSR inverse: Aug.": ([["vsr_inverse"]], "augmented"), "VALSE foil-it: Aug.": ([["foil"]], "augmented"),
    "our items, unseen words: Aug.": ([["unseen"]], "augmented"), "our layouts: Orig.": ([SUGAR], "original"),
    "recalls": ([RECALLS], "original"), "classes": ([[f"{one}@1" for one in SETS]], "original"),
    "image R@1": ([["t2i@1"]], "original"), "text R@1": ([["i2t@1"]], "original"),
    "T2I R@5": ([["t2i@5"]], "original"), "I2T R@5": ([["i2t@5"]], "original"),
    "VALSE foil-it": ([["foil"]], "original"), "VALSE coreference": ([["coreference"]], "original"),
    "VALSE, two parts": ([VALSE], "original"), "VL-CheckList": ([CHECKLIST], "original"),
    "our layouts": ([SUGAR], "original"), "swapped attributes": ([["sugarcrepe:swap_att"]], "original"),
    "mean of VALSE, VL-CheckList, our layouts": ([VALSE, CHECKLIST, SUGAR], "original"),
}  # fmt: skip
_SAID = "attribute action,colour,material,size,state,relation action,relation spatial".split(",")
COLUMNS |= {said: ([[one]], "original") for said, one in zip(_SAID, CHECKLIST, strict=True)}
_SAID = "replace object,attribute,relation,swap object,swap attribute,add object,add attribute".split(",")
COLUMNS |= {said: ([[one]], "original") for said, one in zip(_SAID, SUGAR, strict=True)}
COLUMNS |= {
    f"{said} acc@{top}": ([[f"{one}@{top}"]], "original")
    for said, one in zip(("ImageNet", "CIFAR-10", "pets", "scenes"), SETS, strict=True)
    for top in (1, 5)
}
COLUMNS |= {
    f"{part}: {metric}": ([[f"replace_{part}"]], metric)
    for part in ("attributes", "relations")
    for metric in ("original", "augmented", "brittleness")
}
MEANS = {  # of s(c), s(p) and s(n)
    "REPLACE: s(c)": (1, 0, 0), "s(p)": (0, 1, 0), "s(n)": (0, 0, 1), "s(c) - s(n)": (1, 0, -1),
    "s(p) - s(n)": (0, 1, -1), "s(c) - s(p)": (1, -1, 0),
}  # fmt: skip
LEVELS = (
    "every-recipe-on-balanced-and-swaps", "hard-positive-paper-table-1", "hard-positive-paper-table-7",
    "hard-positive-paper-table-10", "ce-clip-tables-1-and-2", "ce-clip-table-3", "ce-clip-table-5",
    "ce-clip-fig-4-and-5a", "mean-scores",
)  # fmt: skip
DIFFERENCES = ("every-recipe-minus-captions-alone", "classes-minus-captions-alone")
BENCHMARKS, SWAPS = "mean of VALSE, VL-CheckList, our layouts", [["swap"]]
SHORT = {"Orig.": "original", "Aug.": "augmented", "Brit.": "brittleness", "drop": "drop"}
COLUMNS |= {
    f"{said}: {short}": (own, metric)
    for said, own in (("REPLACE", [REPLACE]), ("our swaps", SWAPS))
    for short, metric in SHORT.items()
}
TYPES = ("object", "attribute", "action", "relation")
CE = "ce-clip-swaps"
Asked = tuple[str, str, list[list[str]], str]
CLAIMS: list[Asked | None] = [  # model, model before, sets of tests, metric: in the order of the page's tables
    *(("ce-clip-object", f"ce-clip-{one}", *COLUMNS[BENCHMARKS]) for one in TYPES[1:]),
    *((CE, f"ce-clip-{one}", *COLUMNS[BENCHMARKS]) for one in TYPES),
    *((CE, f"ce-clip-fixed-{one}", *COLUMNS[BENCHMARKS]) for one in (2, 5, 10)),
    None,  # the thresholds
    (CE, "base", *COLUMNS["swapped attributes"]),
    (CE, "ce-clip-half", *COLUMNS[BENCHMARKS]),
    *((CE, one, *COLUMNS["T2I R@5"]) for one in ("base", "control")),
    *(("early-ce-clip", one, *COLUMNS["T2I R@5"]) for one in ("early-base", "early-control")),
    *(
        (after, before, sets, metric)
        for after, before, metric in (
            ("hn-swaps", "base", "original"), ("hn-swaps", "base", "brittleness"),
            ("hp-hn-swaps", "hn-swaps", "augmented"), ("hp-hn-swaps", "hn-swaps", "brittleness"),
            ("hp-hn-swaps", "base", "augmented"), ("hp-hn-swaps", "base", "brittleness"),
        )
        for sets in ([REPLACE], SWAPS)
    ),
]  # fmt: skip
SHOWN = re.compile(r"([+-][\d.]+) \[([+-][\d.]+), ([+-][\d.]+)\](\\?\*)?")


class Found(NamedTuple):
    value: float
    low: float
    high: float
    p: float


@cache
def kept(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def items(file: Path, model: str, test: str, metric: str) -> tuple[Any, Any]:
    """1 or 0 for every item of a test, and the number of its photo."""
    arrays = kept(file)
    if "@" in test:
        name, top = test.split("@")
        rank = arrays[f"{model}/{name}" + ("/ranks" if name in SETS else "")]
        photo = arrays["captions/photo"] if name == "t2i" else np.arange(len(rank))
        return (rank < int(top)) * 1.0, photo
    name, _, group = test.partition(":")
    c, p, n = arrays[f"{model}/{name}"].astype(int)
    photo = arrays[f"{name}/photo"].astype(int)
    over, positive = c > n, p > n
    ties = (c == n) | (p == n)
    known = {"original": over, "augmented": over & positive, "brittleness": (over != positive) & ~ties}
    right = (known | {"drop": over & ~positive})[metric]
    chosen = arrays[f"{name}/relation"] == group if group else slice(None)
    return right[chosen] * 1.0, photo[chosen]


def level(file: Path, model: str, sets: list[list[str]], metric: str) -> float:
    over_bases = [
        np.mean([np.mean([items(file, f"{model}-{base}", test, metric)[0].mean() for test in own]) for own in sets])
        for base in range(BASES)
    ]
    return 100 * float(np.mean(over_bases))


def mean_score(file: Path, model: str, head: str) -> float:
    parts = [kept(file)[f"{model}-{base}/{test}"].mean(1) / 100 for base in range(BASES) for test in REPLACE]
    return float(np.mean(parts, 0) @ np.array(MEANS[head]))


def within(t: float, freedom: float) -> float:
    """Student's probability of at most t to either side: its density, summed in angles."""
    angle = np.arctan(t / np.sqrt(freedom))
    grid = (np.arange(200_000) + 0.5) / 200_000
    density = np.cos(grid * np.pi / 2) ** (freedom - 1)
    own = np.cos(grid * angle) ** (freedom - 1)
    return float(own.sum() * angle / (density.sum() * np.pi / 2))


def quantile(freedom: float) -> float:
    low, high = 0.0, 20.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, freedom) < 0.95 else (low, middle)
    return high


def difference(file: Path, after: str, before: str, sets: list[list[str]], metric: str) -> Found:
    """Points, as docs/appendix/statistics.md has them: the photos' error by bootstrap, the bases' by their spread."""
    names: dict[tuple[str, int], int] = {}
    leaves, weights = [], []
    for own in sets:
        for test in own:
            two = [
                np.stack([items(file, f"{model}-{base}", test, metric)[0] for base in range(BASES)])
                for model in (before, after)
            ]
            kind = test if test.partition("@")[0] in SETS else ""  # photos of classes are no photos of COCO
            photo = items(file, f"{after}-0", test, metric)[1]
            places = np.array([names.setdefault((kind, int(one)), len(names)) for one in photo])
            leaves.append((places, two))
            weights.append(1 / len(sets) / len(own))
    parts = np.zeros((2, BASES, len(names)))  # what each photo adds to the level of each model
    share = np.zeros(len(names))
    sums, counts = [], []
    for (places, two), weight in zip(leaves, weights, strict=True):
        for which, values in enumerate(two):
            for base in range(BASES):
                parts[which, base] += np.bincount(places, values[base], len(names)) * weight / len(places)
        share += np.bincount(places, minlength=len(names)) * weight / len(places)
        sums.append(np.bincount(places, (two[1] - two[0]).mean(0), len(names)))
        counts.append(np.bincount(places, minlength=len(names)))
    value = float((parts[1] - parts[0]).sum(1).mean())
    rng = np.random.default_rng(7)
    drawn = np.empty(RESAMPLES)
    for turn in range(RESAMPLES):
        times = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
        means = [one @ times / np.maximum(1, own @ times) for one, own in zip(sums, counts, strict=True)]
        drawn[turn] = np.dot(weights, means)
    photos = float(drawn.var(ddof=1))
    own_variance, doubt = 0.0, photos**2 / (len(names) - 1)
    for side in parts:
        deviations = side.sum(1) - side.sum(1).mean()
        raw = float((deviations**2).sum() / (BASES * (BASES - 1)))
        left = side - side.mean(0) - share * deviations[:, None]
        chance = float((left**2).sum() / (BASES * (BASES - 1)))
        own_variance += max(0.0, raw - chance)
        doubt += raw**2 / (BASES - 1)
    error = (photos + own_variance) ** 0.5
    freedom = max(BASES - 1, (photos + own_variance) ** 2 / doubt)
    half = quantile(freedom) * error
    return Found(100 * value, 100 * (value - half), 100 * (value + half), 1 - within(abs(value) / error, freedom))


def thresholds(rows: list[dict[str, Any]]) -> Found:
    own = [row["parts"] for row in rows if row["name"] == CE]
    gaps = np.array([one["threshold_relation"] - max(one[f"threshold_{kind}"] for kind in TYPES[:3]) for one in own])
    error = gaps.std(ddof=1) / len(gaps) ** 0.5
    half = quantile(len(gaps) - 1) * error
    return Found(gaps.mean(), gaps.mean() - half, gaps.mean() + half, 1 - within(gaps.mean() / error, len(gaps) - 1))


def read(path: Path) -> list[tuple[str, str, str]]:
    """(row, heading, what is printed) of every cell that can be recomputed."""
    first, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    heads = [re.sub(r" \(n = [\d,]+\)$", "", head) for head in first]
    return [
        (row[0], head, shown)
        for row in rows
        for head, shown in zip(heads[1:], row[1:], strict=True)
        if head in COLUMNS or head in MEANS
    ]


def claimed(page: Path) -> list[str]:
    """The comparisons on photos of both tables of claims, as docs/appendix/tables.md prints them."""
    block = page.read_text(encoding="utf-8").split("<!-- numbers: claims -->")[1].split("<!-- end -->")[0]
    rows = [line.strip("| ").split(" | ") for line in block.splitlines() if line.startswith("|")]
    return [shown for row in rows for one in [row[-2]] for shown in one.split("; ") if SHOWN.search(shown)]


def holm(p: list[float]) -> list[float]:
    order = np.argsort(p)
    steps = np.maximum.accumulate([(len(p) - place) * p[index] for place, index in enumerate(order)])
    found = np.empty(len(p))
    found[order] = np.minimum(1, steps)
    return found.tolist()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of cells")
    parser.add_argument("--levels", action="store_true", help="no differences, which take a minute")
    parser.add_argument("--tables", type=Path, default=ROOT / "docs" / "appendix" / "tables" / "coco")
    parser.add_argument("--scores", type=Path, default=ROOT / "studies" / "coco" / "results" / "a.npz")
    parser.add_argument("--rows", type=Path, default=ROOT / "studies" / "coco" / "results" / "a.jsonl")
    options = parser.parse_args()
    missing = [str(path) for path in (options.tables, options.scores, options.rows) if not path.exists()]
    if missing:
        print(f"missing: {', '.join(missing)}", file=sys.stderr)
        return 2
    rows = [json.loads(line) for line in options.rows.read_text(encoding="utf-8").splitlines()]
    measured: dict[str, list[dict[str, float]]] = {}
    for row in rows:
        measured.setdefault(row["name"], []).append(row["found"])
    there = [(table, *one) for table in LEVELS for one in read(options.tables / f"{table}.tsv")]
    wrong = 0
    for place in np.random.default_rng(options.seed).permutation(len(there))[: options.cells]:
        table, row, head, shown = there[place]
        model = MODELS[row]
        if head in MEANS:
            again, fine = f"{(value := mean_score(options.scores, model, head)):.3f}", abs(value - float(shown)) < 6e-4
        else:
            sets, metric = COLUMNS[head]
            again = f"{(value := level(options.scores, model, sets, metric)):.1f}"
            fine = abs(value - float(shown)) <= 0.0501
            if len(sets) == len(sets[0]) == 1 and ":" not in sets[0][0]:
                name, at, top = sets[0][0].partition("@")
                key = f"{name}/accuracy@{top}" if name in SETS else f"{name}@{top}" if at else f"{name}/{metric}"
                if key in measured[model][0]:
                    before = float(np.mean([one[key] for one in measured[model]]))
                    fine &= abs(before - value) < 0.05
                    again += f", measured {before:.1f}"
        wrong += not fine
        print(f"{'same' if fine else 'DIFFERS'}: {table} | {row} | {head}: {shown}, recomputed {again}")
    asked = min(options.cells, len(there))
    print(f"{asked - wrong} of {asked} levels are what the scores give ({len(there):,} can be recomputed)")
    if options.levels:
        return 1 if wrong else 0

    printed: list[tuple[str, str]] = []
    found: list[Found] = []
    for table in DIFFERENCES:
        for row, head, shown in read(options.tables / f"{table}.tsv"):
            printed.append((f"{table} | {row} | {head}", shown))
            found.append(difference(options.scores, MODELS[row], "control", *COLUMNS[head]))
    page = options.tables.parents[1] / "tables.md"
    for shown, claim in zip(claimed(page), CLAIMS, strict=True):
        printed.append((f"claim | {claim[0]} - {claim[1]}" if claim else "claim | thresholds", shown))
        found.append(difference(options.scores, *claim) if claim else thresholds(rows))
    adjusted = holm([one.p for one in found])
    apart = stars = near = 0
    for (what, shown), one, p in zip(printed, found, adjusted, strict=True):
        match = SHOWN.search(shown)
        assert match
        numbers = [float(part) for part in match.groups()[:3]]
        starred = bool(match[4])
        star = p < 0.05 and (one.low > 0 or one.high < 0)
        slack = 0.06 + 0.04 * (one.high - one.low)  # two bootstraps differ by chance
        same = (
            abs(numbers[0] - one.value) <= 0.0501
            and max(abs(numbers[1] - one.low), abs(numbers[2] - one.high)) <= slack
        )
        apart += not same
        close = BORDER[0] < p < BORDER[1]
        near += close
        stars += star != starred and not close
        if not same or star != starred:
            again = f"{one.value:+.1f} [{one.low:+.1f}, {one.high:+.1f}], p = {p:.2g}"
            print(f"{'near 0.05' if same and close else 'DIFFERS'}: {what}: {shown}, recomputed {again}")
    print(
        f"{len(found) - apart} of {len(found)} differences and their intervals are the same; "
        f"{stars} stars differ, {near} p are near 0.05"
    )
    return 1 if wrong or apart or stars else 0


if __name__ == "__main__":
    sys.exit(main())
