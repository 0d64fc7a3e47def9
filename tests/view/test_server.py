"""Attacks on the server: nothing outside the folder is read, strangers learn nothing, and nothing ends it."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.report.test_page import hostile
from tests.view.conftest import Serve, get, put_status, put_training
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.files import write_json
from equipoise.evaluation.results import record_hash
from equipoise.view.server import Server

Runs = Callable[..., list[Path]]
SECRET = "the secret of another folder"


@pytest.fixture
def server(tmp_path: Path, make_runs: Runs, serve: Serve) -> Server:
    make_runs(count=16)
    (tmp_path / "secret.txt").write_text(SECRET)
    put_training(tmp_path / "runs" / "t", 20)
    return serve(tmp_path / "runs")


def run(*names: str) -> str:
    return "&".join(f"run={name}/made/result.json" for name in names)


def test_pages(server: Server) -> None:
    for path in ("/", f"/run?{run('first')}", f"/run?{run('first', 'second')}", "/training?at=t/log.jsonl"):
        code, text = get(server, path)
        assert code == 200 and "<title>" in text, path
    found = json.loads(get(server, "/rows")[1])
    assert len(found["rows"]) == 3
    assert "rows" not in json.loads(get(server, f"/rows?have={found['version']}")[1])
    items = json.loads(get(server, f"/items?{run('first')}&chapter=0&i=3,5,999,-1,x")[1])
    assert [item["texts"][0] for item in items] == ["a cat number 3", "a cat number 5"]


def test_the_numbers_of_compare(server: Server, tmp_path: Path) -> None:
    from equipoise.evaluation.comparing.folders import compare_folders
    from equipoise.report.comparison import change_words

    _, text = get(server, f"/run?{run('first', 'second')}")
    (found,) = compare_folders([tmp_path / "runs/first", tmp_path / "runs/second"]).differences
    for change in found.changes.values():
        assert change_words(change) in text.replace("&#43;", "+")
    assert str(tmp_path) not in text.partition("Provenance")[0]


def test_only_who_knows_the_token(server: Server) -> None:
    for path in ("/", "/rows", f"/run?{run('first')}", f"/items?{run('first')}&chapter=0&i=1", "/picture", "/nothing"):
        for given in ("", "x", server.token[:-1], server.token + "x", "é", server.token.upper()):
            assert get(server, path, X_Equipoise_Token=given)[0] == 403, (path, given)
    assert get(server, "/?token=wrong", X_Equipoise_Token="")[0] == 403
    assert get(server, f"/rows?token={server.token}", X_Equipoise_Token="")[0] == 403, "addresses end up in logs"
    link = http.client.HTTPConnection("127.0.0.1", server.server_port)
    link.request("GET", server.address.partition(str(server.server_port))[2])
    answer = link.getresponse()
    cookie = answer.getheader("Set-Cookie", "")
    assert answer.status == 303 and answer.getheader("Location") == "/"
    assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
    ours = cookie.partition(";")[0]
    for sent in (ours, f'theirs={{"a": 1}}; {ours}', f'{ours}; x="y', f"flag; {ours}"):
        assert get(server, "/rows", X_Equipoise_Token="", Cookie=sent)[0] == 200, sent
    for odd in ("=", "a=b", "\x7f", f"equipoise_{server.server_port}=;", "x" * 5_000):
        assert get(server, "/rows", X_Equipoise_Token="", Cookie=odd)[0] == 403


HOSTS = [
    "evil.example", "evil.example:80", "127.0.0.1.evil.example:80", "localhost.evil:1", "", "169.254.1.1:1",
    "user@127.0.0.1", "127.0.0.1@evil.example:80",
]  # fmt: skip


def test_a_foreign_name_that_leads_here(server: Server) -> None:
    for host in HOSTS:
        assert get(server, "/rows", Host=host)[0] in (400, 403), host


def test_a_tunnel_with_another_port(server: Server) -> None:
    assert get(server, "/rows", Host="localhost:9000", Origin="http://localhost:9000")[0] == 200
    assert get(server, "/rows", Host="127.0.0.1:9000")[0] == 200


OTHERS: list[dict[str, str]] = [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:1"},
    {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"},
    {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
]  # fmt: skip


def test_pages_of_other_sites(server: Server) -> None:
    for headers in OTHERS:
        code, text = get(server, "/rows", **headers)
        assert code == 403 and "first" not in text, headers


def test_what_a_browser_is_told(server: Server) -> None:
    link = http.client.HTTPConnection("127.0.0.1", server.server_port)
    link.request("GET", "/", headers={"X-Equipoise-Token": server.token})
    sent = dict(link.getresponse().getheaders())
    assert sent["X-Content-Type-Options"] == "nosniff" and sent["Referrer-Policy"] == "no-referrer"
    assert (
        sent["Cross-Origin-Resource-Policy"] == "same-origin"
        and "frame-ancestors 'none'" in sent["Content-Security-Policy"]
    )
    assert "Python" not in sent["Server"] and "Access-Control-Allow-Origin" not in sent
    assert server.server_address[0] == "127.0.0.1"
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        link = http.client.HTTPConnection("127.0.0.1", server.server_port)
        link.request(method, "/rows", headers={"X-Equipoise-Token": server.token})
        assert link.getresponse().status == 501


NAMES = [
    "../secret.txt", "..%2fsecret.txt", "%2e%2e%2fsecret.txt", "..%252fsecret.txt", "first/../../secret.txt",
    "//etc/passwd", "/etc/passwd", "%2fetc%2fpasswd", "..%5csecret.txt", "first/made/result.json%00", "%00",
    "first/made/../made/result.json", "./first/made/result.json", "first/made/items.jsonl", "first", "%ff%fe",
    "file:///etc/passwd", "x" * 3_000,
]  # fmt: skip
PLACES = [
    "/", "/run?run=", "/run?run=first/made/result.json&run=", "/training?at=", "/curves?at=",
    "/items?chapter=0&i=0&run=", "/picture?chapter=0&i=0&other=0&run=",
]  # fmt: skip


def test_other_paths(server: Server) -> None:
    for name in NAMES:
        for before in PLACES:
            code, text = get(server, before + name)
            assert code in (400, 404), before + name
            assert SECRET not in text and "root:" not in text


def test_other_numbers(server: Server) -> None:
    wrong = (9, 0, 0), (0, 99, 0), (0, 0, 9), (-1, 0, 0), (0, -1, 0), (0, 0, -1), ("٣", 0, 0), ("9" * 99, 0, 0)
    for chapter, i, other in wrong:
        asked = f"{run('first')}&chapter={quote(str(chapter))}&i={quote(str(i))}&other={other}"
        assert get(server, f"/picture?{asked}")[0] in (400, 404), asked
        code, text = get(server, f"/items?{asked}")
        assert code in (400, 404) or text == "[]" or (chapter, i) == (0, 0), asked
    assert get(server, f"/run?{run('first', 'second', 'first')}")[0] == 400
    assert get(server, "/rows?" + "&".join(f"a{n}=1" for n in range(50)))[0] == 400


def outward(tmp_path: Path, kind: str) -> None:
    """The first run, with something in it that leads out of the folder."""
    first = tmp_path / "runs" / "first" / "made"
    if kind in ("items.jsonl", "result.json"):
        (first / kind).rename(tmp_path / kind)
        (first / kind).symlink_to(tmp_path / kind)
    elif kind == "folder":
        shutil.rmtree(first)
        first.symlink_to(tmp_path / "kept" / "made", target_is_directory=True)
    else:
        (first / "items.jsonl").unlink()
        os.mkfifo(first / "items.jsonl")


def test_links_that_lead_out(server: Server, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "runs" / "first", tmp_path / "kept")
    for kind in ("items.jsonl", "result.json", "folder", "pipe"):
        server.views._looked = -1.0  # the folder has just changed
        assert get(server, f"/run?{run('first')}")[0] == 200
        outward(tmp_path, kind)
        for path in (f"/run?{run('first')}", f"/items?{run('first')}&chapter=0&i=0", f"/run?{run('first', 'second')}"):
            code, text = get(server, path)
            assert code in (400, 404) and "cat number" not in text, (kind, path)
        first = tmp_path / "runs" / "first" / "made"
        first.unlink() if first.is_symlink() else shutil.rmtree(first)
        (tmp_path / kind).unlink(missing_ok=True)
        shutil.copytree(tmp_path / "kept" / "made", first)


def place_of_photos(run: Path, place: Path | str) -> None:
    """A result that names another folder of photos; its hash is right, as an attacker's would be."""
    value = json.loads((run / "made" / "result.json").read_text())
    value["arguments"]["images"] = str(place)
    value["record_sha256"] = record_hash(value)
    write_json(run / "made" / "result.json", value)


def test_photos(tmp_path: Path, make_runs: Runs, serve: Serve) -> None:
    (first, *_) = make_runs(count=16)
    runs = tmp_path / "runs"
    asked = f"{run('first')}&chapter=0&i=0"
    outside = serve(runs)  # the runs name tmp_path/photos
    (item,) = json.loads(get(outside, f"/items?{asked}")[1])
    assert "picture" not in item and get(outside, f"/picture?{asked}&other=0")[0] == 404
    assert "--images PHOTOS" in get(outside, f"/run?{run('first')}")[1]
    named = serve(runs, images=tmp_path / "photos")
    (item,) = json.loads(get(named, f"/items?{asked}")[1])
    assert get(named, item["picture"])[1].startswith("\ufffd\ufffd")  # a JPEG
    (runs / "photos").mkdir()
    place_of_photos(first, runs / "photos")
    (runs / "photos" / "0.png").symlink_to(tmp_path / "photos" / "0.png")
    inside = serve(runs)
    assert "picture" not in json.loads(get(inside, f"/items?{asked}")[1])[0], "a link that leads out"
    (runs / "photos" / "0.png").unlink()
    (runs / "photos" / "0.png").write_bytes((tmp_path / "photos" / "0.png").read_bytes())
    (item,) = json.loads(get(inside, f"/items?{asked}")[1])
    assert get(inside, item["picture"])[0] == 200
    (runs / "photos" / "0.png").write_text("no picture")
    assert get(inside, item["picture"])[0] == 400
    (runs / "shards").mkdir()
    (runs / "shards" / "a.tar").symlink_to(tmp_path / "secret.tar")
    place_of_photos(first, runs / "shards")
    assert get(serve(runs), f"/run?{run('first')}")[0] in (200, 400)


def test_hostile_names_and_texts(tmp_path: Path, make_runs: Runs, serve: Serve) -> None:
    (first, *_) = make_runs(count=16, change=hostile)
    name = '"><script>alert(1)<'
    first.rename(first.with_name(name))
    error = "</script><script>alert(3)</script>\u202e"
    put_status(tmp_path / "runs" / "<img src=x onerror=alert(2)>", "failed", error=error)
    put_training(tmp_path / "runs" / "<svg onload=alert(4)>", 20)
    server = serve(tmp_path / "runs")
    for path in (
        "/",
        f"/run?run={quote(name)}/made/result.json",
        f"/training?at={quote('<svg onload=alert(4)>')}/log.jsonl",
    ):
        code, text = get(server, path)
        assert code == 200 and text.count("<script>") == 1
        assert set(re.findall(r"<script[^>]*>", text)) <= {"<script>", '<script type="application/json" id="data">'}
        assert not re.search(r"<(img|svg) (src=x|onload)", text) and "\u202e" not in text


def test_a_damaged_run_ends_nothing(server: Server, tmp_path: Path) -> None:
    first = tmp_path / "runs" / "first" / "made"
    (first / "items.jsonl").write_text("{}\n" * 16)
    code, text = get(server, f"/run?{run('first')}")
    assert code == 400 and "changed after the run" in text
    log = tmp_path / "runs" / "t" / "log.jsonl"
    for line in ("[]", '{"step": "x", "loss": []}', "{", '{"step": 1, "loss": {}, "parts": 3}', "[" * 50_000, "\0"):
        log.write_text(f"{line}\n")
        code, text = get(server, "/training?at=t/log.jsonl")
        assert code in (200, 400, 500) and "Traceback" not in text
    assert get(server, "/rows")[0] == 200


@pytest.mark.slow
def test_a_thousand_at_once(server: Server) -> None:
    codes: list[int] = []
    paths = ["/rows", f"/run?{run('first')}", f"/items?{run('second')}&chapter=0&i=1,2", "/?token=no", "/../secret.txt"]

    def ask(number: int) -> None:
        codes.append(get(server, paths[number % len(paths)])[0])

    silent = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(8)]  # say nothing
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(1_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for link in silent:
        link.close()
    assert sorted(set(codes)) == [200, 404] and len(codes) == 1_000
    assert codes.count(404) == 200
    assert get(server, "/rows")[0] == 200


def test_the_verb(tmp_path: Path) -> None:
    def cli(*words: str) -> Any:
        return CliRunner().invoke(app, words)

    assert "expected a folder" in str(cli("view", str(tmp_path / "absent")).exception)
    assert cli("view", str(tmp_path), "--export", str(tmp_path / "page.txt")).exit_code != 0
    page = tmp_path / "page.html"
    assert cli("view", str(tmp_path), "--export", str(page)).exit_code == 0 and page.exists()
    page.write_text("a user's own")
    assert cli("view", str(tmp_path), "--export", str(page)).exit_code != 0 and page.read_text() == "a user's own"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = cli("view", str(tmp_path), "--port", str(taken.getsockname()[1]))
        assert said.exit_code != 0
