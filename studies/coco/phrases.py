"""Short phrases out of captions, with the edits of their captions: "man on a bench" of "A man sitting on a bench."

Captions of COCO have ten words; the statements of REPLACE and VSR have three. A phrase is a part of a caption in which
one of its negatives differs, or that states a relation with a known converse: "cat next to dog" is also "dog next to
cat", "cat on top of car" is "car under cat" and never "car on top of cat".
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import pairwise

from equipoise.data.items import Edit, Item, Text
from equipoise.language.caption import Caption
from equipoise.language.wordnet import is_garment

SYMMETRIC = frozenset(("next to", "beside", "near", "alongside", "close to", "touching"))  # holds both ways
INVERSE = {  # A relation B -> B converse A
    "on top of": "under",
    "above": "below",
    "over": "under",
    "under": "above",
    "below": "above",
    "underneath": "on top of",
    "beneath": "on top of",
    "in": "containing",
    "inside": "containing",
    "inside of": "containing",
    "holding": "held by",
    "carrying": "carried by",
    "wearing": "worn by",
    "riding": "ridden by",
    "pulling": "pulled by",
    "chasing": "chased by",
    "watching": "watched by",
}
LINKS = {"be", "verb", "preposition"}
MOST = 3  # words between the two things


def phrases(item: Item, rng: random.Random) -> Iterator[Item]:
    """The phrases of a caption that have a negative or a converse, as items of the same photo."""
    caption = Caption(item.caption)
    if caption.is_title:
        return
    for number, (start, end) in enumerate(dict.fromkeys(windows(caption))):
        first, last = caption.units[start].start, caption.units[end - 1].end
        turned, wrong = law(caption, start, end)
        positives, negatives = (
            turned + cut(item, item.positives, first, last),
            wrong + cut(item, item.negatives, first, last),
        )
        if not turned and not negatives:
            continue
        plain = rng.random() < 0.5  # as REPLACE writes: "man on bench"
        yield item.model_copy(
            update={
                "id": f"{item.id}/{number}",
                "caption": written(item.caption[first:last], plain),
                "positives": tuple(one.model_copy(update={"text": written(one.text, plain)}) for one in positives),
                "negatives": tuple(one.model_copy(update={"text": written(one.text, plain)}) for one in negatives),
            }
        )


def windows(caption: Caption) -> Iterator[tuple[int, int]]:
    """Units of two things and what is said of them; then of one thing with a property."""
    units, nouns = caption.units, caption.phrases
    for one, two in pairwise(nouns):
        between = units[one.end : two.start]
        if 0 < len(between) <= MOST and all(unit.kind in LINKS for unit in between):
            yield one.core, two.end
    for noun in nouns:
        if noun.head > noun.core:
            yield noun.core, noun.end


def law(caption: Caption, start: int, end: int) -> tuple[list[Text], list[Text]]:
    """What follows from a relation between two things, and what it excludes."""
    nouns = [noun for noun in caption.phrases if start <= noun.core and noun.end <= end]
    if len(nouns) != 2:
        return [], []
    one, two = nouns
    between = caption.units[one.end : two.start]
    relation = " ".join(unit.word for unit in between if unit.kind != "be")
    if relation == "in" and is_garment(caption.head_lemma(two)):
        return [], []
    first, second = caption.text_of(one.core, one.end), caption.text_of(two.start, two.end)
    edit = Edit(op="swap", target="relation", by="rules")
    same = [Text(text=f"{second} {relation} {first}", edit=edit)]
    if relation in SYMMETRIC:
        return same, []
    if relation in INVERSE:
        return [Text(text=f"{second} {INVERSE[relation]} {first}", edit=edit)], same
    return [], []


def cut(item: Item, texts: tuple[Text, ...], start: int, end: int) -> list[Text]:
    """The texts that differ from the caption between two characters alone, cut to these."""
    left, right = item.caption[:start], item.caption[end:]
    return [
        text.model_copy(update={"text": text.text[start : len(text.text) - len(right)]})
        for text in texts
        if text.text.startswith(left) and text.text.endswith(right) and len(text.text) > start + len(right)
    ]


def written(phrase: str, plain: bool) -> str:
    phrase = phrase.lower()
    return re.sub(r"\b(a|an|the) ", "", phrase) if plain else phrase
