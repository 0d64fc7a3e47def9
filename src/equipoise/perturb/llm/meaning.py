"""Check that a language model's answer still has the meaning of the caption.

A swap keeps the meaning where it only reorders what "and" joins: each member stays whole, so each adjective keeps its
noun and each agent its action. "A white shirt and black pants" may become "black pants and a white shirt", but not "a
black shirt and white pants". An edit that the learned judge of `balanced` would keep as a hard negative is refused too.
In other answers, every changed word or phrase must be known to say the same.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from typing import NamedTuple

from equipoise.language.caption import Caption, Unit
from equipoise.language.forms import noun_lemma
from equipoise.language.vocabulary import Section, counts, word_set
from equipoise.language.wordnet import LETTERS, WORDNET, is_animate
from equipoise.perturb.checks.meaning import listed_synonyms
from equipoise.perturb.judge import Pair, reading_of, words_of
from equipoise.perturb.operations.swap_candidates import exchanges
from equipoise.perturb.recipe import Candidate, Proposal

NEGATIVE = 0.9  # the judge's chance from which an answer is taken for a hard negative
_JOINS = frozenset(("and", "or", "&", ","))
_OWN = word_set("openers of a description")  # after the last member, these describe it alone
_ARTICLES = frozenset(("a", "an"))
_OBJECTS = frozenset(("noun", "adjective", "number"))
_WITH = frozenset(("with", "of", "between"))
_ON_THINGS = frozenset(("wear", "ride"))  # a man wearing a hat and a woman
_NOT = word_set("negations of an answer")
_LITTLE = word_set("words that change little")
_FREE = frozenset(("of", "some"))  # may come or go
_ALIKE = 0.75  # of the letters: a spelling that was corrected
_LOST_ARTICLE = re.compile(r"\b(?:an?|the) (?:and|or|an?|the)\b|\b(?:an?|the)\W*$")
KINDS: dict[str, Section] = {
    "noun": "object", "adjective": "attribute", "number": "attribute", "verb": "action", "preposition": "relation",
}  # fmt: skip


def keeps_meaning(caption: Caption, candidate: Candidate) -> str | None:
    """None to keep the answer, or the reason against it."""
    new = Caption(candidate.text)
    before, after = (Counter(each.word for each in _words(text)) for text in (caption, new))
    moved = before == after  # a model asked to replace may swap all the same
    if candidate.edit.op == "swap" or moved:
        return None if _reorders(caption, new) else "the swap does more than reorder what and joins"
    if any(before[word] != after[word] for word in _NOT):
        return "the answer adds or drops a negation"
    return _unknown_change(caption, new)


class _Word(NamedTuple):
    word: str  # the lemma; "," for everything that joins
    unit: Unit


def _words(caption: Caption) -> list[_Word]:
    """The words without articles and full stops, and with one mark for each ", and"."""
    words: list[_Word] = []
    for unit in caption.units:
        if unit.word in _JOINS:
            if not (words and words[-1].word == ","):
                words.append(_Word(",", unit))
        elif unit.word not in _ARTICLES and unit.kind != "mark":
            words += (_Word(noun_lemma(part), unit) for part in unit.word.split())
    return words


def _members(words: list[_Word]) -> list[list[_Word]]:
    members: list[list[_Word]] = [[]]
    for word in words:
        if word.word == ",":
            members.append([])
        else:
            members[-1].append(word)
    return members


def _counted(members: list[list[_Word]]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(word.word for word in member) for member in members)


def _reorders(caption: Caption, answer: Caption) -> bool:
    old_words, new_words = _words(caption), _words(answer)
    old, new = [word.word for word in old_words], [word.word for word in new_words]
    if len(old) != len(new) or old == new or _LOST_ARTICLE.search(answer.text.lower()):
        return False
    if len(Counter(_forms(new_words)) - Counter(_forms(old_words))) > 1:
        return False  # a horse and cows: a cow and horses
    first = next(place for place, (before, after) in enumerate(zip(old, new, strict=True)) if before != after)
    last = len(old) - next(
        place for place, (before, after) in enumerate(zip(reversed(old), reversed(new), strict=True)) if before != after
    )
    for start in range(first, -1, -1):
        for end in range(last, len(old) + 1):
            members = _members(old_words[start:end])
            if all(members) and len(members) > 1 and _counted(members) == _counted(_members(new_words[start:end])):
                return _stands_alone(caption, old_words, start, end) and not _is_a_negative(caption, answer.text)
    return False


def _forms(words: list[_Word]) -> list[str]:
    return [word.unit.word for word in words if word.word != ","]


def _stands_alone(caption: Caption, words: list[_Word], start: int, end: int) -> bool:
    """Whether the members are one coordination, and nothing before or after them belongs to one of them alone."""
    members = _members(words[start:end])
    ends = {member[-1].unit.kind for member in members}
    if len(members) > 2:
        inner = {each.unit.kind for member in members[1:-1] for each in member}
        if len(ends) > 1 or inner & {"verb", "preposition"}:
            return False  # a fork and a knife on a plate and a bowl
    after = words[end].unit if end < len(words) else None
    if after is not None and (after.word in _OWN or (ends == {"verb"} and after.kind in _OBJECTS)):
        return False  # a couch and a chair with a pillow; sitting and reading a book
    phrase = caption.phrase_at.get(caption.units.index(words[start].unit))
    if ends == {"noun"} and phrase is not None and caption.units[phrase.core].start < words[start].unit.start:
        return False  # a white cat and a dog
    before = words[start - 1].unit if start else None
    firsts = [member[0].unit for member in members]
    of = before is not None and before.word == "of"
    if of and [_has_article(caption, unit) for unit in firsts[:2]] == [False, True]:
        return False  # a cup of coffee and a laptop
    if before is not None and (
        before.lemma in _ON_THINGS or (before.kind == "preposition" and before.word not in _WITH)
    ):
        heads = [caption.phrase_at.get(caption.units.index(unit)) for unit in (firsts[0], firsts[-1])]
        return len({is_animate(caption.units[phrase.head].lemma) for phrase in heads if phrase is not None}) < 2
    return True


def _has_article(caption: Caption, unit: Unit) -> bool:
    place = caption.units.index(unit)
    return place > 0 and caption.units[place - 1].kind == "determiner"


def _is_a_negative(caption: Caption, text: str) -> bool:
    """Whether the judge takes the answer for a negative; it knows swaps of two nouns, qualities or phrases."""
    pairs: list[Pair] = [each.pair for each in exchanges(caption) if each.candidate.text.lower() == text.lower()]
    return bool(pairs) and bool((reading_of(caption).swaps(pairs)[:, 0] >= NEGATIVE).any())


def _unknown_change(caption: Caption, answer: Caption) -> str | None:
    """The reason against a changed word or phrase that is not known to say the same: from our lists, or from WordNet
    unless the judge takes it for something else."""
    old, new = (
        [unit for unit in text.units if unit.kind != "mark" and unit.word not in _LITTLE] for text in (caption, answer)
    )
    matcher = difflib.SequenceMatcher(None, [u.lemma for u in old], [u.lemma for u in new], autojunk=False)
    for what, a, b, c, d in matcher.get_opcodes():
        if what != "equal" and not _says_the_same(caption, old[a:b], new[c:d]):
            phrases = [" ".join(unit.word for unit in units) for units in (new[c:d], old[a:b])]
            return "not known to keep the meaning: {!r} for {!r}".format(*phrases)
    return None


def _says_the_same(caption: Caption, old: list[Unit], new: list[Unit]) -> bool:
    if not old or not new:
        return all(unit.word in _FREE for unit in old + new)
    forms = [{" ".join(u.word for u in units), " ".join(u.lemma for u in units)} for units in (old, new)]
    if any(after in listed_synonyms(before) for before in forms[0] for after in forms[1]):
        return True
    return len(old) == len(new) and all(_is_same_word(caption, *pair) for pair in zip(old, new, strict=True))


def _is_same_word(caption: Caption, old: Unit, new: Unit) -> bool:
    if old.lemma == new.lemma or new.lemma in listed_synonyms(old.lemma) or new.word in listed_synonyms(old.word):
        return True
    if old.word not in counts() and difflib.SequenceMatcher(None, old.word, new.word).ratio() >= _ALIKE:
        return True
    target = KINDS.get(old.kind)
    letter = LETTERS.get(target or "")
    if target is None or letter is None or not WORDNET.says_as_much(old.lemma, new.lemma, letter):
        return False
    proposal = Proposal(old.start, old.end, new.text, target, "", 0.0)
    return not words_of(caption.text) or bool(reading_of(caption).chances([proposal])[0, 0] < NEGATIVE)
