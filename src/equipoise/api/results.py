"""The results of the verbs in Python: a run, a comparison, an audit. Tables are in percent."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.api.items import Items, frame
from equipoise.api.notebook import CHANGE_HEADS, HtmlTable, cell, change_cells, number_rows, share_cell, table
from equipoise.audit.page import called
from equipoise.audit.page import verdict as verdict_of_audit
from equipoise.core.errors import UserError, did_you_mean
from equipoise.data.items import Item
from equipoise.evaluation.comparing.folders import Compared
from equipoise.evaluation.comparing.gate import Gate, check_gates
from equipoise.evaluation.metrics import METRICS, ROWS, shown
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Check, Numbers, Summary
from equipoise.evaluation.results import each_outcome, write, write_run
from equipoise.evaluation.run import Result
from equipoise.evaluation.sets.kinds import set_lines
from equipoise.report.comparison import change_rows, conclusion, render_compared
from equipoise.report.footnotes import eval_table, verdict
from equipoise.report.tables import Line, metrics_rows, percent, render, result_rows

if TYPE_CHECKING:
    from pandas import DataFrame

    from equipoise.api.inputs import Images
    from equipoise.audit.record import Audit


def _require_metric(metric: str, known: Iterable[str]) -> None:
    if metric not in known:
        raise UserError(f"no metric {metric!r}; there are {', '.join(known)}.{did_you_mean(metric, known)}")


class _Measured:
    """Numbers of which the first line is the headline."""

    label: str = ""

    def lines(self) -> list[Line]:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return table(*number_rows(self.lines()), title=repr(self))

    def __getitem__(self, metric: str) -> float | None:
        """The headline's value in percent; None where it was not measured."""
        numbers = self.lines()[0].numbers
        _require_metric(metric, {**METRICS, **numbers.metrics})
        value = numbers[metric]
        return None if value is None else 100 * value

    def to_frame(self) -> DataFrame:
        """One row for the headline and one for each part: value, and the ends of the 95% interval, in percent."""
        return frame([{"label": line.label.strip(), **_flat(line.numbers)} for line in self.lines()])


def _flat(numbers: Numbers) -> dict[str, object]:
    flat: dict[str, Any] = {"n": numbers.n, "n_positives": numbers.n_positives}
    for name, number in ((row.name, numbers.metrics[row.name]) for row in shown([numbers.metrics])):
        flat[name] = 100 * number.value
        if number.interval is not None:
            flat |= {f"{name}_low": 100 * number.interval.low, f"{name}_high": 100 * number.interval.high}
    return flat | {"ties": numbers.ties}


@dataclass(frozen=True, repr=False)
class Run(Result, _Measured):
    """A model's scores on items. `table()` is what `equipoise eval` prints; `to_frame()` and `items.to_frame()` are
    DataFrames; `record` is result.json, whose numbers are fractions."""

    given: Sequence[Item] = ()
    images: Any = None
    label: str = ""
    out: Path | None = None
    own: Sequence[Any] = field(default=())

    def lines(self) -> list[Line]:
        return result_rows(self.record)

    def table(self, verbose: bool = False) -> HtmlTable:
        return HtmlTable(eval_table(self.record, "text", None, verbose))

    @property
    def items(self) -> ItemResults:
        return ItemResults(self)

    def __repr__(self) -> str:
        words = verdict(self.record) or f"{self.record.kind} {self.record.benchmark.name}"
        return f"{self.label}: {words}" if self.label != self.record.model.spec else words

    @cached_property
    def folder(self) -> Path:
        """Where the run is on disk: `out`, or a temporary folder that is written when it is first needed."""
        if self.out is not None:
            return self.out
        kept = tempfile.TemporaryDirectory(prefix="equipoise-run-")
        object.__setattr__(self, "_kept", kept)  # removed with the run
        self.save(kept.name)
        return Path(kept.name)

    def save(self, folder: str | Path) -> Path:
        """Write result.json and items.jsonl, as `equipoise eval --out` does, into a new folder."""
        folder = Path(folder)
        if (folder / "result.json").exists():
            raise UserError(f"{folder}: already holds a run; name another folder")
        folder.mkdir(parents=True, exist_ok=True)
        if self.record.kind == "items":
            by_id = {item.id: item for item in self.given}
            write_run(folder, self.record, outcomes_of(self.rows), by_id, [*ROWS, *self.own])
        else:
            write(folder, self.record, set_lines(self.rows))
        return folder


@dataclass(frozen=True)
class ItemResults:
    run: Run

    def __len__(self) -> int:
        return len(self.run.rows)

    def __repr__(self) -> str:
        return f"{len(self):,} scored items; to_frame() lists them"

    def to_frame(self) -> DataFrame:
        """One row an item: its texts, its scores (the lowest of the right texts, the highest of the wrong ones), and
        whether it counts for each metric."""
        if self.run.record.kind != "items":
            return frame([row.model_dump() for row in self.run.rows])
        texts = {item.id: item for item in self.run.given}
        outcomes = each_outcome(outcomes_of(self.run.rows), [*ROWS, *self.run.own])
        rows = []
        for row, outcome in zip(self.run.rows, outcomes, strict=True):
            item = texts.get(row.id)
            rows.append(
                {
                    "id": row.id,
                    "image": row.image,
                    "caption": item.caption if item else None,
                    "positives": [text.text for text in item.positives] if item else None,
                    "negatives": [text.text for text in item.negatives] if item else None,
                    "score_caption": None if row.answers and math.isnan(row.caption) else row.caption,
                    "score_lowest_positive": min(row.positives, default=None),
                    "score_highest_negative": max(row.negatives, default=None),
                    **outcome,
                    **row.tags,
                }
            )
        return frame(rows)


@dataclass(frozen=True, repr=False)
class Measured(_Measured):
    """The numbers of scores that were made elsewhere."""

    summary: Summary

    def lines(self) -> list[Line]:
        return metrics_rows(self.summary)

    def table(self) -> HtmlTable:
        return HtmlTable(render(self.lines(), "text", "percent [95% interval, images resampled]; a tie is never a win"))

    def __repr__(self) -> str:
        return ", ".join(
            [f"{self.summary.overall.n:,} items"]
            + [
                f"{row.title} {percent(self.summary.overall, row.name)}"
                for row in shown([self.summary.overall.metrics])
            ]
        )


@dataclass(frozen=True, repr=False)
class Diff:
    """The first model against each of the others, paired item by item. Differences are in points."""

    compared: Compared

    def worse(self, metric: str, by: float = 0.0) -> bool:
        """Whether some model is worse than the first by more than `by` points: the whole 95% interval of the loss
        lies above `by`, as for `equipoise compare --fail-if-worse`."""
        known = {name for comparison in self.compared.differences for name in comparison.changes}
        _require_metric(metric, sorted(known))
        self.compared.require_whole()
        asked = [comparison for comparison in self.compared.differences if metric in comparison.changes]
        return any(gate.failed for gate in check_gates([Gate(metric, by)], asked))

    def table(self) -> HtmlTable:
        return HtmlTable(render_compared(self.compared))

    def to_frame(self) -> DataFrame:
        """One row a metric: n, the difference and the ends of its 95% interval in points, p-values, the verdict."""
        return frame(change_rows(self.compared.differences))

    def __repr__(self) -> str:
        return "\n".join([conclusion(self.compared.differences), *self.compared.warnings])

    def _repr_html_(self) -> str:
        return table(CHANGE_HEADS, change_cells(change_rows(self.compared.differences)), repr(self))


@dataclass(frozen=True, repr=False)
class Audited:
    """The problems of items' texts. `record` is printed by `equipoise audit --json`."""

    record: Audit
    given: Sequence[Item]
    images: Images | None = None

    @property
    def clean(self) -> Items:
        """The items without the bad ones."""
        bad = {example.id for example in self.record.bad}
        return Items([item for item in self.given if item.id not in bad], self.images)

    def to_frame(self) -> DataFrame:
        """One row a bad item, with the reason."""
        return frame([{"id": example.id, "reason": example.said} for example in self.record.bad])

    def __repr__(self) -> str:
        return verdict_of_audit(self.record)

    def _repr_html_(self) -> str:
        checks = [check for check in self.record.checks if check.count]
        rows = [
            [cell(check.title), cell(f"{check.count:,} of {check.of:,}"), share_cell(check.share or 0)]
            for check in checks
        ]
        for shortcut in self.record.shortcuts:
            share = share_cell(shortcut.result.share, shortcut.result.interval)
            rows.append(
                [cell(f"right without the image: {called(shortcut.name)}"), cell(f"{shortcut.result.n:,}"), share]
            )
        return table(("what was found", "n", "share"), rows, repr(self))


@dataclass(frozen=True, repr=False)
class Doctor:
    """The checks of a model, as `equipoise doctor` prints them."""

    checks: Sequence[Check]

    @property
    def fine(self) -> bool:
        return all(check.verdict == "fine" for check in self.checks)

    def to_frame(self) -> DataFrame:
        """One row a check: name, verdict, what was found, why it matters, how to fix it."""
        return frame([check.model_dump() for check in self.checks])

    def __repr__(self) -> str:
        wrong = [
            f"{check.verdict}: {check.name} ({check.found}). {check.fix}"
            for check in self.checks
            if check.verdict != "fine"
        ]
        return "\n".join(
            [f"{sum(check.verdict == 'fine' for check in self.checks)} of {len(self.checks)} checks are fine", *wrong]
        )

    def _repr_html_(self) -> str:
        rows = [[*map(cell, (check.verdict, check.name, check.found, check.fix))] for check in self.checks]
        return table(("verdict", "check", "found", "fix"), rows, repr(self).partition("\n")[0])
