"""Predicts the cost of a run: requests by kind, pictures, tokens and money. Nothing is asked."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.core.errors import UserError
from equipoise.data.items import Item
from equipoise.evaluation.asking.variants import Ask, questions

PICTURE = 765  # tokens of a photo of 640 x 480 pixels, as OpenAI counts them
LETTERS = 4  # characters a token, about
ANSWER = 5  # tokens of an answer that is a letter


@dataclass(frozen=True)
class Plan:
    requests: dict[str, int]  # by kind
    pictures: int  # distinct ones
    sent: int  # pictures in all requests
    tokens: int  # in, about
    answers: int  # tokens out, about

    @property
    def total(self) -> int:
        return sum(self.requests.values())

    def cost(self, price: tuple[float, float]) -> float:
        return (self.tokens * price[0] + self.answers * price[1]) / 1e6

    def lines(self, price: tuple[float, float] | None) -> list[str]:
        by_kind = ", ".join(f"{count:,} {kind}" for kind, count in self.requests.items())
        lines = [f"{self.total:,} requests: {by_kind}"]
        lines.append(
            f"{self.pictures:,} pictures, sent {self.sent:,} times; about {self.tokens:,} tokens in ({PICTURE} a "
            f"picture) and {self.answers:,} out"
        )
        if price is not None:
            lines.append(f"about ${self.cost(price):,.2f} at ${price[0]:g} and ${price[1]:g} a million tokens")
        return lines

    def to_json(self, price: tuple[float, float] | None) -> str:
        about = {"requests": self.requests, "total": self.total, "pictures": self.pictures, "tokens_in": self.tokens}
        money = {} if price is None else {"dollars": round(self.cost(price), 2)}
        return json.dumps(about | {"tokens_out": self.answers} | money, indent=2)


def plan(items: Sequence[Item], ask: Ask, checks: int = 0) -> Plan:
    """All requests of a run in which nothing fails and nothing was answered before; `checks` come before it."""
    kinds: Counter[str] = Counter({"checks of the model": checks} if checks else {})
    pictures = set()
    characters = sent = 0
    for item in items:
        pictures |= set(item.shown())
        for asked in questions(item, ask):
            kinds[asked.kind] += 1
            sent += len(item.shown())
            characters += len(asked.prompt)
    total, order = kinds.total(), ["checks of the model", "questions"]
    by_kind = dict(sorted(kinds.items(), key=lambda kind: order.index(kind[0]) if kind[0] in order else len(order)))
    tokens = math.ceil(characters / LETTERS) + PICTURE * sent
    return Plan(by_kind, len(pictures), sent + checks, tokens + checks * PICTURE, ANSWER * total)


def parse_price(text: str | None) -> tuple[float, float] | None:
    """`--price 2.5,10`: dollars for a million tokens in and out."""
    if text is None:
        return None
    try:
        price = [float(part) for part in text.split(",")]
    except ValueError:
        price = []
    if len(price) != 2 or not all(0 <= dollars < math.inf for dollars in price):
        raise UserError(f"--price {text}: expected dollars for a million tokens in and out, as in --price 2.5,10")
    return price[0], price[1]
