"""A comparison for the terminal: differences, tests, groups without a significant difference, flips, gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.core.errors import printable
from equipoise.evaluation.comparing.folders import Compared, Flips
from equipoise.evaluation.comparing.gate import Passed
from equipoise.evaluation.comparing.models import Placed
from equipoise.evaluation.metrics import SET_METRICS, MetricInfo, info, shown
from equipoise.evaluation.record import Change, Comparison
from equipoise.report import fold, text_table
from equipoise.report.tables import OF_THOSE, POSITIVES, signed

_CUT = 60  # characters of a text in a list
VERDICT = "the interval leaves zero out and the corrected p is below 0.05"


def render_compared(found: Compared, gates: Sequence[Passed] = ()) -> str:
    """Everything that `compare` found, for people."""
    of_items = [one for one in found.differences if not _is_set(one)]
    notes = [printable(f"warning: {line}") for line in (*found.left_out, *found.warnings)]
    parts = [fold("\n".join([*map(gate_line, gates), conclusion(found.differences), *notes]))]
    parts += [render_differences(found.differences), _tests(of_items) if of_items else ""]
    parts += [_groups(name, placed, found) for name, placed in found.groups.items() if placed]
    for one, flipped in zip(found.differences, found.flips, strict=True):
        parts.append(_flips(one, flipped))
    return "\n".join(part for part in parts if part)


def conclusion(found: Sequence[Comparison]) -> str:
    """One sentence a comparison: what became better, what worse, and what did not change significantly."""
    return "\n".join(_concluded(one) for one in found)


def _concluded(one: Comparison) -> str:
    better: list[str] = []
    worse: list[str] = []
    unclear: list[str] = []
    for row in shown([one.changes]):
        change = one.changes[row.name]
        if row.less is not None:
            continue
        if not (change.clear if change.p is None else change.significant):
            unclear.append(row.title)
            continue
        gained = change.difference > 0 if row.better == "high" else change.difference < 0
        (better if gained else worse).append(f"{row.title} {signed(change.difference)}")
    parts = [f"better on {', '.join(better)} points"] if better else []
    parts += [f"worse on {', '.join(worse)} points"] if worse else []
    if unclear and parts:
        parts.append(f"{', '.join(unclear)}: no significant difference")
    elif unclear:
        parts.append(f"no significant difference in {', '.join(unclear)}")
    return printable(f"{one.benchmark}: {one.after} against {one.before} ({one.n:,} items): {'; '.join(parts)}")


def render_differences(found: Sequence[Comparison]) -> str:
    """Paired differences for the terminal: points, interval, and whether the interval leaves zero out."""
    of_items = [one for one in found if not _is_set(one)]
    tables = []
    if of_items:
        tables.append(_differences(of_items, shown((one.changes for one in of_items), "texts", always=True)))
    if on_images := shown((one.changes for one in found), "images"):
        asked = [one for one in found if any(row.name in one.changes for row in on_images)]
        tables.append(_differences(asked, on_images))
    if sets := [one for one in found if _is_set(one)]:
        tables.append(_set_changes(sets))
    return "\n".join(tables)


def _is_set(one: Comparison) -> bool:
    return any(name in SET_METRICS for name in one.changes)


def _set_changes(found: Sequence[Comparison]) -> str:
    """One line per number of retrieval, classification and ratings."""
    rows = []
    for one in found:
        for place, row in enumerate(shown([one.changes])):
            about = (f"{one.benchmark} ({one.average})", one.before, one.after) if place == 0 else ("", "", "")
            rows.append([*about, row.title, points(one.changes[row.name])])
    caption = "after minus before, in points [95% interval, paired over photos]; ~ the interval holds zero"
    return text_table(["", "before", "after", "", "change"], rows, caption, words=(0, 1, 2, 3))


def _differences(found: Sequence[Comparison], metrics: Sequence[MetricInfo]) -> str:
    names = [row.short for row in metrics]
    two = "drop" in names and any(one.n_positives != one.n for one in found)
    cells = []
    for one in found:
        counts = [f"{one.n:,}", f"{one.n_positives:,}"] if two else [f"{one.n:,}"]
        changes = [points(one.changes.get(row.name)) for row in metrics]
        cells.append([f"{one.benchmark} ({one.average})", one.before, one.after, *counts, *changes])
    caption = "after minus before, in points [95% interval, paired over images]; ~ the interval holds zero"
    if "drop" in names:
        caption += f"; drop: Orig. minus Aug., so + is a larger drop\n* significant: {VERDICT} (next table)"
    caption += f"\n{OF_THOSE}" if two else ""
    header = ["benchmark", "before", "after", "n", *([POSITIVES] if two else []), *names]
    return text_table(header, cells, caption, words=(0, 1, 2))


def points(change: Change | None) -> str:
    if change is None:
        return "-"
    low, high = map(signed, change.interval)
    mark = "*" if change.significant else " " if change.clear else "~"
    return f"{signed(change.difference)} [{low}, {high}]{mark}"


def _tests(found: Sequence[Comparison]) -> str:
    """One line a metric: p-values and what could have been found."""
    seeds = any(one.runs != (1, 1) for one in found)
    header = ["", "points", "p", "p (Holm)", "smallest detectable", "error: images"]
    header += ["seeds"] if seeds else []
    rows = []
    for one in found:
        rows.append([f"{one.benchmark}, {one.after}", *[""] * (len(header) - 1)])
        for row in shown([one.changes]):
            change = one.changes[row.name]
            cells = [f"  {row.title}", f"{100 * change.difference:+.2f}", _p(change.p)]
            cells += [_p(change.adjusted) + ("*" if change.significant else " ")]
            cells += [_detectable(change.detectable), _size(change.image_error)]
            rows.append(cells + ([_size(change.seed_error)] if seeds else []))
    caption = (
        "p (Holm): corrected for all lines of this table; smallest detectable: the true difference in points that "
        "is found in about 80 of 100 repetitions (none: fewer than eight items)"
    )
    return text_table(header, rows, caption)


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}" if value > 0.0001 else "≤0.0001"


def _size(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _detectable(value: float | None) -> str:
    """None for fewer than eight items, where even a change of all of them may not be significant."""
    return "none" if value is not None and value > 1 else _size(value)


def _groups(benchmark: str, placed: Mapping[str, Sequence[Placed]], found: Compared) -> str:
    """The models from the best down by the first metric, each value with its letters."""
    metrics = list(placed)
    by_name = {metric: {one.model: one for one in placed[metric]} for metric in metrics}
    rows = []
    for one in placed[metrics[0]]:
        cells = [by_name[metric][one.model] for metric in metrics]
        rows.append([one.model, *(f"{100 * cell.value:.1f}  {cell.letters}" for cell in cells)])
    caption = (
        "Models that share a letter do not differ significantly (every pair tested, corrected by Holm within a "
        "metric); a is the best."
    )
    changes = next(one.changes for one in found.differences if one.benchmark == benchmark)
    return text_table([benchmark, *(info(metric, changes.get(metric)).title for metric in metrics)], rows, caption)


def _flips(one: Comparison, flipped: Flips) -> str:
    if not (flipped.items or flipped.tags):
        return ""
    head = (
        f"{one.benchmark}, {one.after}: {flipped.gained:g} items became right (s(c) > every s(n)), {flipped.lost:g} "
        "became wrong"
    )
    lines = [printable(head)]
    if flipped.tags:
        cells = [
            [f"{tag.tag}={tag.value}", f"{tag.n:,}", f"{tag.gained:g}", f"{tag.lost:g}", f"{tag.net:+g}"]
            for tag in flipped.tags
        ]
        lines.append(text_table(["tag", "n", "became right", "became wrong", "net"], cells))
    if flipped.items:
        cells = []
        for item in flipped.items:
            texts = item.texts
            shown = [_cut(texts.caption), _cut(texts.negatives[0]) if texts.negatives else ""] if texts else ["", ""]
            way = "right" if item.change > 0 else "wrong"
            image = _cut(item.image or "-")
            margins = ["-" if margin is None else f"{margin:+.3f}" for margin in (item.before, item.after)]
            cells.append([_cut(item.id), image, way, *margins, *shown])
        header = ["item", "image", "became", "margin before", "margin after", "caption", "negative"]
        caption = f"{len(cells):,} of the {flipped.flipped:,} that changed"
        caption += ", those whose margin moved most (--flips N shows more)" if len(cells) < flipped.flipped else ""
        lines.append(text_table(header, cells, f"{caption}; margin: s(c) - highest s(n)", words=(0, 1, 2, 5, 6)))
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def gate_line(gate: Passed) -> str:
    words = {
        "worse": "FAILED: the whole interval of the loss is above the limit",
        "unclear": "passed: the interval of the loss reaches below the limit",
        "fine": "passed",
    }
    if gate.strict:
        words |= {
            "unclear": "FAILED: the interval of the loss reaches above the limit",
            "fine": "passed: the whole interval of the loss is below the limit",
        }
    seen = "" if gate.visible is None else f"; a true loss of {gate.visible:.1f} points fails about 80 times in 100"
    if gate.strict and gate.visible is not None:
        seen = f"; a model without a loss passes about 80 times in 100 with a limit of {gate.visible:.1f} points"
    unsure = gate.verdict == "worse" and gate.p is not None and gate.p >= 0.05
    alone = f"; the gate looks at the interval alone: corrected p = {_p(gate.p)}" if unsure else ""
    return printable(
        f"{gate.metric}:{gate.points:g} {words[gate.verdict]}: {gate.benchmark}, {gate.after}: loss "
        f"{gate.loss:+.2f} points [{gate.low:+.2f}, {gate.high:+.2f}]{seen}{alone}"
    )
