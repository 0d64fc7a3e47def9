"""`served:MODEL@URL`: any vision model behind an OpenAI-compatible server.

It answers questions (evaluation/asking keeps every answer, so a killed run asks nothing twice). With `?ask=yes`, and a
server that gives log-probabilities, it scores pairs by the probability of "yes" to VQAScore's question instead. The key
comes only from the environment.
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

from equipoise.core.answer_store import KeptAnswer
from equipoise.core.errors import UserError
from equipoise.core.files import sha256_json
from equipoise.core.llm_client import Llm, LlmSettings, answer_of
from equipoise.data.images import encoded
from equipoise.models.base import MOST_TOKENS, QUESTION, split_options

log = logging.getLogger(__name__)

TOP = 20  # likeliest tokens that are asked for, the most that OpenAI gives
_LIKELY: dict[str, object] = {"logprobs": True, "top_logprobs": TOP}
QUALITY = 95  # of the JPEG that is sent
UNCLEAR = 20  # answers that are neither yes nor no before any is: it is not the texts
_NUMBERS = {"budget": int, "concurrency": int, "tries": int, "rpm": int, "tpm": int, "timeout": float, "tokens": int}
_OPTIONS = ("ask", "key", "template", "temperature", *_NUMBERS)
_FORM = "served:MODEL@URL, for instance served:gpt-4o@https://api.openai.com/v1?budget=20000"
Request = TypeVar("Request")


class Served:
    """The base of both ways of asking: the client and the model's card."""

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
        """Keep every answer, and the count of requests, in a folder that evaluation chooses."""
        if self._settings.cache != str(folder):
            before = self._client.spent()
            self._settings = replace(self._settings, cache=str(folder))
            self._client = Llm(self._settings)
            self._client.spend(before)  # requests before the folder was known

    def answered(self) -> tuple[int, int]:
        return self._client.answered()

    def _ask(self, picture: bytes, prompt: str, keep: Callable[[KeptAnswer], bool], **options: object) -> KeptAnswer:
        """One answer, kept or from the server; log-probabilities are kept as JSON, text as text."""
        about = {"jpeg": hashlib.sha256(picture).hexdigest(), "prompt": prompt, **options}
        return self._client.kept_or_asked(about, lambda: self._asked(picture, prompt, options), keep)

    def _asked(self, picture: bytes, prompt: str, options: dict[str, object]) -> KeptAnswer:
        choice = self._client.complete(messages([picture], prompt), 1, **options)
        return KeptAnswer("", "refused") if choice is None else KeptAnswer(json.dumps(_first_token(choice)), "logprobs")

    def _many(self, ask: Callable[[Request], float | None], requests: Sequence[Request]) -> list[float | None]:
        """Answers in order; at the first error no new request is begun, and those on their way are kept."""
        pool = ThreadPoolExecutor(self._settings.concurrency)
        try:
            return list(pool.map(ask, requests))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class ServedYes(Served):
    """P(yes) / (P(yes) + P(no)) of the first token, by the log-probabilities that the server gives."""

    def __init__(self, spec: str, settings: LlmSettings, template: str = QUESTION) -> None:
        if template.count("{}") != 1:
            raise UserError(f"{spec}: template={template!r}: expected one {{}} for the caption")
        super().__init__(spec, settings, "yes", template)
        self._template = template
        self._lock = threading.Lock()
        self._clear = self._unclear = 0

    def greet(self) -> KeptAnswer:
        """Ask about a red square: a test of the server, the key, pictures and log-probabilities."""
        return self._asked(_encoded(_PICTURE), self._template.replace("{}", "a red square"), _LIKELY)

    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> NDArray[np.float64]:
        values = self._many(self._score, list(zip(_pictures(images), texts, strict=True)))
        return np.array([0.5 if value is None else value for value in values], dtype=np.float64)

    def _score(self, pair: tuple[bytes, str]) -> float | None:
        picture, text = pair
        answer = self._ask(picture, self._template.replace("{}", text), _has_tokens, **_LIKELY)
        tokens: list[tuple[str, float]] = json.loads(answer.text) if answer.finish == "logprobs" else []
        value = yes_of(tokens)
        with self._lock:
            self._clear, self._unclear = self._clear + (value is not None), self._unclear + (value is None)
            if value is None and not self._clear and self._unclear >= UNCLEAR:
                likely = ", ".join(repr(token) for token, _ in sorted(tokens, key=lambda entry: -entry[1])[:5])
                raise UserError(
                    f"{self._settings.shown}: {self._settings.model} answers neither yes nor no: none of the {TOP} "
                    f"likeliest tokens of the first {UNCLEAR} answers is either (the last: {likely or 'none'}). "
                    "Leave out ?ask=yes, and it answers questions"
                )
            if value is None and self._unclear == 1:
                what = "refused" if answer.finish == "refused" else "neither yes nor no"
                log.warning("%s: %s: %r; such pairs score 0.5", self._settings.shown, what, text[:60])
        return value


class ServedAnswers(Served):
    """The server's answers, word for word."""

    def __init__(self, spec: str, settings: LlmSettings, template: str | None) -> None:
        super().__init__(spec, settings, "answers", template or "")
        self.concurrency, self.ask_template = settings.concurrency, template
        self._jpegs: dict[int, tuple[Image.Image, bytes]] = {}
        self._lock = threading.Lock()

    def answer(self, images: Sequence[Image.Image | list[Image.Image]], prompts: Sequence[str]) -> list[str | None]:
        """One text for each prompt about an image, or about a list of images; None if the server refused."""
        return [self._said(shown, prompt) for shown, prompt in zip(images, prompts, strict=True)]

    def _said(self, shown: Image.Image | list[Image.Image], prompt: str) -> str | None:
        images = shown if isinstance(shown, list) else [shown]
        choice = self._client.complete(self._messages(images, prompt), self._settings.max_tokens or MOST_TOKENS)
        return None if choice is None else answer_of(choice).text

    def request_body(self, images: Sequence[Image.Image], prompt: str) -> dict[str, object]:
        """The body of a request, for the files of a batch."""
        return self._client.body(self._messages(images, prompt), self._settings.max_tokens or MOST_TOKENS)

    def _messages(self, images: Sequence[Image.Image], prompt: str) -> list[dict[str, object]]:
        return messages([self._jpeg(image) for image in images], prompt)

    def _jpeg(self, image: Image.Image) -> bytes:
        """The JPEG, encoded once for all questions; the image is kept too, since its id could become another's."""
        with self._lock:
            kept, raw = self._jpegs.get(id(image), (None, b""))
            if kept is not image:
                raw = _encoded(image)
                self._jpegs[id(image)] = image, raw
                while len(self._jpegs) > 2 * self.concurrency:
                    del self._jpegs[next(iter(self._jpegs))]
        return raw


def messages(pictures: Sequence[bytes], prompt: str) -> list[dict[str, object]]:
    """A request's messages. Pictures come first, so that a server's prefix cache serves all questions about a photo."""
    urls = ["data:image/jpeg;base64," + base64.b64encode(picture).decode() for picture in pictures]
    shown: list[dict[str, object]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return [{"role": "user", "content": [*shown, {"type": "text", "text": prompt}]}]


def load_served(rest: str, *, spec: str, **unused: str) -> Served:
    """A model that answers, without a request; with ?ask=yes one question shows whether it gives log-probabilities."""
    settings, options = _settings(rest)
    if options.get("ask") != "yes":
        return ServedAnswers(spec, settings, options.get("template"))
    model = ServedYes(spec, settings, options.get("template", QUESTION))
    if not _has_tokens(model.greet()):
        raise UserError(
            f"{settings.shown}: {settings.model} gives no log-probabilities, which ?ask=yes needs; leave it out, and "
            "it answers questions"
        )
    return model


_PICTURE = Image.new("RGB", (64, 64), (255, 0, 0))


def _settings(rest: str) -> tuple[LlmSettings, dict[str, str]]:
    """Settings and options of a spec. It may hold a key by mistake, in any option, so no error shows them."""
    match = re.fullmatch(r"(.+?)@(https?://[^?#]+)(?:\?.*)?", rest)
    if match is None:
        raise UserError(f"model served:...: expected {_FORM}")
    name, url = match.groups()
    spec = f"model served:{name}@{url}"
    if "@" in url:
        raise UserError(
            "model served:...: a password in the address would be kept in every result; put a key into $OPENAI_API_KEY"
        )
    _, options = split_options(rest, spec, dict.fromkeys(_OPTIONS, ()) | {"ask": ("yes", "answers")})
    numbers: dict[str, Any] = {}
    for option, kind in _NUMBERS.items():
        if option in options:
            try:
                numbers[option] = kind(options[option])
            except ValueError:
                numbers[option] = 0
            if not numbers[option] > 0 or not math.isfinite(numbers[option]):
                raise UserError(f"{spec}: {option}: expected a number above 0")
    if "tokens" in numbers:
        numbers["max_tokens"] = numbers.pop("tokens")
    try:
        heat = float(options.get("temperature", 0))
    except ValueError:
        raise UserError(f"{spec}: temperature: expected a number") from None
    key = options.get("key") or "OPENAI_API_KEY"
    return LlmSettings(url, name, key_variable=key, temperature=heat, **numbers), options


def _pictures(images: Sequence[Image.Image]) -> list[bytes]:
    """The JPEG of each image; an image with several texts is encoded once."""
    distinct = {id(image): image for image in images}
    jpegs = {key: _encoded(image) for key, image in distinct.items()}
    return [jpegs[id(image)] for image in images]


def _encoded(image: Image.Image) -> bytes:
    return encoded(image.convert("RGB"), "JPEG", quality=QUALITY)


def _first_token(choice: dict[str, Any]) -> list[tuple[str, float]]:
    """(token, log-probability) of the likeliest first tokens; empty if the server gave none."""
    try:
        first = choice["logprobs"]["content"][0]
        listed = first.get("top_logprobs") or [first]
        tokens = [(str(entry["token"]), float(entry["logprob"])) for entry in listed]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return []
    return [(token, value) for token, value in tokens if not math.isnan(value)]


def _has_tokens(answer: KeptAnswer) -> bool:
    return answer.finish == "logprobs" and answer.text != "[]"


def yes_of(tokens: Sequence[tuple[str, float]]) -> float | None:
    """P(yes) / (P(yes) + P(no)), each summed over its spellings; None if neither is among the tokens."""
    shares = {"yes": 0.0, "no": 0.0}
    for token, value in tokens:
        word = token.replace("\u0120", " ").replace("\u2581", " ").strip(" \n\t.,!\"'").lower()
        if word in shares:
            shares[word] += math.exp(min(0.0, value))
    total = math.fsum(shares.values())
    return shares["yes"] / total if total > 0 else None
