"""Gates for CI: fail if a new model loses more than POINTS on a METRIC (METRIC:POINTS).

`--fail-if-worse` fails if the whole 95% interval of the loss lies above POINTS. With few images a real loss passes.

`--fail-unless-shown` fails unless the whole interval lies below POINTS (a test of non-inferiority). With few images an
unchanged model fails. Both print the limit that these images can resolve (`visible`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from equipoise.core.errors import UserError, did_you_mean
from equipoise.evaluation.metrics import INFO, OUTCOME_SIDES, info
from equipoise.evaluation.record import Comparison

GateVerdict = Literal["worse", "unclear", "fine"]


@dataclass(frozen=True)
class Gate:
    metric: str
    points: float
    strict: bool = False  # fail-unless-shown

    @property
    def option(self) -> str:
        return f"--fail-{'unless-shown' if self.strict else 'if-worse'} {self.metric}:{self.points:g}"


@dataclass(frozen=True)
class Passed:
    """The verdict of a gate on one comparison; points are percentage points, a loss is positive."""

    metric: str
    points: float
    benchmark: str
    after: str
    loss: float
    low: float
    high: float
    visible: float | None  # the smallest true loss that fails, or POINTS with which no loss passes, in 80 of 100
    verdict: GateVerdict
    strict: bool = False
    p: float | None = None  # corrected; the verdict does not use it

    @property
    def failed(self) -> bool:
        return self.verdict == "worse" or (self.strict and self.verdict == "unclear")


def read_gate(text: str, strict: bool = False, own: Sequence[str] = ()) -> Gate:
    """'augmented:1.5' -> Gate; `own` are the user's metrics of the runs."""
    option = f"--fail-{'unless-shown' if strict else 'if-worse'} {text}"
    metric, _, points = text.partition(":")
    known = [*(name for name, row in INFO.items() if row.side in OUTCOME_SIDES), *own]
    if metric not in known:
        raise UserError(
            f"{option}: no metric {metric!r}; expected METRIC:POINTS, METRIC one of "
            f"{', '.join(known)}.{did_you_mean(metric, known)}"
        )
    try:
        value = float(points) if points.isascii() else math.nan  # float() reads digits of every script
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        raise UserError(f"{option}: expected METRIC:POINTS, POINTS from 0 to 100, as in {metric}:1")
    return Gate(metric, value, strict)


def check_gates(gates: Sequence[Gate], comparisons: Sequence[Comparison]) -> list[Passed]:
    """Every gate on every comparison; a metric that was not measured is an error, never a pass."""
    passed = []
    for gate in gates:
        for comparison in comparisons:
            change = comparison.changes.get(gate.metric)
            if change is None:
                raise UserError(
                    f"{gate.option}: {comparison.benchmark} has no {gate.metric} "
                    "(none of its items is asked), so nothing could fail"
                )
            about = info(gate.metric, change)
            if change.detectable is not None and change.detectable > 1 and change.own is None:
                first, second = comparison.runs
                raise UserError(
                    f"{gate.option}: {comparison.benchmark} ({comparison.n:,} items, {first} and {second} runs) "
                    "decides nothing: even a loss of 100 points would often pass. Use more items, at least eight, or "
                    "more seeds"
                )
            sign = 1 if about.better == "low" else -1
            most = math.inf if change.own else 200 if about.less else 100  # the largest loss that exists, in points
            low, high = sorted(min(most, max(-most, 100 * sign * end)) for end in change.interval)
            loss = 100 * sign * change.difference
            holds_limit = high >= gate.points if gate.strict else loss > gate.points  # so the interval does not decide
            verdict: GateVerdict = "worse" if low > gate.points else "unclear" if holds_limit else "fine"
            least = 0.0 if gate.strict else gate.points
            visible = None if change.detectable is None else least + 100 * change.detectable
            visible = None if visible is None or visible > most else visible
            said = (gate.metric, gate.points, comparison.benchmark, comparison.after, loss, low, high, visible, verdict)
            passed.append(Passed(*said, gate.strict, change.adjusted))
    return passed
