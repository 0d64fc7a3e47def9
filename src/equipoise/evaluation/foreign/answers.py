"""Layouts of answers to questions with two options: SugarCrepe's in both orders, ColorSwap's.

An item's scores stand for its answers. In two orders of the options the score of a text is the share of the orders in
which it was chosen, so that an answer which follows the position is a tie, and never a win. `ItemScores.answers` keeps
each answer as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.core.errors import Problems
from equipoise.data.items import Item
from equipoise.evaluation.foreign.outcomes import SUGARCREPE, WITHDRAWN
from equipoise.evaluation.foreign.sheets import (
    Foreign,
    Sheet,
    check_counts,
    check_doubled,
    image_of,
    made,
    outcome,
)
from equipoise.evaluation.scores import Answer, ItemScores

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
        if split and order and (other := seen.setdefault((split, order), sheet)) is not sheet:
            problems.add("", f"{other.path} and {sheet.path} both hold {split}, {order}")
            split = ""
        items = []
        if split:
            kept = [split for row in sheet.rows if (split, row["filename"]) != WITHDRAWN]
            check_counts(sheet.problems, kept, {split: SUGARCREPE[split]}, "pairs")
            items = made(sheet, "sugarcrepe", [split] * len(sheet.rows), sheet.texts("key"))
        problems.found += [f"{sheet.path}: {one}" for one in sheet.problems.found]
        for item, row in zip(items, sheet.rows, strict=False):
            if (split, row["filename"]) == WITHDRAWN:
                continue
            if found.setdefault(item.id, item) != item:
                problems.add(str(sheet.path), f"{item.id}: other texts than in the other order")
            answers.setdefault(item.id, []).append(_option(row, order))
    problems.raise_if_any(
        "Expected files as SugarCrepe's repository has them, positive-first/gpt4v-TYPE.json and "
        f"negative-first/gpt4v-TYPE.json, TYPE one of {', '.join(SUGARCREPE)}."
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
    found = [split for split in SUGARCREPE if split in name]
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


COLORSWAP = ("id", "log_1", "log_2")


def colorswap(sheets: Sequence[Sheet]) -> Foreign:
    """A file asks for the text of each image, or for the image of each text; two files of one model are both."""
    problems = Problems(" and ".join(str(sheet.path) for sheet in sheets))
    rows: list[ItemScores] = []
    seen: dict[str, Sheet] = {}
    for sheet in sheets:
        side = "text" if "response_image_1" in sheet.rows[0] else "image"
        if seen.setdefault(side, sheet) is not sheet:
            problems.add("", f"{seen[side].path} and {sheet.path} both ask for the {side}")
            continue
        own = Problems("")
        check_doubled(own, "ids", sheet.texts("id"))
        check_counts(own, ["test"] * len(sheet.rows), {"test": 300}, "examples")
        for where, row in zip(sheet.places, sheet.rows, strict=True):
            try:
                rows += [_colour(row, side, number) for number in (1, 2)]
            except (KeyError, TypeError, ValueError, IndexError):
                own.add(where, "expected prompt and response of two questions, log_1 and log_2 with correct_answer")
        problems.found += [f"{sheet.path}: {one}" for one in own.found]
    problems.raise_if_any("Expected the files of one model, as ColorSwap's repository has them (text-, image-).")
    rows.sort(key=lambda row: (int(row.tags["pair"]), row.tags["ask"], row.id))
    unclear = sum(answer.choice is None for row in rows for answer in row.answers)
    notes = [f"{unclear:,} of {len(rows):,} answers name no option, or both, and count as wrong" if unclear else ""]
    if len(seen) == 1:
        notes.append(f"no group score: only the {next(iter(seen))}s were asked for; name the other file too")
    model = re.search(r"(?:text|image)-(.+?)-colorswap", sheets[0].path.name)
    called = model[1] if model else ""
    return Foreign("ColorSwap's answers", rows, True, notes, model=called, fit=lambda rows, _: (rows, ()))


def _colour(row: Mapping[str, Any], side: str, number: int) -> ItemScores:
    asked = "image" if side == "text" else "caption"
    said, log = str(row[f"response_{asked}_{number}"]), row[f"log_{number}"]
    if side == "text":
        prompt = str(row[f"prompt_{asked}_{number}"])
        options = [one.strip() for one in re.split(r"\(A\)|, or \(B\)|\? ", prompt)[1:3]]
        names, chosen = ("A", "B"), _named_text(said, options)
    else:
        names, chosen = ("first", "second"), _named_image(said)
    right = chosen is not None and names[chosen] == log["correct_answer"]
    image = f"{row['id']}_{number}.png" if side == "text" else None
    tags = {"split": "test", "ask": side, "pair": str(int(row["id"]))}
    one = outcome(f"colorswap-test/{row['id']}-{side}-{number}", image, right, tags)
    choice = None if chosen is None else "right" if right else "wrong"
    return one.model_copy(update={"answers": (Answer(right=right, choice=choice, place=chosen),)})


def _named_text(said: str, options: Sequence[str]) -> int | None:
    """The option that an answer names: by its letter, or by its text; None where it names none or both."""
    said = said.partition(", not ")[0].strip()
    letters = {one.upper() for one in re.findall(r"(?:^|\(|option )([AB])(?=[):.,]|$)", said, flags=re.IGNORECASE)}
    letters |= {one.upper() for one in re.findall(r"\boption ([AB])\b", said, flags=re.IGNORECASE)}
    plain = _plain(said)
    texts = {place for place, option in enumerate(options) if _plain(option) in plain}
    found = {"AB".index(letter) for letter in letters} or texts
    return found.pop() if len(found) == 1 else None


def _named_image(said: str) -> int | None:
    better = re.search(r"(first|second) image,?[^.,]*? (?:better|aligns|is more)", said.lower())
    words = {better[1]} if better else {word for word in ("first", "second") if word in said.lower()}
    return ("first", "second").index(words.pop()) if len(words) == 1 else None


def _plain(text: str) -> str:
    """Without articles, "with" and "and": answers repeat a caption freely."""
    words = re.findall(r"[a-z']+", text.lower())
    return " ".join(word for word in words if word not in {"a", "an", "the", "with", "and"})
