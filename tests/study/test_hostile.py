"""A thousand hostile requests, drawn by seed, each with the one status that is right; and nothing is stored."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.study.asking import Reply, request, serving
from tests.study.conftest import Make

from equipoise.items import texts
from equipoise.study.server import MOST_BODY, StudyServer

COUNT = 1_000
SCRIPTS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "{{7*7}}${7*7}",
    "'; DROP TABLE answers; --",
]
UPWARDS = ["..", "%2e%2e", "..%2f", "%252e%252e", "....//", "..\\", "%c0%ae%c0%ae", "..;", ".%00."]
FILES = ["study.json", "answers.sqlite", "answers.sqlite-wal", "etc/passwd", ".equipoise.json", "images/00000.jpg"]
GOOD = {"annotator": "anna", "question": 0, "revision": 1, "value": [1, 2, 3]}
Ask = Callable[[random.Random, int], tuple[Reply, int]]


def traversal(rng: random.Random, port: int) -> tuple[Reply, int]:
    start = rng.choice(["/", "/image/", "/image/0/", "/images/", "/api/", "//", "/image/0?file=", "/static/"])
    path = start + "/".join(rng.choices(UPWARDS, k=rng.randint(1, 8))) + "/" + rng.choice(FILES)
    if path.startswith("/image/0?"):  # what stands after the ? changes nothing: the picture, and never the file
        reply = request(port, path)
        assert reply.status != 200 or reply.body[:3] == b"\xff\xd8\xff"
        return reply, 400 if "%c0" in path else 200
    return request(port, path), 404


def script_in_an_answer(rng: random.Random, port: int) -> tuple[Reply, int]:
    evil = rng.choice(SCRIPTS)
    fields: dict[str, Any] = rng.choice([{"value": evil}, {"value": [evil, 1, 2]}, {"value": {evil: evil}}])
    return request(port, "/api/answer", "POST", GOOD | fields), 422


def script_in_a_field(rng: random.Random, port: int) -> tuple[Reply, int]:
    evil = rng.choice(SCRIPTS)
    fields: dict[str, Any] = rng.choice([{"question": evil}, {"revision": evil}, {evil: evil}, {"question": [evil]}])
    return request(port, "/api/answer", "POST", GOOD | fields), 400


def script_in_a_name(rng: random.Random, port: int) -> tuple[Reply, int]:
    """A name may hold any signs: it is only ever sent back as JSON."""
    name = rng.choice(SCRIPTS)[:40]
    reply = request(port, f"/api/state?annotator={quote(name, safe='')}")
    assert reply.headers["content-type"] == "application/json" and reply.headers["x-content-type-options"] == "nosniff"
    return reply, 200


def bad_name(rng: random.Random, port: int) -> tuple[Reply, int]:
    name = rng.choice(["", "   ", "\u202eanna", "a\x00", "a\x1b[2J", "x" * rng.randint(41, 500), "\u2028"])
    if rng.random() < 0.5:
        return request(port, f"/api/state?annotator={quote(name, safe='')}"), 422
    return request(port, "/api/answer", "POST", GOOD | {"annotator": name}), 422


def cross_site(rng: random.Random, port: int) -> tuple[Reply, int]:
    origin = rng.choice(
        ["http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port}.evil.example",
         f"http://127.0.0.1:{port - 1}", f"http://localhost:{port}", "file://", f"http://evil@127.0.0.1:{port}"]
    )  # fmt: skip
    headers = {"Origin": origin, "Content-Type": rng.choice(["text/plain", "application/json"])}
    return request(port, "/api/answer", "POST", GOOD, headers), 403


def fetched_by_another_site(rng: random.Random, port: int) -> tuple[Reply, int]:
    path = rng.choice(["/api/state?annotator=anna", "/image/0", "/api/answer", "/"])
    site, mode = rng.choice(["cross-site", "same-site"]), rng.choice(["cors", "no-cors"])
    return request(port, path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}), 403


def form_of_another_site(rng: random.Random, port: int) -> tuple[Reply, int]:
    kind = rng.choice(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "x"])
    return request(port, "/api/answer", "POST", GOOD, {"Origin": "", "Content-Type": kind}), 415


def rebinding(rng: random.Random, port: int) -> tuple[Reply, int]:
    host = rng.choice(
        [f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1.evil.example:{port}", "localhost",
         f"127.0.0.1:{port}@evil.example", f"[::2]:{port}", f"127.0.0.2:{port}", f"a b:{port}", "127.0.0.1:99999999"]
    )  # fmt: skip
    return request(port, rng.choice(["/", "/api/state?annotator=anna", "/image/0"]), headers={"Host": host}), 421


def huge_body(rng: random.Random, port: int) -> tuple[Reply, int]:
    if rng.random() < 0.5:
        return request(port, "/api/answer", "POST", b"x" * rng.randint(MOST_BODY + 1, 3_000_000)), 413
    return request(port, "/api/answer", "POST", b"{}", {"Content-Length": str(rng.randint(MOST_BODY + 1, 10**15))}), 413


def no_json(rng: random.Random, port: int) -> tuple[Reply, int]:
    body = rng.choice(
        [b"", b"{", b"[" * rng.randint(1, 50_000), rng.randbytes(rng.randint(1, 500)) + b"\xff", b'{"a": 1e999999}{',
         b'{"annotator": "a", "annotator": "b"}', b"1" * 5_000, b"{}", b"[]", b"null", b'"x"']
    )  # fmt: skip
    return request(port, "/api/answer", "POST", body), 400


def bad_ranking(rng: random.Random, port: int) -> tuple[Reply, int]:
    value = rng.choice(
        [[0, 1, 2], [1, 3, 3], [1, 2], [1] * 500, [10**30, 1, 2], [1, 2, None], [True, 2, 3], {}, 5, [1.0, 2, 3]]
    )
    return request(port, "/api/answer", "POST", GOOD | {"value": value}), 422


def no_such_question(rng: random.Random, port: int) -> tuple[Reply, int]:
    number = rng.choice([-1, 8, 10**9, -(10**30), 10**30])
    return request(port, "/api/answer", "POST", GOOD | {"question": number}), 404


def skipped_revision(rng: random.Random, port: int) -> tuple[Reply, int]:
    return request(port, "/api/answer", "POST", GOOD | {"revision": rng.randint(2, 999_999)}), 409


def wrong_method(rng: random.Random, port: int) -> tuple[Reply, int]:
    path = rng.choice(["/", "/api/state?annotator=anna", "/api/answer", "/image/0"])
    method = rng.choice(["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get", "GET<script>"])
    return request(port, path, method), 405 if method in {"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} else 501


def long_address(rng: random.Random, port: int) -> tuple[Reply, int]:
    return request(port, "/" + "a" * rng.randint(2_001, 100_000)), 414


def long_headers(rng: random.Random, port: int) -> tuple[Reply, int]:
    return request(port, headers={f"X-{n}": "1" for n in range(rng.randint(101, 300))}), 431


KINDS: list[Ask] = [
    traversal, script_in_an_answer, script_in_a_field, script_in_a_name, bad_name, cross_site, fetched_by_another_site,
    form_of_another_site, rebinding, huge_body, no_json, bad_ranking, no_such_question, skipped_revision, wrong_method,
    long_address, long_headers,
]  # fmt: skip


def wrong_token(rng: random.Random, server: StudyServer) -> tuple[Reply, int]:
    token = server.token or ""
    given = rng.choice(
        ["", "x", token[:-1], token + "x", token.swapcase(), "\xff" * 8, "a" * 1_500, "%00", token[::-1]]
    )
    where = rng.choice(["/", "/api/state?annotator=anna", "/image/0", "/../study.json", "/api/answer"])
    if where == "/" and rng.random() < 0.5 and "\xff" not in given:
        return request(server.port, f"/?token={given}"), 401
    if where == "/api/answer":
        return request(server.port, where, "POST", GOOD, {"Cookie": f"equipoise_study={given}"}), 401
    return request(server.port, where, headers={"Cookie": f"equipoise_study={given}"}), 401


def test_a_thousand_hostile_requests(make: Make) -> None:
    rng = random.Random(14)
    seen: Counter[int] = Counter()
    folder = make(caption=SCRIPTS[0], positives=texts(SCRIPTS[1]), negatives=texts(SCRIPTS[2]))
    with serving(folder) as server, serving(make(name="elsewhere"), "0.0.0.0") as elsewhere:
        for number in range(COUNT):
            if number % 10 == 0:
                reply, status = wrong_token(rng, elsewhere)
                kind: Any = wrong_token
            else:
                kind = KINDS[number % len(KINDS)]
                reply, status = kind(rng, server.port)
            assert reply.status == status, (number, kind.__name__, reply)
            if status >= 400 and reply.body:
                assert set(json.loads(reply.body)) <= {"error", "revision"} and b"role" not in reply.body
                assert reply.headers["content-type"] == "application/json"
            seen[status] += 1
        assert server.store.history() == elsewhere.store.history() == []
        assert request(server.port, "/api/answer", "POST", GOOD).status == 200  # and still there
    assert seen.total() == COUNT and {200, 400, 401, 403, 404, 405, 409, 413, 414, 415, 421, 422, 431, 501} == set(seen)
    print(dict(sorted(seen.items())))
