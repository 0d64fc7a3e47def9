"""Writing files: whole or not at all, and only ever over a plain file."""

from __future__ import annotations

import gzip
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import files
from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write, plain_target, stays_inside


def _write(path: Path) -> None:
    with atomic_write(path) as handle:
        handle.write("new")


def test_a_pipe_a_socket_and_a_folder_are_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name, kind in {"pipe": "a pipe", "socket": "a socket", "folder": "a folder", "link": "a pipe"}.items():
        before = os.lstat(name).st_ino
        with pytest.raises(UserError, match=f"{name}: {kind}, not a plain file"):
            _write(Path(name))
        assert os.lstat(name).st_ino == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link", "pipe", "socket"]


def test_a_device_is_never_replaced(tmp_path: Path) -> None:
    """As root, `--out /dev/full` took the device's place. A node of our own, so that a failure harms nobody."""
    node = tmp_path / "full"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    except PermissionError:
        node.symlink_to("/dev/full")
    with pytest.raises(UserError, match="full: a device, not a plain file"):
        _write(node)
    assert node.is_char_device()


def test_a_link_is_followed_and_a_circle_of_links_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    _write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "new"
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(UserError, match="leads to itself"):
        _write(tmp_path / "a")


def test_what_is_not_there_may_be_written(tmp_path: Path) -> None:
    assert plain_target(tmp_path / "deep" / "x") == tmp_path / "deep" / "x"
    with atomic_write(tmp_path / "deep" / "x", "wb", flush=False) as handle:
        handle.write(b"new")
    assert (tmp_path / "deep" / "x").read_bytes() == b"new"


@given(st.text(alphabet="./\\:aC\0 ", max_size=8))
def test_paths_stay_inside_by_the_rules_of_paths(path: str) -> None:
    parts = PurePosixPath(path.replace("\\", "/"))
    leaves = "\0" in path or parts.is_absolute() or ".." in parts.parts or path[1:2] == ":"
    assert stays_inside(path) == (not leaves)


WRITER = """
import sys, time
from equipoise.core.files import atomic_write
with atomic_write(sys.argv[1]) as handle:
    handle.write("half")
    handle.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, other = tmp_path / "a.jsonl", tmp_path / ".b.jsonl.abcdefgh.part"
    other.write_text("of another file")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "writing\n"
    dead, living = writers
    dead.kill()
    dead.wait()
    parts = sorted(tmp_path.glob(".a.jsonl.*.part"))
    assert len(parts) == 2
    monkeypatch.setattr(files, "_left_over", {})
    with atomic_write(target) as handle:
        handle.write("whole")
    assert sorted(tmp_path.glob(".a.jsonl.*.part")) == parts, "both are young"
    for part in parts:
        os.utime(part, (0, 0))
    monkeypatch.setattr(files, "_left_over", {})
    with atomic_write(target) as handle:
        handle.write("whole")
    assert len(list(tmp_path.glob(".a.jsonl.*.part"))) == 1, "the living one's"
    living.kill()
    living.wait()
    assert target.read_text() == "whole" and other.exists()


@pytest.mark.parametrize(("end", "byte"), [(b"\xff\nmore", "0xff"), (b"caf\xc3", "0xc3")])
def test_bytes_that_are_not_text_have_a_place(tmp_path: Path, end: bytes, byte: str) -> None:
    text = "caf\u00e9\n".encode() * 20_000 + end
    (tmp_path / "a.json").write_bytes(text)
    (tmp_path / "b.json").write_bytes(gzip.compress(text))
    for path in (tmp_path / "a.json", tmp_path / "b.json"):
        with pytest.raises(UserError, match=rf"{path.name}, line 20001: not UTF-8 text \(byte {byte}\)"):
            files.read_text(path)


def test_a_cut_gzip_file_with_bytes_that_are_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(gzip.compress(b"\xff" + os.urandom(50_000))[:-20_000])
    with pytest.raises(UserError, match=r"a\.json.*: not (UTF-8 text|a whole gzip file)"):
        files.read_text(tmp_path / "a.json")


def test_a_missing_file_whose_name_is_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "scores.jsonl").touch()
    assert "Did you mean scores.jsonl" in str(files.no_such_file(tmp_path / "score.jsonl"))
    assert str(files.no_such_file(tmp_path / "scores.**")).endswith("no such file.")
