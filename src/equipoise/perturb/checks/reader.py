"""A learned reader: how likely a strict reader is to let a replace negative pass.

Rules look at a new word's neighbours one by one and miss "a knife in the soup" or "a closed toilet" with paws in it.
This is a small net of a word, the word it replaces, every other word of the caption and of the photo's other captions,
and what the rules know. It learned from verdicts of readers (pass, may be true, implausible, no good English) on edits
of captions that nothing is measured on, and from what a large encoder, taught by the same verdicts, said of 250,000
more (runs/proposer/). The proposer (perturb/proposer), which knows no rules, has half a say: the two err differently.
Everything here is float64 and the word table int8, so that two machines agree on all but a tie in the sixth digit.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from typing import IO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.checks.agreed import agreed
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.evidence import doubts
from equipoise.perturb.english.forms import lemma_of
from equipoise.perturb.english.word_lists import SECTIONS, Section, count
from equipoise.perturb.proposer.reading import reading_of

Array = NDArray[np.float64]
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_LITTLE = frozenset(
    "a an the of in on is are and with to at his her its their it that this some one there from by for as".split()
)
_RELATIONS = ("prep", "object", "via", "subject", "modifier", "where", "image", "")  # what a doubt is about
_MARKS = {"sure": 1.0, "kin": 0.5, "wide": -1.0}
AROUND, FROM_OTHERS, OF_EDIT, FAR = 20, 28, 4, 8  # words looked at; how far apart places are told from each other
FACTS = 28
# The least chance to pass, by target: of both nets, the mean of their log odds. Chosen on verdicts of what the recipes
# themselves write (docs/perturbation.md): the first for what a strict reader passes 92 times in 100, the second for
# nine times in ten, and twice as many captions.
LEAST = {"object": 0.98, "attribute": 0.965, "action": 0.97, "relation": 0.98}
LENIENT = {"object": 0.95, "attribute": 0.94, "action": 0.94, "relation": 0.96}
_CERTAIN = frozenset(("to the left", "to the right"))  # of something: never both, and no sheet had any
_WHY = (
    "a reader may find it true of the photo as well",
    "a reader would find it unlikely or absurd",
    "a reader would not find it good English",
)


class _Net(NamedTuple):
    ids: dict[str, int]
    words: Array
    places: Array
    around: tuple[Array, Array]
    others: tuple[Array, Array]
    hidden: tuple[Array, Array]
    last: tuple[Array, Array]


@functools.cache
def _net() -> _Net:
    with resources.files("equipoise.perturb").joinpath("data", "reader.npz").open("rb") as handle:
        return loaded(handle)


def loaded(handle: IO[bytes]) -> _Net:
    """What runs/proposer/learn_reader.py wrote."""
    stored = np.load(handle, allow_pickle=False)
    found = {name: stored[name] for name in stored.files}
    listed = bytes(found["vocabulary"]).decode().split("\n")
    layers = {
        name: (found[f"{name}.weight"].astype(np.float64).T, found[f"{name}.bias"].astype(np.float64))
        for name in ("around", "others", "hidden", "last")
    }
    words = found["words"].astype(np.float64) * found["words.scale"].astype(np.float64)
    return _Net({word: place for place, word in enumerate(listed)}, words, found["places"].astype(np.float64), **layers)


def reader(caption: Caption, candidate: Candidate, least: Mapping[str, float] = LEAST) -> str | None:
    """A replace negative that a strict reader would not pass, and what he would say."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or not edit.span or not edit.to or edit.target not in LEAST:
        return None
    if edit.to in _CERTAIN:
        return None
    chances = chances_of(caption, candidate)
    if both(chances, caption, candidate) >= least[edit.target]:
        return None
    return _WHY[int(np.argmax(chances[1:]))]


def lenient_reader(caption: Caption, candidate: Candidate) -> str | None:
    """The same for more negatives, some of them doubtful."""
    return reader(caption, candidate, LENIENT)


class _Asked(NamedTuple):
    start: int
    end: int
    to: str
    target: Section
    by: str


def both(chances: Array, caption: Caption, candidate: Candidate) -> float:
    """The chance to pass by the reader and the proposer together."""
    edit = candidate.edit
    assert edit.span is not None and edit.to is not None
    asked = _Asked(*edit.span, edit.to, cast(Section, edit.target), edit.by or "")
    proposed = reading_of(caption).passes(asked)
    odds = sum(math.log(chance / (1 - chance)) for chance in (_bounded(float(chances[0])), _bounded(proposed)))
    return 1 / (1 + math.exp(-odds / 2))


def _bounded(chance: float) -> float:
    return min(max(chance, 1e-6), 1 - 1e-6)


def chances_of(caption: Caption, candidate: Candidate) -> Array:
    """Of pass, may be true, implausible, no good English."""
    net, edit = _net(), candidate.edit
    assert edit.span is not None and edit.to is not None
    near = words_around(caption.text, edit.span)
    old, new = (_mean(net, words_of(text)[-OF_EDIT:]) for text in (caption.text[slice(*edit.span)], edit.to))
    words = net.words[[net.ids.get(word, 1) for word, _ in near]]
    places = net.places[[place + FAR + 1 for _, place in near]]
    seen = _pooled(net.around, (new * words, old * words, words, places), np.ones(len(near)))
    others = words_of_others(caption)
    told = net.words[[net.ids.get(word, 1) for word, _ in others]]
    shares = np.array([share for _, share in others])
    heard = _pooled(net.others, (new * told, old * told, told, (new - old) * told), shares)
    inner = np.concatenate((new, old, new * old, seen, heard, facts(caption, candidate)))
    raised = np.maximum(inner @ net.hidden[0] + net.hidden[1], 0.0) @ net.last[0] + net.last[1]
    grown = np.exp(raised - raised.max())
    return np.asarray(grown / grown.sum())


def _pooled(layer: tuple[Array, Array], parts: tuple[Array, ...], shares: Array) -> Array:
    """The sum (a third of it, as it was learned) and the largest of what the layer makes of each word."""
    if not len(shares):
        return np.zeros(2 * len(layer[1]))
    made = np.maximum(np.concatenate(parts, axis=1) @ layer[0] + layer[1], 0.0) * shares[:, None]
    return np.concatenate((made.sum(axis=0) / 3, made.max(axis=0)))


def _mean(net: _Net, words: list[str]) -> Array:
    ids = [net.ids.get(word, 1) for word in words]
    return net.words[ids].mean(axis=0) if ids else np.zeros(net.words.shape[1])


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def words_around(text: str, span: tuple[int, int]) -> list[tuple[str, int]]:
    """The words beside characters `span`, and how many words to the left (below zero) or right."""
    left, right = words_of(text[: span[0]]), words_of(text[span[1] :])
    near = [(word, -min(len(left) - place, FAR)) for place, word in enumerate(left)]
    near = near[-AROUND // 2 :] if len(left) + len(right) > AROUND else near
    return [*near, *((word, min(place + 1, FAR)) for place, word in enumerate(right))][:AROUND]


@functools.lru_cache(maxsize=2)
def words_of_others(caption: Caption) -> tuple[tuple[str, float], ...]:
    """The words that most of the other captions have, and the share that have them."""
    counts = Counter(word for text in caption.others for word in set(words_of(text)) - _LITTLE)
    kept = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:FROM_OTHERS]
    return tuple((word, number / max(4, len(caption.others))) for word, number in kept)


def facts(caption: Caption, candidate: Candidate) -> Array:
    """What the rules know of the edit: its target and source, each doubt, whether the other captions agree."""
    edit, found = candidate.edit, np.zeros(FACTS)
    assert edit.span is not None and edit.to is not None and edit.target is not None
    found[SECTIONS.index(edit.target)] = 1.0
    found[4], found[5] = edit.by == "captions", edit.by == "gender"
    place = caption.units_of(edit.span)
    if place is not None and edit.by != "gender":
        for doubt in doubts(caption, *place, lemma_of(edit.to, edit.target), edit.target):
            found[5 + doubt.weight] += 1
            kind = 9 + (_RELATIONS.index(doubt.of) if doubt.of in _RELATIONS else len(_RELATIONS) - 1)
            found[kind] = max(found[kind], float(doubt.weight))
    old, new = (set(words_of(text)) for text in (edit.source or "", edit.to))
    said = [set(words_of(text)) for text in caption.others]
    found[17] = len(said) / 5
    found[18] = sum(bool(old & words) for words in said) / max(1, len(said))
    found[19] = sum(bool((new - old) & words) for words in said) / max(1, len(said))
    found[20] = agreed(caption, candidate) is not None
    found[21], found[22] = math.log1p(count(edit.to)) / 10, math.log1p(count(edit.source or "")) / 10
    found[23], found[24], found[25] = len(new) / 3, len(old) / 3, len(caption.units) / 15
    found[26] = _MARKS.get(candidate.mark, 0.0)
    found[27] = candidate.attested
    return found
