"""A gate for the CI of a model team: is the new model worse, by more than is allowed, beyond doubt?

METRIC:POINTS fails where the whole 95% interval of the loss lies above POINTS: not where the measured loss does, which
luck alone makes of every second change, and not where it may or may not. So a gate lets pass what it cannot see; how
much that is, it says (`visible`), and a team that wants to see less adds items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from equipoise.comparing.models import LOWER
from equipoise.errors import UserError, did_you_mean
from equipoise.evaluation.record import METRICS, Comparison, Metric

Verdict = Literal["worse", "not shown", "fine"]


@dataclass(frozen=True)
class Gate:
    metric: Metric
    points: float


@dataclass(frozen=True)
class Passed:
    """What a gate says of one comparison; points are percentage points, a loss is positive."""

    metric: Metric
    points: float
    benchmark: str
    after: str
    loss: float
    low: float
    high: float
    visible: float | None  # the smallest true loss that fails here in 80 of 100 repetitions
    verdict: Verdict

    @property
    def failed(self) -> bool:
        return self.verdict == "worse"


def read_gate(text: str) -> Gate:
    """'augmented:1.5' -> Gate."""
    metric, _, points = text.partition(":")
    if metric not in METRICS:
        raise UserError(
            f"--fail-if-worse {text}: no metric {metric!r}; expected METRIC:POINTS, METRIC one of "
            f"{', '.join(METRICS)}.{did_you_mean(metric, METRICS)}"
        )
    try:
        value = float(points)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        raise UserError(f"--fail-if-worse {text}: expected METRIC:POINTS, POINTS from 0 to 100, as in {metric}:1")
    return Gate(metric, value)


def judge_gates(gates: Sequence[Gate], found: Sequence[Comparison]) -> list[Passed]:
    """Every gate on every comparison; a metric that was not measured is an error, never a pass."""
    passed = []
    for gate in gates:
        for one in found:
            change = one[gate.metric]
            if change is None:
                raise UserError(
                    f"--fail-if-worse {gate.metric}:{gate.points:g}: {one.benchmark} has no {gate.metric} "
                    "(its items have no hard positive), so nothing could fail"
                )
            sign = 1 if gate.metric in LOWER else -1
            low, high = sorted(100 * sign * end for end in change.interval)
            loss = 100 * sign * change.difference
            verdict: Verdict = "worse" if low > gate.points else "not shown" if loss > gate.points else "fine"
            visible = None if change.detectable is None else gate.points + 100 * change.detectable
            passed.append(Passed(gate.metric, gate.points, one.benchmark, one.after, loss, low, high, visible, verdict))
    return passed
