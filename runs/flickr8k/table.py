"""docs/flickr8k.md's tables: every recipe on the test photos, what it kept of retrieval, and one against another.

    python runs/flickr8k/table.py OUT [--pairs ours:hp-hn ...]             OUT is what run.py final and styles wrote
    python runs/flickr8k/table.py runs/flickr8k/results/s.jsonl            means alone, of what the repository has

A difference is taken per photo and seed; both are drawn again 2,000 times (seeds first, then photos), and the middle
95% is shown. The three seeds share one base, as a paper's models share one CLIP.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from needs import existing
from numpy.typing import NDArray
from retrieval import outcomes
from scores import read_rows, read_scores

from equipoise.standard.ratings import spearman

KINDS = {"seen": "seen synonyms", "unseen": "unseen synonyms", "swap": "swap", "type": "unseen type (relations)"}
RECALLS = tuple((way, top) for way in ("t2i", "i2t") for top in (1, 5, 10))
APART = ("seen", "unseen")  # whose score preservation the table of retention shows
STYLES = [f"{recipe}-{style}:{recipe}" for recipe in ("hn", "hp-hn", "ours") for style in ("negclip", "crepe")]
PAIRS = ["ours:hp-hn", "ours:ce-clip", "ours:control", "hn:base", *STYLES]
RESAMPLES = 2000
Sums = tuple[NDArray[Any], NDArray[Any]]  # (columns, photos): what is counted of each photo, and out of how many
Interval = tuple[float, float, float]
read = cache(read_scores)


def sums(photo: NDArray[Any], columns: NDArray[Any], photos: int) -> Sums:
    """Rows x columns as sums and counts of each photo."""
    total = np.stack([np.bincount(photo, column, photos) for column in columns.T])
    return total, np.broadcast_to(np.bincount(photo, minlength=photos).astype(float), total.shape)


@cache
def composition(path: Path, kind: str) -> Sums:
    """Original, Augmented, Brittleness and |s(c) - s(p)| in units of the scores' spread, of the photos with items."""
    held = read(path)
    c, p, n = held[f"{kind}/scores"]
    apart = np.abs(c - p) / held[f"{kind}/scores"].std() / 100
    photos, photo = np.unique(held[f"{kind}/photo"], return_inverse=True)
    return sums(photo, np.stack([*outcomes(c, p, n), apart], 1) * 1.0, len(photos))


@cache
def retrieval(path: Path) -> Sums:
    """The six recalls: of a photo its share of both kinds of searches."""
    held = read(path)
    photos = len(held["i2t"])
    found = []
    for way, top in RECALLS:
        where = held["captions/photo"] if way == "t2i" else np.arange(photos)
        found.append(sums(where, (held[way] < top)[:, None] * 1.0, photos))
    return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])


def drawn_photos(photos: int, rng: np.random.Generator) -> NDArray[Any]:
    """How often each photo is drawn in each of the resamples."""
    return np.stack([np.bincount(rng.integers(photos, size=photos), minlength=photos) for _ in range(RESAMPLES)])


@cache
def agreement(path: Path) -> NDArray[Any]:
    """Spearman's correlation with the experts: of all pairs, then of each resample of their photos (the same ones for
    every model)."""
    held = read(path)
    photos, photo = np.unique(held["experts/photo"], return_inverse=True)
    weights = drawn_photos(len(photos), np.random.default_rng(0))[:, photo]
    weights = np.concatenate([np.ones((1, len(photo))), weights])
    scores, ratings = held["experts/scores"].astype(np.float64), held["experts/ratings"]
    return np.concatenate([spearman(scores, ratings, some) for some in np.array_split(weights, 20)])


def agreed(runs: Sequence[Path], before: Sequence[Path] | None = None) -> Interval:
    """Points and 95% interval of the correlation, over seeds and photos; of after - before, where there is a before."""
    found = np.stack([agreement(path) for path in runs])
    if before is not None:
        found = found - np.stack([agreement(path) for path in before])
    seeds = np.random.default_rng(1).integers(len(runs), size=(RESAMPLES, len(runs)))
    drawn = found[seeds, np.arange(1, RESAMPLES + 1)[:, None]].mean(1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return 100 * float(found[:, 0].mean()), 100 * float(low), 100 * float(high)


def measured(runs: Sequence[Sums], before: Sequence[Sums] | None = None) -> list[Interval]:
    """Points and 95% interval of each column, over seeds and photos; of after - before, where there is a before."""
    counts = runs[0][1]
    top = np.stack([total for total, _ in runs])  # seeds, columns, photos
    if before is not None:
        top = top - np.stack([total for total, _ in before])
    top = top / counts.sum(1, keepdims=True)
    share = counts / counts.sum(1, keepdims=True)
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(len(runs), size=len(runs))
        weight = np.bincount(rng.integers(counts.shape[1], size=counts.shape[1]), minlength=counts.shape[1])
        drawn.append((top[chosen].mean(0) @ weight) / (share @ weight))
    low, high = np.percentile(np.array(drawn), [2.5, 97.5], axis=0)
    return [(100 * m, 100 * a, 100 * b) for m, a, b in zip(top.mean(0).sum(1), low, high, strict=True)]


def plain(one: Interval) -> str:
    return f"{one[0]:.1f} [{one[1]:.1f}, {one[2]:.1f}]"


def signed(one: Interval) -> str:
    return f"{one[0]:+.1f} [{one[1]:+.1f}, {one[2]:+.1f}]"


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def head(cells: Sequence[str]) -> None:
    print(line(cells), line(["---"] * len(cells)), sep="\n")


class Results:
    """The rows that run.py wrote for one base, and the scores beside them."""

    def __init__(self, out: Path) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.scores = out / "scores"
        for row in read_rows(out, "final", "styles"):
            if out.is_file() or (self.scores / f"{row['name']}-{row['seed']}.npz").exists():
                self.rows.setdefault(row["name"], []).append(row)

    def paths(self, name: str) -> list[Path]:
        return [self.scores / f"{name}-{run['seed']}.npz" for run in self.rows[name]]

    def pair(self, name: str, other: str) -> tuple[list[Path], list[Path]]:
        """Models of two recipes, seed by seed; the base has one for all seeds."""
        if other == "base":
            return self.paths(name), self.paths("base")[:1] * len(self.rows[name])
        seeds = {run["seed"] for run in self.rows[name]} & {run["seed"] for run in self.rows[other]}
        both = [[self.scores / f"{one}-{seed}.npz" for seed in sorted(seeds)] for one in (name, other)]
        return both[0], both[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=existing())
    parser.add_argument("--pairs", nargs="*", help="differences, ONE:OTHER; instead of all tables")
    options = parser.parse_args()
    held = Results(options.out)
    if options.pairs is None:
        means(held)
    if options.out.is_file():
        return
    if options.pairs is None and "base" in held.rows:
        retention(held)
    for ours, theirs in (pair.split(":") for pair in options.pairs or PAIRS):
        if ours in held.rows and theirs in held.rows:
            against(held, ours, theirs)


def means(held: Results) -> None:
    """Every model, over its seeds."""
    head(["model", *(f"{kind}: Aug. / Brit." for kind in KINDS.values()), "R@1 t2i / i2t", "experts", "seeds"])
    for name, runs in held.rows.items():
        mean = {key: np.mean([run["found"][key] for run in runs]) for key in runs[0]["found"]}
        cells = [f"{mean[f'{kind}/augmented']:.1f} / {mean[f'{kind}/brittleness']:.1f}" for kind in KINDS]
        recalls = f"{mean['t2i@1']:.1f} / {mean['i2t@1']:.1f}"
        print(line([name, *cells, recalls, f"{mean['experts']:.1f}", str(len(runs))]))


def retention(held: Results) -> None:
    """Retrieval of every model and its paired difference from the base; how far a rewording moves the score."""
    print("\nRetention: retrieval after finetuning, and its difference from the base, paired")
    heads = ["model", "t2i R@1", "from the base", "i2t R@1", "from the base", "mean of six recalls, from the base"]
    head([*heads, "experts", "from the base", "c and p apart: seen", "unseen"])
    for name in held.rows:
        after, before = ([retrieval(path) for path in paths] for paths in held.pair(name, "base"))
        own, changed = measured(after), name != "base"
        lost = [signed(one) if changed else "" for one in measured(after, before)]
        apart = [f"{measured([composition(path, kind) for path in held.paths(name)])[3][0]:.2f}" for kind in APART]
        rho = [plain(agreed(held.paths(name))), signed(agreed(*held.pair(name, "base"))) if changed else ""]
        mean = signed(_mean(after, before)) if changed else ""
        print(line([name, plain(own[0]), lost[0], plain(own[3]), lost[3], mean, *rho, *apart]))


def against(held: Results, ours: str, theirs: str) -> None:
    """Ours minus theirs, paired."""
    one, two = held.pair(ours, theirs)
    print(f"\n{ours} - {theirs}, {len(one)} seeds:")
    head(["items", "n", "Original", "Augmented", "Brittleness", "c and p apart"])
    for kind, words in KINDS.items():
        after, before = ([composition(path, kind) for path in paths] for paths in (one, two))
        *three, apart = measured(after, before)
        cells = [*(signed(value) for value in three), "{:+.3f} [{:+.3f}, {:+.3f}]".format(*apart)]
        print(line([words, f"{int(after[0][1][0].sum()):,}", *cells]))
    after, before = ([retrieval(path) for path in paths] for paths in (one, two))
    found = {f"{way} R@{top}": value for (way, top), value in zip(RECALLS, measured(after, before), strict=True)}
    found |= {"mean of six recalls": _mean(after, before), "experts": agreed(one, two)}
    print("; ".join(f"{name} {signed(value)}" for name, value in found.items()))


def _mean(after: Sequence[Sums], before: Sequence[Sums]) -> Interval:
    """The mean of the columns as one column."""

    def one(part: Sums) -> Sums:
        share = part[0] / part[1].sum(1, keepdims=True)
        return share.mean(0, keepdims=True), np.full((1, share.shape[1]), 1 / share.shape[1])

    return measured([one(part) for part in after], [one(part) for part in before])[0]


if __name__ == "__main__":
    main()
