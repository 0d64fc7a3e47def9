"""docs/flickr8k.md's tables: every recipe on the test photos, what it kept of retrieval, and ours against the paper's.

    python runs/flickr8k/table.py OUT [--ours NAME] [--theirs NAME]        OUT is what run.py final wrote

A difference is taken per photo and seed; both are drawn again 2,000 times (seeds first, then photos), and the middle
95% is shown. The three seeds share one base, as a paper's models share one CLIP.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.evaluation.metrics import judge
from equipoise.evaluation.scores import read_scores

KINDS = {"seen": "seen synonyms", "unseen": "unseen synonyms", "swap": "swap", "type": "unseen type (relations)"}
RECALLS = tuple((way, top) for way in ("t2i", "i2t") for top in (1, 5, 10))
RESAMPLES = 2000
Sums = tuple[NDArray[Any], NDArray[Any]]  # (columns, photos): what is counted of each photo, and out of how many


def sums(photo: Sequence[int] | NDArray[Any], columns: NDArray[Any], photos: int) -> Sums:
    """Rows x columns as sums and counts of each photo."""
    total = np.stack([np.bincount(photo, column, photos) for column in columns.T])
    return total, np.broadcast_to(np.bincount(photo, minlength=photos).astype(float), total.shape)


@cache
def composition(path: Path) -> Sums:
    """Original, Augmented, Brittleness and |s(c) - s(p)| in units of the scores' spread."""
    rows = read_scores(path)
    found = judge(rows)
    c, p, n = (
        np.array(part) for part in zip(*((r.caption, r.positives[0], r.negatives[0]) for r in rows), strict=True)
    )
    apart = np.abs(c - p) / np.concatenate([c, p, n]).std() / 100
    names = {name: number for number, name in enumerate(dict.fromkeys(row.image for row in rows))}
    columns = np.stack([found.original, found.augmented, found.brittle, apart], 1) * 1.0
    return sums([names[row.image] for row in rows], columns, len(names))


@cache
def retrieval(path: Path) -> Sums:
    """The six recalls, then their mean: of a photo its share of both kinds of searches."""
    held = json.loads(path.read_text())
    photo, searches = np.array(held["photo"]), {way: np.array(held[way]) for way in ("t2i", "i2t")}
    photos = len(searches["i2t"])
    found = []
    for way, top in RECALLS:
        where = photo if way == "t2i" else np.arange(photos)
        found.append(sums(where, (searches[way] < top)[:, None] * 1.0, photos))
    return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])


def measured(runs: Sequence[Sums], before: Sequence[Sums] | None = None) -> list[tuple[float, float, float]]:
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


def plain(one: tuple[float, float, float]) -> str:
    return f"{one[0]:.1f} [{one[1]:.1f}, {one[2]:.1f}]"


def signed(one: tuple[float, float, float]) -> str:
    return f"{one[0]:+.1f} [{one[1]:+.1f}, {one[2]:+.1f}]"


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def head(cells: Sequence[str]) -> None:
    print(line(cells), line(["---"] * len(cells)), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--ours", default="ours")
    parser.add_argument("--theirs", default="hp-hn")
    options = parser.parse_args()
    rows: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((options.out / "final").glob("*.json")) + sorted((options.out / "styles").glob("*.json")):
        row = json.loads(path.read_text())
        rows.setdefault(row["name"], []).append(row)
    scores = options.out / "scores"

    def found(name: str, kind: str) -> list[Sums]:
        return [composition(scores / f"{name}-{run['seed']}" / f"{kind}.jsonl") for run in rows[name]]

    def recall(name: str) -> list[Sums]:
        return [retrieval(scores / f"{name}-{run['seed']}" / "retrieval.json") for run in rows[name]]

    head(["model", *(f"{kind}: Aug. / Brit." for kind in KINDS.values()), "R@1 t2i / i2t", "experts", "seeds"])
    for name, runs in rows.items():
        mean = {key: np.mean([run["found"][key] for run in runs]) for key in runs[0]["found"]}
        cells = [f"{mean[f'{kind}/augmented']:.1f} / {mean[f'{kind}/brittleness']:.1f}" for kind in KINDS]
        recalls = f"{mean['t2i@1']:.1f} / {mean['i2t@1']:.1f}"
        print(line([name, *cells, recalls, f"{mean['experts']:.1f}", str(len(runs))]))

    kept = [(scores / f"{name}-{run['seed']}" / "retrieval.json").exists() for name in rows for run in rows[name]]
    if all(kept):
        retention(rows, found, recall)
    else:
        print("\nno ranks were kept with these scores: no intervals for retrieval")

    print(f"\n{options.ours} - {options.theirs}, {len(rows[options.ours])} seeds:")
    head(["items", "n", "Original", "Augmented", "Brittleness", "c and p apart"])
    for kind, words in KINDS.items():
        ours, theirs = found(options.ours, kind), found(options.theirs, kind)
        *three, apart = measured(ours, theirs)
        cells = [*(signed(one) for one in three), "{:+.3f} [{:+.3f}, {:+.3f}]".format(*apart)]
        print(line([words, f"{int(ours[0][1][0].sum()):,}", *cells]))
    if not all(kept):
        return
    ours, theirs = recall(options.ours), recall(options.theirs)
    for (way, top), one in zip(RECALLS, measured(ours, theirs), strict=True):
        print(f"{way} R@{top}: {signed(one)}")
    print(f"mean of six recalls: {signed(_mean(ours, theirs))}")


def retention(
    rows: dict[str, list[dict[str, Any]]],
    found: Callable[[str, str], list[Sums]],
    recall: Callable[[str], list[Sums]],
) -> None:
    """Retrieval of every model and its paired difference from the base; how far a rewording moves the score."""
    print("\nRetention: retrieval after finetuning, and its difference from the base, paired")
    heads = ["model", "t2i R@1", "from the base", "i2t R@1", "from the base", "mean of six recalls, from the base"]
    head([*heads, "c and p apart: seen", "unseen"])
    for name in rows:
        after = measured(recall(name))
        change = measured(recall(name), recall("base")[:1] * len(rows[name])) if name != "base" else [None] * 6
        apart = [f"{measured(found(name, kind))[3][0]:.2f}" for kind in ("seen", "unseen")]
        lost = [signed(one) if one else "" for one in change]
        mean = signed(_mean(recall(name), recall("base")[:1] * len(rows[name]))) if name != "base" else ""
        print(line([name, plain(after[0]), lost[0], plain(after[3]), lost[3], mean, *apart]))


def _mean(after: Sequence[Sums], before: Sequence[Sums]) -> tuple[float, float, float]:
    """The mean of the columns as one column."""

    def one(part: Sums) -> Sums:
        share = part[0] / part[1].sum(1, keepdims=True)
        return share.mean(0, keepdims=True), np.full((1, share.shape[1]), 1 / share.shape[1])

    return measured([one(part) for part in after], [one(part) for part in before])[0]


if __name__ == "__main__":
    main()
