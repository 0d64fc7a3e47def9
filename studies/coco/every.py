"""The tables of every recipe of the package on the same photos, and of the claims of CE-CLIP's paper.

    python -m studies.coco.every            also the end of `python -m studies.coco.table`
    python -m studies.coco.every --claims   those of docs/appendix/tables.md, "Which claims hold where"

Three bases; nothing was chosen. CE-CLIP also has one type of negatives at a time, fixed thresholds, half of the photos
and bases of one epoch. Differences are over photos and bases, as `equipoise compare` has them. One Holm
correction covers all comparisons that are printed here of photos, another those of the drawn world. A model that is
not on all three bases is in no comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.evaluation.record import Change
from studies.coco import claims
from studies.coco.claims import CE, FIXED, SEEDS, TYPES, known, last
from studies.coco.kept import (
    SETS,
    Asked,
    cell,
    corrected,
    level,
    models,
    photos,
    resampled,
    scores,
    size,
    tests,
    texts,
)
from studies.coco.labels import CHECKED, CLASSES, LAYOUTS, METRICS, SHORT
from studies.harness import ranged
from studies.harness import show as table
from studies.harness.inputs import arguments

NAMES = {
    "base": "base",
    "control": "captions alone",
    "hn-swaps": "`hn_only`",
    "hp-hn-swaps": "`hard_positives_kamath_2024`",
    "negclip-swaps": "`negclip_yuksekgonul_2023`",
    "svlc-swaps": "`svlc_doveh_2023`",
    "dac-swaps": "`dac_doveh_2023`",
    "ce-clip-swaps": "`ce_clip_zhang_2024`",
    "fsc-swaps": "`fsc_clip_oh_2024`",
    "read-swaps": "`read_clip_kwon_2025`",
    "clic-swaps": "`clic_peleg_2025`",
    "degla-swaps": "`degla_hu_2025`",
    "cs-swaps": "`cs_clip_kargi_2026`",
    "ours-swaps": "`equipoise_2026`",
}
MORE = {
    "ce-clip-half": "CE-CLIP, half the photos",
    "control-half": "captions alone, half the photos",
    "early-base": "base of one epoch",
    "early-control": "captions alone, from one epoch",
    "early-ce-clip": "CE-CLIP, from one epoch",
}
ABLATED = {
    **{name: NAMES[name] for name in ("base", "control", "ce-clip-swaps")},
    **{f"ce-clip-{one}": f"negatives of {one} alone" for one in TYPES},
    **{f"ce-clip-fixed-{one}": f"threshold fixed at {one}" for one in FIXED},
}
STANDARD = ("base", "control", "hn-swaps", "hp-hn-swaps", "ce-clip-swaps")
Columns = dict[tuple[str, str], str]  # kind, metric: head
COLUMNS: Columns = {  # of the main table
    ("replace", "augmented"): "REPLACE: Aug.",
    ("replace", "brittleness"): "REPLACE: Brit.",
    ("negclip", "original"): "NegCLIP's pairs: Orig.",
    ("vsr_symmetric", "augmented"): "VSR symmetric: Aug.",
    ("vsr_inverse", "augmented"): "VSR inverse: Aug.",
    ("foil", "augmented"): "VALSE foil-it: Aug.",
    ("unseen", "augmented"): "our items, unseen words: Aug.",
    ("sugarcrepe", "original"): "our layouts: Orig.",
    ("recalls", "original"): "recalls",
    ("classes", "original"): "classes",
}
FIRST: Columns = {(f"{name}@1", "original"): f"{said} acc@1" for name, said in CLASSES.items()}


@cache
def compared() -> dict[Asked, Change]:
    """Every comparison that is printed, with its corrected p: photos and the drawn world, each a family."""
    keys = [*claims.all_asked(), *changed(NAMES, COLUMNS), *changed(STANDARD, FIRST)]
    families = [corrected((key for key in keys if key[0] == store), claims.measured) for store in SETS]
    return families[0] | families[1]


def changed(names: Iterable[str], columns: Columns) -> Iterator[Asked]:
    for name in (name for name in known(names) if name != "control"):
        yield from (("a", name, "control", *column) for column in columns)


def legend() -> None:
    sizes = {store: sum(key[0] == store for key in compared()) for store in SETS}
    print(
        f"\\*: significant, corrected (Holm) for {sizes['a']} comparisons on photos, {sizes['world']} on the world. "
        "p: this corrected value, where the interval excludes zero and the difference is not significant."
    )


def levels(title: str, columns: Columns, names: dict[str, str] = NAMES) -> None:
    table(
        (title, *(f"{head} (n = {size('a', kind):,})" for (kind, _), head in columns.items())),
        [(names[name], *(f"{level('a', name, *column):.1f}" for column in columns)) for name in known(names)],
    )


def changes(title: str, names: Iterable[str], columns: Columns) -> None:
    lines: dict[str, list[str]] = {}
    for key in changed(names, columns):
        lines.setdefault(key[1], [NAMES[key[1]]]).append(cell(compared()[key]))
    table((title, *columns.values()), lines.values())


def mean_scores() -> None:
    """Table 2 and Table 9: how high the three texts score, and how far the caption falls."""

    def of(name: str, seed: int) -> Any:
        return np.mean([texts("a", f"{name}-{seed}", test).mean(1) for _, test in tests("a", "replace")], 0)

    lines = []
    for name in known(NAMES):
        c, p, n = np.mean([of(name, seed) for seed in SEEDS], 0)
        cells = [f"{value:.3f}" for value in (c, p, n, c - n, p - n, c - p)]
        falls = (fall(name, kind) if name != "base" else "" for kind in ("replace", "swap"))
        lines.append([NAMES[name], *cells, *falls])
    heads = ("REPLACE: s(c)", "s(p)", "s(n)", "s(c) - s(n)", "s(p) - s(n)", "s(c) - s(p)")
    below = "s(c) minus the base's"
    table(("mean scores", *heads, f"{below}, REPLACE", f"{below}, our swaps"), lines)


@cache
def draws(many: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return resampled(np.random.default_rng(0), len(SEEDS), many, 1000)


def fall(name: str, kind: str) -> str:
    """How far the caption's score is from the base's, resampling photos and bases."""
    numbers, totals = [], []
    many = 1 + int(max(scores("a")[f"{test}/photo"].max() for _, test in tests("a", kind)))
    for _, test in tests("a", kind):
        places = np.array([int(photo) for photo in photos("a", test)])
        gap = np.stack([texts("a", f"{name}-{seed}", test)[0] - texts("a", f"base-{seed}", test)[0] for seed in SEEDS])
        totals.append(np.stack([np.bincount(places, own, many) for own in gap]))
        numbers.append(np.bincount(places, minlength=many))
    sums, counts = np.stack(totals), np.stack(numbers)  # tests, bases, photos
    bases, times = draws(many)
    ratios = sums @ times.T / (counts @ times.T)[:, None]  # tests, bases, draws
    drawn = np.take_along_axis(ratios.mean(0), bases.T, 0).mean(0)
    value = np.mean(sums.mean(1).sum(1) / counts.sum(1))
    return ranged(value, np.quantile(drawn, (0.025, 0.975)), "+.3f", 1)


def last_thresholds() -> None:
    names = NAMES | MORE | ABLATED
    trained = (CE, "ce-clip-half", "early-ce-clip", *(f"ce-clip-{kind}" for kind in TYPES))
    lines = [
        (f"{names[name]}, {row['base']}",
         *(f"{last(row, kind):.1f}" if f"threshold_{kind}" in row["parts"] else "" for kind in TYPES))
        for name in known(trained) for row in models("a")[name]
    ]  # fmt: skip
    table(("CE-CLIP's thresholds at the last step", *TYPES), lines)


def show() -> None:
    levels("every recipe, on `balanced` and swaps", COLUMNS)
    changes("every recipe, minus captions alone", NAMES, COLUMNS)
    four = {
        (kind, metric): f"{said}: {short}"
        for kind, said in (("replace", "REPLACE"), ("swap", "our swaps"))
        for metric, short in (SHORT | {"drop": "drop"}).items()
    }
    levels("hard-positive paper, Table 1", four)
    parts = {(f"replace_{part}", one): f"{part}: {one}" for part in ("attributes", "relations") for one in METRICS}
    levels("hard-positive paper, Table 7", parts)
    mean_scores()
    standard = {("t2i@1", "original"): "image R@1", ("i2t@1", "original"): "text R@1"}
    ranked = {(f"{name}@{top}", "original"): f"{said} acc@{top}" for name, said in CLASSES.items() for top in (1, 5)}
    levels("hard-positive paper, Table 10", ranked | standard)
    changes("classes, minus captions alone", STANDARD, FIRST)
    every_name = NAMES | MORE
    valse = {("foil", "original"): "VALSE foil-it", ("coreference", "original"): "VALSE coreference"}
    checked = {(f"vl_checklist:{name}", "original"): said for name, said in CHECKED.items()}
    levels("CE-CLIP, Tables 1 and 2", valse | checked, every_name)
    levels("CE-CLIP, Table 3", {(f"sugarcrepe:{name}", "original"): said for name, said in LAYOUTS.items()}, every_name)
    five = {
        ("sugarcrepe:swap_att", "original"): "swapped attributes", ("valse", "original"): "VALSE, two parts",
        ("vl_checklist", "original"): "VL-CheckList", ("sugarcrepe", "original"): "our layouts",
        ("t2i@5", "original"): "T2I R@5", ("i2t@5", "original"): "I2T R@5", ("classes", "original"): "classes",
    }  # fmt: skip
    levels("CE-CLIP, Table 5", five, every_name)
    mean_of = {("all", "original"): "mean of VALSE, VL-CheckList, our layouts"}
    levels("CE-CLIP, Fig. 4 and 5a", mean_of | dict(list(five.items())[:4]), ABLATED)
    last_thresholds()
    print("Every recipe on the same texts:\n")
    legend()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--claims", action="store_true", help="the claims instead")
    if parser.parse_args().claims:
        claims.show_claims(compared())
        legend()
    else:
        show()


if __name__ == "__main__":
    main()
