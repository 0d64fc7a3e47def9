"""Half-truths (after CS-CLIP, 2026): the whole caption, and then a detail that is not in the photo.

Every word of the caption stays, so a model that adds up what it finds likes the longer text better, though it is false.
The detail is something that captions name when it is there, and that is seen with what the caption names, so that it is
neither left unsaid nor absurd. Only its falsehood may give it away, not the form: where another caption of the photo
names such a thing, the same words with it are a hard positive, longer and true.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterable, Iterator, Sequence

from equipoise.perturb.candidate import Candidate, Kind, edited
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.fit import is_seen_with
from equipoise.perturb.english.vocabulary import word_list
from equipoise.perturb.english.wordnet import WordNet
from equipoise.perturb.sources.base import Source
from equipoise.words.articles import article_for

# Who sees one of these in a photo mentions it. Cars, people, trees, tables, cups, flags and bags go unmentioned.
_DETAILS = word_list("details")
_END = re.compile(r"[\s.!]*\Z")
_WORDNET = WordNet()


def add_false_detail(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
    """A detail that no caption of the photo names; those that go with what the caption names come first."""
    nouns = {caption.units[phrase.head].lemma for phrase in caption.phrases}
    things = rng.sample(_DETAILS, len(_DETAILS))
    things.sort(key=lambda thing: not any(is_seen_with(noun, thing) for noun in nouns))
    for thing in things:
        if not _is_named(thing, caption.words | caption.other_words):
            yield _with_detail(caption, thing, "negative")


def add_true_detail(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
    """A detail that another caption of the photo names and this one does not."""
    for thing in rng.sample(_DETAILS, len(_DETAILS)):
        if thing in caption.other_words and not _is_named(thing, caption.words):
            yield _with_detail(caption, thing, "positive")


def _with_detail(caption: Caption, thing: str, kind: Kind) -> Candidate:
    at = _END.search(caption.text).start()  # type: ignore[union-attr]  # it always matches
    detail = f"{article_for(thing)} {thing}"
    new = f"{caption.text[:at].rstrip(',;: ')}, with {detail} in view{caption.text[at:]}"
    return edited(caption.text, kind, "add", "object", (at, at), detail, "rules", new)


def _is_named(thing: str, said: Iterable[str]) -> bool:
    """Under this name or another, a wider or a narrower one: an animal may be the dog, a terrier is one."""
    return any(_may_be(word, thing) for word in said)


@functools.lru_cache(maxsize=1 << 17)
def _may_be(word: str, thing: str) -> bool:
    return word == thing or (word.isalpha() and _WORDNET.related(word, thing, "n"))
