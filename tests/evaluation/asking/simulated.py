"""A model that answers with known rates: bias to the first option, refusals, wordiness, flips by wording, noise."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.data.items import ImageRef, Item, texts


@dataclass
class Simulated:
    """Knows the truth of every item, since captions say it: "right ..." and "wrong ..."."""

    right: float = 0.9  # of items that it knows; it answers the others with the wrong text
    first: float = 0.0  # of answers that name the first option, whatever it is
    refuse: float = 0.0
    flip: float = 0.0  # of items whose reworded caption it takes for wrong
    noise: float = 0.0  # of answers that are drawn anew each time
    wordy: bool = False
    seed: int = 0
    asked: int = 0
    card: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.card = {"spec": "simulated", "digest": repr((self.right, self.first, self.flip, self.noise, self.seed))}
        self._random = random.Random(self.seed)

    def _knows(self, *about: object) -> float:
        return random.Random(f"{self.seed} {about}").random()

    def answer(self, images: Sequence[Any], prompts: Sequence[str]) -> list[str]:
        return [self._one(prompt) for prompt in prompts]

    def _one(self, prompt: str) -> str:
        self.asked += 1
        options = re.findall(r"^([A-Z]): (.*)$", prompt, re.MULTILINE)
        draw = self._random.random
        if draw() < self.refuse:
            return "I cannot say."
        if draw() < self.first:
            letter = "A"
        elif draw() < self.noise:
            letter = self._random.choice([letter for letter, _ in options])
        else:
            item = re.search(r"\d+", prompt)
            assert item is not None
            true = next(letter for letter, text in options if text.startswith("right"))
            false = next(letter for letter, text in options if letter != true)
            knows = self._knows("item", item[0]) < self.right
            if "again" in prompt and self._knows("flip", item[0]) < self.flip:
                knows = not knows
            letter = true if knows else false
        text = dict(options)[letter]
        return f"The correct answer is {letter}: {text}." if self.wordy else letter


def items(count: int, positives: int = 1) -> list[Item]:
    return [
        Item(
            id=str(number),
            image=ImageRef(path=f"{number % 20}.png"),
            caption=f"right {number}",
            positives=texts(*(f"right {number} again {place}" for place in range(positives))),
            negatives=texts(f"wrong {number}"),
        )
        for number in range(count)
    ]
