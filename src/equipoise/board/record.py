"""A leaderboard as a record: what `--format json` prints and what the page and the tables are made from.

Fractions everywhere, as in result.json. A reported number has no interval and no group: nobody published the items
behind it, so it is never tested against a measured one.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from equipoise.evaluation.metrics import METRICS, MetricInfo, info, shown
from equipoise.evaluation.record import Interval


class Part(BaseModel):
    """Frozen, and strict on every field."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Reported(Part):
    """One number that somebody printed."""

    model: str = Field(min_length=1)
    benchmark: str = Field(min_length=1)  # our name of it where we have it: only those are set beside a run
    value: float
    metric: str = "original"
    average: str | None = None  # the rule, of `equipoise bench show`; None: the source does not say
    split: str | None = None  # None: of the whole benchmark
    source: str = ""

    @property
    def what(self) -> str:
        """'Original (vl_compo), add_att'"""
        name = METRICS[self.metric].label if self.metric in METRICS else self.metric
        rule = f" ({self.average})" if self.average else ""
        return f"{name}{rule}" + (f", {self.split}" if self.split else "")


class Measured(Part):
    """A number of a run; models that share a letter cannot be told apart on it."""

    value: float
    interval: Interval | None
    letters: str | None  # None: not compared with others
    own: MetricInfo | None = None  # of a metric of the user's own: what it is


class Beside(Part):
    """A reported number and ours of the same model, metric, rule and split."""

    reported: Reported
    measured: float | None
    interval: Interval | None
    difference: float | None  # measured minus reported
    why: str = ""  # there is no difference, or what to know of it


class Row(Part):
    """A model that was measured."""

    model: str
    spec: str
    runs: int  # seeds
    n: int
    ties: int | float | None
    numbers: dict[str, Measured]
    beside: list[Beside]

    def said(self, what: str) -> Beside | None:
        """What others reported of the whole test set by that name."""
        return next((one for one in self.beside if one.reported.split is None and one.reported.what == what), None)


class ReportedRow(Part):
    """A model that was not measured here; by `Reported.what`."""

    model: str
    numbers: dict[str, float]
    sources: list[str]


class TestSet(Part):
    """One set of items, with every model that was measured or reported on it."""

    __test__ = False  # no test of pytest
    title: str
    benchmark: str
    items_sha256: str
    n: int
    average: str
    first: str  # by which the rows are sorted
    rows: list[Row]
    reported: list[ReportedRow]
    notes: list[str]

    @property
    def columns(self) -> list[MetricInfo]:
        return shown(row.numbers for row in self.rows)

    @property
    def first_label(self) -> str:
        found = next((row.numbers[self.first] for row in self.rows if self.first in row.numbers), None)
        return info(self.first, found).label

    @property
    def reported_columns(self) -> list[str]:
        """What others reported of the whole test set, in their order."""
        ours = [one.reported.what for row in self.rows for one in row.beside if one.reported.split is None]
        return list(dict.fromkeys([*ours, *(what for row in self.reported for what in row.numbers)]))


class Board(Part):
    """The whole leaderboard."""

    correction: str
    tests: list[TestSet]
    elsewhere: list[Reported]  # of benchmarks that no run measured
    sources: list[str]
    equipoise: str

    @property
    def others(self) -> bool:
        """Whether anything that others reported is in it."""
        return bool(self.elsewhere) or any(test.reported_columns for test in self.tests)
