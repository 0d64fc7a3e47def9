"""The tables of `run.py --only every`: each recipe of the package on the same photos, and what CE-CLIP's paper claims.

    python -m studies.coco.every            also the end of `python -m studies.coco.table`
    python -m studies.coco.every --claims   those of docs/appendix/tables.md, "Which claims hold where"

Three bases; nothing was chosen. CE-CLIP also has one type of negatives at a time, fixed thresholds, half of the photos
and bases of one epoch. Differences are over photos and bases, as `equipoise compare` has them. One Holm
correction covers all comparisons that are printed here of photos, another those of the drawn world. A model that is
not on all three bases is in no comparison.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from copy import copy
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core.stats import LEVEL, t_quantile, within
from equipoise.evaluation.comparing.differences import LoadedRun
from equipoise.evaluation.comparing.inference import holm
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Change, Difference, Interval
from equipoise.evaluation.scores import ItemScores, Lists, Scores
from studies.coco.bases import RECALLS
from studies.coco.labels import JOINED, METRICS, SHORT
from studies.coco.scores import read_scores
from studies.tables.lib.findings import CLAIMS as PUBLISHED
from studies.tables.lib.published import rows as printed

RESULTS = Path(__file__).parent / "results"
WORLD = RESULTS.parents[1] / "tables" / "results" / "scores.npz"
SEEDS = (0, 1, 2)
BASE = "base-0"  # a model that has everything
RECIPES = {
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
NAMES = {"base": "base", "control": "captions alone", **RECIPES}
MORE = {
    "ce-clip-half": "CE-CLIP, half the photos",
    "control-half": "captions alone, half the photos",
    "early-base": "base of one epoch",
    "early-control": "captions alone, from one epoch",
    "early-ce-clip": "CE-CLIP, from one epoch",
}
TYPES = ("object", "attribute", "action", "relation")
FIXED = ("2", "5", "10")
ABLATED = {
    **{name: NAMES[name] for name in ("base", "control", "ce-clip-swaps")},
    **{f"ce-clip-{one}": f"negatives of {one} alone" for one in TYPES},
    **{f"ce-clip-fixed-{one}": f"threshold fixed at {one}" for one in FIXED},
}
STANDARD = ("base", "control", "hn-swaps", "hp-hn-swaps", "ce-clip-swaps")
CLASSES = {"imagenet": "ImageNet", "cifar10": "CIFAR-10", "pets": "pets", "scenes": "scenes"}
LAYOUTS = {
    "replace_obj": "replace object", "replace_att": "attribute", "replace_rel": "relation", "swap_obj": "swap object",
    "swap_att": "swap attribute", "add_obj": "add object", "add_att": "add attribute",
}  # fmt: skip
CHECKED = {  # of VL-CheckList, the records of Visual Genome
    "Attribute_action": "attribute action", "Attribute_color": "colour", "Attribute_material": "material",
    "Attribute_size": "size", "Attribute_state": "state", "Relation_action": "relation action",
    "Relation_spatial": "relation spatial",
}  # fmt: skip
Parts = dict[str, tuple[str, ...]]  # set: its tests, "NAME", "NAME:GROUP" or "NAME@RANK"; sets, then tests are averaged
_VALSE = ("foil", "coreference")
_CHECKED = tuple(f"vl_checklist:{name}" for name in CHECKED)
_LAYOUTS = tuple(f"sugarcrepe:{name}" for name in LAYOUTS)
KINDS: dict[str, dict[str, Parts]] = {
    "a": {
        "replace": {"": JOINED["replace"]},
        "valse": {"": _VALSE},
        "vl_checklist": {"": _CHECKED},
        "sugarcrepe": {"": _LAYOUTS},
        "all": {"VALSE": _VALSE, "VL-CheckList": _CHECKED, "SugarCrepe": _LAYOUTS},
        "recalls": {"": RECALLS},
        "classes": {"": tuple(f"{name}@1" for name in CLASSES)},
    },
    "world": {
        "all": {
            "ARO relation": ("relations",),
            "ARO attribution": ("swap",),
            "VALSE": ("unseen:absence", "unseen:number", "relations", "actions", "objects"),
            "VL-CheckList": (
                "attributes:colour", "attributes:texture", "attributes:size", "objects", "actions", "relations",
            ),
            "SugarCrepe": ("objects", "attributes", "relations", "swap"),
        },
    },
}  # fmt: skip
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
CE = "ce-clip-swaps"
HOLDS, FAILS, UNCLEAR = "holds", "**contradicted**", "not shown"


# ---------------------------------------------------------------------------- what is kept


@cache
def held(store: str) -> dict[str, NDArray[Any]]:
    """Of the drawn world under the names that `a` has: one finetuning, scores of three texts."""
    if store == "a":
        return read_scores(RESULTS / "a.npz")
    found = {}
    for key, values in read_scores(WORLD).items():
        if key.startswith("scores/"):
            _, model, test = key.split("/")
            c, over, positive = values.astype(np.float64)  # s(c), and what s(c) and s(p) are above s(n)
            found[f"{model}-0/{test}"] = np.stack([over, positive, 0 * c])
        elif key.startswith("test/"):
            found[key.removeprefix("test/").replace("/picture", "/photo").replace("/type", "/relation")] = values
    return found


@cache
def models() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (RESULTS / "a.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["name"], []).append(row)
    return found


def seeds(store: str, *names: str) -> list[int]:
    """The bases that all of these models start from; of the world there is one finetuning."""
    test = "foil" if store == "a" else "swap"
    return [seed for seed in SEEDS if all(f"{name}-{seed}/{test}" in held(store) for name in names)]


def tests(store: str, kind: str) -> list[tuple[str, str]]:
    """(set, test) of every part of a kind."""
    return [(name, test) for name, own in KINDS[store].get(kind, {"": (kind,)}).items() for test in own]


def texts(store: str, model: str, test: str) -> NDArray[Any]:
    """Scores of caption, positive and negative: cosines."""
    name, _, group = test.partition(":")
    found = held(store)[f"{model}/{name}"][:, held(store)[f"{name}/relation"] == group if group else slice(None)]
    return found / 100 if found.dtype.kind == "i" else found


def gaps(store: str, model: str, test: str) -> NDArray[Any]:
    """How far caption and positive are above the negative; of a search or a class, whether the first TOP have it."""
    name, at, top = test.partition("@")
    if at:
        rank = held(store)[f"{model}/{name}" + "/ranks" * (name in CLASSES)]
        return np.tile(np.where(rank < int(top), 1.0, -1.0), (2, 1))
    c, p, n = texts(store, model, test)
    return np.stack([c - n, p - n])


def photos(store: str, test: str) -> list[str]:
    """The photo of each item of a test."""
    name, at, _ = test.partition("@")
    if name == "i2t" or name in CLASSES:
        return [f"{name if at and name in CLASSES else ''}{place}" for place in range(gaps(store, BASE, test).shape[1])]
    name, _, group = ("captions", "", "") if at else name.partition(":")
    own = held(store)[f"{name}/photo"][held(store)[f"{name}/relation"] == group if group else slice(None)]
    return [f"{name}/{photo}" if store == "world" else str(photo) for photo in own]


# ---------------------------------------------------------------------------- numbers


def outcome(gap: NDArray[Any], metric: str) -> NDArray[np.bool_]:
    c, p = gap
    found: NDArray[np.bool_] = {
        "original": c > 0,
        "augmented": (c > 0) & (p > 0),
        "brittleness": ((c > 0) & (p < 0)) | ((c < 0) & (p > 0)),
        "drop": (c > 0) & (p <= 0),
    }[metric]
    return found


def level(name: str, kind: str, metric: str = "original") -> float:
    """In percent, over bases, sets and their tests."""
    found: dict[str, list[float]] = {}
    for seed in seeds("a", name):
        for group, test in tests("a", kind):
            found.setdefault(f"{seed}/{group}", []).append(outcome(gaps("a", f"{name}-{seed}", test), metric).mean())
    return 100 * float(np.mean([np.mean(own) for own in found.values()]))


def paired(store: str, kind: str) -> bool:
    """Whether its positives count; of a search, a class and what has none, only Original accuracy is asked."""
    return kind == "replace" or not (kind in KINDS[store] or "@" in kind or ":" in kind)


@cache
def unscored(store: str, kind: str) -> Scores:
    return Scores(
        ItemScores(
            id=f"{group}/{test}/{place}", image=photo, caption=0.0, positives=[0.0], negatives=[0.0],
            tags={"set": group, "test": test},
        )
        for group, test in tests(store, kind)
        for place, photo in enumerate(photos(store, test))
    )  # fmt: skip


@cache
def run(store: str, model: str, kind: str) -> LoadedRun:
    found = np.concatenate([gaps(store, model, test) for _, test in tests(store, kind)], 1)
    rows = copy(unscored(store, kind))
    texts_of = 1 + paired(store, kind)
    rows.right = Lists.of(found[:texts_of].T.ravel(), np.full(len(rows), texts_of))
    return LoadedRun(Path(model), (), rows, outcomes_of(rows))


@cache
def difference(store: str, after: str, before: str, kind: str) -> Difference:
    own = seeds(store, after, before)
    first, second = ([run(store, f"{name}-{seed}", kind) for seed in own] for name in (before, after))
    return compare_models(first, second, path=("set", "test"))


@cache
def thresholds() -> Change:
    """CE-CLIP's last threshold of relation minus the highest of the others; Student's test over the bases."""
    own = np.array([last(row, "relation") - max(last(row, one) for one in TYPES[:3]) for row in models()[CE]])
    error = own.std(ddof=1) / len(own) ** 0.5
    half = t_quantile(LEVEL, len(own) - 1) * error
    p = 1 - within(abs(own.mean()) / error, len(own) - 1)
    return Change(difference=own.mean(), interval=Interval(own.mean() - half, own.mean() + half), p=p)


def last(row: dict[str, Any], one: str) -> float:
    return float(row["parts"][f"threshold_{one}"])


def has(row: dict[str, Any], one: str) -> bool:
    return f"threshold_{one}" in row["parts"]


Asked = tuple[str, str, str, str, str]  # store, after, before, kind, metric


def measured(asked: Asked) -> Change:
    store, after, before, kind, metric = asked
    found = thresholds() if kind == "thresholds" else difference(store, after, before, kind)[metric]
    assert found is not None
    return found


@cache
def corrected() -> dict[Asked, Change]:
    """Every comparison that is printed, with its corrected p: photos and the drawn world, each a family."""
    found: dict[Asked, Change] = {}
    for store in KINDS:
        listed = sorted({asked for asked in family() if asked[0] == store}, key=lambda asked: asked[3:])
        own = {asked: measured(asked) for asked in listed}  # by kind: runs of one kind share their resamples
        for (asked, change), p in zip(own.items(), holm([change.p or 0.0 for change in own.values()]), strict=True):
            found[asked] = change.model_copy(update={"adjusted": p})
    return found


def family() -> Iterator[Asked]:
    for name in (name for name in known(NAMES) if name != "control"):
        yield from (("a", name, "control", kind, metric) for kind, metric in COLUMNS)
        yield from (("a", name, "control", f"{one}@1", "original") for one in CLASSES if name in STANDARD)
    for claim in (*CLAIMS, *hard_positives()):
        yield from (*claim.world, *on_photos(claim))


def cell(asked: Asked) -> str:
    change = corrected()[asked]
    scale = 1 if asked[3] == "thresholds" else 100
    low, high = change.interval
    verdict = "\\*" if change.significant else f" (p = {change.adjusted:.2g})" if low > 0 or high < 0 else ""
    return f"{scale * change.difference:+.1f} [{scale * low:+.1f}, {scale * high:+.1f}]{verdict}"


# ---------------------------------------------------------------------------- claims


class Claim(NamedTuple):
    """It holds where every comparison goes its way significantly; one that goes the other way contradicts it."""

    words: str
    world: tuple[Asked, ...] = ()
    photos: tuple[Asked, ...] = ()
    way: int = 1
    on: str = ""


def against(store: str, after: str, before: Iterable[str], kind: str, metric: str = "original") -> tuple[Asked, ...]:
    return tuple((store, after, one, kind, metric) for one in before)


CLAIMS = (
    Claim(
        "of the four types of negatives, those of objects help most (Fig. 4)",
        against("world", "ce-object", [f"ce-{one}" for one in TYPES[1:]], "all"),
        against("a", "ce-clip-object", [f"ce-clip-{one}" for one in TYPES[1:]], "all"),
        on="the mean of the benchmarks",
    ),
    Claim(
        "all four types together are best (Fig. 4)",
        against("world", "ce-clip", [f"ce-{one}" for one in TYPES], "all"),
        against("a", CE, [f"ce-clip-{one}" for one in TYPES], "all"),
        on="the mean of the benchmarks",
    ),
    Claim(
        "adaptive thresholds are better than fixed ones (Fig. 5a)",
        against("world", "ce-clip", [f"ce-fixed-{one}" for one in FIXED], "all"),
        against("a", CE, [f"ce-clip-fixed-{one}" for one in FIXED], "all"),
        on="the mean of the benchmarks",
    ),
    Claim(
        "relation needs the largest threshold (Fig. 5b)",
        photos=(("a", CE, "the others", "thresholds", ""),),
        on="last step, logits above the highest other",
    ),
    Claim(
        "ARO attribution rises (Table 1)",
        against("world", "ce-clip", ["base"], "swap"),
        against("a", CE, ["base"], "sugarcrepe:swap_att"),
        on="swapped attributes",
    ),
    Claim(
        "with more data, CE-CLIP+ is above CE-CLIP (Tables 1 to 5)",
        against("world", "ce-clip-plus", ["ce-clip"], "all"),
        against("a", CE, ["ce-clip-half"], "all"),
        on="the mean of the benchmarks",
    ),
    Claim(
        "text-to-image recall rises over the base (Table 5)",
        photos=against("a", CE, ["base"], "t2i@5"),
        on="recall@5",
    ),
    Claim(
        "... and over captions alone (Table 5)",
        photos=against("a", CE, ["control"], "t2i@5"),
        on="recall@5",
    ),
    Claim("... over a base of one epoch", photos=against("a", "early-ce-clip", ["early-base"], "t2i@5"), on="recall@5"),
    Claim(
        "... over captions alone, from a base of one epoch",
        photos=against("a", "early-ce-clip", ["early-control"], "t2i@5"),
        on="recall@5",
    ),
)
WORLD_SAYS = {  # of what no scores are kept: cells of its tables
    CLAIMS[3].words: ("one finetuning: relation 1.1, attribute 2.0, object 4.5, action 5.7", UNCLEAR),
    CLAIMS[6].words: ("60.4 [57.4, 63.3], base 68.8 [65.9, 71.6]", FAILS),
    CLAIMS[7].words: ("60.4 [57.4, 63.3], captions alone 60.4 [57.4, 63.3]", UNCLEAR),
}


def hard_positives() -> Iterator[Claim]:
    """The claims of Kamath et al. on photos; SWAP's place is taken by our own swaps."""
    ours = {"base": "base", "hn": "hn-swaps", "hp-hn": "hp-hn-swaps"}
    kinds = {"REPLACE": "replace", "SWAP": "swap"}
    for words, before, after, metric, way, columns in PUBLISHED:
        if {before.name, after.name} <= ours.keys():
            for column in columns:
                asked = ("a", ours[after.name], ours[before.name], kinds[column], metric)
                yield Claim(words, (), (asked,), way, "REPLACE" if column == "REPLACE" else "our swaps")


def on_photos(claim: Claim) -> tuple[Asked, ...]:
    """What a claim asks of photos, if every model is there on all three bases."""
    names = {name for _, after, before, *_ in claim.photos for name in (after, before)} - {"the others"}
    return claim.photos if len(known(names)) == len(names) else ()


def verdict(claim: Claim, asked: Sequence[Asked]) -> str:
    if not asked:
        return "–"
    found = [corrected()[one] for one in asked]
    if any(change.significant and change.difference * claim.way < 0 for change in found):
        return FAILS
    return HOLDS if all(change.significant for change in found) else UNCLEAR


def said(asked: Sequence[Asked]) -> str:
    """The comparisons of a claim; of several, whom each is with."""
    return (
        "–"
        if not asked
        else "; ".join(
            (f"{one[2].removeprefix('ce-').removeprefix('clip-')}: " if len(asked) > 1 else "") + cell(one)
            for one in asked
        )
    )


def claims() -> None:
    table(
        ("CE-CLIP's claim", "on", "the world", "the world: it", "COCO photos", "photos: it"),
        [
            (claim.words, claim.on, *world(claim), said(on_photos(claim)), verdict(claim, on_photos(claim)))
            for claim in CLAIMS
        ],
    )  # fmt: skip
    table(
        ("the claim of Kamath et al.", "on", "COCO photos", "photos: it"),
        [(claim.words, claim.on, said(claim.photos), verdict(claim, claim.photos)) for claim in hard_positives()],
    )
    legend()


def world(claim: Claim) -> tuple[str, str]:
    if claim.world:
        return said(claim.world), verdict(claim, claim.world)
    return WORLD_SAYS.get(claim.words, ("–", "–"))


# ---------------------------------------------------------------------------- tables


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    print("| " + " | ".join(heads) + " |")
    print("| --- |" + " ---: |" * (len(heads) - 1))
    print("\n".join("| " + " | ".join(line) + " |" for line in lines), end="\n\n")


def legend() -> None:
    sizes = {store: sum(asked[0] == store for asked in corrected()) for store in KINDS}
    print(
        f"\\*: significant, corrected (Holm) for {sizes['a']} comparisons on photos, {sizes['world']} on the world. "
        "p: this corrected value, where the interval excludes zero and the difference is not significant."
    )


def known(names: Iterable[str]) -> list[str]:
    """Those with all three bases: rows of other bases do not compare."""
    return [name for name in names if seeds("a", name) == list(SEEDS)]


def levels(title: str, columns: Columns, names: dict[str, str] = NAMES) -> None:
    table(
        (title, *(f"{head} (n = {size(kind):,})" for (kind, _), head in columns.items())),
        [(names[name], *(f"{level(name, *column):.1f}" for column in columns)) for name in known(names)],
    )


def size(kind: str) -> int:
    """Items; of the recalls, photos."""
    listed = [("", "i2t@1")] if kind == "recalls" else tests("a", kind)
    return sum(gaps("a", BASE, test).shape[1] for _, test in listed)


def changes(title: str, names: Iterable[str], columns: Columns) -> None:
    table(
        (title, *columns.values()),
        [
            (NAMES[name], *(cell(("a", name, "control", *column)) for column in columns))
            for name in known(names)
            if name != "control"
        ],
    )


def mean_scores() -> None:
    """Table 2 and Table 9: how high the three texts score, and how far the caption falls."""

    def of(name: str, seed: int, kind: str) -> Any:
        return np.mean([texts("a", f"{name}-{seed}", test).mean(1) for _, test in tests("a", kind)], 0)

    lines = []
    for name in known(NAMES):
        c, p, n = np.mean([of(name, seed, "replace") for seed in SEEDS], 0)
        cells = [c, p, n, c - n, p - n, c - p]
        for kind in ("replace", "swap"):
            found = fall(name, kind)
            cells.append(found if name != "base" else "")
        lines.append((NAMES[name], *(one if isinstance(one, str) else f"{one:.3f}" for one in cells)))
    table(
        (
            "mean scores", "REPLACE: s(c)", "s(p)", "s(n)", "s(c) - s(n)", "s(p) - s(n)", "s(c) - s(p)",
            "s(c) minus the base's, REPLACE", "s(c) minus the base's, our swaps",
        ),
        lines,
    )  # fmt: skip
    for name, words in (("hp_table_2", "s(c), s(n), s(p) on REPLACE"), ("hp_table_9", "s(c) on REPLACE and SWAP")):
        own = "; ".join(f"{row} {' / '.join(f'{one:.3f}' for one in values)}" for row, values in printed(name).items())
        print(f"Published for CLIP ViT-B/32, {words}: {own}.\n")


def fall(name: str, kind: str) -> str:
    """How far the caption's score is from the base's, resampling photos and bases."""
    rng, numbers, found = np.random.default_rng(0), [], []
    for _, test in tests("a", kind):
        places = np.array([int(photo) for photo in photos("a", test)])
        gap = np.stack([texts("a", f"{name}-{seed}", test)[0] - texts("a", f"base-{seed}", test)[0] for seed in SEEDS])
        many = 1 + int(max(held("a")[f"{own}/photo"].max() for _, own in tests("a", kind)))
        found.append(np.stack([np.bincount(places, own, many) for own in gap]))
        numbers.append(np.bincount(places, minlength=many))
    sums, counts = np.stack(found), np.stack(numbers)  # tests, bases, photos
    drawn = []
    for _ in range(1000):
        bases = rng.integers(len(SEEDS), size=len(SEEDS) - 1)  # one less: few bases spread too little
        times = np.bincount(rng.integers(counts.shape[1], size=counts.shape[1]), minlength=counts.shape[1])
        drawn.append(np.mean(sums[:, bases].mean(1) @ times / (counts @ times)))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{np.mean(sums.mean(1).sum(1) / counts.sum(1)):+.3f} [{low:+.3f}, {high:+.3f}]"


def last_thresholds() -> None:
    names = NAMES | MORE | ABLATED
    trained = (CE, "ce-clip-half", "early-ce-clip", *(f"ce-clip-{one}" for one in TYPES))
    table(
        ("CE-CLIP's thresholds at the last step", *TYPES),
        [
            (f"{names[name]}, {row['base']}", *(f"{last(row, one):.1f}" if has(row, one) else "" for one in TYPES))
            for name in known(trained)
            for row in models()[name]
        ],
    )


def show() -> None:
    levels("every recipe, on `balanced` and swaps", COLUMNS)
    changes("every recipe, minus captions alone", NAMES, COLUMNS)
    levels(
        "hard-positive paper, Table 1",
        {
            (kind, metric): f"{said}: {short}"
            for kind, said in (("replace", "REPLACE"), ("swap", "our swaps"))
            for metric, short in (SHORT | {"drop": "drop"}).items()
        },
    )  # fmt: skip
    levels(
        "hard-positive paper, Table 7",
        {(f"replace_{part}", one): f"{part}: {one}" for part in ("attributes", "relations") for one in METRICS},
    )  # fmt: skip
    mean_scores()
    standard = {("t2i@1", "original"): "image R@1", ("i2t@1", "original"): "text R@1"}
    ranked = {(f"{name}@{top}", "original"): f"{said} acc@{top}" for name, said in CLASSES.items() for top in (1, 5)}
    levels("hard-positive paper, Table 10", ranked | standard)
    first = {(f"{name}@1", "original"): f"{said} acc@1" for name, said in CLASSES.items()}
    changes("classes, minus captions alone", STANDARD, first)
    both = NAMES | MORE
    levels(
        "CE-CLIP, Tables 1 and 2",
        {("foil", "original"): "VALSE foil-it", ("coreference", "original"): "VALSE coreference"}
        | {(f"vl_checklist:{name}", "original"): said for name, said in CHECKED.items()},
        both,
    )  # fmt: skip
    levels("CE-CLIP, Table 3", {(f"sugarcrepe:{name}", "original"): said for name, said in LAYOUTS.items()}, both)
    five = {
        ("sugarcrepe:swap_att", "original"): "swapped attributes", ("valse", "original"): "VALSE, two parts",
        ("vl_checklist", "original"): "VL-CheckList", ("sugarcrepe", "original"): "our layouts",
        ("t2i@5", "original"): "T2I R@5", ("i2t@5", "original"): "I2T R@5", ("classes", "original"): "classes",
    }  # fmt: skip
    levels("CE-CLIP, Table 5", five, both)
    mean_of = {("all", "original"): "mean of VALSE, VL-CheckList, our layouts"}
    levels("CE-CLIP, Fig. 4 and 5a", mean_of | dict(list(five.items())[:4]), ABLATED)
    last_thresholds()
    legend()


def shown() -> str:
    with redirect_stdout(StringIO()) as out:
        show()
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--claims", action="store_true", help="the claims instead")
    (claims if parser.parse_args().claims else show)()


if __name__ == "__main__":
    main()
