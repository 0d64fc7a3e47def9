"""Makes the compact WordNet extract that ships with the package, from Debian's `wordnet-base`.

    apt-get install wordnet-base
    python runs/make_wordnet_extract.py /usr/share/wordnet

Keeps the nouns, verbs and adjectives that occur in captions of photos or in our word lists, and every synset
above them. WordNet's licence goes along as data/WORDNET_LICENSE.txt.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from needs import existing

from equipoise.perturb.english.forms import noun_lemma, verb_lemma
from equipoise.perturb.english.word_lists import counts
from equipoise.perturb.english.wordnet_files import EXTRACT, read_folder, write_extract

DATA = Path(__file__).resolve().parents[1] / "src" / "equipoise" / "perturb" / "data"
RARE = 3  # words seen less often are mostly misspellings


def vocabulary() -> set[str]:
    words = {word for word, number in counts().items() if number >= RARE}
    for name in ("compounds.txt", "synonyms.txt", "exclusive.txt"):
        for line in (DATA / name).read_text(encoding="utf-8").splitlines():
            words |= {part.strip(' "-') for part in re.split(r"[~>,|/:]", line.partition("|")[0])}
    words |= {noun_lemma(word) for word in words} | {verb_lemma(word) for word in words}
    return words - {""}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=existing("index.noun", "data.noun"), help="WordNet's database files")
    data = read_folder(parser.parse_args().folder, vocabulary())
    size = write_extract(data, DATA / EXTRACT)
    print(f"{len(data.senses)} lemmas, {len(data.synsets)} synsets, {size} bytes")


if __name__ == "__main__":
    main()
