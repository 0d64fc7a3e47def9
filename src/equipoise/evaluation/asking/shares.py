"""The main metrics of answers from the rows of an exported benchmark, in plain Python.

A copy of parsing.py and of this file is part of every export, where no Equipoise is installed. A test holds them to
the metrics of answers.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from equipoise.evaluation.asking.parsing import option_of

SHARES = ("accuracy", "right_every_time", "original", "augmented", "brittleness", "order_flips")


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
    found: dict[str, list[float]] = {name: [] for name in SHARES}
    for given in by_item.values():
        right = [choice == row["truth"] for row, choice in given]
        found["accuracy"].append(sum(right) / len(right))
        found["right_every_time"].append(all(right))
        wordings: dict[str, list[bool]] = defaultdict(list)
        orders: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for (row, choice), won in zip(given, right, strict=True):
            if row["variant"] == "0" and not row["repeat"]:  # the usual prompt, for the first time
                wordings[row["wording"]].append(won)
                if choice is not None:
                    orders[row["about"], row["wording"]][row["order"]] = choice
        every = [all(won) for won in wordings.values()]
        found["original"].append(all(wordings["caption"]))
        if len(every) > 1:
            found["augmented"].append(all(every))
            found["brittleness"].append(any(every) and not all(every))
        if several := [choices for choices in orders.values() if len(choices) > 1]:
            found["order_flips"].append(any(len(set(choices.values())) > 1 for choices in several))
    return {name: sum(values) / len(values) for name, values in found.items() if values}
