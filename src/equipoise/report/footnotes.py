"""The verdict on a run, and the lines below its table: averages, chance, graded numbers, ceilings.

At the end those of models that answer: a line for each metric, what the repeats say about the flips, and the verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from equipoise.core.errors import printable
from equipoise.evaluation.metrics import MetricInfo, info, shown
from equipoise.evaluation.record import BlindNumbers, ItemNumbers, MacroNumbers, Metrics, Number, Numbers, RunRecord
from equipoise.report import Format, grid
from equipoise.report.tables import (
    FEW,
    GAIN,
    Line,
    average_words,
    baselines_words,
    by_chance,
    caveats,
    gain_words,
    in_words,
    percent,
    render,
    result_rows,
    signed,
)

LEGEND = "percent [95% interval, images resampled]; a tie is never a win"
WORDS = "what each word means: equipoise metrics --help"
_FIRST = ("accuracy", "right_every_time", "order_flips", "wording_flips", "prompt_flips", "repeat_flips")
_MEANINGS = {  # of answers; metrics.py has those of scores
    "original": "share of items that are right about the caption against every wrong text, in every order of options",
    "augmented": "share of items that are right in every wording as well",
    "brittleness": "share of items that are right in one wording and not in another",
}
_MANY = 0.25  # of items whose answer changes with the order of the options: then the order is what to look at


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
    others = [
        f"{rule} {percent(average_numbers, 'original')}"
        for rule, average_numbers in rules.items()
        if average_numbers != headline
    ]
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
    measured = numbers.metrics

    def said(names: Sequence[str]) -> list[str]:
        rows = [info(name) for name in names if name in measured]
        return [f"{row.title} {in_words(row, measured[row.name]).partition(' ')[0]}" for row in rows]

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


def answer_rows(numbers: Numbers, names: Sequence[str] | None = None) -> list[list[str]]:
    """Each metric of answers with its interval, n, chance and meaning."""
    rows = []
    for name in [row.name for row in shown([numbers.metrics], "answers")] if names is None else names:
        if (number := numbers.metrics.get(name)) is not None:
            by_chance = "-" if number.chance is None else f"{100 * number.chance:.1f}"
            row = info(name, number)
            rows.append([row.title, percent(numbers, name), f"{numbers.count(name):,}", by_chance])
            rows[-1].append(_MEANINGS.get(name, row.meaning))
    return rows


def answers_table(line: Line, form: Format, caption: str = "", names: Sequence[str] | None = None) -> str:
    if form in ("json", "csv"):
        return render([line], form)
    rows = [row[:4] for row in answer_rows(line.numbers, names)]
    return grid(form, (line.label, "percent", "n", "by chance"), rows, caption)


def eval_answers(lines: Sequence[Line], form: Format, caption: str, verbose: bool) -> str:
    """The headline, a line for each metric; with several splits also Original, Augmented and Brittleness of each."""
    texts = [row.name for row in shown([lines[0].numbers.metrics], "texts") if row.less is None]
    answers = [row.name for row in shown([lines[0].numbers.metrics], "answers")] if verbose else _FIRST
    parts = [answers_table(lines[0], form, caption if len(lines) == 1 else "", [*texts, *answers])]
    if len(lines) > 1:
        cells = [
            [line.label, f"{line.numbers.n:,}", *(percent(line.numbers, name) for name in texts)] for line in lines
        ]
        parts.append(grid(form, ("", "n", *(info(name).short for name in texts)), cells, caption))
    return ("\n" if form == "text" else "\n\n").join(parts)


def noise_words(numbers: Numbers) -> str:
    """Whether rewording changes more answers than a mere repeat; "" where no text was reworded."""
    effect, repeated = numbers.metrics.get("wording_effect"), numbers.metrics.get("repeat_flips")
    if numbers["wording_changes"] is None:
        return ""
    if effect is None or effect.interval is None or repeated is None:
        return "No question was repeated, so the flips hold noise too: --ask wordings,orders,repeats:2 measures it."
    low, high = map(signed, effect.interval)
    words = f"{signed(effect.value)} points [{low}, {high}]"
    if effect.interval.low > 0:
        return f"Rewording changes more answers than a mere repeat does ({words}): the model is brittle."
    return (
        f"Rewording changes no more answers than a mere repeat does ({words}; repeats alone change "
        f"{100 * repeated.value:.1f}%): this does not show that the model is brittle."
    )


def once_words(numbers: Numbers) -> str:
    """Which commands measure flips, where each question was asked once."""
    if any(numbers[name] is not None for name in ("order_flips", "wording_changes", "prompt_flips", "repeat_flips")):
        return ""
    return (
        "Each question was asked once, so no flips were measured: --ask wordings,orders,prompts:5,repeats:2 asks in "
        "other words; `equipoise perturb FILE --recipe questions` rewords questions of yours."
    )


def answers_verdict(record: RunRecord, numbers: Numbers, chance: float | None, hint: str) -> str:
    """The conclusion of a run of answers: above chance or not, and if not, what to look at."""
    original = numbers.metrics["original"]
    spec, low = printable(record.model.spec), original.interval.low if original.interval else original.value
    known = "" if chance is None else f" (chance {100 * chance:.1f})"
    orders = "" if numbers["order_flips"] is None else ", in every order of the options,"
    right = f"right{orders} on {100 * original.value:.1f}% of the items{known}"
    if chance is None or low > chance:
        augmented = numbers["augmented"]
        more = "" if augmented is None else f", and in every wording on {100 * augmented:.1f}%"
        return " ".join(filter(None, (f"{spec} is {right}{more}.", _order(numbers), hint)))
    below = original.interval is not None and original.interval.high < chance
    return f"{spec} is {'below' if below else 'at'} chance: {right}. {_why(record, numbers)}"


def _order(numbers: Numbers, at_chance: bool = False) -> str:
    """The effect of the order of the options; "" if it is small."""
    order, first, effect = numbers["order_flips"], numbers["first_option"], numbers.interval("order_effect")
    if order is None or order < _MANY:
        return ""
    if effect is not None and effect.low <= 0:
        why = ": it guesses." if at_chance else ", so the order of the options need not be why."
        return f"It changes as many answers when asked the same again{why}"
    named = "" if first is None else f" (the first option gets {100 * first:.1f}% of the answers)"
    return f"The order of the options changes its answer on {100 * order:.1f}% of the items{named}."


def _why(record: RunRecord, numbers: Numbers) -> str:
    if order := _order(numbers, at_chance=True):
        return order
    if (refused := numbers["refusals"] or 0.0) >= _MANY:
        return f"{100 * refused:.1f}% of its answers name no option: ask in other words with ?template=..."
    if record.preflight and record.preflight.fine:
        return "The checks of the model were fine: the benchmark is hard for it, or has too few items."
    spec = printable(record.model.spec)
    return f"Check how it is loaded: equipoise doctor {'MODEL' if ' ' in spec else spec}"
