"""Makes an audit of items: counts of every check of the texts, shortcuts, and how often images are reused.

data/checks.toml describes each check and its fix.
"""

from __future__ import annotations

import functools
import random
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from equipoise.audit import edits
from equipoise.audit.edits import TextChange, change, edits_of, words
from equipoise.audit.record import Audit, Example, Reuse, TextCheck
from equipoise.audit.shortcuts import detector, shortcuts
from equipoise.benchmarks import check
from equipoise.benchmarks.ceilings import as_read, has_words_of
from equipoise.data.items import Item, Text
from equipoise.language.forms import fix_articles
from equipoise.perturb.checks.form import broken_by_edit
from equipoise.perturb.sources.captions import OtherCaptions

SHOWN = 5
_TEXTS = tomllib.loads((Path(__file__).parent / "data" / "checks.toml").read_text(encoding="utf-8"))


class Flagged(NamedTuple):
    id: str
    kind: str  # caption, positives, negatives; "" for the whole item
    said: str


class _Kind(NamedTuple):
    """A check: `find` reads all items, or `judge` reads each text and its caption."""

    name: str  # in data/checks.toml
    find: Callable[[Sequence[Item]], Iterable[Flagged]] | None = None
    judge: Callable[[Item, Text, TextChange], str | None] | None = None
    only: str = ""  # `judge` reads only the positives, or only the negatives


def checks(items: Sequence[Item], advance: Callable[[int], None] = lambda count: None) -> list[TextCheck]:
    """All checks, in the order in which to fix them; `advance` gets the number of items done."""
    splits = {item.id: item.tags.get("split", "all") for item in items}
    findings = {kind.name: list(kind.find(items) if kind.find else ()) for kind in _KINDS}
    vocabulary = {word for item in items for word in words(item.caption)}
    for item in items:
        for kind, text in edits_of(item):
            differs = change(item.caption, text.text)
            said = {
                check_kind.name: check_kind.judge(item, text, differs)
                for check_kind in _KINDS
                if check_kind.judge and check_kind.only in ("", kind)
            }
            said["sub_word"] = edits.sub_word(differs, text.edit, vocabulary)
            for name, line in said.items():
                findings[name] += [Flagged(item.id, kind, f"{line}: {text.text!r}")] if line else []
        advance(1)
    edited = sum(bool(item.positives or item.negatives) for item in items)
    of = dict.fromkeys(findings, edited) | {
        "duplicates": len(items),
        "spaces": len(items),
        "contradictions": sum(item.image is not None for item in items),
        "near_synonyms": sum(bool(item.negatives) for item in items),
        "other_word": sum(any(text.edit and text.edit.source for _, text in edits_of(item)) for item in items),
    }
    return [counted(name, findings[name], of[name], splits) for name in findings]


def counted(name: str, findings: list[Flagged], of: int, splits: dict[str, str]) -> TextCheck:
    """Counts each item once; contradictions are pairs of an image and a text."""
    whole = (
        [example.id for example in findings]
        if name == "contradictions"
        else list({example.id: None for example in findings})
    )
    different: dict[str, Flagged] = {}
    for example in findings:
        different.setdefault(example.said.split(": ", 1)[-1] if example.kind else example.said, example)
    return TextCheck(
        name=name,
        title=_TEXTS[name]["title"],
        what=_TEXTS[name]["what"],
        bad=_TEXTS[name].get("bad", False),
        count=len(whole),
        of=of,
        share=len(whole) / of if of else None,
        by_split=dict(sorted(Counter(splits[id_] for id_ in whole).items())),
        by_kind=dict(sorted(Counter(example.kind for example in findings if example.kind).items())),
        examples=[Example(id=example.id, said=example.said) for example in list(different.values())[:SHOWN]],
        found=[Example(id=example.id, said=example.said) for example in findings],
        fix=_TEXTS[name]["fix"],
    )


def _of_check(examples: Iterable[check.CheckExample]) -> Iterator[Flagged]:
    for example in examples:
        said = example.said.removeprefix(example.id).removeprefix(":").removesuffix(f", wrong in {example.id}")
        yield Flagged(example.id, "", said.strip())


def _same_words(items: Sequence[Item]) -> Iterator[Flagged]:
    for item in items:
        wrong = [as_read(text.text) for text in item.negatives]
        if has_words_of(read := as_read(item.caption), wrong) and read not in wrong:
            yield Flagged(item.id, "", f"{item.caption!r} has the words of a negative")


def _spaces(items: Sequence[Item]) -> Iterator[Flagged]:
    for item in items:
        for kind, text in (("caption", item.caption), *((kind, text.text) for kind, text in edits_of(item))):
            if text != " ".join(text.split()):
                yield Flagged(item.id, kind, repr(text))


def _article(item: Item, text: Text, changed: TextChange) -> str | None:
    wrong = _wrong_articles(text.text) - _wrong_articles(item.caption)
    return f"{next(iter(wrong))!r}" if wrong else None


@functools.lru_cache(maxsize=1024)  # called with the caption for each of its edits
def _wrong_articles(text: str) -> Counter[str]:
    right = fix_articles(text)
    if right == text:
        return Counter()
    pairs = zip(text.split(), right.split(), strict=True)
    return Counter(
        f"{old} {after}" for (old, new), after in zip(pairs, [*text.split()[1:], ""], strict=True) if old != new
    )


def _grammar(item: Item, text: Text, changed: TextChange) -> str | None:
    said = broken_by_edit(item.caption, text.text)
    return None if said is None or said.startswith("wrong article") else said


def _other_word(items: Sequence[Item]) -> Iterator[Flagged]:
    for item in items:
        if said := edits.other_word(item):
            yield Flagged(item.id, "", f"{item.caption!r}: {said}")
            continue
        for _, text in edits_of(item):
            if said := edits.not_as_said(change(item.caption, text.text), text.edit):
                yield Flagged(item.id, "", f"{text.text!r}: {said}")
                break


def _near_synonym(item: Item, text: Text, changed: TextChange) -> str | None:
    """Not for negatives written from the image's other captions ("poodle" for a dog that they call a retriever)."""
    by_captions = text.edit is not None and text.edit.by == OtherCaptions.name
    return None if by_captions else edits.near_synonym(item.caption, changed)


_KINDS = (
    _Kind("duplicates", lambda items: _of_check(check.duplicates(items))),
    _Kind("forced_ties", lambda items: _of_check(check.forced_ties(items))),
    _Kind("contradictions", lambda items: _of_check(check.contradictions(items))),
    _Kind("same_words", _same_words),
    _Kind("articles", judge=_article),
    _Kind("grammar", judge=_grammar),
    _Kind("spaces", _spaces),
    _Kind("sub_word"),
    _Kind("other_word", _other_word),
    _Kind("compounds", judge=lambda item, text, found: edits.broken_compound(found)),
    _Kind("near_synonyms", judge=_near_synonym, only="negatives"),
)

SAMPLE = 4_000  # items for the shortcuts: intervals of two points, in seconds


def audit(
    items: Sequence[Item],
    name: str,
    seed: int = 0,
    sample: int = SAMPLE,
    advance: Callable[[int], None] = lambda count: None,
    shared: Sequence[TextCheck] = (),
) -> Audit:
    """The checks read every item, the shortcuts a sample drawn with `seed`; `shared` comes from `overlap`."""
    chosen = range(len(items))
    drawn = sorted(random.Random(seed).sample(chosen, sample)) if len(items) > sample else chosen
    some = [items[place] for place in drawn]
    done = [*shared, *checks(items, advance)]
    return Audit(
        benchmark=name,
        items=len(items),
        with_positives=sum(bool(item.positives) for item in items),
        with_negatives=sum(bool(item.negatives) for item in items),
        splits=dict(Counter(item.tags.get("split", "all") for item in items)),
        checks=done,
        bad=bad(items, done),
        reuse=reuse(items),
        sample=len(some),
        seed=seed,
        shortcuts=shortcuts(some, seed),
        detector=detector(some, seed),
    )


def bad(items: Sequence[Item], checked: Sequence[TextCheck]) -> list[Example]:
    """Copies, and items that no model can be judged by: forced ties, and negatives that another item calls right for
    the same image."""
    reasons: dict[str, str] = {}
    more = [(kind.title, example.id, example.said) for kind in checked if kind.bad for example in kind.found]
    while more:  # a contradiction names one item of each text; another one of the rest may have the text too
        for title, id_, said in more:
            reasons.setdefault(id_, f"{title}: {said}")
        clash = next((kind for kind in checked if kind.name == "contradictions" and kind.count), None)
        left = [item for item in items if item.id not in reasons] if clash else []
        more = [(clash.title, example.id, example.said) for example in check.contradictions(left)] if clash else []
    return [Example(id=item.id, said=reasons[item.id]) for item in items if item.id in reasons]


def reuse(items: Sequence[Item]) -> Reuse | None:
    """How often images are reused, by path, since boxes of one photo share its contents."""
    images = Counter(item.image.path for item in items if item.image is not None)
    if not images:
        return None
    captions = Counter((item.image.path, item.caption) for item in items if item.image is not None)
    n = sum(images.values())
    effective = n**2 / sum(count**2 for count in images.values())  # Kish
    often = dict(images.most_common(SHOWN))
    first = {
        item.image.path: item.id for item in reversed(items) if item.image is not None and item.image.path in often
    }
    return Reuse(
        items=n,
        images=len(images),
        most=max(images.values()),
        most_of_caption=max(captions.values()),
        effective=round(effective, 1),
        design_effect=round(n / effective, 3),
        examples=[
            Example(id=first[path], said=f"{path}: {count:,} items") for path, count in often.items() if count > 1
        ],
        fix="resample images, not items, for every interval (as eval and compare do); cap the items of one image",
    )
