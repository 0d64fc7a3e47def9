"""`perturb --recipe questions`: questions in other words with the same answer, and with the opposite answer."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence

from equipoise.core.errors import UserError
from equipoise.data.items import Item, Text
from equipoise.language.caption import COLLECTIVES, Caption, Unit, unusable
from equipoise.language.forms import inflect, noun_lemma, write_edit
from equipoise.language.vocabulary import are_exclusive, word_set
from equipoise.language.wordnet import is_animate, is_person
from equipoise.perturb.operations.counts import is_countable
from equipoise.perturb.operations.swap_negative import NO_THING
from equipoise.perturb.question_forms import (
    PICTURE,
    Parts,
    asked,
    forms_of_question,
    forms_of_statement,
    is_object,
    is_thing_noun,
    stated,
)  # fmt: skip
from equipoise.perturb.recipe import Recipe, perturb_caption
from equipoise.perturb.recipes import RECIPES

MOST = 4  # rewordings of a question
_WORDS = 2  # of them with another word
_PAIRS = ({"yes", "no"}, {"true", "false"})
_ABOUT_WORDS = re.compile(
    r"""["“‘]|(?<!\w)'|\b(?:titled?|called|named|described|words?|says?|phrase|translate|code|formula|letter|sentence|text|"""
    r"place of)\b",
    re.IGNORECASE,
)
_KEPT = word_set("words that questions keep")
_BROKEN = frozenset(("in", "on display", "have on", "has on", "is visible", "are visible"))
_EXISTS = re.compile(rf"(?P<be>Is|Are) there (?P<x>(?P<a>an?|any) .+?)(?P<where>(?: in {PICTURE})?)")
_SAME = re.compile(r"Are (?P<two>(?:the|these) two .*|they) the same (?P<a>colou?r|shape|size)")
_NO_DENIAL = word_set("words that a denial does not go with")


def perturb_questions(items: Sequence[Item], seed: int = 0) -> Iterator[Item]:
    """Each item with more rewordings, and after it the items with the opposite answer."""
    known = {item.id for item in items}  # opposites of an earlier run are not written again
    for item in items:
        if item.question is None:
            raise UserError(f"item {item.id}: has no question, and recipe questions rewords questions (docs/files.md)")
        again = dict.fromkeys((*item.rewordings, *rewordings(item.question, item.options(), seed)))
        yield item.model_copy(update={"rewordings": tuple(again)})
        if _is_polar(item.options()) and "opposite_of" not in item.tags:
            captions = [text.strip() for text in item.tags.get("captions", "").split("|") if text.strip()]
            there = item.caption.lower() in {"yes", "true"}
            for number, text in enumerate(opposites(item.question, there, captions, seed)):
                name = f"{item.id}/opposite{f'-{number + 1}' if number else ''}"
                if name not in known:
                    yield _turned(item, text, name)


def _is_polar(options: Sequence[str]) -> bool:
    return {option.lower() for option in options} in _PAIRS


def _turned(item: Item, question: str, name: str) -> Item:
    changed = {"id": name, "question": question, "rewordings": (), "place": 1 - item.place}
    answers = {"caption": item.negatives[0].text, "negatives": (Text(text=item.caption),)}
    return item.model_copy(update=changed | answers | {"tags": item.tags | {"opposite_of": item.id}})


def rewordings(question: str, options: Sequence[str] = (), seed: int = 0) -> list[str]:
    """The same question in other words: other forms, then other words."""
    if unusable(question.replace("?", ".")):
        return []
    if parts := stated(question, _is_polar(options)):
        forms = list(forms_of_statement(parts, options))
    elif parts := asked(question):
        forms = [parts.written(core) for core in forms_of_question(parts.core)]
    else:
        return []
    same = _plain(question)
    words = [parts.written(core) for core in _words(parts.core, options, seed)]
    forms, words = ([one for one in dict.fromkeys(found) if _plain(one) != same] for found in (forms, words))
    return [*forms[: MOST - len(words[:_WORDS])], *words[:_WORDS]]


def _plain(question: str) -> str:
    return question.rstrip(" ?.").lower()


@functools.cache
def _recipe() -> Recipe:
    """The positives of `balanced` that readers accept as often as its dial asks."""
    named = [slot for slot in RECIPES["balanced"].slots if slot.name.startswith("positive")]
    return dataclasses.replace(RECIPES["balanced"], slots=tuple(slot for slot in named if "contrast" not in slot.name))


def _words(core: str, options: Sequence[str], seed: int) -> Iterator[str]:
    """A word or a phrase for another, as in captions; not where the question or its options are about that word."""
    if _ABOUT_WORDS.search(core) or len(core) > 200:
        return
    chosen = {word for option in options for word in re.findall(r"\w+", option.lower())}
    swaps = not re.search("relation|position|distance|between", core)
    for made in perturb_caption(_recipe(), Caption(core), seed).positives:
        edit = made.edit
        if not edit.source or not edit.to or not edit.span or not edit.span[0]:
            continue
        old, new = (set(re.findall(r"\w+", text.lower())) for text in (edit.source, edit.to))
        if edit.op == "replace" and edit.by != "rules":
            if not (old | new) & (_KEPT | chosen) and not old <= new and edit.to not in _BROKEN:
                yield made.text
        elif edit.op == "swap" and swaps:
            yield made.text


def opposites(question: str, there: bool, captions: Sequence[str] = (), seed: int = 0) -> Iterator[str]:
    """Questions with the opposite answer; about another object only where captions of the photo are given.

    `there`: whether the answer to the question is yes.
    """
    if parts := stated(question, polar=True):
        if denied := _denied(parts.core):
            yield parts.written(denied)
    elif (parts := asked(question)) and not parts.after:
        if found := _EXISTS.fullmatch(parts.core):
            yield from _of_existence(parts, found, there, captions, seed)
        elif found := _SAME.fullmatch(parts.core):
            yield parts.written(f"Do {found['two']} have different {found['a']}s")


def _of_existence(parts: Parts, found: re.Match[str], there: bool, captions: Sequence[str], seed: int) -> Iterator[str]:
    thing = found["x"].split(" ", 1)[1]
    if not is_object(found["x"]) or re.search(r"\b(?:and|or)\b", thing):
        return
    yield parts.written(f"Is it true that there {found['be'].lower()} no {thing}{found['where']}")
    if other := _other_object(thing, there, captions, seed):
        start = f"{found['be']} there {found['a']} "
        text = f"{start}{thing}{found['where']}"
        yield parts.written(write_edit(text, len(start), len(start) + len(thing), other))


def _denied(said: str) -> str | None:
    """The statement with "not" at its verb, which follows the first noun phrase."""
    caption = Caption(said)
    if not caption.phrases or caption.phrases[0].start or caption.phrases[0].end >= len(caption.units):
        return None
    verb, *after = caption.units[caption.phrases[0].end :]
    if "n't" in said or any(unit.word in _NO_DENIAL for unit in after):
        return None
    if verb.word in {"is", "are"}:
        return f"{said[: verb.end]} not{said[verb.end :]}"
    if verb.pos == "VBZ" and verb.kind == "verb":
        return f"{said[: verb.start]}does not {verb.lemma}{said[verb.end :]}"
    return None


def _other_object(thing: str, there: bool, captions: Sequence[str], seed: int) -> str | None:
    """For an object that is not in the photo, one that two captions name. For an animal that is, one that the engine
    puts in its place in a caption, and that no caption names: a person or a chair may be there unnamed."""
    if len(captions) < 2 or " " in thing:
        return None
    lemma = noun_lemma(thing)
    for place, text in enumerate(captions):
        caption = Caption(text, (*captions[:place], *captions[place + 1 :]))
        if there:
            found = _excluded(caption, lemma, seed)
        else:
            heads = (
                caption.units[phrase.head] for n, phrase in enumerate(caption.phrases) if is_thing_noun(caption, n)
            )
            found = next((head.word for head in heads if _is_one(head) and head.word in caption.other_words), None)
        if found:
            return found if lemma == thing else inflect(found, "NNS")
    return None


def _is_one(head: Unit) -> bool:
    """Whether one can ask "Is there a ...?" of it: no water, graffiti or crowd."""
    named = head.pos == "NN" and head.word == head.lemma and head.lemma not in NO_THING | COLLECTIVES
    return named and is_countable(head)


def _excluded(caption: Caption, lemma: str, seed: int) -> str | None:
    if lemma not in caption.words or not _is_animal(lemma):
        return None
    for made in perturb_caption(RECIPES["balanced"], caption, seed).negatives:
        edit = made.edit
        if edit.op == "replace" and edit.target == "object" and noun_lemma(edit.source or "") == lemma:
            other = noun_lemma(edit.to or "")
            unnamed = other.isalpha() and other not in caption.other_words
            if unnamed and _is_animal(other) and are_exclusive(lemma, other):
                return other
    return None


def _is_animal(noun: str) -> bool:
    return is_animate(noun) and not is_person(noun)
