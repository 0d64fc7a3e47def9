"""Reads published scores: each layout is a function of a file's rows (`reading.py` tells them apart)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from equipoise.benchmarks import predicate_noun as pairs_of_sentences
from equipoise.benchmarks import valse as valse_benchmark
from equipoise.benchmarks.base import splits_of
from equipoise.benchmarks.reading import item_id
from equipoise.core.errors import UserError
from equipoise.data.items import Item
from equipoise.evaluation.scores import TextScores
from equipoise.published.sheets import (
    PublishedScores,
    Rows,
    ScoreTable,
    check_counts,
    check_doubled,
    check_finite,
    check_ids,
    check_single,
    image_of,
    made,
    scored,
    two_by_two,
)

WINOGROUND = 400  # examples
FOUR = ("c0_i0", "c1_i0", "c0_i1", "c1_i1")


def winoground(sheets: Sequence[ScoreTable]) -> PublishedScores:
    (sheet,) = sheets
    labels, scores = sheet.texts("label"), sheet.numbers("score")
    check_finite(sheet.problems, labels, scores)
    wanted = [f"{number}_{part}" for number in range(WINOGROUND) for part in FOUR]
    check_ids(sheet.problems, labels, wanted, "labels")
    sheet.problems.raise_if_any("Expected 0_c0_i0, 0_c1_i0, 0_c0_i1, 0_c1_i1 and so on, each once: caption and image.")
    score = dict(zip(labels, scores, strict=True))
    rows = []  # as an item of Winoground is: the first image and caption, the others negatives
    for number in range(WINOGROUND):
        images = [f"ex_{number}_img_0.png", f"ex_{number}_img_1.png"]
        four = [score[f"{number}_{part}"] for part in FOUR]
        rows.append(two_by_two(item_id("winoground", "test", number), images, {"split": "test"}, four))
    return PublishedScores("Winoground's labels", rows)


RATED = ("i0c0_result", "i0c1_result", "i1c0_result", "i1c1_result")


def rated(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """A judge's number and reasons for each image and caption of an example (VIEScore with GPT-4V)."""
    (sheet,) = sheets
    rows, without = [], []
    for row in sheet.rows:
        ratings = [
            rating.get("score") if isinstance(rating, dict) else None for rating in (row[name] for name in RATED)
        ]
        four = [float(rating) for rating in ratings if isinstance(rating, int | float) and math.isfinite(rating)]
        if len(four) < len(RATED):
            without.append(str(row["key"]))
            continue
        images = [f"ex_{row['key']}_img_0.png", f"ex_{row['key']}_img_1.png"]
        rows.append(two_by_two(item_id("winoground", "test", row["key"]), images, {"split": "test"}, four))
    note = f"without a number: {len(without):,} examples ({', '.join(without[:5])})" if without else ""
    return PublishedScores("a judge's numbers for Winoground", rows, notes=[note])


def valse(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """Its numbers count the records of all files, valid or not, one file after another; only within an instrument are
    they sure to be unique. So items are matched in the order of the file, instrument by instrument."""
    (sheet,) = sheets
    problems, labels, scores = sheet.problems, sheet.texts("label"), sheet.numbers("score")
    sides = []
    for instrument, label in zip(sheet.texts("instrument"), labels, strict=True):
        key, _, side = label.rpartition("_")
        sides.append((instrument, key, side))
    check_finite(problems, labels, scores)
    odd = [label for label, (_, key, side) in zip(labels, sides, strict=True) if not key or side not in ("c", "f")]
    problems.add_some("labels that are neither ID_c nor ID_f", odd)
    others = sorted({instrument for instrument, _, _ in sides} - set(valse_benchmark.SPLITS))
    problems.add_some("instruments that VALSE does not have", others)
    check_doubled(problems, "labels", [f"{instrument} {key}_{side}" for instrument, key, side in sides])
    score = dict(zip(sides, scores, strict=True))
    keys = list(dict.fromkeys((instrument, key) for instrument, key, _ in sides))
    half = [f"{i} {key}" for i, key in keys if not {(i, key, "c"), (i, key, "f")} <= score.keys()]
    problems.add_some("items with the score of only one of caption and foil", half)
    check_counts(problems, [instrument for instrument, _ in keys], valse_benchmark.SPLITS, "items")
    problems.raise_if_any('Expected {"label": "0_c", "score": 0.3, "instrument": "existence"} and 0_f for every item.')

    def place(key: tuple[str, str]) -> tuple[str, int, str]:
        """As the annotation files go: numbers by their value."""
        return key[0], int(key[1]) if re.fullmatch(r"\d{1,18}", key[1]) else -1, key[1]

    def fit(rows: Rows, items: Sequence[Item]) -> tuple[Rows, Sequence[Item]]:
        """The n-th score of an instrument is of its n-th valid record."""
        waiting: dict[str, list[str]] = {}  # by instrument: the ids of items that have no score yet
        for item in items:
            waiting.setdefault(item.tags["split"], []).append(item.id)
        names = {}
        for row in rows:
            ids = waiting.get(row.tags["split"])
            names[row.id] = ids.pop(0) if ids else row.id
        return [row.model_copy(update={"id": names[row.id]}) for row in rows], items

    rows = []
    for instrument, key in sorted(keys, key=place):
        tags = {"split": instrument, "phenomenon": valse_benchmark.phenomenon(instrument)}
        caption, foil = score[instrument, key, "c"], score[instrument, key, "f"]
        rows.append(scored(item_id("valse", instrument, key), None, tags, caption, foil))
    return PublishedScores("VALSE's labels", rows, fit=fit)


PREDICATE_NOUN = ("id", "prob_target_match", "prob_distractor_match")
_ONE = 1e-4  # how far a softmax of float32 numbers in text is from 1
_CHANCE = 0.1  # of rows that happen to add up to 1; more in part of a file are two models
WITHIN = (
    "probabilities add up to 1 within a wording, so those of two wordings cannot be compared: Augmented accuracy and "
    "Brittleness set each wording against its own wrong sentence, and mean scores are margins"
)


def predicate_noun(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """CLIP's file holds a softmax over the two sentences of a row, the others' files match probabilities of each. A
    softmax says nothing across wordings: 0.6 of one comparison is not more than 0.5 of another. Such files are known by
    rows that all add up to 1, and are measured by what they do say: each wording by its margin over its own wrong
    sentence."""
    files = [_wording(sheet) for sheet in sheets]
    names = " and ".join(str(sheet.path) for sheet in sheets)
    if len({within for _, _, within in files}) > 1:
        raise UserError(f"{names}: one holds a softmax over two sentences, one does not: two models")
    if len(files) == 2 and files[0] == files[1]:
        raise UserError(f"{names}: the same scores; name the file of the other wording second")
    rows = []
    for split, own, other in (("first", 0, 1), ("alt", 1, 0))[: len(files)]:
        right, wrong, within = files[own]
        for number in range(pairs_of_sentences.ROWS):
            caption, negative, positives = right[number], wrong[number], []
            if len(files) == 2:
                positives = [files[other][0][number]]
                if within:
                    positives = [files[other][0][number] - files[other][1][number]]
                    caption, negative = caption - negative, 0.0
            id_, tags = item_id("predicate-noun", split, number), {"split": split, "pair": str(number // 2)}
            rows.append(scored(id_, None, tags, caption, negative, positives=positives))

    def fit(rows: Rows, items: Sequence[Item]) -> tuple[Rows, Sequence[Item]]:
        """One file is asked about its own wording only, and has nothing to say on the other as a positive."""
        if len(files) == 2:
            return rows, items
        return rows, [item.model_copy(update={"positives": ()}) for item in items if item.tags["split"] == "first"]

    note = WITHIN if files[0][2] else ""
    if len(files) == 1:
        note = "one wording alone: no Augmented accuracy; name the other wording's file second"
    return PublishedScores("predicate-noun's result CSV", rows, notes=[note], fit=fit)


def _wording(sheet: ScoreTable) -> tuple[list[float], list[float], bool]:
    """The scores of the right and the wrong sentence of each row, and whether they are a softmax over the two."""
    problems, ids = sheet.problems, sheet.texts("id")
    right, wrong = sheet.numbers("prob_target_match"), sheet.numbers("prob_distractor_match")
    check_single(problems, "cropped_image", sheet.rows)
    both = [chance + against for chance, against in zip(right, wrong, strict=True)]
    check_finite(problems, ids, both)
    check_ids(problems, ids, [str(number) for number in range(pairs_of_sentences.ROWS)], "ids")
    ones = sum(abs(total - 1) < _ONE for total in both)
    if _CHANCE * len(both) < ones < len(both):
        problems.add("", f"{ones:,} of {len(both):,} rows add up to 1 and the others do not: two models in one file?")
    problems.raise_if_any("Expected the columns id, prob_target_match, prob_distractor_match, each id once.")
    order = sorted(range(len(ids)), key=lambda row: int(ids[row]))
    return [right[row] for row in order], [wrong[row] for row in order], ones == len(both)


# {"model": ..., "subsets": {"swap_att": {"0": {...}}}}; the texts are in it, so the items are too.


def sugarcrepe(sheets: Sequence[ScoreTable]) -> PublishedScores:
    (sheet,) = sheets
    right, wrong = sheet.numbers("positive_score"), sheet.numbers("negative_score")
    check_finite(sheet.problems, sheet.places, [a + b for a, b in zip(right, wrong, strict=True)])
    items = _items(sheet, "sugarcrepe")
    rows = [scored(item.id, image_of(item), item.tags, a, b) for item, a, b in zip(items, right, wrong, strict=True)]
    return _in_order("SugarCrepe's cosines", sheet, rows, items)


def sugarcrepe_pp(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """The cosines between the texts are there too, for TOT."""
    (sheet,) = sheets
    cosines = {name: sheet.numbers(name) for name in _COSINES}
    for name, values in cosines.items():
        check_finite(sheet.problems, [f"{place} {name}" for place in sheet.places], values)
    items = _items(sheet, "sugarcrepe-pp")
    rows = []
    for place, item in enumerate(items):
        of_item = {name: values[place] for name, values in cosines.items()}
        text = TextScores(
            caption_positives=[of_item["p1_p2"]],
            caption_negatives=[of_item["p1_ref"]],
            positives_negatives=[[of_item["p2_ref"]]],
        )
        right, wrong = of_item["image_p1"], of_item["image_neg"]
        rows.append(
            scored(item.id, image_of(item), item.tags, right, wrong, positives=[of_item["image_p2"]], text=text)
        )
    return _in_order("SugarCrepe++'s cosines", sheet, rows, items)


_COSINES = ("image_p1", "image_p2", "image_neg", "p1_p2", "p1_ref", "p2_ref")
PP = ("sample_id", "subset", *_COSINES, "caption2")
SUGARCREPE = ("sample_id", "subset", "positive_score", "negative_score")


def _items(sheet: ScoreTable, name: str) -> list[Item]:
    """The items, by the benchmark's own code; all that is wrong with the file is raised."""
    problems, splits, known = sheet.problems, sheet.texts("subset"), splits_of(name)
    problems.add_some(f"subsets that {name} does not have", sorted(set(splits) - known.keys()))
    check_doubled(
        problems, "pairs", [f"{split} {key}" for split, key in zip(splits, sheet.texts("sample_id"), strict=True)]
    )
    check_counts(problems, splits, {split: n for split, n in known.items() if split in splits}, "pairs")
    items = made(sheet, name, splits, sheet.texts("sample_id"))
    problems.raise_if_any("Expected one record a pair, as the benchmark numbers them, all of one model.")
    return items


def _in_order(layout: str, sheet: ScoreTable, rows: Rows, items: Sequence[Item]) -> PublishedScores:
    """In the order of the benchmark's files, so that runs of the same items are the same items."""
    order = sorted(range(len(rows)), key=lambda place: items[place].tags["split"])
    language = str(sheet.head.get("language", "en"))
    pretrained = sheet.head.get("pretrained")
    return PublishedScores(
        layout,
        [rows[place] for place in order],
        items=[items[place] for place in order],
        model=" ".join(map(str, filter(None, (sheet.head.get("model"), pretrained)))),
        notes=[f"captions in the language {language!r}" if language != "en" else ""],
    )


STATEMENTS = {2024: "older_test", 1012: "older_dev"}  # as VSR was first published


def vsr(sheets: Sequence[ScoreTable]) -> PublishedScores:
    """The score says how likely a statement is true. An item is the statement and its denial, whose score is one less
    the statement's: so Original accuracy is the accuracy at a threshold of 0.5, and the metric `truth` needs none."""
    (sheet,) = sheets
    problems, scores, ids = sheet.problems, sheet.numbers("score"), sheet.texts("id")
    labels = sheet.outcomes("label")
    check_finite(problems, ids, scores)
    check_doubled(problems, "ids", ids)
    outside = [id_ for id_, score in zip(ids, scores, strict=True) if score < 0 or score > 1]
    problems.add_some("scores outside of 0 to 1, where a threshold of 0.5 means nothing", outside)
    if len(ids) not in STATEMENTS:
        problems.add("", f"{len(ids):,} statements, where the files have {' or '.join(f'{n:,}' for n in STATEMENTS)}")
    problems.raise_if_any(
        'Expected {"label": 1, "score": 0.41, "relation": "in front of", "id": 0} for each statement.'
    )
    split = STATEMENTS[len(ids)]
    rows = []
    for id_, score, label, relation in zip(ids, scores, labels, sheet.texts("relation"), strict=True):
        right, wrong = (score, 1 - score) if label else (1 - score, score)
        tags = {"split": split, "label": str(label).lower(), "relation": relation}
        rows.append(scored(item_id("vsr", split, id_), None, tags, right, wrong))
    return PublishedScores("VSR's labels and scores", rows, notes=["right or wrong at a threshold of 0.5"])
