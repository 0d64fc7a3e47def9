"""The claims of the papers, and whether they hold on the drawn world and on COCO photos; every.py prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.stats import LEVEL, t_quantile, within
from equipoise.evaluation.record import Change, Interval
from studies.coco import kept
from studies.coco.kept import Asked, cell, models, seeds
from studies.harness import show
from studies.tables.lib.findings import CLAIMS as PUBLISHED

SEEDS = [0, 1, 2]
TYPES = ("object", "attribute", "action", "relation")
FIXED = ("2", "5", "10")
CE, THRESHOLDS = "ce-clip-swaps", "thresholds"
HOLDS, FAILS, UNCLEAR = "holds", "**contradicted**", "not shown"


class Claim(NamedTuple):
    """It holds where every comparison goes its way significantly; one that goes the other way contradicts it."""

    words: str
    on: str
    world: tuple[Asked, ...] = ()
    photos: tuple[Asked, ...] = ()
    way: int = 1
    said: str = ""  # of the world, where no scores are kept: a cell of its tables
    verdict: str = ""


def asked(store: str, after: str, before: Iterable[str], kind: str = "all", metric: str = "original") -> Any:
    return tuple((store, after, model, kind, metric) for model in before)


def both(words: str, model: str, others: Iterable[str]) -> Claim:
    """A claim about the mean of the benchmarks, on the world and on photos."""
    own = list(others)
    on_photos = asked("a", CE if model == "ce-clip" else f"ce-clip-{model[3:]}", [f"ce-clip-{name}" for name in own])
    return Claim(words, "the mean of the benchmarks", asked("world", model, [f"ce-{name}" for name in own]), on_photos)


def recall(words: str, after: str, before: str, said: str = "", verdict: str = "") -> Claim:
    photos = asked("a", after, [before], "t2i@5")
    return Claim(words, "recall@5", photos=photos, said=said, verdict=verdict)


CLAIMS = (
    both("of the four types of negatives, those of objects help most (Fig. 4)", "ce-object", TYPES[1:]),
    both("all four types together are best (Fig. 4)", "ce-clip", TYPES),
    both("adaptive thresholds are better than fixed ones (Fig. 5a)", "ce-clip", [f"fixed-{one}" for one in FIXED]),
    Claim(
        "relation needs the largest threshold (Fig. 5b)", "last step, logits above the highest other",
        photos=(("a", CE, "the others", THRESHOLDS, ""),),
        said="one finetuning: relation 1.1, attribute 2.0, object 4.5, action 5.7", verdict=UNCLEAR,
    ),
    Claim(
        "ARO attribution rises (Table 1)", "swapped attributes",
        asked("world", "ce-clip", ["base"], "swap"), asked("a", CE, ["base"], "sugarcrepe:swap_att"),
    ),
    Claim(
        "with more data, CE-CLIP+ is above CE-CLIP (Tables 1 to 5)", "the mean of the benchmarks",
        asked("world", "ce-clip-plus", ["ce-clip"]), asked("a", CE, ["ce-clip-half"]),
    ),
    recall(
        "text-to-image recall rises over the base (Table 5)", CE, "base",
        "60.4 [57.4, 63.3], base 68.8 [65.9, 71.6]", FAILS,
    ),
    recall(
        "... and over captions alone (Table 5)", CE, "control",
        "60.4 [57.4, 63.3], captions alone 60.4 [57.4, 63.3]", UNCLEAR,
    ),
    recall("... over a base of one epoch", "early-ce-clip", "early-base"),
    recall("... over captions alone, from a base of one epoch", "early-ce-clip", "early-control"),
)  # fmt: skip


def hard_positives() -> Iterator[Claim]:
    """The claims of Kamath et al. on photos; SWAP's place is taken by our own swaps."""
    ours = {"base": "base", "hn": "hn-swaps", "hp-hn": "hp-hn-swaps"}
    kinds = {"REPLACE": "replace", "SWAP": "swap"}
    for words, before, after, metric, way, columns in PUBLISHED:
        if {before.name, after.name} <= ours.keys():
            for column in columns:
                key = ("a", ours[after.name], ours[before.name], kinds[column], metric)
                yield Claim(words, "REPLACE" if column == "REPLACE" else "our swaps", (), (key,), way)


@cache
def thresholds() -> Change:
    """CE-CLIP's last threshold of relation minus the highest of the others; Student's test over the bases."""
    own = np.array([last(row, "relation") - max(last(row, kind) for kind in TYPES[:3]) for row in models("a")[CE]])
    error = own.std(ddof=1) / len(own) ** 0.5
    half = t_quantile(LEVEL, len(own) - 1) * error
    p = 1 - within(abs(own.mean()) / error, len(own) - 1)
    return Change(difference=own.mean(), interval=Interval(own.mean() - half, own.mean() + half), p=p)


def last(row: dict[str, Any], kind: str) -> float:
    return float(row["parts"][f"threshold_{kind}"])


def measured(key: Asked) -> Change:
    return thresholds() if key[3] == THRESHOLDS else kept.compared(key)


def known(names: Iterable[str]) -> list[str]:
    """The models with all three bases: rows of other bases cannot be compared."""
    return [name for name in names if seeds("a", name) == SEEDS]


def on_photos(claim: Claim) -> tuple[Asked, ...]:
    """The comparisons on photos that a claim needs, if every model is there on all three bases."""
    names = {name for _, after, before, *_ in claim.photos for name in (after, before)} - {"the others"}
    return claim.photos if len(known(names)) == len(names) else ()


def all_asked() -> Iterator[Asked]:
    for claim in (*CLAIMS, *hard_positives()):
        yield from (*claim.world, *on_photos(claim))


Corrected = dict[Asked, Change]


def verdict(claim: Claim, listed: Sequence[Asked], corrected: Corrected) -> str:
    if not listed:
        return "–"
    changes = [corrected[key] for key in listed]
    if any(change.significant and change.difference * claim.way < 0 for change in changes):
        return FAILS
    return HOLDS if all(change.significant for change in changes) else UNCLEAR


def said(listed: Sequence[Asked], corrected: Corrected) -> str:
    """The comparisons of a claim in one cell; where there are several, each with the name of the other model."""
    cells = [cell(corrected[key], 1 if key[3] == THRESHOLDS else 100) for key in listed]
    names = [key[2].removeprefix("ce-").removeprefix("clip-") for key in listed]
    return "; ".join(cells if len(cells) < 2 else map(": ".join, zip(names, cells, strict=True))) or "–"


def show_claims(corrected: Corrected) -> None:
    def row(claim: Claim, listed: Sequence[Asked]) -> tuple[str, str]:
        return said(listed, corrected), verdict(claim, listed, corrected)

    show(
        ("CE-CLIP's claim", "on", "the world", "the world: it", "COCO photos", "photos: it"),
        [
            (claim.words, claim.on, *((claim.said, claim.verdict) if claim.said else row(claim, claim.world)),
             *row(claim, on_photos(claim)))
            for claim in CLAIMS
        ],
    )  # fmt: skip
    show(
        ("the claim of Kamath et al.", "on", "COCO photos", "photos: it"),
        [(claim.words, claim.on, *row(claim, claim.photos)) for claim in hard_positives()],
    )
