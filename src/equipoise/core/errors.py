"""Errors for users: the command line prints a `UserError` without a traceback and exits with code 2.

A file with several problems raises one error that lists them all."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator, Sequence

SHOWN = 20  # problems printed in full; the rest is counted


class UserError(Exception):
    """Bad input: what was expected, what was found and where, and what fixes it."""


class OtherRun(UserError):
    """The folder or file holds a run of other settings or inputs; the message lists what differs."""


class Busy(UserError):
    """Another process is writing there."""


class InTheWay(UserError):
    """A file that is not ours, or differs from the one to be written: nothing is overwritten."""


class Unreachable(UserError):
    """A server that the user's own code asks does not answer."""


class Stopped(KeyboardInterrupt):
    """Ctrl-C or SIGTERM; `code` is the exit code that shells expect."""

    def __init__(self, code: int = 130, message: str = "") -> None:
        super().__init__(message)
        self.code = code


_RESUME = {"eval", "perturb", "train", "demo", "bench fetch", "bench build world", "study make"}


def stopped_words(arguments: Sequence[str]) -> str:
    """The message when a command is stopped; only some commands resume."""
    if _RESUME & {" ".join(arguments[:count]) for count in (1, 2, 3)}:
        return "stopped; finished work is kept, and the same command resumes"
    return "stopped; the same command starts over"


class Problems:
    """Collects all problems of one input and raises them together."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.found: list[str] = []

    def add(self, where: str, what: str) -> None:
        self.found.append(f"{where}: {what}" if where else what)

    def add_some(self, what: str, ids: Sequence[str]) -> None:
        """One problem for many ids: their number and the first few."""
        if ids:
            more = ", ..." if len(ids) > 5 else ""
            self.add("", f"{len(ids):,} {what}: {', '.join(map(repr, ids[:5]))}{more}")

    def raise_if_any(self, fix: str = "") -> None:
        problems = list(dict.fromkeys(self.found))  # a file may be read once for each split
        if not problems:
            return
        count = len(problems)
        said = f"{self.subject}: {count} problem{'s' if count > 1 else ''}\n{listed(problems, SHOWN)}"
        raise UserError(f"{said}\n{fix}" if fix else said)


def listed(lines: Sequence[str], shown: int = 5) -> str:
    more = [f"... and {len(lines) - shown:,} more"] if len(lines) > shown else []
    return "\n".join(f"  {line}" for line in [*lines[:shown], *more])


def first_line(error: BaseException) -> str:
    """The first line of another program's error."""
    return str(error).strip().split("\n")[0][:300] or type(error).__name__


def printable(text: str, *, lines: bool = False) -> str:
    """The text with escape codes and direction marks shown instead of obeyed; `lines` keeps line ends and tabs.

    All untrusted text (tags, ids, names in archives) goes through here before it is printed.
    """
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() or (lines and mark in "\n\t") else ascii(mark)[1:-1] for mark in text)


@contextlib.contextmanager
def reading(path: object) -> Iterator[None]:
    """Names the file when memory runs out."""
    try:
        yield
    except MemoryError:
        raise UserError(f"{path}: not enough memory to read it") from None


_ALIASES = {"learning_rate": "lr", "finetune": "train", "evaluate": "eval", "score": "eval", "leaderboard": "report"}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """' Did you mean X?' where a known name, or one that others use, is close to `name`; else an empty string."""
    listed = list(known)
    meant = _ALIASES.get(name.lower().replace("-", "_"))
    close = [meant] if meant in listed else difflib.get_close_matches(name, listed, n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(close)}?" if close else ""


def refuse_doubled(where: object, names: Iterable[str], what: str = "columns") -> None:
    listed = list(names)
    if twice := next((name for name in listed if listed.count(name) > 1), None):
        raise UserError(f"{where}: two {what} are called {twice!r}; which one is meant?")


def missing_columns(header: Iterable[str]) -> str:
    """For a table of items or scores: 'column negative is missing. Did you mean neg? Call it negative.'"""
    several, given = ("negative", "positive"), [str(name) for name in header]
    there = {"caption": "caption" in given, "negative": any(name.startswith("negative") for name in given)}
    missing = [name for name, held in there.items() if not held]
    others = [name for name in given if name not in ("id", "image", "caption") and not name.startswith(several)]
    hints = [f"{near} Call it {name}." for name in missing if (near := did_you_mean(name, others))]
    verb = "s {} are" if len(missing) > 1 else " {} is"
    return f"column{verb.format(' and '.join(missing))} missing.{''.join(hints)}"
