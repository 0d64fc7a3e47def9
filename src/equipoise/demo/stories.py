"""The parts of the demo: five models, their training texts, and the tests."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from equipoise.benchmarks import registry
from equipoise.benchmarks.base import Benchmark
from equipoise.data.images import ImageSource
from equipoise.data.items import Item
from equipoise.data.readers.sets.captions import caption_set, from_items
from equipoise.data.readers.sets.kinds import CaptionSet
from equipoise.world.splits import MATCHED, DrawnImages, world_items

if TYPE_CHECKING:
    from equipoise.train.recipe import Recipe

Data = Literal["usual", "matched"]


@dataclass(frozen=True)
class StoryRow:
    label: str
    about: str
    recipe: str | None = None  # None: the base itself
    data: Data = "usual"


BASE = StoryRow("base", "the model as it is, not finetuned")
CONTROL = StoryRow("captions alone", "finetuned on the captions, without edits", "control")
USUAL = StoryRow("usual negatives", "hard negatives as they are usually written (see the notes at the end)", "hn_only")
BOTH = StoryRow(
    "matched + positives",
    "hard negatives in words as common as the caption's, and hard positives; the loss of Kamath et al. 2024",
    "hard_positives_kamath_2024",
    "matched",
)
OURS = StoryRow(
    "Equipoise",
    "the same texts; our recipe ranks caption and rewording above each hard negative",
    "equipoise_2026",
    "matched",
)
ROWS = (BASE, CONTROL, USUAL, BOTH, OURS)


@dataclass(frozen=True)
class StoryColumn:
    """A metric on a test, of all items or of those whose tag `synonym` is `words`."""

    title: str
    about: str
    test: str
    metric: str
    words: str = ""


REWORDED = "both the caption and its rewording score above the wrong caption"
RETRIEVAL = StoryColumn("retrieval", "mean of recall@1, 5 and 10, both ways", "retrieval", "recall")


@dataclass(frozen=True)
class Story:
    """The demo's inputs. `joins` names the runs that make up each test."""

    title: str
    base: Any  # a model that `train` can finetune
    training: Mapping[Data, Sequence[Item]]
    tests: Sequence[tuple[Sequence[Item], Benchmark | str]]  # items, and their benchmark or its name
    joins: Mapping[str, Sequence[str]]
    retrieval: CaptionSet
    images: ImageSource
    columns: Sequence[StoryColumn]
    chapters: Mapping[str, tuple[str, str]]  # test: its title, and what is changed in the captions
    settings: Mapping[str, Any]
    device: str
    processes: int = 1  # models at a time
    shown: ImageSource | None = None  # pictures for the page, if not those of the model
    notes: Sequence[str] = ()
    identity: Mapping[str, object] = field(default_factory=dict)

    def recipe(self, name: str, seed: int = 0) -> Recipe:
        from equipoise.train.recipes import get_recipe

        return get_recipe(name, seed=seed, **self.settings)

    def steps(self) -> int:
        recipe = self.recipe("control")
        passes = recipe.epochs * (len(self.training["usual"]) // recipe.batch_size)
        return passes if recipe.max_steps is None else min(passes, recipe.max_steps)


STEPS, BATCH = 100, 128
FINETUNING = 6_400  # items: two passes
TESTS = 1_500  # items of each test
SEARCHED = 1_000  # pictures of the retrieval test
_REPLACE = ("world-replace-attributes", "world-replace-relations")
_WORLD = (
    StoryColumn("usual score", "the caption scores above the wrong caption (Original accuracy)", "replace", "original"),
    StoryColumn("reworded, seen words", f"{REWORDED} (Augmented accuracy)", "replace", "augmented", "seen"),
    StoryColumn("reworded, unseen words", "the same, with synonyms that no caption or rewording of the training has",
           "replace", "augmented", "unseen"),
    StoryColumn("swapped attributes", f"{REWORDED}; two attributes change places", "swap", "augmented"),
    RETRIEVAL,
)  # fmt: skip


def world_story(
    tests: int = TESTS, finetuning: int = FINETUNING, steps: int = STEPS, lr: float = 6e-4, split: str = "test"
) -> Story:
    """The drawn world with its base model. Settings were chosen on validation scenes (world/README.md)."""
    from equipoise.models import load_model
    from equipoise.world.benchmarks import LargePictures

    images = DrawnImages()
    sets = [
        (list(world_items(split, tests, tests=tuple(benchmark.splits))), benchmark)
        for benchmark in map(registry.get, (*_REPLACE, "world-swap"))
    ]
    training: dict[Data, Sequence[Item]] = {
        "usual": list(world_items("finetune", finetuning)),
        "matched": list(world_items(MATCHED, finetuning)),
    }
    for item in itertools.chain(*(items for items, _ in sets)):
        assert item.image is not None
        images.read(item.image.path)  # drawn once, for all processes
    return Story(
        title="drawn pictures",
        base=load_model("world", device="cpu"),
        training=training,
        tests=sets,
        joins={"replace": _REPLACE, "swap": ("world-swap",)},
        retrieval=caption_set("world-retrieval", "test", images, from_items(sets[2][0][:SEARCHED])),
        images=images,
        columns=_WORLD,
        chapters={
            "replace": ("One word replaced", "the reworded caption has a synonym, the wrong one another value"),
            "swap": ("Two attributes swapped", "the reworded caption names the things in the other order"),
        },
        settings={
            "max_steps": steps,
            "warmup_steps": steps // 10,
            "batch_size": min(BATCH, finetuning),
            "lr": lr,
            "freeze": "vision",
        },
        device="cpu",
        processes=min(4, os.cpu_count() or 1),
        shown=LargePictures(),
        notes=[
            "The pictures are drawn, so no label is wrong; real benchmarks have wrong labels (`equipoise bench "
            "check`). The page shows them larger than the model sees them, without lamp and grain.",
            "Usual negatives use any word for the wrong thing, often a rare one, as lexicons and language models do, "
            "so a model can learn that rare words are wrong. Matched negatives use a word as common as the caption's.",
        ],
        identity={"tests": tests, "finetuning": finetuning, "steps": steps, "lr": lr, "split": split},
    )
