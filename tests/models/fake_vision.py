"""A vision server on 127.0.0.1 that misbehaves as told."""

from __future__ import annotations

import json
import math
import re
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, Any] | bytes]


def yes_no(share: float) -> dict[str, Any]:
    """An answer with log-probabilities: P(yes) is `share` of what yes and no have, over several spellings."""
    spelled = {"Yes": 0.6 * share, " yes": 0.3 * share, "No": 0.9 * (1 - share), "The": 0.1}
    top = [{"token": token, "logprob": math.log(value)} for token, value in spelled.items() if value > 0]
    content = [{"token": top[0]["token"], "logprob": top[0]["logprob"], "top_logprobs": top}]
    return {"choices": [{"message": {"content": "Yes"}, "finish_reason": "length", "logprobs": {"content": content}}]}


def says(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


def share_of(text: str) -> float:
    """The probability that this server gives a text with any picture: the same in every process."""
    return (zlib.crc32(text.encode()) % 9973 + 1) / 9975


class Vision:
    """Counts what it was asked and what it answered; `reply(prompt, body)` decides, None hangs up late."""

    def __init__(self, reply: Callable[[str, dict[str, Any]], Reply | None]) -> None:
        self.reply = reply
        self.requests = 0
        self.answered: Counter[tuple[str, int]] = Counter()  # (prompt, picture) -> good answers that were sent
        self.keys: set[str] = set()
        self.hang = 1.0
        self.lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                picture, words = body["messages"][0]["content"]
                with server.lock:
                    server.requests += 1
                    server.keys.add(self.headers.get("Authorization", ""))
                    found = server.reply(words["text"], body)
                if found is None:
                    time.sleep(server.hang)
                    return
                code, answer = found
                raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                try:
                    self.send_response(code)
                    self.send_header("Content-Length", str(len(raw)))
                    if code == 429:
                        self.send_header("Retry-After", "1")
                    self.end_headers()
                    self.wfile.write(raw)
                    self.wfile.flush()
                except OSError:
                    return
                if code == 200 and isinstance(answer, dict):
                    with server.lock:
                        server.answered[words["text"], zlib.crc32(picture["image_url"]["url"].encode())] += 1

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.request_queue_size = 128
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


def asked_about(prompt: str) -> str:
    """The text of VQAScore's question."""
    found = re.fullmatch(r'Does this figure show "(.*)"\? Please answer yes or no\.', prompt)
    assert found, prompt
    return found[1]


def captions_of(prompt: str) -> tuple[str, str]:
    """The two texts of a choice, as they were ordered."""
    found = re.search(r"^A: (.*)\nB: (.*)$", prompt, re.MULTILINE)
    assert found is not None, prompt
    return found[1], found[2]
