"""The layouts in which people publish scores: each a function of a file's rows (`reading.py` tells them apart)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from equipoise.benchmarks import predicate_noun as pairs_of_sentences
from equipoise.benchmarks import sugarcrepe as sugarcrepe_benchmark
from equipoise.benchmarks import valse as valse_benchmark
from equipoise.benchmarks.reading import item_id
from equipoise.core import stats
from equipoise.core.errors import Problems, UserError
from equipoise.data.items import Item
from equipoise.evaluation.foreign.sheets import (
    Foreign,
    Rows,
    Sheet,
    check_counts,
    check_doubled,
    check_finite,
    check_ids,
    check_single,
    name_some,
    renamed,
)
from equipoise.evaluation.record import Interval, PaperNumbers
from equipoise.evaluation.scores import ImageScores, ItemScores

# ---------------------------------------------------------------------------- Winoground: a label and a score a line

WINOGROUND = 400  # examples
FOUR = ("c0_i0", "c1_i0", "c0_i1", "c1_i1")


def winoground(sheets: Sequence[Sheet]) -> Foreign:
    (sheet,) = sheets
    labels, scores = sheet.texts("label"), sheet.numbers("score")
    check_finite(sheet.problems, labels, scores)
    wanted = [f"{number}_{part}" for number in range(WINOGROUND) for part in FOUR]
    check_ids(sheet.problems, labels, wanted, "labels")
    sheet.problems.raise_if_any("Expected 0_c0_i0, 0_c1_i0, 0_c0_i1, 0_c1_i1 and so on, each once: caption and image.")
    score = dict(zip(labels, scores, strict=True))
    rows = []
    for number in range(WINOGROUND):  # as an item of Winoground is: the first image and caption, the others negatives
        own0, other0, other1, own1 = (score[f"{number}_{part}"] for part in FOUR)
        rows.append(
            ItemScores(
                id=item_id("winoground", "test", number),
                image=f"ex_{number}_img_0.png",
                caption=own0,
                negatives=[other0],
                tags={"split": "test"},
                negative_images=(ImageScores(image=f"ex_{number}_img_1.png", caption=other1, negatives=[own1]),),
                paired=True,
            )
        )
    return Foreign("Winoground's labels", rows)


# ---------------------------------------------------------------------------- VALSE: the same, with an instrument


def valse(sheets: Sequence[Sheet]) -> Foreign:
    """Its numbers count the records of all files, valid or not, one file after another; only within an instrument are
    they sure to be unique. So items are matched in the order of the file, instrument by instrument."""
    (sheet,) = sheets
    problems, labels, scores = sheet.problems, sheet.texts("label"), sheet.numbers("score")
    found = [
        (instrument, *label.rpartition("_")[::2])
        for instrument, label in zip(sheet.texts("instrument"), labels, strict=True)
    ]
    check_finite(problems, labels, scores)
    odd = [label for label, (_, key, side) in zip(labels, found, strict=True) if not key or side not in ("c", "f")]
    name_some(problems, "labels that are neither ID_c nor ID_f", odd)
    others = sorted({instrument for instrument, _, _ in found} - set(valse_benchmark.SPLITS))
    name_some(problems, "instruments that VALSE does not have", others)
    check_doubled(problems, "labels", [f"{instrument} {key}_{side}" for instrument, key, side in found])
    score = dict(zip(found, scores, strict=True))
    keys = list(dict.fromkeys((instrument, key) for instrument, key, _ in found))
    half = [f"{i} {key}" for i, key in keys if not {(i, key, "c"), (i, key, "f")} <= score.keys()]
    name_some(problems, "items with the score of only one of caption and foil", half)
    check_counts(problems, [instrument for instrument, _ in keys], valse_benchmark.SPLITS, "items")
    problems.raise_if_any('Expected {"label": "0_c", "score": 0.3, "instrument": "existence"} and 0_f for every item.')

    def place(key: tuple[str, str]) -> tuple[str, int, str]:
        """As the annotation files go: numbers by their value."""
        return key[0], int(key[1]) if re.fullmatch(r"\d{1,18}", key[1]) else -1, key[1]

    def fit(rows: Rows, items: Sequence[Item]) -> tuple[Rows, Sequence[Item]]:
        """The n-th score of an instrument is of its n-th valid record."""
        ids: dict[str, list[str]] = {}
        for item in items:
            ids.setdefault(item.tags["split"], []).append(item.id)
        left = {split: iter(some) for split, some in ids.items()}
        return renamed(rows, {row.id: next(left.get(row.tags["split"], iter(())), row.id) for row in rows}), items

    rows = [
        ItemScores(
            id=item_id("valse", instrument, key),
            caption=score[instrument, key, "c"],
            negatives=[score[instrument, key, "f"]],
            tags={"split": instrument, "phenomenon": valse_benchmark.phenomenon(instrument)},
        )
        for instrument, key in sorted(keys, key=place)
    ]
    return Foreign("VALSE's labels", rows, fit=fit)


# ---------------------------------------------------------------------------- predicate-noun: a CSV for each wording

_ONE = 1e-4  # how far a softmax of float32 numbers in text is from 1
_CHANCE = 0.1  # of rows that happen to add up to 1; more in part of a file are two models
WITHIN = (
    "probabilities add up to 1 within a wording, so those of two wordings cannot be compared: Augmented accuracy and "
    "Brittleness set each wording against its own wrong sentence, and mean scores are margins"
)


def predicate_noun(sheets: Sequence[Sheet]) -> Foreign:
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
            rows.append(
                ItemScores(
                    id=item_id("predicate-noun", split, number),
                    caption=caption,
                    positives=positives,
                    negatives=[negative],
                    tags={"split": split, "pair": str(number // 2)},
                )
            )

    def fit(rows: Rows, items: Sequence[Item]) -> tuple[Rows, Sequence[Item]]:
        """One file is asked about its own wording only, and has nothing to say on the other as a positive."""
        if len(files) == 2:
            return rows, items
        return rows, [item.model_copy(update={"positives": ()}) for item in items if item.tags["split"] == "first"]

    note = WITHIN if files[0][2] else ""
    if len(files) == 1:
        note = "one wording alone: no Augmented accuracy; name the other wording's file second"
    return Foreign("predicate-noun's result CSV", rows, notes=[note], fit=fit)


def _wording(sheet: Sheet) -> tuple[list[float], list[float], bool]:
    """The scores of the right and the wrong sentence of each row, and whether they are a softmax over the two."""
    problems, ids = sheet.problems, sheet.texts("id")
    right, wrong = sheet.numbers("prob_target_match"), sheet.numbers("prob_distractor_match")
    check_single(problems, "cropped_image", sheet.rows)
    both = [one + other for one, other in zip(right, wrong, strict=True)]
    check_finite(problems, ids, both)
    check_ids(problems, ids, [str(number) for number in range(pairs_of_sentences.ROWS)], "ids")
    ones = sum(abs(total - 1) < _ONE for total in both)
    if _CHANCE * len(both) < ones < len(both):
        problems.add("", f"{ones:,} of {len(both):,} rows add up to 1 and the others do not: two models in one file?")
    problems.raise_if_any("Expected the columns id, prob_target_match, prob_distractor_match, each id once.")
    order = sorted(range(len(ids)), key=lambda row: int(ids[row]))
    return [right[row] for row in order], [wrong[row] for row in order], ones == len(both)


# ---------------------------------------------------------------------------- outcomes: right or wrong, and no score
# An outcome is written as a score of 1 against 0, so that the same code measures it. A wrong outcome may have been a
# tie, so ties are unknown, and so is everything that needs a score.


def _outcome(id_: str, image: str, won: bool, tags: dict[str, str]) -> ItemScores:
    return ItemScores(id=id_, image=image, caption=float(won), negatives=[float(not won)], tags=tags)


BIVLC = 2933  # examples
OLD = ("text_score_i0", "text_score_i1", "image_score_c0", "image_score_c1", "text_score", "image_score", "group_score")
NEW = ("Ipos_2T", "Ineg_2T", "Tpos_2I", "Tneg_2I", "I2T", "T2I", "group_score")  # the same, as newer code names them


def bivlc(sheets: Sequence[Sheet]) -> Foreign:
    """Both images of an example as rows; text, image and group score from the four comparisons."""
    (sheet,) = sheets
    problems, found = sheet.problems, sheet.rows
    columns = OLD if OLD[0] in found[0] else NEW
    wins = list(zip(*map(sheet.outcomes, columns), strict=True))
    problems.raise_if_any("Outcomes are True and False, or 1 and 0.")
    _check_comparisons(wins, problems)
    if len(found) != BIVLC:
        problems.add("", f"{len(found):,} of {BIVLC:,} examples")
    texts = Counter((row["caption"], row["negative_caption"]) for row in found)
    twice = [caption for (caption, _), count in texts.items() if count > 1]
    if len(twice) > 1:  # one pair of captions has two examples, with different images
        name_some(problems, "pairs of captions doubled, where the benchmark has one (two models in one file?)", twice)
    problems.raise_if_any("Expected one row an example, as BiVLC's evaluation writes it.")
    rows = []
    for number, (row, won) in enumerate(zip(found, wins, strict=True)):
        tags = {"split": "test", "type": row["type"], "subtype": row["subtype"], "pair": str(number)}
        for side in (0, 1):
            rows.append(_outcome(item_id("bivlc", "test", f"{number}-{side}"), f"{number}", won[side], tags))
    groups = _groups(wins)
    for kind in dict.fromkeys(row["type"] for row in found):
        chosen = [won for row, won in zip(found, wins, strict=True) if row["type"] == kind]
        groups |= {f"{kind}_{name}": value for name, value in _groups(chosen).items()}
    notes = (
        f"{len(twice)} pair of captions stands twice, with other images" if twice else "",
        "examples are numbered as the file has them: its image columns name no image",
    )
    return Foreign("BiVLC's outcomes", rows, True, notes, {"groups": groups})


def _check_comparisons(wins: Sequence[Sequence[bool]], problems: Problems) -> None:
    """Text, image and group must follow from the four comparisons, and these from some four scores.

    With both texts right, c0i0 > c1i0 and c1i1 > c0i1; both images wrong would turn this into c0i0 > c0i0.
    """
    wrong, impossible = [], []
    for number, (i0, i1, c0, c1, text, image, group) in enumerate(wins):
        if (text, image, group) != (i0 and i1, c0 and c1, i0 and i1 and c0 and c1):
            wrong.append(str(number))
        if (i0, i1, c0, c1) in {(True, True, False, False), (False, False, True, True)}:
            impossible.append(str(number))
    name_some(problems, "examples whose text, image or group score does not follow from their comparisons", wrong)
    name_some(problems, "examples with comparisons that no four scores can give", impossible)


def _groups(wins: Sequence[Sequence[bool]]) -> PaperNumbers:
    found: PaperNumbers = {"n": len(wins)}
    for column, name in ((4, "text"), (5, "image"), (6, "group")):
        count = sum(won[column] for won in wins)
        found[name] = count / len(wins)
        found[f"{name}_interval"] = Interval(*stats.wilson(count, len(wins)))
    return found


WITHDRAWN = ("swap_obj", "000000310622.jpg")  # of SugarCrepe; files from before still ask it


def sugarcrepe(sheets: Sequence[Sheet]) -> Foreign:
    (sheet,) = sheets
    problems, won = sheet.problems, sheet.outcomes("correct")
    problems.raise_if_any("Outcomes are True and False, or 1 and 0.")
    texts = [(row["filename"], row["caption"], row["negative_caption"]) for row in sheet.rows]
    splits = [f"{row['type']}_{row['subtype']}" for row in sheet.rows]
    others = sorted(set(splits) - set(sugarcrepe_benchmark.SPLITS))
    name_some(problems, "types that SugarCrepe does not have", others)
    keys = [(split, *text) for split, text in zip(splits, texts, strict=True)]
    doubled = [f"{split} {image} {caption}" for (split, image, caption, _), n in Counter(keys).items() if n > 1]
    name_some(problems, "pairs doubled (two models in one file?)", doubled)
    kept = [number for number, key in enumerate(keys) if key[:2] != WITHDRAWN]
    check_counts(problems, [splits[number] for number in kept], sugarcrepe_benchmark.SPLITS, "pairs")
    problems.raise_if_any("Expected the columns filename, caption, negative_caption, type, subtype, correct.")
    ids = {keys[number]: item_id("sugarcrepe", splits[number], f"row-{number}") for number in kept}
    rows = []
    for number in kept:
        tags = {"split": splits[number], "group": sheet.rows[number]["type"]}
        rows.append(_outcome(ids[keys[number]], texts[number][0], won[number], tags))
    gone, twice = len(keys) - len(kept), sum(n > 1 for n in Counter(texts[number] for number in kept).values())
    notes = (
        f"left out: {gone} pair that SugarCrepe withdrew ({WITHDRAWN[0]}, image {WITHDRAWN[1]})" if gone else "",
        f"{twice} pairs of sentences are asked in two splits" if twice else "",
    )

    def fit(rows: Rows, items: Sequence[Item]) -> tuple[Rows, Sequence[Item]]:
        keyed = {
            (item.tags["split"], item.image.path if item.image else "", item.caption, item.negatives[0].text): item.id
            for item in items
        }
        return renamed(rows, {ids[key]: id_ for key, id_ in keyed.items() if key in ids}), items

    return Foreign("SugarCrepe's outcomes", rows, True, notes, fit=fit)


# ---------------------------------------------------------------------------- VSR: True or False, in two wordings

VSR = tuple(
    "example_id condition statement original_statement relation ground_truth expected_transformed_label prediction "
    "model_condition".split()
)
FIRST = "normal"  # the condition of the statements as they are
_TRUTH = ("True", "False")


def vsr(sheets: Sequence[Sheet]) -> Foreign:
    """An answer is written as a score of 1 (right) or 0 (wrong), and the hard negative as 0.5. So Original accuracy is
    the share right in the first wording, Augmented accuracy the share right in both, and Brittleness the share right in
    one. Where the rewording turns the truth ("above" to "below") only true statements count, because "not above" does
    not entail "below". The two files may come in either order."""
    for sheet in sheets:
        for where, row in zip(sheet.places, sheet.rows, strict=True):
            if row["ground_truth"] not in _TRUTH:
                sheet.problems.add(where, f"ground_truth: expected True or False, found {row['ground_truth']!r}")
        check_single(sheet.problems, "condition", sheet.rows)
        check_doubled(sheet.problems, "ids", sheet.texts("example_id"))
        sheet.problems.raise_if_any("Expected one row a statement, each id once.")
    first = [sheet for sheet in sheets if sheet.rows[0]["condition"] == FIRST]
    second = [sheet for sheet in sheets if sheet.rows[0]["condition"] != FIRST]
    if len(first) != 1 or len(second) != 1:
        found = ", ".join(f"{sheet.path} ({sheet.rows[0]['condition']})" for sheet in sheets)
        raise UserError(
            f"{found}: expected two files, the answers to the statements as they are (condition {FIRST}) and to the "
            "reworded ones (such as sorev): equipoise metrics NORMAL.csv REWORDED.csv --bench vsr-pairs"
        )
    answers, reworded = {row["example_id"]: row for row in first[0].rows}, second[0].rows
    problems = Problems(f"{second[0].path}: not rewordings of {first[0].path}")
    check_single(problems, "model_condition", (*first[0].rows, *reworded))
    unknown = [row["example_id"] for row in reworded if row["example_id"] not in answers]
    name_some(problems, "ids unknown there", unknown)
    others = [
        row["example_id"]
        for row in reworded
        if (before := answers.get(row["example_id"]))
        and any(row[column] != before[column] for column in ("original_statement", "ground_truth"))
    ]
    name_some(problems, "ids with another statement or another truth there", others)
    odd = [row["example_id"] for row in reworded if row["expected_transformed_label"] not in _TRUTH]
    name_some(problems, "rows without the truth of the reworded statement (expected_transformed_label)", odd)
    problems.raise_if_any("Name the two files of one model.")
    kept = [row for row in reworded if row["ground_truth"] in (row["expected_transformed_label"], "True")]
    if not kept:
        raise UserError(f"{second[0].path}: no statement whose rewording has a known truth")
    pairs = [(answers[row["example_id"]], row) for row in kept]
    right = [
        (before["prediction"] == before["ground_truth"], row["prediction"] == row["expected_transformed_label"])
        for before, row in pairs
    ]
    refused = sum(row["prediction"] not in _TRUTH for pair in pairs for row in pair)
    left_out = len(reworded) - len(kept)
    notes = (
        "Orig. is the accuracy in the first wording, Aug. the share right in both, Brittleness the share right in one",
        f"accuracy in the second wording ({kept[0]['condition']}): {sum(b for _, b in right) / len(kept):.1%}",
        f"{refused:,} of {2 * len(kept):,} answers are neither True nor False and count as wrong" if refused else "",
        f"left out: {left_out:,} false statements, whose rewording need not be true" if left_out else "",
    )
    rows = [
        ItemScores(
            id=row["example_id"],
            image=row.get("source_image_id") or None,
            caption=float(before),
            positives=[float(after)],
            negatives=[0.5],
            tags={"wording": row["condition"], "relation": row["relation"], "label": row["ground_truth"].lower()},
        )
        for row, (before, after) in zip(kept, right, strict=True)
    ]
    return Foreign("VSR's answers in two wordings", rows, True, notes, fit=lambda rows, _: (rows, ()))
