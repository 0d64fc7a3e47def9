"""The parts of a question, and other forms of it with the same answer.

A question has what is said before it, the question itself, and what follows it ("True or false?"). Only the question
changes. language/data/questions.txt lists its forms. Where a rule cannot tell, the question keeps its form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.language.caption import Caption, Kind, Unit
from equipoise.language.vocabulary import read_text, word_set
from equipoise.language.wordnet import is_animate, is_thing

PICTURE = r"(?P<the>the|this) (?P<picture>image|picture|photo|photograph)"
_COUNTED = r"(?P<x>(?:an?|any|some|two|three|four|five) .+?)"
_TAIL = re.compile(r"\s*(?:true or false\?|\(?yes or no\)?[.?]?|(?:please )?answer [^?]*)$", re.IGNORECASE)
_OPENERS = word_set("openers of questions")
_LOWERED = _OPENERS | word_set("little words that open a statement")
_NO_OBJECTS = word_set("nouns that a question does not ask for")
_SIZES = ("larger smaller", "bigger smaller", "longer shorter", "taller shorter", "higher lower", "wider narrower")
_CONVERSE = {one: two for pair in _SIZES for one, two in (pair.split(), pair.split()[::-1])}
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


class Parts(NamedTuple):
    before: str
    core: str  # the question or the statement, without its mark
    mark: str
    after: str

    def written(self, core: str) -> str:
        return f"{self.before}{core}{self.mark}{self.after}"


def asked(question: str) -> Parts | None:
    """The last sentence, if it is a question that begins as questions do."""
    tail = _TAIL.search(question)
    text, after = (question[: tail.start()], question[tail.start() :]) if tail else (question, "")
    found = re.fullmatch(r"((?:.*(?:[.!?:]\s+|\n))?)(\S[^?\n]*?)(\s*\??)", text, re.DOTALL)
    if not found or ("?" not in found[3] and after) or not found[2].split():
        return None
    opens = found[2].split()[0].strip(",").lower() in _OPENERS or _FRONTED.fullmatch(found[2])
    return Parts(found[1], found[2], found[3] or "?", after) if opens else None


def stated(question: str, polar: bool) -> Parts | None:
    """A statement that is true or false: "The cat is on the bed. True or false?"."""
    for pattern in _STATEMENTS if polar else _STATEMENTS[:2]:
        if found := pattern.fullmatch(question.strip()):
            return Parts(*found.groups()) if found[2].split()[0].lower() in _LOWERED else None
    return None


def forms_of_statement(parts: Parts, options: Sequence[str]) -> Iterator[str]:
    said = parts.core
    lower = said[0].lower() + said[1:]
    if found := _SYMMETRIC.fullmatch(said):
        relation = {"above": "below", "below": "above"}.get(found[2], found[2])
        yield parts.written(f"The {found[3]} is {relation} the {found[1]}")
    if "yes" in map(str.lower, options):
        yield f"Is it true that {lower}?"
    yield f"Is it true or false that {lower}?"
    yield f"True or false: {lower}."


def forms_of_question(core: str) -> Iterator[str]:
    upper = core[0].upper() + core[1:]
    for pattern, forms in _FORMS:
        found = pattern.fullmatch(upper)
        words = _agreeing(found.groupdict()) if found else None
        if words is not None:
            yield from (form.format(**words) for form in forms)
    if found := _FRONTED.fullmatch(upper):
        lead, rest = found["lead"], found["q"]
        comma = "" if lead.lower().startswith("in ") else ","
        yield f"{rest[0].upper()}{rest[1:]}{comma} {lead[0].lower()}{lead[1:]}"
    elif found := _FRONT.fullmatch(upper):
        lead, rest = found["lead"], found["q"]
        if rest.split()[0].lower() in _LOWERED and len(rest.split()) > 2 and not _HARD_TO_FRONT.search(rest):
            yield f"{lead[0].upper()}{lead[1:]}, {rest[0].lower()}{rest[1:]}"
    if said := _said(upper):
        yield f"Is it true that {said}"
    if len(re.findall(r"\b(?:image|picture|photo)", core)) == 1:
        other = {"image": "picture", "picture": "image"}
        yield re.sub(r"(\bin (?:the|this) )(image|picture)$", lambda found: found[1] + other[found[2]], core)


def _agreeing(words: dict[str, str]) -> dict[str, str] | None:
    """The words of a form with those that agree with them; None where one is not of its kind."""
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
    """A thing, a person or an animal, and at most where it is."""
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
    """The statement in "Is the cup on the table": a subject, and what is surely said of it."""
    found = re.fullmatch(r"(Is|Are) ((?:the|this|that|these|those) [a-z -]+)", core)
    caption = Caption(found[2] if found else "")
    if not found or not caption.phrases or caption.phrases[0].start:
        return None
    units, end = caption.units, caption.phrases[0].end
    if end < len(units) and re.fullmatch(rf"a|(?:v(?:d?a*n+)?)?{_PLACES}", _letters(units[end:])):
        return f"{caption.text[: units[end - 1].end]} {found[1].lower()} {caption.text[units[end].start :]}"
    return None


# "on a table in the left corner". In "on a table a cup" the cup is said of the subject, so that "on a table" is not.
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
