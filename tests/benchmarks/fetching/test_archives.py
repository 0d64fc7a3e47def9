from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.benchmarks.fetching import archives
from equipoise.benchmarks.fetching.archives import _opened, safe_unpack
from equipoise.core.errors import UserError


def tar(path: Path, files: dict[str, bytes], *odd: tarfile.TarInfo, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as packed:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            packed.addfile(info, io.BytesIO(data))
        for info in odd:
            packed.addfile(info)
    return path


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def pack(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return path


def zip_link(path: Path, name: str, target: str) -> Path:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(info, target)
    return path


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/"
        for path in sorted(folder.rglob("*"))
    }


GOOD = {"photos/a.jpg": b"first", "photos/deep/b.jpg": b"second", "read me.txt": b""}


@pytest.mark.parametrize("kind", ["w", "w:gz", "zip"])
def test_unpacks_whole(tmp_path: Path, kind: str) -> None:
    source = pack(tmp_path / "x", GOOD) if kind == "zip" else tar(tmp_path / "x", GOOD, mode=kind)
    shown: list[tuple[int, int]] = []
    assert safe_unpack(source, tmp_path / "out", lambda *told: shown.append(told)) == ["photos", "read me.txt"]
    assert everything(tmp_path / "out") == {**GOOD, "photos": b"/", "photos/deep": b"/"}
    assert shown == [(5, 11), (11, 11), (11, 11)]


BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "parent": (lambda p: tar(p, {"ok": b"1", "a/../../evil": b"2"}), "leaves the folder"),
    "absolute": (lambda p: tar(p, {"ok": b"1", "/tmp/evil": b"2"}), "absolute"),
    "symlink": (lambda p: tar(p, {"ok": b"1"}, special("evil", tarfile.SYMTYPE, "/etc")), "a link to /etc"),
    "hard link": (lambda p: tar(p, {"ok": b"1"}, special("evil", tarfile.LNKTYPE, "../../x")), "a link to"),
    "device": (lambda p: tar(p, {"ok": b"1"}, special("evil", tarfile.CHRTYPE)), "device"),
    "pipe": (lambda p: tar(p, {"ok": b"1"}, special("evil", tarfile.FIFOTYPE)), "device or pipe"),
    "file as folder": (lambda p: tar(p, {"ok": b"1", "ok/evil": b"2"}), "lies in 'ok', which is a file"),
    "zip parent": (lambda p: pack(p, {"ok": b"1", "../evil": b"2"}), "leaves the folder"),
    "zip windows parent": (lambda p: pack(p, {"ok": b"1", "a\\..\\..\\evil": b"2"}), "leaves the folder"),
    "zip absolute": (lambda p: pack(p, {"ok": b"1", "/evil": b"2"}), "absolute"),
    "zip drive": (lambda p: pack(p, {"ok": b"1", "C:evil": b"2"}), "absolute"),
    "zip link": (lambda p: zip_link(p, "evil", "/etc"), "a link"),
    "zip bomb": (lambda p: pack(p, {"ok": b"1", "evil": bytes(150_000_000)}), "unpack to 150,000,001"),
    "same twice": (lambda p: pack(p, {"ok": b"1", "./ok": b"2"}), "the same name twice"),
    "empty": (lambda p: tar(p, {}), "empty"),
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
    source = tar(tmp_path / "x", {"../one": b"", "fine": b"", "/two": b""}, special("three", tarfile.SYMTYPE, ".."))
    with pytest.raises(UserError) as caught:
        safe_unpack(source, tmp_path / "out")
    text = str(caught.value)
    assert "3 problems" in text and all(word in text for word in ("../one", "/two", "three")) and "fine" not in text


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_FILES", 5)
    with pytest.raises(UserError, match="more than 5 members"):
        safe_unpack(tar(tmp_path / "x", {str(number): b"" for number in range(9)}), tmp_path / "out")


def test_total_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)
    with pytest.raises(UserError, match="at most 1,000 are unpacked"):
        safe_unpack(tar(tmp_path / "x", {"a": bytes(600), "b": bytes(600)}), tmp_path / "out")


def test_a_forged_header_does_not_fill_the_memory(tmp_path: Path) -> None:
    """tarfile reads a long name in one piece: 10 GB of it in 10 MB of gzip would be a bomb before any member."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 5 * 2**30
    (tmp_path / "x").write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(2**20)))
    with pytest.raises(UserError, match=r"a header of 5,368,70"):
        safe_unpack(tmp_path / "x", tmp_path / "out")


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_damaged_archive_leaves_nothing(tmp_path: Path, kind: str) -> None:
    data = {"a": os.urandom(50_000), "b": os.urandom(50_000)}
    source = pack(tmp_path / "x", data) if kind == "zip" else tar(tmp_path / "x", data)
    whole = source.read_bytes()
    source.write_bytes(whole[:60_000] + (bytes(1000) + whole[61_000:] if kind == "zip" else b""))
    with pytest.raises(UserError, match="nothing was unpacked"):
        safe_unpack(source, tmp_path / "out")
    assert everything(tmp_path / "out") == {}


def test_not_an_archive(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("<html>404</html>" * 100)
    with pytest.raises(UserError, match=r"not a tar, tar\.gz or zip"):
        safe_unpack(tmp_path / "x", tmp_path / "out")
    with pytest.raises(UserError, match="no such file"):
        safe_unpack(tmp_path / "y", tmp_path / "out")


def test_never_overwrites_but_merges(tmp_path: Path) -> None:
    out = tmp_path / "out"
    source = tar(tmp_path / "x", GOOD)
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
        safe_unpack(tar(tmp_path / "x", GOOD), tmp_path / "out")
    assert everything(tmp_path / "elsewhere") == {}


def test_setuid_is_not_kept(tmp_path: Path) -> None:
    info = tarfile.TarInfo("program")
    info.mode = 0o4777
    safe_unpack(tar(tmp_path / "x", {}, info), tmp_path / "out")
    assert not (tmp_path / "out" / "program").stat().st_mode & (stat.S_ISUID | stat.S_IXUSR)


def test_disk_space_is_checked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(archives.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(UserError, match=r"11 bytes when unpacked, but .* has 10 free"):
        safe_unpack(tar(tmp_path / "x", GOOD), tmp_path / "out")
    assert everything(tmp_path / "out") == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["w", "w:gz", "zip"])
def test_a_flipped_byte_is_an_error_or_changes_nothing(kind: str, tmp_path: Path) -> None:
    """A tar with one damaged header was unpacked as far as it went: 4 of 10 files, and no error."""
    files = {f"f{number}": bytes([number]) * 5 for number in range(4)}
    source = pack(tmp_path / "x", files) if kind == "zip" else tar(tmp_path / "x", files, mode=kind)
    whole = source.read_bytes()
    places = range(0, len(whole), 1 if kind != "w" else 7)
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 4
        source.write_bytes(damaged)
        out = tmp_path / f"out{place}"
        try:
            safe_unpack(source, out)
        except UserError:
            assert not any(out.rglob("*"))
        else:
            assert len(list(out.iterdir())) == len(files)


@pytest.mark.slow
def test_a_zip_of_very_many_files(tmp_path: Path) -> None:
    """Above 65,535 the directory counts in a larger record."""
    source = pack(tmp_path / "x", {f"f{number}": b"" for number in range(65_540)})
    with _opened(source) as members:
        assert sum(1 for _ in members()) == 65_540
