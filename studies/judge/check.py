"""How well the shipped judge knows what readers said: of sheets, by kind of edit and by collection.

    python -m studies.judge.check verdicts.jsonl --sheets 500,501,502,503,504,505,506

verdicts.jsonl is what `candidates.py verdicts` writes. Sheets 500 to 506 are what `balanced` writes, at lower
thresholds, of photos that the judge never saw. Prints how many passed, the area under the curve, and the share that
passed among those that the judge finds so likely to pass.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from typing import Any

import numpy as np

from equipoise.perturb import Caption
from equipoise.perturb.judge import SORTS, Pair, reading_of
from equipoise.perturb.recipe import Proposal
from studies.harness.inputs import existing

CHANCES = (0.9, 0.93, 0.95, 0.965, 0.98, 0.99)


def chance(row: dict[str, Any]) -> float:
    reading = reading_of(Caption(row["caption"], tuple(row["others"])))
    if row["op"] == "swap":
        first, second = tuple(row["first"]), tuple(row["second"])
        pair = Pair(SORTS.index(row["sort"]), first, second, row["into_first"], row["into_second"])
        return float(reading.swaps([pair])[0, 0])
    return float(reading.chances([proposal(row)])[0, 0])


def proposal(row: dict[str, Any]) -> Proposal:
    start, end = row["span"]
    return Proposal(start, end, row["to"], row["target"], row["by"], 1.0, row.get("mark") or "")


def area(chances: np.ndarray, passed: np.ndarray) -> float:
    """Under the curve: how often one that passed is found likelier than one that did not; a tie counts half."""
    for_, against = chances[passed], chances[~passed]
    if not len(for_) or not len(against):
        return float("nan")
    more = (for_[:, None] > against).mean() + (for_[:, None] == against).mean() / 2
    return float(more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verdicts", type=existing())
    parser.add_argument("--sheets", required=True, type=lambda text: {int(sheet) for sheet in text.split(",")})
    options = parser.parse_args()
    groups: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for line in options.verdicts.open(encoding="utf-8"):
        row = json.loads(line)
        if row["sheet"] in options.sheets:
            found = chance(row), row["verdict"] == 0
            kind = "swap" if row["op"] == "swap" else row["target"]
            for name in (f"all {'swaps' if kind == 'swap' else 'replacements'}", kind, f"{kind}, {row['corpus']}"):
                groups[name].append(found)
    for name, listed in sorted(groups.items()):
        chances, passed = np.array([c for c, _ in listed]), np.array([p for _, p in listed])
        shares = [
            f"{least}: {passed[chances >= least].mean():.1%} of {(chances >= least).sum()}"
            for least in CHANCES
            if (chances >= least).any()
        ]
        print(
            f"{name}: {passed.mean():.1%} of {len(listed)} passed, area {area(chances, passed):.3f}", *shares, sep="; "
        )


if __name__ == "__main__":
    main()
