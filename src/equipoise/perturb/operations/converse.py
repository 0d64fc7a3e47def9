"""Positives that say the same the other way round: no content word is replaced, and only the grammar tells them from a
negative with the same words.

"A dog chasing a cat": a cat being chased by a dog. "A cat on a table": a table with a cat on it, on a table is a cat.
"A bathroom with a sink": a sink in a bathroom. "Two dogs playing in a park": in a park, two dogs are playing.
Each rule asks for a whole caption of one shape and refuses all others.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from equipoise.language.caption import Caption
from equipoise.language.forms import inflect
from equipoise.language.plausibility import COLOURS
from equipoise.language.vocabulary import members, word_set
from equipoise.language.wordnet import is_animate, is_garment, is_person, is_thing, same_sort
from equipoise.perturb.operations.clause import Clause, ClausePart, clause_of
from equipoise.perturb.recipe import Candidate, Made, Refused, Sources, edited

_PASSIVE = word_set("passive verbs")
_FILLERS = frozenset("fill cover surround line crowd".split())  # a street filled with cars: they fill it
_FIRST, _AFTER_PLACE = word_set("postures that may come first"), word_set("verbs that may follow their place")
_PLACES, _BEFORE_IT = word_set("prepositions of place"), word_set("prepositions before it")
_MUTUAL, _NO_PLACES = word_set("mutual places"), word_set("no places")
_SCENES = word_set("scenes of all")
_FIRST_SCENES = _SCENES | word_set("scenes that may come first")
_NOT_OF_ALL, _PICTURES = word_set("scenes of some"), word_set("pictures")
_TOGETHER = frozenset(("each other", "one another", "side by side"))
_ELSEWHERE = word_set("verbs across places")
_CARRIERS, _HOLDERS = word_set("carriers"), word_set("holders")
_TABLES = frozenset(("table", "desk", "dining table", "picnic table", "kitchen table"))
_SEATS, _BY_FURNITURE = word_set("seats"), word_set("by furniture")
_MALE, _FEMALE = word_set("male nouns"), word_set("female nouns")
_WAYS = word_set("ways") - {"to", "off", "into", "onto", "against"}
_MOVED, _GOING = word_set("passive verbs with a place"), word_set("prepositions of a way")
_WIDE, _DONE = word_set("wide places"), word_set("taken and done")
_RIDDEN = word_set("ridden")
_BOARDS = frozenset(("surfboard", "surf board", "board"))  # a wave is ridden by a man on one
_BODY = word_set("body parts") | {"hand", "mouth", "lap", "arm", "trunk", "beak"}
_GROWN = _BODY | {"horn", "tusk", "antler", "hair", "collar"}  # a bull with long horns
_UP = frozenset(("up", "down"))  # lined up on a bar
_ASIDE = _MUTUAL | {"in front of", "behind", "outside", "at", "by"}
_NEEDS_VERB = word_set("prepositions after a verb")
_BUSY = frozenset("cooking working eating feeding".split())  # a woman cooking on a stove is not on it
_STILL = word_set("still postures")


class Statement(NamedTuple):
    op: str
    text: str


Rule = Callable[[Clause], Iterator[Statement]]


def converse_positive(caption: Caption, sources: Sources, rng: random.Random) -> Made:
    clause = clause_of(caption)
    if clause is None:
        yield Refused("the caption is no single plain clause")
        return
    wordings = [said for rule in RULES for said in rule(clause)]
    if not wordings:
        yield Refused("no rule turns a caption of this shape round")
    # Any other way is better English than the plain inversion, which nearly every caption with a place has.
    for said in sorted(rng.sample(wordings, len(wordings)), key=lambda said: said.op == "inversion"):
        yield _written(clause, said)


def _written(clause: Clause, said: Statement) -> Candidate:
    """The candidate with the capital and the full stop of the caption."""
    text = clause.caption.text
    end = clause.caption.units[clause.parts[-1].end - 1].end
    new = said.text[:1].upper() + said.text[1:] if text[:1].isupper() else said.text
    return edited(text, "positive", said.op, "relation", (0, end), new, "rules", new + text[end:])


def _be(part: ClausePart) -> str:
    return "are" if part.plural else "is"


def _says(clause: Clause, *parts: ClausePart) -> str:
    return clause.say(list(parts))


def _is_place(clause: Clause, preposition: ClausePart, thing: ClausePart) -> bool:
    word, head = clause.word(preposition), thing.head
    if word not in _PLACES or head in _NO_PLACES or head.split()[-1] in _NO_PLACES:
        return False
    if clause.caption.is_name(thing.start) or clause.units(thing)[-1].pos.startswith("NNP"):
        return False
    return not (word == "in" and (is_garment(head) or head in COLOURS or clause.units(thing)[0].word in COLOURS))


def _is_dressed(clause: Clause, parts: list[ClausePart]) -> bool:
    """Whether the parts go with a person (in a suit, with a hat, on skis), or there are none."""
    if not parts:
        return True
    word, head = clause.word(parts[0]), parts[1].head
    if parts[0].letter == "g":
        return parts[0].head in {"wear", "hold", "carry"}
    return (word in {"in", "with"} and (is_garment(head) or head in COLOURS)) or (word == "on" and head in _RIDDEN)


def _is_doer(dress: list[ClausePart], verb: list[ClausePart]) -> bool:
    """Whether the subject surely does it: after "holding a cup" only a verb in -ing, no "wrapped", no bare place."""
    return not dress or dress[0].letter != "g" or (bool(verb) and verb[0].letter != "d")


def _can_be_clause(clause: Clause, subject: ClausePart) -> bool:
    """Whether it is no headline ("Woman on a bench") and does not begin with a kind of picture."""
    return clause.opening in {"", "there"} and _has_article(clause, subject)


def _has_article(clause: Clause, part: ClausePart) -> bool:
    """Whether the part has an article or a number, or needs none."""
    first = clause.units(part)[0]
    several = part.plural and (part.letter == "n" or clause.caption.is_plural(clause.caption.phrase_at[part.start]))
    return first.kind in {"determiner", "number"} or several or part.head in members("@mass")


_SUBJECT = "([nmk])((?:[pwg]n)?)"


def place_first(clause: Clause) -> Iterator[Statement]:
    """Sitting on a table is a cat. On a table is a cat. On a table sits a cat."""
    if groups := clause.match(_SUBJECT + "([br]?)([gd])([ap]?)(p(?:[nmk]|n[gdpwan]*[nmk]))"):
        (subject,), dress, be, (verb,), how, rest = groups
        where = _is_place(clause, *rest[:2]) or clause.word(rest[0]) in _GOING or rest[1].head in _WIDE
        good = clause.word(verb) in _FIRST and where and all(p.letter == "a" or clause.word(p) in _UP for p in how)
        good &= _is_dressed(clause, dress) or (dress[0].letter == "w" and dress[1].head in _GROWN)
        good &= _is_doer(dress, [verb]) and not _describes_subject(clause, subject, rest)
        if good and _can_end(clause, subject):
            moved = _says(clause, verb, *how, *rest)
            yield Statement("inversion", f"{moved} {_is(clause, subject, be)} {_says(clause, subject, *dress)}")
    elif groups := clause.match("([nmk])([br]?)((?:pn)+)"):
        (subject,), be, rest = groups
        if _is_place(clause, *rest[:2]) and _can_end(clause, subject) and clause.word(rest[0]) not in _NEEDS_VERB:
            yield Statement("inversion", f"{clause.say(rest)} {_is(clause, subject, be)} {_says(clause, subject)}")
    elif groups := clause.match("([nmk])(z)((?:pn)+)"):
        (subject,), (verb,), rest = groups
        if verb.head in _AFTER_PLACE and _is_place(clause, *rest[:2]) and _can_end(clause, subject):
            yield Statement("inversion", f"{clause.say(rest)} {clause.word(verb)} {_says(clause, subject)}")


def _can_end(clause: Clause, subject: ClausePart) -> bool:
    """Whether a sentence with its place first may end in the subject: more than one word, and not "the train"."""
    known = clause.units(subject)[0].word in {"the", "this", "that", "these", "those"}
    return not known and _can_be_clause(clause, subject) and subject.end > subject.start + 1


def _describes_subject(clause: Clause, subject: ClausePart, rest: list[ClausePart]) -> bool:
    """Whether a later "with" or participle belongs to the subject, and would be read with the place."""
    late = [part for part in rest if part.letter in "wgd"]
    if any(clause.word(part) == "wearing" for part in late):
        return True
    return not is_animate(subject.head) and any(part.head not in _FILLERS for part in late)


def _is(clause: Clause, subject: ClausePart, be: list[ClausePart]) -> str:
    """The caption's own "is" or "are", if it has one."""
    return clause.word(be[0]).split()[-1] if be else _be(subject)


def _finite(clause: Clause, subject: ClausePart, be: list[ClausePart], verb: ClausePart) -> str:
    """The finite form of the verb: "is riding" for a participle."""
    if verb.letter == "z":
        return clause.word(verb)
    return f"{_is(clause, subject, be)} {clause.word(verb)}"


def scene_first(clause: Clause) -> Iterator[Statement]:
    """In a park, a man is riding a bike."""
    if groups := clause.match(_SUBJECT + "([br]?)([gdz])((?:[nm]|a|pn|gn|gpn|p?x)*?)(pn)", True):
        (subject,), dress, be, (verb,), middle, (preposition, scene) = groups
    elif groups := clause.match("([nmk])(pn)([gz])((?:[nm]|a|pn)*)", True):
        (subject,), (preposition, scene), (verb,), middle = groups
        dress, be = [], []
    else:
        return
    if scene.head not in _FIRST_SCENES or clause.word(preposition) not in {"in", "at", "on", "inside"}:
        return
    if clause.word(scene) == "area" or any(p.letter == "x" and clause.word(p) not in _TOGETHER for p in middle):
        return  # around a fenced in area
    things = [part.head for part in middle if part.letter in "nm"]
    if (things and scene.head in _NOT_OF_ALL) or _PICTURES.intersection(things):
        return  # a woman feeds ducks in a pond, a man holds a photo of a boat in the ocean
    verbs = [verb, *(part for part in middle if part.letter == "g")]
    if any(part.head in _ELSEWHERE for part in verbs) or (verb.letter == "d" and clause.word(verb) not in _FIRST):
        return
    if any(unit.word in {"his", "her", "its", "their"} for unit in clause.units(scene)):
        return
    if middle and middle[0].letter in "nm" and verb.head not in _PASSIVE:
        return
    if (be and verb.letter == "z") or not _is_dressed(clause, dress) or not _can_be_clause(clause, subject):
        return
    if not _is_doer(dress, [verb]):
        return
    if any(clause.word(part) in {"of", "to", "from", "for"} for part in middle):
        return
    if not middle and (verb.letter == "z" or clause.word(verb) in _STILL):
        return  # in a field, a cow stands: "in a field stands a cow" is better
    rest = f" {clause.say(middle)}" if middle else ""
    does = _finite(clause, subject, be, verb)
    yield Statement("fronting", f"{_says(clause, preposition, scene)}, {_says(clause, subject, *dress)} {does}{rest}")


def passive(clause: Clause) -> Iterator[Statement]:
    """A horse being ridden down the street by a man. An umbrella is held by a woman."""
    groups = clause.match(_SUBJECT + "([br]?)([gz])([nm])((?:pn)?|pnpn)")
    if not groups:
        return
    (doer,), dress, be, (verb,), (thing,), rest = groups
    can = verb.head in _PASSIVE or (verb.head == "take" and thing.head in _DONE)
    can &= verb.head != "ride" or is_animate(thing.head)  # no "surfboard being ridden", say readers
    if not can or (be and verb.letter == "z") or not is_animate(doer.head) or not _is_dressed(clause, dress):
        return
    if not _has_article(clause, doer) or not _is_named(clause, thing):
        return
    if clause.units(thing)[0].word == "the" or is_garment(thing.head):
        return
    where = _after_passive(clause, verb, _says(clause, doer, *dress), rest)
    if where is None or ((be or verb.letter == "z") and clause.opening not in {"", "there"}):
        return
    done = inflect(verb.head, "VBN")
    if verb.letter == "z":
        done = f"{_be(thing)} {done}"
    else:
        done = f"{_be(thing)} being {done}" if be and be[0].letter == "b" else f"being {done}"
    yield _phrase("passive", clause, f"{_says(clause, thing)} {done}{where}")


def _after_passive(clause: Clause, verb: ClausePart, doer: str, rest: list[ClausePart]) -> str | None:
    """The doer and the place, in the order that has only one reading."""
    if not rest:
        return f" by {doer}"
    word, head = clause.word(rest[0]), rest[1].head
    if (word == "in" and (is_garment(head) or head in COLOURS)) or word in {"of", "for", "by", "as"} or head in _BODY:
        return None
    if (word == "on" and head in _RIDDEN and verb.head != "ride") or (word == "on" and head in _BOARDS):
        return f" by {doer} {clause.say(rest)}"
    if verb.head in _MOVED or word in _WAYS:
        return f" {clause.say(rest)} by {doer}" if len(rest) == 2 else None
    return f" by {doer} {clause.say(rest)}" if head in _SCENES or word in _ASIDE else None


def _phrase(op: str, clause: Clause, text: str) -> Statement:
    """A noun phrase, after "a photo of" if the caption has that."""
    opening = f"{clause.opening} " if clause.opening not in {"", "there"} else ""
    return Statement(op, opening + text)


def _is_named(clause: Clause, part: ClausePart) -> bool:
    """Whether the part is a thing with its article or number, or plural; no action and no figure of speech."""
    return _has_article(clause, part) and (is_thing(part.head) or part.head in _DONE)


def active(clause: Clause) -> Iterator[Statement]:
    """A truck pulling a boat, from "a boat being pulled by a truck"; cars filling a street."""
    groups = clause.match("([nm])([br]*)(d)([pw])([nmk])")
    if not groups:
        return
    (thing,), be, (verb,), (by,), (doer,) = groups
    words = [clause.word(part) for part in be]
    is_filled = verb.head in _FILLERS and not is_animate(thing.head) and clause.word(by) in {"with", "by", "in"}
    if is_filled and words in ([], ["is"], ["are"]):
        doing = inflect(verb.head, "VBG") if not be else verb.head if doer.plural else inflect(verb.head, "VBZ")
        yield _phrase("passive", clause, f"{_says(clause, doer)} {doing} {_says(clause, thing)}")
    elif verb.head in _PASSIVE and clause.word(by) == "by" and is_animate(doer.head):
        doing = inflect(verb.head, "VBG")
        if words in ([], ["being"]):
            yield _phrase("passive", clause, f"{_says(clause, doer)} {doing} {_says(clause, thing)}")
        elif words in (["is", "being"], ["are", "being"]):
            yield Statement("passive", f"{_says(clause, doer)} {_be(doer)} {doing} {_says(clause, thing)}")


def around_place(clause: Clause) -> Iterator[Statement]:
    """A table with a cat sitting on it."""
    groups = clause.match(_SUBJECT + "([br]?)([gd]?)(p)(n)")
    if not groups:
        return
    (subject,), dress, be, verb, (preposition,), (place,) = groups
    it = _pronoun(place)
    if clause.word(preposition) not in _BEFORE_IT or not _is_place(clause, preposition, place) or it is None:
        return
    if clause.units(place)[0].word not in {"a", "an"} or not is_thing(place.head) or not _is_dressed(clause, dress):
        return
    if not _has_article(clause, subject) or clause.units(subject)[0].word == "the":
        return
    is_clause = bool(be) and be[0].letter == "b"
    if not _is_doer(dress, verb):
        return
    if (verb and clause.word(verb[0]) not in _FIRST - _BUSY) or (is_clause and clause.opening):
        return
    what = " ".join(filter(None, (_says(clause, subject, *dress), clause.say(verb), clause.say([preposition]))))
    yield _phrase("converse", clause, f"{_says(clause, place)} {'has' if is_clause else 'with'} {what} {it}")


def _pronoun(part: ClausePart) -> str | None:
    if part.plural:
        return "them"
    if is_person(part.head):
        return "him" if part.head in _MALE else "her" if part.head in _FEMALE else None
    return "it"


def from_around(clause: Clause) -> Iterator[Statement]:
    """A cat sitting on a table, from "a table with a cat sitting on it"."""
    groups = clause.match("(n)([wz])([nmk])([gd]?)(p)(i)")
    if not groups:
        return
    (place,), (having,), (subject,), verb, (preposition,), (it,) = groups
    if (having.letter == "z" and having.head != "have") or clause.word(preposition) not in _PLACES:
        return
    if (is_animate(place.head) and not verb) or clause.word(it) != _pronoun(place):
        return
    yield _phrase("converse", clause, f"{_says(clause, subject, *verb, preposition)} {_says(clause, place)}")


def inside_of(clause: Clause) -> Iterator[Statement]:
    """A sink in a bathroom, from "a bathroom with a sink"; fruit filling a bowl, from "a bowl full of fruit"."""
    if groups := clause.match("(n)([wz])([nmk])((?:[gd]?pn)?)"):
        (place,), (having,), (things,), rest = groups
        if having.letter == "z" and having.head not in {"have", "contain"}:
            return
        preposition = "on" if place.head in _CARRIERS else "in" if place.head in _HOLDERS else None
        units, phrases = clause.caption.units, clause.caption.phrase_at
        heads = {things.head, *(units[phrases[start].head].lemma for start, _ in things.members)}
        if preposition == "on" and place.head not in _SCENES and heads & (_SEATS | _BY_FURNITURE):
            preposition = "at" if place.head in _TABLES and heads <= _SEATS else None  # four chairs at a table
        if rest and (place.head not in _SCENES or things.letter != "n" or not _is_place(clause, *rest[-2:])):
            return  # a vase with ferns on a table
        if place.plural or any(unit.word == "of" for unit in clause.units(place)):
            return
        if preposition and is_thing(things.head) and things.head not in _NO_PLACES:
            text = f"{_says(clause, things, *rest)} {preposition} {_says(clause, place)}"
            yield _phrase("converse", clause, text)
    elif groups := clause.match("(n)(d)(w)([nmk])"):
        (place,), (verb,), _, (thing,) = groups
        if verb.head == "top" and place.head in _CARRIERS:
            yield _phrase("converse", clause, f"{_says(clause, thing)} on top of {_says(clause, place)}")


def other_side(clause: Clause) -> Iterator[Statement]:
    """A cat next to a dog, from "a dog next to a cat"."""
    if groups := clause.match("([nm])(p)([nm])"):
        (first,), (preposition,), (second,) = groups
        if clause.word(preposition) in _MUTUAL and same_sort(first.head, second.head):
            yield _phrase(
                "converse", clause, f"{_says(clause, second)} {clause.word(preposition)} {_says(clause, first)}"
            )


def at_once(clause: Clause) -> Iterator[Statement]:
    """A man riding a bike while holding a cup; while holding a cup, a man rides a bike; while a woman sits, ..."""
    does = "([bgpnmaw]*)"
    if groups := clause.match(_SUBJECT + f"(b?)(g{does[1:-1]})(c)(g{does[1:-1]})", True):
        (subject,), dress, be, first, (link,), second = groups
        if clause.word(link) == "while":
            who = " ".join(filter(None, (_says(clause, subject, *dress), clause.say(be))))
            yield _phrase("converse", clause, f"{who} {clause.say(second)} while {clause.say(first)}")
    elif groups := clause.match(_SUBJECT + f"(z{does[1:-1]})(c)(g{does[1:-1]})"):
        (subject,), dress, first, (link,), second = groups
        if clause.word(link) == "while" and _can_be_clause(clause, subject):
            who = _says(clause, subject, *dress)
            yield Statement("fronting", f"while {clause.say(second)}, {who} {clause.say(first)}")
    elif groups := clause.match(_SUBJECT + f"(b?)([gz])({does[1:-1]})(c)([nmk](?:z|bg){does[1:-1]})"):
        (subject,), dress, be, (verb,), rest, (link,), second = groups
        if _can_be_clause(clause, subject) and not (be and verb.letter == "z"):
            tail = f" {clause.say(rest)}" if rest else ""
            does = f"{_says(clause, subject, *dress)} {_finite(clause, subject, be, verb)}{tail}"
            yield Statement("fronting", f"{clause.word(link)} {clause.say(second)}, {does}")


RULES: tuple[Rule, ...] = (
    place_first, scene_first, passive, active, around_place, from_around, inside_of, other_side, at_once,
)  # fmt: skip
