"""Layouts of answers: what generative models said, in several wordings or orders of the options.

An item's scores stand for its answers. In two orders of the options the score of a text is the share of the orders in
which it was chosen, so that an answer which follows the position is a tie, and never a win. In several wordings the
caption's score is 1 where the first wording was answered right, each positive's that of another wording, and the hard
negative's is 0.5: Original accuracy is the share right in the first wording, Augmented accuracy the share right in all,
Brittleness the share right in some and wrong in others. `ItemScores.answers` keeps each answer as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.benchmarks import sugarcrepe as sugarcrepe_benchmark
from equipoise.core.errors import Problems, UserError
from equipoise.data.items import Item
from equipoise.evaluation.foreign.outcomes import WITHDRAWN
from equipoise.evaluation.foreign.sheets import (
    Foreign,
    Sheet,
    check_counts,
    check_doubled,
    check_single,
    image_of,
    made,
    name_some,
    outcome,
)
from equipoise.evaluation.scores import Answer, ItemScores

# ---------------------------------------------------------------------------- SugarCrepe: caption first, negative first

GPT4V = ("answer", "caption", "negative_caption", "filename", "correct")
FIRST_OPTION, SECOND_OPTION = "caption first", "negative first"


def sugarcrepe(sheets: Sequence[Sheet]) -> Foreign:
    """A file holds the answers to one type in one order. The order is read from the answers, the type from the name."""
    problems = Problems(" and ".join(str(sheet.path) for sheet in sheets[:3]) + (", ..." if len(sheets) > 3 else ""))
    found: dict[str, Item] = {}
    answers: dict[str, list[Answer]] = {}
    seen: dict[tuple[str, str], Sheet] = {}
    for sheet in sheets:
        split, order = _type_of(sheet, problems), _order_of(sheet, problems)
        if not (split and order):
            continue
        if (other := seen.setdefault((split, order), sheet)) is not sheet:
            problems.add("", f"{other.path} and {sheet.path} both hold {split}, {order}")
            continue
        kept = [row["filename"] for row in sheet.rows if (split, row["filename"]) != WITHDRAWN]
        counts = {split: sugarcrepe_benchmark.SPLITS[split]}
        own = Problems("")
        check_counts(own, [split] * len(kept), counts, "pairs")
        items = made(sheet, "sugarcrepe", [split] * len(sheet.rows), sheet.texts("key"), sugarcrepe_benchmark)
        problems.found += [f"{sheet.path}: {one}" for one in (*own.found, *sheet.problems.found)]
        for item, row in zip(items, sheet.rows, strict=False):
            if (split, row["filename"]) == WITHDRAWN:
                continue
            if found.setdefault(item.id, item) != item:
                problems.add(str(sheet.path), f"{item.id}: other texts than in the other order")
            answers.setdefault(item.id, []).append(_option(row, order))
    problems.raise_if_any(
        "Expected files as SugarCrepe's repository has them, positive-first/gpt4v-TYPE.json and "
        f"negative-first/gpt4v-TYPE.json, TYPE one of {', '.join(sugarcrepe_benchmark.SPLITS)}."
    )
    rows = []
    for id_ in sorted(found, key=lambda one: (found[one].tags["split"], int(one.rpartition("/")[2]))):
        chosen = [answer.choice for answer in answers[id_]]
        shares = [chosen.count(side) / len(chosen) for side in ("caption", "negative")]
        rows.append(
            ItemScores(
                id=id_,
                image=image_of(found[id_]),
                caption=shares[0],
                negatives=shares[1:],
                tags=found[id_].tags,
                answers=tuple(answers[id_]),
            )
        )
    one = sum(len(row.answers) == 1 for row in rows)
    notes = (
        "Orig. counts items whose caption was chosen and whose negative was not, in either order",
        f"{one:,} items were asked in one order only" if one else "",
    )
    return Foreign(
        "SugarCrepe's answers in two orders", rows, True, notes, [found[row.id] for row in rows], _gpt(sheets)
    )


def _gpt(sheets: Sequence[Sheet]) -> str:
    """The model as the name of the file has it: gpt4v-swap_att.json."""
    found = re.search(r"([A-Za-z][\w.]*)-(?:add|replace|swap)[-_]", sheets[0].path.name)
    return found[1] if found else ""


def _type_of(sheet: Sheet, problems: Problems) -> str:
    name = sheet.path.name.replace("-", "_")
    found = [split for split in sugarcrepe_benchmark.SPLITS if split in name]
    if len(found) == 1:
        return found[0]
    problems.add(str(sheet.path), "which type of SugarCrepe is it? Its name holds none, as gpt4v-swap_att.json does")
    return ""


def _order_of(sheet: Sheet, problems: Problems) -> str:
    """By what option (1) was: an answer names the number and the caption behind it."""
    orders = set()
    for where, row in zip(sheet.places, sheet.rows, strict=True):
        answer = row["answer"] if isinstance(row["answer"], dict) else {}
        choice, said = answer.get("multiple_choice_answer"), str(answer.get("free_form_answer", ""))
        if choice not in (row["caption"], row["negative_caption"], ""):
            sheet.problems.add(where, "answer: multiple_choice_answer is neither caption, negative_caption nor empty")
        elif row["correct"] != (choice == row["caption"]):
            sheet.problems.add(where, f"correct is {row['correct']}, and the answer says otherwise")
        if choice and len(number := set(re.findall(r"\(([12])\)", said))) == 1:
            orders.add(FIRST_OPTION if (number == {"1"}) == (choice == row["caption"]) else SECOND_OPTION)
    if len(orders) != 1:
        what = "options in both orders" if orders else "no answer that names (1) or (2)"
        problems.add(str(sheet.path), f"{what}: which caption came first?")
        return ""
    return orders.pop()


def _option(row: Mapping[str, Any], order: str) -> Answer:
    choice = row["answer"]["multiple_choice_answer"]
    if not choice:
        return Answer(right=False, order=order)
    side = "caption" if choice == row["caption"] else "negative"
    return Answer(
        right=side == "caption", choice=side, place=int((side == "caption") != (order == FIRST_OPTION)), order=order
    )


# ---------------------------------------------------------------------------- VSR: True or False, in two wordings

VSR = tuple(
    "example_id condition statement original_statement relation ground_truth expected_transformed_label prediction "
    "model_condition".split()
)
FIRST = "normal"  # the condition of the statements as they are
_TRUTH = ("True", "False")


def vsr(sheets: Sequence[Sheet]) -> Foreign:
    """One file: its answers alone. Several: the statements as they are, and reworded ones, in any order. Where the
    rewording turns the truth ("above" to "below") only true statements count, because "not above" does not entail
    "below"."""
    for sheet in sheets:
        for where, row in zip(sheet.places, sheet.rows, strict=True):
            if row["ground_truth"] not in _TRUTH:
                sheet.problems.add(where, f"ground_truth: expected True or False, found {row['ground_truth']!r}")
        check_single(sheet.problems, "condition", sheet.rows)
        check_doubled(sheet.problems, "ids", sheet.texts("example_id"))
        sheet.problems.raise_if_any("Expected one row a statement, each id once.")
    first = [sheet for sheet in sheets if sheet.rows[0]["condition"] == FIRST]
    second = [sheet for sheet in sheets if sheet.rows[0]["condition"] != FIRST]
    if len(sheets) > 1 and len(first) != 1:
        found = ", ".join(f"{sheet.path} ({sheet.rows[0]['condition']})" for sheet in sheets)
        raise UserError(
            f"{found}: expected one file with the answers to the statements as they are (condition {FIRST}) and one or "
            "more with the reworded ones (such as sorev): equipoise metrics NORMAL.csv REWORDED.csv --bench vsr-pairs"
        )
    if len(sheets) == 1:
        return _statements(sheets[0])
    answers = {row["example_id"]: row for row in first[0].rows}
    rows, notes, refused = [], [_IN_WORDINGS], 0
    for sheet in second:
        pairs = _reworded(sheet, first[0], answers)
        right = [(_right(before), _right(row)) for before, row in pairs]
        refused += sum(row["prediction"] not in _TRUTH for pair in pairs for row in pair)
        left_out = len(sheet.rows) - len(pairs)
        called = pairs[0][1]["condition"]
        notes.append(f"accuracy in the second wording ({called}): {sum(b for _, b in right) / len(right):.1%}")
        if left_out:
            notes.append(f"left out of {called}: {left_out:,} false statements, whose rewording need not be true")
        rows += [_in_wordings(before, row, called) for before, row in pairs]
    total = 2 * len(rows)
    notes.append(f"{refused:,} of {total:,} answers are neither True nor False and count as wrong" if refused else "")
    model = _model(first[0])
    return Foreign("VSR's answers in several wordings", rows, True, notes, model=model, fit=lambda rows, _: (rows, ()))


def _model(sheet: Sheet) -> str:
    return " ".join(filter(None, (str(sheet.rows[0].get(name) or "") for name in ("model_id", "model_condition"))))


_IN_WORDINGS = (
    "Orig. is the accuracy in the first wording, Aug. the share right in both, Brittleness the share right in one"
)


def _right(row: Mapping[str, Any]) -> bool:
    truth = row["ground_truth"] if row["condition"] == FIRST else row["expected_transformed_label"]
    return bool(row["prediction"] == truth)


def _answer(row: Mapping[str, Any]) -> Answer:
    right, answered = _right(row), row["prediction"] in _TRUTH
    choice = ("right" if right else "wrong") if answered else None  # True may be right in one wording, False in another
    return Answer(right=right, choice=choice, wording=row["condition"])


def _tags(row: Mapping[str, Any], wording: str) -> dict[str, str]:
    return {"wording": wording, "relation": row["relation"], "label": row["ground_truth"].lower()}


def _in_wordings(before: Mapping[str, Any], row: Mapping[str, Any], called: str) -> ItemScores:
    return ItemScores(
        id=f"{row['example_id']}/{called}",
        image=row.get("source_image_id") or None,
        caption=float(_right(before)),
        positives=[float(_right(row))],
        negatives=[0.5],
        tags=_tags(row, called),
        answers=(_answer(before), _answer(row)),
    )


def _statements(sheet: Sheet) -> Foreign:
    """The answers to statements with one photo each, or with a blank one, another's or none."""
    condition = str(sheet.rows[0]["condition"])
    if any(row["expected_transformed_label"] in _TRUTH for row in sheet.rows):
        raise UserError(
            f"{sheet.path}: reworded statements ({condition}); name the file of the statements as they are too: "
            f"equipoise metrics NORMAL.csv {sheet.path.name} --bench vsr-pairs"
        )
    rows = []
    for row in sheet.rows:
        right, answered = row["prediction"] == row["ground_truth"], row["prediction"] in _TRUTH
        answer = Answer(right=right, choice=row["prediction"] if answered else None)
        one = outcome(row["example_id"], row.get("source_image_id") or None, right, _tags(row, condition))
        rows.append(one.model_copy(update={"answers": (answer,)}))
    refused = sum(answer.choice is None for row in rows for answer in row.answers)
    notes = (
        "" if condition == FIRST else f"not the statement's own photo: {condition}",
        f"{refused:,} of {len(rows):,} answers are neither True nor False and count as wrong" if refused else "",
    )
    return Foreign("VSR's answers", rows, True, notes, model=_model(sheet), fit=lambda rows, _: (rows, ()))


def _reworded(
    sheet: Sheet, first: Sheet, answers: Mapping[str, Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each statement as it is and reworded, of those whose rewording has a known truth."""
    problems = Problems(f"{sheet.path}: not rewordings of {first.path}")
    check_single(problems, "model_condition", (*first.rows, *sheet.rows))
    name_some(
        problems, "ids unknown there", [row["example_id"] for row in sheet.rows if row["example_id"] not in answers]
    )
    others = [
        row["example_id"]
        for row in sheet.rows
        if (before := answers.get(row["example_id"]))
        and any(row[column] != before[column] for column in ("original_statement", "ground_truth"))
    ]
    name_some(problems, "ids with another statement or another truth there", others)
    odd = [row["example_id"] for row in sheet.rows if row["expected_transformed_label"] not in _TRUTH]
    name_some(problems, "rows without the truth of the reworded statement (expected_transformed_label)", odd)
    problems.raise_if_any("Name the files of one model.")
    kept = [row for row in sheet.rows if row["ground_truth"] in (row["expected_transformed_label"], "True")]
    if not kept:
        raise UserError(f"{sheet.path}: no statement whose rewording has a known truth")
    return [(answers[row["example_id"]], row) for row in kept]
