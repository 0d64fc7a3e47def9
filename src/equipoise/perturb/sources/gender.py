"""Another person, and the pronouns with it: "a girl smiles as she climbs" -> "a boy smiles as he climbs".

The lexicon leaves a caption with "his" or "she" alone, since a man with "her" dog is no English, or another story.
Here noun and pronouns change together, where they surely belong together: one such person, all pronouns of one kind.
And "people" become "children" where other captions of the photo call them men or women, and none speaks of children.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.perturb.english.caption import Caption, Unit
from equipoise.perturb.english.forms import like, plural
from equipoise.perturb.english.word_lists import Section, count
from equipoise.perturb.sources.base import Proposal

_OTHER = {"man": "woman", "boy": "girl", "guy": "woman", "gentleman": "woman",
          "woman": "man", "girl": "boy", "lady": "man"}  # fmt: skip
_HIS = {"he": "she", "his": "her", "him": "her", "himself": "herself"}
_HERS = {"she": "he", "herself": "himself"}  # and "her", which is two words
HE, SHE = frozenset(_HIS), frozenset((*_HERS, "her", "hers"))
MALE = frozenset("man boy guy gentleman male father dad son brother husband grandfather groom king policeman".split())
FEMALE = frozenset("woman girl lady female mother mom daughter sister wife grandmother bride queen policewoman".split())
_TELLS = frozenset(  # what only one of them has, wears or is in most photos
    "dress skirt bikini shirtless topless beard bearded mustache moustache pregnant bra purse heels trunks bald gown "
    "sundress blouse ponytail pigtails makeup lipstick tutu goatee breast breasts tie suit tuxedo sari kilt husband "
    "lingerie thong corset ballet ballerina wife hers bun braids earrings tights leotard sister brother".split()
)
_AFTER = frozenset(("'s", "-", "scout"))


_GROWN = frozenset("man men woman women lady ladies guy guys gentleman gentlemen adult adults".split())
_GROWN_ALL = frozenset("men women ladies guys gentlemen adults".split())
_SEVERAL = frozenset("people persons men women guys ladies group couple crowd two three four several many".split())
_PEOPLE = {"people": "children", "person": "child"}
_OF_CHILDREN = frozenset(
    "child children kid kids boy boys girl girls baby babies toddler toddlers teen teens teenager teenagers student "
    "students young little family families adult adults son daughter youth class team player".split()
)
_OF_ADULTS = frozenset(
    "motorcycle motorcycles moped scooter scooters drive drives driving car truck beer wine alcohol cook cooking "
    "newspaper cigarette smoke smoking suit suits tie ties business old older elderly work working works job office "
    "luggage suitcase suitcases airport meeting wedding bride groom bar bearded uniform uniforms police protest march "
    "marching crowd computer laptop phone phones cell elephant camel parachute stage band coffee sell selling market "
    "buying plane airplane conference military soldier soldiers men women man woman lady guy his her he she someone "
    "concert busy bus train race racing rodeo carriage professional cliff climber climbing raft lift "
    "parasail champagne toast glass tattoo tattoos political rally speech vote knife slicing bartender".split()
)


class Gender:
    """Contrasts alone."""

    name = "gender"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return iter(())

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        if target != "object":
            return
        yield from self._children(caption)
        if not caption.words.isdisjoint(_TELLS):
            return
        persons = [(place, u) for place, u in enumerate(caption.units) if u.kind == "noun" and u.lemma in _OTHER]
        pronouns = [unit for unit in caption.units if unit.word in _HIS or unit.word in _HERS or unit.word == "her"]
        if len(persons) != 1 or not pronouns or len(pronouns) > 2:
            return
        place, noun = persons[0]
        phrase = caption.phrase_at.get(place)
        if phrase is None or phrase.head != place or caption.is_plural(phrase) or caption.is_name(place):
            return
        is_male = noun.lemma in MALE
        if any((unit.word in _HIS) != is_male for unit in pronouns) or any(u.start < noun.end for u in pronouns):
            return
        named = FEMALE if is_male else MALE
        if not named.isdisjoint(caption.words | caption.other_words) or not (MALE | FEMALE).isdisjoint(
            unit.lemma for unit in caption.units if unit is not noun
        ):
            return
        after = caption.units[place + 1] if place + 1 < len(caption.units) else None
        if after is not None and (after.word in _AFTER or after.pos == "POS" or after.kind == "noun"):
            return
        new = _OTHER[noun.lemma]
        to, at = (plural(new) if noun.word != noun.lemma else new), noun.end
        for unit in pronouns:
            to += caption.text[at : unit.start] + like(unit.text, _turned(caption, unit))
            at = unit.end
        yield Proposal(noun.start, at, to, "object", self.name, float(count(new)))

    def _children(self, caption: Caption) -> Iterator[Proposal]:
        """People who would be called children if they were: none of the other captions does so."""
        if len(caption.others) < _ENOUGH or not (caption.words | caption.other_words).isdisjoint(_OF_CHILDREN):
            return
        if not caption.words.isdisjoint(_OF_ADULTS) or _GROWN.isdisjoint(caption.other_words):
            return  # people may be children where nobody calls them men or women
        found = [(place, u) for place, u in enumerate(caption.units) if u.kind == "noun" and u.word in _PEOPLE]
        for place, unit in found if len(found) == 1 else ():
            phrase = caption.phrase_at.get(place)
            many = unit.word == "people"
            if many and _GROWN_ALL.isdisjoint(caption.other_words):
                continue  # one man among them says nothing of the others
            if not many and not _SEVERAL.isdisjoint(caption.other_words):
                continue  # nor do others of one
            if phrase is not None and phrase.head == place and not caption.is_name(place):
                to = _PEOPLE[unit.word]
                yield Proposal(unit.start, unit.end, to, "object", self.name, float(count(to)))


_ENOUGH = 3  # other captions


def _turned(caption: Caption, unit: Unit) -> str:
    if unit.word in _HIS:
        return _HIS[unit.word]
    if unit.word in _HERS:
        return _HERS[unit.word]
    place = caption.units.index(unit)
    return "his" if place + 1 in caption.phrase_at else "him"
