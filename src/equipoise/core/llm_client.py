"""A client for language models behind an OpenAI-compatible server (vLLM, llama.cpp, Ollama and others).

Decoding is deterministic by default. Answers are cached on disk by server, model, prompt and decoding, so a stopped or
repeated run asks nothing twice. Temporary errors (429, 5xx, time-outs, broken JSON) are retried with growing pauses.
Other errors end the run, because a result that depends on them could not be reproduced. The server is not contacted
before the first `ask`.
"""

from __future__ import annotations

import base64
import functools
import json
import logging
import os
import random
import re
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.core.answer_store import AnswerStore, KeptAnswer
from equipoise.core.errors import UserError

if TYPE_CHECKING:
    from urllib.request import Request

_LONGEST_PAUSE = 60.0
_MOST_SHOWN = 300  # characters of a server's message
_THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})
_REFUSALS = 20  # if so many are refused before any is answered, the settings are wrong
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


def check_key_name(name: str) -> None:
    """Refuse what is not the name of a variable. It may be the key itself, so it is not shown."""
    known = name == "OPENAI_API_KEY" or name in os.environ  # a server without keys needs none
    if not (known and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)):
        raise UserError(
            "key: expected the name of an environment variable that is set, as in OPENAI_API_KEY, not the key itself: "
            "export MY_KEY=..., then name MY_KEY"
        )


@dataclass(frozen=True)
class LlmSettings:
    url: str  # base address, as in http://127.0.0.1:8000/v1; user:password@ in it is never shown
    model: str
    key_variable: str = "OPENAI_API_KEY"  # name of the environment variable; the key itself is never stored
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int | None = None  # None: as in the paper of each prompt
    concurrency: int = 16
    timeout: float = 120.0
    tries: int = 6
    pause: float = 1.0  # seconds before the second try; doubles each time
    cache: str | None = None  # folder; None: in memory
    budget: int | None = None  # requests to this model at this address, over all tries and runs with this cache
    rpm: int | None = None  # requests a minute, at most
    tpm: int | None = None  # tokens a minute, at most, as the server counts them

    def __post_init__(self) -> None:
        check_key_name(self.key_variable)
        try:
            parts = urllib.parse.urlsplit(self.url)
            right = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
            right = right and "@" not in self.url.replace(parts.netloc, "", 1)  # user:pa/ssword@host
        except ValueError:  # http://[::1
            right = False
        if not right:  # it may hold a password, so it is not shown
            raise UserError(
                "--llm: expected the base address of a server, as in http://127.0.0.1:8000/v1; in a password, write "
                "/ as %2F, # as %23, ? as %3F and @ as %40"
            )
        if not self.model:
            raise UserError("--llm needs --llm-model, the name under which the server knows the model")

    @property
    def shown(self) -> str:
        """The address without the password."""
        return re.sub(r"//[^/?#]*@", "//", self.url)

    def secrets(self) -> list[str]:
        """The key, the password and its encoded form, none of which may be shown."""
        secrets = [os.environ.get(self.key_variable, "").strip()]
        if login := re.match(r"[a-z]+://([^/?#]*)@", self.url):
            user, _, password = map(urllib.parse.unquote, login[1].partition(":"))
            secrets += [base64.b64encode(f"{user}:{password}".encode()).decode(), password]
        return secrets

    def identity(self) -> dict[str, Any]:
        """The settings that answers depend on. The address counts: two servers may use one name for two models."""
        return {
            "server": self.shown.rstrip("/"),
            "model": self.model,
            "temperature": self.temperature,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
        }


class Llm:
    """Asks one model; thread-safe."""

    def __init__(self, settings: LlmSettings) -> None:
        self.settings = settings
        self.answers = AnswerStore(settings.cache)
        self._account = json.dumps(["budget", settings.model, settings.shown])
        self._answered = False
        self._refused = 0
        self._counting = threading.Lock()
        self._pace = _Pace(settings.rpm, settings.tpm)
        self._given = self._kept = 0
        address = urllib.parse.urlsplit(settings.url)
        if address.scheme == "http" and address.hostname not in _THIS_MACHINE and any(settings.secrets()):
            logging.warning("%s: http sends the key or password unencrypted; https does not", settings.shown)

    def answered(self) -> tuple[int, int]:
        """(answers, those from the cache) since the last call."""
        with self._counting:
            counts, self._given, self._kept = (self._given, self._kept), 0, 0
        return counts

    def ask(
        self, prompt: str, max_tokens: int = 60, keep: Callable[[KeptAnswer], bool] = lambda answer: bool(answer.text)
    ) -> KeptAnswer:
        most = self.settings.max_tokens or max_tokens

        def ask() -> KeptAnswer:
            choice = self.complete([{"role": "user", "content": prompt}], most)
            return KeptAnswer("", "refused") if choice is None else answer_of(choice)

        return self.kept_or_asked({"max_tokens": most, "prompt": prompt}, ask, keep)

    def kept_or_asked(
        self, about: dict[str, object], ask: Callable[[], KeptAnswer], keep: Callable[[KeptAnswer], bool]
    ) -> KeptAnswer:
        """The cached answer for this server, model, decoding and `about`; else that of `ask`, which is cached unless
        the server refused it or `keep` says no."""
        name = json.dumps(self.settings.identity() | about, sort_keys=True)
        answer = self.answers.get(name)
        with self._counting:
            self._given, self._kept = self._given + 1, self._kept + (answer is not None)
        if answer is None:
            answer = ask()
            if answer.finish != "refused" and keep(answer):
                self.answers.put(name, answer)
        return answer

    def complete(self, messages: list[dict[str, object]], max_tokens: int, **more: object) -> dict[str, object] | None:
        """The server's whole answer, not cached; None if it refused the request."""
        from equipoise.core import posting  # http and ssl: what asks nothing does not wait for them

        settings, failure, pause = self.settings, "", 0.0
        local = urllib.parse.urlsplit(settings.url).hostname in _THIS_MACHINE
        request = self._request(messages, max_tokens, more)
        for attempt in range(settings.tries):
            time.sleep(pause)
            # Jitter, so that threads that failed together do not retry together.
            pause = min(_LONGEST_PAUSE, settings.pause * 2**attempt * (0.75 + random.random() / 2))
            self._pace.wait()
            self.spend()
            try:
                reply = posting.post(request, settings.timeout, local)
                if reply.code < 300:
                    choice, tokens = _read_body(reply.body, posting.MOST_BYTES)
                    self._answered = True
                    self._pace.used(tokens)
                    return choice
            except posting.FAILURES as error:
                failure = self._safe(f"{type(error).__name__}: {error}")
                continue
            place = reply.headers.get("Location")
            failure = f"{reply.code} {reply.reason}{f', it points to {place}' if place else ''}: {_message(reply.body)}"
            failure = self._safe(failure)
            if reply.code not in _PASSING:
                self._refusal(reply.code, failure)
                return None
            pause = _retry_after(reply.headers.get("Retry-After")) or pause
        raise UserError(
            f"{settings.shown}: {settings.tries} tries failed (last: {failure}). The answers so far are kept; the "
            "same command resumes once the server works again."
        )

    def spend(self, requests: int = 1) -> None:
        """Count every try, since it may cost money, before it is sent."""
        most = self.settings.budget
        if most is not None and not all(self.answers.spend(self._account, most) for _ in range(requests)):
            raise UserError(
                f"{self.settings.shown}: the budget of {most:,} requests to {self.settings.model} is spent. The "
                "answers so far are kept; the same command with a larger budget resumes."
            )

    def spent(self) -> int:
        """Requests so far, earlier runs included; counted only if there is a budget."""
        return self.answers.spent(self._account)

    def _safe(self, text: str) -> str:
        """The start of a server's message, without secrets and control characters."""
        for secret in self.settings.secrets():
            text = text.replace(secret, "(secret)") if len(secret) > 3 else text
        text = re.sub(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?", "", text)
        return "".join(mark if mark.isprintable() else " " for mark in text[:_MOST_SHOWN])

    def body(self, messages: list[dict[str, object]], max_tokens: int, **more: object) -> dict[str, object]:
        settings = self.settings
        about = {"model": settings.model, "messages": messages, "temperature": settings.temperature}
        return about | {"seed": settings.seed, "max_tokens": max_tokens} | more

    def _request(self, messages: list[dict[str, object]], max_tokens: int, more: dict[str, object]) -> Request:
        from urllib.request import Request

        settings, body = self.settings, self.body(messages, max_tokens, **more)
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(settings.key_variable, "").strip():
            if not (key.isascii() and key.isprintable()):  # the HTTP library's own error would show it
                raise UserError(f"${settings.key_variable}: contains characters that no key has; paste it again")
            headers["Authorization"] = f"Bearer {key}"
        elif len(secrets := settings.secrets()) > 1:
            headers["Authorization"] = f"Basic {secrets[1]}"
        return Request(settings.shown.rstrip("/") + "/chat/completions", json.dumps(body).encode(), headers)

    def _refusal(self, code: int, failure: str) -> None:
        settings = self.settings
        if code in {401, 403}:
            raise UserError(f"{settings.shown}: {failure}. Put the server's key into ${settings.key_variable}.")
        if code == 404 or 300 <= code < 400:
            raise UserError(f"{settings.shown}: {failure}. Is the address right (it often ends in /v1), and the model?")
        self._refused += 1
        if self._refused == 1:
            logging.warning("%s refused a request: %s", settings.shown, failure)
        if not self._answered and self._refused >= _REFUSALS:
            raise UserError(f"{settings.shown}: the first {_REFUSALS} requests were refused; {failure}")


class _Pace:
    """Spreads requests and tokens over time: each takes its share of a minute, one after the other."""

    def __init__(self, rpm: int | None, tpm: int | None) -> None:
        self._each, self._token = 60 / rpm if rpm else 0.0, 60 / tpm if tpm else 0.0
        self._free = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        with self._lock:
            now = time.monotonic()
            begin = max(now, self._free)
            self._free = begin + self._each
        time.sleep(begin - now)

    def used(self, tokens: int) -> None:
        with self._lock:
            self._free += tokens * self._token


def _read_body(raw: bytes, most: int) -> tuple[dict[str, object], int]:
    """The answer, and the tokens that it took."""
    text = raw.decode("utf-8", "replace")
    if len(raw) > most:
        raise ValueError(f"an answer of more than {most:,} bytes: {text}")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError(f"not JSON: {text}") from None
    try:
        choice: dict[str, Any] = value["choices"][0]
        content = choice["message"]["content"]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError(f"an answer without choices: {text}") from None
    if content is not None and not isinstance(content, str):
        raise ValueError(f"an answer that is not text: {text}")
    usage = value.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return choice, tokens if isinstance(tokens, int) and tokens > 0 else 0


def answer_of(choice: dict[str, Any]) -> KeptAnswer:
    return KeptAnswer(choice["message"]["content"] or "", str(choice.get("finish_reason") or "stop"))


def _message(raw: bytes) -> str:
    try:
        return str(json.loads(raw)["error"]["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return raw.decode("utf-8", "replace")


def _retry_after(value: str | None) -> float | None:
    """The seconds of a Retry-After header; a date in it is ignored."""
    try:
        seconds = float(value or 0)
    except ValueError:
        return None
    return min(_LONGEST_PAUSE, seconds) if seconds > 0 else None


@functools.cache
def llm_for(settings: LlmSettings) -> Llm:
    """One client per process."""
    return Llm(settings)
