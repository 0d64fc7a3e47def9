"""A comparison for people: differences, tests, groups without a significant difference, flips, gates, a summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from equipoise.core.errors import UserError, did_you_mean, printable
from equipoise.evaluation.comparing.folders import Compared, Flips
from equipoise.evaluation.comparing.gate import Passed
from equipoise.evaluation.comparing.models import Placed
from equipoise.evaluation.comparing.same_model import SameModel
from equipoise.evaluation.metrics import MetricInfo, info, shown
from equipoise.evaluation.record import Change, Column, Comparison
from equipoise.report import Format, csv_text, fold, grid, markdown_cell, text_table
from equipoise.report.tables import OF_THOSE, POSITIVES, signed

_CUT = 60  # characters of a text in a list
VERDICT = "the interval excludes zero and the corrected p is below 0.05"
Significance = Literal["better", "worse", "different", "not significant"]


def judged(metric: MetricInfo, change: Change) -> Significance:
    """The word for a change, everywhere: the interval and, where it was tested, the corrected p decide."""
    untested = change.p is None and change.adjusted is None
    if not (change.clear if untested else change.significant):
        return "not significant"
    if metric.name == "first_option":
        return "different"  # neither is better: a model that always names the last option has none
    return "better" if (change.difference > 0) == (metric.better == "high") else "worse"


def change_words(change: Change) -> str:
    """'+1.4 [+0.1, +2.8], p = 0.0812': with the corrected p, so that no word contradicts the interval."""
    low, high = map(signed, change.interval)
    return f"{signed(change.difference)} [{low}, {high}]{p_words(change.adjusted, ', ')}"


def p_words(value: float | None, before: str = "") -> str:
    shown = f"= {value:.4f}" if value is not None and value > 0.0001 else "≤ 0.0001"
    return "" if value is None else f"{before}p {shown}"


def render_compared(compared: Compared, gates: Sequence[Passed] = ()) -> str:
    """Everything that `compare` found, for people."""
    of_items = [one for one in compared.differences if not _is_set(one)]
    notes = [printable(f"warning: {line}") for line in (*compared.left_out, *compared.warnings)]
    parts = [fold("\n".join([*map(gate_line, gates), conclusion(compared.differences), *notes]))]
    parts += [render_differences(compared.differences), _tests(of_items) if of_items else ""]
    parts += [_groups(name, placed, compared) for name, placed in compared.groups.items() if placed]
    for one, flipped in zip(compared.differences, compared.flips, strict=True):
        parts.append(_flips(one, flipped))
    return "\n".join(part for part in parts if part)


def conclusion(comparisons: Sequence[Comparison]) -> str:
    """One sentence a comparison: what became better, what worse, and what did not change significantly."""
    return "\n".join(_concluded(one) for one in comparisons)


def _concluded(one: Comparison) -> str:
    said: dict[Significance, list[str]] = {"better": [], "worse": [], "different": [], "not significant": []}
    for row in (row for row in shown([one.changes]) if row.less is None):
        change = one.changes[row.name]
        verdict = judged(row, change)
        doubt = p_words(change.adjusted, " (") + ")" * (change.adjusted is not None)
        said[verdict].append(row.title + (doubt if verdict == "not significant" else f" {signed(change.difference)}"))
    unclear = said.pop("not significant")
    parts = [f"{verdict} on {', '.join(names)} points" for verdict, names in said.items() if names]
    if unclear and parts:
        parts.append(f"{', '.join(unclear)}: no significant difference")
    elif unclear:
        parts.append(f"no significant difference in {', '.join(unclear)}")
    return printable(f"{one.benchmark}: {one.after} against {one.before} ({one.n:,} items): {'; '.join(parts)}")


def change_rows(comparisons: Sequence[Comparison]) -> list[dict[str, object]]:
    """One row a metric, for tables of other programs; points."""
    return [
        {
            "benchmark": one.benchmark,
            "before": one.before,
            "after": one.after,
            "metric": name,
            "n": one.n if change.n is None else change.n,
            "difference": 100 * change.difference,
            "low": 100 * change.interval.low,
            "high": 100 * change.interval.high,
            "p": change.p,
            "p_corrected": change.adjusted,
            "significant": change.significant,
        }
        | _exported(change)
        for one in comparisons
        for name, change in one.changes.items()
    ]


_COLUMNS = {
    name: column
    for name, field in Change.model_fields.items()
    for column in field.metadata
    if isinstance(column, Column)
}
_CALLED = {"adjusted": "p_corrected"}  # the names of fields in other formats
_EXPORTED = {_CALLED.get(name, name): (name, column) for name, column in _COLUMNS.items() if column.exported}
_PAPER = ("benchmark", "after", "metric", "n", "change", "p_corrected", "verdict")  # columns of Markdown and LaTeX


def render_rows(comparisons: Sequence[Comparison], form: Format, columns: Sequence[str] = ()) -> str:
    """One row a metric, with the columns asked for."""
    rows = change_rows(comparisons)
    for row, (name, change) in zip(rows, ((n, c) for one in comparisons for n, c in one.changes.items()), strict=True):
        metric = info(name, change)
        row |= {"title": metric.title, "change": change_words(change.model_copy(update={"adjusted": None}))}
        row |= {"verdict": judged(metric, change)}
    known = [name for name in rows[0] if name != "title"]
    if unknown := [name for name in columns if name not in known]:
        raise UserError(f"--columns: no {unknown[0]!r}; known are {', '.join(known)}.{did_you_mean(unknown[0], known)}")
    chosen = list(columns) or (known if form in ("csv", "json") else list(_PAPER))
    if form == "json":
        return json.dumps([{name: row[name] for name in chosen} for row in rows], indent=2)
    if form == "csv":
        return csv_text(chosen, rows)
    cells = [[_cell(name, row["title" if name == "metric" else name]) for name in chosen] for row in rows]
    heads = ["p (corrected)" if name == "p_corrected" else name for name in chosen]
    return grid(form, heads, cells, f"points, after minus before [95% interval]; significant: {VERDICT}")


def _exported(change: Change) -> dict[str, float | None]:
    """Its columns for other programs; shares in points."""
    values = {}
    for called, (name, column) in _EXPORTED.items():
        value = getattr(change, name)
        in_points = value is not None and column.form in ("points", "detectable")
        values[called] = 100 * value if in_points else value
    return values


def _cell(name: str, value: Any) -> str:
    if name in _EXPORTED and (form := _EXPORTED[name][1].form) in ("p", "number"):
        return _FORMS[form](value)
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def summary(compared: Compared, gates: Sequence[Passed] = ()) -> str:
    """Five lines a comparison, in Markdown, for a chat or a CI summary."""
    lines = []
    for one, flipped in zip(compared.differences, compared.flips, strict=True):
        mine = [gate for gate in gates if (gate.benchmark, gate.after) == (one.benchmark, one.after)]
        stopped = ", ".join(f"{gate.metric}:{gate.points:g}" for gate in mine if gate.failed)
        gate = f" **Gate failed: {stopped}.**" if stopped else " Gate passed." if mine else ""
        lines.append(f"**{one.benchmark}**: {one.after} against {one.before}, {one.n:,} items.{gate}")
        for row in [row for row in shown([one.changes]) if row.less is None][:3]:
            change = one.changes[row.name]
            lines.append(f"- {row.title} {change_words(change)}: {judged(row, change)}")
        ids = [item.id for item in flipped.items if item.change < 0]
        if flipped.flipped:
            better, worse = _WAYS.get(flipped.metric, _WAY)
            said = f"- {flipped.gained:g} items {better}, {flipped.lost:g} {worse}"
            more = f" and {flipped.lost - len(ids):g} more" if len(ids) < flipped.lost else ""
            lines.append(f"{said}: {', '.join(ids)}{more}" if ids else said)
    return "\n".join(markdown_cell(line) for line in lines)


def render_differences(comparisons: Sequence[Comparison]) -> str:
    """Paired differences for the terminal: points, interval, and whether the interval excludes zero."""
    of_items = [one for one in comparisons if not _is_set(one)]
    tables = []
    if of_items:
        tables.append(_differences(of_items, shown((one.changes for one in of_items), "texts", always=True)))
    if on_images := shown((one.changes for one in comparisons), "images"):
        asked = [one for one in comparisons if any(row.name in one.changes for row in on_images)]
        tables.append(_differences(asked, on_images))
    if sets := [one for one in comparisons if _is_set(one)]:
        tables.append(_set_changes(sets))
    return "\n".join(tables)


def _is_set(one: Comparison) -> bool:
    return bool(shown([one.changes], "sets"))


def _set_changes(comparisons: Sequence[Comparison]) -> str:
    """One line per number of retrieval, classification and ratings."""
    rows = []
    for one in comparisons:
        for place, row in enumerate(shown([one.changes])):
            about = (f"{one.benchmark} ({one.average})", one.before, one.after) if place == 0 else ("", "", "")
            rows.append([*about, row.title, points(one.changes[row.name])])
    caption = "after minus before, in points [95% interval, paired over photos]; ~ the interval contains zero"
    return text_table(["", "before", "after", "", "change"], rows, caption, words=(0, 1, 2, 3))


def _differences(comparisons: Sequence[Comparison], metrics: Sequence[MetricInfo]) -> str:
    names = [row.short for row in metrics]
    two = "drop" in names and any(one.n_positives != one.n for one in comparisons)
    cells = []
    for one in comparisons:
        counts = [f"{one.n:,}", f"{one.n_positives:,}"] if two else [f"{one.n:,}"]
        changes = [points(one.changes.get(row.name)) for row in metrics]
        cells.append([f"{one.benchmark} ({one.average})", one.before, one.after, *counts, *changes])
    caption = "after minus before, in points [95% interval, paired over images]; ~ the interval contains zero"
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


def _tests(comparisons: Sequence[Comparison]) -> str:
    """One line a metric: p-values and what could have been found."""
    there = [change for one in comparisons for change in one.changes.values()]
    columns = {
        name: column
        for name, column in _COLUMNS.items()
        if column.always or any(getattr(change, name) is not None for change in there)
    }
    header = ["", "points", *(column.head for column in columns.values())]
    rows = []
    for one in comparisons:
        rows.append([f"{one.benchmark}, {one.after}", *[""] * (len(header) - 1)])
        for row in shown([one.changes]):
            change = one.changes[row.name]
            cells = {name: _FORMS[column.form](getattr(change, name)) for name, column in columns.items()}
            cells["adjusted"] += "*" if change.significant else " "
            rows.append([f"  {row.title}", f"{100 * change.difference:+.2f}", *cells.values()])
    caption = "; ".join(f"{column.head}: {column.about}" for column in columns.values() if column.about)
    return text_table(header, rows, caption)


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}" if value > 0.0001 else "≤0.0001"


def _size(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _detectable(value: float | None) -> str:
    """None for fewer than eight items, where even a change of all of them may not be significant."""
    return "none" if value is not None and value > 1 else _size(value)


_FORMS: Mapping[str, Callable[[Any], str]] = {
    "p": _p,
    "points": _size,
    "detectable": _detectable,
    "number": lambda value: "-" if value is None else f"{value:,.4g}",
}


def _groups(benchmark: str, placed: Mapping[str, Sequence[Placed]], compared: Compared) -> str:
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
    changes = next(one.changes for one in compared.differences if one.benchmark == benchmark)
    return text_table([benchmark, *(info(metric, changes.get(metric)).title for metric in metrics)], rows, caption)


_WAY = "got better", "got worse"
_WAYS = {"original": ("became right", "became wrong"), "brittleness": ("no longer brittle", "became brittle")}


def _flips(one: Comparison, flipped: Flips) -> str:
    if not (flipped.items or flipped.tags):
        return ""
    ways = _WAYS.get(flipped.metric, _WAY)
    title = info(flipped.metric, one.changes.get(flipped.metric)).title
    head = f"{one.benchmark}, {one.after}, {title}: {flipped.gained:g} items {ways[0]}, {flipped.lost:g} {ways[1]}"
    lines = [printable(head)]
    if flipped.tags:
        cells = [
            [f"{tag.tag}={tag.value}", f"{tag.n:,}", f"{tag.gained:g}", f"{tag.lost:g}", f"{tag.net:+g}"]
            for tag in flipped.tags
        ]
        lines.append(text_table(["tag", "n", *ways, "net"], cells))
    scored = any(item.before is not None or item.after is not None for item in flipped.items)
    heads = ["margin before", "margin after"] if scored else []  # none of answers alone
    for way, sign in zip(ways, (1, -1), strict=True):
        cells = []
        for item in (item for item in flipped.items if sign * item.change > 0):
            texts = item.texts
            shown = [_cut(texts.caption), _cut(texts.negatives[0]) if texts.negatives else ""] if texts else ["", ""]
            image = _cut(item.image or "-")
            margins = ["-" if margin is None else f"{margin:+.3f}" for margin in (item.before, item.after)]
            cells.append([_cut(item.id), image, *margins[: len(heads)], *shown])
        header = [way, "image", *heads, "caption", "negative"]
        words = (0, 1, len(header) - 2, len(header) - 1)
        lines += [text_table(header, cells, words=words)] if cells else []
    if (count := len(flipped.items)) < flipped.flipped:
        more = f"--flips {flipped.metric}:N shows more"
        which = ", those whose margin moved most" if scored else ""
        lines.append(f"{count:,} of the {flipped.flipped:,} that changed{which} ({more})")
    lines += ["margin: s(c) - highest s(n)"] if scored else []
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def gate_line(gate: Passed) -> str:
    words = {
        "worse": "FAILED: the whole interval of the loss is above the limit",
        "unclear": "passed: the loss may be smaller than the limit",
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
    alone = p_words(gate.p, "; the gate uses the interval alone, not the corrected ") if unsure else ""
    return printable(
        f"{gate.metric}:{gate.points:g} {words[gate.verdict]}: {gate.benchmark}, {gate.after}: loss "
        f"{gate.loss:+.2f} points [{gate.low:+.2f}, {gate.high:+.2f}]{seen}{alone}"
    )


def same_model_lines(same: SameModel) -> Iterator[str]:
    """The lines that `compare --same-model` prints."""
    what = "answers" if same.correlation is None else "scores"
    alone = (
        f" ({same.only[0]:,} of the first and {same.only[1]:,} of the second are not in both)" if any(same.only) else ""
    )
    yield f"{same.n:,} items in both{alone}; of {same.pairs:,} {what} {100 * same.changed:.1f}% differ"
    if same.correlation is not None:
        yield f"correlation of the scores: {same.correlation:.3f}"
    if same.difference == same.difference:
        low, high = map(signed, same.interval)
        yield f"score, second less first: {signed(same.difference)} points [{low}, {high}]"
    yield f"verdict: {same.verdict}"
    for way, groups in same.where.items():
        yield f"differ by {way}: " + ", ".join(
            f"{value} {100 * share:.1f}% of {n:,}" for value, (n, share) in groups.items()
        )
    for number, suspect in enumerate(same.suspects, 1):
        yield f"check {number}: {suspect}"
