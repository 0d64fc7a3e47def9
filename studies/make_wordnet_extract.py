"""Makes the compact WordNet extract that ships with the package, from Debian's `wordnet-base`.

    apt-get install wordnet-base
    python -m studies.make_wordnet_extract /usr/share/wordnet

Keeps the nouns, verbs and adjectives that occur in captions of photos or in our word lists, and every synset
above them. WordNet's licence goes along as data/WORDNET_LICENSE.txt.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from equipoise.language.forms import noun_lemma, verb_lemma
from equipoise.language.vocabulary import counts
from equipoise.language.wordnet import EXTRACT, Data, Synset
from studies.harness import LANGUAGE, write_packed
from studies.harness.inputs import arguments, existing

_FILES = {"n": "noun", "v": "verb", "a": "adj"}
RARE = 3  # words seen less often are mostly misspellings


def vocabulary() -> set[str]:
    words = {word for word, number in counts().items() if number >= RARE}
    for name in ("compounds.txt", "synonyms.txt", "exclusive.txt"):
        for line in (LANGUAGE / name).read_text(encoding="utf-8").splitlines():
            words |= {part.strip(' "-') for part in re.split(r"[~>,|/:]", line.partition("|")[0])}
    words |= {noun_lemma(word) for word in words} | {verb_lemma(word) for word in words}
    return words - {""}


def read_folder(folder: Path, keep: Collection[str] | None = None) -> Data:
    """WordNet's own files; with `keep`, only these lemmas and what stands above them."""
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
    counts: dict[tuple[str, str, int], int] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        key, number, tagged = line.split()
        lemma, _, rest = key.partition("%")
        letter = {"1": "n", "2": "v", "3": "a", "5": "a"}.get(rest[0])
        if letter:
            counts[lemma, letter, int(number)] = int(tagged)
    return counts


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
    return write_packed(path, record)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("folder", type=existing("index.noun", "data.noun"), help="WordNet's database files")
    data = read_folder(parser.parse_args().folder, vocabulary())
    size = write_extract(data, LANGUAGE / EXTRACT)
    print(f"{len(data.senses)} lemmas, {len(data.synsets)} synsets, {size} bytes")


if __name__ == "__main__":
    main()
