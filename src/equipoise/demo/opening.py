"""The top of the demo's page: a picture with three captions, and a chart."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from equipoise.data.images import ImageSource, decode_image, encoded
from equipoise.data.items import ImageRef
from equipoise.demo.numbers import ChangeTable, Models
from equipoise.demo.stories import BASE, CONTROL, OURS, ROWS, USUAL, StoryColumn
from equipoise.evaluation.record import Change
from equipoise.evaluation.scores import ItemScores
from equipoise.report.comparison import change_words
from equipoise.report.html import at, axis, el, figure, line, row, strip, table
from equipoise.report.orderings import CLASSES, classify_all
from equipoise.report.tables import signed


def picture(models: Models, test: str, images: ImageSource, texts: Mapping[str, Sequence[str]]) -> Markup | None:
    """How each model orders the texts of an item that only the model with the usual negatives gets wrong.

    `texts` has caption, positive and negative of every item, by id.
    """
    rows = {label: list(seeds[0].tests[test].rows) for label, seeds in models.items()}
    codes = {label: classify_all(of) for label, of in rows.items()}
    group = {label: [CLASSES[code] for code in of_model] for label, of_model in codes.items()}
    items = range(len(rows[BASE.label]))
    broken = [
        item
        for item in items
        if group[USUAL.label][item].name == "c > n > p"
        and all(group[label][item].group == "right" for label in models if label != USUAL.label)
    ]
    if not broken:
        return None
    unseen = [item for item in broken if rows[BASE.label][item].tags.get("synonym") == "unseen"]
    chosen = (unseen or broken)[0]
    scores = rows[BASE.label][chosen]
    right = {label: [scores.group == "right" for scores in classes] for label, classes in group.items()}
    flips: dict[str, list[int]] = {}  # items that were right and are not any more, and the other way round
    for label in (USUAL.label, OURS.label):
        before_after = list(zip(right[CONTROL.label], right[label], strict=True))
        flips[label] = [before_after.count((True, False)), before_after.count((False, True))]
    caption, positive, negative = texts[scores.id.partition("/")[2] if scores.id not in texts else scores.id]
    photo = decode_image(images.read(scores.image or ""), ImageRef(path=scores.image or ""))
    photo.thumbnail((360, 360))
    data = base64.b64encode(encoded(photo, "JPEG", quality=88)).decode()
    orders = [el("li", el("b", label), _order(rows[label][chosen]), class_="order") for label in models]
    names = {"c": "the caption", "p": "reworded, still right", "n": "changed, now wrong"}
    terms = [el("dt", el("b", mark), f" {name}", class_=mark) for mark, name in names.items()]
    said = [el("dd", text) for text in (caption, positive, negative)]
    captions = el("dl", *(part for pair in zip(terms, said, strict=True) for part in pair), class_="captions")
    words = el(
        "p",
        f"Best score first. The usual negatives broke {flips[USUAL.label][0]:,} of {len(items):,} items like this one "
        f"and fixed {flips[USUAL.label][1]:,}; {OURS.label} broke {flips[OURS.label][0]:,} and fixed "
        f"{flips[OURS.label][1]:,}.",
        class_="soft",
    )
    image = el("img", src=f"data:image/jpeg;base64,{data}", alt=caption)
    head = el("h2", "One picture, three captions, five models")
    return el("section", image, el("div", head, captions, el("ul", *orders, class_="orders"), words), class_="example")


def _order(scores: ItemScores) -> Markup:
    """The three texts, best first."""
    scored = [("c", scores.caption), ("p", scores.positives[0]), ("n", scores.negatives[0])]
    names = {"c": "caption", "p": "reworded", "n": "wrong"}
    ordered = sorted(scored, key=lambda pair: -pair[1])
    return el("span", *(el("span", names[mark], class_=f"pill {mark}") for mark, _ in ordered), class_="pills")


def chart(changed: ChangeTable, columns: Sequence[StoryColumn]) -> Markup:
    """The changes by finetuning compared with captions alone, in a panel for each model."""
    about = {row.label: row.about for row in ROWS}
    most = max(
        100 * abs(bound) for changes in changed.values() for change in changes.values() for bound in change.interval
    )
    end = 20 * max(1, math.ceil(most / 20))  # points at both ends of the axis
    panels = []
    for label, changes in changed.items():
        rows = [_row(column.title, changes[column.title], end) for column in columns]
        scale = axis((-end, -end // 2, 0, end // 2, end), -end, end)
        panels.append(el("div", el("h4", label), el("p", about[label], class_="soft"), *rows, scale))
    data = [[label, *map(change_words, changes.values())] for label, changes in changed.items()]
    meaning = Markup(" ").join(Markup("<b>{}</b>: {}.").format(column.title, column.about) for column in columns)
    return figure(
        "What finetuning with edits changed, in points, against finetuning on captions alone",
        "Right of the line is better. Thin lines are 95% intervals; a hollow mark is not significant, corrected for "
        "all comparisons.",
        Markup("").join([el("div", *panels, class_="panels"), el("p", meaning, class_="soft")]),
        table(["model", *(column.title for column in columns)], data),
        wide=True,
    )


def _row(title: str, one: Change, end: int) -> Markup:
    value = one.difference
    tone = "hollow" if not one.significant else "gain" if value > 0 else "loss"

    def percent(change: float) -> float:
        """The position of a change, in percent of the panel's width."""
        return 50 + 50 * 100 * change / end

    left, right = percent(one.interval.low), percent(one.interval.high)
    marks = [line((50, 50), (0, 18), "zero"), line((left, right), (9, 9), f"spread {tone}")]
    marks.append(at(percent(value), 9, "circle", tone, f"{title} {signed(value)}"))
    return row(title, signed(value), strip(18, *marks, label=f"{title}: {signed(value)} points"))
