from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import pytest

from equipoise.report.html import ticks
from studies.tables.lib.chart import line_chart

SVG = "{http://www.w3.org/2000/svg}"


def drawn(chart: str) -> tuple[list[list[tuple[float, float]]], list[str]]:
    """The lines and the texts of a chart; broken XML raises."""
    root = ElementTree.fromstring(chart)
    lines = [
        [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
        for line in root.iter(f"{SVG}polyline")
    ]
    return lines, [text.text or "" for text in root.iter(f"{SVG}text")]


def test_lines_lie_inside_and_fall_where_values_fall() -> None:
    steps = range(1, 21)
    chart = line_chart(
        {"loss": [(x, 3 / x) for x in steps], "a<b": [(x, 1 / x) for x in steps]}, "step", "loss & parts"
    )
    lines, texts = drawn(chart)
    assert {"step", "loss & parts", "loss", "a<b", "0", "20"} <= set(texts)
    assert len(lines) == 2
    for line in lines:
        heights = [y for _, y in line]  # counted from the top
        assert heights == sorted(heights) and heights[0] < heights[-1]
        assert all(70 <= x <= 750 and 20 <= y <= 395 for x, y in line)
    assert all(low > high for (_, high), (_, low) in zip(*lines, strict=True))


def test_a_line_breaks_where_there_is_no_number() -> None:
    points = [(1, 1.0), (2, 2.0), (3, math.nan), (4, math.inf), (5, 1.0), (6, 3.0)]
    lines, texts = drawn(line_chart({"loss": points}, "step", "loss"))
    assert [len({x for x, _ in line}) for line in lines] == [2, 2]
    assert not {"nan", "inf"} & set(texts)
    assert drawn(line_chart({"loss": [(1, math.nan)]}, "step", "loss"))[0] == []


def test_a_long_run_stays_small_and_keeps_its_peak() -> None:
    points = [(x, 100.0 if x == 54_321 else 1.0) for x in range(100_000)]
    chart = line_chart({"loss": points}, "step", "loss")
    ((*line,),) = drawn(chart)[0]
    assert len(chart) < 50_000
    assert min(y for _, y in line) == pytest.approx(20.0)  # the top


@pytest.mark.parametrize(
    ("values", "least", "expected"),
    [
        ([1, 16], 1, [0, 2, 4, 6, 8, 10, 12, 14, 16]),
        ([1, 2], 1, [1, 2]),
        ([0.0, 0.003], 0, [0, 0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.003]),
        ([5.0, 5.0], 0, [4.4, 4.6, 4.8, 5.0, 5.2, 5.4, 5.6]),
        ([-3.0, 4.0], 0, [-3, -2, -1, 0, 1, 2, 3, 4]),
    ],
)
def test_ticks_are_round_and_reach_around_the_values(values: list[float], least: float, expected: list[float]) -> None:
    assert ticks(values, least) == pytest.approx(expected)
