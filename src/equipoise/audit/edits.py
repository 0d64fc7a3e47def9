"""What an edit changed, and edits that went wrong: inside a word, at another word, through a compound preposition, to
a near-synonym.

Each check takes a caption and a text (and the edit, where the item has one) and says what is wrong, or None. They read
texts only, and a benchmark without recorded edits is judged by the difference of its texts.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Literal, NamedTuple

from equipoise.benchmarks.replace.words import NEAR
from equipoise.data.items import Edit, Item, Target, Text
from equipoise.perturb.checks.meaning import not_true_already
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.forms import noun_lemma, verb_lemma
from equipoise.perturb.english.tagging import tag
from equipoise.perturb.english.vocabulary import compounds, counts
from equipoise.perturb.english.wordnet import WORDNET
from equipoise.perturb.recipe import Candidate

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
ARTICLES = frozenset(("a", "an", "the"))
Kind = Literal["positives", "negatives"]
_FEW = 3  # words that an edit of one place changes

_ENDINGS = ("ing", "ers", "er", "est", "ed", "es", "ly", "s")


def words(text: str) -> list[str]:
    """The words in lower case, split at hyphens: an edit of one part counts as an edit of a word."""
    return _WORD.findall(text.lower())


class Change(NamedTuple):
    """One stretch of words gave way to another; both may be empty."""

    caption: list[str]
    text: list[str]
    at: int
    lost: list[str]
    gained: list[str]

    @property
    def end(self) -> int:
        return self.at + len(self.lost)


def change(caption: str, text: str) -> Change:
    """Everything between the words that both begin with and the words that both end with."""
    before, after = words(caption), words(text)
    start = common(before, after)
    end = common(before[start:][::-1], after[start:][::-1])
    return Change(before, after, start, before[start : len(before) - end], after[start : len(after) - end])


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words, or letters, at the start are the same."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def substitution(caption: str, text: str) -> tuple[str, str]:
    """(from, to), without articles, which follow from the words: what the edit alone says."""
    found = change(caption, text)
    lost, gained = ([word for word in part if word not in ARTICLES] for part in (found.lost, found.gained))
    return (" ".join(lost), " ".join(gained)) if lost or gained else (" ".join(found.lost), " ".join(found.gained))


def edits_of(item: Item) -> Iterator[tuple[Kind, Text]]:
    """Every hard positive and hard negative."""
    yield from (("positives", text) for text in item.positives)
    yield from (("negatives", text) for text in item.negatives)


def sub_word(found: Change, edit: Edit | None, vocabulary: Set[str]) -> str | None:
    """The changed piece is not a whole word: "red" in "covered", "man" in "woman"."""
    if edit is not None and edit.source and edit.to:
        return _piece_of_word(found, edit.source.lower(), edit.to.lower())
    if len(found.lost) > _FEW or len(found.gained) > 2 * _FEW:
        return None  # rewritten; a rare word there is not part of another
    unknown = {word for word in found.gained if not _known(word, vocabulary)}
    if not unknown:
        return None
    for size, place in itertools.product((1, 2), range(len(found.gained))):  # "window" -> "wout ofdow"
        made = found.gained[place : place + size]
        for old in found.lost:
            if unknown & set(made) and old not in found.gained and _shares_ends(old, made, unknown):
                return f"{old!r} became {' '.join(made)!r}"
    return None


def _piece_of_word(found: Change, source: str, to: str) -> str | None:
    new = Counter(found.text) - Counter(found.caption)
    for word in found.caption:
        made = word.replace(source, to)
        if source in word and _bare(word) != source and made in new:  # the dog's ear has the word dog
            return f"{word!r} became {made!r}"
    return None


def _bare(word: str) -> str:
    return word.removesuffix("'s").removesuffix("’s")


def _known(word: str, vocabulary: Set[str]) -> bool:
    """A word of the benchmark's captions, of photo captions, or of WordNet; a number is fine too."""
    forms = (word, noun_lemma(word), verb_lemma(word))
    if any(form in vocabulary or form in counts() for form in forms) or not word.isalpha() or not word.isascii():
        return True
    return any(WORDNET.senses(form, letter) for form in forms for letter in ("n", "v", "a"))


def _shares_ends(old: str, made: Sequence[str], unknown: Set[str]) -> bool:
    """Half of the old word stands, at its beginning and its end. Mere endings do not count (riding, patting), nor does
    an end that is a word by itself (woman, handsome man)."""
    new = "".join(made)
    ending = next((ending for ending in _ENDINGS if old.endswith(ending) and new.endswith(ending)), "")
    old, new = old.removesuffix(ending), new.removesuffix(ending)
    start = common(old, new)
    end = common(old[start:][::-1], new[start:][::-1]) if made[-1] in unknown else 0
    changed = len(old) - start - end, len(new) - start - end
    return start + end >= max(2, len(old) / 2) and min(changed) >= 2


def not_as_said(found: Change, edit: Edit | None) -> str | None:
    """The text did not lose what its edit says it lost, or did not gain what it says.

    Articles and genitives are no words of the edit, they follow it: "a man" -> "an old man" is 'man' -> 'old man'.
    """
    if edit is None or edit.op != "replace" or not edit.source or not edit.to:
        return None
    before, after = (
        Counter(_bare(word) for word in part if word not in ARTICLES) for part in (found.caption, found.text)
    )
    gone, new = before - after, after - before
    source, to = ([_bare(word) for word in words(part)] for part in (edit.source, edit.to))
    if (source and gone and not set(source) & set(gone)) or (to and new and not set(to) & set(new)):
        return f"the edit says {edit.source!r} -> {edit.to!r}, the text {' '.join(gone)!r} -> {' '.join(new)!r}"
    return None


def other_word(item: Item) -> str | None:
    """One hard positive and one hard negative, of which each changes another place of the caption.

    The two then differ in two ways, and the item is no longer about one word. Judged only where the positive is a
    recorded replacement: a paraphrase or a swap may change what it likes. And only where the negative is not recorded:
    an item that says what each of its texts changes (as `perturb` writes them) never promised one place, and each text
    is held to its own record (`not_as_said`).
    """
    if len(item.positives) != 1 or len(item.negatives) != 1:
        return None
    positive, negative = item.positives[0], item.negatives[0]
    if positive.edit is None or positive.edit.op != "replace" or not positive.edit.source:
        return None
    if negative.edit is not None and negative.edit.source:
        return None
    one, other = change(item.caption, positive.text), change(item.caption, negative.text)
    if not one.lost or not other.lost or (one.at < other.end and other.at < one.end):
        return None
    return f"the positive changes {' '.join(one.lost)!r}, the negative {' '.join(other.lost)!r}"


_LONGEST = 4  # words of a compound
_TAKES_OBJECT = ("of", "to", "from", "with", "against")  # "in the background" is none: nothing follows
_SIMPLE = frozenset(
    "about above across after against along alongside amid among around at atop before behind below beneath beside "
    "besides between beyond by down during for from in inside into near nearby off on onto opposite out outside over "
    "past through throughout to toward towards under underneath up upon via with within without of".split()
)
_BEFORE_A_PREPOSITION = frozenset(("next", "far", "close", "away", "adjacent"))


@functools.cache
def _good_compounds() -> frozenset[str]:
    """Those that perturb knows."""
    listed = [found.words for by_first in compounds().values() for found in by_first if found.kind == "preposition"]
    return frozenset(" ".join(words) for words in listed if words[-1] in _TAKES_OBJECT)


@functools.cache
def _compounds() -> frozenset[str]:
    """Those of captions: also without their article, as people write of photos, and five that perturb needs not."""
    bare = {" ".join(word for word in one.split() if word not in ARTICLES) for one in _good_compounds()}
    return _good_compounds() | bare | {"in center of", "in rear of", "in between", "near to", "near by"}


def broken_compound(found: Change) -> str | None:
    """Part of a compound preposition was replaced, and what stands there now is none: "within front of", "in of"."""
    touched = not found.gained or not _SIMPLE.isdisjoint(found.lost + found.gained)
    if not found.lost or not touched or set(found.gained) - _SIMPLE - _BEFORE_A_PREPOSITION:
        return None  # "in center of" -> "on edge of": another noun: only a reader can judge
    for start, length in itertools.product(range(max(0, found.end - _LONGEST), found.at + 1), range(_LONGEST, 1, -1)):
        end = start + length
        compound = " ".join(found.caption[start:end])
        if found.end > end or len(found.lost) == length or compound not in _compounds():
            continue
        now = " ".join([*found.caption[start : found.at], *found.gained, *found.caption[found.end : end]])
        fine = now in _good_compounds() or now in _SIMPLE or not ARTICLES.isdisjoint(now.split())
        return None if fine else f"{compound!r} became {now!r}"  # with an article it is a phrase: "near the top of"
    return None


_TARGETS: dict[str, Target] = {"N": "object", "J": "attribute", "V": "action"}


def near_synonym(caption: str, found: Change) -> str | None:
    """A negative whose new words are a synonym of the old ones, or above or below them in WordNet.

    Only where a few words changed at one place; the kind of word is that of the tagger.
    """
    lost, gained = ([word for word in part if word not in ARTICLES] for part in (found.lost, found.gained))
    if not lost or not gained or max(len(lost), len(gained)) > _FEW or lost == gained:
        return None
    return _related(caption, " ".join(lost), " ".join(gained))


def _related(caption: str, old: str, new: str) -> str | None:
    if any(new == near or new.startswith(f"{near} ") for near in NEAR.get(old, ())):
        return f"{old!r} -> {new!r}: next to each other"
    kinds = _related_as(old, new)  # first, as it is kept from caption to caption and seldom holds
    return f"{old!r} -> {new!r}: synonyms, or one is a kind of the other" if _target(caption, old, kinds) else None


@functools.lru_cache(maxsize=1 << 16)
def _related_as(old: str, new: str) -> frozenset[Target]:
    """The kinds of words as which the two are synonyms, or one is a kind of the other."""
    kinds = {
        target
        for target in _TARGETS.values()
        if not_true_already(
            Caption(old), Candidate(new, "negative", Edit(op="replace", target=target, source=old, to=new))
        )
    }
    return frozenset(kinds | ({"attribute"} if WORDNET.related(old, new, "a") else set()))


def _target(caption: str, old: str, kinds: frozenset[Target]) -> bool:
    """Whether the caption uses the word as one of these kinds."""
    last = old.split()[-1]
    return bool(kinds) and any(
        _TARGETS.get(token.pos[:1]) in kinds for token in tag(caption) if token.text.lower() == last
    )
