"""SugarCrepe's ADD: the caption gains an object or an attribute that the photo does not have."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from equipoise.perturb.candidate import Candidate, edited
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.noun_classes import is_animate
from equipoise.perturb.english.vocabulary import word_list
from equipoise.perturb.sources.base import Source
from equipoise.words.articles import article_for

# Things that a photo rarely holds unless somebody mentions them, so that adding them is false.
_GUESTS = word_list("guests")
# Attributes that are rarely true, by what they may be said of.
_OF_ANIMATE = "blindfolded wounded costumed".split()
_OF_THING = "broken burning transparent upside-down".split()


def add_object(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
    phrases = [p for p in caption.phrases if caption.units[p.start].word in {"a", "an"} and p.start + 1 <= p.head]
    rng.shuffle(phrases)
    phrases.sort(key=lambda phrase: all(unit.kind != "mark" for unit in caption.units[phrase.end : phrase.end + 1]))
    guests = list(_GUESTS)
    rng.shuffle(guests)
    for phrase in phrases:
        after = caption.units[phrase.end] if phrase.end < len(caption.units) else None
        if after is not None and (
            after.kind in {"noun", "and", "adjective"} or after.word in {"of", ","} or after.pos == "POS"
        ):
            continue
        if phrase.start == 0 and after is not None and (after.kind == "be" or after.pos in {"VBZ", "VBD"}):
            continue  # "a man and a camel is": the verb would no longer agree
        at = caption.units[phrase.head].end
        for guest in guests:
            added = f" and {article_for(guest)} {guest}"
            new = caption.text[:at] + added + caption.text[at:]
            yield edited(caption.text, "negative", "add", "object", (at, at), added.strip(), "rules", new)


def add_attribute(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
    phrases = [
        p for p in caption.phrases if p.head == p.core == p.start + 1 and caption.units[p.start].word in {"a", "an"}
    ]
    rng.shuffle(phrases)
    for phrase in phrases:
        article, noun = caption.units[phrase.start], caption.units[phrase.head]
        words = list(_OF_ANIMATE if is_animate(noun.lemma) else _OF_THING)
        rng.shuffle(words)
        for word in words:
            right = article_for(word)
            written = right.capitalize() if article.text[0].isupper() else right
            to = f"{written} {word}"
            new = caption.text[: article.start] + to + caption.text[article.end :]
            yield edited(caption.text, "negative", "add", "attribute", (article.start, article.end), to, "rules", new)
