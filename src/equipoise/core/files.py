"""Atomic writes, hashes of files, paths that stay in their folder, and strict JSON.

A key that appears twice in a JSON object is an error; Python and pydantic would silently take the last value.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import glob
import gzip
import hashlib
import io
import json
import os
import re
import stat
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from equipoise.core.errors import UserError, did_you_mean, reading

try:
    import fcntl

    HAS_FLOCK = True
except ImportError:  # Windows, which deletes no open file
    HAS_FLOCK = False


def lock_file(handle: int, wait: bool = False) -> None:
    """Lock an open file or folder until it is closed; BlockingIOError where another process has it, unless `wait`."""
    if HAS_FLOCK:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


@contextlib.contextmanager
def atomic_write(path: str | Path, mode: str = "w", *, flush: bool = True) -> Iterator[IO[Any]]:
    """Open a temporary file next to `path` and rename it once everything is written.

    A full disk, Ctrl-C or an exception leaves the old file (or none) and removes the temporary one. A symlink's target
    is replaced; a device, a pipe or a folder never is. Without `flush`, which is much faster for thousands of files, a
    power cut may still lose the file.
    """
    target = plain_target(path)
    make_folder(target.parent)
    _sweep(target)
    handle_number, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with contextlib.suppress(OSError):  # some network folders have no locks
            lock_file(handle_number)
        encoding = None if "b" in mode else "utf-8"
        newline = None if "b" in mode else "\n"
        with os.fdopen(handle_number, mode, encoding=encoding, newline=newline) as handle:
            yield handle
            if flush:
                handle.flush()
                os.fsync(handle.fileno())
        os.chmod(temporary, target.stat().st_mode if target.exists() else _new_mode())
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None or str(error.filename) == temporary:
            raise UserError(f"{target}: could not be written ({error.strerror}); nothing was changed") from error
        raise
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


_PART = re.compile(r"\.(.+)\.[a-z0-9_]{8}\.part")  # as mkstemp names them
_SETTLED = 10  # seconds; a younger file may not be locked yet
_left_over: dict[Path, list[tuple[Path, str]]] = {}  # those in a folder when this process first wrote there


def _sweep(target: Path) -> None:
    """Remove temporary files of `target` from killed processes: nobody holds their lock."""
    folder = target.parent
    if folder not in _left_over:
        matches = ((path, _PART.fullmatch(path.name)) for path in folder.iterdir())
        _left_over[folder] = [(path, match[1]) for path, match in matches if match]
    for path in (path for path, name in _left_over[folder] if name == target.name):
        with contextlib.suppress(OSError):
            with path.open("rb") as handle:
                old = time.time() - os.fstat(handle.fileno()).st_mtime > _SETTLED
                if old:
                    lock_file(handle.fileno())  # BlockingIOError: still being written
            if old:
                path.unlink()  # closed before: Windows deletes no open file


_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def plain_target(path: str | Path) -> Path:
    """The file that writing to `path` would replace, links followed; anything but a plain file is refused."""
    target = Path(path)
    try:
        target = target.resolve() if target.is_symlink() else target
        mode = target.stat().st_mode
    except (OSError, RuntimeError) as error:  # RuntimeError: a circle of links, before Python 3.13
        if isinstance(error, RuntimeError) or error.errno == errno.ELOOP:
            raise UserError(f"{path}: a link that leads to itself; name another file") from None
        return target  # missing or unreadable: writing to it will say why
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "a device")
        raise UserError(f"{path}: {kind}, not a plain file, so it is not replaced; name another file")
    return target


def make_folder(folder: str | Path) -> None:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: the folder cannot be made ({error.strerror})") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"{folder}: no permission to write in this folder")


def as_new(path: str | Path) -> None:
    """Give a file the mode of a new file: those that safetensors writes are readable by their owner alone."""
    os.chmod(path, _new_mode())


def _new_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_json(path: str | Path, value: object) -> None:
    """Write `value` as indented JSON, atomically; NaN is refused because it is not JSON."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as handle:
        handle.write(text + "\n")


def json_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


GZIP = b"\x1f\x8b"  # how a gzipped file begins


def read_text(path: str | Path) -> str:
    """The text of a file, gzipped or not."""
    path = Path(path)
    with whole(path), reading(path), io.TextIOWrapper(opened(path), "utf-8-sig") as handle:
        return handle.read()


def opened(path: Path) -> IO[bytes]:
    """Unpacked where its name or its first two bytes say that it is gzipped."""
    handle = path.open("rb")
    if path.suffix.lower() != ".gz" and handle.peek(2)[:2] != GZIP:
        return handle
    handle.close()
    return gzip.open(path, "rb")  # type: ignore[return-value]


def no_such_file(path: Path) -> UserError:
    """The error, with a file of that folder whose name is close."""
    near = (other.name for other in path.parent.glob(f"*{glob.escape(path.suffix)}"))
    return UserError(f"{path}: no such file.{did_you_mean(path.name, near)}")


@contextlib.contextmanager
def whole(path: Path) -> Iterator[None]:
    """Raise the errors of reading a file as UserError."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: a folder, but a file was expected") from None
    except PermissionError:
        raise UserError(f"{path}: no permission to read it") from None
    except UnicodeDecodeError:
        with whole(path):  # a gzip file may end too early as well
            raise UserError(_not_text(path)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UserError(f"{path}: not a whole gzip file; pack or download it again") from None


def _not_text(path: Path) -> str:
    """Where the first byte that is not UTF-8 is; the error of a reader knows the place in its buffer alone."""
    decoder, line, piece = codecs.getincrementaldecoder("utf-8")(), 1, b"-"
    with opened(path) as handle:
        while piece:
            piece = handle.read(1 << 16)
            try:
                line += decoder.decode(piece, final=not piece).count("\n")
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                return f"{path}, line {line}: not UTF-8 text (byte {error.object[error.start]:#04x})"
    return f"{path}: not UTF-8 text"


class DoubledKey(ValueError):
    """A key appears twice in one object."""


def _single(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise DoubledKey(f"the key {twice[:100]!r} appears twice in one object")
    return fields


DECODER = json.JSONDecoder(object_pairs_hook=_single)  # nearly as fast as json.loads


def parse(text: str) -> Any:
    """The value of `text`. Raises ValueError (JSONDecodeError, DoubledKey, 5,000 digits) or RecursionError."""
    return DECODER.decode(text)


def why(error: ValueError | RecursionError) -> str:
    """The message for an error of `parse`."""
    if isinstance(error, RecursionError):
        return "JSON nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg})"
    return str(error) if isinstance(error, DoubledKey) else f"JSON that cannot be read ({error})"


def read_json(path: str | Path) -> Any:
    return parse_json(read_text(path), str(path))


def parse_json(text: str, name: str) -> Any:
    """The value of `text`; errors name the file `name`."""
    if not text.strip():
        raise UserError(f"{name}: the file is empty; JSON was expected")
    try:
        with reading(name):
            return parse(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{name}, line {error.lineno}, column {error.colno}: not JSON ({error.msg})") from None
    except (RecursionError, ValueError) as error:
        raise UserError(f"{name}: {why(error)}") from None


def sha256_file(path: str | Path) -> str:
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_json(value: object) -> str:
    """Hash of a JSON value, the same for any order of keys."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def stays_inside(path: str) -> bool:
    """Whether a relative path stays inside its folder (links aside)."""
    plain = path.replace("\\", "/")  # ten times faster than PurePath, and called for every item
    return not ("\0" in path or plain.startswith("/") or ".." in plain.split("/") or path[1:2] == ":")


def inside(root: str | Path, relative: str) -> Path:
    """`root/relative`, refused when it would leave `root` (absolute paths, `..`, links outward)."""
    base = Path(root).resolve()
    resolved = (base / relative).resolve()
    if resolved != base and base not in resolved.parents:
        raise UserError(f"path {relative!r} leaves its folder {root}, which is not allowed")
    return base / relative
