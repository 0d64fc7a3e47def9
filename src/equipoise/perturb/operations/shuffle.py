"""ARO's order shuffles, seeded: nouns and adjectives, everything else, inside trigrams, trigrams."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from equipoise.perturb.candidate import Candidate, edited
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.sources.base import Source
from equipoise.words.tagging import Token

_TRIES = 10


def shuffle_nouns_and_adjectives(
    caption: Caption, sources: Sequence[Source], rng: random.Random
) -> Iterator[Candidate]:
    yield from _permuted(caption, rng, lambda token: token.pos[:2] if token.pos[:2] in {"NN", "JJ"} else None)


def shuffle_all_but_nouns_and_adjectives(
    caption: Caption, sources: Sequence[Source], rng: random.Random
) -> Iterator[Candidate]:
    yield from _permuted(caption, rng, lambda token: None if token.pos[:2] in {"NN", "JJ"} else "rest")


def shuffle_within_trigrams(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
    words = caption.text.split()
    for _ in range(_TRIES):
        groups = [words[i : i + 3] for i in range(0, len(words), 3)]
        for group in groups:
            rng.shuffle(group)
        yield from _if_changed(caption, " ".join(word for group in groups for word in group))


def shuffle_trigrams(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
    words = caption.text.split()
    for _ in range(_TRIES):
        groups = [words[i : i + 3] for i in range(0, len(words), 3)]
        rng.shuffle(groups)
        yield from _if_changed(caption, " ".join(word for group in groups for word in group))


def _permuted(caption: Caption, rng: random.Random, sort: Callable[[Token], str | None]) -> Iterator[Candidate]:
    """The words of each class change places among themselves; marks and spaces stay where they are."""
    tokens = [token for token in caption.tokens if token.text[0].isalnum()]
    classes: dict[str, list[Token]] = {}
    for token in tokens:
        if name := sort(token):
            classes.setdefault(name, []).append(token)
    for _ in range(_TRIES):
        new = {}
        for listed in classes.values():
            words = [token.text for token in listed]
            rng.shuffle(words)
            new.update({token.start: word for token, word in zip(listed, words, strict=True)})
        pieces, last = [], 0
        for token in tokens:
            pieces += [caption.text[last : token.start], new.get(token.start, token.text)]
            last = token.end
        yield from _if_changed(caption, "".join(pieces) + caption.text[last:])


def _if_changed(caption: Caption, new: str) -> Iterator[Candidate]:
    if new.lower().split() != caption.text.lower().split():
        span = (0, len(caption.text))
        yield edited(caption.text, "negative", "shuffle", "order", span, new, "rules", new)
