"""`served:MODEL@URL`: any vision model behind an OpenAI-compatible server as a scorer.

If the server gives log-probabilities, a pair is scored by the probability of "yes" to VQAScore's question. If not,
there is no score for a pair, and the model chooses between two texts, once in each order: a choice that depends on the
order is position bias, counts as a tie and is reported. Each answer is cached at once under server, model, prompt and
picture, so a killed run asks nothing twice. The key comes only from the environment.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import math
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.core.files import sha256_json
from equipoise.core.llm_client import Answer, Llm, LlmSettings, answer_of
from equipoise.data.images import encoded
from equipoise.models.base import split_options

log = logging.getLogger(__name__)

QUESTION = 'Does this figure show "{}"? Please answer yes or no.'  # VQAScore's own
CHOICE = "Which caption describes this image? Answer with the letter alone.\nA: {}\nB: {}\nAnswer:"
TOP = 20  # likeliest tokens that are asked for, the most that OpenAI gives
QUALITY = 95  # of the JPEG that is sent
UNCLEAR = 20  # answers that are neither yes nor no before any is: it is not the texts
_LETTER = re.compile(r"^\W*(?:(?:the )?(?:answer|caption|option)\b\W*(?:is\b\W*)?)?([AB])\b", re.IGNORECASE)
_OPTIONS = ("ask", "key", "budget", "concurrency", "timeout", "tries")
_FORM = "served:MODEL@URL, for instance served:gpt-4o@https://api.openai.com/v1?budget=20000"
_COUNTED = ("choices", "choices_first", "choices_unclear", "duels", "duels_by_position")
Asked = TypeVar("Asked")


class Served:
    """What both ways of asking share: the client, the pictures, cached answers, parallel requests."""

    device = "server"

    def __init__(self, spec: str, settings: LlmSettings, ask: str, prompt: str) -> None:
        self._settings = settings
        self._client = Llm(settings)
        self.default_batch = 64 * settings.concurrency  # a batch waits for its slowest answer, so it is a long one
        identity = settings.identity() | {"prompt": prompt, "ask": ask, "jpeg": QUALITY}
        self.card: dict[str, Any] = {
            "spec": spec,
            "digest": sha256_json(identity),
            "served_model": settings.model,  # its weights are the server's secret, and may change under this name
            "ask": ask,
            "template": prompt,
            "dtype": "float32",  # so that the batch size, which no server sees, is no part of a run
        }

    def keep_in(self, folder: Path) -> None:
        """Keep every answer, and the count of requests, in a folder: evaluation says which."""
        if self._settings.cache != str(folder):
            before = self._client.spent()
            self._settings = replace(self._settings, cache=str(folder))
            self._client = Llm(self._settings)
            self._client.spend(before)  # requests before the folder was known

    def answered(self) -> tuple[int, int]:
        return self._client.answered()

    def greet(self, prompt: str, **more: Any) -> Answer:
        """A question about a red square: is the server there, does it take the key, and a picture?"""
        return self._asked(_encoded(_PICTURE), prompt, more)

    def _ask(self, picture: bytes, prompt: str, keep: Callable[[Answer], bool], **more: Any) -> Answer:
        """One answer, from what was kept or from the server; log-probabilities are kept as JSON, text as text."""
        about = {"jpeg": hashlib.sha256(picture).hexdigest(), "prompt": prompt, **more}
        return self._client.kept_or_asked(about, lambda: self._asked(picture, prompt, more), keep)

    def _asked(self, picture: bytes, prompt: str, more: dict[str, Any]) -> Answer:
        url = "data:image/jpeg;base64," + base64.b64encode(picture).decode()
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": prompt}]
        choice = self._client.complete([{"role": "user", "content": content}], 1 if more else 8, **more)
        if choice is None:
            return Answer("", "refused")
        if more:
            return Answer(json.dumps(_first_token(choice)), "logprobs")
        return answer_of(choice)

    def _many(self, ask: Callable[[Asked], float | None], asked: Sequence[Asked]) -> list[float | None]:
        """Answers in order; at the first error no new request is begun, and those on their way are kept."""
        pool = ThreadPoolExecutor(self._settings.concurrency)
        try:
            return list(pool.map(ask, asked))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class ServedYes(Served):
    """P(yes) / (P(yes) + P(no)) of the first token, by the log-probabilities that the server gives."""

    def __init__(self, spec: str, settings: LlmSettings) -> None:
        super().__init__(spec, settings, "yes", QUESTION)
        self._lock = threading.Lock()
        self._clear = self._unclear = 0

    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> NDArray[Any]:
        values = self._many(self._score, list(zip(_pictures(images), texts, strict=True)))
        return np.array([0.5 if value is None else value for value in values], dtype=np.float64)

    def _score(self, pair: tuple[bytes, str]) -> float | None:
        picture, text = pair
        answer = self._ask(picture, QUESTION.format(text), _has_tokens, logprobs=True, top_logprobs=TOP)
        tokens: list[tuple[str, float]] = json.loads(answer.text) if answer.finish == "logprobs" else []
        value = yes_of(tokens)
        with self._lock:
            self._clear, self._unclear = self._clear + (value is not None), self._unclear + (value is None)
            if value is None and not self._clear and self._unclear >= UNCLEAR:
                likely = ", ".join(repr(token) for token, _ in sorted(tokens, key=lambda one: -one[1])[:5])
                raise UserError(
                    f"{self._settings.shown}: {self._settings.model} answers neither yes nor no: none of the {TOP} "
                    f"likeliest tokens of the first {UNCLEAR} answers is either (the last: {likely or 'none'}). "
                    "Make it choose between texts with ?ask=choice"
                )
            if value is None and self._unclear == 1:
                what = "refused" if answer.finish == "refused" else "neither yes nor no"
                log.warning("%s: %s: %r; such pairs score 0.5", self._settings.shown, what, text[:60])
        return value


class ServedChoice(Served):
    """Which of two texts describes the image, asked in both orders."""

    def __init__(self, spec: str, settings: LlmSettings) -> None:
        super().__init__(spec, settings, "choice", CHOICE)
        self.counts: dict[str, int] = {}
        self._last = ""

    def prefer(self, images: Sequence[Image.Image], firsts: Sequence[str], seconds: Sequence[str]) -> list[float]:
        """1 where the first text is chosen in both orders, 0 where the second is, 0.5 where it depends on the order."""
        orders = [
            (picture, *texts)
            for picture, one, other in zip(_pictures(images), firsts, seconds, strict=True)
            for texts in ((one, other), (other, one))
        ]
        chosen = self._many(self._choose, orders)
        counts = dict.fromkeys(_COUNTED, 0) | self.counts
        shares = []
        for first, second in zip(chosen[::2], chosen[1::2], strict=True):  # each 1: its own first text
            for one in (first, second):
                counts["choices"] += 1
                counts["choices_first"] += one == 1.0
                counts["choices_unclear"] += one is None
            counts["duels"] += 1
            counts["duels_by_position"] += first is not None and first == second
            shares.append(((0.5 if first is None else first) + (0.5 if second is None else 1 - second)) / 2)
        self.counts = counts
        if counts["choices"] == counts["choices_unclear"] >= UNCLEAR:
            raise UserError(
                f"{self._settings.shown}: {self._settings.model} answers neither A nor B: none of its first "
                f"{counts['choices']} answers is either (the last: {self._last[:60]!r}), so it makes no choice"
            )
        return shares

    def _choose(self, asked: tuple[bytes, str, str]) -> float | None:
        picture, first, second = asked
        answer = self._ask(picture, CHOICE.format(first, second), lambda one: _letter(one) is not None)
        letter, self._last = _letter(answer), answer.text
        return None if letter is None else float(letter == "A")


def load_served(rest: str, *, spec: str, **unused: str) -> Served:
    """Ask the server one question: whether it is there, takes the key and a picture, and gives log-probabilities."""
    settings, ask = _settings(rest)
    if ask == "choice":
        return _greeted(ServedChoice(spec, settings))
    model = ServedYes(spec, settings)
    if _has_tokens(model.greet(QUESTION.format("a red square"), logprobs=True, top_logprobs=TOP)):
        return model
    if ask == "yes":
        raise UserError(
            f"{settings.shown}: {settings.model} gives no log-probabilities, which ?ask=yes needs; leave it out, and "
            "it chooses between two texts"
        )
    log.warning("%s gives no log-probabilities, so it chooses between two texts, in both orders", settings.shown)
    return _greeted(ServedChoice(spec, settings))


def _greeted(model: ServedChoice) -> ServedChoice:
    if model.greet(CHOICE.format("a red square", "a blue circle")).finish == "refused":
        raise UserError(f"{model._settings.shown}: {model._settings.model} refuses a picture; is it a vision model?")
    return model


_PICTURE = Image.new("RGB", (64, 64), (255, 0, 0))


def _settings(rest: str) -> tuple[LlmSettings, str | None]:
    """A spec may hold a key by mistake, in an option of any name, so no error here shows its options."""
    found = re.fullmatch(r"(.+?)@(https?://[^?#]+)(?:\?.*)?", rest)
    if found is None:
        raise UserError(f"model served:...: expected {_FORM}")
    name, url = found.groups()
    spec = f"model served:{name}@{url}"
    if "@" in url:
        raise UserError(
            "model served:...: a password in the address would be kept in every result; put a key into $OPENAI_API_KEY"
        )
    _, options = split_options(rest, spec, dict.fromkeys(_OPTIONS, ()) | {"ask": ("yes", "choice")})
    numbers: dict[str, Any] = {}
    for option, kind in (("budget", int), ("concurrency", int), ("tries", int), ("timeout", float)):
        if option in options:
            try:
                numbers[option] = kind(options[option])
            except ValueError:
                numbers[option] = 0
            if not numbers[option] > 0 or not math.isfinite(numbers[option]):
                raise UserError(f"{spec}: {option}: expected a number above 0")
    return LlmSettings(url, name, key_variable=options.get("key") or "OPENAI_API_KEY", **numbers), options.get("ask")


def _pictures(images: Sequence[Image.Image]) -> list[bytes]:
    """What is sent of each image; one with several texts is encoded once."""
    distinct = {id(image): image for image in images}
    found = {key: _encoded(image) for key, image in distinct.items()}
    return [found[id(image)] for image in images]


def _encoded(image: Image.Image) -> bytes:
    return encoded(image.convert("RGB"), "JPEG", quality=QUALITY)


def _first_token(choice: dict[str, Any]) -> list[tuple[str, float]]:
    """(token, log-probability) of the likeliest first tokens; none where the server gave none."""
    try:
        first = choice["logprobs"]["content"][0]
        listed = first.get("top_logprobs") or [first]
        found = [(str(one["token"]), float(one["logprob"])) for one in listed]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return []
    return [(token, value) for token, value in found if not math.isnan(value)]


def _has_tokens(answer: Answer) -> bool:
    return answer.finish == "logprobs" and answer.text != "[]"


def yes_of(tokens: Sequence[tuple[str, float]]) -> float | None:
    """P(yes) / (P(yes) + P(no)), each summed over its spellings; None where neither is among the tokens."""
    shares = {"yes": 0.0, "no": 0.0}
    for token, value in tokens:
        word = token.replace("\u0120", " ").replace("\u2581", " ").strip(" \n\t.,!\"'").lower()
        if word in shares:
            shares[word] += math.exp(min(0.0, value))
    total = math.fsum(shares.values())
    return shares["yes"] / total if total > 0 else None


def _letter(answer: Answer) -> str | None:
    found = _LETTER.match(answer.text)
    return found[1].upper() if found and answer.finish != "refused" else None
