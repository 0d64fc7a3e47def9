"""The answers of generative models, one for each variant of each question, and what changes an answer.

A question has variants: the wording of the text, the wording of the question (`prompt`), what is added to it
(`context`), what is done to the photo (`picture`), the order of the options, and repeats of the very same question.
Two answers are compared where they differ in one of these alone. docs/metrics.md derives every number.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

_ASKED_FIRST = ("prompt", "context", "picture")
VARIANTS = ("question", "wording", "prompt", "context", "picture", "order", "repeat")


class Answer(BaseModel):
    """A model's answer to one question about an item, in one variant."""

    model_config = ConfigDict(strict=True, frozen=True)
    right: bool | None  # None: the truth is not known
    choice: str | None = None  # the option it named, called the same in every variant; None: none of them
    place: int | None = None  # of that option in the question, from 0
    wording: str = ""  # of the text
    order: str = ""  # of the options
    said: str | None = None  # word for word; None: not published
    options: int = 0  # how many there were; 0: unknown
    question: str = ""  # which of the item's questions: against which negative
    prompt: str = ""  # the wording of the question
    context: str = ""  # added to the question, such as an explanation
    picture: str = ""  # the photo, turned or changed otherwise without a change of the truth
    repeat: int = 0
    truth: str | None = None  # the right option, named as choices are; None: not said

    @property
    def guessed(self) -> float:
        """The chance that a random answer is right; NaN: unknown."""
        return 1 / self.options if self.options else math.nan


class Verdict(NamedTuple):
    """An item's outcomes, and the chance of each when every answer is drawn at random (NaN: unknown)."""

    original: bool
    augmented: bool
    brittle: bool
    reworded: bool  # asked in more than one wording
    chance: tuple[float, float, float]


def _first_asked(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    """The answers by wording, without other prompts, contexts, photos and repeats: these measure what the wording
    does."""
    by_wording: dict[str, list[Answer]] = {}
    for answer in answers:
        if answer.repeat == 0 and all(getattr(answer, name) == getattr(answers[0], name) for name in _ASKED_FIRST):
            by_wording.setdefault(answer.wording, []).append(answer)
    return by_wording


def verdict(answers: Sequence[Answer]) -> Verdict:
    """A wording is right where all its questions are, in every order of the options. The first one is the caption's."""
    by_wording = list(_first_asked(answers).values())
    right = [all(answer.right for answer in given) for given in by_wording]
    guessed = [math.prod(answer.guessed for answer in given) for given in by_wording]
    every, none = math.prod(guessed), math.prod(1 - chance for chance in guessed)
    several = len(right) > 1
    return Verdict(
        right[0],
        several and all(right),
        several and any(right) and not all(right),
        several,
        (guessed[0], every, 1 - every - none),
    )


def _varied(answers: Iterable[Answer], variant: str, unclear: bool = False) -> list[list[Answer]]:
    """Groups of answers that differ in one variant alone; of those that name an option, or with the `unclear` ones."""
    answers = [answer for answer in answers if unclear or answer.choice is not None]
    if len({getattr(answer, variant) for answer in answers}) < 2:
        return []  # most models are asked in one or two kinds of variants
    rest = [name for name in VARIANTS if name != variant]
    groups: dict[Hashable, dict[Hashable, Answer]] = {}
    for answer in answers:
        key = tuple(getattr(answer, name) for name in rest)
        groups.setdefault(key, {})[getattr(answer, variant)] = answer
    return [list(group.values()) for group in groups.values() if len(group) > 1]


def flips(answers: Sequence[Answer], variant: str, value: str = "choice") -> float | None:
    """1 where `value` changes with the variant in any group, else 0; None where there is nothing to compare."""
    groups = _varied(answers, variant)
    return float(any(len({getattr(answer, value) for answer in group}) > 1 for group in groups)) if groups else None


def pair_flips(answers: Sequence[Answer], variant: str) -> float | None:
    """The share of pairs with different choices. Unlike `flips` it does not grow with the number of variants, so that
    the effect of a rewording and of a mere repeat can be compared."""
    pairs = [pair for group in _varied(answers, variant) for pair in combinations(group, 2)]
    return sum(answer.choice != other.choice for answer, other in pairs) / len(pairs) if pairs else None


def _judged(answers: Sequence[Answer], variant: str) -> list[list[Answer]]:
    """As `_varied`, of answers whose truth is known; one that names no option is wrong."""
    return _varied([answer for answer in answers if answer.right is not None], variant, unclear=True)


def right_flips(answers: Sequence[Answer], variant: str) -> float | None:
    """Right in one variant and wrong in another; an answer that names no option is wrong here."""
    groups = _judged(answers, variant)
    return float(any(len({answer.right for answer in group}) > 1 for group in groups)) if groups else None


def accuracy(answers: Sequence[Answer]) -> float | None:
    known = [answer.right for answer in answers if answer.right is not None]
    return sum(known) / len(known) if known else None


def every_time(answers: Sequence[Answer]) -> float | None:
    return None if any(answer.right is None for answer in answers) else float(all(answer.right for answer in answers))


def refusals(answers: Sequence[Answer]) -> float:
    return sum(answer.choice is None for answer in answers) / len(answers)


def first_option(answers: Sequence[Answer]) -> float | None:
    places = [answer.place for answer in answers if answer.place is not None]
    return sum(place == 0 for place in places) / len(places) if places else None


def constant(answers: Sequence[Answer]) -> float | None:
    """1 where no two questions with different truths got different answers; None where no two truths differ. An answer
    that names no option is not a different one."""
    groups = [
        group
        for group in _varied(answers, "question", unclear=True)
        if len({answer.truth for answer in group} - {None}) > 1
    ]
    return float(all(len({answer.choice for answer in group} - {None}) < 2 for group in groups)) if groups else None


def chance_of_one(answers: Sequence[Answer]) -> float:
    return sum(answer.guessed for answer in answers) / len(answers)


def chance_of_all(answers: Sequence[Answer]) -> float:
    return math.prod(answer.guessed for answer in answers)


def chance_of_flips(answers: Sequence[Answer], variant: str) -> float:
    """The chance that random answers differ in some group."""
    groups = _varied(answers, variant)
    alike = (math.prod(answer.guessed for answer in group[1:]) for group in groups)
    return 1 - math.prod(alike) if groups else math.nan


def chance_of_right_flips(answers: Sequence[Answer], variant: str) -> float:
    """The chance that random answers of some group are both right and wrong."""
    groups = [[answer.guessed for answer in group] for group in _judged(answers, variant)]
    alike = (math.prod(group) + math.prod(1 - chance for chance in group) for group in groups)
    return 1 - math.prod(alike) if groups else math.nan


def chance_of_pairs(answers: Sequence[Answer], variant: str) -> float:
    pairs = [group[0] for group in _varied(answers, variant)]
    return sum(1 - answer.guessed for answer in pairs) / len(pairs) if pairs else math.nan
