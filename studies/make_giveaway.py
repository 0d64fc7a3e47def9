"""Learns which words and pairs of words would give edits away, so that recipes can draw against it.

    python -m studies.make_giveaway [--shared DATA] [--workers 2]

Every replacement that `balanced` might make of the captions in caption_halves.py is listed, with the words and pairs
that it brings in and takes out. Then weights are sought under which, drawing in proportion to exp(-gap), each comes in
as often as it goes out: the distribution nearest to a plain draw that keeps these means, whose weights are the minimum
of a convex function (Csiszar's I-projection; iterative scaling solves the same). Not all of it is possible ("on" is
thirty times as common as "under"), so weights are held small by a penalty and a bound.
Writes src/equipoise/language/data/giveaway.json.gz. Run it again when the word lists, the judge or the dial's default
have changed. The table `negative`, for the papers' recipes, stays as it is: what they write does not change.
"""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.language.vocabulary import SECTIONS, Section
from equipoise.perturb import Caption, get_recipe, perturb_caption
from equipoise.perturb.bias.importance_weights import TENTHS, names, window
from equipoise.perturb.dial import Dial
from equipoise.perturb.operations.replace import (
    COMMONNESS,
    NOTHING,
    distinct,
    is_bounded,
    passing,
    plain_weights,
    worth_of,
)
from equipoise.perturb.recipe import TOGETHER, Proposal, prepare, replaced
from equipoise.perturb.trivial import change, trivial_kind
from studies.caption_halves import captions_of, learning, train2017
from studies.harness import LANGUAGE, write_packed
from studies.harness.inputs import HALVES, arguments
from studies.harness.jobs import each

OUT = LANGUAGE / "giveaway.json.gz"
# Every so many images of a corpus, and how much a caption counts. COCO shows more kinds of things, Flickr8k has more
# captions: what is learned from all of it alone suits Flickr8k and not COCO.
EVERY = {"coco": 1, "flickr8k": 4, "train2017": 3}
WORTH = {"coco": 1.0, "flickr8k": 0.4, "train2017": 1.0}
LEAST = 5  # replacements that bring in or take out a word, below which nothing is learned about it
PENALTY, BOUND = 3.0, 3.0
ROUNDS, STEPS = 6, 40
RECIPE, DIAL = get_recipe("balanced"), Dial()

Floats = NDArray[np.float64]


class Option(NamedTuple):
    weight: float  # of a plain draw
    change: dict[str, int]  # words and pairs that come in, less those that go out


class Slot(NamedTuple):
    kind: str
    role: str  # optional (may stay empty), last (only for captions without a positive), or always
    options: list[Option]


def _tiers(caption: Caption, kind: str, target: Section) -> Iterator[dict[Proposal, float]]:
    """Proposals with their worth, as in the operations: those to draw from first, then those for when all drop."""
    if kind == "negative" and is_bounded(caption.text):
        return
    if kind == "negative":
        for passed in passing(caption, RECIPE.sources, target, DIAL):
            yield {each: worth_of(chance) for each, chance in passed.items()}
        return
    for source in RECIPE.sources:
        proposals = [each for each in source.synonyms(caption, target) if DIAL.allows(f"{each.by} {each.target}")]
        changes = [(each, caption.text[each.start : each.end]) for each in proposals]
        listed = [(each, old) for each, old in changes if trivial_kind(old, each.to, each.by) is None]
        yield {each: max(1.0, change(old, each.to)) for each, old in listed}


def _kept(caption: Caption, kind: str, proposals: dict[Proposal, float]) -> list[tuple[Option, Proposal]]:
    listed, kept = distinct(proposals), []
    weights = plain_weights(listed, caption.text if kind == "positive" else "", COMMONNESS)
    for proposal, weight in zip(listed, weights, strict=True):
        candidate = replaced(caption.text, kind, proposal)  # type: ignore[arg-type]
        if not any(check(caption, candidate) for check in RECIPE.checks):
            change = Counter(names(window(caption.text, proposal.start, proposal.end, proposal.to)))
            change.subtract(names(window(caption.text, proposal.start, proposal.end)))
            kept.append((Option(weight * proposals[proposal], {name: n for name, n in change.items() if n}), proposal))
    return kept


def slots_of(caption: Caption) -> list[Slot]:
    slots, any_positive = [], []
    for target in SECTIONS:
        for kind in ("positive", "negative"):
            kept = next(filter(None, (_kept(caption, kind, tier) for tier in _tiers(caption, kind, target))), [])
            if kept:
                slots.append(Slot(kind, "optional" if kind == "positive" else "always", [option for option, _ in kept]))
                any_positive += kept if kind == "positive" else []
    if any_positive:
        weights = plain_weights([proposal for _, proposal in any_positive], caption.text)
        slots.append(
            Slot(
                "positive",
                "last",
                [Option(w, option.change) for w, (option, _) in zip(weights, any_positive, strict=True)],
            )
        )
    made = perturb_caption(RECIPE, caption)
    for candidate in (*made.positives, *made.negatives):
        if candidate.edit.op != "replace":  # drawn without these weights, but its pairs count
            change = Counter(names(window(candidate.text, 0, len(candidate.text))))
            change.subtract(names(window(caption.text, 0, len(caption.text))))
            slots.append(Slot(candidate.kind, "always", [Option(1.0, {name: n for name, n in change.items() if n})]))
    return slots


class Flow:
    """All options of one kind as a sparse matrix, options by words and pairs."""

    def __init__(self, captions: list[tuple[float, list[Slot]]], kind: str) -> None:
        slots = [(place, slot) for place, (_, listed) in enumerate(captions) for slot in listed if slot.kind == kind]
        seen = Counter(name for _, slot in slots for option in slot.options for name in option.change)
        self.names = {name: column for column, name in enumerate(n for n, times in seen.items() if times >= LEAST)}
        rows, columns, values = [], [], []
        options = [option for _, slot in slots for option in slot.options]
        for row, option in enumerate(options):
            for name, number in option.change.items():
                if name in self.names:
                    rows.append(row)
                    columns.append(self.names[name])
                    values.append(number)
        self.rows, self.columns = np.array(rows, np.int32), np.array(columns, np.int32)
        self.values = np.array(values, np.float32)
        self.plain = np.log([option.weight for option in options])
        sizes = np.array([len(slot.options) for _, slot in slots])
        self.slot = np.repeat(np.arange(len(slots)), sizes)
        self.starts = np.cumsum(sizes) - sizes
        self.caption = np.array([place for place, _ in slots])
        self.worth = np.array([worth for worth, _ in captions])
        self.last = np.array([slot.role == "last" for _, slot in slots])
        self.nothing = np.where([slot.role == "optional" for _, slot in slots], math.log(NOTHING), -np.inf)

    def chances(self, weights: Floats) -> Floats:
        """How likely each option is drawn."""
        score = self.plain - self._sum(self.rows, self.values * weights[self.columns], len(self.plain))
        most = np.maximum(np.maximum.reduceat(score, self.starts), self.nothing)
        raw = np.exp(score - most[self.slot])
        chances: Floats = raw / (np.add.reduceat(raw, self.starts) + np.exp(self.nothing - most))[self.slot]
        return chances

    def shares(self, weights: Floats) -> Floats:
        """How much each slot counts: one text of a caption is looked at, and the last resort is not often needed."""
        filled = np.add.reduceat(self.chances(weights), self.starts)
        first, count = ~self.last, len(self.worth)
        none = np.exp(self._sum(self.caption[first], np.log(np.maximum(1 - filled[first], 1e-12)), count))
        texts = self._sum(self.caption[first], filled[first], count) + none * (
            self._sum(self.caption, self.last, count) > 0
        )
        each: Floats = (self.worth / np.maximum(1, texts))[self.caption] * np.where(self.last, none[self.caption], 1.0)
        return each

    def mean(self, share: Floats) -> Floats:
        """The rate of coming in less that of going out, for each word and pair."""
        return self._sum(self.columns, self.values * share[self.rows], len(self.names))

    @staticmethod
    def _sum(places: NDArray[np.int32], values: Floats, count: int) -> Floats:
        return np.bincount(places, values, count).astype(np.float64, copy=False)

    def fit(self) -> Floats:
        """Nesterov's gradient steps, each column scaled by how often it occurs."""
        weights = np.zeros(len(self.names))
        size = self._sum(self.rows, np.abs(self.values), len(self.plain))
        even = 1 / np.bincount(self.slot)[self.slot]
        for number in range(ROUNDS):
            slots = self.shares(weights)[self.slot]
            likely = (self.chances(weights) + even) / 2
            curve = (
                self._sum(self.columns, np.abs(self.values) * (likely * slots * size)[self.rows], len(weights))
                + PENALTY
            )
            ahead = weights.copy()
            for step in range(STEPS):
                slope = PENALTY * ahead - self.mean(self.chances(ahead) * slots)
                new = np.clip(ahead - slope / curve, -BOUND, BOUND)
                ahead = new + step / (step + 3) * (new - weights)
                weights = new
            left = np.abs(self.mean(self.chances(weights) * slots)).sum()
            print(f"  round {number + 1}: net flow {left:,.0f}", flush=True)
        return weights


def captions(shared: Path) -> Iterator[tuple[float, Caption]]:
    more = (("train2017", texts) for texts in train2017(shared, learned=True).values())
    for number, (corpus, texts) in enumerate(chain(learning(shared), more)):
        if number % EVERY[corpus]:
            continue
        yield from ((WORTH[corpus], caption) for caption in captions_of(texts))


def _job(jobs: list[tuple[float, Caption]]) -> list[tuple[float, list[Slot]]]:
    prepare([RECIPE], [caption for _, caption in jobs])
    return [(worth, slots_of(caption)) for worth, caption in jobs]


def main() -> None:
    parser = arguments(__doc__, *HALVES)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    left, blocks = captions(options.shared), []
    while block := list(islice(left, TOGETHER)):
        blocks.append(block)
    listed = [result for part in each(_job, blocks, options.workers, "fork") for result in part]
    kept: dict[str, dict[str, int]] = {"negative": json.loads(gzip.decompress(OUT.read_bytes()))["negative"]}
    for kind, table in (("positive", "positive"), ("negative", "judged")):
        flow = Flow(listed, kind)
        print(
            f"{kind}: {len(flow.plain):,} options in {len(flow.caption):,} slots, {len(flow.names):,} words and pairs"
        )
        tenths = np.rint(TENTHS * flow.fit()).astype(int)
        kept[table] = {name: int(tenths[column]) for name, column in sorted(flow.names.items()) if tenths[column]}
    size = write_packed(OUT, kept)
    print(f"{', '.join(f'{len(weights):,} of {table}s' for table, weights in kept.items())}; {size:,} bytes")


if __name__ == "__main__":
    main()
