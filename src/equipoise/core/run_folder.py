"""Output folders: each belongs to one run.

Before it works, a command locks its folder (`locked`) and calls `take`, which starts a new run or resumes the same one.
The folder of another run is refused, with the differences and the ways out. The claim (a small JSON file with the run's
identity) is written first, so that a killed run can be recognised.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from equipoise.core import files
from equipoise.core.errors import Busy, InTheWay, OtherRun, UserError, listed
from equipoise.core.files import atomic_write, lock_file, make_folder, plain_target, read_json, write_json
from equipoise.core.progress import STATUS

CLAIM = ".equipoise.json"  # hidden, so that no reader of the folder takes it for data
SCHEMA = 1
LOCK = ".equipoise.lock"  # on Windows
SHOWN = 6  # differences
UNKNOWN = "cannot be identified"  # a value that begins so equals nothing, not even itself
_LONG = 60  # characters of a value


def take(
    folder: str | Path,
    command: str,
    identity: Mapping[str, object],
    *,
    writes: Iterable[str] | None = None,
    claim: str = CLAIM,
    resumes: bool = True,
) -> None:
    """Claim `folder` for the run that `identity` (any JSON) describes, unless it already is this run's.

    writes     names that the run will write, which must not exist in a folder without a claim; None: any name
    resumes    whether an unfinished run is kept; if not, another run may replace it
    """
    folder = Path(folder)
    there = _claimed(folder, command, writes, claim)
    if there is not None:
        if resumes:
            refuse_other(folder, there["run"], identity)
        if not differences(there["run"], identity):
            return
    for left in folder.glob(f".{glob.escape(claim)}.*.part"):  # of a run killed while it wrote its claim
        left.unlink(missing_ok=True)
    write_json(folder / claim, {"schema": SCHEMA, "command": command, "run": _plain(identity)})


def refuse_early(
    folder: str | Path,
    command: str,
    known: Mapping[str, object],
    *,
    writes: Iterable[str] | None = None,
    claim: str = CLAIM,
) -> None:
    """Before long work, refuse what `take` would refuse given `known`, a part of the identity."""
    folder = Path(folder)
    nearest = next((place for place in (folder, *folder.parents) if os.path.lexists(place)), folder)
    if nearest.exists() and not nearest.is_dir():
        raise UserError(f"--out {nearest}: expected a folder, found a file; choose another --out")
    there = _claimed(folder, command, writes, claim)
    if there is not None:
        refuse_other(folder, {name: there["run"].get(name) for name in known}, known)


def _claimed(folder: Path, command: str, writes: Iterable[str] | None, claim: str) -> dict[str, Any] | None:
    """The claim in the folder; raises if it is another command's, or missing while files are in the way."""
    there = claim_of(folder / claim)
    if there is not None:
        if there["command"] not in (None, command):
            refuse_other(folder, {"command": there["command"]}, {"command": command})
        return there
    if writes is not None:
        names = [name for name in writes if os.path.lexists(folder / name)]
    else:
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        left = (f".{claim}.", STATUS, f".{STATUS}.", LOCK)  # by a kill
        names = [name for name in names if not name.startswith(left)]
    if names:
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        raise UserError(
            f"{folder} is not empty and holds no run of equipoise {command}: {', '.join(names[:3])}{more} would be "
            f"overwritten or mixed with its files. Choose another --out, or delete these files."
        )
    return None


def claim_of(path: Path) -> dict[str, Any] | None:
    """The claim in a file, as `command` and `run`; None if there is no file."""
    if not path.exists():
        return None
    try:
        claim = read_json(path)
    except UserError as error:
        raise UserError(f"{error}. {_ways_out('folder')}") from None
    schema = claim.get("schema") if isinstance(claim, dict) else None
    if type(schema) is not int or not isinstance(claim.get("run"), dict):
        raise UserError(f"{path}: not written by equipoise, or damaged. {_ways_out('folder')}")
    if schema > SCHEMA:
        raise UserError(f"{path}: written by a newer version of equipoise; update it to resume this run")
    return {"command": claim.get("command"), "run": claim["run"]}


def refuse_other(
    place: Path, there: Mapping[str, object], here: Mapping[str, object], kind: str = "folder", also: Sequence[str] = ()
) -> None:
    """Raise if `place` holds another run, and say what differs; `also` are further reasons."""
    if changed := [*also, *differences(there, here)]:
        raise OtherRun(f"{place} holds another run:\n{listed(changed, SHOWN)}\n{_ways_out(kind)}")


def refuse_file(path: Path, why: str = "it is already there, and not what this command would write") -> NoReturn:
    raise InTheWay(f"{path}: {why}; nothing is overwritten. {_ways_out('file')}")


_HEAD = 2_000  # bytes searched for the mark


def write_own(path: str | Path, text: str, mark: str = "") -> None:
    """Write a text that contains `mark`, but never over a foreign file (see `refuse_foreign`)."""
    refuse_foreign(path, mark, text)
    with atomic_write(path) as handle:
        handle.write(text)


def refuse_foreign(path: str | Path, mark: str, text: str | None = None) -> None:
    """Raise if the file exists and this command did not write it: it is not empty, lacks the `mark` and is not `text`.

    Called before long work, and again by `write_own`."""
    target = plain_target(path)
    if not target.exists():
        return
    with target.open("rb") as handle:
        there = handle.read(_HEAD if text is None else -1)
    if there and not (mark and mark.encode() in there[:_HEAD]) and (text is None or there != text.encode()):
        refuse_file(Path(path), "already there, and not written by this command")


def _ways_out(kind: str) -> str:
    return f"Choose another --out, or delete this {kind} if you no longer need it."


def differences(there: object, here: object) -> list[str]:
    """The fields in which two JSON values differ: "model device: there cpu, here cuda"."""
    return list(_differences(_plain(there), _plain(here), ""))


def _differences(there: object, here: object, name: str) -> Iterator[str]:
    if _canonical(there) == _canonical(here) and UNKNOWN not in _canonical(here):
        return
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for key in dict.fromkeys([*here, *there]):  # a missing field counts as null
            yield from _differences(there.get(key), here.get(key), f"{name} {key.replace('_', ' ')}".lstrip())
    elif isinstance(here, str) and here.startswith(UNKNOWN):
        yield f"{name}: {here}"
    elif _canonical(there) != _canonical(here):
        first, second = _words(there), _words(here)
        yield f"{name}: there {_short(first, second)}, here {_short(second, first)}"


def _plain(value: object) -> object:
    """The value as JSON will return it: tuples as lists, other objects as strings."""
    return json.loads(json.dumps(value, default=str))


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _words(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "yes", False: "no"}[value]
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _short(text: str, other: str) -> str:
    """A long value cut: a hash to its start, anything else to where it differs from the other value."""
    if len(text) >= 16 and not set(text) - set("0123456789abcdef"):
        return f"{text[:10]}…"
    if len(text) <= _LONG:
        return text
    same = next((place for place, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), len(other))
    start = max(0, same - 10)
    end = start + _LONG
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


@contextlib.contextmanager
def locked(folder: str | Path, *, name: str | Path | None = None, wait: bool = False) -> Iterator[None]:
    """Lock `folder` for this process; the lock ends with the process, however that ends.

    A second run is refused, under the `name` that the user knows, or waits (`wait`). Some file systems have no locks.
    """
    if not Path(folder).is_dir():
        make_folder(folder)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_folder_lock(Path(folder), wait))
        except BlockingIOError:
            raise Busy(
                f"{name or folder}: another run is writing here; wait until it ends, or choose another --out"
            ) from None
        yield


_held: set[int] = set()


@contextlib.contextmanager
def _folder_lock(folder: Path, wait: bool) -> Iterator[None]:
    """Lock a folder, which is made; BlockingIOError where another process has it, unless `wait`.

    Some file systems have no locks.
    """
    if not files.HAS_FLOCK:
        from filelock import FileLock, Timeout

        lock = FileLock(folder / LOCK)
        try:
            lock.acquire(timeout=-1 if wait else 0)
        except Timeout:
            raise BlockingIOError from None
        try:
            yield
        finally:
            lock.release()
            with contextlib.suppress(OSError):  # the folder may be gone, or another process may have the lock by now
                (folder / LOCK).unlink()
        return
    handle = _handle(folder, wait)
    try:
        yield
    finally:
        if handle in _held:
            _held.remove(handle)
            os.close(handle)


def _handle(folder: Path, wait: bool) -> int:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        try:
            lock_file(handle, wait)
            if os.path.samestat(os.fstat(handle), folder.stat()):
                _held.add(handle)
                return handle
        except BlockingIOError:
            raise
        except FileNotFoundError:  # its last owner removed the folder: try again
            pass
        except OSError:  # a file system without locks
            return -1
        finally:
            if handle not in _held:
                os.close(handle)


def _let_go() -> None:
    """A forked worker that outlives its parent must not keep the parent's locks."""
    while _held:
        os.close(_held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
