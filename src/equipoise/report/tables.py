"""Results as tables: for the terminal, Markdown, LaTeX, CSV and JSON, with the papers' columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from equipoise.evaluation.metrics import METRICS, OF_POSITIVES, MetricInfo, info, shown
from equipoise.evaluation.record import (
    BlindNumbers,
    Interval,
    MacroNumbers,
    Metrics,
    Number,
    Numbers,
    RunRecord,
    Summary,
)
from equipoise.report import Format, columns_shown, csv_text, grid

POSITIVES = "n pos."  # a column after n, where some items have no positive
*_OTHERS, _LAST = [
    row.short if row.less is None else f"{row.short} (their own Orig. minus {METRICS[row.less].short})"
    for row in OF_POSITIVES
]
OF_THOSE = f"{POSITIVES}: items with a positive; {', '.join(_OTHERS)} and {_LAST} are over those"
FEW = 20  # items; below this a share says nothing
GAIN = "gain over the best:"  # before the gains, in a caption
BLIND = ("best blind", "gain")  # Orig. without the image, and how much more the model gets
# Mean scores, as in Kamath et al. 2024, Tables 2 and 9.
SCORES = [info(f"mean_score_{text}") for text in ("caption", "positive", "negative")]


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
    checked: str | None = None  # the model, before its run
    outcomes_only: bool | None = None  # True: no score was published
    ceilings: Mapping[str, int] | None = None
    edits: Mapping[str, int] | None = None  # texts by what was changed in them
    # what is measured of all items alone, where `numbers` are an average of groups
    also: Mapping[str, object] | None = None
    blind: BlindNumbers | None = None  # of the same items, averaged in the same way
    letters: Mapping[str, str] | None = None  # of each metric: models that share one do not differ significantly
    reported: str | None = None  # by whom, of numbers from elsewhere: the items behind them are not known

    def to_json(self) -> dict[str, object]:
        """Everything that is known; metrics that were not measured are left out."""
        about = {name: value for name, value in vars(self).items() if name != "numbers" and value is not None}
        if self.blind is not None:
            about["blind"] = self.blind.model_dump(mode="json")
        return about | {"label": self.label.strip()} | self.numbers.model_dump(mode="json")


def result_rows(record: RunRecord, rule: str | None = None) -> list[Line]:
    """The lines of one result: its headline (averaged as its paper does, or by the rule named), then each split."""
    metrics, name, spec = record.metrics, record.benchmark.name, record.model.spec
    numbers = metrics.by_rule(rule)
    aggregate = record.kind == "aggregate"
    lines = [
        Line(
            label=f"{name}: {spec}" if aggregate else name,
            reported=(record.published.source if record.published else "") if aggregate else None,
            numbers=numbers,  # of one average alone, never a mixture of two
            benchmark=name,
            model=spec,
            average=average_words(numbers) if record.kind == "items" else record.kind,
            averages={
                rule: numbers_of_rule.model_dump(mode="json") for rule, numbers_of_rule in metrics.averages.items()
            }
            or None,
            chance=by_chance(numbers, record.benchmark.chance),
            skipped=record.n.skipped,
            checked=record.preflight.words() if record.preflight else None,
            ceilings=record.ceilings.model_dump() if record.ceilings else None,
            edits=record.edits or None,
            also=also(metrics, numbers),
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


def also(metrics: Metrics, numbers: Numbers) -> dict[str, object] | None:
    """How high scores are and what the paper defines, of all items, where `numbers` do not have it."""
    overall = metrics.overall.metrics
    rows = [*shown([overall], "scores"), *shown([overall], "paper")]
    return {
        row.name: overall[row.name].model_dump(mode="json") for row in rows if row.name not in numbers.metrics
    } or None


def by_chance(numbers: Numbers, declared: Mapping[str, float]) -> dict[str, float]:
    """The shares by chance: of these very items where they are known, else the benchmark's."""
    return dict(declared) | {str(name): value for name, value in numbers.chance.items()}


def average_words(numbers: Numbers) -> str:
    """How numbers are averaged, the rule's name first."""
    if not isinstance(numbers, MacroNumbers):
        return "mean over items"
    return f"{numbers.rule}: mean of {numbers.groups} {'/'.join(numbers.over)} groups"


def metrics_rows(
    summary: Summary, benchmark: str | None = None, rule: str | None = None, outcomes_only: bool = False
) -> list[Line]:
    """The lines of `equipoise metrics`: a benchmark's headline and its other averages, overall, every tag and value."""
    lines: list[Line] = []
    if isinstance(summary, Metrics) and (benchmark or summary.averages):  # else it is the row overall
        shown = summary.by_rule(rule)
        lines += [
            Line(benchmark or "headline", shown, benchmark, average=average_words(shown), also=also(summary, shown))
        ]
        lines += [
            Line(f"average={name}", average, benchmark, average=average_words(average))
            for name, average in summary.averages.items()
        ]
    lines.append(Line("overall", summary.overall))
    for tag, values in summary.by.items():
        lines += [Line(f"{tag}={value}", numbers) for value, numbers in values.items()]
    if outcomes_only:
        lines = [replace(line, label=f"{line.label} (outcomes only)", outcomes_only=True) for line in lines]
    return lines


def render(lines: Sequence[Line], form: Format = "text", caption: str = "", brief: bool = False) -> str:
    """The lines in one of FORMATS. Percentages with 95% intervals; a dash where nothing was measured.

    A brief table has the metrics alone, without blind baselines and mean scores.
    """
    if form == "json":
        return json.dumps([line.to_json() for line in lines], indent=2)  # in ASCII: no code of a terminal survives
    if form == "csv":
        return _csv(lines)
    sets = [line for line in lines if shown([line.numbers.metrics], "sets")]
    if sets:
        others = [line for line in lines if line not in sets]
        drawn = [render(others, form, caption)] if others else []
        drawn += [_set_table(line, form, "" if others else caption) for line in sets]
        return ("\n" if form == "text" else "\n\n").join(drawn)
    texts = columns_of([line.numbers for line in lines], "texts")
    images = columns_of([line.numbers for line in lines], "images")
    scores = [] if brief or not any(SCORES[0].name in line.numbers.metrics for line in lines) else SCORES
    blind = BLIND if not brief and any(line.blind is not None for line in lines) else ()
    two = any(some_without_positive(line.numbers) for line in lines)
    first = ("", "n", *([POSITIVES] if two else []), *texts, "ties")
    caption = f"{OF_THOSE}\n{caption}".rstrip() if two else caption
    header = (*first, *blind, *(row.short for row in scores))
    asked = [line for line in lines if shown([line.numbers.metrics], "images")]
    cells = []
    for line in lines:
        means = [_score(line.numbers[row.name]) for row in scores]
        cells.append((*_cells(line, texts, two), *(_blind_cells(line.blind) if blind else ()), *means))
    if form == "text":
        fitting = columns_shown([max(map(len, column)) + 3 for column in zip(header, *cells, strict=True)], len(first))
        caption = _caption_of_narrow(caption, header[fitting:], len(lines))
        header, cells = header[:fitting], [row[:fitting] for row in cells]
    parts: list[tuple[Sequence[str], Sequence[Sequence[str]]]] = [(header, cells)]
    if asked:
        two = any(some_without_positive(line.numbers, "image_") for line in asked)
        header = ("images", "n", *([POSITIVES] if two else []), *images, "ties")
        parts.append((header, [_cells(line, images, two, "image_") for line in asked]))
    if answers := shown((line.numbers.metrics for line in lines), "answers"):
        answered = [line for line in lines if "accuracy" in line.numbers.metrics]
        shares = [[percent(line.numbers, row.name) for row in answers] for line in answered]
        cells = [(line.label, f"{line.numbers.n:,}", *cells) for line, cells in zip(answered, shares, strict=True)]
        parts.append((("answers", "n", *(row.short for row in answers)), cells))
    tables = [grid(form, head, body, caption if head is parts[-1][0] else "") for head, body in parts]
    return ("\n" if form == "text" else "\n\n").join(tables)


def _caption_of_narrow(caption: str, left_out: Sequence[str], lines: int) -> str:
    """The caption, with the columns that the terminal has no room for."""
    names = list(left_out)
    if GAIN in caption:  # it has the blind baselines of the first line: only those of the others are left out
        names = [name for name in left_out if name not in BLIND]
        if len(names) < len(left_out) and lines > 1:
            names.insert(0, "best blind and gain by line")
    if not names:
        return caption
    more = f"no room for {', '.join(names)}: a wider terminal, --format csv and --json show them"
    return f"{caption}\n{more}".lstrip()


def _set_table(line: Line, form: Format, caption: str) -> str:
    """Retrieval, classification or ratings: a row for each number."""
    rows = [
        [row.title, percent(line.numbers, row.name), f"{line.numbers.count(row.name):,}"]
        for row in shown([line.numbers.metrics])
    ]
    return grid(form, (f"{line.label} ({line.average})", "", "n"), rows, caption)


def columns_of(numbers: Sequence[Numbers], side: str) -> dict[str, tuple[MetricInfo, MetricInfo | None]]:
    """The columns of a table by their heads: a metric, and the one that stands behind it in brackets: Aug. (drop)."""
    rows = shown((row_numbers.metrics for row_numbers in numbers), side, always=True)
    behind = {row.less: row for row in rows if row.less is not None}
    return {
        f"{row.short} (drop)" if row.name in behind else row.short: (row, behind.get(row.name))
        for row in rows
        if row.less is None
    }


def some_without_positive(numbers: Numbers, side: str = "") -> bool:
    """Whether Augmented accuracy is of fewer items than Original: then its n has to be shown."""
    asked = numbers.count("image_original") if side else numbers.n
    return numbers.count(f"{side}augmented") not in (0, asked)


def _shares(line: Line, columns: Mapping[str, tuple[MetricInfo, MetricInfo | None]]) -> list[str]:
    """'61.6 [60.9, 62.3] (14.8) ab': the drop as everywhere Original minus Augmented, which is never below zero."""
    numbers, letters, cells = line.numbers, line.letters or {}, []
    for row, behind in columns.values():
        less = numbers[behind.name] if behind is not None else None
        drop = "" if less is None else f"({signed(less).lstrip('+')})"
        cells.append(" ".join(filter(None, (percent(numbers, row.name), drop, letters.get(row.name)))))
    return cells


def _cells(
    line: Line, columns: Mapping[str, tuple[MetricInfo, MetricInfo | None]], two: bool, side: str = ""
) -> tuple[str, ...]:
    """The label, how many items and of them with a positive, the shares, the ties; of texts, or of images."""
    numbers, known = line.numbers, line.reported is None
    asked = (numbers.count("image_original") if side else 0) or numbers.n
    ties = numbers.image_ties if side else numbers.ties
    return (
        line.label if known else f"{line.label} (reported)",
        f"{asked:,}" if known else "-",
        *([f"{numbers.count(f'{side}augmented'):,}" if known else "-"] if two else []),
        *_shares(line, columns),
        "-" if ties is None else f"{ties:,g}",
    )


def _blind_cells(blind: BlindNumbers | None) -> tuple[str, str]:
    """The best Orig. of a baseline that sees no image, and the model's gain over it with a paired interval."""
    gain = blind.gain.get("original") if blind else None
    best = blind.best() if blind else None
    if blind is None or best is None or gain is None:
        return "-", "-"
    low, high = map(signed, gain.interval)
    return (
        f"{in_percent(best[1].value, best[1].interval)} {best[0].removeprefix('blind:').partition(':')[0]}",
        f"{signed(gain.difference)} [{low}, {high}]",
    )


def baselines_words(blind: BlindNumbers) -> str:
    """'blind:length 17.2 / 14.1, ...': the same whatever the model, as they are asked about the texts alone."""

    def share(numbers: Mapping[str, Number], name: str) -> str:
        return f"{100 * numbers[name].value:.1f}" if name in numbers else "-"

    return ", ".join(
        f"{name} {share(baseline, 'original')} / {share(baseline, 'augmented')}"
        for name, baseline in blind.baselines.items()
    )


def gain_words(blind: BlindNumbers) -> str:
    """'Orig. -1.6 [-18.8, +17.2], Aug. ...' of one model."""
    number = next(iter(blind.baselines.values()), {})
    gains = [
        f"{info(metric, number.get(metric)).short} {signed(gain.difference)} "
        f"[{signed(gain.interval.low)}, {signed(gain.interval.high)}]"
        for metric, gain in blind.gain.items()
    ]
    return ", ".join(gains)


def _score(value: float | None) -> str:
    """Three digits, as the paper prints cosines; other people's scores have other scales."""
    return "-" if value is None else f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"


def percent(numbers: Numbers, name: str, digits: int = 1) -> str:
    """'61.6 [60.9, 62.3]' of a fraction and its interval."""
    number = numbers.metrics.get(name)
    return in_percent(number.value, number.interval, digits) if number else "-"


_FORMATS = {"score": ".4g", "spread": ".2f", "rank": ".1f", "count": ",.0f"}


def in_words(row: MetricInfo, number: Number, digits: int = 1) -> str:
    """A number in its unit: '61.6 [60.9, 62.3]' of a share."""
    value = number.value
    if row.unit == "share":
        return in_percent(value, number.interval, digits)
    return format(value, _FORMATS[row.unit])


def share(numbers: Numbers, name: str) -> str:
    return percent(numbers, name).partition(" ")[0]


def in_percent(value: float, interval: Interval | None, digits: int = 1) -> str:
    shown = [f"{100 * bound:.{digits}f}" for bound in (value, *(interval or ()))]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]" if interval else shown[0]


def signed(fraction: float) -> str:
    """'-14.8' points; what rounds to nothing has no sign of its own ('+0.0', never '-0.0')."""
    return f"{round(100 * fraction, 1) + 0.0:+.1f}"


def _csv(lines: Sequence[Line]) -> str:
    rows = [line.to_json() for line in lines]
    about = ("benchmark", "label", "reported", "average", "n", "n_positives", "skipped", "ties", "checked")
    fields = [name for name in about if name == "n_positives" or any(name in row for row in rows)]
    numbers = [line.numbers for line in lines]
    sides = [
        "texts",
        *(["images"] if any(row_numbers.image_ties is not None for row_numbers in numbers) else []),
        "sets",
    ]
    sides += ["answers"] if shown((row_numbers.metrics for row_numbers in numbers), "answers") else []
    for side in sides:
        metrics = shown((line.numbers.metrics for line in lines), side, always=True)
        fields += ["image_n", "image_ties"] if side == "images" else []
        parts = ("", "_low", "_high", *(["_letters"] if any(line.letters for line in lines) else []))
        fields += [f"{row.name}{part}" for row in metrics for part in parts if part != "_letters" or row.less is None]
        fields += [row.name for row in SCORES] if side == "texts" else []
    if any(line.blind is not None for line in lines):
        fields += ["blind", "blind_original", "blind_gain", "blind_gain_low", "blind_gain_high"]
    for line, row in zip(lines, rows, strict=True):
        for name, number in line.numbers.metrics.items():
            row[name] = number.value
            if number.interval is not None:
                row |= {f"{name}_low": number.interval.low, f"{name}_high": number.interval.high}
        row |= {"n_positives": line.numbers.n_positives, "image_n": line.numbers.count("image_original") or None}
        row |= {f"{name}_letters": given for name, given in (line.letters or {}).items()} | _blind_row(line.blind)
    return csv_text(fields, rows)


def _blind_row(blind: BlindNumbers | None) -> dict[str, object]:
    best, gain = (blind.best(), blind.gain.get("original")) if blind else (None, None)
    row: dict[str, object] = {"blind": None}  # in place of the whole record of JSON
    if best is not None and gain is not None:
        row |= {"blind": best[0], "blind_original": best[1].value, "blind_gain": gain.difference}
        row |= {"blind_gain_low": gain.interval.low, "blind_gain_high": gain.interval.high}
    return row


def caveats(record: RunRecord) -> list[str]:
    """Warnings that belong to the numbers in every format."""
    lines = []
    if record.preflight and not record.preflight.checks:
        lines.append("the model was not checked (--skip-preflight)")
    if record.n.skipped:
        why = _reasons(record)
        lines.append(
            f"{record.n.skipped:,} of {record.n.items:,} items were NOT scored: {why} (result.json lists them)"
            if record.kind == "items"
            else f"{record.n.skipped:,} photos were NOT used: {why} (result.json lists them)"
        )
    if stopped := record.counts.get("stopped_after"):
        lines.append(f"stopped after {stopped:,} photos: --until {record.settings.until}")
    if record.trained_on:
        lines.append(record.trained_on)
    if record.blind and record.n.scored < FEW:
        lines.append(
            f"{record.n.scored} items are too few: chance alone moves such shares by tens of points, and the baselines "
            "without an image, which learn from the items, have nothing to learn from"
        )
    if cut := record.counts.get("texts_cut"):
        lines.append(f"{cut:,} texts are longer than the model reads and were cut")
    if alike := record.counts.get("read_alike"):
        named = ", ".join(record.read_alike[:3]) + (", ..." if alike > 3 else "")
        lines.append(f"{alike:,} items tie: the model reads a right text and a negative as the same ({named})")
    return lines


def _reasons(record: RunRecord) -> str:
    """The commonest reasons with their counts; a record lists the first hundred items."""
    known = Counter(record.skipped.values())
    shown = [f"{why} ({count:,})" if len(known) > 1 else why for why, count in known.most_common(3)]
    more = f"; {len(known) - 3} other reasons" if len(known) > 3 else ""
    return ", ".join(shown) + more if shown else "see result.json"
