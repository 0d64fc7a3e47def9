"""The bases that were tried, and the rule by which one of each kind was chosen, both written before the runs.

A base differs from the plain one of its text tower in one thing; the second round adds up what helped. Kept is the
base with the highest mean of the six recalls on the 1,000 dev photos. `base.py --tails` begins with what was kept then:
several seeds of it, tails of the best of them (a few epochs more), and soups of the tails (soup.py); the rule is the
same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

RECALLS = tuple(f"{way}@{top}" for way in ("t2i", "i2t") for top in (1, 5, 10))


@dataclass(frozen=True)
class Base:
    name: str
    tower: str  # "scratch", or "minilm": all-MiniLM-L6-v2 to begin with
    whole: bool = True  # parts.Shape
    head: str = "block"  # trained on the image side: "linear" its projection; "top" also Lite2's head; "block" one more
    mean: bool = True  # parts.Shape
    embedding: int = 256
    parts: int = 6  # parts of each training photo that are shown beside the whole (views.py); 0: the whole alone
    photos: int = 512  # of a step
    captions: int = 2  # of each of them, all of them right for it
    epochs: int = 8  # one is 30,000 captions
    text_rate: float = 3e-4
    head_rate: float = 5e-4
    layer_decay: float = 0.85  # of the rate, from each layer of the text tower to the one below it
    weight_decay: float = 0.05
    smoothing: float = 0.05  # of the labels
    hidden: float = 0.1  # share of the words that are hidden in training
    dropout: float = 0.1  # of a text tower from scratch
    scale: float = 20.0  # on the cosine, at first; learnt at ten times the heads' rate
    average: float = 0.98  # of the weights, from step to step; the average is what is judged and kept
    seed: int = 0  # of what is new in the base, and of the order of its training
    mixed: float = 0.0  # at most this share of another photo is mixed into what Lite2 saw of a photo
    begin: str = ""  # the base whose weights it begins with
    teachers: tuple[str, ...] = ()  # bases whose mean preferences it learns beside the labels
    taught: float = 0.0  # their share of the loss


MINILM = Base("m", "minilm")
SCRATCH = Base("s", "scratch", text_rate=5e-4, layer_decay=1.0)
CHANGES: dict[str, dict[str, dict[str, Any]]] = {
    "minilm": {
        "text-15e5": {"text_rate": 1.5e-4},
        "text-6e4": {"text_rate": 6e-4},
        "linear": {"head": "linear"},
        "top": {"head": "top"},
        "first-token": {"mean": False},
        "five-captions": {"captions": 5, "photos": 256},
        "sharp": {"smoothing": 0.0},
        "hidden-0": {"hidden": 0.0},
        "decay": {"weight_decay": 0.5},
        "wide": {"embedding": 512},
    },
    "scratch": {
        "decay": {"weight_decay": 0.5},
        "text-1e3": {"text_rate": 1e-3},
        "linear": {"head": "linear"},
        "first-token": {"mean": False},
        "hidden-0": {"hidden": 0.0},
    },
}


def first_round() -> list[Base]:
    """The plain bases, each alone and with one change."""
    plain = {"minilm": MINILM, "scratch": SCRATCH}
    return [
        base
        for tower, one in plain.items()
        for base in (one, *(changed(one, name, change) for name, change in CHANGES[tower].items()))
    ]


def changed(base: Base, name: str, change: Mapping[str, Any]) -> Base:
    return replace(base, name=f"{base.name}+{name}", **change)


def second_round(found: Mapping[str, Mapping[str, float]]) -> list[Base]:
    """Of each tower: the two changes that helped most together, the three, then all that helped.

    A change that sets what a better one has set already is left out.
    """
    more = {}
    for plain in (MINILM, SCRATCH):
        gains: dict[str, float] = {}
        for name in CHANGES[plain.tower]:
            if plain.name in found and (tried := f"{plain.name}+{name}") in found:
                gains[name] = score(found[tried]) - score(found[plain.name])
        helped = [name for name in sorted(gains, key=lambda name: -gains[name]) if gains[name] > 0]
        kept: list[str] = []
        for name in helped:
            if not any(CHANGES[plain.tower][name].keys() & CHANGES[plain.tower][other].keys() for other in kept):
                kept.append(name)
        for count in sorted({2, 3, len(kept)}):
            base = plain
            for name in kept[:count]:
                base = changed(base, name, CHANGES[plain.tower][name])
            if 2 <= count <= len(kept):
                more[base.name] = base
    return list(more.values())


KEPT = {  # by the rule, of the two rounds above
    "minilm": ("text-6e4",),
    "scratch": ("text-1e3", "hidden-0"),
}
COUNT = {"minilm": 4, "scratch": 3}  # seeds
# `low`: on as before at a tenth of the rate. `control`: as the recipe of that name finetunes. `taught`: the mean of all
# seeds as a teacher, which knows what a photo has in common with other photos' captions; `again`: so from the start.
TAILS: dict[str, dict[str, Any]] = {
    "low": {"epochs": 3, "rate": 0.1},
    "control": {
        "epochs": 3, "text_rate": 5e-5, "head_rate": 5e-5, "layer_decay": 1.0, "parts": 0, "hidden": 0.0,
        "smoothing": 0.0, "photos": 256, "captions": 1,
    },
    "taught": {"epochs": 4, "rate": 0.3, "taught": 0.5},
    "taught-1": {"epochs": 4, "rate": 0.3, "taught": 1.0},
    "again": {"taught": 0.5, "seed": 7},
}  # fmt: skip
SMALL = {"scratch": ("taught-1",)}  # left out: nine at a time


def seeds_round() -> list[Base]:
    """The kept base of each tower with several seeds, and once with photos mixed."""
    found = []
    for plain in (MINILM, SCRATCH):
        base = plain
        for name in KEPT[plain.tower]:
            base = changed(base, name, CHANGES[plain.tower][name])
        found += [replace(base, name=f"{base.name}.{n}" if n else base.name, seed=n) for n in range(COUNT[plain.tower])]
        found.append(changed(base, "mixed", {"mixed": 0.3}))
    return found


def tails_round(found: Mapping[str, Mapping[str, float]]) -> list[Base]:
    """Of each tower: tails of the best on dev of `seeds_round`; all of them are the teachers."""
    more = []
    for tower in KEPT:
        own = [base for base in seeds_round() if base.tower == tower and base.name in found]
        if not own:
            continue
        best = max(own, key=lambda base: score(found[base.name]))
        for name, change in TAILS.items():
            if name in SMALL.get(tower, ()):
                continue
            change = dict(change)
            rate = change.pop("rate", 1.0)
            change = {"text_rate": rate * best.text_rate, "head_rate": rate * best.head_rate, "seed": 5} | change
            change |= {"begin": "" if name == "again" else best.name, "mixed": 0.0}
            if "taught" in change:
                change["teachers"] = tuple(base.name for base in own)
            more.append(changed(best, name, change))
    return more


def score(recalls: Mapping[str, float]) -> float:
    return sum(recalls[name] for name in RECALLS) / len(RECALLS)
