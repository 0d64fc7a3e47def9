"""Wide proposals of the learning captions: any noun, verb or adjective of captions that the frame of a place suggests.

    python -m studies.judge.wide --shared DATA --out wide.jsonl

A word is scored for a place by how often captions have it after the two words on the left and before the two on the
right (without articles), and by how alike it is to the old word (singular vectors of which words stand beside which).
Some noise on the scores, and ten words drawn at random for each caption, show the learner what nobody would propose.
Half or more of what comes out is bad: that is what verdicts are for. The lines are those of `candidates.py pool`.
"""

from __future__ import annotations

import json
import math
import random
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from equipoise.language.caption import COLLECTIVES, Unit
from equipoise.language.forms import inflect
from equipoise.perturb import Caption
from equipoise.perturb.recipe import Candidate, Proposal, replaced
from studies.caption_halves import captions_of
from studies.caption_halves import learning as all_learning
from studies.harness.inputs import HALVES, arguments
from studies.judge.candidates import KEPT, learning, row_of

TARGETS = {"noun": "object", "verb": "action", "adjective": "attribute"}
LEAST = {"noun": 25, "verb": 12, "adjective": 15}  # times that captions have a word that is proposed
PROPOSED = {"noun": 30, "verb": 18, "adjective": 10}
MOSTLY, ALIKE, NOISE, AT_RANDOM, SIZE, NEAR = 0.6, 3.0, 0.45, 10, 150, 5
CAPTIONS, SEED = 16_000, 4242


def sides(units: tuple[Unit, ...], place: int) -> tuple[list[str], list[str]]:
    """The two words on the left, the nearest first, and on the right; without articles."""
    neighbours = []
    for listed, end in ((units[place - 1 :: -1] if place else (), "<"), (units[place + 1 :], ">")):
        kept = [unit.lemma if unit.kind in TARGETS else unit.word for unit in listed]
        neighbours.append([*[word for word in kept if word not in {"a", "an", "the"}][:2], end, end][:2])
    return neighbours[0], neighbours[1]


class Frames:
    """Counts of the words that stand next to each other in captions."""

    def __init__(self, shared: Path) -> None:
        self.left: Counter[tuple[str, ...]] = Counter()
        self.right: Counter[tuple[str, ...]] = Counter()
        counts: dict[str, Counter[str]] = {kind: Counter() for kind in TARGETS}
        beside: Counter[tuple[str, str]] = Counter()
        for _, texts in all_learning(shared):
            for text in texts:
                units = Caption(" ".join(text.split())).units
                content = [unit.lemma for unit in units if unit.kind in TARGETS]
                for place, unit in enumerate(units):
                    if unit.kind in TARGETS:
                        self._count(counts, beside, unit, *sides(units, place))
                for place, word in enumerate(content):
                    for other in content[max(0, place - NEAR) : place]:
                        beside[word, f"with {other}"] += 1
                        beside[other, f"with {word}"] += 1
        self.words = {kind: self._proposed(kind, counts) for kind in TARGETS}
        self.rare = {kind: 0.35 * np.log([counts[kind][word] for word in words]) for kind, words in self.words.items()}
        self.vectors = _vectors(beside, {word for words in self.words.values() for word in words})

    def _count(
        self,
        counts: dict[str, Counter[str]],
        beside: Counter[tuple[str, str]],
        unit: Unit,
        left: list[str],
        right: list[str],
    ) -> None:
        counts[unit.kind][unit.lemma] += 1
        for table, side, name in ((self.left, left, "after"), (self.right, right, "before")):
            table[unit.kind, side[0], unit.lemma] += 1
            table[unit.kind, side[0], side[1], unit.lemma] += 1
            beside[unit.lemma, f"{name} {side[0]}"] += 1

    def _proposed(self, kind: str, counts: dict[str, Counter[str]]) -> list[str]:
        """Words that are frequent enough and mostly of this kind."""
        return [
            word
            for word, number in counts[kind].most_common()
            if number >= LEAST[kind]
            and len(word) > 2
            and number >= MOSTLY * sum(other[word] for other in counts.values())
        ]

    def scores(self, unit: Unit, left: list[str], right: list[str]) -> np.ndarray:
        kind, words = unit.kind, self.words[unit.kind]
        fit = -self.rare[kind]
        for table, side in ((self.left, left), (self.right, right)):
            fit = fit + [
                math.log(8 * table[kind, side[0], side[1], word] + table[kind, side[0], word] + 0.3) for word in words
            ]
        mine = self.vectors.get(unit.lemma)
        alike = np.zeros(len(words)) if mine is None else np.stack([self.vectors[word] for word in words]) @ mine
        return fit / 2 + ALIKE * alike


def _vectors(beside: Counter[tuple[str, str]], words: set[str]) -> dict[str, np.ndarray]:
    """Vectors of words from their neighbours: the first singular vectors of positive pointwise mutual information."""
    listed = sorted(words)
    rows = {word: place for place, word in enumerate(listed)}
    totals: Counter[str] = Counter()
    for (word, near), number in beside.items():
        if word in rows:
            totals[near] += number
    columns = {near: place for place, near in enumerate(near for near, number in totals.items() if number >= 6)}
    table = np.zeros((len(rows), len(columns)), np.float32)
    for (word, near), number in beside.items():
        if word in rows and near in columns:
            table[rows[word], columns[near]] = number
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        table = np.maximum(np.nan_to_num(np.log(table / expected), neginf=0.0), 0.0)
    values, left = np.linalg.eigh(table @ table.T)
    kept = left[:, -SIZE:] * np.maximum(values[-SIZE:], 0) ** 0.25
    kept /= np.linalg.norm(kept, axis=1, keepdims=True) + 1e-9
    return dict(zip(listed, kept, strict=True))


def places(caption: Caption) -> list[int]:
    units = caption.units
    return [
        place
        for place, unit in enumerate(units)
        if unit.kind in TARGETS
        and not caption.is_name(place)
        and not (
            unit.kind == "noun"
            and (unit.lemma in COLLECTIVES or (units[place + 1 : place + 2] and units[place + 1].kind == "noun"))
        )
    ]


def proposals(caption: Caption, frames: Frames, rng: np.random.Generator) -> Iterator[tuple[Candidate, bool]]:
    """Candidates, each with whether it was drawn at random."""
    units, editable = caption.units, places(caption)
    for place in editable:
        unit = units[place]
        scores = frames.scores(unit, *sides(units, place))
        order = np.argsort(-(scores + rng.gumbel(0, NOISE, len(scores))), kind="stable")
        for row in order[: PROPOSED[unit.kind]]:
            yield from _written(caption, unit, frames.words[unit.kind][row], False)
    for _ in range(AT_RANDOM if editable else 0):
        unit = units[editable[rng.integers(len(editable))]]
        words = frames.words[unit.kind]
        yield from _written(caption, unit, words[rng.integers(len(words))], True)


def _written(caption: Caption, unit: Unit, word: str, at_random: bool) -> Iterator[tuple[Candidate, bool]]:
    if word == unit.lemma or word in caption.words or word in caption.other_words:
        return
    pos = ("NNS" if unit.pos in {"NNS", "NNPS"} else "NN") if unit.kind == "noun" else unit.pos
    to = inflect(word, pos) if unit.kind != "adjective" else word
    if to != unit.text:
        made = Proposal(unit.start, unit.end, to, TARGETS[unit.kind], "wide", 1.0)  # type: ignore[arg-type]
        yield replaced(caption.text, "negative", made), at_random


def main() -> None:
    parser = arguments(__doc__, *HALVES)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    frames = Frames(options.shared)
    listed = [
        (corpus, image, texts, place)
        for corpus, image, texts in learning(options.shared)
        for place in range(len(texts))
    ]
    random.Random(SEED).shuffle(listed)
    listed.sort(key=lambda each: each[0] != "coco")  # all of COCO's first: it shows more kinds of things
    with options.out.open("w", encoding="utf-8") as handle:
        for corpus, image, texts, place in listed[:CAPTIONS]:
            caption = captions_of(texts)[place]
            rng = np.random.default_rng(zlib.crc32(f"{image} {texts[place]}".encode()))
            made = {}
            for candidate, at_random in proposals(caption, frames, rng):
                if candidate.text not in made and (at_random or not any(check(caption, candidate) for check in KEPT)):
                    made[candidate.text] = row_of(candidate)
            about = {"corpus": corpus, "image": image, "place": place, "caption": texts[place]}
            handle.write(json.dumps({**about, "others": caption.others, "made": list(made.values())}) + "\n")


if __name__ == "__main__":
    main()
