"""The tables of docs/appendix/flickr8k.md: every recipe on the test photos, and whose negatives were used.

    python runs/flickr8k/table.py                                   of runs/flickr8k/results, what the repository keeps
    python runs/flickr8k/table.py RESULTS/s.jsonl RESULTS/m.jsonl   of other files that keep.py wrote

Intervals and p-values are those of `equipoise compare`, over photos and seeds, from the item scores in s.npz and m.npz.
All that are computed here are corrected together (Holm). The seeds share one base, as a paper's models share one CLIP,
so nothing here speaks of other bases. Without the .npz files the means are printed alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from jobs import FINAL, STYLES
from needs import existing
from scores import KINDS, read_rows, read_scores

from equipoise.evaluation.comparing.differences import Run
from equipoise.evaluation.comparing.inference import holm
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Change
from equipoise.evaluation.scores import ItemScores

RESULTS = Path(__file__).parent / "results"
TOWERS = {"s": "text tower from scratch", "m": "text tower MiniLM"}
WORDS = {"seen": "seen synonyms", "unseen": "unseen synonyms", "swap": "swap", "type": "relations"}
RECALLS = tuple((way, top) for way in ("t2i", "i2t") for top in (1, 5, 10))
RECALL = "mean of six recalls"
LOWER = "brittleness"
PRINTED: tuple[str, ...] = ("original", "augmented", "brittleness")
OURS = "ours"
Pair = tuple[str, str]  # the first minus the second
SHOWN = [(OURS, name) for name in ("ce-clip", "hp-hn", "hn", "control")] + [("hp-hn", "hn"), ("hn", "base")]
Line = tuple[str, Pair, str, str]  # tower, pair, kind of item or RECALL, metric


@dataclass
class Tower:
    """What keep.py wrote of one text tower: the numbers of every model, and the scores where they were kept."""

    name: str
    path: Path
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in read_rows(self.path, "final", "styles"):
            self.rows.setdefault(row["name"], []).append(row)

    @property
    def kept(self) -> bool:
        return self.path.with_suffix(".npz").exists()

    def main(self) -> list[str]:
        return [job.name for job in FINAL if job.name in self.rows]

    def pairs(self) -> list[Pair]:
        """Every recipe against every other, and each style of negatives against ours of the same recipe."""
        styles = [(job.name, job.name.rpartition("-")[0]) for job in STYLES if job.name in self.rows]
        return [*combinations(reversed(self.main()), 2), *styles]  # the later minus the earlier

    def mean(self, name: str, key: str) -> float:
        return float(np.mean([row["found"][key] for row in self.rows[name]]))

    def runs(self, name: str, kind: str) -> list[Run]:
        return [_run(self.path, f"{name}-{row['seed']}", kind) for row in self.rows[name]]


@cache
def _scores(path: Path) -> dict[str, Any]:
    return read_scores(path.with_suffix(".npz"))


@cache
def _run(path: Path, model: str, kind: str) -> Run:
    """One model's scores of one kind of item as `compare` reads a run; of a search, the item is its hit or miss."""
    rows = list(_searches(path, model) if kind == RECALL else _items(path, model, kind))
    return Run(Path(model), (), rows, outcomes_of(rows))


def _items(path: Path, model: str, kind: str) -> Iterator[ItemScores]:
    held = _scores(path)
    above, rewording = held[f"{model}/{kind}"].astype(float).tolist()
    for place, photo in enumerate(held[f"{kind}/photo"].tolist()):
        scores = {"caption": above[place], "positives": [rewording[place]], "negatives": [0.0]}
        yield ItemScores(id=str(place), image=str(photo), tags={}, **scores)


def _searches(path: Path, model: str) -> Iterator[ItemScores]:
    held = _scores(path)
    photos = {"t2i": held["captions/photo"].tolist(), "i2t": list(range(len(held[f"{model}/i2t"])))}
    for way, top in RECALLS:
        hits = (held[f"{model}/{way}"] < top).astype(float).tolist()
        for place, (photo, hit) in enumerate(zip(photos[way], hits, strict=True)):
            scores = {"caption": hit, "positives": [], "negatives": [0.5]}
            yield ItemScores(id=f"{way}@{top}/{place}", image=str(photo), tags={"of": f"{way}@{top}"}, **scores)


def compared(towers: Sequence[Tower]) -> dict[Line, Change]:
    """Every pair on every kind of item and on recall; p-values corrected for all of them."""
    found: dict[Line, Change] = {}
    for tower in towers:
        pairs = tower.pairs() if tower.kept else []
        for number, pair in enumerate(pairs, 1):
            print(f"{tower.name}: comparison {number} of {len(pairs)}", end="\r", file=sys.stderr, flush=True)
            after, before = pair
            for kind in (*KINDS, RECALL):
                path = ("of",) if kind == RECALL else ()
                whole = compare_models(tower.runs(before, kind), tower.runs(after, kind), path=path)
                for metric in PRINTED[:1] if kind == RECALL else PRINTED:
                    change = whole[metric]
                    assert change is not None
                    found[tower.name, pair, kind, metric] = change
    adjusted = holm([change.p or 0.0 for change in found.values()])
    return {
        line: change.model_copy(update={"adjusted": p})
        for (line, change), p in zip(found.items(), adjusted, strict=True)
    }


def ahead(found: dict[Line, Change], tower: Tower, name: str, kind: str, metric: str) -> bool:
    """Whether a model is significantly better than every other of its table."""
    lines = [(pair, found.get((tower.name, pair, kind, metric))) for pair in combinations_with(tower, name)]
    sign = -1 if metric == LOWER else 1

    def better(pair: Pair, change: Change | None) -> bool:
        return (
            change is not None and change.significant and sign * change.difference * (1 if pair[0] == name else -1) > 0
        )

    return bool(lines) and all(better(pair, change) for pair, change in lines)


def combinations_with(tower: Tower, name: str) -> list[Pair]:
    return [pair for pair in tower.pairs() if name in pair and set(pair) <= set(tower.main())]


def recipe(name: str) -> str:
    known = {job.name: job.recipe for job in FINAL}
    return f"`{known[name]}`" if known.get(name) else name


def line(cells: Sequence[str]) -> None:
    print("|", " | ".join(cells), "|")


def head(cells: Sequence[str]) -> None:
    line(cells)
    line(["---"] * len(cells))


def interval(change: Change) -> str:
    low, high = change.interval
    star = "\\*" if change.significant else ""
    return f"{100 * change.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]{star}"


def means(tower: Tower, names: Sequence[str], labels: Sequence[str], found: dict[Line, Change]) -> None:
    head([tower.name, *(f"{WORDS[kind]}: Aug. / Brit." for kind in KINDS), "R@1 t2i / i2t", RECALL, "experts", "apart"])
    for name, label in zip(names, labels, strict=True):
        cells = []
        for kind in KINDS:
            values = [f"{tower.mean(name, f'{kind}/{metric}'):.1f}" for metric in PRINTED[1:]]
            bold = [ahead(found, tower, name, kind, metric) for metric in PRINTED[1:]]
            cells.append(" / ".join(f"**{v}**" if b else v for v, b in zip(values, bold, strict=True)))
        recall = np.mean([tower.mean(name, f"{way}@{top}") for way, top in RECALLS])
        cells += [f"{tower.mean(name, 't2i@1'):.1f} / {tower.mean(name, 'i2t@1'):.1f}", f"{recall:.1f}"]
        cells += [f"{tower.mean(name, 'experts'):.1f}"]
        line([label, *cells, f"{tower.mean(name, 'seen/apart'):.2f} / {tower.mean(name, 'unseen/apart'):.2f}"])


def differences(tower: Tower, pairs: Sequence[Pair], found: dict[Line, Change]) -> None:
    head([tower.name, "items", "Original", "Augmented", "Brittleness"])
    for pair in pairs:
        for kind in KINDS:
            cells = [interval(found[tower.name, pair, kind, metric]) for metric in PRINTED]
            line([f"{pair[0]} - {pair[1]}", WORDS[kind], *cells])
        line([f"{pair[0]} - {pair[1]}", RECALL, interval(found[tower.name, pair, RECALL, "original"]), "", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=existing(), nargs="*", default=[RESULTS / "s.jsonl", RESULTS / "m.jsonl"])
    files = parser.parse_args().files
    towers = [Tower(TOWERS.get(path.stem, path.stem), path) for path in files]
    found = compared(towers)
    for tower in towers:
        means(tower, tower.main(), [recipe(name) for name in tower.main()], found)
        print()
    for tower in towers:
        styled = [job.name for job in STYLES if job.name in tower.rows]
        if styled:
            names = [
                name
                for base in ("hn", "hp-hn", OURS)
                for name in (base, *(s for s in styled if s.startswith(f"{base}-")))
            ]
            means(tower, names, names, {})
            print()
        if not tower.kept:
            print(f"{tower.path.with_suffix('.npz')} is not there: no item scores, so no intervals.\n")
            continue
        differences(tower, [pair for pair in tower.pairs() if pair in SHOWN or pair[0] in styled], found)
        print()
    if found:
        print("Differences are over photos and seeds, as `equipoise compare` has them.")
        print(
            f"\\*: significant: the interval excludes zero, and p, corrected (Holm) for all {len(found)} "
            "comparisons, is below 0.05."
        )
        print("Bold: significantly better than every other row of its table.")


if __name__ == "__main__":
    main()
