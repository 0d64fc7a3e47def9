"""Why whose negatives matter: what their texts alone give away (no model, no photo; seconds).

    python runs/flickr8k/tells.py DATA/train.jsonl DATA-negclip/train.jsonl DATA-crepe/train.jsonl

Words and pairs of words of captions (right) and of negatives (wrong), counted on one half of the photos, judge the
other half, as hn_only would learn to: log P(text | right) - log P(text | wrong), smoothed by one. A caption above its
own negative: the negative is told without looking. A caption above its hard *positive*: the same clue would call a
harmless rewording wrong, which is the shortcut behind brittleness.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from needs import existing

from equipoise.items import Item, load_items


def clues(text: str) -> set[str]:
    words = ["^", *re.findall(r"[a-z']+", text.lower()), "$"]
    return {*words, *(f"{a} {b}" for a, b in pairwise(words))}


def half(item: Item) -> int:
    return hashlib.sha256((item.image.path if item.image else item.id).encode()).digest()[0] % 2


def judge(items: list[Item]) -> dict[str, float]:
    """Shares in percent; a tie counts one half."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for item in items:
        if half(item) == 0 and item.negatives:
            right.update(clues(item.caption))
            wrong.update(clues(random.Random(item.id).choice(item.negatives).text))
    total = math.log(sum(right.values())) - math.log(sum(wrong.values()))

    def score(text: str) -> float:
        return sum(math.log((right[clue] + 1) / (wrong[clue] + 1)) - total for clue in clues(text))

    told, called, fooled, n = 0.0, 0.0, 0.0, 0
    same = new = 0
    for item in items:
        if half(item) == 0 or not item.negatives or not item.positives:
            continue
        rng = random.Random(item.id)
        negative, positive = rng.choice(item.negatives).text, rng.choice(item.positives).text
        c, p, w = score(item.caption), score(positive), score(negative)
        told += (c > w) + 0.5 * (c == w)
        called += (c > p) + 0.5 * (c == p)
        fooled += (c > w) != (p > w)
        n += 1
        mine, theirs = (Counter(re.findall(r"[a-z']+", text.lower())) for text in (item.caption, negative))
        same += mine == theirs
        new += any(right[word] < 5 for word in theirs - mine)
    shares = {"negative told": told, "caption above its positive": called, "blind and brittle": fooled}
    shares |= {"negatives of the same words": same, "negatives with a word that captions hardly have": new}
    return {"n": n} | {name: 100 * value / n for name, value in shares.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", type=existing(), nargs="+")
    for path in parser.parse_args().items:
        found = judge(load_items(path))
        print(path, *(f"{name}: {value:,.1f}" for name, value in found.items()), sep="\n  ")


if __name__ == "__main__":
    main()
