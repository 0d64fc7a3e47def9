"""Windows and macOS by their parts: what Linux has and they lack is taken away, one thing at a time."""

from __future__ import annotations

import io
import multiprocessing
import os
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from equipoise import cli
from equipoise.benchmarks.registry import load_file
from equipoise.core import files, run_folder
from equipoise.core.errors import Busy
from equipoise.core.files import atomic_write
from equipoise.core.run_folder import locked, take
from equipoise.data.images import TarImages
from equipoise.data.items import load_items
from equipoise.world.splits import make_world

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def no_fcntl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "HAS_FLOCK", False)


@pytest.mark.usefixtures("no_fcntl")
def test_a_folder_without_flock_has_a_lock_file_that_is_nobodys_data(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with locked(folder):
        take(folder, "eval", {"seed": 0})  # the lock file is not a file in the way
        code = "from equipoise.core import files, run_folder; import sys; files.HAS_FLOCK = False\n"
        code += "with run_folder.locked(sys.argv[1]): pass"
        other = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True)
        assert other.returncode != 0 and "another run is writing here" in other.stderr
    assert not (folder / run_folder.LOCK).exists()
    with locked(folder):
        pass


@pytest.mark.usefixtures("no_fcntl")
def test_files_are_written_without_flock(tmp_path: Path) -> None:
    for text in ("one", "two"):
        with atomic_write(tmp_path / "a.txt") as handle:
            handle.write(text)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"] and (tmp_path / "a.txt").read_text() == "two"


def test_shards_are_read_without_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    Image.new("RGB", (4, 4)).save(data, "PNG")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("1.png")
        member.size = len(data.getvalue())
        archive.addfile(member, io.BytesIO(data.getvalue()))
    monkeypatch.delattr(os, "pread")
    assert TarImages([tmp_path / "a.tar"]).read("1.png") == data.getvalue()


class Console(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-8"])
def test_a_console_without_utf_8_shows_every_table(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("id,caption,positive,negative\nü→1,0.3,0.2,0.1\n2,0.3,0.1,0.2\n", encoding="utf-8")
    out = Console(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "argv", ["equipoise", "metrics", str(scores)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out.flush()
    shown = out.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert ended.value.code == 0 and "Brittleness" in shown
    assert ("┃" in shown) == (encoding == "utf-8") and ("| " in shown) == (encoding != "utf-8")


def test_a_file_gets_every_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON sent to a file on Windows, whose encoding is the console's."""
    items = tmp_path / "例.csv"
    items.write_text("image,caption,negative\na.jpg,狗,猫\n", encoding="utf-8")
    out = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "argv", ["equipoise", "bench", "show", str(items), "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out.flush()
    assert ended.value.code == 0 and "例" in out.buffer.getvalue().decode()  # type: ignore[attr-defined]


def test_files_with_windows_line_ends_are_read(tmp_path: Path) -> None:
    rows = ["image,caption,negative,positive", "a.jpg,A dog,A cat,A hound"]
    (tmp_path / "unix.csv").write_bytes("\n".join(rows).encode())
    (tmp_path / "windows.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(rows).encode())
    line = b'{"id": "1", "image": "a.jpg", "caption": "A dog", "negatives": ["A cat"]}'
    (tmp_path / "unix.jsonl").write_bytes(line + b"\n")
    (tmp_path / "windows.jsonl").write_bytes(line + b"\r\n")
    tables = [load_file(tmp_path / f"{name}.csv", ()) for name in ("unix", "windows")]
    lists = [load_items(tmp_path / f"{name}.jsonl") for name in ("unix", "windows")]
    for one, other in (tables, lists):
        assert list(one) == list(other) and len(list(one)) == 1


def test_no_two_files_differ_by_case_alone() -> None:
    """In a folder that ignores case they would be one."""
    paths = [
        path.relative_to(ROOT)
        for room in ("src", "tests", "docs", "bench", "examples")
        for path in (ROOT / room).rglob("*")
    ]
    twice = [name for name, count in Counter(str(path).lower() for path in paths).items() if count > 1]
    assert len(paths) > 500 and not twice


@pytest.fixture
def spawn() -> Iterator[None]:
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method("spawn", force=True)
    yield
    multiprocessing.set_start_method(before, force=True)


@pytest.mark.slow
@pytest.mark.usefixtures("spawn")
def test_training_starts_its_workers_by_spawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: Callable[..., tuple[int, str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    items = make_world(8, 0, tmp_path / "photos")
    options = ("--quick", "--set", "max_steps=2", "--set", "batch_size=4", "--workers", "1", "--model", "world")
    files = ("--items", str(items), "--images", "photos", "--out", "training")
    code, _, said = command_line("train", "hard_positives_kamath_2024", *options, *files)
    assert code == 0, said
    assert (tmp_path / "training" / "model" / "config.json").is_file()


def test_a_held_lock_is_refused_where_flock_exists(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "run"),
        pytest.raises(Busy),
        locked(tmp_path / "run"),
    ):
        pass
