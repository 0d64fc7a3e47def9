"""A line chart as an SVG file of its own, for pages that are Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from equipoise.report.html import XY, ticks, visible

_WIDTH, _HEIGHT = 800, 450
_LEFT, _TOP, _BOTTOM = 70, 20, 55
_COLOURS = ("#000000", "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2")
_TEXT = '<text x="{:.1f}" y="{:.1f}" {}>{}</text>'
_LINE = '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"/>'


def line_chart(lines: Mapping[str, Sequence[XY]], x_label: str, y_label: str) -> str:
    """An SVG line chart: one line per name, the first in black; a line breaks where its value is not finite."""
    right = _WIDTH - 50 - 8 * max(map(len, lines))  # the names are to the right
    bottom = _HEIGHT - _BOTTOM
    known = [(x, y) for points in lines.values() for x, y in points if math.isfinite(y)] or [(0.0, 0.0)]
    x_ticks, y_ticks = ticks([x for x, _ in known], least=1), ticks([y for _, y in known])

    def place(point: XY) -> XY:
        across = (point[0] - x_ticks[0]) / (x_ticks[-1] - x_ticks[0])
        up = (point[1] - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _LEFT + across * (right - _LEFT), bottom - up * (bottom - _TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _TEXT.format((_LEFT + right) / 2, _HEIGHT - 12, 'text-anchor="middle"', escape(x_label)),
        _TEXT.format(-(_TOP + bottom) / 2, 18, 'text-anchor="middle" transform="rotate(-90)"', escape(y_label)),
    ]
    for tick in x_ticks:
        x, _ = place((tick, y_ticks[0]))
        parts.append(_LINE.format(x, _TOP, x, bottom, "#dddddd", 1))
        parts.append(_TEXT.format(x, bottom + 18, 'text-anchor="middle"', f"{tick:.6g}"))
    for tick in y_ticks:
        _, y = place((x_ticks[0], tick))
        parts.append(_LINE.format(_LEFT, y, right, y, "#dddddd", 1))
        parts.append(_TEXT.format(_LEFT - 8, y + 4, 'text-anchor="end"', f"{tick:.6g}"))
    for index, (name, points) in enumerate(lines.items()):
        colour, width = _COLOURS[index % len(_COLOURS)], 1 if index else 2
        for finite, run in groupby(points, key=lambda point: math.isfinite(point[1])):
            if finite:
                drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in visible(map(place, run)))
                style = f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-linecap="round"'
                parts.append(f'<polyline points="{drawn}" {style}/>')
        row = _TOP + 10 + 20 * index
        parts.append(_LINE.format(right + 12, row, right + 32, row, colour, width))
        parts.append(_TEXT.format(right + 38, row + 4, "", escape(name)))
    return "\n".join([*parts, "</svg>", ""])
