"""Runs of models that answer: a line for each metric, what the repeats say about the flips, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.core.errors import printable
from equipoise.evaluation.metrics import info, shown
from equipoise.evaluation.record import Numbers, RunRecord
from equipoise.report import Format, grid
from equipoise.report.tables import Line, percent, render, signed

_FIRST = ("accuracy", "right_every_time", "order_flips", "wording_flips", "prompt_flips", "repeat_flips")
_MEANINGS = {  # of answers; metrics.py has those of scores
    "original": "share of items that are right about the caption against every wrong text, in every order of options",
    "augmented": "share of items that are right in every wording as well",
    "brittleness": "share of items that are right in one wording and not in another",
}
_MANY = 0.25  # of items whose answer changes with the order of the options: then the order is what to look at


def answer_rows(numbers: Numbers, names: Sequence[str] | None = None) -> list[list[str]]:
    """Each metric of answers with its interval, n, chance and meaning."""
    rows = []
    for name in [row.name for row in shown([numbers.metrics], "answers")] if names is None else names:
        if (found := numbers.metrics.get(name)) is not None:
            by_chance = "-" if found.chance is None else f"{100 * found.chance:.1f}"
            row = info(name, found)
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
