"""Whether words before or after "A and B" speak of both sides or of neither: else a swap would change what they say."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase, Unit
from equipoise.perturb.english.vocabulary import word_list, word_set
from equipoise.perturb.english.wordnet import is_animate, is_food, is_garment, is_person, is_thing, same_sort, sets_of
from equipoise.perturb.operations.coordination.shared import COLOURS, POINTS_TO_ONE, has, is_mass

_FROZEN = frozenset(tuple(pair.split(" + ")) for pair in word_list("fixed pairs"))
_ANYTHING = word_set("names of anything")
_COMPARED = word_set("compared")
_INTO = word_set("ways into")
_FULL = word_set("filled")
_FAR = frozenset(("background", "foreground", "distance"))
# What two do together; any other participle ("greeting", "wearing") may be what the nearer one does.
_TOGETHER = word_set("done together")
_ONE_OF_TWO = word_set("worn in pairs")
_VEHICLES = frozenset(("road-vehicle", "rail", "air-vehicle", "water-vehicle"))
_CONTAINERS = word_set("containers")


def out_of_scope(caption: Caption, left: NounPhrase, right: NounPhrase, start: int, end: int) -> str | None:
    """The reason not to exchange two noun phrases, or None. `start` and `end` are those of both sides together."""
    units = caption.units
    heads = units[left.head].lemma, units[right.head].lemma
    modified = [phrase.head > phrase.core for phrase in (left, right)]
    if is_frozen(*heads) and not any(modified):
        return "a fixed pair that is always said in this order"
    for phrase, noun in zip((left, right), heads, strict=True):
        bare = phrase.start == phrase.head and not caption.is_name(phrase.head)
        if bare and not is_thing(noun) and not is_food(noun):
            return "one side of and is not a thing that can be seen"
    if is_compared(units[left.start : left.end]) or is_compared(units[right.start : right.end]):
        return "one side of and is compared with the other"
    last = [noun.rsplit(" ", 1)[-1] for noun in heads]
    if last[0] == last[1] and heads[0] != heads[1]:
        return "one side of and is a kind of the other"  # lights and traffic lights
    if len(set(heads) & _ANYTHING) == 1:
        return "one side of and may include the other (food and condiments)"  # food and condiments
    if start == 0 and is_animate(heads[0]) and not is_animate(heads[1]):
        return "a living thing is named before a lifeless one"
    if not caption.is_title and any(caption.is_name(phrase.head) for phrase in (left, right)):
        return "names keep their order"  # Buddy Holly and the Crickets
    if any(unit.word == "its" for unit in units[left.start : left.end]):
        return "the word its would then mean the other side"
    if all(map(is_garment, heads)) and any(unit.word == "and" for unit in units[:start]):
        return "it may be that each of two people wears one of them"  # a man and woman in a suit and a dress
    for phrase in (left, right):
        inner = [unit for unit in units[phrase.core : phrase.head] if unit.kind == "noun"]
        if len(inner) > 1:
            return "a list without commas, so the sides of and are not clear"  # a refrigerator stove sink
        if any(unit.word == "people" or (is_food(unit.lemma) and is_food(units[phrase.head].lemma)) for unit in inner):
            return "a list without commas, so the sides of and are not clear"  # white rice carrots; people drinks
    alone = [_is_bare_one(caption, phrase) for phrase in (left, right)]
    if start < left.start and units[start].kind == "noun" and right.core > right.start:
        return "one side of and has an article, the other none"  # group of girls and a dog
    listed = start > 0 and units[start - 1].word == ","
    if alone[0] != alone[1] and right.core > right.start and not listed:
        return "one side of and has an article, the other none"
    if listed and is_person(heads[0]) != is_person(heads[1]):
        return "in a list people come before animals and things"
    own = right.core > right.start
    before = units[start - 1] if start else None
    if start and before is not None and before.kind == "noun":
        return "a list without commas, so the sides of and are not clear"
    if any(unit.word == "between" for unit in units[: max(0, start - 1)]):
        return "the two sides of and are what something is between"
    if before is not None and before.word in _INTO and own and left.core == left.start:
        return "it is not clear whether the place is that of both or of one"
    after = units[end] if end < len(units) else None
    if before is not None and (before.kind == "number" or before.word.isdigit()):
        return "the number may count only the first side"
    if before is not None and before.word == "of" and start > 1:
        outer = units[start - 2].lemma
        plain = not modified[1] and not own and (caption.is_plural(right) or is_mass(units[right.head]))
        alike = is_food(heads[0]) == is_food(heads[1])
        if outer in COLLECTIVES | _CONTAINERS and not (plain and not modified[0] and alike):
            return "it is not clear whether the amount is of both or of the first alone"
    worn = all(map(is_garment, heads))
    if before is not None and before.word in _INTO and any(modified) and not own and not worn:
        return "it is not clear whether the place is that of both or of one"
    host = caption.phrase_at.get(start - 2) if before is not None and before.word == "with" else None
    if host is not None and is_garment(units[host.head].lemma):
        return "the second thing may be part of what is worn"  # wears a helmet with chin strap and red top
    full = start > 1 and (units[start - 2].word in _FULL or (before is not None and before.word in _FULL))
    if full and not (caption.is_plural(right) or is_mass(units[right.head])):
        return "nothing is full of, or covered with, a single thing"
    if after is None or after.kind == "mark":
        return None
    named = {noun.rsplit(" ", 1)[-1] for noun in heads}
    if any(unit.kind == "noun" and unit.lemma in named for unit in units[end:]):
        return "the words after it name one of the two again"
    if start > 0 and (after.pos in {"VBG", "VBN"} or after.kind == "relative") and not _of_the_whole(caption, start):
        return "the words after it may describe only the nearer side"
    if start > 0 and after.word == "with":
        return "the words after it may describe only the nearer side"
    if after.lemma == "park" and not all(sets_of(noun) & _VEHICLES for noun in heads):
        return "only one of them can be parked"
    if start > 0 and any(unit.word.rsplit(" ", 1)[-1] in _FAR for unit in units[end : end + 4]):
        return "only the nearer one may be in the background"
    if after.pos == "VBG" and own and after.lemma not in _TOGETHER:
        held = caption.phrase_at.get(end + 1)
        if held is None or not caption.is_plural(held) or units[held.head].word in _ONE_OF_TWO:
            return "the words after it may describe only the nearer side"
    return None


def _is_bare_one(caption: Caption, phrase: NounPhrase) -> bool:
    """One thing that can be counted, without an article: "turbaned man and two officers"."""
    bare = phrase.start == phrase.core and not caption.is_plural(phrase) and not caption.is_name(phrase.head)
    return bare and not is_mass(caption.units[phrase.head])


def is_frozen(first: str, second: str) -> bool:
    """Two nouns that are said in this order alone."""
    return (first, second) in _FROZEN


def is_compared(units: Sequence[Unit]) -> bool:
    """A younger girl: younger than the one named before."""
    return any(unit.pos == "JJR" or unit.word in _COMPARED for unit in units)


def _of_the_whole(caption: Caption, start: int) -> bool:
    """A man in a shirt and a hat standing: the man stands."""
    first = caption.phrases[0]
    return first.end <= start and is_animate(caption.head_lemma(first))


_LYING = word_set("participles of both sides")
_OF_ONE = word_set("openers about the nearer side")
_HANDLING = word_set("handling")
_WHOLE_SCENE = word_set("scenes")
_OPEN = word_set("open places")
_OUTSIDE = word_set("town places")
_PAIRED = word_set("worn in pairs")
_SCENERY = word_set("scenery")
_FILLED = word_set("filled")
_BESIDE = frozenset("together outside outdoors inside indoors".split())
_CARRYING = word_set("carrying things")
_HOLDING = frozenset("wearing holding carrying eating using".split())


def right_end(caption: Caption, left: NounPhrase, right: NounPhrase) -> int | None:
    """Where the right side ends; None where what follows may describe only one of the two."""
    units, end = caption.units, right.end
    if end < len(units) and units[end].word == "of":
        inner = caption.phrase_at.get(end + 1)
        if inner is None or inner.start != end + 1 or _is_bare_head(caption, left, right):
            return None
        if units[inner.head].word in {"sit", "stand", "rest", "lie", "lay", "hang"} and inner.head > inner.core:
            return None  # a pitcher of orange juice sit on a table
        end = inner.end
    after = units[end] if end < len(units) else None
    tail = units[end:]
    if after is not None and after.word == "and" and end == right.end:
        return end if _begins_member(caption, right, end + 1) else None
    pointing = any(unit.word in POINTS_TO_ONE - {"his", "her", "another"} for unit in tail)
    if pointing and not _points_to_whole(caption, left, tail) and not _points_inside(caption, left, right, end):
        return None
    if after is None or after.kind == "mark":
        comma = (
            after is not None and after.word == "," and len(tail) > 1 and tail[1].kind not in {"verb", "preposition"}
        )
        return None if comma or (after is not None and after.text in {"'", '"', "(", "-", "/"}) else end
    if after.word == "up" or (left.start == 0 and after.kind not in {"verb", "be"} and has(tail, (0, 3), {"them"})):
        return None  # traffic signals light up; two buildings and a plane between them
    if after.word in _BESIDE and _is_subject(caption, left):
        return end  # two dogs and a cat outside
    if after.pos == "POS" or after.kind in {"noun", "adjective", "and", "number", "to", "determiner", "adverb"}:
        return None
    heads = units[left.head].lemma, units[right.head].lemma
    if all(map(is_garment, heads)) and left.start and after.word not in _OF_ONE - {"with", "from", "like"}:
        one = after.pos in {"VBN", "VBD"} or _is_on_body(caption, end)
        return None if one else end  # a man in a suit and tie holding ...: it is the man
    if after.word == "from" and left.start > 1 and units[left.start - 2].lemma == "view":
        return end
    if after.word in {"that", "which", "who"} and end + 1 < len(units) and units[end + 1].word in {"are", "have"}:
        return end if left.start == 0 and not caption.is_plural(right) else None  # one of them cannot "are"
    if after.word in _OF_ONE:
        return end if after.word == "with" and _is_of_both(caption, left, right, end) else None
    worn = caption.object_of(end) if after.word == "in" else None
    if after.word == "in" and right.core > right.start and end + 1 < len(units) and units[end + 1].word in COLOURS:
        return None  # an old man and a baby in green
    said = caption.phrase_at.get(end + 1) if worn is not None else None
    if said is not None and any(is_garment(unit.lemma) for unit in units[said.start : said.end]):  # in an apron stand
        return end if _wear_both(caption, left, right, end) else None  # some people and a man in a black shirt
    if after.word == "on" and caption.object_of(end) == "fire":
        return None
    if after.word == "in" and caption.object_of(end) in {"box", "bowl", "vase", "basket"} and end > right.end:
        return None  # a scale and a heap of fruit in boxes
    if left.start and _is_on_body(caption, end):
        return None
    if after.kind in {"verb", "be"}:
        return end if _is_verb_of_both(caption, left, right, end) else None
    return end if _is_subject(caption, left) or _is_place_of_both(caption, left, right, end) else None


def _is_subject(caption: Caption, left: NounPhrase) -> bool:
    """A bowl and a cup on a table; there is a bowl and ...; a group of people and ...; a picture of a bowl and ..."""
    if left.start == 0 or (left.start == 2 and caption.units[0].word == "there"):
        return True
    if left.start > 1 and caption.units[left.start - 2].word == "close up":
        return True
    if left.start < 2 or caption.units[left.start - 1].word != "of":
        return False
    outer = caption.phrase_at.get(left.start - 2)
    return left.start == 2 or (outer is not None and outer.start == 0)


def _wear_both(caption: Caption, left: NounPhrase, right: NounPhrase, place: int) -> bool:
    """a man and a woman in winter costumes: more than one costume, so each has one; jeans tell nothing."""
    worn = caption.phrase_at.get(place + 1)
    one_breath = right.start == right.core and right.head == right.core and left.head == left.core
    if worn is not None and one_breath and caption.units[worn.head].lemma in {"clothing", "attire", "clothes", "gear"}:
        return left.start == 0  # a man and woman in western clothing
    if worn is None or not caption.is_plural(worn) or caption.is_plural(left) or caption.is_plural(right):
        return False
    return left.start == 0 and caption.units[worn.head].lemma not in _PAIRED


def _is_on_body(caption: Caption, place: int) -> bool:
    """a hat and a cross around his neck: one of them is there."""
    after = caption.units[place]
    if after.kind in {"verb", "be", "mark"} or not has(caption.units, (place, place + 4), {"his", "her", "their"}):
        return False
    if caption.object_of(place) not in {"hand", "mouth", "arm"} or caption.units[place].word == "on":
        return True
    before = caption.phrase_at.get(place - 1)
    left = caption.phrase_at.get(before.start - 2) if before is not None else None
    worn = [is_garment(caption.head_lemma(phrase)) for phrase in (before, left) if phrase is not None]
    return any(worn)


def _is_bare_head(caption: Caption, left: NounPhrase, right: NounPhrase) -> bool:
    """bottles and glasses of wine: the bottles hold wine too."""
    return right.start == right.core and caption.is_plural(left) and left.start == left.core


def _begins_member(caption: Caption, right: NounPhrase, place: int) -> bool:
    """a toilet and sink and some cabinets: the first two change places, the third stays."""
    phrase = caption.phrase_at.get(place)
    if phrase is None or phrase.start != place:
        return False
    return right.core == right.start or phrase.core > phrase.start  # tile floors and a nice [counter and sink]


def _is_of_both(caption: Caption, left: NounPhrase, right: NounPhrase, place: int) -> bool:
    """sheep and lambs with paint on their backs; a man and woman with luggage."""
    units = caption.units
    if any(unit.word == "their" for unit in units[place:]):
        return left.start == 0
    held = caption.phrase_at.get(place + 1)
    people = is_person(units[left.head].lemma) and is_person(units[right.head].lemma)
    one_breath = right.start == right.core and right.head == right.core and left.head == left.core
    if held is None or not people or not one_breath or left.start > 0:
        return False
    return caption.is_plural(held) or units[held.head].lemma in {"luggage", "baggage", "equipment", "gear"}


def _is_verb_of_both(caption: Caption, left: NounPhrase, right: NounPhrase, place: int) -> bool:
    units, after = caption.units, caption.units[place]
    heads = units[left.head].lemma, units[right.head].lemma
    before = units[left.start - 1].word if left.start else ""
    if after.kind == "be" or after.pos in {"VBZ", "VBP", "VBD"}:  # a subject of its own, unless both are
        of_first = before == "with" or (before == "of" and units[left.start - 2].word == "full")
        outer = caption.phrase_at.get(left.start - 2) if before == "of" else None
        if outer is not None and outer.start == 0 and right.start == right.core:
            return True  # a mixture of rice and broccoli is
        return left.start == 0 or before == "," or (of_first and after.pos != "VBD" and _goes_on(units[place:]))
    if before == "with" and is_animate(caption.head_lemma(caption.phrases[0])) and not is_animate(heads[1]):
        return after.pos == "VBG"  # a lady with a hat and a bag standing: the lady stands
    if is_animate(caption.head_lemma(left)) and is_animate(caption.head_lemma(right)):
        handled = caption.phrase_at.get(place + 1)
        one = handled is not None and not caption.is_plural(handled) and right.core > right.start
        listed = before == "," and not _lists_from_start(caption, left)
        return not (after.lemma in _HANDLING and one) and not listed  # a man and a woman holding a kite: who?
    own = [phrase.core > phrase.start for phrase in (left, right)]
    first = left.start == 0 or before == "of" or (before == "with" and own[0] >= own[1])
    moves = after.pos == "VBG" and after.lemma not in _HANDLING and same_sort(*heads, strict=True)
    return first and (after.word in _LYING or moves)


def _lists_from_start(caption: Caption, member: NounPhrase) -> bool:
    """A batter, a catcher and an umpire: the list is the subject, so what follows is of all."""
    while member.start > 2 and caption.units[member.start - 1].word == ",":
        earlier = caption.phrase_at.get(member.start - 2)
        if earlier is None:
            return False
        member = earlier
    return member.start == 0 or (member.start == 2 and caption.units[0].word == "there")


def _goes_on(tail: Sequence[Unit]) -> bool:
    """Whether something follows the verb; else it may be a plural noun ("foot rests")."""
    return tail[0].kind == "be" or (len(tail) > 1 and tail[1].kind != "mark")


def _points_to_whole(caption: Caption, left: NounPhrase, tail: Sequence[Unit]) -> bool:
    """A desk with a lamp and a phone on it: "it" is the desk, not one of the two."""
    words = [unit.word for unit in tail if unit.kind != "mark"]
    outer = caption.phrases[0]
    if outer.end > left.start or len(words) < 2 or words[-1] != "it":
        return False
    if "on" in words and caption.units[left.head].lemma in _CARRYING:
        return False  # a room with a desk and two lamps on it
    return words[:-1] in (["on"], ["in"], ["inside"], ["on top of"], ["inside of"], ["sitting", "on"])


def _points_inside(caption: Caption, left: NounPhrase, right: NounPhrase, place: int) -> bool:
    """A woman and a child next to a table with a cake on it: "it" is the table."""
    units = caption.units
    it = next((i for i in range(place, len(units)) if units[i].word in {"it", "its"}), None)
    if it is None or has(units, (place, len(units)), POINTS_TO_ONE - {"it", "its", "his", "her"}):
        return False
    things = [phrase for phrase in caption.phrases if place < phrase.start < it]
    if not things or is_animate(caption.head_lemma(things[0])):
        return False
    return is_person(units[left.head].lemma) and is_person(units[right.head].lemma)


def _is_place_of_both(caption: Caption, left: NounPhrase, right: NounPhrase, place: int) -> bool:
    """Inside a caption a place may be of the last alone: "a room with a bed and a picture on the wall"."""
    units = caption.units
    if any(unit.word in {"it", "them"} for unit in units[place + 1 : place + 3]):
        return True
    heads = units[left.head].lemma, units[right.head].lemma
    if caption.is_name(left.head) and caption.is_name(right.head):
        return True
    where = caption.object_of(place) or units[place].word.rsplit(" ", 1)[-1]  # "in the background" is one unit
    if where in {"hand", "mouth"}:
        return True
    if where in {"wall", "ceiling"}:
        return same_sort(*heads, strict=True)
    own = right.core > right.start and left.core == left.start
    host = caption.phrase_at.get(left.start - 2) or caption.phrases[0]
    alive = is_animate(caption.head_lemma(host)) or (
        units[left.start - 1].word == "with" and is_animate(caption.head_lemma(caption.phrases[0]))
    )
    far = where in {"background", "foreground", "distance"}
    loose = (alive or right.core > right.start) and heads[0] not in _SCENERY
    if far and loose and not same_sort(*heads, strict=True):
        return False  # a girl with rollerblades and green leaves in the background
    if where in _WHOLE_SCENE and not own and not alive:
        return True
    before = units[left.start - 1]
    held = before.word in _HOLDING and is_animate(caption.head_lemma(caption.phrases[0]))
    if held:
        return where in _OPEN | _OUTSIDE  # a man holding a bag and an umbrella on a street: the man is there
    if units[place].word in {"in", "at"} and not own and not alive and same_sort(*heads):
        return True
    if all(map(is_animate, heads)) and right.core > right.start and where not in _OPEN:
        return False  # a motorcyclist and a woman on a bench
    if alive and before.word == "with" and right.core == right.start < right.end and left.core > left.start:
        return True  # a man with a hat and umbrella near the water: the man is there
    if alive and before.word == "with":
        return False  # men with a fishing pole and a boat in the water
    holds = before.word in {"holding", "containing"} or units[left.start - 2].word in _FILLED
    if holds and not far:
        return True  # a mug filled with pens and a brush on a desk: the mug is there
    if all(map(is_food, heads)) and units[place].word in {"by", "next to", "near", "beside"}:
        return True
    return same_sort(*heads, strict=True)
