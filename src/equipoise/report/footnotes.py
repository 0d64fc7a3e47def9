"""The verdict on a run, and the lines below its table: averages, chance, graded numbers, ceilings, warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from equipoise.core.errors import printable
from equipoise.evaluation.metrics import MetricInfo, info, shown
from equipoise.evaluation.record import BlindNumbers, ItemNumbers, MacroNumbers, Metrics, Number, Numbers, RunRecord
from equipoise.report import Format
from equipoise.report.answering.lines import answers_verdict, eval_answers, noise_words, once_words
from equipoise.report.tables import (
    FEW,
    GAIN,
    average_words,
    baselines_words,
    by_chance,
    caveats,
    gain_words,
    in_words,
    percent,
    render,
    result_rows,
)

LEGEND = "percent [95% interval, images resampled]; a tie is never a win"
WORDS = "what each word means: equipoise metrics --help"


def eval_table(record: RunRecord, form: Format, average: str | None = None, verbose: bool = False) -> str:
    """The table and the lines that `eval` prints of a run."""
    lines, caption = result_rows(record, average), eval_lines(record, average, verbose)
    if record.of_answers:
        return eval_answers(lines, form, caption, verbose)
    return render(lines, form, caption, brief=not verbose)


def eval_lines(record: RunRecord, average: str | None, verbose: bool) -> str:
    """The lines below the table of a run: the verdict first, all other statistics with `verbose`."""
    if record.kind != "items":
        return _set_caption(record)
    numbers = record.metrics.by_rule(average)
    answered = record.of_answers
    lines = [verdict(record, average), edits_line(record)]
    if answered:
        lines.insert(1, noise_words(numbers) or once_words(numbers))
    if verbose:
        lines += [f"{record.model.spec}: {LEGEND}", chance_line(numbers, record.benchmark.chance)]
        lines += metrics_caption(record.metrics, average)
        lines += [f"ceilings: {record.ceilings.line()}"] if record.ceilings else []
        lines += [blind_line(record.blind.by_rule(average))] if record.blind else []
    else:
        lines += _rule_line(record.metrics, average)
        legend = LEGEND.partition(";")[0] if answered else LEGEND
        lines.append(f"{legend}; more statistics: --verbose")
    lines += [f"checked: {record.preflight.words()}"] if record.preflight and record.preflight.checks else []
    lines += [f"warning: {caveat}" for caveat in caveats(record)]
    return "\n".join(filter(None, [*lines, WORDS if verbose else ""]))


def _set_caption(record: RunRecord) -> str:
    counted = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in record.benchmark.counts.items() if n)
    ties = f"{record.metrics.overall.ties or 0:,} ties, none of them a win"
    if record.kind == "ratings":
        ties = f"{record.metrics.overall.ties or 0:,} pairs share their score with one that people rated differently"
    lines = [f"{record.model.spec}: percent [95% interval, photos resampled]; {counted}", ties]
    return "\n".join([*lines, *(f"warning: {caveat}" for caveat in caveats(record))])


def metrics_caption(metrics: Metrics, average: str | None) -> list[str]:
    """The headline's rule, the values of the other rules, and the paper's metrics."""
    lines = [line] if (line := graded_line(metrics.overall)) else []
    lines += _rule_line(metrics, average)
    overall = metrics.overall.metrics
    rows = shown([overall], "paper")
    counted = [f"n {max(overall[row.name].n for row in rows):,}"] if rows else []
    said = [f"{row.title} {_paper_number(row, overall[row.name])}" for row in rows if row.unit != "count"]
    for row in rows:
        if row.unit == "count" and overall[row.name].value:
            counted.append(f"{row.title} {in_words(row, overall[row.name])}")
    if said:
        lines.append(f"the paper's own: {', '.join(said)}" + (f" ({', '.join(counted)})" if counted else ""))
    return lines


def _rule_line(metrics: Metrics, average: str | None) -> list[str]:
    if not metrics.averages:
        return []
    headline = metrics.by_rule(average)
    rules = {"items": metrics.overall, **metrics.averages}
    others = [f"{rule} {percent(one, 'original')}" for rule, one in rules.items() if one != headline]
    words = f"headline by {average_words(headline)}"
    if isinstance(headline, MacroNumbers):  # the two rows differ, and a reader asks why
        words += ", each with the same weight; overall gives every item the same weight"
    return [f"{words}; Orig. by other rules: {', '.join(others)}"]


def _paper_number(row: MetricInfo, number: Number) -> str:
    return f"{100 * number.value:.2f}%" if row.unit == "share" else in_words(row, number)


def chance_line(numbers: Numbers, declared: Mapping[str, float]) -> str:
    """The headline by chance; "" where it is not known."""
    chance = by_chance(numbers, declared)
    known = [
        f"{info(name, number).short} {100 * chance[name]:.1f}"
        for name, number in numbers.metrics.items()
        if name in chance
    ]
    return f"by chance (an item's texts in random order): {', '.join(known)}" if known else ""


def graded_line(numbers: ItemNumbers) -> str:
    """The graded numbers of all items, in a line by item and one by pair of texts; "" where none were recorded."""
    found = numbers.metrics

    def said(names: Sequence[str]) -> list[str]:
        rows = [info(name) for name in names if name in found]
        return [f"{row.title} {in_words(row, found[row.name]).partition(' ')[0]}" for row in rows]

    spread, ours = numbers["spread"], said(("margin", "margin_positive", "change"))
    lgip = said(("invariance_error", "sensitivity_gap", "positive_rate"))
    lines = (
        [] if spread is None else [f"mean over items, in units of the spread of s(c), {spread:.3g}: {', '.join(ours)}"]
    )
    return "\n".join([*lines, *([f"LGIP's, over pairs of texts: {'; '.join(lgip)}"] if lgip else [])])


def blind_line(blind: BlindNumbers) -> str:
    """Every baseline that saw no image, and the gains over the best of them, in one line."""
    return (
        "without the image (right where c is above all negatives of its item), Orig. / Aug.: "
        f"{baselines_words(blind)}; {GAIN} {gain_words(blind)}"
    )


def verdict(record: RunRecord, average: str | None = None) -> str:
    """The conclusion of a run of items; "" for retrieval, classification and ratings."""
    numbers = record.metrics.by_rule(average)
    if record.kind != "items" or (original := numbers.metrics.get("original")) is None:
        return ""
    chance = by_chance(numbers, record.benchmark.chance).get("original")
    known = "" if chance is None else f" (chance {100 * chance:.1f})"
    spec = printable(record.model.spec)
    low = original.interval.low if original.interval else original.value
    if record.n.scored < FEW:
        return f"{spec}: too few items for a verdict."
    if record.of_answers:
        return answers_verdict(record, numbers, chance, _look_at(record, average))
    if chance is not None and low <= chance:
        below = original.interval is not None and original.interval.high < chance
        why = f"Check how it is loaded: equipoise doctor {'MODEL' if ' ' in spec else spec}"
        if record.preflight and record.preflight.fine:
            few = f"these {record.n.scored:,} items are too few to tell, or the benchmark is hard for it."
            why = f"The checks of the model were fine: {'it prefers wrong texts here.' if below else few}"
        return (
            f"{spec} is {'below chance' if below else 'not significantly above chance'}: it ranks the caption first on "
            f"{100 * original.value:.1f}% of the items{known}. {why}"
        )
    return (
        f"{spec} ranks the caption above every wrong text on {100 * original.value:.1f}% of "
        f"the items{known}{_reworded(numbers)}. {_look_at(record, average)}"
    ).rstrip()


def _reworded(numbers: Numbers) -> str:
    augmented, brittle = numbers["augmented"], numbers["brittleness"]
    if augmented is None or brittle is None:
        return "; no item has a hard positive, so the effect of rewording is not measured"
    drop = numbers["drop"]
    lost = "" if drop is None else f"; rewording costs {100 * drop:.1f} points"
    return f"{lost}, and on {100 * brittle:.1f}% the answer depends on the wording"


def _look_at(record: RunRecord, average: str | None) -> str:
    """The first of these that holds: words alone do as well, one split is far below the others."""
    blind = record.blind.by_rule(average) if record.blind else None
    gain = blind.gain.get("original") if blind else None
    if blind is not None and gain is not None and gain.interval.low <= 0:
        return (
            f"A baseline that reads only the texts ({gain.over}) does about as well: these items do not show that the "
            "model looks at the image (equipoise audit)."
        )
    shares: dict[str, float] = {}
    splits = record.metrics.by.get("split", {})
    for name, numbers in splits.items():
        value = numbers["original"] if numbers["augmented"] is None else numbers["augmented"]
        if numbers.n >= FEW and value is not None:
            shares[name] = value
    if len(shares) < 2:
        return ""
    worst = min(shares, key=lambda name: shares[name])
    return f"Weakest split: {printable(worst)} ({100 * shares[worst]:.1f}, n = {splits[worst].n:,})."


def edits_line(record: RunRecord) -> str:
    """How many texts of each kind of edit were scored: 'edits: negatives: object 120, attribute 77; ...'."""
    shown = []
    for kind in ("negative", "positive"):
        counts: Counter[str] = Counter()
        for name, count in record.edits.items():
            if name.startswith(f"{kind} "):
                counts[name.rpartition(" ")[2]] += count
        if counts:
            listed = ", ".join(f"{printable(target)} {count:,}" for target, count in counts.most_common(6))
            shown.append(f"{kind}s: {listed}{', ...' if len(counts) > 6 else ''}")
    return f"edits: {'; '.join(shown)}" if shown else ""
