"""Lists as word sources: the hand-made lexicon, whose synonyms and exclusive sets count only where their guards hold,
and WordNet, for co-hyponyms and antonyms."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from equipoise.language.caption import COLLECTIVES, Caption, Kept, Unit
from equipoise.language.collocations import misfit, noun_before
from equipoise.language.forms import inflect
from equipoise.language.vocabulary import (
    SECTIONS,
    Guard,
    Section,
    SynonymEntry,
    count,
    exclusive,
    exclusive_groups,
    members,
    synonyms,
    word_set,
)
from equipoise.language.wordnet import LETTERS, WORDNET
from equipoise.perturb.recipe import Proposal, Source

_KINDS: dict[Section, frozenset[str]] = {
    "object": frozenset({"noun"}),
    "attribute": frozenset({"adjective", "number", "verb", "adverb", "noun"}),
    "action": frozenset({"verb", "adjective"}),
    "relation": frozenset({"preposition", "adverb", "relative"}),
}
_POSTURES = word_set("postures with participles")
_MARKS = ("sure", "kin", "wide")
_WORD = re.compile(r"[a-z'-]+")
_AGREED = 2  # other captions that say the same word, where guards ask for it


class _Rule(NamedTuple):
    entry: SynonymEntry
    targets: tuple[SynonymEntry, ...]
    guards: tuple[Guard, ...]
    rank: int  # earlier lines win where several exclusive sets hold the same word
    mod: bool  # also where the noun only modifies another
    said: bool  # only where another caption says the new word
    mark: str  # "sure", "kin" or "wide", of exclusive.txt
    section: Section


def _rule(
    entry: SynonymEntry, targets: tuple[SynonymEntry, ...], guards: tuple[Guard, ...], rank: int, section: Section
) -> _Rule:
    named = [guard.name for guard in guards]
    conditions = tuple(guard for guard in guards if guard.name not in {"mod", *_MARKS})
    mark = next((name for name in _MARKS if name in named), "")
    return _Rule(entry, targets, conditions, rank, "mod" in named, "said" in named, mark, section)


def _is_said(caption: Caption, words: str) -> bool:
    """Whether another caption of the photo has the words one after the other."""
    if " " not in words:
        return words in caption.other_words
    return any(re.search(rf"\b{re.escape(words)}\b", text.lower()) for text in caption.others)


def _key(entry: SynonymEntry) -> str:
    """The entry's key in the index: its first word, or the first two of a phrase that is matched as it stands."""
    return " ".join(entry.text.split()[: 2 if entry.exact else 1])


Index = dict[str, list[_Rule]]  # first word, or first two of a phrase -> the rules of all sections that may begin there


@functools.cache
def _synonym_index() -> Index:
    index: Index = {}
    for rank, line in enumerate(synonyms()):
        rule = _rule(line.source, line.targets, line.guards, rank, line.section)
        index.setdefault(_key(line.source), []).append(rule)
    return index


@functools.cache
def _exclusive_index() -> Index:
    index: Index = {}
    for rank, line in enumerate(exclusive()):
        for word in dict.fromkeys(m.entry for group in line.groups for m in group if m.replaced):
            own = [group for group in line.groups if any(m.entry == word for m in group)]
            close = {m.entry.text for group in own for m in group}
            targets = tuple(m.entry for group in line.groups for m in group if m.chosen and m.entry.text not in close)
            if targets:
                rule = _rule(word, tuple(dict.fromkeys(targets)), line.guards, rank, line.section)
                index.setdefault(_key(word), []).append(rule)
    return index


class Match(NamedTuple):
    start: int  # units
    end: int
    pos: str  # of the word that inflects


def _match(caption: Caption, place: int, entry: SynonymEntry, section: Section) -> Match | None:
    """The units the entry covers from `place` on, if it stands there in the right role."""
    units = caption.units
    unit = units[place]
    if not entry.exact:
        if unit.kind not in _KINDS[section]:
            return None
        if section == "attribute" and unit.kind == "verb" and unit.word != entry.text:
            return None  # "drying" is no form of the adjective "dry"
        if unit.lemma == entry.text:
            return Match(place, place + 1, _form(caption, place, section))
        if section != "action" or " " not in entry.text:
            return None
        words = entry.text.split()
        if unit.lemma != words[0]:
            return None
        end = _literal(units, place + 1, words[1:])
        return None if end is None else Match(place, end, unit.pos)
    if unit.word == entry.text:  # each other: a fixed unit
        return Match(place, place + 1, "") if unit.kind in _KINDS[section] or unit.kind == "fixed" else None
    end = _literal(units, place, entry.text.split()) if " " in entry.text else None
    if end is None:
        return None
    return Match(place, end, "")


def _literal(units: tuple[Unit, ...], place: int, words: list[str]) -> int | None:
    """The unit after the words, if they stand at `place` and end with a unit."""
    rest = words
    while rest:
        if place >= len(units):
            return None
        here = units[place].word.split()
        if rest[: len(here)] != here:
            return None
        rest = rest[len(here) :]
        place += 1
    return place


def _form(caption: Caption, place: int, section: Section) -> str:
    unit = caption.units[place]
    if section == "object" or unit.kind == "noun":
        phrase = caption.phrase_at.get(place)
        if unit.word == unit.lemma and unit.lemma in members("@mass"):
            return "NN"  # some broccoli
        if unit.word != unit.lemma and unit.word.endswith("s"):
            return "NNS"  # whatever the tagger thinks of "Donuts" at the head of a caption
        if phrase is not None and phrase.head == place:
            return "NNS" if caption.is_plural(phrase) else "NN"
        return unit.pos
    if unit.kind != "verb" or section == "attribute":
        return ""
    # a bird perched on a branch: other postures take their place as participles in -ing
    return "VBG" if unit.pos in {"VBN", "VBD"} and unit.lemma in _POSTURES else unit.pos


def holds(guard: Guard, caption: Caption, match: Match) -> bool:
    """Whether one guard holds where the entry was found."""
    units, words = caption.units, guard.words
    name = guard.name
    if name in {"subj", "notsubj"}:
        present = any(not words.isdisjoint(_names(noun)) for noun in caption.subjects_of(match.start))
        return present == (name == "subj")
    if name in {"obj", "notobj"}:
        phrase = caption.phrase_at.get(match.start)
        inside = phrase is not None and match.end <= phrase.head and phrase.start <= match.start
        noun = caption.head_lemma(phrase) if inside and phrase else caption.object_of(match.end - 1)
        if not words:
            return (noun is not None) == (name == "obj")
        return (noun is not None and not words.isdisjoint(_names(noun))) == (name == "obj")
    if name in {"next", "notnext"}:
        after = caption.unit_at(match.end)
        present = after is not None and (after.word in words or after.lemma in words or after.word.split()[0] in words)
        if not words:
            present = after is not None and after.kind != "mark"
        return present == (name == "next")
    if name in {"prev", "notprev"}:
        before = caption.unit_at(match.start - 1)
        present = before is not None and (before.word in words or before.lemma in words or not words)
        return present == (name == "prev")
    if name == "with":
        return not words.isdisjoint(caption.words)
    if name == "without":
        return words.isdisjoint(caption.words)
    if name == "plural":
        phrase = caption.phrase_at.get(match.start)
        return phrase is not None and phrase.start == match.start and caption.is_plural(phrase)
    if name == "afternoun":
        return match.start > 0 and units[match.start - 1].kind == "noun"
    if name == "first":
        phrase = caption.phrases[0] if caption.phrases else None
        plain = phrase is not None and phrase.end == match.start and not caption.is_plural(phrase)
        return plain and phrase is not None and phrase.core > phrase.start
    if name == "nobody":
        animate = members("@animate")
        named = (caption.head_lemma(phrase) for phrase in caption.phrases if phrase.end <= match.start)
        return not any(noun in animate for noun in named)
    if name == "clause":
        phrase = caption.phrase_at.get(match.end)
        verb = units[phrase.end] if phrase is not None and phrase.end < len(units) else None
        return verb is not None and (verb.kind == "be" or verb.pos in {"VBZ", "VBP"})
    if name == "subject":
        return match.start > 0 and _is_meant(caption, match.start - 1)
    if name == "agreed":
        lemma = units[match.start].lemma
        return sum(lemma in _WORD.findall(text.lower()) for text in caption.others) >= _AGREED
    if name == "once":
        return sum(unit.word == units[match.start].word for unit in units) == 1
    return name in {"context", "said"}  # else never; whether it is said depends on the new word


def _is_meant(caption: Caption, head: int) -> bool:
    """Whether the noun at `head` is no object: in "she holds a child in a coat", "in a coat" may be said of her."""
    phrase = caption.phrase_at.get(head)
    if phrase is None or phrase.head != head:
        return False
    before = caption.unit_at(phrase.start - 1)
    if before is not None and before.word == "of" and phrase.start > 1:
        return caption.units[phrase.start - 2].lemma in COLLECTIVES
    return before is None or before.kind in {"and", "mark", "relative"}


@functools.cache
def _names(noun: str) -> tuple[str, ...]:
    """A compound also counts as its last word (a parking lot is a lot), unless our sets know it (hot dog)."""
    if " " not in noun:
        return (noun,)
    return (noun,) if noun in exclusive_groups() else (noun, noun.split()[-1])


def _may_stand(caption: Caption, match: Match, section: Section, rule: _Rule) -> bool:
    """Whether a match may be replaced. Nouns that only modify another ("street sign") may not, unless the line says
    `mod`."""
    mod = rule.mod
    after = caption.unit_at(match.end)
    whole = section == "object" or match.end - match.start > 1  # in a zoo, but not of "in a zoo enclosure"
    if section == "object" and match.end - match.start > 1 and after is not None and after.word == "of":
        return False  # in a field of tall grass
    if whole and after is not None and caption.units[match.end - 1].kind == "noun":
        if after.pos == "POS" and "NNS" in (match.pos, caption.units[match.end - 1].pos):  # the children's rides
            return False
        if (after.kind == "noun" or after.word.startswith("-")) and not mod:
            return False
    if section == "object" and match.end - match.start == 1:
        phrase = caption.phrase_at.get(match.start)
        if phrase is not None and match.start != phrase.head and not mod:
            return False
    if section == "attribute" and match.start and caption.units[match.start - 1].word.endswith("ish"):
        return False  # a blueish green car
    if section == "attribute" and caption.units[match.start].kind == "noun" and match.end - match.start == 1:
        # material and colour nouns count as attributes only before another noun
        phrase = caption.phrase_at.get(match.start)
        if phrase is None or phrase.head == match.start:
            return False
    return all(holds(guard, caption, match) for guard in rule.guards)


Matches = dict[Section, list[tuple[Match, _Rule]]]


def _matches(caption: Caption, index: Index) -> Matches:
    """The rules of the index that match the caption, by section."""
    matches: Matches = {section: [] for section in SECTIONS}
    said = " ".join(unit.word for unit in caption.units)
    for place, keys in caption.keys:
        for key in keys:
            for rule in index.get(key, ()):
                if rule.entry.exact and rule.entry.text not in said:
                    continue
                match = _match(caption, place, rule.entry, rule.section)
                if match is not None and _may_stand(caption, match, rule.section, rule):
                    matches[rule.section].append((match, rule))
    return matches


# Kept, since every slot of a recipe asks.
_SYNONYMS: Kept[Matches] = Kept()
_CONTRASTS: Kept[Matches] = Kept()


class Lexicon(Source):
    """The default source."""

    name = "lexicon"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        for match, rule in _SYNONYMS.once(caption, lambda: _matches(caption, _synonym_index()))[target]:
            if target not in {"object", "attribute"} or not _is_named_again(caption, match):
                yield from self._written(caption, target, match, rule, False)

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        """Use the first set that has the word and whose guards hold, since the lists put the best first; after that,
        the first such set of the lines marked `wide`."""
        every = _CONTRASTS.once(caption, lambda: _matches(caption, _exclusive_index()))[target]
        plain, wide = ([pair for pair in every if (pair[1].mark == "wide") == mark] for mark in (False, True))
        return itertools.chain(self._best(caption, target, plain), self._best(caption, target, wide))

    def _best(self, caption: Caption, target: Section, matches: list[tuple[Match, _Rule]]) -> list[Proposal]:
        best: dict[tuple[int, int], int] = {}
        longest: dict[int, int] = {}
        for (start, end, _), rule in matches:
            best[start, end] = min(best.get((start, end), rule.rank), rule.rank)
            longest[start] = max(longest.get(start, end), end)
        return [
            proposal
            for match, rule in matches
            if best[match.start, match.end] == rule.rank and longest[match.start] == match.end
            for proposal in self._written(caption, target, match, rule, True)
        ]

    def _written(
        self, caption: Caption, target: Section, match: Match, rule: _Rule, exclusive_set: bool
    ) -> list[Proposal]:
        start, end = caption.units[match.start].start, caption.units[match.end - 1].end
        modifier = noun_before(caption, match.start, match.end) if exclusive_set and target == "object" else None
        here = caption.text[start:end].lower()
        forms = _forms(rule, "" if rule.entry.exact else match.pos, exclusive_set)
        if here.isdigit():
            forms = [(text, _DIGITS[to], weight) for text, to, weight in forms if to in _DIGITS]  # 2 dogs, 3 dogs
        return [
            # a commuter plane becomes a helicopter, not a commuter helicopter
            Proposal(
                start if modifier is None or not misfit(modifier[1], text) else modifier[0],
                end, to, target, self.name, weight, rule.mark,
            )
            for text, to, weight in forms
            if to != here and (not rule.said or _is_said(caption, to))
        ]  # fmt: skip


def _is_named_again(caption: Caption, match: Match) -> bool:
    """Whether another thing has the same name: a puppy and a pup would be two kinds of animals."""
    last = caption.units[match.end - 1]
    word = last.lemma.rsplit(" ", 1)[-1]
    return sum(unit.lemma.rsplit(" ", 1)[-1] == word for unit in caption.units if unit.kind == last.kind) > 1


_DIGITS = {word: str(n) for n, word in enumerate("two three four five six seven eight".split(), 2)}
_KNOWN: dict[tuple[bool, int, str, str], list[tuple[str, str, float]]] = {}


def _forms(rule: _Rule, pos: str, exclusive_set: bool) -> list[tuple[str, str, float]]:
    """The targets of a rule: as listed, in the form `pos`, and how common; kept, since rules are used again."""
    key = exclusive_set, rule.rank, rule.entry.text, pos
    if key not in _KNOWN:
        _KNOWN[key] = [
            (entry.text, to := inflect(entry.text, pos), float(count(to)))
            for entry in rule.targets
            if not (pos == "NNS" and entry.text in members("@mass"))
        ]
    return _KNOWN[key]


_NO_ANTONYM = word_set("no antonym beside")
_RARE = 5  # a word seen less often in captions than this sounds bookish


class WordNetSource(Source):
    name = "wordnet"

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        letter = LETTERS.get(target)
        if letter is None or letter == "v":
            return  # a clock that sits also stands: antonyms of verbs need a subject, which WordNet does not know
        kind = {"n": "noun", "a": "adjective"}[letter]
        context = frozenset(unit.lemma for unit in caption.units if unit.kind == "noun")
        for place, unit in enumerate(caption.units):
            if unit.kind != kind or not unit.word.isascii() or caption.is_name(place):
                continue
            phrase = caption.phrase_at.get(place)
            if letter == "n" and (phrase is None or phrase.head != place or unit.pos == "NNP"):
                continue
            neighbours = {neighbour.word for neighbour in caption.units[max(0, place - 1) : place + 2]}
            if letter == "n" and not WORDNET.is_plain(unit.lemma, letter):
                continue
            if letter == "n":
                words = WORDNET.co_hyponyms(unit.lemma, context)
            else:  # black and white: the antonym stands there already
                words = [] if neighbours & _NO_ANTONYM else WORDNET.antonyms(unit.lemma, letter)
            pos = ("NNS" if phrase and caption.is_plural(phrase) else "NN") if letter == "n" else unit.pos
            for word in words:
                if letter == "n" and not WORDNET.is_plain(word, letter):
                    continue
                to = inflect(word, pos)
                if count(to) >= _RARE and to != unit.word:
                    yield Proposal(unit.start, unit.end, to, target, self.name, float(count(to)))
