"""Results as tables: for the terminal, Markdown, LaTeX, CSV and JSON, with the papers' columns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from equipoise.errors import printable
from equipoise.evaluation.record import (
    IMAGE_METRICS,
    METRICS,
    SHARES,
    BlindNumbers,
    Elsewhere,
    ImageMetric,
    ImageNumbers,
    Interval,
    ItemNumbers,
    MacroNumbers,
    MeanScores,
    Metric,
    Metrics,
    Numbers,
    PaperNumbers,
    RunRecord,
    Summary,
)
from equipoise.report import Format, columns_shown, text_table

HEADER = ("", "n", "Orig.", "Aug. (drop)", "Brittleness", "ties")
POSITIVES = "n pos."  # a column after n, where some items have no positive
OF_THOSE = f"{POSITIVES}: items with a positive; Aug., Brittleness and drop (their own Orig. minus Aug.) are over those"
# A table of its own: which image a text prefers, and Winoground's scores.
IMAGE_HEADER = tuple("images,n,Image-Orig.,Image-Aug. (drop),Image-Brittleness,text,image,group,ties".split(","))
GAIN = "gain over the best:"  # before the gains, in a caption
BLIND = ("best blind", "gain")  # Orig. without the image, and how much more the model gets
SHORT: dict[Metric, str] = {"original": "Orig.", "augmented": "Aug.", "brittleness": "Brittleness", "drop": "drop"}
SCORES = {"caption": "s(c)", "positive": "s(p)", "negative": "s(n)"}  # mean scores; Kamath et al. 2024, Tables 2 and 9


@dataclass(frozen=True)
class Line:
    """One line of a table: what it is called, its numbers, and for programs what they belong to."""

    label: str
    numbers: Numbers
    benchmark: str | None = None
    model: str | None = None
    average: str | None = None
    averages: Mapping[str, Any] | None = None  # every rule's numbers
    chance: Mapping[str, float] | None = None
    skipped: int | None = None
    paper: Mapping[str, PaperNumbers] | None = None
    outcomes_only: bool | None = None  # True: no score was published
    ceilings: Mapping[str, int] | None = None
    edits: Mapping[str, Any] | None = None  # graded numbers by edit
    graded: Mapping[str, Any] | None = None  # of all items, where `numbers` are an average of groups
    blind: BlindNumbers | None = None  # of the same items, averaged in the same way

    def to_json(self) -> dict[str, Any]:
        """Everything that is known; metrics that were not measured are null."""
        about = {name: value for name, value in vars(self).items() if name != "numbers" and value is not None}
        if self.blind is not None:
            about["blind"] = self.blind.model_dump(mode="json")
        found = about | {"label": self.label.strip()} | self.numbers.model_dump(mode="json")
        return found | ({"chance": dict(self.chance)} if self.chance else {})


def result_rows(record: RunRecord, rule: str | None = None) -> list[Line]:
    """The lines of one result: its headline (averaged as its paper does, or by the rule named), then each split."""
    metrics, name, spec = record.metrics, record.benchmark.name, record.model.spec
    numbers = metrics.by_rule(rule)
    lines = [
        Line(
            label=name,
            numbers=numbers,  # of one average alone, never a mixture of two
            benchmark=name,
            model=spec,
            average=average_words(numbers),
            averages={rule: one.model_dump(mode="json") for rule, one in metrics.averages.items()} or None,
            chance=by_chance(numbers, record.benchmark.chance),
            skipped=record.n.skipped,
            paper=metrics.paper,
            ceilings=record.ceilings.model_dump() if record.ceilings else None,
            edits={edit: one.model_dump(mode="json") for edit, one in record.edits.items()} or None,
            graded=graded.model_dump(mode="json") if (graded := metrics.overall.graded) else None,
            blind=record.blind.by_rule(rule) if record.blind else None,
        )
    ]
    parts = metrics.by.get("split", {})
    if len(parts) > 1:
        blind = record.blind.splits if record.blind else {}
        lines += [
            Line(f"  {part}", parts[part], name, spec, "mean over items", blind=blind.get(part)) for part in parts
        ]
    return lines


def by_chance(numbers: Numbers, declared: Mapping[str, float]) -> dict[str, float]:
    """What a model without any idea gets: of these very items where it is known, else as the benchmark says."""
    return dict(declared) | {str(name): value for name, value in numbers.chance.items()}


def average_words(numbers: Numbers) -> str:
    """How numbers are averaged, the rule's name first."""
    if not isinstance(numbers, MacroNumbers):
        return "mean over items"
    rule = f"{numbers.rule}: " if numbers.rule else ""
    return f"{rule}mean of {numbers.groups} {'/'.join(numbers.over)} groups"


def metrics_rows(summary: Summary, benchmark: str | None = None, rule: str | None = None) -> list[Line]:
    """The lines of `equipoise metrics`: a benchmark's headline and its other averages, overall, every tag and value."""
    lines: list[Line] = []
    if isinstance(summary, Metrics):
        shown = summary.by_rule(rule)
        lines += [Line(benchmark or "headline", shown, benchmark, average=average_words(shown), paper=summary.paper)]
        lines += [
            Line(f"average={name}", one, benchmark, average=average_words(one))
            for name, one in summary.averages.items()
        ]
    lines.append(Line("overall", summary.overall))
    for tag, values in summary.by.items():
        lines += [Line(f"{tag}={value}", numbers) for value, numbers in values.items()]
    if isinstance(summary, Elsewhere) and summary.outcomes_only:
        lines = [replace(line, label=f"{line.label} (outcomes only)", outcomes_only=True) for line in lines]
    return lines


def render(lines: Sequence[Line], form: Format = "text", caption: str = "") -> str:
    """The lines in one of FORMATS. Percentages with 95% intervals; a dash where nothing was measured."""
    if form == "json":
        return json.dumps([line.to_json() for line in lines], indent=2)  # in ASCII: no code of a terminal survives
    if form == "csv":
        return _csv(lines)
    scored = any(_mean_scores(line.numbers).caption is not None for line in lines)
    blind = BLIND if any(line.blind is not None for line in lines) else ()
    two = any(some_without_positive(line.numbers) for line in lines)
    first = (*HEADER[:2], POSITIVES, *HEADER[2:]) if two else HEADER
    caption = f"{OF_THOSE}\n{caption}".rstrip() if two else caption
    header = (*first, *blind, *(SCORES.values() if scored else ()))
    asked = [(line.label, line.numbers.image_side) for line in lines if line.numbers.image_side is not None]
    cells = [_cells(line, bool(blind), two)[: len(header)] for line in lines]
    if form == "text":
        widths = [max(map(len, column)) + 3 for column in zip(header, *cells, strict=True)]
        shown = columns_shown(widths, len(first))
        left_out = list(header[shown:])
        if GAIN in caption:  # it has the blind judges of the first line: only those of the others are left out
            others = ["best blind and gain by line"] if set(left_out) & set(BLIND) and len(lines) > 1 else []
            left_out = others + [name for name in left_out if name not in BLIND]
        if left_out:
            more = f"no room for {', '.join(left_out)}: a wider terminal, --format csv and --json show them"
            caption = f"{caption}\n{more}".lstrip()
        header, cells = header[:shown], [row[:shown] for row in cells]
    tables = [grid(form, header, cells, "" if asked else caption)]
    if asked:
        two = any(some_without_positive(numbers) for _, numbers in asked)
        header = (*IMAGE_HEADER[:2], POSITIVES, *IMAGE_HEADER[2:]) if two else IMAGE_HEADER
        tables.append(grid(form, header, [_image_cells(*one, two) for one in asked], caption))
    return ("\n" if form == "text" else "\n\n").join(tables)


def grid(form: Format, header: Sequence[str], cells: Sequence[Sequence[str]], caption: str) -> str:
    """One table for people."""
    if form == "md":
        written = ["| " + " | ".join(map(_markdown, header)) + " |", "|" + " --- |" * len(header)]
        written += ["| " + " | ".join(_markdown(cell) for cell in row) + " |" for row in cells]
        return "\n".join([*written, "", *map(_markdown, caption.splitlines())] if caption else written)
    if form == "latex":
        return _latex(header, cells, caption)
    return text_table(header, cells, caption)


def some_without_positive(numbers: Numbers | ImageNumbers) -> bool:
    """Whether Augmented accuracy is of fewer items than Original: then its n has to be said."""
    return numbers.augmented is not None and numbers.n_positives not in (None, numbers.n)


def _counts(numbers: Numbers | ImageNumbers, two: bool) -> tuple[str, ...]:
    """n, and where it is asked for how many of them have a positive."""
    known = "-" if numbers.n_positives is None else f"{numbers.n_positives:,}"
    return (f"{numbers.n:,}", known) if two else (f"{numbers.n:,}",)


def _dropped(numbers: Numbers | ImageNumbers) -> str:
    """' (14.8)': as everywhere Original minus Augmented, which is never below zero."""
    return "" if numbers.drop is None else f" ({signed(numbers.drop).lstrip('+')})"


def _cells(line: Line, blind: bool, two: bool) -> tuple[str, ...]:
    numbers = line.numbers
    beside = _blind_cells(line.blind) if blind else ()
    return (
        line.label,
        *_counts(numbers, two),
        percent(numbers, "original"),
        percent(numbers, "augmented") + _dropped(numbers),
        percent(numbers, "brittleness"),
        "-" if numbers.ties is None else f"{numbers.ties:,g}",
        *beside,
        *(_score(getattr(_mean_scores(numbers), part)) for part in SCORES),
    )


def _blind_cells(blind: BlindNumbers | None) -> tuple[str, str]:
    """The best Orig. of a judge that sees no image, and the model's gain over it with a paired interval."""
    gain = blind.gain.get("original") if blind else None
    best = blind.best() if blind else None
    if blind is None or best is None or gain is None:
        return "-", "-"
    low, high = map(signed, gain.interval)
    shown = _percent(best[1], blind.judges[best[0]].intervals.get("original"))
    return f"{shown} {best[0].removeprefix('blind:').partition(':')[0]}", f"{signed(gain.difference)} [{low}, {high}]"


def judges_words(blind: BlindNumbers) -> str:
    """'blind:length 17.2 / 14.1, ...': the same whatever the model, as they are asked about the texts alone."""

    def share(value: float | None) -> str:
        return "-" if value is None else f"{100 * value:.1f}"

    return ", ".join(f"{name} {share(one.original)} / {share(one.augmented)}" for name, one in blind.judges.items())


def gain_words(blind: BlindNumbers) -> str:
    """'Orig. -1.6 [-18.8, +17.2], Aug. ...' of one model."""
    gains = [
        f"{SHORT[metric]} {signed(gain.difference)} [{signed(gain.interval.low)}, {signed(gain.interval.high)}]"
        for metric, gain in blind.gain.items()
    ]
    return ", ".join(gains)


def _image_cells(label: str, numbers: ImageNumbers, two: bool) -> tuple[str, ...]:
    def share(name: ImageMetric) -> str:
        return _percent(numbers[name], numbers.intervals.get(name))

    return (
        label,
        *_counts(numbers, two),
        share("original"),
        share("augmented") + _dropped(numbers),
        share("brittleness"),
        *(share(name) for name in ("text", "image", "group")),
        f"{numbers.ties:,g}",
    )


def _mean_scores(numbers: Numbers) -> MeanScores:
    """What the model gave caption, positives and negatives on average; of several runs it is not known."""
    found = numbers.mean_scores if isinstance(numbers, ItemNumbers | MacroNumbers) else None
    return found or MeanScores(caption=None, positive=None, negative=None)


def _score(value: float | None) -> str:
    """Three digits, as the paper prints cosines; other people's scores have other scales."""
    return "-" if value is None else f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"


def in_a_line(label: str, numbers: Numbers) -> str:
    """For somebody who waits."""
    return f"{label}: " + ", ".join(f"{METRICS[name]} {percent(numbers, name)}" for name in SHARES)


def percent(numbers: Numbers, name: Metric) -> str:
    """'61.6 [60.9, 62.3]' of a fraction and its interval."""
    return _percent(numbers[name], numbers.intervals.get(name))


def _percent(value: float | None, interval: Interval | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}" + (f" [{100 * interval.low:.1f}, {100 * interval.high:.1f}]" if interval else "")


def signed(fraction: float) -> str:
    """'-14.8' points; what rounds to nothing has no sign of its own ('+0.0', never '-0.0')."""
    return f"{round(100 * fraction, 1) + 0.0:+.1f}"


def _csv(lines: Sequence[Line]) -> str:
    rows = [line.to_json() for line in lines]
    about = ("benchmark", "label", "average", "n", "n_positives", "skipped", "ties")
    fields = [name for name in about if any(name in row for row in rows)]
    fields += [f"{name}{part}" for name in METRICS for part in ("", "_low", "_high")]
    fields += [f"mean_score_{part}" for part in SCORES]
    if any(line.numbers.image_side is not None for line in lines):
        fields += ["image_n", "image_ties"]
        fields += [f"image_{name}{part}" for name in IMAGE_METRICS for part in ("", "_low", "_high")]
    if any(line.blind is not None for line in lines):
        fields += ["blind", "blind_original", "blind_gain", "blind_gain_low", "blind_gain_high"]
    output = io.StringIO()
    writer = csv.DictWriter(output, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for line, row in zip(lines, rows, strict=True):
        for name, interval in line.numbers.intervals.items():
            row |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
        row |= {f"mean_score_{part}": getattr(_mean_scores(line.numbers), part) for part in SCORES}
        row |= _image_row(line.numbers.image_side)
        row |= _blind_row(line.blind)
        writer.writerow({name: safe_cell(value) for name, value in row.items()})
    return output.getvalue().rstrip("\n")


def _image_row(numbers: ImageNumbers | None) -> dict[str, Any]:
    if numbers is None:
        return {}
    row: dict[str, Any] = {"image_n": numbers.n, "image_ties": numbers.ties}
    row |= {f"image_{name}": numbers[name] for name in IMAGE_METRICS}
    for name, interval in numbers.intervals.items():
        row |= {f"image_{name}_low": interval.low, f"image_{name}_high": interval.high}
    return row


def _blind_row(blind: BlindNumbers | None) -> dict[str, Any]:
    best, gain = (blind.best(), blind.gain.get("original")) if blind else (None, None)
    row: dict[str, Any] = {"blind": None}  # in place of the whole record of JSON
    if best is not None and gain is not None:
        row |= {"blind": best[0], "blind_original": best[1], "blind_gain": gain.difference}
        row |= {"blind_gain_low": gain.interval.low, "blind_gain_high": gain.interval.high}
    return row


_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}  # other signs in LaTeX's first encoding
)


_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def _markdown(text: str) -> str:
    """No HTML, no links (javascript: among them), no new cell: a tag is somebody's word."""
    safe = printable(" ".join(text.split())).translate(_HTML).replace("](", "]\\(")
    return safe.replace("\\|", "\\&#124;").replace("|", "\\|")  # after a backslash \| would be a backslash and a cell


def safe_cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets the apostrophe that makes it text."""
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value)


def _latex(header: Sequence[str], cells: Sequence[Sequence[str]], caption: str) -> str:
    lines = [r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}", r"\toprule"]
    lines.append(_latex_row(header))
    lines.append(r"\midrule")
    lines += [_latex_row(row) for row in cells]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([f"% {printable(line)}" for line in caption.splitlines()] + lines)


def _latex_row(cells: Sequence[str]) -> str:
    """A row; braces around a sign that the \\\\ before it would take: \\\\[2pt] and \\\\* are commands."""
    written = [printable(cell.strip()).translate(_LATEX) for cell in cells]
    if written[0].startswith(("[", "*")):
        written[0] = f"{{{written[0][0]}}}{written[0][1:]}"
    return " & ".join(written) + r" \\"
