"""Rows of a log that ask the same thing -> one item with several answers, and sentences on what was found.

Rows belong together where their key is the same, and the question, the options and the truth too; questions of several
figures (the variant `question`) may have several truths. Several files of one dataset are compared on what all hold.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

from equipoise.core.errors import UserError
from equipoise.data.readers.records import short
from equipoise.evaluation.answers import Answer
from equipoise.evaluation.scores import ItemScores
from equipoise.published.logs.said import LETTERS, Log, Read, Said, plain, read
from equipoise.published.sheets import PublishedScores

_OF_FILES = ("prompt", "context", "picture")
MOST_KEPT = 400  # characters of a question that a run keeps
Record = TypeVar("Record", ItemScores, Answer)
# A log may have a million rows; each would keep a set of the names of its fields, a third of its memory.
_NAMES = {one: set(one.model_fields) for one in (ItemScores, Answer)}


def items_of(log: Log) -> PublishedScores:
    """The log as items with answers."""
    if not log.rows:
        raise UserError(f"{_names(log)}: no answers in it")
    groups, left_out = _whole(log)
    variants = {name for group in groups for row in group for name in row.variants}
    rows, unread, ids = [], [], Counter[str]()
    for group in groups:
        pairs = [(row, read(row)) for row in group]
        unread += [row for row, answer in pairs if answer.choice is None]
        ids[group[0].key] += 1
        number = ids[group[0].key]
        rows.append(
            ItemScores(
                id=group[0].key
                if group[0].answer
                else f"{log.dataset}/{group[0].key}{f'#{number}' if number > 1 else ''}",
                image=group[0].image,
                tags=_tags(group) | ({"question": group[0].question[:MOST_KEPT]} if group[0].question else {}),
                answers=tuple(map(_light, _answers(pairs))),
            )
        )
        _light(rows[-1])
    notes = [_took(log, rows), *_of_scores(log), *log.notes, *_missing(log, rows)]
    if left_out:
        notes.append(
            f"{left_out:,} questions are not in all files with the same words, options and truth, and are left out"
        )
    notes += _unread(unread, sum(len(row.answers) for row in rows))
    notes += [line for name in _OF_FILES if name in variants for line in _by_variant(rows, name)]
    notes += [*_never_change(rows), *_unshuffled(groups, rows)]
    return PublishedScores(f"{log.harness}: {log.dataset}", rows, notes=notes, model=log.model)


def _light(record: Record) -> Record:
    object.__setattr__(record, "__pydantic_fields_set__", _NAMES[type(record)])
    return record


def _names(log: Log) -> str:
    return " and ".join(str(path) for path in log.files[:3]) + (", ..." if len(log.files) > 3 else "")


def _whole(log: Log) -> tuple[list[list[Said]], int]:
    """The groups, and how many were left out because a file lacks them."""
    by_question: dict[object, list[Said]] = {}
    for row in log.rows:
        asked = hashlib.sha256(plain(row.question).encode()).digest()  # shorter than the question
        same: tuple[object, ...] = () if "question" in row.variants else (asked, row.truth)
        same = () if row.answer is not None else (tuple(sorted(row.options)), *same)
        by_question.setdefault((row.key, *same), []).append(row)
    groups = list(by_question.values())
    files = {_variant(row) for group in groups for row in group}
    kept = [group for group in groups if len({_variant(row) for row in group}) == len(files)]
    if len(files) > 1 and not kept:
        names = ", ".join(" ".join(filter(None, words)) or "plain" for words in sorted(files))
        raise UserError(f"{_names(log)}: no question is in all of {names}; read one file at a time")
    return kept, len({row.key for row in log.rows}) - len({group[0].key for group in kept})


def _variant(row: Said) -> tuple[str, ...]:
    return tuple(str(row.variants.get(name, "")) for name in _OF_FILES)


def _tags(group: Sequence[Said]) -> dict[str, str]:
    """The tags of all rows; a POPE question is in several splits."""
    names = dict.fromkeys(name for row in group for name in row.tags if name != "figure")
    return {name: ",".join(sorted({row.tags[name] for row in group if name in row.tags})) for name in names}


def _answers(pairs: Sequence[tuple[Said, Read]]) -> Iterator[Answer]:
    first = pairs[0][0].options
    orders = {_order(row, first) for row, _ in pairs}
    seen: Counter[object] = Counter()
    # Where each variant has an order of its own, the two cannot be told apart: the order is then part of the variant.
    mixed = len({_variant(row) for row, _ in pairs}) > 1
    for row, answer in pairs:
        if row.answer is not None:
            yield row.answer
            continue
        order = "" if mixed or len(orders) == 1 else _order(row, first)
        key = (tuple(sorted(row.variants.items())), order)
        fields = {"repeat": seen[key], **row.variants}
        seen[key] += 1
        yield Answer(
            right=answer.right, choice=answer.choice, place=answer.place, order=order, said=row.said,
            options=answer.options, truth=answer.truth, **fields,
        )  # fmt: skip


def _order(row: Said, first: Sequence[str]) -> str:
    """CDAB: which options of the first row stand in its places."""
    return "".join(LETTERS[first.index(text)] if text in first else "?" for text in row.options)


def _took(log: Log, rows: Sequence[ItemScores]) -> str:
    answers = [answer for row in rows for answer in row.answers]
    words = [f"{log.harness}, {log.dataset}: {len(log.rows):,} rows are {len(rows):,} questions"]
    figures = "figures" if log.rows[0].answer is None else "wrong texts"
    for name, called in (
        ("order", "orders of the options"), ("wording", "wordings"), ("question", figures), ("prompt", "prompts"),
        ("context", "contexts"),
        ("picture", "pictures"), ("repeat", "repeats"),
    ):  # fmt: skip
        most = max(len({getattr(answer, name) for answer in row.answers}) for row in rows)
        words += [f"in up to {most} {called}"] if most > 1 else []
    options = sorted({answer.options for answer in answers})
    shown = f"{options[0]}" if len(options) == 1 else f"{options[0]} to {options[-1]}"
    return ", ".join(words) + (f"; {shown} options" if options[-1] else "; open answers")


def _of_scores(log: Log) -> Iterator[str]:
    """The harness's own score next to the same by its rule from these rows."""
    for name, value in log.scores.items():
        if (own := log.printed.get(name)) is None:
            yield f"by {log.harness}'s rule: {name} {value:.2f}"
        elif abs(own - value) < 0.005:
            yield f"{log.harness} prints {name} {own:.2f}; the rows give the same"
        else:
            yield (
                f"{log.harness} prints {name} {own:.2f}; the rows give {value:.2f}: its parser, its judge, or the rows "
                "that it counts differ from ours"
            )
    others = [f"{name} {value:.2f}" for name, value in log.printed.items() if name not in log.scores]
    if others and not log.scores.keys() & log.printed.keys():
        yield f"{log.harness} prints {', '.join(others[:4])}: not a share of right rows, so not recomputed"


def _missing(log: Log, rows: Sequence[ItemScores]) -> Iterator[str]:
    if log.expected and len(log.rows) < log.expected:
        yield f"not all of {log.dataset} is here: {len(log.rows):,} of {log.expected:,} rows"
    orders = [len({answer.order for answer in row.answers}) for row in rows]
    if max(orders) > 1 and log.rows[0].answer is None:
        few = sum(count < max(1, row.answers[0].options) for count, row in zip(orders, rows, strict=True))
        if few:
            yield f"{few:,} of {len(rows):,} questions lack some rotations of their options"


def _unread(rows: Sequence[Said], answers: int) -> list[str]:
    if not rows:
        return []
    shown = ", ".join(short(row.said) for row in rows[:3])
    return [f"{len(rows):,} of {answers:,} answers name none of the options, or several: {shown}"]


def _by_variant(rows: Sequence[ItemScores], name: str) -> Iterator[str]:
    by_value: dict[str, list[bool]] = {}
    for row in rows:
        for answer in row.answers:
            by_value.setdefault(getattr(answer, name), []).append(bool(answer.right))
    for value, right in by_value.items():
        yield f"accuracy, {name} {value or 'plain'}: {sum(right) / len(right):.1%}"


def _never_change(rows: Sequence[ItemScores]) -> list[str]:
    choices = Counter(answer.choice for row in rows for answer in row.answers if answer.options == 2)
    if len(choices) != 1 or sum(choices.values()) < 2:
        return []
    return [f"every answer is {next(iter(choices))!r}: the model says nothing else"]


def _unshuffled(groups: Sequence[Sequence[Said]], rows: Sequence[ItemScores]) -> list[str]:
    asked = sum(len({row.options for row in group}) > 1 for group in groups)
    ordered = any(answer.order for row in rows for answer in row.answers)
    if not asked or ordered:
        return []
    return [f"in {asked:,} questions the options also change places between files: those flips are in the number too"]
