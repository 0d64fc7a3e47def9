"""Another person, and the pronouns with it: "a girl smiles as she climbs" -> "a boy smiles as he climbs".

The lexicon leaves a caption with "his" or "she" alone, since a man with "her" dog is no English, or another story.
Here noun and pronouns change together, where they surely belong together: one such person, all pronouns of one kind.
And "people" become "children" where other captions of the photo call them men or women, and none speaks of children.
"""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.perturb.english.caption import Caption, Unit
from equipoise.perturb.english.forms import like, plural
from equipoise.perturb.english.vocabulary import Section, count, word_set
from equipoise.perturb.recipe import Proposal

_OTHER = {"man": "woman", "boy": "girl", "guy": "woman", "gentleman": "woman",
          "woman": "man", "girl": "boy", "lady": "man"}  # fmt: skip
_HIS = {"he": "she", "his": "her", "him": "her", "himself": "herself"}
_HERS = {"she": "he", "herself": "himself"}  # and "her", which is two words
HE, SHE = frozenset(_HIS), frozenset((*_HERS, "her", "hers"))
MALE = word_set("male nouns")
FEMALE = word_set("female nouns")
_TELLS = word_set("signs of sex")
_AFTER = frozenset(("'s", "-", "scout"))


_GROWN = word_set("grown words")
_GROWN_ALL = word_set("grown groups")
_SEVERAL = word_set("words for several people")
_PEOPLE = {"people": "children", "person": "child"}
_OF_CHILDREN = word_set("words of children")
_OF_ADULTS = word_set("words of adults")


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
