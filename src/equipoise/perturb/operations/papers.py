"""Operations of single papers: SugarCrepe's ADD, CREPE's negate, ARO's shuffles, CS-CLIP's half-truths and CE-CLIP's
negatives by its paper's rule.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Iterable, Iterator

from equipoise.data.items import Target
from equipoise.language.caption import Caption, Unit
from equipoise.language.collocations import is_seen_with
from equipoise.language.forms import article_for, inflect, verb_lemma
from equipoise.language.tagging import Token, tag
from equipoise.language.vocabulary import Section, count, exclusive, word_list
from equipoise.language.wordnet import WORDNET, is_animate
from equipoise.perturb.operations.replace import weighted_order
from equipoise.perturb.operations.swap_negative import swapped
from equipoise.perturb.recipe import Candidate, Kind, Proposal, Sources, edited, replaced

# Things that are rarely in a photo if its caption does not mention them, so that adding them is false.
_GUESTS = word_list("guests")
# Attributes that are rarely true, for living beings and for things.
_OF_ANIMATE = "blindfolded wounded costumed".split()
_OF_THING = "broken burning transparent upside-down".split()


def add_object(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    phrases = [p for p in caption.phrases if caption.units[p.start].word in {"a", "an"} and p.start + 1 <= p.head]
    rng.shuffle(phrases)
    phrases.sort(key=lambda phrase: all(unit.kind != "mark" for unit in caption.units[phrase.end : phrase.end + 1]))
    guests = list(_GUESTS)
    rng.shuffle(guests)
    for phrase in phrases:
        after = caption.unit_at(phrase.end)
        if after is not None and (
            after.kind in {"noun", "and", "adjective"} or after.word in {"of", ","} or after.pos == "POS"
        ):
            continue
        if phrase.start == 0 and after is not None and (after.kind == "be" or after.pos in {"VBZ", "VBD"}):
            continue  # "a man and a camel is": the verb would no longer agree
        at = caption.units[phrase.head].end
        for guest in guests:
            added = f" and {article_for(guest)} {guest}"
            new = caption.text[:at] + added + caption.text[at:]
            yield edited(caption.text, "negative", "add", "object", (at, at), added.strip(), "rules", new)


def add_attribute(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    units = caption.units
    phrases = [p for p in caption.phrases if p.head == p.core == p.start + 1 and units[p.start].word in {"a", "an"}]
    rng.shuffle(phrases)
    for phrase in phrases:
        article, noun = units[phrase.start], units[phrase.head]
        words = list(_OF_ANIMATE if is_animate(noun.lemma) else _OF_THING)
        rng.shuffle(words)
        for word in words:
            right = article_for(word)
            written = right.capitalize() if article.text[0].isupper() else right
            to = f"{written} {word}"
            new = caption.text[: article.start] + to + caption.text[article.end :]
            yield edited(caption.text, "negative", "add", "attribute", (article.start, article.end), to, "rules", new)


def negate(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    """ "is riding" -> "is not riding", "with a dog" -> "without a dog", "a man riding" -> "a man not riding"."""
    edits = []
    units, text = caption.units, caption.text
    for place, unit in enumerate(units):
        after = caption.unit_at(place + 1)
        before = caption.unit_at(place - 1)
        if after is None or after.word in {"not", "no"}:
            continue
        if unit.word in {"is", "are", "was", "were"} and after.kind in _NEGATED:
            if after.word != "no" and not (before is not None and before.word in {"there", "that", "it"}):
                edits.append((unit.start, unit.end, f"{unit.text} not"))
        elif unit.word == "with" and after.kind in {"determiner", "noun", "adjective", "number"}:
            verb = before is not None and before.kind == "verb"  # topped with, playing with
            if not verb and caption.phrase_at.get(place + 1) is not None and after.word not in {"some", "lots", "many"}:
                edits.append((unit.start, unit.end, "without"))
        elif unit.kind == "verb" and unit.pos == "VBG" and before is not None and before.kind == "noun":
            edits.append((unit.start, unit.end, f"not {unit.text}"))
    rng.shuffle(edits)
    for start, end, to in edits:
        new = text[:start] + to + text[end:]
        target: Target = "relation" if to == "without" else "action"
        yield edited(text, "negative", "negate", target, (start, end), to, "rules", new)


_NEGATED = frozenset(("verb", "adjective", "preposition", "determiner"))
_TRIES = 10


def shuffle_trigrams(caption: Caption, sources: Sources, rng: random.Random, within: bool) -> Iterator[Candidate]:
    """Shuffle the words within each trigram, or the trigrams."""
    words = caption.text.split()
    for _ in range(_TRIES):
        groups = [words[i : i + 3] for i in range(0, len(words), 3)]
        for shuffled in groups if within else [groups]:
            rng.shuffle(shuffled)
        yield from _if_changed(caption, " ".join(word for group in groups for word in group))


def shuffle_words(caption: Caption, sources: Sources, rng: random.Random, nouns: bool) -> Iterator[Candidate]:
    """Shuffle nouns among themselves and adjectives too, or all other words; marks and spaces keep their places."""
    tokens = [token for token in caption.tokens if token.text[0].isalnum()]
    classes: dict[str, list[Token]] = {}
    for token in tokens:
        if (token.pos[:2] in {"NN", "JJ"}) == nouns:
            classes.setdefault(token.pos[:2] if nouns else "", []).append(token)
    for _ in range(_TRIES):
        new = {}
        for listed in classes.values():
            words = [token.text for token in listed]
            rng.shuffle(words)
            new.update({token.start: word for token, word in zip(listed, words, strict=True)})
        pieces, last = [], 0
        for token in tokens:
            pieces += [caption.text[last : token.start], new.get(token.start, token.text)]
            last = token.end
        yield from _if_changed(caption, "".join(pieces) + caption.text[last:])


def _if_changed(caption: Caption, new: str) -> Iterator[Candidate]:
    if new.lower().split() != caption.text.lower().split():
        span = (0, len(caption.text))
        yield edited(caption.text, "negative", "shuffle", "order", span, new, "rules", new)


# Things that people mention if they see them in a photo. Cars, people, trees, tables, cups, flags and bags are left
# out, since they often go unmentioned.
_DETAILS = word_list("details")
_END = re.compile(r"[\s.!]*\Z")


def add_false_detail(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    """A detail that no caption of the photo names; details that go with the caption's things come first."""
    nouns = {caption.units[phrase.head].lemma for phrase in caption.phrases}
    things = rng.sample(_DETAILS, len(_DETAILS))
    things.sort(key=lambda thing: not any(is_seen_with(noun, thing) for noun in nouns))
    for thing in things:
        if not _is_named(thing, caption.words | caption.other_words):
            yield _with_detail(caption, thing, "negative")


def add_true_detail(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    """A detail that another caption of the photo names and this one does not."""
    for thing in rng.sample(_DETAILS, len(_DETAILS)):
        if thing in caption.other_words and not _is_named(thing, caption.words):
            yield _with_detail(caption, thing, "positive")


def _with_detail(caption: Caption, thing: str, kind: Kind) -> Candidate:
    at = _END.search(caption.text).start()  # type: ignore[union-attr]  # it always matches
    detail = f"{article_for(thing)} {thing}"
    new = f"{caption.text[:at].rstrip(',;: ')}, with {detail} in view{caption.text[at:]}"
    return edited(caption.text, kind, "add", "object", (at, at), detail, "rules", new)


def _is_named(thing: str, said: Iterable[str]) -> bool:
    """Whether a word names the thing, also in a wider or a narrower way: an animal may be the dog, a terrier is one."""
    return any(_may_be(word, thing) for word in said)


@functools.lru_cache(maxsize=1 << 17)
def _may_be(word: str, thing: str) -> bool:
    return word == thing or (word.isalpha() and WORDNET.related(word, thing, "n"))


FILLED: tuple[Section, ...] = ("attribute", "action", "object")
_KINDS: dict[Section, str] = {"object": "noun", "attribute": "adjective", "action": "verb"}
_TAGS: dict[Section, str] = {"object": "NN", "attribute": "JJ", "action": ""}  # a lone verb may be tagged as anything
_ANY = 5  # words of the type that are tried where no source knows one


def swap_any_nouns(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    places = [place for place, unit in enumerate(caption.units) if unit.kind == "noun"]
    pairs = list(itertools.combinations(places, 2))
    rng.shuffle(pairs)
    for first, second in pairs:
        if caption.units[first].word != caption.units[second].word:
            yield swapped(caption, (first, first + 1), (second, second + 1), "relation")


def fill_any(caption: Caption, sources: Sources, rng: random.Random, target: Section) -> Iterator[Candidate]:
    """Draw one word of the kind, mask it and fill the mask."""
    units = [unit for unit in caption.units if unit.kind == _KINDS[target]]
    rng.shuffle(units)
    for source in sources:  # a word that a source knows goes before a word that none does
        offered = list(source.contrasts(caption, target))
        for unit in units:
            here = [proposal for proposal in offered if proposal.start <= unit.start and proposal.end == unit.end]
            for place in weighted_order([proposal.weight for proposal in here], rng):
                yield replaced(caption.text, "negative", here[place])
    for unit in units:
        for proposal in _any_words(unit, target, rng):
            yield replaced(caption.text, "negative", proposal)


def _any_words(unit: Unit, target: Section, rng: random.Random) -> Iterator[Proposal]:
    words, weights = _words_of_type(target)
    for word in rng.choices(words, weights, k=_ANY):
        to = inflect(word, "" if target == "attribute" else unit.pos)
        if to != unit.word:
            yield Proposal(unit.start, unit.end, to, target, "any word of the type", 1.0)


@functools.cache
def _words_of_type(target: Section) -> tuple[list[str], list[float]]:
    """The single words of the lexicon's sets of that type in their plain form, and how common each is."""
    listed = (m.entry for line in exclusive() if line.section == target for group in line.groups for m in group)
    words = [entry.text for entry in dict.fromkeys(listed) if entry.text.isalpha() and not entry.exact]
    plain = [word for word in words if tag(word)[0].pos.startswith(_TAGS[target])]
    if target == "action":
        plain = list(dict.fromkeys(map(verb_lemma, plain)))
    return plain, [float(count(inflect(word, "VBG") if target == "action" else word)) for word in plain]
