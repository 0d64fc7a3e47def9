"""The server: what it says to an honest browser, and to everybody else."""

from __future__ import annotations

import hashlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.study.asking import answer, raw, request, serving
from tests.study.conftest import Make, ranking, some_items, stored

from equipoise.errors import UserError
from equipoise.items import texts
from equipoise.study.making import make_study
from equipoise.study.questions import read_study
from equipoise.study.server import MOST_BODY, StudyServer


@pytest.fixture(scope="module")
def ready(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudyServer]:
    """One server for all who are refused: nobody of them may store anything."""
    folder = tmp_path_factory.mktemp("ready") / "study"
    make_study(some_items(), "made", folder, 8, 0, "rank", photos)
    with serving(folder) as server:
        yield server
        assert server.store.history() == []


def test_a_whole_session(make: Make) -> None:
    study = read_study(folder := make())
    with serving(folder) as server:
        page = request(server.port)
        assert page.status == 200 and "script-src 'sha256-" in page.headers["content-security-policy"]
        assert page.headers["x-frame-options"] == "DENY" and page.headers["cache-control"] == "no-store"
        state = request(server.port, "/api/state?annotator=Anna").json()
        assert state["annotator"] == "anna" and len(state["questions"]) == 8
        asked = state["questions"][0]
        picture = request(server.port, f"/image/{asked['image']}")
        name = study.pictures[asked["image"]].sha256
        assert hashlib.sha256(picture.body).hexdigest() == name and picture.headers["content-type"] == "image/jpeg"
        again = request(server.port, f"/image/{asked['image']}", headers={"If-None-Match": f'"{name}"'})
        assert again.status == 304 and not again.body
        number = asked["question"]
        said = answer(server.port, ranking(study, "anna", number), "Anna ", number)
        assert (said.status, said.json()["status"]) == (200, "saved")
        assert answer(server.port, ranking(study, "anna", number), "anna", number).json()["status"] == "known"
        other = answer(server.port, ranking(study, "anna", number, "n"), "anna", number)
        assert other.status == 409 and other.json()["revision"] == 1
        assert answer(server.port, None, "anna", number, 2).status == 200
        assert answer(server.port, [1, 1, 1], "anna", number, 3).status == 200
        assert request(server.port, "/", "HEAD").body == b""
    with serving(folder) as server:  # another day
        after = request(server.port, "/api/state?annotator=anna").json()["questions"][0]
        assert (after["question"], after["revision"], after["value"]) == (number, 3, [1, 1, 1])
        assert [row.value for row in server.store.history("anna")] == [stored(study, "anna", number), None, [1, 1, 1]]


@pytest.mark.parametrize(
    ("path", "method", "body", "headers", "status"),
    [
        ("/nothing", "GET", None, {}, 404),
        ("/image/", "GET", None, {}, 404),
        ("/image/N", "GET", None, {}, 404),
        ("/image/99", "GET", None, {}, 404),
        ("/image/-1", "GET", None, {}, 404),
        ("/image/0/../../study.json", "GET", None, {}, 404),
        ("/image/%30", "GET", None, {}, 404),
        ("/study.json", "GET", None, {}, 404),
        ("/answers.sqlite", "GET", None, {}, 404),
        ("http://evil.example/", "GET", None, {}, 400),
        ("/" + "a" * 3000, "GET", None, {}, 414),
        ("/" + "a" * 70000, "GET", None, {}, 414),
        ("/", "POST", {}, {}, 405),
        ("/", "OPTIONS", None, {}, 405),
        ("/api/answer", "GET", None, {}, 405),
        ("/api/answer", "OPTIONS", None, {"Origin": "http://evil.example"}, 403),
        ("/api/state", "DELETE", None, {}, 405),
        ("/", "BREW", None, {}, 501),
        ("/api/state", "GET", None, {}, 400),
        ("/api/state?annotator=", "GET", None, {}, 422),
        ("/api/state?annotator=a&annotator=b", "GET", None, {}, 400),
        ("/api/state?annotator=%ff", "GET", None, {}, 400),
        ("/api/state?" + "&".join(f"a{n}=1" for n in range(50)), "GET", None, {}, 400),
        ("/", "GET", None, {"Host": "evil.example"}, 421),
        ("/", "GET", None, {"Host": ""}, 400),
        ("/", "GET", None, {"Origin": "http://evil.example"}, 403),
        ("/api/state?annotator=anna", "GET", None, {"Sec-Fetch-Site": "cross-site"}, 403),
        ("/image/0", "GET", None, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ("/", "GET", None, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),  # a link in a mail
        ("/", "GET", None, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ("/api/answer", "POST", {}, {}, 400),
        ("/api/answer", "POST", {}, {"Origin": "null"}, 403),
        ("/api/answer", "POST", {}, {"Content-Type": "text/plain"}, 415),
        ("/api/answer", "POST", {}, {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ("/api/answer", "POST", {}, {"Content-Length": ""}, 411),
        ("/api/answer", "POST", {}, {"Content-Length": "-5"}, 400),
        ("/api/answer", "POST", {}, {"Content-Length": "two"}, 400),
        ("/api/answer", "POST", {}, {"Content-Length": "", "Transfer-Encoding": "chunked"}, 411),
        ("/api/answer", "POST", {}, {"Content-Length": "9" * 17}, 413),
        ("/api/answer", "POST", b"x" * (MOST_BODY + 1), {}, 413),
        ("/api/answer", "POST", {}, {"Content-Length": "50"}, 400),
        ("/api/answer", "POST", b"\xff\xfe", {}, 400),
        ("/api/answer", "POST", b"[" * 60000, {}, 400),
        ("/api/answer", "POST", b'{"question": 1, "question": 2}', {}, 400),
        ("/api/answer", "POST", b"1" * 6000, {}, 400),
        ("/api/answer", "POST", b"NaN", {}, 400),
        ("/api/answer", "POST", [1], {}, 400),
    ],
)
def test_statuses(
    ready: StudyServer, path: str, method: str, body: object, headers: dict[str, str], status: int
) -> None:
    reply = request(ready.port, path, method, body, headers)
    assert reply.status == status, reply.body
    if status >= 400:
        assert reply.json()["error"] and reply.headers["connection"] == "close"
    if status == 405:
        assert reply.headers["allow"]
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"value": [1, 2, 4]}, 422),
        ({"value": "x"}, 422),
        ({"value": None}, 409),
        ({"question": 99}, 404),
        ({"question": -1}, 404),
        ({"question": "0"}, 400),
        ({"question": True}, 400),
        ({"revision": 0}, 400),
        ({"revision": 10**9}, 400),
        ({"revision": 2}, 409),
        ({"annotator": ""}, 422),
        ({"annotator": "a\u202eb"}, 422),
        ({"annotator": {"$ne": 1}}, 422),
        ({"role": "c"}, 400),
    ],
)
def test_answers_that_are_none(ready: StudyServer, fields: dict[str, Any], status: int) -> None:
    assert answer(ready.port, **({"value": [1, 2, 3]} | fields)).status == status


def test_doubled_headers_and_broken_lines(make: Make) -> None:
    with serving(make()) as server:
        here = f"Host: 127.0.0.1:{server.port}\r\n".encode()
        assert raw(server.port, b"GET / HTTP/1.1\r\n" + here + here + b"\r\n").status == 400
        twice = b"Content-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{}"
        assert raw(server.port, b"POST /api/answer HTTP/1.1\r\n" + here + twice).status == 400
        assert raw(server.port, b"GET / HTTP/3.0\r\n" + here + b"\r\n").status == 505
        assert raw(server.port, b"GET\r\n\r\n").status == 400
        assert raw(server.port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n").status == 400  # somebody's TLS
        many = b"".join(b"X-%d: 1\r\n" % n for n in range(200))
        assert raw(server.port, b"GET / HTTP/1.1\r\n" + here + many + b"\r\n").status == 431
        # what a refused request carried is not taken for a request of its own
        inner = b"GET /api/state?annotator=smuggled HTTP/1.1\r\n" + here + b"\r\n"
        refused = b"POST / HTTP/1.1\r\n" + here + b"Content-Length: %d\r\n\r\n" % len(inner) + inner
        reply = raw(server.port, refused)
        assert reply.status == 405 and b"smuggled" not in reply.body and b"HTTP/1.1" not in reply.body
        hidden = b"GET /image/0 HTTP/1.1\r\n" + here + b"Content-Length: %d\r\n\r\n" % len(inner) + inner
        assert b"smuggled" not in raw(server.port, hidden).body


def test_one_connection_many_requests(ready: StudyServer) -> None:
    """As browsers do it: what was asked before is forgotten, and a refusal ends the connection."""
    connection = http.client.HTTPConnection("127.0.0.1", ready.port, timeout=5)
    kinds = []
    for path in ("/", "/api/state?annotator=anna", "/image/0", "/api/state?annotator=ben", "/"):
        connection.request("GET", path)
        reply = connection.getresponse()
        reply.read()
        kinds.append((reply.status, (reply.getheader("Content-Type") or "").partition(";")[0]))
        used = connection.sock
    page, state, picture = (200, "text/html"), (200, "application/json"), (200, "image/jpeg")
    assert kinds == [page, state, picture, state, page] and used is not None
    connection.request("GET", "/nothing")
    assert connection.getresponse().getheader("Connection") == "close"
    connection.close()


def test_elsewhere_a_token_is_needed(make: Make) -> None:
    with serving(make(), "0.0.0.0") as server:
        port, token = server.port, server.token
        assert token and token in server.url
        for path in (
            "/",
            "/api/state?annotator=anna",
            "/image/0",
            "/nothing",
            "/?token=wrong",
            f"/image/0?token={token}",
        ):
            reply = request(port, path)
            assert reply.status == 401 and "www-authenticate" in reply.headers and token.encode() not in reply.body
        assert answer(port, [1, 2, 3]).status == 401
        assert request(port, "/", headers={"Cookie": "equipoise_study=wrong"}).status == 401
        assert request(port, "/", headers={"Cookie": "equipoise_study=\xff"}).status == 401
        first = request(port, f"/?token={token}")
        assert first.status == 303 and first.headers["location"] == "/"  # out of the address line
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
        with_it = {"Cookie": cookie.partition(";")[0]}
        for path in ("/", "/api/state?annotator=anna", "/image/0"):
            assert request(port, path, headers=with_it).status == 200
        assert request(port, "/", headers=with_it | {"Host": "evil.example"}).status == 421
        asked = {"annotator": "anna", "question": 0, "revision": 1, "value": [1, 2, 3]}
        assert request(port, "/api/answer", "POST", asked, with_it | {"Origin": "http://evil.example"}).status == 403
        assert request(port, "/api/answer", "POST", asked, with_it).status == 200
    with serving(make(), "0.0.0.0") as server:
        assert server.token == token  # a new start knows its annotators


def test_captions_are_data(make: Make) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    with serving(make(negatives=texts(evil))) as server:
        reply = request(server.port, "/api/state?annotator=anna")
        assert reply.headers["content-type"] == "application/json" and evil in reply.json()["questions"][0]["texts"]
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert evil.encode() not in request(server.port).body
        for name in (evil[:40], "<b>anna</b>"):
            assert (
                request(server.port, "/api/state?annotator=" + name.replace("/", "%2f").replace(" ", "+")).status == 200
            )
        wrong = request(server.port, "/" + evil.replace(" ", "%20"))
        assert wrong.status == 404 and b"<script>" not in wrong.body


def test_pictures_are_the_studys_own(make: Make, tmp_path: Path) -> None:
    folder = make()
    with serving(folder) as server:
        secret = tmp_path / "secret.txt"
        secret.write_text("secret")
        picture = folder / "images" / "00000.jpg"
        picture.unlink()
        assert request(server.port, "/image/0").status == 404
        picture.symlink_to(secret)  # whoever can write there, it is not the picture of this study
        assert request(server.port, "/image/0").status == 404


def test_a_disk_that_fails_is_no_answer(make: Make) -> None:
    with serving(make()) as server:
        server.store._db.execute("PRAGMA query_only=ON")
        reply = answer(server.port, [1, 2, 3])
        assert reply.status == 503 and "not saved" in json.loads(reply.body)["error"]
        server.store._db.execute("PRAGMA query_only=OFF")
        assert answer(server.port, [1, 2, 3]).status == 200


def test_a_port_that_is_taken(make: Make) -> None:
    folder = make()
    with serving(folder) as server, pytest.raises(UserError, match="cannot listen there"):
        StudyServer(folder, "127.0.0.1", server.port)
    with pytest.raises(UserError, match="cannot listen there"):
        StudyServer(folder, "no.such.host.invalid", 0)
