"""Which option an answer names, and the main metrics of answers, in plain Python.

A copy of this file is part of every export, where no Equipoise is installed, so it imports nothing of ours. A test
holds its metrics to those of answers.py.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LETTERS = string.ascii_uppercase
SHARES = ("accuracy", "right_every_time", "original", "augmented", "brittleness", "order_flips")
_THINKING = re.compile(r"<think>.*?(</think>|$)|<\|?begin_of_box\|?>|<\|?end_of_box\|?>", re.DOTALL)
_LEAD = r"(?:(?:the )?(?:correct |best |final )?(?:answer|caption|option|choice)\b\W*(?:is\b\W*)?)?"
_YES_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


def option_of(said: str, options: Sequence[str], lettered: bool) -> int | None:
    """The place of the option that an answer names by its letter, by its text, or by yes and no, among `options` as
    they were shown; None where it names none, or two."""
    said = _THINKING.sub(" ", said).strip()
    if not lettered:
        return _yes_or_no(said, options)
    letters = LETTERS[: len(options)]
    # "B", "(B)", "Answer: B.", "B: a dog"; but "A dog runs" begins with an article.
    if first := re.match(rf"^\W*{_LEAD}\W*([{letters}])(?=\s*$|\s*[).:,;\]*\n]|\s+-)", said, re.IGNORECASE):
        return letters.index(first[1].upper())
    marked = rf"(?:(?i:option|answer|caption|choice)(?: is)?:?\W*|\(|\*\*)([{letters}])(?=[).:,\]*]|\s|$)"
    named = {letter.upper() for letter in re.findall(marked, said)}
    if len(named) == 1:
        return letters.index(named.pop())
    plain = _plain(said)
    texts = [place for place, option in enumerate(options) if _plain(option) and _plain(option) in plain]
    longest = [place for place in texts if not any(_inside(options[place], options[other]) for other in texts)]
    if len(longest) == 1 and not named:
        return longest[0]
    bare = set(re.findall(rf"\b([{letters}])\b", said))
    return letters.index(bare.pop()) if len(bare) == 1 and said[:1] in bare and not (named or longest) else None


def _inside(text: str, other: str) -> bool:
    """Whether one option is a part of another that was named too: "dog" in "hot dog"."""
    return text != other and _plain(text) in _plain(other)


def _yes_or_no(said: str, options: Sequence[str]) -> int | None:
    words = [word.lower() for word in _YES_NO.findall(said)]
    first = re.match(r"^\W*(yes|no)\b", said, re.IGNORECASE)
    word = first[1].lower() if first else words[0] if len(set(words)) == 1 else None
    plain = [option.lower() for option in options]
    return plain.index(word) if word in plain else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def choice_of(row: Mapping[str, Any], said: str) -> str | None:
    """The option that an answer names, called the same in every order and wording."""
    place = option_of(said, row["options"], row["lettered"])
    return None if place is None else str(row["names"][place])


def shares(answered: Iterable[tuple[Mapping[str, Any], str | None]]) -> dict[str, float]:
    """Every metric as a share of items, from rows and the options that the answers name; what was not asked is left
    out."""
    by_item: dict[str, list[tuple[Mapping[str, Any], str | None]]] = defaultdict(list)
    for row, choice in answered:
        by_item[row["item"]].append((row, choice))
    outcomes: dict[str, list[float]] = {name: [] for name in SHARES}
    for given in by_item.values():
        right = [choice == row["truth"] for row, choice in given]
        outcomes["accuracy"].append(sum(right) / len(right))
        outcomes["right_every_time"].append(all(right))
        wordings: dict[str, list[bool]] = defaultdict(list)
        orders: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for (row, choice), won in zip(given, right, strict=True):
            if row["variant"] == "0" and not row["repeat"]:  # the usual prompt, for the first time
                wordings[row["wording"]].append(won)
                if choice is not None:
                    orders[row["about"], row["wording"]][row["order"]] = choice
        every = [all(won) for won in wordings.values()]
        outcomes["original"].append(all(wordings["caption"]))
        if len(every) > 1:
            outcomes["augmented"].append(all(every))
            outcomes["brittleness"].append(any(every) and not all(every))
        if several := [choices for choices in orders.values() if len(choices) > 1]:
            outcomes["order_flips"].append(any(len(set(choices.values())) > 1 for choices in several))
    return {name: sum(values) / len(values) for name, values in outcomes.items() if values}
