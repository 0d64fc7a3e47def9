"""The kept scores of the models, their levels, and comparisons of them.

A store is a file of scores: `m` and `s` are models from bases with MiniLM and with a text tower from scratch, `x` those
with a matching head, `a` every recipe on the same texts, `world` the papers' tables on the drawn world. A kind is a
test, or several: JOINED and SETS say which; tests are averaged within a set, then sets.

NAME.jsonl has a line a model: recipe, options, seed, seconds, numbers. NAME.npz has its item scores: of `a` s(c), s(p)
and s(n) in hundredths, of the older stores s(c) - s(n) and s(p) - s(n), rounded to 3 percent. Where rounding would hide
which of two is higher, a score was moved by one, so every outcome is exact. Ranks stop at 255. The scripts that made
them are at commit 32496fba: docs/appendix/coco.md, "Run it again".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.evaluation.comparing.inference import holm
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.metrics import ROWS, Metric
from equipoise.evaluation.outcomes import Outcomes, outcomes_of
from equipoise.evaluation.record import Change, Difference
from equipoise.evaluation.results import LoadedRun
from equipoise.evaluation.scores import ItemScores
from studies.coco.labels import CHECKED, CLASSES, JOINED, LAYOUTS, LIMIT, METRICS, MIXED, SHARES
from studies.harness import ranged, read_arrays, read_lines

RESULTS = Path(__file__).parent / "results"
WORLD = RESULTS.parents[1] / "tables" / "results" / "scores.npz"
RECALLS = tuple(f"{way}@{top}" for way in ("t2i", "i2t") for top in (1, 5, 10))
CHOSEN_ON = ("negclip", "vsr_symmetric", "vsr_inverse", "human", "seen", "unseen", "phrases", "replace")
Parts = dict[str, tuple[str, ...]]  # set: its tests, "NAME", "NAME:GROUP" or "NAME@RANK"
_VALSE = ("foil", "coreference")
_CHECKED = tuple(f"vl_checklist:{name}" for name in CHECKED)
_LAYOUTS = tuple(f"sugarcrepe:{name}" for name in LAYOUTS)
SETS: dict[str, dict[str, Parts]] = {
    "a": {
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
Asked = tuple[str, str, str, str, str]  # store, after, before, kind, metric


@cache
def scores(store: str) -> dict[str, NDArray[Any]]:
    """NAME-SEED/TEST: of every item the scores of its three texts (the older stores have those of two, above the
    third's), ranks of searches and classes; TEST/photo, TEST/relation: the group of each item."""
    if store != "world":
        data = read_arrays(RESULTS / f"{store}.npz")
        for name, share in averaged(store).items():
            start = f"{name}.{share}-"
            data |= {f"{name}-{key.removeprefix(start)}": data[key] for key in list(data) if key.startswith(start)}
        return data
    converted = {}
    for key, values in read_arrays(WORLD).items():
        if key.startswith("scores/"):
            _, model, test = key.split("/")
            c, over, positive = values.astype(np.float64)  # s(c), and what s(c) and s(p) are above s(n)
            converted[f"{model}-0/{test}"] = np.stack([over, positive, 0 * c])
        elif key.startswith("test/"):
            converted[key.removeprefix("test/").replace("/picture", "/photo").replace("/type", "/relation")] = values
    return converted


@cache
def models(store: str, stage: str = "final") -> dict[str, list[dict[str, Any]]]:
    """The lines of each model, one a base; of the world there is one finetuning."""
    if store == "world":
        return {key.rpartition("-")[0]: [{"seed": 0}] for key in scores(store) if key.endswith("-0/swap")}
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in read_lines(RESULTS / f"{store}.jsonl"):
        if row["stage"] == stage:
            by_name.setdefault(row["name"], []).append(row)
    if stage == "final":
        by_name |= {name: by_name[f"{name}.{share}"] for name, share in averaged(store).items()}
    return by_name


@cache
def averaged(store: str) -> dict[str, float]:
    """Models averaged with captions alone: the share of each, chosen on dev by the means over its bases."""
    rows = models(store, "shares")

    def means(name: str) -> dict[str, float]:
        return {key: float(np.mean([row["found"][key] for row in rows[name]])) for key in rows[name][0]["found"]}

    best = {}
    for name in (name for name in MIXED if f"{name}.{SHARES[-1]}" in rows):
        best[name] = max(SHARES[1:], key=lambda share: worth(means(f"{name}.{share}"), means("control"), LIMIT))
    return best


def score(numbers: Mapping[str, float]) -> float:
    """The mean of six recalls."""
    return sum(numbers[name] for name in RECALLS) / len(RECALLS)


def worth(numbers: Mapping[str, float], control: Mapping[str, float], recall: float) -> tuple[float, float]:
    """The rule by which settings were chosen on dev: the higher, the better. First, points missed: the mean of six
    recalls may fall `recall` below the control's, and Augmented accuracy on each kind of dev items 2 points. Then mean
    Augmented accuracy."""
    missed = max(0.0, score(control) - recall - score(numbers))
    for kind in CHOSEN_ON:
        missed += max(0.0, control[f"{kind}/augmented"] - 2 - numbers[f"{kind}/augmented"])
    return -missed, float(np.mean([numbers[f"{kind}/augmented"] for kind in CHOSEN_ON]))


def seeds(store: str, *names: str) -> list[int]:
    """The bases that all of these models start from."""
    known = models(store)
    return sorted(set.intersection(*({row["seed"] for row in known.get(name, ())} for name in names)))


def found_of(store: str, name: str, only: Sequence[int]) -> list[dict[str, float]]:
    """The measured numbers of a model on these bases."""
    return [row["found"] for row in models(store)[name] if row["seed"] in only]


def tests(store: str, kind: str) -> list[tuple[str, str]]:
    """(set, test) of every part of a kind."""
    parts = SETS.get(store, {}).get(kind, {"": JOINED.get(kind, (kind,))})
    return [(name, test) for name, own in parts.items() for test in own]


def chosen(store: str, test: str) -> Any:
    """The selection of a test's items: one group, or all."""
    name, _, group = test.partition(":")
    return scores(store)[f"{name}/relation"] == group if group else slice(None)


def texts(store: str, model: str, test: str) -> NDArray[Any]:
    """Scores of caption, positive and negative: cosines."""
    values = scores(store)[f"{model}/{test.partition(':')[0]}"][:, chosen(store, test)]
    return values / 100 if values.dtype.kind == "i" else values


def gaps(store: str, model: str, test: str) -> NDArray[Any]:
    """How far caption and positive are above the negative; of a search or a class, whether the first RANK have it."""
    name, at, top = test.partition("@")
    if at:
        rank = scores(store)[f"{model}/{name}" + "/ranks" * (name in CLASSES)]
        return np.tile(np.where(rank < int(top), 1.0, -1.0), (2, 1))
    values = texts(store, model, test)
    return values if len(values) == 2 else values[:2] - values[2]


def photos(store: str, test: str) -> list[str]:
    """The photo of each item of a test."""
    name, at, _ = test.partition("@")
    if name == "i2t" or name in CLASSES:
        return [f"{name if at and name in CLASSES else ''}{place}" for place in range(size(store, test))]
    own = scores(store)[f"{'captions' if at else name.partition(':')[0]}/photo"][chosen(store, test)]
    return [f"{name.partition(':')[0]}/{photo}" if store == "world" else str(photo) for photo in own.tolist()]


def size(store: str, kind: str) -> int:
    """The number of items; for recalls, the number of photos."""
    listed = [("", "i2t@1")] if kind == "recalls" else tests(store, kind)
    model = next(name for name in ("base", "control") if name in models(store))
    return sum(gaps(store, f"{model}-{seeds(store, model)[0]}", test).shape[1] for _, test in listed)


# ---------------------------------------------------------------------------- levels


OUTCOMES: dict[str, Callable[[NDArray[Any], NDArray[Any]], NDArray[np.bool_]]] = {
    "original": lambda c, p: c > 0,
    "augmented": lambda c, p: (c > 0) & (p > 0),
    "brittleness": lambda c, p: ((c > 0) & (p < 0)) | ((c < 0) & (p > 0)),
    "drop": lambda c, p: (c > 0) & (p <= 0),
}


def outcome(gap: NDArray[Any], metric: str) -> NDArray[np.bool_]:
    """A tie is never a win."""
    return OUTCOMES[metric](*gap)


@cache
def share(store: str, model: str, test: str, metric: str) -> float:
    return float(outcome(gaps(store, model, test), metric).mean())


def level(store: str, name: str, kind: str, metric: str = "original", only: Sequence[int] | None = None) -> float:
    """The mean share in percent over bases, sets and their tests."""
    shares: dict[str, list[float]] = {}
    for seed in (seed for seed in seeds(store, name) if only is None or seed in only):
        for group, test in tests(store, kind):
            shares.setdefault(f"{seed}/{group}", []).append(share(store, f"{name}-{seed}", test, metric))
    return 100 * float(np.mean([np.mean(own) for own in shares.values()]))


# ---------------------------------------------------------------------------- comparisons


class Printed(LoadedRun):
    """Only the metrics that are printed: the others would take most of the time."""

    @property
    def metrics(self) -> list[Metric]:
        return [row for row in ROWS if row.name in METRICS]


def paired(store: str, kind: str) -> bool:
    """Whether positives count; searches, classes and tests without positives have only Original accuracy."""
    return not (kind in SETS.get(store, {}) or "@" in kind or ":" in kind)


@cache
def unscored(store: str, kind: str) -> Outcomes:
    """The items of a kind, which all its runs share; each with the scores of a tie."""
    own = [0.0] * paired(store, kind)
    return outcomes_of([
        ItemScores(
            id=f"{group}/{test}/{place}", image=photo, caption=0.0, positives=own, negatives=[0.0],
            tags={"set": group, "test": test},
        )
        for group, test in tests(store, kind)
        for place, photo in enumerate(photos(store, test))
    ])  # fmt: skip


@cache
def run(store: str, model: str, kind: str) -> LoadedRun:
    gap = np.concatenate([gaps(store, model, test) for _, test in tests(store, kind)], 1)
    original, augmented, brittle = (outcome(gap, metric) for metric in METRICS)
    own = replace(unscored(store, kind), original=original, augmented=augmented, brittle=brittle)
    return Printed(Path(model), (), own)


@cache
def difference(store: str, after: str, before: str, kind: str) -> Difference:
    own = seeds(store, after, before)
    first, second = ([run(store, f"{name}-{seed}", kind) for seed in own] for name in (before, after))
    return compare_models(first, second, path=("set", "test"))


def resampled(
    rng: np.random.Generator, bases: int, photos: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The bases of each draw, one less than there are (few bases spread too little), and how often each photo comes."""
    chosen, times = np.empty((count, max(1, bases - 1)), np.int64), np.empty((count, photos))
    for place in range(count):
        chosen[place] = rng.integers(bases, size=chosen.shape[1])
        times[place] = np.bincount(rng.integers(photos, size=photos), minlength=photos)
    return chosen, times


def compared(key: Asked) -> Change:
    *models, metric = key
    change = difference(*models)[metric]
    assert change is not None
    return change


def corrected(family: Iterable[Asked], measure: Callable[[Asked], Change] = compared) -> dict[Asked, Change]:
    """Every comparison of a family, with its corrected p."""
    listed = sorted(set(family), key=lambda key: (key[0], key[3]))  # runs of one kind share their resamples
    own = {key: measure(key) for key in listed}
    adjusted = holm([change.p or 0.0 for change in own.values()])
    return {
        key: change.model_copy(update={"adjusted": p}) for (key, change), p in zip(own.items(), adjusted, strict=True)
    }


def cell(change: Change, scale: float = 100) -> str:
    low, high = change.interval
    verdict = "\\*" if change.significant else f" (p = {change.adjusted:.2g})" if low > 0 or high < 0 else ""
    return ranged(change.difference, change.interval, "+.1f", scale) + verdict
