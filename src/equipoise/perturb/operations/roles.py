"""Negatives in which two persons or animals change roles, and no word is replaced: the other half of converse pairs.

"A dog chasing a cat": a cat chasing a dog. "A man sings while a woman cooks": a woman sings while a man cooks. Only
where either may do what the other does: a horse does not ride a man.
"""

from __future__ import annotations

import random

from equipoise.perturb.english.caption import COLLECTIVES, Caption
from equipoise.perturb.english.wordnet import is_animate, is_garment, is_person
from equipoise.perturb.operations.clause import Clause, Part, clause_of
from equipoise.perturb.operations.converse import Said, written
from equipoise.perturb.recipe import Candidate, Made, Refused, Sources

_ONE_WAY = frozenset("chase follow lead lick bite".split()) | {"push"}  # a photo tells who does it
_LOOKING = frozenset("look watch stare observe gaze".split())  # the other one may look, too
_NO_PEERS = COLLECTIVES | {"people", "audience", "baby", "toddler", "family", "parent", "team mate", "spectator"}
_NOT_ALIVE = frozenset("toy stuffed plastic statue opposing".split())


def converse_negative(caption: Caption, sources: Sources, rng: random.Random) -> Made:
    clause = clause_of(caption)
    found: list[list[Part]] | None = None
    if clause is not None and (found := clause.match("(n)(?:b?)([gz])(n)(?:pn)*")):
        (one,), (verb,), (other,) = found
        if verb.head in _ONE_WAY and _are_peers(clause, one, other):
            yield _exchanged(clause, one, other)
            return
    if clause is not None and (found := clause.match("(n)(b?[gz][bgpnma]*)c(n)((?:z|bg)[bgpnma]*)")):
        (one,), did, (other,), does = found
        if _are_peers(clause, one, other) and not any(part.head in _LOOKING for part in (*did, *does)):
            yield _exchanged(clause, one, other)
            return
    yield Refused("the caption does not name two persons or animals that could change roles")


def _are_peers(clause: Clause, one: Part, other: Part) -> bool:
    """Two persons, or two animals, of one number."""
    heads, units = {one.head, other.head}, clause.caption.units
    named = [unit.lemma for unit in units if unit.kind == "noun"]
    if any(named.count(head) > 1 for head in heads) or any(map(is_garment, named)):
        return False  # a man holds a child while the child smiles; chases a girl in a dress
    if any(units[part.start].kind != "determiner" for part in (one, other)):
        return False
    if one.head.split()[-1] == other.head.split()[-1] or one.plural != other.plural or heads & _NO_PEERS:
        return False
    if any(unit.word in _NOT_ALIVE for part in (one, other) for unit in clause.units(part)):
        return False
    return all(map(is_animate, heads)) and is_person(one.head) == is_person(other.head)


def _exchanged(clause: Clause, one: Part, other: Part) -> Candidate:
    text, units = clause.caption.text, clause.caption.units
    b, c, d = units[one.end - 1].end, units[other.start].start, units[other.end - 1].end
    end = units[clause.parts[-1].end - 1].end
    new = text[: units[one.start].start] + clause.say([other]) + text[b:c] + clause.say([one]) + text[d:end]
    return written(clause, Said("converse", new), "negative")
