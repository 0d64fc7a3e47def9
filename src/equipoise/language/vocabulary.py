"""The hand-made word lists of `language/data` (plain text, `#` comments, `[sections]`), and how often words occur."""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import Literal, NamedTuple

Section = Literal["object", "attribute", "action", "relation"]
SECTIONS: tuple[Section, ...] = ("object", "attribute", "action", "relation")


class Compound(NamedTuple):
    words: tuple[str, ...]
    kind: Literal["noun", "fixed", "preposition"]


class Guard(NamedTuple):
    """A condition of an entry: `name` says where to look, `words` which words must (not) be there."""

    name: str
    words: frozenset[str]


class SynonymEntry(NamedTuple):
    """A word or phrase; exact: this very form, else a lemma."""

    text: str
    exact: bool


class Synonyms(NamedTuple):
    section: Section
    source: SynonymEntry
    targets: tuple[SynonymEntry, ...]
    guards: tuple[Guard, ...]


class Member(NamedTuple):
    entry: SynonymEntry
    replaced: bool
    chosen: bool


class ExclusiveSet(NamedTuple):
    section: Section
    name: str
    groups: tuple[tuple[Member, ...], ...]
    guards: tuple[Guard, ...]


def read_data(name: str) -> bytes:
    """A file of `language/data`, unpacked."""
    raw = resources.files("equipoise.language").joinpath("data", name).read_bytes()
    return gzip.decompress(raw) if name.endswith(".gz") else raw


def read_text(name: str) -> str:
    return read_data(name).decode()


def _lines(name: str) -> Iterator[tuple[str, str]]:
    """(section, line) of a word list."""
    section = ""
    for raw in read_text(name).splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if match := re.fullmatch(r"\[(\w+)\]", line):
            section = match[1]
        else:
            yield section, line


@functools.cache
def compounds() -> dict[str, tuple[Compound, ...]]:
    """First word -> the compounds that begin with it, the longest first."""
    by_first: dict[str, list[Compound]] = {}
    for section, line in _lines("compounds.txt"):
        words = tuple(line.split())
        if len(words) > 1:
            by_first.setdefault(words[0], []).append(Compound(words, section))  # type: ignore[arg-type]
    return {first: tuple(sorted(listed, key=lambda c: -len(c.words))) for first, listed in by_first.items()}


def _entry(text: str) -> SynonymEntry:
    return SynonymEntry(text.strip().strip('"'), text.strip().startswith('"'))


_GUARDS = frozenset(
    "next notnext prev notprev obj notobj subj notsubj with without plural afternoun first nobody clause mod "
    "never context subject once said agreed sure kin wide".split()
)


def _guards(text: str, line: str) -> tuple[Guard, ...]:
    guards = []
    for part in text.split(";"):
        name, *words = part.split()
        if name not in _GUARDS:
            raise ValueError(f"language/data: unknown guard {name!r} in {line!r}")
        guards.append(Guard(name, frozenset(word for listed in words for word in expand(listed))))
    return tuple(guards)


@functools.cache
def synonyms() -> tuple[Synonyms, ...]:
    lines = []
    for section, line in _lines("synonyms.txt"):
        body, _, guard_text = line.partition("|")
        guards = _guards(guard_text, line) if guard_text.strip() else ()
        if ">" in body:
            source, _, listed = body.partition(">")
            targets = tuple(_entry(part) for part in listed.split(","))
            lines.append(Synonyms(section, _entry(source), targets, guards))  # type: ignore[arg-type]
            continue
        members = [_entry(part) for part in body.split("~")]
        for member in members:
            rest = tuple(other for other in members if other != member)
            lines.append(Synonyms(section, member, rest, guards))  # type: ignore[arg-type]
    return tuple(lines)


@functools.cache
def exclusive() -> tuple[ExclusiveSet, ...]:
    lines = []
    for section, line in _lines("exclusive.txt"):
        if line.startswith("@"):
            continue
        name, _, rest = line.partition(":")
        body, _, guard_text = rest.partition("|")
        groups = tuple(_group(part) for part in body.split(","))
        guards = _guards(guard_text, line) if guard_text.strip() else ()
        lines.append(ExclusiveSet(section, name.strip(), groups, guards))  # type: ignore[arg-type]
    return tuple(lines)


@functools.cache
def exclusive_groups() -> dict[str, dict[int, set[int]]]:
    """Word -> line of exclusive groups -> the groups of the line that hold the word."""
    groups_by_word: dict[str, dict[int, set[int]]] = {}
    for line, listed in enumerate(exclusive()):
        for number, group in enumerate(listed.groups):
            for member in group:
                groups_by_word.setdefault(member.entry.text, {}).setdefault(line, set()).add(number)
    return groups_by_word


def are_exclusive(first: str, second: str) -> bool:
    """Whether some line has both words, and never in one group."""
    first_groups, second_groups = (exclusive_groups().get(word, {}) for word in (first, second))
    return any(
        first_groups[line].isdisjoint(second_groups[line]) for line in first_groups.keys() & second_groups.keys()
    )


def _group(text: str) -> tuple[Member, ...]:
    text = text.strip()
    exact = text.startswith('"')
    words = [word.strip() for word in text.strip('"').split("/")]
    return tuple(
        Member(SynonymEntry(word.lstrip("-+!"), exact), word[0] not in "+!", word[0] not in "-!")
        for word in words
        if word
    )


@functools.cache
def expand(word: str) -> tuple[str, ...]:
    """The words of a guard's word; `@name` stands for a whole set, a hyphen also for the blank of a compound."""
    if not word.startswith("@"):
        return (word, word.replace("-", " ")) if "-" in word else (word,)
    unions, sets = _named()
    words: list[str] = []
    for part in unions[word]:
        if part.startswith("@"):
            words += expand(part)
        else:
            words += sets.get(part, [part])
    return tuple(dict.fromkeys(words))


@functools.cache
def members(name: str) -> frozenset[str]:
    """The words of a set of exclusive.txt."""
    return frozenset(expand(name))


@functools.cache
def _named() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """(the unions that `@name = ...` lines define, the words of each set)."""
    unions: dict[str, list[str]] = {}
    sets: dict[str, list[str]] = {}
    for _, line in _lines("exclusive.txt"):
        if line.startswith("@"):
            name, _, parts = line.partition("=")
            unions[name.strip()] = parts.split()
        else:
            name, _, rest = line.partition(":")
            words = re.split(r"[/,]", rest.partition("|")[0].replace('"', ""))
            if name.strip() in sets:
                raise ValueError(f"language/data/exclusive.txt: two sets are called {name.strip()!r}")
            sets[name.strip()] = [word.strip().lstrip("-+!") for word in words]
    return unions, sets


@functools.cache
def counts() -> dict[str, int]:
    """How often words and compounds occur in captions of photos; see studies/make_word_counts.py."""
    by_text: dict[str, int] = json.loads(read_data("counts.json.gz"))
    return by_text


@functools.lru_cache(maxsize=1 << 16)
def count(text: str) -> int:
    """The count of a word or phrase; a phrase never seen counts as one."""
    return max(1, counts().get(text.lower(), 0))


Kinds = tuple[tuple[str, ...], ...]  # groups of names that exclude each other


@functools.cache
def kinds() -> dict[str, Kinds]:
    """General noun -> the groups of its kinds that exclude each other (kinds.txt)."""
    by_noun: dict[str, Kinds] = {}
    for _, line in _lines("kinds.txt"):
        general, _, rest = line.partition(":")
        if "!" not in rest:
            groups = tuple(tuple(word.strip() for word in group.split("/")) for group in rest.split(","))
            by_noun[general.strip()] = groups
    return by_noun


_SECTION = re.compile(r"\[([^\]]+)\]")


def word_set(name: str) -> frozenset[str]:
    """A list of vocabulary.txt as a set."""
    return frozenset(_lists()[name])


def word_map(name: str) -> dict[str, str]:
    """A list of pairs: "men: man"."""
    return dict(line.split(": ") for line in _lists()[name])


def word_list(name: str) -> tuple[str, ...]:
    """A list in the order of the file, for draws from it."""
    return _lists()[name]


@functools.cache
def _lists() -> dict[str, tuple[str, ...]]:
    lists: dict[str, list[str]] = {}
    section: list[str] = []
    for line in read_text("vocabulary.txt").splitlines():
        if match := _SECTION.fullmatch(line):
            if match[1] in lists:
                raise ValueError(f"language/data/vocabulary.txt: two lists are called {match[1]!r}")
            section = lists[match[1]] = []
        elif not line.startswith("#"):
            section += (word.strip() for word in line.split(",") if word.strip())
    return {name: tuple(words) for name, words in lists.items()}
