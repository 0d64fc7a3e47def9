"""The questions that are asked about an item, in every variant that `--ask` names.

Wordings and orders are combined, since Augmented accuracy and Brittleness compare them. Other prompts and repeats are
asked of the first wording in one order alone, which costs one more request each. That order differs between items, so
that a preference for the first option is no advantage.
"""

from __future__ import annotations

import functools
import tomllib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

from equipoise.core.errors import UserError, did_you_mean
from equipoise.data.items import Item
from equipoise.data.readers.questions import LETTERS, YES_NO

DEFAULT = "wordings,orders"
_MOST = {"wordings": 1, "orders": len(LETTERS), "prompts": 5, "repeats": 100}  # the largest number of each
_USUAL = {"wordings": 1, "orders": 2, "prompts": 5, "repeats": 2}


@dataclass(frozen=True)
class Ask:
    """Which variants are asked."""

    wordings: bool = True
    orders: int = 2
    prompts: int = 1
    repeats: int = 1
    template: str | None = None  # of the user's own, in place of the first prompt

    def words(self) -> str:
        """As `--ask` takes it."""
        parts = ["wordings"] * self.wordings
        for name in ("orders", "prompts", "repeats"):
            count = getattr(self, name)
            parts += [] if count == 1 else [name if count == _USUAL[name] else f"{name}:{count}"]
        return ",".join(parts) or "once"


def parse_ask(text: str, template: str | None = None) -> Ask:
    """`wordings,orders,prompts:5,repeats:2`; `once` asks every question once."""
    if template is not None and "{options}" not in template and "{question}" not in template:
        raise UserError(f"template={template!r}: expected {{question}} or {{options}} in it, which are filled in")
    counts: dict[str, int] = {}
    for part in [] if text.strip() == "once" else filter(None, map(str.strip, text.split(","))):
        name, colon, count = part.partition(":")
        if name not in _MOST:
            raise UserError(f"--ask {part}: expected {', '.join(_MOST)} or once.{did_you_mean(name, _MOST)}")
        if colon and not (count.isdecimal() and 1 <= int(count) <= _MOST[name]):
            raise UserError(f"--ask {part}: expected a number from 1 to {_MOST[name]} after {name}:")
        counts[name] = int(count) if colon else _USUAL[name]
    several = {name: counts.get(name, 1) for name in ("orders", "prompts", "repeats")}
    return Ask("wordings" in counts, template=template, **several)


class Asked(NamedTuple):
    """One request: what is asked, and what each option is called in every variant."""

    prompt: str
    options: tuple[str, ...]  # as they are shown, in this order
    names: tuple[str, ...]  # what each is called, whatever its wording and place
    truth: str
    lettered: bool  # False: yes or no
    question: str
    wording: str
    variant: str  # of the prompt
    order: str
    repeat: int
    usual: bool  # in the order in which other prompts and repeats are asked

    @property
    def kind(self) -> str:
        """The kind of this request on a bill: the question itself, or one of its variants."""
        if self.repeat:
            return "repeats"
        if self.variant != "0":
            return "other prompts"
        return (
            "other wordings"
            if self.wording not in ("", "caption")
            else "other orders"
            if self.order != "0"
            else "questions"
        )


@functools.cache
def _prompts() -> dict[str, tuple[str, ...]]:
    text = resources.files(__package__).joinpath("data", "prompts.toml").read_text(encoding="utf-8")
    return {kind: tuple(prompts) for kind, prompts in tomllib.loads(text).items()}


def questions(item: Item, ask: Ask) -> Iterator[Asked]:
    """Every request about an item, the first one as it is usually asked."""
    if item.question is None:
        return _of_captions(item, ask)
    return _of_question(item, ask)


def _of_captions(item: Item, ask: Ask) -> Iterator[Asked]:
    """Each right text against each negative."""
    right = {"caption": item.caption}
    right |= {f"positive {place}": text.text for place, text in enumerate(item.positives)} if ask.wordings else {}
    for number, negative in enumerate(item.negatives):
        names = ("right", f"negative {number}")
        for wording, text in right.items():
            yield from _asked("captions", item.id, "", (text, negative.text), names, ask, names[1], wording)


def _of_question(item: Item, ask: Ask) -> Iterator[Asked]:
    options = item.options()
    kind = "yes_no" if sorted(map(str.lower, options)) == sorted(YES_NO) else "options"
    names = tuple(map(str.lower, options)) if kind == "yes_no" else tuple(options)
    texts = [item.question or "", *(item.rewordings if ask.wordings else ())]
    for number, text in enumerate(texts):
        wording = f"rewording {number}" if number else "caption"
        yield from _asked(kind, item.id, text, tuple(options), names, ask, "", wording, item.place)


def _asked(
    kind: str, id_: str, question: str, options: tuple[str, ...], names: tuple[str, ...], ask: Ask, about: str,
    wording: str, truth: int = 0,
) -> Iterator[Asked]:  # fmt: skip
    prompts = _prompts()[kind][: ask.prompts]
    if ask.template is not None:
        prompts = (ask.template, *prompts[1:])
    orders = 1 if kind == "yes_no" else min(ask.orders, len(options))
    usual = zlib.crc32(id_.encode()) % orders
    base = wording == "caption"
    for variant, template in enumerate(prompts if base else prompts[:1]):
        for order in sorted(range(orders), key=lambda order: order != usual) if variant == 0 else [usual]:
            turned = _turned(options, order)
            text = _filled(template, question, turned)
            first = base and variant == 0 and order == usual
            for repeat in range(ask.repeats if first else 1):
                yield Asked(
                    text, turned, _turned(names, order), names[truth], kind != "yes_no", about, wording, str(variant),
                    str(order), repeat, order == usual,
                )  # fmt: skip


def _turned(values: tuple[str, ...], by: int) -> tuple[str, ...]:
    """The options moved on by so many places: two of them change places."""
    return (*values[by:], *values[:by])


def _filled(template: str, question: str, options: Sequence[str]) -> str:
    listed = "\n".join(f"{letter}: {text}" for letter, text in zip(LETTERS, options, strict=False))
    return template.replace("{question}", question).replace("{options}", listed)
