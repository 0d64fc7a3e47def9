"""A form of the tables, quick or real: which data, which base model, which test sets stand for the papers' columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from equipoise.benchmarks.base import Benchmark
from equipoise.data.images import ImageSource
from equipoise.data.items import Item
from equipoise.data.readers.sets.kinds import AnySet
from equipoise.train.recipe import Recipe
from studies.tables.lib.jobs import Job


@dataclass(frozen=True)
class Column:
    """Where a column of a paper's table comes from: test sets, all of their items or those with a tag's value.

    The average is over the groups of the tags in `over`, else by the benchmark's `rule` (its own where none is named),
    else over the test sets. A rule holds within a part too: the paper's "replace" is the mean of three splits.
    """

    tests: tuple[str, ...]
    tag: str = ""
    value: str = ""
    rule: str | None = None
    over: tuple[str, ...] = ()


@dataclass(frozen=True)
class TestSet:
    items: Sequence[Item]
    images: ImageSource
    benchmark: Benchmark | None  # None: a set of ours, averaged over items
    name: str


class Form(Protocol):
    name: str
    columns: dict[str, Column]  # by the papers' names; one that is not there has nothing that stands for it
    standards: dict[str, tuple[str, ...]]  # what stands for the papers' standard sets
    variants: dict[str, str]  # other base models, and what is said of them

    def prepare(self, jobs: Iterable[Job], tests: Iterable[str], standards: Iterable[str], processes: int) -> None:
        """Make or check all data of these models, test sets and standard sets, before anything is trained."""

    def can(self, job: Job) -> bool:
        """Whether this form can make or load a model; of one that it cannot, only the published row is shown."""

    def trains(self, job: Job) -> bool:
        """Whether a model is made by training here."""

    def label(self, job: Job) -> str:
        """Its name in a table, with what it is where the name alone would claim more."""

    def weights(self, job: Job) -> str:
        """A hash of the files of its base model, or of its checkpoint."""

    def recipe(self, job: Job, seed: int) -> Recipe: ...
    def base(self, job: Job, device: str) -> Any: ...  # a ClipModel where it is trained
    def finetuning(self, name: str) -> tuple[Sequence[Item], ImageSource]: ...
    def test(self, name: str) -> TestSet: ...
    def standard(self, name: str) -> AnySet: ...
    def about(self) -> str:
        """The facts that a reader of a table must know, in a sentence or two."""

    def prior(self) -> str:
        """An explanation of the rows that are named after earlier papers."""
