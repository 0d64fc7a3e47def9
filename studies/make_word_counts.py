"""Counts words and compounds in captions of photos, for drawing replacements as often as people use them.

    python -m studies.make_word_counts [--shared DATA]

Reads the captions of COCO (CC BY 4.0) and Flickr8k that caption_halves.py leaves for learning; writes
src/equipoise/language/data/counts.json.gz, which holds counts alone.
"""

from __future__ import annotations

import re
from collections import Counter

from studies.caption_halves import learning
from studies.harness import LANGUAGE, write_packed
from studies.harness.inputs import HALVES, arguments

WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")


def wanted_phrases() -> set[tuple[str, ...]]:
    """Every run of two to five words in the word lists, so that phrases get their counts too."""
    phrases: set[tuple[str, ...]] = set()
    for name in ("compounds.txt", "synonyms.txt", "exclusive.txt"):
        for line in (LANGUAGE / name).read_text(encoding="utf-8").splitlines():
            for part in re.split(r"[~>,|/:\"]", line):
                words = tuple(WORD.findall(part.lower()))
                if 2 <= len(words) <= 5:
                    phrases.add(words)
                    phrases.add((*words[:-1], words[-1] + "s"))
    return phrases


def main() -> None:
    shared = arguments(__doc__, *HALVES).parse_args().shared
    words: Counter[str] = Counter()
    phrases = wanted_phrases()
    for caption in (text for _, texts in learning(shared) for text in texts):
        tokens = WORD.findall(caption.lower())
        words.update(tokens)
        for length in range(2, 6):
            for start in range(len(tokens) - length + 1):
                if tuple(tokens[start : start + length]) in phrases:
                    words[" ".join(tokens[start : start + length])] += 1
    kept = {word: number for word, number in sorted(words.items()) if number >= 2}
    print(f"{len(kept)} words and phrases, {write_packed(LANGUAGE / 'counts.json.gz', kept)} bytes")


if __name__ == "__main__":
    main()
