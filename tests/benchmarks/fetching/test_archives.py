from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.benchmarks.fetching import archives
from equipoise.benchmarks.fetching.archives import safe_unpack
from equipoise.core.errors import UserError


def pack(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return path


def odd(path: Path, name: str, kind: int) -> Path:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (kind | 0o777) << 16
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(info, "/etc")
    return path


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/"
        for path in sorted(folder.rglob("*"))
    }


GOOD = {"photos/a.jpg": b"first", "photos/deep/b.jpg": b"second", "read me.txt": b""}


def test_unpacks_whole(tmp_path: Path) -> None:
    shown: list[tuple[int, int]] = []
    source = pack(tmp_path / "x", GOOD)
    assert safe_unpack(source, tmp_path / "out", lambda *told: shown.append(told)) == ["photos", "read me.txt"]
    assert everything(tmp_path / "out") == {**GOOD, "photos": b"/", "photos/deep": b"/"}
    assert shown == [(5, 11), (11, 11), (11, 11)]


BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "parent": (lambda p: pack(p, {"ok": b"1", "../evil": b"2"}), "leaves the folder"),
    "windows parent": (lambda p: pack(p, {"ok": b"1", "a\\..\\..\\evil": b"2"}), "leaves the folder"),
    "absolute": (lambda p: pack(p, {"ok": b"1", "/evil": b"2"}), "leaves the folder"),
    "drive": (lambda p: pack(p, {"ok": b"1", "C:evil": b"2"}), "leaves the folder"),
    "link": (lambda p: odd(p, "evil", stat.S_IFLNK), "a link or a device"),
    "device": (lambda p: odd(p, "evil", stat.S_IFCHR), "a link or a device"),
    "bomb": (lambda p: pack(p, {"ok": b"1", "evil": bytes(150_000_000)}), "unpack to 150,000,001"),
    "file as folder": (lambda p: pack(p, {"ok": b"1", "ok/evil": b"2"}), "exists"),
    "same twice": (lambda p: pack(p, {"ok": b"1", "./ok": b"2"}), "exists"),
    "empty": (lambda p: pack(p, {}), "0 members"),
}


@pytest.mark.parametrize("name", BAD)
def test_refuses_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    make, why = BAD[name]
    source, out = make(tmp_path / "archive"), tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    (out / "mine").write_bytes(b"kept")
    with pytest.raises(UserError, match=why):
        safe_unpack(source, out)
    assert everything(tmp_path / "deep") == {"out": b"/", "out/mine": b"kept"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "deep"]


def test_lists_all_offenders(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        safe_unpack(pack(tmp_path / "x", {"../one": b"", "fine": b"", "/two": b""}), tmp_path / "out")
    text = str(caught.value)
    assert "2 problems" in text and all(word in text for word in ("../one", "/two")) and "fine" not in text


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_FILES", 5)
    with pytest.raises(UserError, match="9 members, where 1 to 5"):
        safe_unpack(pack(tmp_path / "x", {str(number): b"" for number in range(9)}), tmp_path / "out")


def test_total_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    with pytest.raises(UserError, match="at most 1,000 are unpacked"):
        safe_unpack(pack(tmp_path / "x", {"a": bytes(600), "b": bytes(600)}), tmp_path / "out")


def test_damaged_archive_leaves_nothing(tmp_path: Path) -> None:
    source = pack(tmp_path / "x", {"a": os.urandom(50_000), "b": os.urandom(50_000)})
    whole = source.read_bytes()
    source.write_bytes(whole[:60_000] + bytes(1000) + whole[61_000:])
    with pytest.raises(UserError, match="nothing was unpacked"):
        safe_unpack(source, tmp_path / "out")
    assert everything(tmp_path / "out") == {}


def test_not_an_archive(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("<html>404</html>" * 100)
    with pytest.raises(UserError, match="not a zip file"):
        safe_unpack(tmp_path / "x", tmp_path / "out")
    with pytest.raises(UserError, match="No such file"):
        safe_unpack(tmp_path / "y", tmp_path / "out")


def test_never_overwrites_but_merges(tmp_path: Path) -> None:
    out = tmp_path / "out"
    source = pack(tmp_path / "x", GOOD)
    (out / "photos").mkdir(parents=True)
    (out / "photos" / "a.jpg").write_bytes(b"mine!")
    (out / "photos" / "other.jpg").write_bytes(b"also mine")
    before = everything(out)
    with pytest.raises(UserError, match=r"a\.jpg: lies here already, with other contents"):
        safe_unpack(source, out)
    assert everything(out) == before

    (out / "photos" / "a.jpg").write_bytes(b"first")  # the very bytes of the archive: as after a kill
    safe_unpack(source, out)
    assert everything(out) == {**GOOD, "photos": b"/", "photos/deep": b"/", "photos/other.jpg": b"also mine"}


def test_does_not_follow_a_link_that_lies_there(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "photos").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="a link lies here already"):
        safe_unpack(pack(tmp_path / "x", GOOD), tmp_path / "out")
    assert everything(tmp_path / "elsewhere") == {}


def test_setuid_is_not_kept(tmp_path: Path) -> None:
    safe_unpack(odd(tmp_path / "x", "program", stat.S_IFREG | 0o4000), tmp_path / "out")
    assert not (tmp_path / "out" / "program").stat().st_mode & (stat.S_ISUID | stat.S_IXUSR)
