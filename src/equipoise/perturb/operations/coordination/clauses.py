"""Verb phrases and whole clauses around "and": "wearing glasses and holding a bottle", "a lady wearing skis and a man
holding skis".
"""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.perturb.english.caption import Caption, NounPhrase, Unit
from equipoise.perturb.english.forms import verb_lemma
from equipoise.perturb.english.vocabulary import word_set
from equipoise.perturb.english.wordnet import is_animate, is_garment, same_sort
from equipoise.perturb.operations.coordination.shared import PLACES, POINTS_BACK, Rejected, Span, Swap, has, last_of

_AT_ONCE = word_set("verbs at once")
_POSTURES = word_set("postures")
# With a posture anything goes on at the same time, unless it ends the posture or comes after it.
_CHANGES = word_set("changes")
_UNDRESS = word_set("dressing")
_STATES = word_set("states beside an action")
_WHERE = word_set("places of an action")
_TALKED_ON = word_set("talked on")
_HANGING = PLACES - {"around", "outside", "inside", "by"}
_FINITE = {"VBZ", "VBP", "VBD"}
_ENDS = frozenset((",", ".", ";", "!"))
_LATER = word_set("sequence words")


def verb_phrases(caption: Caption, place: int) -> Swap | Rejected | None:
    right = caption.units[place + 1]
    found = None
    if right.pos == "VBG":
        found = _participles(caption, place)
    elif right.kind == "be" or right.pos in _FINITE | {"VB"}:
        found = _finite(caption, place)
    if found is None:
        return None
    return Rejected(reason) if (reason := _unlike_english(caption, found)) else found


# How somebody is there comes first, what else is done second; the other way round nobody says it.
_FIRST = word_set("said first")
_LIGHT = frozenset("wear hold smile carry".split())
_SAID_SO = frozenset((("eat", "drink"), ("sing", "dance"), ("hug", "kiss"), ("laugh", "play"), ("run", "play")))
_LONG = 3  # words of a side after which one word alone has no weight: "eating ice cream and sitting"


def _unlike_english(caption: Caption, swap: Swap) -> str | None:
    units = caption.units
    lemmas = [_verb(caption, side) for side in (swap.left, swap.right)]
    left, right = (sum(len(unit.word.split()) for unit in units[slice(*side)]) for side in (swap.left, swap.right))
    if tuple(lemmas) in _SAID_SO:
        return "a fixed pair that is always said in this order"
    if lemmas[0] in _FIRST and (lemmas[1] not in _LIGHT or right == 1 < left):
        return "where or how somebody is, is said before what they do"
    if left == 1 and right >= _LONG:
        return "the longer side of and reads better last"
    if units[swap.left[0]].kind == "be" and (left < right or units[swap.right[0]].kind != "be"):
        return "what somebody is, is said before what they do"
    return None


def _verb(caption: Caption, side: Span) -> str:
    first, second = caption.units[side[0]], caption.units[min(side[0] + 1, side[1] - 1)]
    return second.lemma if first.kind == "be" else first.lemma


def _participles(caption: Caption, place: int) -> Swap | None:
    units, right = caption.units, caption.units[place + 1]
    start = place - 1
    while start >= 0 and not (units[start].kind == "verb" and units[start].pos in {"VBG", "VBN", *_FINITE}):
        if units[start].kind in {"relative", "be", "and"}:
            return None
        start -= 1
    if start < 1 or units[start].pos != "VBG":
        return None  # at the front it is no verb: "running track and playing field"
    films = right.lemma == "take" and caption.object_of(place + 1) in {"picture", "photo", "photograph", "selfie"}
    if not _go_together(units[start].lemma, "watch" if films else right.lemma):
        return None
    held = caption.object_of(place + 1) or "nothing"
    if units[start].lemma == "wear" and (is_garment(held) or held in {"gear", "equipment"}) and right.lemma != "hold":
        return None  # wearing a helmet and racing gear
    if (start and units[start - 1].kind == "determiner") or units[place - 1].word in _HANGING | {","}:
        return None  # standing next to and cutting a cake
    left, last = units[start], units[place - 1].word
    if place - start > 1 and last.endswith("ing") and verb_lemma(last) in _AT_ONCE:
        return None  # wearing yellow laughing and running: taken for a noun
    if place - start == 1:  # standing and talking in a room
        after = units[place + 2] if place + 2 < len(units) else None
        if after is None or after.kind in {"mark", "relative"} or _is_where(caption, place + 1):
            return Swap((start, place), (place + 1, place + 2))
        if after.pos == "VBG":  # sitting and standing flying kites
            return Swap((start, place), (place + 1, place + 2))
        walks = left.lemma == "walk" and right.lemma in {"hold", "carry", "wear", "push", "pull"}
        walks = walks and not has(units, (place + 2, len(units)), PLACES)
        if left.lemma in {"sit", "stand"} and has(units, (place + 3, len(units)), PLACES | {"with"}):
            return None
        if left.lemma not in _STATES and not walks:
            return None  # "eating and drinking wine"; but "smiling and holding a cup" swaps as a whole
    end = _end_of_phrase(caption, place + 2)
    if end is None or (place - start == 1 and end < len(units) and units[end].pos == "VBG"):
        return None
    if left.lemma == right.lemma or not _are_free(caption, (start, place), (place + 1, end)):
        return None
    return Swap((start, place), (place + 1, end))


def _is_where(caption: Caption, verb: int) -> bool:
    """Whether a place follows that is of both: not in "walking and talking on a phone"."""
    after = caption.units[verb + 1].word
    return after in _WHERE and not (after == "on" and caption.object_of(verb + 1) in _TALKED_ON)


def _go_together(first: str, second: str) -> bool:
    if "board" in {first, second}:
        return False  # snow boarding, in two words
    if first in _AT_ONCE and second in _AT_ONCE:
        return True
    if {first, second} & {"wear", "smile"} and not {first, second} & _UNDRESS:
        return True
    return (first in _POSTURES and second not in _CHANGES) or (second in _POSTURES and first not in _CHANGES)


def _end_of_phrase(caption: Caption, end: int) -> int | None:
    """Where the verb phrase ends; None where another clause begins inside."""
    units, begin = caption.units, end
    while end < len(units) and units[end].kind not in {"relative", "and"} and units[end].word not in _ENDS:
        cut = units[end].pos == "VBG" or units[end].kind == "be"
        if cut and units[end - 1].kind == "noun":  # and carrying coffee | walking on the road
            held = caption.phrase_at.get(begin)
            return end if held is not None and held.end == end and not is_animate(units[end - 1].lemma) else None
        if units[end].kind == "verb" and units[end].pos in _FINITE and not units[end].word.endswith("ed"):
            return None
        end += 1
    if end < len(units) and units[end].kind in {"and", "relative"}:
        return end if units[end].word == "while" and units[end - 1].pos == "VBG" else None
    return end


def _are_free(caption: Caption, left: Span, right: Span) -> bool:
    """Whether no word of one side needs the other to be understood."""
    units = caption.units
    if any(units[i].kind == "to" and units[i + 1].kind == "verb" for i in range(*right) if i + 1 < len(units)):
        return False  # holding a bat to hit the ball
    if (
        has(units, right, {"other", "another"})
        or has(units, right, POINTS_BACK - {"his", "her", "their"})
        or has(units, left, {"together", "it", "them"})
    ):
        return False
    if any(units[i].word in {"her", "him"} and units[i].pos == "PRP" for i in range(*right)):
        return False
    inner = [caption.head_lemma(phrase) for phrase in caption.phrases if left[0] < phrase.start < left[1]]
    if any(map(is_animate, inner)) and has(units, right, {"his", "her", "their"}):
        return False  # holding a baby and brushing her teeth
    outer = [caption.head_lemma(phrase) for phrase in caption.phrases if right[0] < phrase.start < right[1]]
    # "talking to a man and wearing a hat": the man would seem to wear it
    return not (any(map(is_animate, outer)) and units[left[0]].lemma in _POSTURES | {"hold", "carry", "have"})


def _finite(caption: Caption, place: int) -> Swap | None:
    """A man sits on a bench and reads; a bus is red and has a flag: one subject, two states."""
    units, right = caption.units, caption.units[place + 1]
    start = next((i for i in range(place) if units[i].kind == "be" or units[i].pos in _FINITE), None)
    if start is None or start == 0 or has(units, (0, place), {"and", "that", "which", "who", "there", "while"}):
        return None
    left = units[start]
    if not _is_state(caption, start, place) or not _is_state(caption, place + 1, len(units)):
        return None
    if (left.word in {"is", "has"} or left.pos == "VBZ") != (right.word in {"is", "has"} or right.pos == "VBZ"):
        return None
    if place - start == 1:
        after = units[place + 2] if place + 2 < len(units) else None
        if after is None or after.kind == "mark" or _is_where(caption, place + 1):
            return Swap((start, place), (place + 1, place + 2)) if left.lemma != right.lemma else None
        if left.lemma not in {"smile", "laugh"}:
            return None  # "look at the sea and sit" is no good English
    end = _end_of_phrase(caption, place + 2)
    if (
        end is None
        or (end < len(units) and units[end].kind != "mark")
        or not _are_free(caption, (start, place), (place + 1, end))
    ):
        return None
    if has(units, (start, place), {"down", "up"}):
        return None  # sits down and eats
    hangs = units[place - 1].word in _HANGING and left.lemma not in {"have", "wear"}  # has headphones on
    if hangs or has(units, (start, end), _LATER | {"just", "also", "too"}) or has(units, (start, place), {","}):
        return None
    if left.kind == "verb" and left.lemma == right.lemma:
        return None
    return Swap((start, place), (place + 1, end))


def _is_state(caption: Caption, place: int, end: int) -> bool:
    unit = caption.units[place]
    if unit.kind == "be":
        after = caption.units[place + 1] if place + 1 < end else None
        return (
            unit.word in {"is", "are"} and after is not None and after.lemma not in _CHANGES and after.word != "being"
        )
    if unit.lemma == "have":
        return caption.object_of(place) is not None  # not "has reached the top"
    return unit.lemma in _AT_ONCE


_IN_PLACE = word_set("places of one")
_OWN = frozenset("his her its their".split())  # with his legs in the air and sparks flying
_TIES = POINTS_BACK | word_set("ties between clauses")
# Grounds on which one thing can be, never things beside the next ("limes on a tray and a jug on a table").
_GROUNDS = word_set("grounds")
_PLACED = word_set("participles of place")


def clauses(caption: Caption, place: int) -> Swap | None:
    """Two halves of the whole caption, each with a noun phrase of its own at its front."""
    units = caption.units
    second = caption.phrase_at.get(place + 1)
    end = last_of(caption)
    if second is None or second.start != place + 1:
        return None
    first = _after_with(caption, place) or _opening(caption, place)
    if (
        first is None
        or first.end >= place
        or has(units, (place + 1, end), _TIES)
        or has(units, (first.start, place), _OWN)
        or _is_broken(units, first, place, end)
    ):
        return None
    if first.start == 0 and (found := _with_thing(caption, first, second, place, end)):
        return found
    if first.start == 0 and (found := _two_sentences(caption, first, second, place, end)):
        return found
    if second.end >= end:
        return None
    if any(u.kind == "be" or u.pos in {"VBZ", "VBP"} for u in [*units[first.end : place], *units[second.end : end]]):
        return None
    before = caption.phrase_at.get(place - 1)
    if before is None or before.start <= first.start or is_animate(caption.head_lemma(before)):
        return None
    whole = Swap((first.start, place), (place + 1, end))
    left, right = units[first.end], units[second.end]
    animate = is_animate(caption.head_lemma(second))
    if left.pos == right.pos == "VBG" and animate and is_animate(caption.head_lemma(first)) and first.start == 0:
        return whole
    placed = left.word in _IN_PLACE or (left.word in _PLACED and units[first.end + 1].word in _IN_PLACE)
    if (
        not placed
        or before.start != _after_place(units, first.end)
        or (_is_bare(second) and not caption.is_plural(second))
    ):
        return None
    own_place = right.word in _IN_PLACE and caption.object_of(second.end) is not None
    own_place = own_place or right.word in _PLACED or (right.pos == "VBG" and animate)
    where = caption.object_of(second.end) or "nowhere"
    ends = caption.phrase_at.get(second.end + 1) == caption.phrases[-1] and caption.phrases[-1].end == end
    if left.word == right.word and animate and same_sort(caption.head_lemma(before), where, strict=True):
        return (
            whole if ends else None
        )  # a girl on a bike and a boy on a scooter; a man in a suit and a woman in a dress
    apart = caption.head_lemma(before) in _GROUNDS or where in {"wall", "ceiling", "background"}
    return whole if own_place and apart else None


def _with_thing(caption: Caption, first: NounPhrase, second: NounPhrase, place: int, end: int) -> Swap | None:
    """A bull with large horns and a calf: the calf is another animal, not what the bull is with."""
    units, inner = caption.units, caption.phrase_at.get(place - 1)
    if second.end != end or inner is None or units[first.end].word not in {"with", "in"}:
        return None
    if inner.start > first.end + 2 or (inner.start == first.end + 2 and units[first.end + 1].kind != "adverb"):
        return None
    alive = is_animate(caption.head_lemma(first)) and is_animate(caption.head_lemma(second))
    own = units[second.start].word in {"a", "an"} or units[second.start].kind == "number"
    if not alive or not own or is_animate(caption.head_lemma(inner)):
        return None
    worn = units[first.end].word == "with" or is_garment(caption.head_lemma(inner))
    return Swap((0, place), (place + 1, end)) if worn else None


def _opening(caption: Caption, place: int) -> NounPhrase | None:
    """The phrase that the left half begins with: at the front, or after "there are" of as many."""
    units = caption.units
    first = caption.phrase_at.get(0)
    if first is not None:
        return first if first.start == 0 else None
    if len(units) > 3 and units[0].word == "there" and units[1].kind == "be":
        first, second = caption.phrase_at.get(2), caption.phrase_at.get(place + 1)
        if first is not None and second is not None and first.start == 2:
            return first if caption.is_plural(first) == caption.is_plural(second) else None
    return None


def _after_with(caption: Caption, place: int) -> NounPhrase | None:
    """A room with decorations on a shelf and ...: the phrase after "with", if it stands in a place of its own."""
    found = [phrase for phrase in caption.phrases if phrase.start and phrase.end < place]
    found = [phrase for phrase in found if caption.units[phrase.start - 1].word in {"with", "has"}]
    return found[-1] if found else None


def _after_place(units: Sequence[Unit], place: int) -> int:
    return place + 1 if units[place].word in _IN_PLACE else place + 2


def _is_bare(phrase: NounPhrase) -> bool:
    return phrase.core == phrase.start


def _is_broken(units: Sequence[Unit], first: NounPhrase, place: int, end: int) -> bool:
    return any(
        units[i].kind in {"relative", "and", "pronoun"} or units[i].word in {",", ".", ";"}
        for i in range(first.end, end)
        if i != place
    )


def _two_sentences(caption: Caption, first: NounPhrase, second: NounPhrase, place: int, end: int) -> Swap | None:
    """A giraffe is in front and a zebra is behind: two sentences, neither of which speaks of the other."""
    units = caption.units
    left, right = units[first.end], units[min(second.end, end - 1)]
    if (
        second.end >= end
        or "POS" in {left.pos, right.pos}
        or not all(u.kind == "be" or u.pos in {"VBZ", "VBP"} for u in (left, right))
    ):
        return None
    named = {units[phrase.head].lemma for phrase in caption.phrases if phrase.start < place}
    if units[second.head].lemma in named:
        return None  # a man rides a horse and the horse is brown
    if (units[second.start].word == "the") != (units[0].word == "the"):
        return None  # what is known comes first
    if left.kind != "be" or right.kind != "be":
        return None  # a man throws a ball and a dog catches it
    return Swap((0, place), (place + 1, end))
