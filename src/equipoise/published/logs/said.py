"""The noun of every log: what a model said to one question, and which option that names."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.errors import Problems
from equipoise.evaluation.answers import Answer
from equipoise.evaluation.asking.shipped import shares
from equipoise.evaluation.export.rows import answer_to, row_of

LETTERS = "ABCDEFGHIJ"
MOST_SAID = 4000  # characters of an answer that are kept; chains of thought fill logs
PAIRS = (("yes", "no"), ("true", "false"))  # answers of closed questions whose options are not listed


@dataclass(slots=True)
class Said:
    """One row of a log."""

    key: str  # of the question; the same in every variant
    said: str
    truth: tuple[str, ...] = ()  # the right option's text, or each right answer; () is unknown
    question: str = ""
    options: tuple[str, ...] = ()  # their texts, in the order in which they were shown
    at: int | None = None  # the right option's place; some questions list one text twice
    right: bool | None = None  # by the harness
    choice: str | None = None  # as the harness read the answer
    image: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    variants: dict[str, Any] = field(default_factory=dict)  # fields of `Answer`: prompt, picture, context, repeat, ...
    answer: Answer | None = None  # to a question that `bench export` wrote: nothing is left to find out


@dataclass
class Log:
    """The answers of one model to one dataset, as a harness wrote them."""

    harness: str
    dataset: str
    model: str
    files: list[Path]
    rows: list[Said]
    notes: list[str] = field(default_factory=list)
    printed: dict[str, float] = field(default_factory=dict)  # its own score, in percent
    scores: dict[str, float] = field(default_factory=dict)  # the same by its rule from these rows
    expected: int = 0  # rows of the whole dataset; 0 is unknown
    problems: Problems = field(default_factory=lambda: Problems(""))  # lines that could not be read


class Read(NamedTuple):
    """An answer as we read it."""

    choice: str | None  # called the same in every order; None: it names no option, or several
    place: int | None
    right: bool | None
    options: int
    truth: str | None


def read(row: Said) -> Read:
    """The option that a row names. The harness's own verdict counts where it gives one."""
    if (given := row.answer) is not None:
        return Read(given.choice, given.place, given.right, given.options, given.truth)
    closed = len(row.truth) == 1 and not row.options
    named = row.truth[0].lower() if closed else "" if row.truth or row.options else plain(row.said)
    pair = next((pair for pair in PAIRS if named in pair), None)
    if row.options:
        place = option(row.choice if row.choice is not None else row.said, row.options)
        choice, count = None if place is None else row.options[place], len(row.options)
    elif pair:
        place, choice, count = None, one_of(row.choice if row.choice is not None else row.said, pair), 2
    else:
        place, choice, count = None, plain(row.choice if row.choice is not None else row.said) or None, 0
    truth = None
    if len(row.truth) == 1:
        truth = named if pair else row.truth[0] if row.options else plain(row.truth[0])
    right = row.right
    if right is None and row.at is not None and place is not None:
        right = place == row.at
    elif right is None and row.truth:
        known = {plain(truth) for truth in row.truth}
        right = choice is not None and (choice == truth or (not row.options and not pair and choice in known))
    return Read(choice, place, right, count, truth)


@functools.lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """Without case, articles and punctuation."""
    words = re.sub(r"[^\w\s%$-]", "", text.lower()).split()
    return " ".join(word for word in words if word not in {"a", "an", "the"}) or " ".join(words)


def one_of(said: str, pair: tuple[str, str]) -> str | None:
    """Yes or no, true or false: the first word where it is one of them, else the only one that is there."""
    words: list[str] = re.findall(r"[a-z]+", said.lower())
    if words and words[0] in pair:
        return words[0]
    named = {word for word in words if word in pair}
    return named.pop() if len(named) == 1 else None


_ALONE = re.compile(r"[\s(\[*]*([A-J])[\s)\].:,*]*")
_BEFORE = re.compile(r"[(\[*]*([A-J])(?:[)\].:,*]+\s*|\s+)(.*)", re.DOTALL)
_AFTER = re.compile(
    r"(?:answer|option|choice|答案)(?:\s+is|是|为)?\s*[:：]?\s*[(\[*（]*([A-J])(?![a-z'])", re.IGNORECASE
)
_MARKED = re.compile(r"(?:^|\n)\s*[(\[*]*([A-J])[)\].:]")


def option(said: str, options: Sequence[str]) -> int | None:
    """The place of the option that an answer names by its letter or its text; None: none, or several."""
    said = said.strip()
    texts = [choice.strip().lower() for choice in options]
    low = said.lower().rstrip(".")
    if texts.count(low) == 1 and len(low) > 1:
        return texts.index(low)
    match = _ALONE.fullmatch(said)
    if match is None and (begins := _BEFORE.match(said)):
        place, rest = LETTERS.index(begins[1]), begins[2].lower()
        # "A dog" is no option A, unless option A is "dog"; "D. C. ..." names two
        if _MARKED.match(rest.upper()) and not rest.startswith(tuple(texts)):
            return None
        if begins[0][: begins.start(2)].strip() != begins[1] or (place < len(texts) and rest.startswith(texts[place])):
            match = begins
    letters = {match[1]} if match else set(_AFTER.findall(said)) or set(_MARKED.findall(said))
    letters = {letter.upper() for letter in letters if LETTERS.index(letter.upper()) < len(options)}
    if len(letters) == 1:
        return LETTERS.index(letters.pop())
    named = [place for place, text in enumerate(texts) if text and _within(text, low)]
    whole = [place for place in named if not any(texts[place] in texts[other] and other != place for other in named)]
    return whole[0] if len(whole) == 1 and not letters else None


def _within(text: str, said: str) -> bool:
    """As whole words; writing without spaces has none."""
    if not text.isascii():
        return text in said
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", said) is not None


def text_of(value: object) -> str:
    """A cell, whatever a harness put there; a list of one is its element."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return "" if value is None else str(value)


def cut(text: str) -> str:
    return text if len(text) <= MOST_SAID else text[: MOST_SAID // 2] + " ... " + text[-MOST_SAID // 2 :]


def lettered(row: Mapping[str, object]) -> tuple[str, ...]:
    """The options of a sheet with a column for each letter."""
    texts = [text_of(row.get(letter)).strip() for letter in LETTERS]
    return tuple(texts[: next((place for place, text in enumerate(texts) if not text), len(texts))])


_LISTED = re.compile(r"(?:^|\n)\s*\(?([A-J])[).:]\s*(.+?)\s*(?=\n|$)")


def asked(prompt: str) -> tuple[str, tuple[str, ...]]:
    """The question of a prompt, and its options where they are listed as A. B. C."""
    listed = _LISTED.findall(prompt)
    if len(listed) < 2 or "".join(letter for letter, _ in listed) != LETTERS[: len(listed)]:
        return prompt, ()
    first = _LISTED.search(prompt)
    return prompt[: first.start() if first else None].strip(), tuple(text for _, text in listed)


# A log of a benchmark that `bench export` wrote repeats its rows, so that nothing is guessed.


def exported(record: object, text: str, epoch: int = 0) -> Said | None:
    """The row of a log whose `record` is a row of the export; None where it is not."""
    row = row_of(record)
    if row is None:
        return None
    answer = answer_to(row, text, epoch)
    return Said(
        key=row.item, said=cut(text), truth=(row.truth,), question=cut(row.prompt), options=row.names,
        image=next(iter(row.images), None), tags={name: tag for name, tag in row.tags.items() if tag is not None},
        answer=answer.model_copy(update={"said": cut(text)}),
    )  # fmt: skip


def scores_of_export(log: Log) -> dict[str, float]:
    """The metrics of the task file, by its rule, in percent."""
    rows = [(row.key, row.answer) for row in log.rows if row.answer is not None]
    named = (
        (
            {
                "item": key,
                "truth": answer.truth,
                "variant": answer.prompt,
                "about": answer.question,
                **answer.model_dump(),
            },
            answer.choice,
        )
        for key, answer in rows
    )
    return {name: 100 * share for name, share in shares(named).items()}
