"""Against a local server that does what the web does: breaks off, changes, lies."""

from __future__ import annotations

import hashlib
import io
import tarfile
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.benchmarks.fetching.serving import BODY, HASH, Server

from equipoise.benchmarks.base import PAIR_CHANCE, Benchmark, Download
from equipoise.benchmarks.fetching import fetch as module
from equipoise.benchmarks.fetching.download import DownloadRefused, _SafeRedirects
from equipoise.benchmarks.fetching.fetch import FetchPlan, fetch, plan
from equipoise.core.errors import UserError


def benchmark(*downloads: Download, name: str = "toy", get: str = "Ask its authors.") -> Benchmark:
    return Benchmark(
        name=name, title="Toy", splits={"all": 1}, chance=PAIR_CHANCE, ties="wrong", licence="MIT", citation="",
        url="", get=get, load=lambda source, splits: [], downloads=downloads,
    )  # fmt: skip


def file(server: Server, **facts: Any) -> Download:
    return Download(server.url, "sub/file.bin", **facts)


def run(todo: FetchPlan) -> str:
    """Fetch quickly; what was said."""
    said = io.StringIO()
    fetch(todo, Console(file=said, width=200), tries=3, pause=0.01, timeout=5)
    return said.getvalue()


def failure(todo: FetchPlan) -> str:
    with pytest.raises(UserError) as caught:
        run(todo)
    return str(caught.value)


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_says_first_then_fetches(server: Server, tmp_path: Path) -> None:
    todo = plan(benchmark(file(server, sha256=HASH)), tmp_path)
    assert todo.missing == len(BODY), "an unknown size is asked of the server"
    assert server.asked == [("HEAD", None)] and left(tmp_path) == []
    said = run(todo)
    assert "sub/file.bin  2.0 MB" in said and "To download: 2.0 MB in 1 file(s)" in said and server.url in said
    assert (tmp_path / "sub/file.bin").read_bytes() == BODY
    assert left(tmp_path) == ["sub/file.bin"]

    again = plan(benchmark(file(server, sha256=HASH)), tmp_path)
    assert not again.todo and "there already" in again.describe() and "Nothing to download" in again.describe()
    before = len(server.asked)
    run(again)
    assert len(server.asked) == before


@pytest.mark.parametrize("facts", [{"sha256": HASH, "size": len(BODY)}, {"sha256": HASH}, {}])
def test_resumes_where_it_broke_off(server: Server, tmp_path: Path, facts: dict[str, Any]) -> None:
    server.break_after = [700_000, 500_000]
    run(plan(benchmark(file(server, **facts)), tmp_path))
    assert (tmp_path / "sub/file.bin").read_bytes() == BODY
    assert server.gets() == [None, "bytes=700000-", "bytes=1200000-"]
    assert left(tmp_path) == ["sub/file.bin"]


def test_resumes_in_another_run(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000, 0, 0]
    todo = plan(benchmark(file(server, sha256=HASH)), tmp_path)
    text = failure(todo)
    assert "300,000 of 2,048,000 bytes" in text and f"equipoise bench fetch toy --out {tmp_path}" in text
    assert (tmp_path / "sub/file.bin.part").stat().st_size == 300_000 and not (tmp_path / "sub/file.bin").exists()

    again = plan(benchmark(file(server, sha256=HASH)), tmp_path)
    assert again.missing == len(BODY) - 300_000 and "300.0 kB of it there already" in again.describe()
    run(again)
    assert (tmp_path / "sub/file.bin").read_bytes() == BODY
    assert server.gets()[-1] == "bytes=300000-"


def test_a_file_of_untold_size_may_not_fill_the_disk(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.benchmarks.fetching.download.MOST_UNTOLD", 1_000_000)
    server.say_length = False
    assert "more than 1,000,000 bytes of a file of unknown size" in failure(plan(benchmark(file(server)), tmp_path))
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("to", "body", "kept"),
    [
        ("a.json", b'[{"id": 1},\n {"id": 2}]\n', True),
        ("a.json", b'{"id": 1}\n{"id": 2}\n', True),  # lines, under this name
        ("a.jsonl", b'{"id": 1}\n{"id": 2}', True),
        ("a.json", b'[{"id": 1},\n {"id"', False),
        ("a.json", b'{"id": 1, "text": "a', False),
        ("a.jsonl", b'{"id": 1}\n{"i', False),
        ("a.json", b"", False),
        ("a.json", b"<!DOCTYPE html><p>Log in", False),
        ("a.csv", b"\n <HTML><p>Log in", False),
        ("a.csv", b"image,caption\n", True),
    ],
)
def test_a_cut_file_and_a_web_page_are_refused_without_size_and_hash(
    server: Server, tmp_path: Path, to: str, body: bytes, kept: bool
) -> None:
    server.body, server.say_length = body, False
    todo = plan(benchmark(Download(server.url, to)), tmp_path)
    if kept:
        run(todo)
        assert (tmp_path / to).read_bytes() == body
    else:
        assert "it was not kept" in failure(todo) and left(tmp_path) == []


def test_a_file_that_grew_under_the_same_version_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    def grow(state: Server) -> None:
        state.body = b"x" * 3000

    server.body, server.break_after, server.after = b"y" * 2000, [1000], grow
    run(plan(benchmark(file(server)), tmp_path))
    assert (tmp_path / "sub/file.bin").read_bytes() == b"x" * 3000


def test_a_server_without_ranges(server: Server, tmp_path: Path) -> None:
    server.ranges, server.break_after = False, [900_000]
    run(plan(benchmark(file(server, sha256=HASH)), tmp_path))
    assert (tmp_path / "sub/file.bin").read_bytes() == BODY and len(server.gets()) == 2


def test_a_server_without_ranges_that_always_breaks_off_is_given_up(server: Server, tmp_path: Path) -> None:
    server.ranges, server.break_after = False, [1_900_000] * 50
    assert "1,900,000 of 2,048,000" in failure(plan(benchmark(file(server)), tmp_path))
    assert len(server.gets()) <= 2 * 3


def test_the_file_changes_between_tries(server: Server, tmp_path: Path) -> None:
    """Head and tail do not belong together, which the hash shows."""
    newer = bytes(reversed(BODY))

    def change(state: Server) -> None:
        state.body = newer

    server.break_after, server.after = [1_000_000], change
    run(plan(benchmark(file(server, sha256=hashlib.sha256(newer).hexdigest())), tmp_path))
    assert (tmp_path / "sub/file.bin").read_bytes() == newer


@pytest.mark.parametrize("if_range", [True, False])
def test_an_archive_that_changes_between_runs(server: Server, tmp_path: Path, if_range: bool) -> None:
    """With If-Range the server sends the new one whole; a server that ignores it shows another ETag."""
    bench = benchmark(Download(server.url, "val.zip", unpack=True))
    server.body, server.break_after = archive({"val/1.jpg": BODY[:3000]}), [100, 0, 0]
    failure(plan(bench, tmp_path))
    server.body, server.etag, server.if_range = archive({"val/1.jpg": b"newer" * 600}), '"two"', if_range
    run(plan(bench, tmp_path))
    assert (tmp_path / "val/1.jpg").read_bytes() == b"newer" * 600
    assert left(tmp_path) == ["val.zip.unpacked", "val/1.jpg"]


def test_a_part_from_another_address_is_not_resumed(server: Server, tmp_path: Path) -> None:
    server.body, server.break_after = archive({"val/1.jpg": BODY[:3000]}), [100, 0, 0]
    failure(plan(benchmark(Download(server.url, "val.zip", unpack=True)), tmp_path))
    moved = benchmark(Download(server.url + "2", "val.zip", unpack=True))
    assert plan(moved, tmp_path).missing == len(server.body)
    run(plan(moved, tmp_path))
    assert server.gets()[-1] is None and left(tmp_path) == ["val.zip.unpacked", "val/1.jpg"]


def test_a_part_that_the_server_does_not_place(server: Server, tmp_path: Path) -> None:
    """206 without Content-Range."""
    server.content_range, server.break_after = False, [1_000_000]
    run(plan(benchmark(file(server, sha256=HASH)), tmp_path))
    assert (tmp_path / "sub/file.bin").read_bytes() == BODY and server.gets() == [None, "bytes=1000000-", None]


def test_without_a_version_or_a_hash_it_starts_again(server: Server, tmp_path: Path) -> None:
    server.etag, server.break_after = None, [1_000_000]
    run(plan(benchmark(file(server)), tmp_path))
    assert server.gets() == [None, None]
    assert (tmp_path / "sub/file.bin").read_bytes() == BODY


def test_an_archive_is_resumed_without_a_hash(server: Server, tmp_path: Path) -> None:
    """By the server's version of it."""
    server.body = archive({"val/1.jpg": BODY[:3000], "val/2.jpg": b"two"})
    server.break_after = [100]
    run(plan(benchmark(Download(server.url, "val.zip", unpack=True)), tmp_path))
    assert server.gets() == [None, "bytes=100-"] and (tmp_path / "val/1.jpg").read_bytes() == BODY[:3000]


def test_a_spoilt_part_is_found_by_its_hash_and_fetched_again(server: Server, tmp_path: Path) -> None:
    server.break_after = [1_000_000, 0, 0]
    bench = benchmark(file(server, sha256=HASH))
    failure(plan(bench, tmp_path))
    (tmp_path / "sub/file.bin.part").write_bytes(bytes(1_000_000))
    run(plan(bench, tmp_path))
    assert (tmp_path / "sub/file.bin").read_bytes() == BODY


def test_a_part_that_is_complete_already(server: Server, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/file.bin.part").write_bytes(BODY)
    run(plan(benchmark(file(server, sha256=HASH)), tmp_path))
    assert left(tmp_path) == ["sub/file.bin"] and server.gets() == []


def test_a_complete_part_of_unknown_size(server: Server, tmp_path: Path) -> None:
    """416 with the size that is there: nothing is missing."""
    server.break_after = [1_000_000, 0, 0]
    failure(plan(benchmark(file(server)), tmp_path))
    (tmp_path / "sub/file.bin.part").write_bytes(BODY)
    run(plan(benchmark(file(server)), tmp_path))
    assert left(tmp_path) == ["sub/file.bin"] and server.gets()[-1] == "bytes=2048000-"


def test_a_part_that_is_too_long(server: Server, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/file.bin.part").write_bytes(BODY * 2)
    run(plan(benchmark(file(server, sha256=HASH)), tmp_path))
    assert (tmp_path / "sub/file.bin").read_bytes() == BODY and server.gets() == ["bytes=4096000-", None]


def test_wrong_size_is_refused_before_the_download(server: Server, tmp_path: Path) -> None:
    text = failure(plan(benchmark(file(server, size=5)), tmp_path))
    assert "2,048,000 bytes there, 5 were expected" in text and len(server.gets()) == 1
    assert left(tmp_path) == []


def test_more_bytes_than_expected_are_not_taken(server: Server, tmp_path: Path) -> None:
    server.say_length = False
    text = failure(plan(benchmark(file(server, size=1000)), tmp_path))
    assert "more came than the 1,000 bytes" in text and left(tmp_path) == []


def test_wrong_hash_is_not_kept(server: Server, tmp_path: Path) -> None:
    text = failure(plan(benchmark(file(server, sha256="0" * 64)), tmp_path))
    assert HASH in text and "0" * 64 in text and left(tmp_path) == []
    assert len(server.gets()) == 1, "the same bytes again would be wrong again"


def test_not_found_is_not_tried_again_and_the_others_are_fetched(server: Server, tmp_path: Path) -> None:
    server.statuses = [404, 200, 410]
    downloads = [Download(server.url, name) for name in ("a", "b", "c")]
    text = failure(plan(benchmark(*downloads), tmp_path))
    assert "2 problems" in text and "HTTP 404" in text and "HTTP 410" in text
    assert left(tmp_path) == ["b"] and len(server.gets()) == 3


def test_a_passing_error_is_tried_again(server: Server, tmp_path: Path) -> None:
    server.statuses = [500, 503, 200]
    run(plan(benchmark(file(server, sha256=HASH)), tmp_path))
    assert left(tmp_path) == ["sub/file.bin"] and len(server.gets()) == 3


def test_tries_are_bounded(server: Server, tmp_path: Path) -> None:
    server.statuses = [500] * 50
    text = failure(plan(benchmark(file(server), Download(server.url, "other")), tmp_path))
    assert "HTTP 500" in text and "3 tries" in text and len(server.gets()) == 3


def test_nobody_listens(server: Server, tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9/x"
    text = failure(plan(benchmark(Download(nowhere, "a"), Download(nowhere, "b")), tmp_path))
    assert "no connection" in text and "1 problem\n" in text and left(tmp_path) == []


def archive(files: dict[str, bytes], kind: str = "zip") -> bytes:
    data = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, body in files.items():
                packed.writestr(name, body)
    else:
        with tarfile.open(fileobj=data, mode="w:gz") as tar:
            for name, body in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(body)
                if kind in ("link", "device") and name == "evil":
                    info.size = 0
                    info.type, info.linkname = (tarfile.SYMTYPE, "/etc") if kind == "link" else (tarfile.BLKTYPE, "")
                tar.addfile(info, io.BytesIO(body))
    return data.getvalue()


def test_archives_are_unpacked_and_not_fetched_again(server: Server, tmp_path: Path) -> None:
    server.body = archive({"val/1.jpg": b"one", "val/2.jpg": b"two"})
    bench = benchmark(Download(server.url, "images/val.zip", unpack=True))
    run(plan(bench, tmp_path))
    assert left(tmp_path) == ["images/val.zip.unpacked", "images/val/1.jpg", "images/val/2.jpg"]
    assert not plan(bench, tmp_path).todo
    without = plan(bench, tmp_path, images=False)
    assert without.steps == () and without.command.endswith(" --no-images")

    (tmp_path / "images/val/1.jpg").unlink()
    (tmp_path / "images/val/2.jpg").unlink()
    (tmp_path / "images/val").rmdir()
    run(plan(bench, tmp_path))
    assert (tmp_path / "images/val/1.jpg").read_bytes() == b"one", "what was deleted is fetched again"


@pytest.mark.parametrize("text", ["[]", "{}", "null", "", "{", '{"url": "URL", "names": 7}'])
def test_a_damaged_note_is_no_note(server: Server, tmp_path: Path, text: str) -> None:
    server.body = archive({"val/1.jpg": b"one"})
    bench = benchmark(Download(server.url, "val.zip", unpack=True))
    for note in ("val.zip.unpacked", "val.zip.part.json"):
        (tmp_path / note).write_text(text.replace("URL", server.url))
    (tmp_path / "val.zip.part").write_bytes(b"old")
    run(plan(bench, tmp_path))
    assert left(tmp_path) == ["val.zip.unpacked", "val/1.jpg"] and not plan(bench, tmp_path).todo


def test_an_archive_that_lies_there_needs_no_network(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "val.zip").write_bytes(archive({"val/1.jpg": b"one"}))
    todo = plan(benchmark(Download(server.url, "val.zip", unpack=True)), tmp_path)
    assert "there already, to be unpacked\nNothing to download." in run(todo)
    assert left(tmp_path) == ["val.zip.unpacked", "val/1.jpg"] and server.asked == []


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        ("zip", "../evil", "leaves the folder"),
        ("tar", "../evil", "leaves the folder"),
        ("tar", "/tmp/evil", "absolute"),
        ("link", "evil", "a link to /etc"),
        ("device", "evil", "a device"),
        ("bomb", "evil", "at most"),
    ],
)
def test_hostile_archive(server: Server, tmp_path: Path, kind: str, name: str, why: str) -> None:
    if kind == "bomb":
        server.body = archive({"fine": b"1", name: bytes(120_000_000)})
    else:
        server.body = archive({"fine": b"1", name: b"2"}, kind)
    text = failure(plan(benchmark(Download(server.url, "x/photos.zip", unpack=True)), tmp_path / "root"))
    assert why in text and "nothing was unpacked" in text
    assert left(tmp_path) == ["root/x/photos.zip"]


def test_plain_http_and_paths_outward_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="only https"):
        plan(benchmark(Download("http://example.org/x", "x", size=1)), tmp_path)
    with pytest.raises(UserError, match="leaves its folder"):
        plan(benchmark(Download("https://example.org/x", "../x", size=1)), tmp_path)


@pytest.mark.parametrize("to", ["http://example.org/x", "file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_redirects_keep_the_rule(server: Server, tmp_path: Path, to: str) -> None:
    server.redirect = to
    text = failure(plan(benchmark(file(server, size=9)), tmp_path))
    assert "redirect" in text.lower() and to in text
    assert left(tmp_path) == []


def test_the_web_may_not_redirect_to_this_machine() -> None:
    request = urllib.request.Request("https://example.org/x")
    with pytest.raises(DownloadRefused, match="redirects to"):
        _SafeRedirects().redirect_request(request, None, 302, "", None, "http://127.0.0.1/x")  # type: ignore[arg-type]


def test_an_allowed_redirect_is_followed(server: Server, tmp_path: Path) -> None:
    def once(state: Server) -> None:
        state.redirect = ""

    server.redirect, server.after = server.url + "2", once
    run(plan(benchmark(file(server, size=len(BODY), sha256=HASH)), tmp_path))
    assert left(tmp_path) == ["sub/file.bin"]


@pytest.mark.parametrize("name", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_says_so_and_asks_nobody(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    text = failure(plan(benchmark(file(server)), tmp_path))
    assert f"{name} is set" in text and server.asked == [] and left(tmp_path) == []


def test_a_file_of_the_user_is_never_overwritten(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    (tmp_path / "b").write_text("mine as well")
    downloads = [Download(server.url, "a", size=9), Download(server.url, "b", sha256=HASH)]
    with pytest.raises(UserError, match=r"(?s)2 problems.*4 bytes, where 9 were expected.*sha256"):
        plan(benchmark(*downloads), tmp_path)
    assert (tmp_path / "a").read_text() == "mine" and server.asked == []


def test_disk_space_is_checked_first(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 3_000_000}))
    bench = benchmark(Download(server.url, "a.zip", size=2_000_000, unpack=True))
    text = failure(plan(bench, tmp_path / "not/there/yet"))
    assert "needs about 4.0 MB" in text and "3.0 MB free" in text and server.gets() == []


def test_without_address_the_steps_are_printed(server: Server, tmp_path: Path) -> None:
    todo = plan(benchmark(name="nowhere", get="1. Ask its authors.\n2. Wait."), tmp_path)
    assert "  1. Ask its authors.\n  2. Wait." in run(todo) and server.asked == []
