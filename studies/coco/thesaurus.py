"""Short phrases with a word of a thesaurus: "scarlet bus" is a red bus and no blue one.

thesaurus.toml has the words. REPLACE rewords with 36 pairs of words ("red" to "crimson", "in" to "within"). By default
no headword is reworded as REPLACE does, and REPLACE's other words are no rewordings here ("tiny" may be in a negative,
and "big" becomes "huge", which REPLACE turns round); `known` keeps them all. `published` writes phrases with REPLACE's
own pairs, for photos of dev.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from equipoise.benchmarks.replace.build import LEXICON
from equipoise.data.items import Edit, Item, Text
from equipoise.language.caption import Caption
from equipoise.language.vocabulary import Section
from equipoise.language.wordnet import is_garment, is_person, is_thing
from studies.coco.phrases import windows, written


class Entry(NamedTuple):
    target: Section
    same: list[str]
    excluded: list[str]


def entries() -> dict[str, Entry]:
    data = tomllib.loads(Path(__file__).with_name("thesaurus.toml").read_text(encoding="utf-8"))
    shades, like = data["shades"], data["like"]
    found = {
        colour: Entry("attribute", same, [other for other in shades if other not in (colour, *like[colour])])
        for colour, same in shades.items()
    }
    targets: tuple[Section, ...] = ("attribute", "relation")
    for target in targets:
        found |= {word: Entry(target, row["same"], row["not"]) for word, row in data[target].items()}
    return found


ENTRIES = entries()
HEADWORD = re.compile(rf"\b({'|'.join(sorted(ENTRIES, key=len, reverse=True))})\b(?!-)")
PUBLISHED = {word: to for kinds in LEXICON.values() for pairs in kinds.values() for word, to in pairs.items()}
OF_REPLACE = frozenset(PUBLISHED.values()) - frozenset(ENTRIES)
SETS = tomllib.loads(Path(__file__).parents[1].joinpath("replace_clean.toml").read_text(encoding="utf-8"))["sets"]
NO_PLACE = frozenset(word.strip() for name in ("sides", "manners") for word in SETS[name].split(","))


def reworded(item: Item, rng: random.Random, known: bool = False) -> Iterator[Item]:
    """A phrase for every headword of a caption. In a third of them, caption and positive change places."""
    for number, (phrase, word) in enumerate(found(item)):
        same = [one for one in ENTRIES[word].same if known or (one not in OF_REPLACE and PUBLISHED.get(word) != one)]
        if not same:
            continue
        negatives = [(other := rng.choice(excluded(word, phrase)))]
        if other in ENTRIES and (more := [one for one in ENTRIES[other].same if known or one not in OF_REPLACE]):
            negatives.append(rng.choice(more))
        pair = [word, rng.choice(same)]
        if rng.random() < 1 / 3:
            pair.reverse()
        yield _item(item, number, phrase, word, pair, negatives, rng.random() < 0.5)


def published(item: Item, rng: random.Random) -> Iterator[Item]:
    """A phrase for every headword that REPLACE rewords, with REPLACE's word."""
    for number, (phrase, word) in enumerate(found(item)):
        if to := PUBLISHED.get(word):
            yield _item(
                item, number, phrase, word, [word, to], [rng.choice(excluded(word, phrase))], rng.random() < 0.5
            )


def excluded(word: str, phrase: str) -> list[str]:
    return [one for one in ENTRIES[word].excluded if one not in phrase]


def found(item: Item) -> Iterator[tuple[str, str]]:
    """Phrases of a caption, each with one headword that it contains once."""
    caption = Caption(item.caption)
    if caption.is_title:
        return
    for start, end in dict.fromkeys(windows(caption)):
        heads = [caption.head_lemma(noun) for noun in caption.phrases if start <= noun.core and noun.end <= end]
        phrase = item.caption[caption.units[start].start : caption.units[end - 1].end].lower()
        for word in dict.fromkeys(HEADWORD.findall(phrase)):
            of_person = ENTRIES[word].target == "attribute" and is_person(heads[-1])
            inside = not is_garment(heads[-1]) and is_thing(heads[-1]) and heads[-1] not in NO_PLACE
            if (
                len(re.findall(rf"\b{word}\b", phrase)) == 1
                and not of_person
                and (word != "in" or inside)
                and excluded(word, phrase)
            ):
                yield phrase, word


def _item(item: Item, number: int, phrase: str, word: str, pair: list[str], negatives: list[str], plain: bool) -> Item:
    texts = [written(re.sub(rf"\b{word}\b", one, phrase), plain) for one in (*pair, *negatives)]
    edits = [
        Edit(op="replace", target=ENTRIES[word].target, source=pair[0], to=one, by="lexicon")
        for one in (*pair[1:], *negatives)
    ]
    changed = [Text(text=text, edit=edit) for text, edit in zip(texts[1:], edits, strict=True)]
    return item.model_copy(
        update={
            "id": f"{item.id}/{number}t",
            "caption": texts[0],
            "positives": tuple(changed[:1]),
            "negatives": tuple(changed[1:]),
        }
    )
