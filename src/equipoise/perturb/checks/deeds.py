"""Checks of actions: what stays true beside the old one, and what does not go with what else is told.

Who swings at a ball watches it too; who jumps on a skateboard does not walk on it.
"""

from __future__ import annotations

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.evidence import BODY
from equipoise.perturb.english.fit import seen_in
from equipoise.perturb.english.forms import verb_lemma
from equipoise.perturb.english.noun_classes import is_food, is_person, sets_of

_POSTURES = frozenset("stand walk sit lie run kneel".split())
_JUMPS = frozenset("jump leap dive hop flip fly".split())
_WHEELS = frozenset(  # who jumps with these does not stand or walk then; the rider's own name is no hindrance
    "skateboard skateboarding bike bicycle bmx snowboard snowboarding ski skis scooter motorcycle motorbike "
    "rollerblades surfboard skates sled horse".split()
)
_PLAYED = frozenset("ball frisbee disc racket puck shuttlecock baseball basketball football volleyball".split())
_HITTING = frozenset("swing hit serve throw catch kick bat toss return reach dribble chase".split())
_LOOKING = frozenset("watch look see stare".split())
_BUSY = frozenset(
    "prepare ride play cut chop cook hold swing throw catch climb carry pull push eat drink ski snowboard surf "
    "skateboard drive paddle row swim dig paint wash clean fix pour serve bat pitch slice bake type write".split()
)
_AT_TABLE = frozenset("table desk booth bar fork knife plate laptop computer meal bed couch sofa chair".split())
_ON_FOOT = frozenset("sidewalk path trail hallway stairs staircase crosswalk boardwalk".split())
_BESIDE = frozenset(("beside", "next to", "near", "behind", "under", "in front of", "by"))
_RIDING = frozenset("ride drive sail row paddle surf ski skate race".split())
_RIDDEN = frozenset(
    "motorcycle bike bicycle scooter moped horse boat kayak canoe raft surfboard skateboard snowboard car truck bus "
    "sled elephant camel board wave ski motorbike".split()
)
_POSED = frozenset("pose posing poses posed smile smiling smiles".split())
_LIFTED = frozenset("lifted thrown tossed carried held pushed pulled hoisted".split())
_BASEBALL = frozenset("baseball base bases bat batter softball pitcher umpire hitter batting diamond".split())
_FASTER = frozenset(
    "trot trotting trots jog jogging jogs run running runs gallop galloping race racing races sprint sprinting hurry "
    "hurrying bound bounding chase chasing chases rush rushing".split()
)
_SLOWER = frozenset("trot trotting trots jog jogging walk walking walks stroll strolling wade wading wades".split())


def deed_fits(caption: Caption, candidate: Candidate) -> str | None:
    """A negative's action excludes the old one and goes with the rest of the caption."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or edit.span is None:
        return None
    place = caption.units_of(edit.span)
    if place is None or not edit.source or not edit.to:
        return None
    if edit.target == "relation":
        return _ridden(caption, place, edit.to.lower())
    if edit.target != "action":
        return None
    old, new = verb_lemma(edit.source.lower().split()[0]), verb_lemma(edit.to.lower().split()[0])
    left = [unit for at, unit in enumerate(caption.units) if not place[0] <= at < place[1]]
    words = {name for unit in left for name in (unit.word, unit.lemma)}
    words |= {part for name in words for part in name.split()}
    noun = caption.object_of(place[1] - 1) or ""
    return (
        _stays_true(caption, place, old, new, noun)
        or _jumped(caption, place, old, new, words)
        or _seated(old, new, words)
        or _hands(old, new, words, caption.other_words)
        or _pace(caption, old, new, words)
        or _on_a_part(caption, place, new)
    )


def _stays_true(caption: Caption, place: tuple[int, int], old: str, new: str, noun: str) -> str | None:
    ball = "thrown" in sets_of(noun) or not _PLAYED.isdisjoint(noun.split())
    if new in _LOOKING and old in _HITTING and ball:
        return "who plays a ball watches it"
    people = any(map(is_person, caption.subjects_of(place[0])))
    if old in {"eat", "bite", "share", "enjoy"} and new == "reach" and people and (is_food(noun) or noun == "food"):
        return "who eats may be reaching for food"
    return None


def _jumped(caption: Caption, place: tuple[int, int], old: str, new: str, words: set[str]) -> str | None:
    if old not in _JUMPS or new not in _POSTURES:
        return None
    if found := words & _WHEELS:
        return f"nobody does {new!r} on or with {min(found)!r}"
    after = caption.units[place[1] :]
    if any(unit.word in {"into", "onto", "off", "off of"} for unit in after) or (after and after[0].kind == "verb"):
        return f"where the jump goes is told, which {new!r} does not"
    return None


def _seated(old: str, new: str, words: set[str]) -> str | None:
    """Nobody jumps at a table with a fork in his hand, or drives down a sidewalk."""
    if old == "sit" and new in _JUMPS | {"run", "walk", "dance"} and (found := words & _AT_TABLE):
        return f"nobody does {new!r} with {min(found)!r}"
    if old in {"walk", "run", "stroll"} and new in {"drive", "ride"} and (found := words & _ON_FOOT):
        return f"nobody does {new!r} on {min(found)!r}"
    return None


def _ridden(caption: Caption, place: tuple[int, int], new: str) -> str | None:
    """Who drives or rides on something does not do so beside it."""
    verbs = {unit.lemma for unit in caption.units[: place[0]] if unit.kind == "verb"}
    if new in _BESIDE and (found := verbs & _RIDING) and (caption.object_of(place[1] - 1) or "") in _RIDDEN:
        return f"nobody does {min(found)!r} {new} what is ridden"
    return None


def _hands(old: str, new: str, words: set[str], others: frozenset[str]) -> str | None:
    if old == "wear" and new in {"hold", "carry"} and (busy := words & _BUSY):
        return f"the hands are busy: {min(busy)!r}"
    if old in {"hold", "carry"} and new == "reach" and (words | others) & _POSED:
        return "who poses does not reach for things"
    if old == "play" and new in _LOOKING and (found := words & _LIFTED):
        return f"who is {min(found)!r} does not watch"
    return None


def _pace(caption: Caption, old: str, new: str, words: set[str]) -> str | None:
    if old == "run" and new == "stand" and (words | caption.other_words) & _BASEBALL:
        return "in a game of baseball players run and stand"
    if old == "walk" and new == "run" and (found := caption.other_words & _FASTER):
        return f"another caption of the image says {min(found)!r}"
    if old == "run" and new == "walk" and (found := caption.other_words & _SLOWER):
        return f"another caption of the image says {min(found)!r}"
    return None


def _on_a_part(caption: Caption, place: tuple[int, int], new: str) -> str | None:
    """Nobody chases an elephant's head."""
    phrase = caption.phrase_at.get(place[1])
    if phrase is None or phrase.start != place[1]:
        return None
    owned = caption.phrase_at.get(phrase.end + 1) if phrase.end < len(caption.units) else None
    if caption.units[phrase.end : phrase.end + 1] and caption.units[phrase.end].pos == "POS" and owned is not None:
        part = caption.units[owned.head].lemma
        if part in BODY and not seen_in("object", new, part):
            return f"no caption has {new!r} with {part!r}"
    return None
