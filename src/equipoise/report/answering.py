"""The page of models that answer: a table, what changes an answer, and the answers as they were said."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from equipoise import __version__
from equipoise.core.errors import UserError
from equipoise.core.run_folder import write_own
from equipoise.data.images import ImageProblem, ImageSource, open_source
from equipoise.data.items import Item, texts
from equipoise.data.readers.questions import LETTERS
from equipoise.evaluation import answers
from equipoise.evaluation.answers import VARIANTS, Answer
from equipoise.evaluation.asking.variants import Asked, parse_ask, questions
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.metrics import METRICS, SHARES, Metric, of_answers, shown
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Numbers, RunRecord
from equipoise.evaluation.results import Shown, read_shown
from equipoise.evaluation.scores import ItemScores
from equipoise.report.footnotes import answer_rows, noise_words
from equipoise.report.gallery import from_run, small_picture
from equipoise.report.html import axis, el, figure, line, page_part, row, strip, table, templates
from equipoise.report.page import MARK
from equipoise.report.tables import percent

SHOWN = 24  # items: up to two thirds of them with answers that changed
_TELLS = {  # a metric, and what a log without it cannot tell
    "repeat_flips": "how often the answer changes when nothing changes: no question was repeated",
    "order_flips": "whether the order of the options decides: each question has one order",
    "prompt_flips": "whether another wording of the question changes the answer",
    "accuracy": "how many answers are right: the truth is not in the log",
}
_CHANGES = {  # a variant, and what changes between two answers; the last is the noise of the others
    "order": "the order of the options",
    "wording": "the words of the text",
    "prompt": "the words of the question",
    "context": "an addition to the question",
    "picture": "the picture, turned or changed",
    "repeat": "nothing: asked again",
}


class AnsweringRun(NamedTuple):
    """A run of answers; `folder` has its texts, if it is on disk."""

    record: RunRecord
    rows: Sequence[ItemScores]
    folder: Path | None = None


def write_card(
    path: Path, runs: Iterable[AnsweringRun], title: str | None, seed: int, images: Path | None = None
) -> None:
    cards = [_card(run, seed, images) for run in runs]
    page = templates("equipoise.report").get_template("card.html")
    title = title or "Does the answer stay the same?"
    write_own(path, page.render(mark=MARK, title=title, cards=cards, style=page_part("report.css")), MARK)


def _card(run: AnsweringRun, seed: int, images: Path | None) -> dict[str, object]:
    record, published = run.record, run.record.published
    numbers = record.metrics.overall
    flips = [row for row in shown([numbers.metrics], "answers") if row.name.endswith(("_flips", "constant_answers"))]
    words = [f"{row.title} {percent(numbers, row.name)} (n {numbers.count(row.name):,})" for row in flips]
    known = [
        f"{METRICS[name].title} {percent(numbers, name)}"
        for name in ("accuracy", "right_every_time")
        if numbers[name] is not None
    ]
    label = f"{record.model.spec} on {record.benchmark.name}"
    sentence = f"{label}, {numbers.n:,} questions: {', '.join([*known, *words])}"
    changed = [row for row in run.rows if len({answer.choice for answer in row.answers}) > 1 and not _several(row)]
    lacking = [what for name, what in _TELLS.items() if numbers[name] is None]
    return {
        "label": label, "sentence": f"{sentence}.", "noise": noise_words(numbers),
        "rows": [*answer_rows(numbers, SHARES), *answer_rows(numbers)],
        "panel": _panel(run.rows, seed), "changed": f"{len(changed):,}", "total": f"{len(run.rows):,}",
        "gallery": _gallery(run, changed, seed, images), "line": f"{sentence}; equipoise {__version__}",
        "notes": published.notes if published else [],
        "unknown": lacking + (published.unknown if published else []),
    }  # fmt: skip


def _panel(rows: Sequence[ItemScores], seed: int) -> Markup | None:
    """How often two answers differ when one thing alone changes; by pairs, so that the bars can be compared."""
    numbers = summarise(outcomes_of(rows), seed, metrics=[_pairs(*pair) for pair in _CHANGES.items()]).overall
    metrics = shown([numbers.metrics], "answers")
    if not metrics:
        return None
    bars = [
        row(metric.title, percent(numbers, metric.name), _bar(numbers, metric.name, metric.title)) for metric in metrics
    ]
    data = [[metric.title, *answer_rows(numbers, [metric.name])[0][1:4]] for metric in metrics]
    return figure(
        "What changes an answer",
        "Share of pairs of answers that name different options when this alone changes, in percent, with 95% "
        "intervals. The bar of nothing is noise: a longer bar above it is an effect.",
        Markup("").join([*bars, axis((0, 25, 50, 75, 100))]),
        table(["what changes", "percent", "n", "by chance"], data),
    )


def _bar(numbers: Numbers, name: str, label: str) -> Markup:
    marks = [line((tick, tick), (0, 20), "grid") for tick in (0, 25, 50, 75, 100)]
    value, interval = 100 * (numbers[name] or 0.0), numbers.interval(name)
    marks.append(el("rect", x=0, y=4, width=f"{value:.2f}%", height=12, class_="flips"))
    if interval is not None:
        marks.append(line((100 * interval.low, 100 * interval.high), (10, 10), "spread"))
    return strip(20, *marks, label=f"{label}: {percent(numbers, name)}")


def _pairs(variant: str, title: str) -> Metric:
    ask = partial(answers.pair_flips, variant=variant)
    chance = partial(answers.chance_of_pairs, variant=variant)
    return of_answers(f"{variant}_pairs", "share of pairs that differ", ask, chance=chance, title=title)


def _gallery(
    run: AnsweringRun, changed: Sequence[ItemScores], seed: int, images: Path | None
) -> list[dict[str, object]]:
    """Some items with every answer: those whose answers changed, then others, half of them wrong where there are."""
    draw = random.Random(seed)
    there = {row.id for row in changed}
    steady = [row for row in run.rows if row.id not in there]
    draw.shuffle(steady)
    steady.sort(key=lambda row: all(answer.right for answer in row.answers))  # stable: the wrong ones first
    room = max(2 * SHOWN // 3, SHOWN - len(steady))
    some = draw.sample(list(changed), min(room, len(changed)))
    left = SHOWN - len(some)
    some += [*steady[: left // 2], *steady[::-1][: left - left // 2]] if len(steady) > left else steady
    kept = {} if run.folder is None else {line.id: line for line in read_shown(run.folder)}
    sources = _sources(run, images)
    return [_shown(row, kept.get(row.id), run.record.settings.ask, sources) for row in some]


def _shown(row: ItemScores, kept: Shown | None, ask: str | None, sources: Sequence[ImageSource]) -> dict[str, object]:
    asked = _asked(row.id, kept, ask)
    shown = kept.texts if kept else None
    asks = "Which caption describes this image?" if asked else row.id
    question = (shown and shown.question) or row.tags.get("question") or asks
    again = dict(enumerate(shown.rewordings, 1)) if shown else {}
    reworded = {f"rewording {number}": text for number, text in again.items()}
    lines = [
        _line(
            answer,
            asked.get((answer.question, answer.wording, answer.prompt, answer.order)),
            reworded.get(answer.wording, ""),
        )
        for answer in row.answers
    ]
    try:
        picture = small_picture(sources, row.image)[0] if sources and row.image else None
    except ImageProblem:
        picture = None
    return {"id": row.id, "question": question, "picture": picture, "answers": lines}


def _asked(id_: str, kept: Shown | None, ask: str | None) -> dict[tuple[str, ...], Asked]:
    """The questions as they were asked, by their variant; none of a log, which has its own."""
    if kept is None or kept.texts is None or ask is None:
        return {}
    shown = kept.texts
    item = Item(
        id=id_, caption=shown.caption, positives=texts(*shown.positives), negatives=texts(*shown.negatives),
        question=shown.question, rewordings=tuple(shown.rewordings), place=shown.place,
    )  # fmt: skip
    return {
        (question.question, question.wording, question.variant, question.order): question
        for question in questions(item, parse_ask(ask))
    }


def _line(answer: Answer, asked: Asked | None, reworded: str) -> dict[str, str]:
    how = [f"{name} {value}" for name in VARIANTS if (value := getattr(answer, name)) and name != "question"]
    options = zip(LETTERS, asked.options, strict=False) if asked is not None and asked.lettered else ()
    return {
        "how": ", ".join(how) or "first",
        "options": "\n".join(filter(None, [reworded, *(f"{letter}: {text}" for letter, text in options)])),
        "said": (answer.said or answer.choice or "")[:300],
        "right": {True: "right", False: "wrong", None: "unknown"}[answer.right],
    }


def _sources(run: AnsweringRun, images: Path | None) -> list[ImageSource]:
    """Where the photos are; a page without them is a page."""
    place = images if images or run.folder is None else from_run(run.record.arguments.get("images"), run.folder)
    try:
        return [] if place is None else [open_source(place)]
    except UserError:
        return []


def _several(row: ItemScores) -> bool:
    """Whether questions have other truths: they should get other answers."""
    return len({answer.truth for answer in row.answers}) > 1
