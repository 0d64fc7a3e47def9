"""Swap negatives by evidence: two nouns or two qualities change places where captions have each in the other's place.

Every pair of words that the swap makes new must have been counted in captions of photos ("on pillow", "woman watch",
"red bus"). A swap that leaves the caption true is refused before: members of one list, however long; what stands in a
relation that holds both ways (next to, facing, talking to); parts of a compound; what a pronoun points to.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from equipoise.perturb.candidate import Candidate, Refused, edited
from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.perturb.english.collocations import governor_of
from equipoise.perturb.english.evidence import is_seen_at, pairs_of, places_in, seen_pair
from equipoise.perturb.english.forms import inflect
from equipoise.perturb.english.noun_classes import is_animate, is_garment, is_person, is_thing, sets_of
from equipoise.perturb.english.word_lists import members
from equipoise.perturb.operations.swap_counts import AGREE, NUMBERS, swap_counts
from equipoise.perturb.operations.swap_looks import COLOURS, GROWN, swap_looks
from equipoise.perturb.operations.swap_negative import MUTUAL, NO_THING, swap_attributes, swapped
from equipoise.perturb.operations.swap_qualities import swap_qualities
from equipoise.perturb.sources.base import Source

_NEAR = frozenset("near beside with by alongside among against around".split()) | frozenset(
    ("next to", "close to", "along with", "together with", "adjacent to", "across from", "away from", "far from")
)
_NO_LINK = frozenset("of and or , & up down out off away to as than like".split())
_BOTH_WAYS = frozenset(  # who does it with whom does not matter
    "connect attach join meet resemble adjoin like shape face talk speak chat kiss hug embrace fight wrestle play "
    "dance stand sit lie lay walk be rest park seat run pose gather wait line group travel share match mix combine "
    "surround wear have contain include feature shake argue race compete".split()
)
_POINTS = frozenset(
    "he she his her him hers it its they their them himself herself itself themselves who whose whom which that each "
    "other another both one ones".split()
)
_GENDERED = frozenset(
    "beard bearded mustache moustache pregnant dress skirt bikini bra tie suit tuxedo shirtless purse heels blouse "
    "veil bride groom bald gown topless without".split()
)
_OWN = frozenset("in with wearing holding carrying riding".split())  # what follows describes the noun before it
_CHILDREN = frozenset(
    "baby infant toddler child kid youngster son daughter puppy kitten calf lamb foal boy girl newborn cub".split()
)
_BY_ANYBODY = frozenset(  # a child and a grown-up alike
    "chase follow watch look stare point wave splash photograph stand sit walk run smile laugh wear read sing play eat "
    "drink lean kneel jump dance".split()
)
_BY_BOTH = frozenset("sit stand lie lay walk run look sleep rest jump swim".split())
_LOOKS = frozenset("look stare run walk".split())
_EITHER = frozenset("chase follow watch".split())  # a person and a dog alike
_TOUCHING = frozenset("on in under inside atop behind".split()) | {"on top of", "in front of", "inside of"}
_ONE_WAY = frozenset(("behind", "in front of", "following", "chasing", "passing", "ahead of", "above", "below"))
_AGES = frozenset("young younger old older elderly teenage".split())
_SIZES = frozenset("large big huge giant small little tiny tall short".split())
_PARTS = frozenset("side top front back edge end corner part middle center background foreground inside".split())


def swap_attested(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate | Refused]:
    """The qualities of two things, then their numbers, then two nouns that captions have in each other's place."""
    yield from swap_looks(caption, sources, rng)
    alike = list(swap_attributes(caption, sources, rng))
    if not alike:
        yield Refused("no two like qualities that could change places (a large dog and a small cat)")
    for candidate in alike:
        reason = _told_elsewhere(caption, candidate) or refusal(caption, candidate)
        yield candidate if reason is None else Refused(reason)
    yield from swap_counts(caption, sources, rng)
    yield from swap_qualities(caption, sources, rng)
    yield from swap_things(caption, sources, rng)


def _told_elsewhere(caption: Caption, candidate: Candidate) -> str | None:
    """Colours are swap_looks' matter; "three zebras, two facing us and one" counts the same zebras."""
    words = (candidate.edit.source or "").lower().split()
    if words and not COLOURS.isdisjoint((words[0], words[-1])):
        return "colours change places by a rule of their own"
    if words and words[0] in _SIZES and not _of_a_kind(caption, candidate):
        return "the sizes of unlike things cannot be compared"  # a large clock in a small room: large of its kind
    if "as" in words:
        return "the caption compares the two things"
    if words and words[0] in _AGES and not _are_grown(caption, candidate):
        return "the ages of a child and a grown-up cannot change places"
    if words and words[0] in NUMBERS and not caption.words.isdisjoint(("one", ",", "each", "both", "other")):
        return "both numbers may count the same things"
    if words and words[0] in NUMBERS and not _joined(caption, candidate):
        return "the other thing hardly comes in that number"  # six children at two tables
    return None


def _are_grown(caption: Caption, candidate: Candidate) -> bool:
    """An older girl beside a young woman may be just what the photo shows; an older man beside a young woman not."""
    return all(noun not in _CHILDREN for noun in _nouns(caption, candidate))


def _nouns(caption: Caption, candidate: Candidate) -> tuple[str, ...]:
    """The two things whose qualities change places."""
    place = caption.units_of(candidate.edit.span) if candidate.edit.span else None
    phrases = [caption.phrase_at.get(at) for at in (place[0], place[1] - 1)] if place else []
    return tuple(caption.units[phrase.head].lemma for phrase in phrases if phrase is not None)


def _joined(caption: Caption, candidate: Candidate) -> bool:
    """Two numbers of what stands beside each other."""
    place = caption.units_of(candidate.edit.span) if candidate.edit.span else None
    first = caption.phrase_at.get(place[0]) if place else None
    second = caption.phrase_at.get(place[1] - 1) if place else None
    if first is None or second is None:
        return False
    between = caption.units[first.end : second.start]
    return all(unit.word in _NEAR | {"and"} or unit.lemma in {"stand", "sit", "be"} for unit in between)


def _of_a_kind(caption: Caption, candidate: Candidate) -> bool:
    """Held against each other: two animals, two vehicles."""
    found = _nouns(caption, candidate)
    if len(found) < 2:
        return False
    return all(map(is_animate, found)) or bool(sets_of(found[0]) & sets_of(found[1]))


def swap_things(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate | Refused]:
    pairs = list(itertools.combinations(caption.phrases, 2))
    if not pairs:
        yield Refused("the caption does not name two things that could change places")
    rng.shuffle(pairs)
    for first, second in pairs:
        if reason := unswappable(caption, first, second) or _unseen_after(caption, first, second):
            yield Refused(reason)
            continue
        for whole in (True, False):
            if not whole and first.head == first.core and second.head == second.core:
                continue  # the same words as the whole phrases, but for their articles
            many = caption.is_plural(first) != caption.is_plural(second)
            if many and not whole:
                continue
            spans = [(p.start if whole else p.head, p.end) for p in (first, second)]
            candidate = swapped(caption, spans[0], spans[1], "object" if whole else "relation")
            if many and governor_of(caption, first) < 0:
                candidate = _agreed(caption, first, second, candidate)
            reason = refusal(caption, candidate)
            yield candidate if reason is None else Refused(reason)


def agrees(caption: Caption, first: NounPhrase) -> bool:
    """The caption begins with the phrase, and no verb but the one right after it has to agree."""
    units = caption.units
    finite = [place for place, unit in enumerate(units) if unit.word in AGREE or unit.pos in {"VBZ", "VBP"}]
    alone = not any(caption.is_plural(phrase) for phrase in caption.phrases[1:-1])  # people on motorcycles
    return first.start == 0 and finite in ([], [first.end]) and alone


def _agreed(caption: Caption, first: NounPhrase, second: NounPhrase, candidate: Candidate) -> Candidate:
    """The verb after the first phrase in the number of what now stands before it."""
    units, verb = caption.units, caption.units[first.end]
    if verb.word not in AGREE and verb.pos not in {"VBZ", "VBP"}:
        return candidate
    new = AGREE.get(verb.word) or (verb.lemma if verb.pos == "VBZ" else inflect(verb.lemma, "VBZ"))
    one, other = (units[p.end - 1].end - units[p.start].start for p in (first, second))
    at = candidate.text.index(verb.text, max(0, verb.start + other - one - 2))  # an article may be a letter shorter
    text = candidate.text[:at] + new + candidate.text[at + len(verb.text) :]
    start, end = candidate.edit.span or (0, 0)
    to = text[start : end + len(text) - len(caption.text)]
    return edited(caption.text, "negative", "swap", candidate.edit.target or "object", (start, end), to, "rules", text)


def _either_does(caption: Caption, first: NounPhrase, second: NounPhrase) -> bool:
    """A man chases a dog, a dog chases a man; a boy stands behind a horse; a man sits on a bench while a dog sleeps."""
    between = caption.units[first.end : second.start]
    verbs = [unit for unit in between if unit.kind == "verb"]
    after = [unit for unit in caption.units[second.end :] if unit.kind == "verb"]
    if not all(unit.lemma in _BY_BOTH for unit in after):
        return False  # a woman holding two ski poles
    if between and between[-1].word in {"and", "while", "as", ","}:
        return bool(verbs and after) and all(unit.lemma in _BY_BOTH for unit in verbs)
    looks = any(unit.word in {"at", "toward", "towards", "after"} for unit in between)
    if any(unit.word in _ONE_WAY for unit in between) or (looks and all(v.lemma in _LOOKS for v in verbs)):
        return all(verb.lemma in _BY_ANYBODY for verb in verbs)
    return len(verbs) == 1 and verbs[0].lemma in _EITHER and between[-1] is verbs[0]


def _unseen_after(caption: Caption, first: NounPhrase, second: NounPhrase) -> str | None:
    """The commonest refusal, told before the swapped caption is read anew: no caption has "in sink" or "hold field"."""
    for here, there in ((first, second), (second, first)):
        governor = governor_of(caption, here)
        if governor >= 0:
            unit, noun = caption.units[governor], caption.units[there.head].lemma
            relation, word = ("prep", unit.word) if unit.kind == "preposition" else ("object", unit.lemma)
            if not is_person(noun) and not seen_pair(relation, word, noun, free=False):
                return f"captions never use these two words together: {word!r} with {noun!r}"
    return None


def unswappable(caption: Caption, first: NounPhrase, second: NounPhrase) -> str | None:
    """Why two nouns cannot change places, or None: without looking at what captions say."""
    units = caption.units
    heads = units[first.head].lemma, units[second.head].lemma
    if heads[0] == heads[1] or any(noun in NO_THING | COLLECTIVES | _PARTS for noun in heads):
        return "the two nouns do not name two separate things"
    if not all(map(is_thing, heads)) or any(caption.is_name(phrase.head) for phrase in (first, second)):
        return "one of the two nouns is a name, or nothing that can be seen"
    objects = min(governor_of(caption, first), governor_of(caption, second)) >= 0
    if caption.is_plural(first) != caption.is_plural(second) and not objects and not agrees(caption, first):
        return "one of the two nouns is singular and the other plural"
    if {noun in members("@mass") for noun in heads} == {True, False}:
        return "one of the two things can be counted and the other cannot"
    inside = [unit.word for phrase in (first, second) for unit in units[phrase.start : phrase.end]]
    alive = any(map(is_animate, heads))
    if not _POINTS.isdisjoint(inside) or (alive and not caption.words.isdisjoint(_POINTS)):
        return "a pronoun (he, it, their) would then mean something else"
    if alive and not all(map(is_animate, heads)):
        return "a living and a lifeless thing cannot change places"
    if is_person(heads[0]) != is_person(heads[1]) and not _either_does(caption, first, second):
        return "a person and an animal cannot change places here"
    if any(sum(unit.lemma == noun for unit in units) > 1 for noun in heads):
        return "the caption names one of the two things twice"
    if alive and not caption.words.isdisjoint(_GENDERED):
        return "a word such as beard or dress belongs to only one of the two"
    if any(map(is_garment, heads)) != all(map(is_garment, heads)):
        return "a garment and another thing cannot change places"
    around = [units[place].word for phrase in (first, second) for place in (phrase.start - 1, phrase.end)
              if 0 <= place < len(units)]  # fmt: skip
    if "of" in around or any(units[p.end].pos == "POS" for p in (first, second) if p.end < len(units)):
        return "one of the two things is part of a longer phrase"
    bare = [phrase.start == phrase.core for phrase in (first, second)]
    if bare[0] != bare[1] and not (caption.is_plural(first) and caption.is_plural(second)):
        return "one of the two nouns has an article and the other none"
    return _same_both_ways(caption, first, second) or (None if alive else _undirected(caption, first, second))


def _undirected(caption: Caption, first: NounPhrase, second: NounPhrase) -> str | None:
    """Things change places where they are of one sort and it matters which is where: a chair behind a table."""
    units = caption.units
    one, other = (units[place].word for place in (governor_of(caption, first), governor_of(caption, second)))
    between = units[first.end : second.start]
    directed = any(u.word in _ONE_WAY for u in between) or (one != other and not {one, other}.isdisjoint(_TOUCHING))
    heads = {units[first.head].lemma, units[second.head].lemma}
    if set.intersection(*(set(sets_of(noun)) for noun in heads)) and directed and not heads & GROWN:
        return None
    return "the two things are of unlike sorts, or which is where does not matter"


def _same_both_ways(caption: Caption, first: NounPhrase, second: NounPhrase) -> str | None:
    units = caption.units
    heads = units[first.head].lemma, units[second.head].lemma
    between = units[first.end : second.start]
    links = [u for u in between if u.kind in {"verb", "preposition"} and u.word not in _NO_LINK]
    if not links:
        return "the swap would stay true, as both are in one list"
    alive = all(map(is_animate, heads))
    if any(u.lemma in {"connect", "attach", "face", "resemble"} or (alive and u.lemma in MUTUAL) for u in links):
        return "the swap would stay true, as the relation holds both ways"
    one, other = governor_of(caption, first), governor_of(caption, second)
    described = links[0] is between[0] and links[0].word in _OWN and len(links) > 1
    after = units[second.end] if second.end < len(units) else None
    described |= alive and after is not None and after.word in _OWN - {"in", "with"}
    if all(u.word in _NEAR or u.lemma in _BOTH_WAYS for u in links) and not described:
        return "the swap would stay true, as the relation holds both ways"
    if one < 0 <= other and units[other].word in _NEAR and not described:
        return "the swap would stay true, as the relation holds both ways"  # a sink in a bathroom next to a toilet
    if one >= 0 and other >= 0:
        words = {units[one].word, units[other].word}
        if len(words) == 1 or words <= _NEAR or {units[one].lemma, units[other].lemma} <= {"hold", "carry", "with"}:
            return "the swap would stay true, as both stand in the same relation"
        if {units[one].lemma, units[other].lemma} & {"ride", "drive", "surf", "ski"}:
            return "the swap may stay true, as either may be what is ridden"
    if other < 0 and not (one < 0 and units[second.start - 1].word in {"and", ",", "while", "as"}):
        return "how the two things relate is not clear"
    if len(_CHILDREN & set(heads)) == 1 and not all(u.lemma in _BY_ANYBODY or u.kind != "verb" for u in links):
        return "a child and a grown-up cannot change places in this action"
    if sets_of(heads[0]) & sets_of(heads[1]) & {"open-place", "town-place", "room", "park-like", "yard-like"}:
        return "one of the two places may lie in the other"
    return None


def refusal(caption: Caption, candidate: Candidate) -> str | None:
    """The first pair of neighbours that a swap makes new and no caption has, as a reason; None where all are seen."""
    new = Caption(candidate.text, (), caption.tagger)
    if sorted(unit.kind for unit in new.units) != sorted(unit.kind for unit in caption.units):
        return "after the swap a word is read as another part of speech"
    if len(new.phrases) != len(caption.phrases):
        return "after the swap the words group into other phrases"
    for relation, first, second in sorted(pairs_of(new) - pairs_of(caption)):
        if not seen_pair(relation, first, second, free=first in COLOURS):
            return f"captions never use these two words together: {first!r} with {second!r}"
    for noun, where in sorted(set(places_in(new)) - set(places_in(caption))):
        if not is_seen_at(noun, where, by_sort=is_person(noun)):
            return f"captions never have the thing in that place: {noun!r} {where!r}"
    return None
