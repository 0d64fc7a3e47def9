"""Every check of the texts: what it is called, how it is fixed, and its findings counted."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from equipoise.audit import edits
from equipoise.audit.changes import Change, change, words
from equipoise.audit.changes import edits as edits_of
from equipoise.audit.record import Check, Example
from equipoise.benchmarks import check
from equipoise.benchmarks.ceilings import as_read, has_words_of
from equipoise.data.items import Item, Text
from equipoise.perturb.checks.form import broken_by_edit
from equipoise.perturb.english.articles import fix_articles
from equipoise.perturb.sources.captions import OtherCaptions

SHOWN = 5


class Found(NamedTuple):
    id: str
    kind: str  # caption, positives, negatives; "" of a whole item
    said: str


class _Kind(NamedTuple):
    """A check: by `find` over all items, or by `judge` of each text next to its caption."""

    name: str
    what: str
    fix: str
    find: Callable[[Sequence[Item]], Iterable[Found]] | None = None
    judge: Callable[[Item, Text, Change], str | None] | None = None
    only: str = ""  # judges the positives or the negatives alone


def checks(items: Sequence[Item], advance: Callable[[int], None] = lambda count: None) -> list[Check]:
    """All of them, in the order in which a maintainer should fix them; `advance` is called with items done with."""
    splits = {item.id: item.tags.get("split", "all") for item in items}
    found = {kind.name: list(kind.find(items) if kind.find else ()) for kind in _KINDS}
    vocabulary = {word for item in items for word in words(item.caption)}
    for item in items:
        for kind, text in edits_of(item):
            differs = change(item.caption, text.text)
            said = {one.name: one.judge(item, text, differs) for one in _KINDS if one.judge and one.only in ("", kind)}
            said["sub_word"] = edits.sub_word(differs, text.edit, vocabulary)
            for name, line in said.items():
                found[name] += [Found(item.id, kind, f"{line}: {text.text!r}")] if line else []
        advance(1)
    edited = sum(bool(item.positives or item.negatives) for item in items)
    of = dict.fromkeys(found, edited) | {
        "duplicates": len(items),
        "spaces": len(items),
        "contradictions": sum(item.image is not None for item in items),
        "near_synonyms": sum(bool(item.negatives) for item in items),
        "other_word": sum(map(_recorded, items)),
    }
    return [_counted(kind, found[kind.name], of[kind.name], splits) for kind in _KINDS]


def _counted(kind: _Kind, found: list[Found], of: int, splits: dict[str, str]) -> Check:
    """Items are counted, once each; contradictions are pairs of an image and a text."""
    whole = [one.id for one in found] if kind.name == "contradictions" else list({one.id: None for one in found})
    by_split = Counter(splits[name] for name in whole)
    return Check(
        name=kind.name,
        what=kind.what,
        count=len(whole),
        of=of,
        share=len(whole) / of if of else None,
        by_split=dict(sorted(by_split.items())),
        by_kind=dict(sorted(Counter(one.kind for one in found if one.kind).items())),
        examples=[Example(id=one.id, said=one.said) for one in _first(found)],
        fix=kind.fix,
    )


def _first(found: list[Found]) -> list[Found]:
    """The first few, none of which says what an earlier one says: five times the same teaches once."""
    different: dict[str, Found] = {}
    for one in found:
        if len(different) < SHOWN:
            different.setdefault(one.said.split(": ", 1)[-1] if one.kind else one.said, one)
    return list(different.values())


def _of_check(found: Iterable[check.Example]) -> Iterator[Found]:
    return (Found(one.id, "", one.said.removeprefix(f"{one.id}: ")) for one in found)


def _same_words(items: Sequence[Item]) -> Iterator[Found]:
    for item in items:
        wrong = [as_read(text.text) for text in item.negatives]
        if has_words_of(read := as_read(item.caption), wrong) and read not in wrong:
            yield Found(item.id, "", f"{item.caption!r} has the words of a negative")


def _spaces(items: Sequence[Item]) -> Iterator[Found]:
    for item in items:
        for kind, text in (("caption", item.caption), *((kind, text.text) for kind, text in edits_of(item))):
            if text != " ".join(text.split()):
                yield Found(item.id, kind, repr(text))


def _article(item: Item, text: Text, found: Change) -> str | None:
    """A wrong a or an that the caption does not have already."""
    wrong = _wrong_articles(text.text) - _wrong_articles(item.caption)
    return f"{next(iter(wrong))!r}" if wrong else None


@functools.lru_cache(maxsize=1024)  # a caption is asked about for each of its edits
def _wrong_articles(text: str) -> Counter[str]:
    right = fix_articles(text)
    if right == text:
        return Counter()
    pairs = zip(text.split(), right.split(), strict=True)
    return Counter(
        f"{old} {after}" for (old, new), after in zip(pairs, [*text.split()[1:], ""], strict=True) if old != new
    )


def _grammar(item: Item, text: Text, found: Change) -> str | None:
    said = broken_by_edit(item.caption, text.text)
    return None if said is None or said.startswith("wrong article") else said


def _recorded(item: Item) -> bool:
    return any(text.edit and text.edit.source for _, text in edits_of(item))


def _other_word(items: Sequence[Item]) -> Iterator[Found]:
    for item in items:
        if said := edits.other_word(item):
            yield Found(item.id, "", f"{item.caption!r}: {said}")
            continue
        for _, text in edits_of(item):
            if said := edits.not_as_said(change(item.caption, text.text), text.edit):
                yield Found(item.id, "", f"{text.text!r}: {said}")
                break


def _near_synonym(item: Item, text: Text, found: Change) -> str | None:
    """Not where other captions of the image were the writer's source: "poodle" for a dog that they call a retriever."""
    by_captions = text.edit is not None and text.edit.by == OtherCaptions.name
    return None if by_captions else edits.near_synonym(item.caption, found)


_KINDS = (
    _Kind(
        "duplicates",
        "the same image and texts as an earlier item",
        "keep the first of each: a doubled item is one vote counted twice",
        lambda items: _of_check(check.duplicates(items)),
    ),
    _Kind(
        "forced_ties",
        "a right text that CLIP's tokenizer reads as a negative: no such model can win it",
        "drop them, or write another negative; compare texts in lower case when negatives are made",
        lambda items: _of_check(check.forced_ties(items)),
    ),
    _Kind(
        "contradictions",
        "a text that one item calls right and another wrong, of the same image (pairs)",
        "look at the image and drop the item that lies",
        lambda items: _of_check(check.contradictions(items)),
    ),
    _Kind(
        "same_words",
        "a caption with the words of a negative in another order (forced ties apart)",
        "no defect where word order is the subject; say that a model without word order is lost there",
        _same_words,
    ),
    _Kind(
        "articles",
        "a or an made wrong by the edit",
        "set the article by the sound of the next word (equipoise.perturb.english.articles.fix_articles)",
        judge=_article,
    ),
    _Kind(
        "grammar",
        "a doubled word, a broken phrase or an article before a plural, made by the edit",
        "write the edit again, with its neighbours; read the result",
        judge=_grammar,
    ),
    _Kind(
        "spaces",
        "irregular spaces: harmless to a tokenizer, a giveaway to others",
        "join the words of every text with single spaces",
        _spaces,
    ),
    _Kind(
        "sub_word",
        "the changed piece is not a whole word (red in covered)",
        "match whole words when replacing (regular expression \\bword\\b)",
    ),
    _Kind(
        "other_word",
        "an edit of another word than its record says, or (if the negative has no record) than the negative changes",
        "edit the word that the negative edits, and no other",
        _other_word,
    ),
    _Kind(
        "compounds",
        "part of a compound preposition replaced (within front of)",
        "treat compounds as one word: replace the whole or nothing",
        judge=lambda item, text, found: edits.broken_compound(found),
    ),
    _Kind(
        "near_synonyms",
        "a negative that may be true: its new word is a synonym of the old one, or a kind of it",
        "draw negatives among words that exclude each other; have a person read those listed here",
        judge=_near_synonym,
        only="negatives",
    ),
)
