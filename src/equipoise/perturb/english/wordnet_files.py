"""Reads WordNet's database files (wndb format), and the compact extract made from them."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Collection
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from equipoise.errors import UserError

_FILES = {"n": "noun", "v": "verb", "a": "adj"}
EXTRACT = "wordnet.json.gz"


class Synset(NamedTuple):
    lexfile: int  # lexicographer file: 5 animals, 6 artifacts, 13 food, ...
    lemmas: tuple[str, ...]
    above: tuple[str, ...]  # hypernyms
    against: tuple[str, ...]  # antonyms, as lemmas


class Data(NamedTuple):
    senses: dict[str, list[tuple[str, int]]]  # "n:couch" -> (synset, how often tagged), in WordNet's order
    synsets: dict[str, Synset]


def read_folder(folder: Path, keep: Collection[str] | None = None) -> Data:
    """WordNet's own files; with `keep`, only these lemmas and what stands above them."""
    if not (folder / "index.noun").is_file():
        raise UserError(
            f"{folder}: expected WordNet's database files (index.noun, data.noun, ...) and found none; "
            "on Debian they come with `apt-get install wordnet-base` in /usr/share/wordnet"
        )
    counts = _tag_counts(folder / "cntlist.rev")
    wanted = None if keep is None else set(keep)
    senses: dict[str, list[tuple[str, int]]] = {}
    for letter, name in _FILES.items():
        for line in _records(folder / f"index.{name}"):
            lemma, _, synset_count, pointers, *rest = line.split()
            word = lemma.replace("_", " ")
            if wanted is not None and word not in wanted:
                continue
            offsets = rest[int(pointers) + 2 :][: int(synset_count)]
            senses[f"{letter}:{word}"] = [
                (letter + offset, counts.get((lemma, letter, number), 0)) for number, offset in enumerate(offsets, 1)
            ]
    synsets = {}
    for letter, name in _FILES.items():
        for line in _records(folder / f"data.{name}"):
            offset, synset = _synset(line, letter, wanted)
            synsets[offset] = synset
    if wanted is not None:
        synsets = _reachable(senses, synsets)
    return Data(senses, synsets)


def _records(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if not line.startswith("  ")]


def _tag_counts(path: Path) -> dict[tuple[str, str, int], int]:
    found: dict[tuple[str, str, int], int] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        key, number, tagged = line.split()
        lemma, _, rest = key.partition("%")
        letter = {"1": "n", "2": "v", "3": "a", "5": "a"}.get(rest[0])
        if letter:
            found[lemma, letter, int(number)] = int(tagged)
    return found


def _synset(line: str, letter: str, wanted: set[str] | None) -> tuple[str, Synset]:
    fields = line.partition("|")[0].split()
    count = int(fields[3], 16)
    lemmas = tuple(
        fields[4 + 2 * i].replace("_", " ").partition("(")[0].lower()
        if letter == "a"
        else fields[4 + 2 * i].replace("_", " ")
        for i in range(count)
    )
    start = 5 + 2 * count
    pointers = [fields[start + 4 * i : start + 4 * i + 4] for i in range(int(fields[start - 1]))]
    above = tuple(letter + offset for symbol, offset, pos, _ in pointers if symbol in {"@", "@i"} and pos == letter)
    against = tuple(letter + offset for symbol, offset, pos, _ in pointers if symbol == "!" and pos in {letter, "a"})
    if wanted is not None:
        lemmas = tuple(lemma for lemma in lemmas if lemma in wanted)
    return letter + fields[0], Synset(int(fields[1]), lemmas, above, against)


def _reachable(senses: dict[str, list[tuple[str, int]]], synsets: dict[str, Synset]) -> dict[str, Synset]:
    todo = [synset for listed in senses.values() for synset, _ in listed]
    kept: dict[str, Synset] = {}
    while todo:
        name = todo.pop()
        if name not in kept:
            kept[name] = synsets[name]
            todo += synsets[name].above
    return {
        name: synset._replace(against=tuple(other for other in synset.against if other in kept))
        for name, synset in sorted(kept.items())
    }


def write_extract(data: Data, path: Path) -> int:
    """The extract as gzipped JSON; returns its size in bytes."""
    short = {name: number for number, name in enumerate(data.synsets)}
    record = {
        "senses": {word: [[short[name], tagged] for name, tagged in listed] for word, listed in data.senses.items()},
        "synsets": [
            [s.lexfile, s.lemmas, [short[n] for n in s.above], [short[n] for n in s.against]]
            for s in data.synsets.values()
        ],
    }
    packed = gzip.compress(json.dumps(record, separators=(",", ":")).encode(), mtime=0)
    path.write_bytes(packed)
    return len(packed)


@functools.cache
def read_extract() -> Data:
    with resources.files("equipoise.perturb").joinpath("data", EXTRACT).open("rb") as handle:
        record = json.loads(gzip.decompress(handle.read()))
    senses = {word: [(str(name), tagged) for name, tagged in listed] for word, listed in record["senses"].items()}
    synsets = {
        str(number): Synset(lexfile, tuple(lemmas), tuple(map(str, above)), tuple(map(str, against)))
        for number, (lexfile, lemmas, above, against) in enumerate(record["synsets"])
    }
    return Data(senses, synsets)
