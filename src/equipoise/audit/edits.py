"""Finds the words that an edit changed, and checks for four ways in which edits go wrong.

They change part of a word, another word than recorded, part of a compound preposition, or replace a word by a
near-synonym. Each check returns what is wrong, or None. Without recorded edits, the checks compare the texts.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from equipoise.benchmarks.base import stored
from equipoise.data.items import TEXT_KINDS, Edit, Item, Target, Text, TextKind
from equipoise.language.caption import Caption
from equipoise.language.forms import noun_lemma, verb_lemma
from equipoise.language.tagging import tag
from equipoise.language.vocabulary import compounds, counts
from equipoise.language.wordnet import WORDNET
from equipoise.perturb.checks.meaning import not_true_already
from equipoise.perturb.recipe import Candidate

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
ARTICLES = frozenset(("a", "an", "the"))
NEAR = {word: frozenset(text.split(", ")) for word, text in stored("replace/words")["near"].items()}
_FEW = 3  # an edit of one place changes at most so many words

_ENDINGS = ("ing", "ers", "er", "est", "ed", "es", "ly", "s")


def words(text: str) -> list[str]:
    """The words in lower case, split at hyphens, so that an edit of one part counts as an edit of a word."""
    return _WORD.findall(text.lower())


class TextChange(NamedTuple):
    """`lost`, the words of the caption from `at` on, became `gained`; both may be empty."""

    caption: list[str]
    text: list[str]
    at: int
    lost: list[str]
    gained: list[str]

    @property
    def end(self) -> int:
        return self.at + len(self.lost)


def change(caption: str, text: str) -> TextChange:
    """Everything between the common first words and the common last words."""
    before, after = words(caption), words(text)
    start = common(before, after)
    end = common(before[start:][::-1], after[start:][::-1])
    return TextChange(before, after, start, before[start : len(before) - end], after[start : len(after) - end])


def common(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the common prefix, of lists of words or of strings."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def substitution(caption: str, text: str) -> tuple[str, str]:
    """(from, to) without articles, unless only articles changed."""
    changed = change(caption, text)
    lost, gained = _without_articles(changed.lost), _without_articles(changed.gained)
    return (" ".join(lost), " ".join(gained)) if lost or gained else (" ".join(changed.lost), " ".join(changed.gained))


def _without_articles(part: Sequence[str]) -> list[str]:
    return [word for word in part if word not in ARTICLES]


def edits_of(item: Item) -> Iterator[tuple[TextKind, Text]]:
    return ((kind, text) for kind in TEXT_KINDS for text in item.edits(kind))


def sub_word(edited: TextChange, edit: Edit | None, vocabulary: Set[str]) -> str | None:
    """The edit changed part of a word: "red" in "covered", "man" in "woman"."""
    if edit is not None and edit.source and edit.to:
        source, new = edit.source.lower(), Counter(edited.text) - Counter(edited.caption)
        for word in edited.caption:
            changed = word.replace(source, edit.to.lower())
            if source in word and _bare(word) != source and changed in new:  # "dog's" contains the whole word dog
                return f"{word!r} became {changed!r}"
        return None
    if len(edited.lost) > _FEW or len(edited.gained) > 2 * _FEW:
        return None  # a rewritten text may have rare words
    unknown = {word for word in edited.gained if not _known(word, vocabulary)}
    if not unknown:
        return None
    for size, place in itertools.product((1, 2), range(len(edited.gained))):  # "window" -> "wout ofdow"
        made = edited.gained[place : place + size]
        for old in edited.lost:
            if unknown & set(made) and old not in edited.gained and _shares_ends(old, made, unknown):
                return f"{old!r} became {' '.join(made)!r}"
    return None


def _bare(word: str) -> str:
    return word.removesuffix("'s").removesuffix("’s")


def _known(word: str, vocabulary: Set[str]) -> bool:
    """Whether the benchmark's captions, photo captions or WordNet have the word, or it is not made of a to z."""
    forms = (word, noun_lemma(word), verb_lemma(word))
    if any(form in vocabulary or form in counts() for form in forms) or not word.isalpha() or not word.isascii():
        return True
    return any(WORDNET.senses(form, letter) for form in forms for letter in ("n", "v", "a"))


def _shares_ends(old: str, made: Sequence[str], unknown: Set[str]) -> bool:
    """Whether at least half of the old word remains, at its start and end. Shared endings (riding, patting) and ends
    that are words by themselves (woman, handsome man) do not count."""
    new = "".join(made)
    ending = next((ending for ending in _ENDINGS if old.endswith(ending) and new.endswith(ending)), "")
    old, new = old.removesuffix(ending), new.removesuffix(ending)
    start = common(old, new)
    end = common(old[start:][::-1], new[start:][::-1]) if made[-1] in unknown else 0
    changed = len(old) - start - end, len(new) - start - end
    return start + end >= max(2, len(old) / 2) and min(changed) >= 2


def not_as_said(changed: TextChange, edit: Edit | None) -> str | None:
    """The text did not lose or gain the words that its edit records.

    Articles and genitives are ignored: "a man" -> "an old man" is 'man' -> 'old man'.
    """
    if edit is None or edit.op != "replace" or not edit.source or not edit.to:
        return None
    before = Counter(map(_bare, _without_articles(changed.caption)))
    after = Counter(map(_bare, _without_articles(changed.text)))
    gone, new = before - after, after - before
    source, to = [_bare(word) for word in words(edit.source)], [_bare(word) for word in words(edit.to)]
    if (source and gone and not set(source) & set(gone)) or (to and new and not set(to) & set(new)):
        return f"recorded {edit.source!r} -> {edit.to!r}, found {' '.join(gone)!r} -> {' '.join(new)!r}"
    return None


def other_word(item: Item) -> str | None:
    """The only hard positive and the only hard negative change different places, so the item is not about one word.

    Checked only if the positive is a recorded replacement (a paraphrase or a swap may change anything) and the negative
    is not recorded. Items with both records, as `perturb` writes them, need not change one place; `not_as_said` checks
    each text against its own record.
    """
    if len(item.positives) != 1 or len(item.negatives) != 1:
        return None
    positive, negative = item.positives[0], item.negatives[0]
    if positive.edit is None or positive.edit.op != "replace" or not positive.edit.source:
        return None
    if negative.edit is not None and negative.edit.source:
        return None
    positive_change, negative_change = change(item.caption, positive.text), change(item.caption, negative.text)
    if (
        not positive_change.lost
        or not negative_change.lost
        or (positive_change.at < negative_change.end and negative_change.at < positive_change.end)
    ):
        return None
    return f"the positive changes {' '.join(positive_change.lost)!r}, the negative {' '.join(negative_change.lost)!r}"


_LONGEST = 4  # words in a compound
_TAKES_OBJECT = ("of", "to", "from", "with", "against")  # not "in the background"
_SIMPLE = frozenset(
    "about above across after against along alongside amid among around at atop before behind below beneath beside "
    "besides between beyond by down during for from in inside into near nearby off on onto opposite out outside over "
    "past through throughout to toward towards under underneath up upon via with within without of".split()
)
_BEFORE_A_PREPOSITION = frozenset(("next", "far", "close", "away", "adjacent"))


@functools.cache
def _good_compounds() -> frozenset[str]:
    """Compound prepositions of `perturb` that end in a word which takes an object."""
    listed = [
        compound.words for by_first in compounds().values() for compound in by_first if compound.kind == "preposition"
    ]
    return frozenset(" ".join(words) for words in listed if words[-1] in _TAKES_OBJECT)


@functools.cache
def _compounds() -> frozenset[str]:
    """The compounds of `_good_compounds`, with and without their articles, and five that `perturb` lacks."""
    bare = {" ".join(word for word in compound.split() if word not in ARTICLES) for compound in _good_compounds()}
    return _good_compounds() | bare | {"in center of", "in rear of", "in between", "near to", "near by"}


def broken_compound(changed: TextChange) -> str | None:
    """Part of a compound preposition was replaced, and the result is none: "within front of", "in of"."""
    touched = not changed.gained or not _SIMPLE.isdisjoint(changed.lost + changed.gained)
    if not changed.lost or not touched or set(changed.gained) - _SIMPLE - _BEFORE_A_PREPOSITION:
        return None  # another noun ("in center of" -> "on edge of"): only a reader can judge
    for start, length in itertools.product(
        range(max(0, changed.end - _LONGEST), changed.at + 1), range(_LONGEST, 1, -1)
    ):
        end = start + length
        compound = " ".join(changed.caption[start:end])
        if changed.end > end or len(changed.lost) == length or compound not in _compounds():
            continue
        now = " ".join([*changed.caption[start : changed.at], *changed.gained, *changed.caption[changed.end : end]])
        fine = now in _good_compounds() or now in _SIMPLE or not ARTICLES.isdisjoint(now.split())
        return None if fine else f"{compound!r} became {now!r}"  # a phrase with an article is fine: "near the top of"
    return None


_TARGETS: dict[str, Target] = {"N": "object", "J": "attribute", "V": "action"}


def near_synonym(caption: str, changed: TextChange) -> str | None:
    """A negative whose new words are synonyms, hypernyms or hyponyms of the old ones in WordNet.

    Checked only where a few words changed at one place.
    """
    lost, gained = _without_articles(changed.lost), _without_articles(changed.gained)
    if not lost or not gained or max(len(lost), len(gained)) > _FEW or lost == gained:
        return None
    old, new = " ".join(lost), " ".join(gained)
    if any(new == near or new.startswith(f"{near} ") for near in NEAR.get(old, ())):
        return f"{old!r} -> {new!r}: near in meaning"
    kinds = _related_as(old, new)  # before the tagger: it is cached, and rarely finds anything
    return f"{old!r} -> {new!r}: synonyms, or one is a kind of the other" if _target(caption, old, kinds) else None


@functools.lru_cache(maxsize=1 << 16)
def _related_as(old: str, new: str) -> frozenset[Target]:
    """The parts of speech as which the two are synonyms, or one is a kind of the other."""
    kinds = {
        target
        for target in _TARGETS.values()
        if not_true_already(
            Caption(old), Candidate(new, "negative", Edit(op="replace", target=target, source=old, to=new))
        )
    }
    return frozenset(kinds | ({"attribute"} if WORDNET.related(old, new, "a") else set()))


def _target(caption: str, old: str, kinds: frozenset[Target]) -> bool:
    last = old.split()[-1]
    return bool(kinds) and any(
        _TARGETS.get(token.pos[:1]) in kinds for token in tag(caption) if token.text.lower() == last
    )
