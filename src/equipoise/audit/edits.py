"""Edits that went wrong: inside a word, at another word, through a compound preposition, to a near-synonym.

Each check takes a caption and a text (and the edit, where the item has one) and says what is wrong, or None. They read
texts only, and a benchmark without recorded edits is judged by the difference of its texts.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Set

from equipoise.audit.changes import ARTICLES, Change, change, words
from equipoise.benchmarks.replace.words import NEAR
from equipoise.items import Edit, Item, Target
from equipoise.perturb.candidate import Candidate
from equipoise.perturb.checks.meaning import not_true_already
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.forms import noun_lemma, verb_lemma
from equipoise.perturb.english.word_lists import compounds, counts
from equipoise.perturb.english.wordnet import WordNet
from equipoise.words.tagging import tag

_WORDNET = WordNet()

# ---------------------------------------------------------------------------- inside a word

_ENDINGS = frozenset("s es d ed n en ing r er ers st est ly y al t".split())


def sub_word(found: Change, edit: Edit | None, vocabulary: Set[str]) -> str | None:
    """The changed piece is not a whole word: "red" in "covered", "man" in "woman"."""
    if edit is not None and edit.source and edit.to:
        return _piece_of_word(found, edit.source.lower(), edit.to.lower())
    if not found.lost or not found.gained or len(found.lost) > 3:
        return None
    if len(found.lost) == len(found.gained):
        pairs = list(zip(found.lost, found.gained, strict=True))
    else:
        pairs = [("".join(found.lost), "".join(found.gained))]
    new = [word for word in found.gained if not _known(word, vocabulary)]
    for old, made in pairs:
        if new and old != made and any(word in made for word in new) and _shares_ends(old, made):
            return f"{' '.join(found.lost)!r} became {' '.join(found.gained)!r}"
    return None


def _piece_of_word(found: Change, source: str, to: str) -> str | None:
    new = Counter(found.text) - Counter(found.caption)
    for word in found.caption:
        made = word.replace(source, to)
        if source in word and word != source and made in new:
            return f"{word!r} became {made!r}"
    return None


def _known(word: str, vocabulary: Set[str]) -> bool:
    """A word of the benchmark's captions, of photo captions, or of WordNet; a number is fine too."""
    forms = (word, noun_lemma(word), verb_lemma(word))
    if any(form in vocabulary or form in counts() for form in forms) or not word.isalpha() or not word.isascii():
        return True
    return any(_WORDNET.senses(form, letter) for form in forms for letter in ("n", "v", "a"))  # type: ignore[arg-type]


def _shares_ends(old: str, made: str) -> bool:
    """At least two letters of the old word stand, at its beginning and its end; a mere ending is another form."""
    start = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, made, strict=False)))
    rest = min(len(old), len(made)) - start
    end = sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old[::-1][:rest], made[::-1], strict=False))
    )
    pieces = old[start : len(old) - end], made[start : len(made) - end]
    if end == 0 and all(piece in _ENDINGS | {""} for piece in pieces):
        return False
    return start + end >= 2 and len(pieces[0]) >= 2 and len(pieces[1]) >= 2


# ---------------------------------------------------------------------------- another word


def not_as_said(found: Change, edit: Edit | None) -> str | None:
    """The text did not lose what its edit says it lost, or did not gain what it says."""
    if edit is None or edit.op != "replace" or not edit.source or not edit.to:
        return None
    gone, new = Counter(found.caption) - Counter(found.text), Counter(found.text) - Counter(found.caption)
    source, to = words(edit.source), words(edit.to)
    if (source and gone and not set(source) & set(gone)) or (to and new and not set(to) & set(new)):
        return f"the edit says {edit.source!r} -> {edit.to!r}, the text {' '.join(gone)!r} -> {' '.join(new)!r}"
    return None


def other_word(item: Item) -> str | None:
    """One hard positive and one hard negative, of which each changes another place of the caption.

    The two then differ in two ways, and the item is no longer about one word. Judged only where the positive is a
    recorded replacement: a paraphrase or a swap may change what it likes.
    """
    if len(item.positives) != 1 or len(item.negatives) != 1:
        return None
    positive, negative = item.positives[0], item.negatives[0]
    if positive.edit is None or positive.edit.op != "replace" or not positive.edit.source:
        return None
    one, other = change(item.caption, positive.text), change(item.caption, negative.text)
    if not one.lost or not other.lost or (one.at < other.end and other.at < one.end):
        return None
    return f"the positive changes {' '.join(one.lost)!r}, the negative {' '.join(other.lost)!r}"


# ---------------------------------------------------------------------------- compound prepositions

_LONGEST = 4  # words of a compound
_TAKES_OBJECT = ("of", "to", "from", "with", "against")  # "in the background" is none: nothing follows
_SIMPLE = frozenset(
    "about above across after against along alongside amid among around at atop before behind below beneath beside "
    "besides between beyond by down during for from in inside into near nearby off on onto opposite out outside over "
    "past through throughout to toward towards under underneath up upon via with within without of".split()
)


@functools.cache
def _compounds() -> frozenset[str]:
    """Those of perturb, also without their article, as people write of photos; and three that perturb needs not."""
    listed = {found.words for by_first in compounds().values() for found in by_first if found.kind == "preposition"}
    bare = {tuple(word for word in compound if word not in ARTICLES) for compound in listed}
    joined = {" ".join(compound) for compound in listed | bare if compound[-1] in _TAKES_OBJECT}
    return frozenset(joined | {"in center of", "in rear of", "in between", "near to", "near by"})


def broken_compound(found: Change) -> str | None:
    """Part of a compound preposition was replaced, and what stands there now is none: "within front of", "in of"."""
    touched = not found.gained or not _SIMPLE.isdisjoint(found.lost + found.gained)
    if not found.lost or not touched:
        return None  # "at the top of" -> "at the foot of": another noun, of which only a reader can judge
    for start, length in itertools.product(range(max(0, found.end - _LONGEST), found.at + 1), range(_LONGEST, 1, -1)):
        end = start + length
        compound = " ".join(found.caption[start:end])
        if found.end > end or len(found.lost) == length or compound not in _compounds():
            continue
        now = " ".join([*found.caption[start : found.at], *found.gained, *found.caption[found.end : end]])
        return None if now in _compounds() or now in _SIMPLE else f"{compound!r} became {now!r}"
    return None


# ---------------------------------------------------------------------------- near-synonyms

_TARGETS: dict[str, Target] = {"N": "object", "J": "attribute", "V": "action"}
_FEW = 3


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
    target = _target(caption, old)
    if target is None:
        return None
    edit = Edit(op="replace", target=target, source=old, to=new)
    if not_true_already(Caption(caption), Candidate(new, "negative", edit)):
        return f"{old!r} -> {new!r}: synonyms, or one is a kind of the other"
    if target == "attribute" and _same_adjective(old, new):
        return f"{old!r} -> {new!r}: synonyms"
    return None


@functools.lru_cache(maxsize=1 << 16)
def _same_adjective(old: str, new: str) -> bool:
    return _WORDNET.related(old, new, "a")


def _target(caption: str, old: str) -> Target | None:
    last = old.split()[-1]
    found = [token.pos for token in tag(caption) if token.text.lower() == last]
    return _TARGETS.get(found[0][:1]) if found else None
