"""Checks of the whole scene: what a new thing or place must go with in the rest of its caption.

Pairs of neighbours (english/evidence.py) do not see these: a field "with a dwindling tide", jeans of somebody who
surfs, a coach who talks and is taken for a bus.
"""

from __future__ import annotations

import re

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.checks.plausible import is_listed
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.collocations import pairs_at
from equipoise.perturb.english.evidence import is_seen_beside
from equipoise.perturb.english.fit import counted, seen_in
from equipoise.perturb.english.forms import lemma_of
from equipoise.perturb.english.noun_classes import is_animate, is_food, is_garment, is_person, sets_of
from equipoise.perturb.english.word_lists import members

_TELLING = 20  # a verb seen so often takes no object that it was never seen with
_KNOWN_WELL = 60  # and one seen so often none that it was seen with once
_EXPECTED = 0.3  # by chance, of a verb with its preposition, before its absence says something


def scene_fits(caption: Caption, candidate: Candidate) -> str | None:
    """A negative's new thing, place or ground goes with everything else that the caption says."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or not edit.source or not edit.to or edit.span is None:
        return None
    place = caption.units_of(edit.span)
    if place is None or edit.target not in {"object", "attribute"}:
        return None
    left = _words_left(caption, *place)
    if edit.target == "attribute":
        return _ground(edit.to.lower(), left) or _getting(caption, place[0], edit.to.lower())
    new, old = lemma_of(edit.to.split(" and ")[0], "object"), caption.units[place[1] - 1].lemma
    return (
        _two_senses(old, new, left)
        or _same_or_among(caption, place, old, new, left)
        or _where(edit.to.lower(), new, left)
        or _animal(caption, place, old, new)
        or _clothes(new, left)
        or _role(new, left)
        or _pronoun(candidate.text, new)
        or _dish(caption, place, new)
        or _done_to(caption, place, new)
    )


def _words_left(caption: Caption, start: int, end: int) -> frozenset[str]:
    """Words, lemmas and parts of compounds outside the edit."""
    units = [unit for place, unit in enumerate(caption.units) if not start <= place < end]
    found = {name for unit in units for name in (unit.word, unit.lemma)}
    return frozenset(found | {part for name in found for part in re.split(r"[ -]", name)})


_SENSES = {  # who may also be a thing: what tells that it is the thing
    "coach": "road highway street parked park parks drive drives driving passenger passengers station bus buses depot",
    "pitcher": "water juice milk beer lemonade pour pours pouring glass glasses drink jug vase shelf counter",
    "trainer": "shoe shoes wearing wears feet foot pair laces",
    "batter": "bowl cake pancake mix mixing whisk pan waffle",
    "conductor": "", "server": "rack computer computers", "cooker": "stove kitchen", "bowler": "hat wearing",
    "jumper": "wearing wears knitted wool", "fan": "ceiling electric blades blowing floor", "ruler": "desk inches",
    "model": "toy miniature plastic airplane train", "drawer": "dresser cabinet kitchen",
    "cruiser": "harbor parked road",
    "jockey": "", "catcher": "", "driver": "", "hooker": "", "boxer": "wearing shorts", "guard": "rail wearing mouth",
}  # fmt: skip


def _two_senses(old: str, new: str, left: frozenset[str]) -> str | None:
    evidence = _SENSES.get(old.split()[-1])
    if evidence is None or is_person(new):
        return None
    return None if left & set(evidence.split()) else f"{old!r} may be a person here"


_CARS = frozenset("car van truck suv taxi cab jeep minivan sedan pickup automobile vehicle".split())
_STREETS = frozenset("traffic street road highway intersection light lights lot parked".split())
_PHOTOS = frozenset("picture photo photograph image closeup close-up shot portrait view photography".split())
_MADE = frozenset("painting drawing sketch".split())
_ROOM_HAS = frozenset("shelf bookshelf bookcase cabinet table desk dresser stool lamp rug bench nightstand".split())
_FULL = frozenset("full filled lots variety".split())


def _same_or_among(caption: Caption, place: tuple[int, int], old: str, new: str, left: frozenset[str]) -> str | None:
    """Vans among the cars, shelves in a furnished room, a sign on the post of a clock; a picture of a picture."""
    phrase = caption.phrase_at.get(place[1] - 1)
    if new in _MADE and old in _PHOTOS | {"close up"}:
        return "a photo is not told from what it shows"
    if old == "clock" and new == "sign":
        return "where a clock hangs there may be a sign"
    if old in _CARS and new in _CARS and phrase is not None:
        if caption.is_plural(phrase):
            return f"among {old!r} there may be {new!r}"
        if caption.others and old not in caption.other_words and {old, new} & {"van", "suv", "vehicle"}:
            return f"no other caption of the image says {old!r}"
    if new in _ROOM_HAS and phrase is not None and (is_listed(caption, phrase) or left & _FULL):
        return f"a room may have {new!r} too"
    return None


_WATER = frozenset("ocean sea lake river water pond pool harbor bay canal stream creek".split())
_SHORE = frozenset("beach shore coast seashore pier dock boardwalk sand island".split())
_INDOORS = frozenset(
    "hallway kitchen bathroom bedroom office garage elevator room museum library restaurant store gym barn classroom "
    "lobby basement attic mall warehouse".split()
)
_TIED: tuple[tuple[frozenset[str], frozenset[str]], ...] = (  # what ties a caption to a place, the places it is tied to
    (frozenset("wave waves surf surfs surfing surfer surfers surfboard surfboards tide tides".split()),
     frozenset("ocean sea water beach shore coast wave seashore bay".split())),
    (frozenset("shore shoreline coast ocean sea waterfront harbor lighthouse seagull".split()) | {"beach"},
     _WATER | _SHORE | frozenset("path road street sidewalk trail bench cliff rock hill walkway bridge boat".split())),
    (frozenset("kayak kayaks kayaking canoe canoes canoeing raft rafting rowboat rowing rapids banks".split()),
     _WATER),
    (frozenset("sled sleds sledding dogsled ski skis skier skiers skiing snowboard snowboarder snowboarding snowboards "
               "snowmobile snowman".split()),
     frozenset("snow slope hill mountain snowy hillside mountainside trail ice ramp rail lift".split())),
    (frozenset("designated crosswalk intersection meter meters curb traffic lanes".split()),
     frozenset("street road lot garage city highway sidewalk parking lane driveway bridge town crosswalk".split())),
)  # fmt: skip
_PLACES = frozenset("open-place town-place park-like yard-like room walkway covering".split())
_OUTDOORS = frozenset("beach ocean sea sky mountain mountains trees field sidewalk sand river lake grass".split())
_INTO = frozenset("into cliff dock pier diving below".split())
_NOT_INTO = frozenset("sand grass field snow street road beach dirt".split())


def _where(to: str, new: str, left: frozenset[str]) -> str | None:
    """Nothing else in the caption may tie it down to another sort of place."""
    named = sets_of(new) | sets_of(new.split()[-1])
    if not named & _PLACES and to.split()[0] not in _PREPOSITIONS:
        return None
    head = lemma_of(to.split()[-1], "object")
    for words, places in _TIED:
        if (found := words & left - {head}) and head not in places and places.isdisjoint(to.split()):
            return f"{min(found)!r} is of another place than {head!r}"
    if head in _INDOORS and (found := left & _OUTDOORS):
        return f"{min(found)!r} is outdoors"
    if head in _NOT_INTO and _INTO & (left | set(to.split())) and left & {"jump", "dive", "leap"}:
        return f"nobody jumps into {head!r}"
    if head in _WATER and "across" in left | set(to.split()) and left & {"run", "walk"}:
        return "nobody walks on water"
    return None


_PREPOSITIONS = frozenset("in on at down along through next near by beside behind under across into over".split())
_DRY = frozenset("paved sandy grassy dusty dirt muddy gravel rocky dry green cobblestone concrete".split())


def _ground(new: str, left: frozenset[str]) -> str | None:
    """A sled on a paved trail, surfing a dusty wave."""
    if new.split()[0] in _DRY and (found := left & (_TIED[3][0] | _TIED[2][0])):
        return f"{min(found)!r} needs another ground than {new!r}"
    return None


def _getting(caption: Caption, start: int, new: str) -> str | None:
    """Who is getting wet is not getting dry: that is no English of captions."""
    before = caption.units[start - 1] if start else None
    if before is not None and before.lemma in {"get", "become"} and not seen_in("verbs", "get", new):
        return f"no caption has 'getting {new}'"
    return None


_NOT_OF_CATS = frozenset(
    "run race leap swim fetch ball frisbee disc leash snow surf sled sledding agility hose spray puddle wade splash "
    "hurdle obstacle pole tunnel tennis toy stick bone shake soak wet water ocean beach river lake sea wave creek "
    "stream pool sand herd hunt pull harness muzzle trot chase catch trick jump surfboard sprinkler wrestle fight bark "
    "track park trail shore mud collar field retrieve tag tug rope owner walk parade competition pant".split()
)


def _animal(caption: Caption, place: tuple[int, int], old: str, new: str) -> str | None:
    """A cat does what captions have cats do: it fetches nothing and runs through no puddle. No tiger lives on ice."""
    if not is_animate(new) or new in members("@person"):
        return None  # to WordNet a tiger is a person first
    name, before = new.split()[-1], old.split()[-1]
    is_cat = name in {"cat", "kitten"} and before in {"dog", "puppy", "animal"}
    for at, unit in enumerate(caption.units):
        if place[0] <= at < place[1] or unit.kind not in {"noun", "verb"}:
            continue
        lemma = unit.lemma.split()[-1]
        if lemma in _CLIMATE and not is_cat and name not in _ANYWHERE and not seen_in("scene", name, lemma):
            return f"no caption has {name!r} with {lemma!r}"
        if not is_cat:
            continue
        if lemma in _NOT_OF_CATS:
            return f"{lemma!r} is not of cats"
        if unit.kind == "noun" and not is_seen_beside("cat", lemma):
            return f"no caption names a cat and {lemma!r}"
        if unit.kind == "verb" and seen_in("subject", "dog", lemma) > 1 and not seen_in("subject", "cat", lemma):
            return f"no caption has a cat {lemma!r}"
    return None


_CLIMATE = frozenset("ice snow glacier iceberg ocean desert jungle".split())
_ANYWHERE = frozenset("dog puppy bird duck swan goose".split())
_IN_WATER = frozenset(
    "surf surfs surfing surfer surfboard wave waves swim swims swimming dive dives diving pool wakeboard wakeboarding "
    "waterski waterskiing snorkeling boogie".split()
)
_FOR_WATER = frozenset("shorts swimsuit trunks wetsuit bikini suit shirt vest goggles swimwear hat cap".split())


def _clothes(new: str, left: frozenset[str]) -> str | None:
    if is_garment(new) and new.split()[-1] not in _FOR_WATER and (found := left & _IN_WATER):
        return f"nobody wears {new!r} where the caption says {min(found)!r}"
    return None


_ROLES = {
    "skier": "ski skis skiing skies", "snowboarder": "snowboard snowboards snowboarding",
    "surfer": "surf surfing surfs surfboard wave waves",
    "skateboarder": "skateboard skateboarding skate skates skating",
    "cyclist": "bike bikes biking bicycle cycling pedals", "kayaker": "kayak kayaking",
    "golfer": "golf golfing", "swimmer": "swim swims swimming",
}  # fmt: skip
_ROLES |= {"biker": _ROLES["cyclist"], "bicyclist": _ROLES["cyclist"], "skater": _ROLES["skateboarder"]}


def _role(new: str, left: frozenset[str]) -> str | None:
    """No cyclist is skating."""
    mine = _ROLES.get(new)
    if mine is None:
        return None
    strange = {word for words in _ROLES.values() if words != mine for word in words.split()} & left
    return f"a {new} has nothing to do with {min(strange)!r}" if strange else None


_HERSELF = re.compile(r"\b(?:her|hers|she|hers[elf]{1,4})\b")  # with misspellings
_HIMSELF = re.compile(r"\b(?:his|him|he|(?:him|his)s?[elf]{2,4})\b")
_MALE = frozenset("man boy guy gentleman".split())
_FEMALE = frozenset("woman girl lady".split())


def _pronoun(text: str, new: str) -> str | None:
    """A man "takes a picture of herslf"."""
    head = new.split()[0]
    found = _HERSELF.search(text.lower()) if head in _MALE else None
    found = _HIMSELF.search(text.lower()) if head in _FEMALE else found
    return f"{found.group()!r} is left of the other" if found else None


_COOKED_IN = frozenset("oven bakery grill stove pan wok fryer microwave toaster pizzeria skillet".split())


def _dish(caption: Caption, place: tuple[int, int], new: str) -> str | None:
    """A new dish must be known with each of the other foods, and where it is made."""
    if not is_food(new):
        return None
    for at, unit in enumerate(caption.units):
        if place[0] <= at < place[1] or unit.kind != "noun":
            continue
        asked = is_food(unit.lemma) or unit.lemma.split()[-1] in _COOKED_IN
        if asked and not seen_in("scene", new, unit.lemma) and not seen_in("scene", unit.lemma, new):
            return f"no caption has {new!r} with {unit.lemma!r}"
    return None


def _done_to(caption: Caption, place: tuple[int, int], new: str) -> str | None:
    """The verb must be known with the new noun: nobody reads a phone."""
    if is_animate(new):
        return None
    for pair in pairs_at(caption, *place):
        relation, first, second = pair.filled(new)
        if relation not in {"object", "via"} or second != new:
            continue
        found = max(counted(relation, first, name) for name in {new, new.split()[-1]})
        never = found.first >= _TELLING and not found.seen and (relation == "object" or found.expected > _EXPECTED)
        if never or (relation == "object" and found.first >= _KNOWN_WELL and found.seen < 2):
            return f"no caption has {first!r} with {new!r}, or one alone"
    return None
