"""Questions of one's own: a row with image, question, options and answer becomes an item.

The right option is the item's caption and the other options are its negatives. Without options the question is yes/no.
`options` is a list or one text separated by "|"; columns A, B, C, ... or option_a, option_b, ... serve as well. The
answer is an option, its letter, or yes or no. `rewordings` (a list, or columns question_2, ...) ask the same thing in
other words; `photos` are further images of the question. `captions` of the photo (a list, or separated by "|") become a
tag, for `perturb --recipe questions`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Any

from equipoise.data.readers.records import BadRow

YES_NO = ("yes", "no")
LETTERS = string.ascii_uppercase
_TRUTH = {"true": "yes", "1": "yes", "false": "no", "0": "no"}
_LETTERED = re.compile(r"(?:option[ _]?)?([A-Z])", re.IGNORECASE)
_FIELDS = {"id", "image", "images", "question", "options", "answer", "rewordings", "photos", "tags"}


def is_question(row: Mapping[str, object]) -> bool:
    return "question" in row and "answer" in row and "caption" not in row


def question_item(row: Mapping[str, Any], number: int | str) -> dict[str, object]:
    """The fields of the item; a BadRow says what is wrong with it."""
    lettered = {
        match[1].upper(): str(cell)
        for name, cell in row.items()
        if (match := _LETTERED.fullmatch(name)) and name != "options" and cell not in (None, "")
    }
    options = _listed(row.get("options"), "|") or [lettered[letter] for letter in sorted(lettered)]
    answer = str(row["answer"]).strip()
    if not options:
        options, answer = list(YES_NO), _TRUTH.get(answer.lower(), answer.lower())
    if len(options) < 2 or len(set(options)) < len(options):
        raise BadRow(f"options: expected two or more different ones, found {options}")
    if len(options) > len(LETTERS):
        raise BadRow(f"options: expected at most {len(LETTERS)}, found {len(options)}")
    right = _right(answer, options)
    if right is None:
        letters = ", ".join(LETTERS[: len(options)])
        raise BadRow(f"answer: expected one of {options} or its letter ({letters}), found {answer!r}")
    images = _listed(row.get("images"), "|") or _listed(row.get("image"), "|")
    again = _listed(row.get("rewordings"), "|")
    again += [str(cell) for name, cell in row.items() if re.fullmatch(r"question_\d+", name) and cell]
    tags = {
        name: str(cell)
        for name, cell in row.items()
        if name not in _FIELDS and cell not in (None, "") and not name.startswith("question_")
        if isinstance(cell, str | int | float) and not _LETTERED.fullmatch(name)
    }
    if captions := _listed(row.get("captions"), "|"):
        tags["captions"] = "|".join(captions)
    fields = {
        "id": str(row.get("id") or number),
        "image": {"path": images[0]} if images else None,
        "question": str(row["question"]),
        "caption": options[right],
        "negatives": [{"text": option} for place, option in enumerate(options) if place != right],
        "place": right,
        "tags": {"split": "all"} | dict(row.get("tags") or {}) | tags,
    }
    more = {"photos": [{"path": image} for image in images[1:]], "rewordings": again}
    return fields | {name: value for name, value in more.items() if value}


def _right(answer: str, options: list[str]) -> int | None:
    """The place of the answer among the options: by its text, else by its letter."""
    plain = [option.strip().lower() for option in options]
    if answer.lower() in plain:
        return plain.index(answer.lower())
    letter = answer.strip("().: ").upper()
    place = LETTERS.find(letter) if len(letter) == 1 else -1
    return place if 0 <= place < len(options) else None


def _listed(value: object, separator: str) -> list[str]:
    if value is None or value == "":
        return []
    return [str(part).strip() for part in (value if isinstance(value, list) else str(value).split(separator))]
