"""The demo's story with more seeds and items, and whether recipes rank on the drawn world as they do on photographs.

    python -m studies.world_story --out OUT                  three seeds, 10,000 items a test; an hour on two cores
    python -m studies.world_story --out OUT --device cuda --jobs 12  minutes
    python -m studies.world_story --out OUT --seeds 1 --tests 200 --steps 4       does it run?

A second call continues where the first stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from equipoise.demo import in_lines, measure
from equipoise.demo.numbers import Models, changes, findings, value_of
from equipoise.demo.stories import BASE, BOTH, CONTROL, OURS, ROWS, STEPS, USUAL, Story, StoryRow, world_story
from equipoise.models import load_model
from studies.coco import kept
from studies.harness.inputs import arguments

KAMATH = "hard_positives_kamath_2024"
MORE = (  # what the photographs' tables have besides
    StoryRow("matched negatives", "", "hn_only", "matched"),
    StoryRow("usual + positives", "", KAMATH, "usual"),
    StoryRow("Equipoise, usual", "", OURS.recipe, "usual"),
)
PHOTOS = {  # our row: the same in studies/coco/results
    USUAL.label: "hn-negclip",
    "usual + positives": "hp-hn-negclip",
    "matched negatives": "hn",
    BOTH.label: "hp-hn",
    OURS.label: "ours",
}
KEYS = {  # our column: keys there
    "usual score": ["negclip/original"],
    "reworded, seen words": ["seen/augmented"],
    "reworded, unseen words": ["unseen/augmented"],
    "swapped attributes": ["swap/augmented"],
    "retrieval": [f"{way}@{top}" for way in ("t2i", "i2t") for top in (1, 5, 10)],
}


def on_photos(tower: str) -> dict[str, dict[str, float]]:
    """Row -> column -> points against captions alone, means over the bases that both models start from."""

    def change(name: str, keys: Sequence[str]) -> float:
        own, control = (kept.found_of(tower, model, kept.seeds(tower, name, "control")) for model in (name, "control"))
        return float(np.mean([[a[key] - b[key] for key in keys] for a, b in zip(own, control, strict=True)]))

    known = {row: name for row, name in PHOTOS.items() if name in kept.models(tower)}
    return {row: {column: change(name, keys) for column, keys in KEYS.items()} for row, name in known.items()}


def on_world(models: Models, story: Story) -> dict[str, dict[str, float]]:
    control = {column.title: value_of(models[CONTROL.label], column)[0] for column in story.columns}
    return {
        label: {column.title: 100 * (value_of(seeds, column)[0] - control[column.title]) for column in story.columns}
        for label, seeds in models.items()
    }


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    left, right = (np.argsort(np.argsort(values)).astype(float) for values in (first, second))
    return float(np.corrcoef(left, right)[0, 1])


def agreement(world: Mapping[str, Mapping[str, float]], photos: Mapping[str, Mapping[str, float]]) -> tuple[float, int]:
    """Spearman's correlation over recipes and columns, and the number of pairs."""
    cells = [(row, column) for row in photos for column in photos[row]]
    pairs = ([world[row][column] for row, column in cells], [photos[row][column] for row, column in cells])
    return spearman(*pairs), len(cells)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tests", type=int, default=10_000, help="items of each test")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument("--split", default="test", help="validation: where settings are chosen")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=2, help="models at a time")
    options = parser.parse_args()
    story = world_story(options.tests, steps=options.steps, lr=options.lr, split=options.split)
    story = replace(story, device=options.device, processes=options.jobs, base=load_model("world", device="cpu"))
    models = measure(options.out, story, (*ROWS, *MORE), range(options.seeds))
    print(in_lines(story, models))
    shown = {row.label: models[row.label] for row in ROWS}
    print(f"n = {2 * options.tests:,} reworded items, half of them with unseen words; {options.seeds} seeds")
    print("\n".join(findings(changes(shown, story.columns), changes(shown, story.columns, BASE.label))))

    print("\nSpearman's correlation with photographs, over recipes and columns (points against captions alone):")
    points = on_world(models, story)
    for tower, name in (("m", "MiniLM"), ("s", "from scratch")):
        correlation, n = agreement(points, on_photos(tower))
        print(f"COCO {name:13} n = {n}: {correlation:+.2f}")


if __name__ == "__main__":
    main()
