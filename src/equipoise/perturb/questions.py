"""`perturb --recipe questions`: questions in other words with the same answer, and with the opposite answer.

A question has words before it, the question itself, and words after it ("True or false?"). Only the question changes.
language/data/questions.txt lists its forms. If no rule is sure, the question keeps its form.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.core.errors import UserError
from equipoise.data.items import Item, Text
from equipoise.language.caption import COLLECTIVES, Caption, Kind, Unit, unusable
from equipoise.language.forms import inflect, noun_lemma, write_edit
from equipoise.language.vocabulary import are_exclusive, read_text, word_set
from equipoise.language.wordnet import is_animate, is_person, is_thing
from equipoise.perturb.operations.swap_candidates import is_countable
from equipoise.perturb.operations.swap_negative import NO_THING
from equipoise.perturb.recipe import Recipe, perturb_caption
from equipoise.perturb.recipes import RECIPES

PICTURE = r"(?P<the>the|this) (?P<picture>image|picture|photo|photograph)"
_COUNTED = r"(?P<x>(?:an?|any|some|two|three|four|five) .+?)"
_TAIL = re.compile(r"\s*(?:true or false\?|\(?yes or no\)?[.?]?|(?:please )?answer [^?]*)$", re.IGNORECASE)
_OPENERS = word_set("openers of questions")
_LOWERED = _OPENERS | word_set("little words that open a statement")
_NO_OBJECTS = word_set("nouns that a question does not ask for")
_SIZES = ("larger smaller", "bigger smaller", "longer shorter", "taller shorter", "higher lower", "wider narrower")
_CONVERSE = {size: opposite for pair in _SIZES for size, opposite in (pair.split(), pair.split()[::-1])}
_FRONT = re.compile(rf"(?P<q>.+?),? (?P<lead>(?:in|based on|according to) {PICTURE})", re.IGNORECASE)
_FRONTED = re.compile(rf"(?P<lead>(?:In|Based on|According to) {PICTURE}), (?P<q>.+)", re.IGNORECASE)
_HARD_TO_FRONT = re.compile(  # "the path shown in the image": its end belongs to the noun before it
    r"\b(?:infer|image|picture|photo)|\b(?:is|are|not)$|^(?:is it|can|could|should) |(?<!\bis)(?<!\bare)(?<!\bbe) "
    r"(?:shown|seen|present|showing|happening|depicted|displayed|visible|captured|pictured)$",
    re.IGNORECASE,
)
_STATEMENTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"()([^.?!\n]+)(\.?)(,?\s+true or false\?)",
        r"((?:[^.?!\n]+, )?is the following statement true or false\?\s+)([^.?!\n]+)(\.?)()",
        r"()([^.?!\n]+)(\.)()",  # only where the options say that it is true or false
    )
)
_SYMMETRIC = re.compile(
    r"The (\w+(?: \w+)?) is (touching|next to|beside|near|close to|far from|far away from|away from|adjacent to|"
    r"parallel to|perpendicular to|above|below) the (\w+(?: \w+)?)"
)


def _read_forms() -> Iterator[tuple[re.Pattern[str], list[str]]]:
    for line in read_text("questions.txt").splitlines():
        pattern, arrow, forms = line.partition(" => ")
        if arrow:
            yield re.compile(pattern.replace("{PICTURE}", PICTURE).replace("{COUNTED}", _COUNTED)), forms.split(" | ")


_FORMS = tuple(_read_forms())


class QuestionParts(NamedTuple):
    before: str
    core: str  # the question or the statement, without its mark
    mark: str
    after: str

    def written(self, core: str) -> str:
        return f"{self.before}{core}{self.mark}{self.after}"


def asked(question: str) -> QuestionParts | None:
    """The last sentence, if it is a question that begins as questions do."""
    tail = _TAIL.search(question)
    text, after = (question[: tail.start()], question[tail.start() :]) if tail else (question, "")
    match = re.fullmatch(r"((?:.*(?:[.!?:]\s+|\n))?)(\S[^?\n]*?)(\s*\??)", text, re.DOTALL)
    if not match or ("?" not in match[3] and after) or not match[2].split():
        return None
    opens = match[2].split()[0].strip(",").lower() in _OPENERS or _FRONTED.fullmatch(match[2])
    return QuestionParts(match[1], match[2], match[3] or "?", after) if opens else None


def stated(question: str, polar: bool) -> QuestionParts | None:
    """A statement that is true or false: "The cat is on the bed. True or false?"."""
    for pattern in _STATEMENTS if polar else _STATEMENTS[:2]:
        if match := pattern.fullmatch(question.strip()):
            return QuestionParts(*match.groups()) if match[2].split()[0].lower() in _LOWERED else None
    return None


def forms_of_statement(parts: QuestionParts, options: Sequence[str]) -> Iterator[str]:
    said = parts.core
    lower = said[0].lower() + said[1:]
    if match := _SYMMETRIC.fullmatch(said):
        relation = {"above": "below", "below": "above"}.get(match[2], match[2])
        yield parts.written(f"The {match[3]} is {relation} the {match[1]}")
    if "yes" in map(str.lower, options):
        yield f"Is it true that {lower}?"
    yield f"Is it true or false that {lower}?"
    yield f"True or false: {lower}."


def forms_of_question(core: str) -> Iterator[str]:
    upper = core[0].upper() + core[1:]
    for pattern, forms in _FORMS:
        match = pattern.fullmatch(upper)
        words = _agreeing(match.groupdict()) if match else None
        if words is not None:
            yield from (form.format(**words) for form in forms)
    if match := _FRONTED.fullmatch(upper):
        lead, rest = match["lead"], match["q"]
        comma = "" if lead.lower().startswith("in ") else ","
        yield f"{rest[0].upper()}{rest[1:]}{comma} {lead[0].lower()}{lead[1:]}"
    elif match := _FRONT.fullmatch(upper):
        lead, rest = match["lead"], match["q"]
        if rest.split()[0].lower() in _LOWERED and len(rest.split()) > 2 and not _HARD_TO_FRONT.search(rest):
            yield f"{lead[0].upper()}{lead[1:]}, {rest[0].lower()}{rest[1:]}"
    if said := _said(upper):
        yield f"Is it true that {said}"
    if len(re.findall(r"\b(?:image|picture|photo)", core)) == 1:
        other = {"image": "picture", "picture": "image"}
        yield re.sub(r"(\bin (?:the|this) )(image|picture)$", lambda match: match[1] + other[match[2]], core)


def _agreeing(words: dict[str, str]) -> dict[str, str] | None:
    """The words of a form with those that agree with them; None if a word is not of its kind."""
    if not all(is_object(words[name]) for name in ("x", "y") if name in words):
        return None
    counted = words.get("n", "")
    if len(counted.split()) > 4 or any(unit.kind in {"verb", "be"} for unit in Caption(counted).units):
        return None
    if "x" in words and "be" not in words:
        words |= {"be": "are", "do": "do"} if _is_plural(words["x"]) else {"be": "is", "do": "does"}
    if "size" in words:
        if words["size"] not in _CONVERSE or _is_plural(words["y"]) != (words["be"] == "Are"):
            return None
        words["converse"] = _CONVERSE[words["size"]]
    return words


def is_object(text: str) -> bool:
    """Whether the text names a thing, a person or an animal, and at most its place."""
    caption = Caption(text)
    if not caption.phrases or caption.phrases[0].start:
        return False
    rest = _letters(caption.units[caption.phrases[0].end :])
    return re.fullmatch(_PLACES, rest) is not None and is_thing_noun(caption, 0)


def is_thing_noun(caption: Caption, phrase: int) -> bool:
    head = caption.units[caption.phrases[phrase].head].lemma
    return (is_thing(head) or is_animate(head)) and head not in _NO_OBJECTS


def _is_plural(text: str) -> bool:
    caption = Caption(text)
    return caption.units[caption.phrases[0].head].pos in {"NNS", "NNPS"} or " and " in text


def _said(core: str) -> str | None:
    """The statement in "Is the cup on the table": a subject, and its predicate if the border between them is sure."""
    match = re.fullmatch(r"(Is|Are) ((?:the|this|that|these|those) [a-z -]+)", core)
    caption = Caption(match[2] if match else "")
    if not match or not caption.phrases or caption.phrases[0].start:
        return None
    units, end = caption.units, caption.phrases[0].end
    if end < len(units) and re.fullmatch(rf"a|(?:v(?:d?a*n+)?)?{_PLACES}", _letters(units[end:])):
        return f"{caption.text[: units[end - 1].end]} {match[1].lower()} {caption.text[units[end].start :]}"
    return None


# "on a table in the left corner". In "on a table a cup" the cup is the predicate, so "on a table" is not.
_PLACES = "(?:p+d?a*n+)*"
_LETTERS: dict[Kind, str] = {"noun": "n", "adjective": "a", "determiner": "d", "number": "d", "verb": "v"}


def _letters(units: Sequence[Unit]) -> str:
    """A letter for the kind of each unit; "on the left" is a preposition with its noun."""
    return "".join(
        ("p" if unit.word.split()[-1] in _LAST or " " not in unit.word else "pn")
        if unit.kind == "preposition"
        else _LETTERS.get(unit.kind, "?")
        for unit in units
    )


_LAST = word_set("last words of prepositions")


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
            is_yes = item.caption.lower() in {"yes", "true"}
            for number, text in enumerate(opposites(item.question, is_yes, captions, seed)):
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
    forms, words = ([text for text in dict.fromkeys(texts) if _plain(text) != same] for texts in (forms, words))
    return [*forms[: MOST - len(words[:_WORDS])], *words[:_WORDS]]


def _plain(question: str) -> str:
    return question.rstrip(" ?.").lower()


@functools.cache
def _recipe() -> Recipe:
    """The positives of `balanced` that readers accept as often as its dial asks."""
    named = [slot for slot in RECIPES["balanced"].slots if slot.name.startswith("positive")]
    return dataclasses.replace(RECIPES["balanced"], slots=tuple(slot for slot in named if "contrast" not in slot.name))


def _words(core: str, options: Sequence[str], seed: int) -> Iterator[str]:
    """Replace a word or a phrase, as in captions; not where the question or its options are about that word."""
    if _ABOUT_WORDS.search(core) or len(core) > 200:
        return
    chosen = {word for option in options for word in re.findall(r"\w+", option.lower())}
    swaps = not re.search("relation|position|distance|between", core)
    for candidate in perturb_caption(_recipe(), Caption(core), seed).positives:
        edit = candidate.edit
        if not edit.source or not edit.to or not edit.span or not edit.span[0]:
            continue
        old, new = (set(re.findall(r"\w+", text.lower())) for text in (edit.source, edit.to))
        if edit.op == "replace" and edit.by != "rules":
            if not (old | new) & (_KEPT | chosen) and not old <= new and edit.to not in _BROKEN:
                yield candidate.text
        elif edit.op == "swap" and swaps:
            yield candidate.text


def opposites(question: str, is_yes: bool, captions: Sequence[str] = (), seed: int = 0) -> Iterator[str]:
    """Questions with the opposite answer; about another object only where captions of the photo are given.

    `is_yes`: whether the answer to the question is yes.
    """
    if parts := stated(question, polar=True):
        if denied := _denied(parts.core):
            yield parts.written(denied)
    elif (parts := asked(question)) and not parts.after:
        if match := _EXISTS.fullmatch(parts.core):
            yield from _of_existence(parts, match, is_yes, captions, seed)
        elif match := _SAME.fullmatch(parts.core):
            yield parts.written(f"Do {match['two']} have different {match['a']}s")


def _of_existence(
    parts: QuestionParts, match: re.Match[str], is_yes: bool, captions: Sequence[str], seed: int
) -> Iterator[str]:
    thing = match["x"].split(" ", 1)[1]
    if not is_object(match["x"]) or re.search(r"\b(?:and|or)\b", thing):
        return
    yield parts.written(f"Is it true that there {match['be'].lower()} no {thing}{match['where']}")
    if name := _other_object(thing, is_yes, captions, seed):
        start = f"{match['be']} there {match['a']} "
        text = f"{start}{thing}{match['where']}"
        yield parts.written(write_edit(text, len(start), len(start) + len(thing), name))


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


def _other_object(thing: str, in_photo: bool, captions: Sequence[str], seed: int) -> str | None:
    """Another object to ask for. In place of one that is not in the photo: one that two captions name. In place of an
    animal that is in it: one that the engine puts in its place in a caption, and that no caption names; a person or a
    chair may be in the photo unnamed."""
    if len(captions) < 2 or " " in thing:
        return None
    lemma = noun_lemma(thing)
    for place, text in enumerate(captions):
        caption = Caption(text, (*captions[:place], *captions[place + 1 :]))
        if in_photo:
            noun = _excluded(caption, lemma, seed)
        else:
            heads = (
                caption.units[phrase.head] for n, phrase in enumerate(caption.phrases) if is_thing_noun(caption, n)
            )
            noun = next((head.word for head in heads if _is_one(head) and head.word in caption.other_words), None)
        if noun:
            return noun if lemma == thing else inflect(noun, "NNS")
    return None


def _is_one(head: Unit) -> bool:
    """Whether "Is there a ...?" can ask for it: no water, graffiti or crowd."""
    named = head.pos == "NN" and head.word == head.lemma and head.lemma not in NO_THING | COLLECTIVES
    return named and is_countable(head)


def _excluded(caption: Caption, lemma: str, seed: int) -> str | None:
    if lemma not in caption.words or not _is_animal(lemma):
        return None
    for candidate in perturb_caption(RECIPES["balanced"], caption, seed).negatives:
        edit = candidate.edit
        if edit.op == "replace" and edit.target == "object" and noun_lemma(edit.source or "") == lemma:
            new = noun_lemma(edit.to or "")
            unnamed = new.isalpha() and new not in caption.other_words
            if unnamed and _is_animal(new) and are_exclusive(lemma, new):
                return new
    return None


def _is_animal(noun: str) -> bool:
    return is_animate(noun) and not is_person(noun)
