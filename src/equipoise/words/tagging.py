"""Parts of speech of a caption, offline and fast: Brill's tagger with rules for captions on top.

Brill was trained on newspapers; the rules at the end of this file fix what that gets wrong in captions. Nothing is
downloaded.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from equipoise.words.brill import CAPTION_WORDS, VERBS, apply_context, first_tags, third_person


class Token(NamedTuple):
    """A word or a punctuation mark: `caption[start:end] == text`, with its Penn Treebank tag."""

    text: str
    start: int
    end: int
    pos: str


# A word may hold inner hyphens, slashes and apostrophes (t-shirt, black/white, o'clock), a number dots, commas
# and colons (3.5, 5:30); clitics ('s, n't) are tokens of their own, as in the Penn Treebank; marks stand alone.
_CLITIC = r"(?:n['’]t|['’](?:s|d|m|ll|re|ve))(?!\w)"
_TOKEN = re.compile(
    rf"{_CLITIC}|\d+(?:[.,:]\d+)+|(?:(?!{_CLITIC})\w)+(?:(?!{_CLITIC})[-/&'’](?:(?!{_CLITIC})\w)+)*|\.\.\.|[^\w\s]",
    re.IGNORECASE,
)


def split(text: str) -> list[tuple[str, int, int]]:
    """The words and marks of `text`, each with its place."""
    return [(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]


def tag(text: str) -> list[Token]:
    """The tokens of `text` in order, each with its place and its Penn tag."""
    found = split(text)
    if not found:
        return []
    pad = ["STAART"] * 3  # Brill's rules look up to three places to either side; the spelling is theirs
    words = [*pad, *(word.lower() for word, _, _ in found), *pad]
    tags = [*pad, *first_tags([word for word, _, _ in found]), *pad]
    places = range(3, 3 + len(found))
    apply_context(words, tags, places)
    _fix_tags(words, tags, places)
    return [Token(*token, tags[place]) for place, token in zip(places, found, strict=True)]


# ---------------------------------------------------------------------------- rules for captions

_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
_AFTER_VERB = frozenset({"DT", "PRP$", "IN", "TO", "RP", "RB", ".", ",", "CC", "STAART", "PRP", "CD", "JJ", "VBG"})
_AFTER_NOUN = frozenset({"VBG", "VBZ", "VBN", "IN", ".", "STAART"})
_BEFORE_NOUN = frozenset({"DT", "PRP$", "JJ", "POS"})
_BE = frozenset("is are was were be being been 's 're".split())
_AUXILIARIES = _BE | {"has", "does"}
_PEOPLE = frozenset("people men women children boys girls kids players guys adults persons they".split())
# Verbs of captions whose forms Brill knows as nouns: base form and, with -s, the third person.
_MOSTLY_NOUNS = frozenset(  # never made verbs after a noun: "traffic lights on", "street signs and", "a hill face"
    "lines faces parks shops stops paints turns lands boats rows covers displays waves shows races covers fish "
    "face line park shop stop paint turn land row cover display wave show race ski camp drink cut work text "
    "type hit brush comb nap parade practice start point works types cuts texts brushes drinks camps".split()
)
_NEVER_PLURAL = frozenset(
    "smiles laughs waits poses reads holds wears eats talks sits leans stares squeals yells barks cries".split()
)
_ONE = frozenset("man woman boy girl child lady guy person kid adult giraffe zebra groom bride".split())
_SELDOM_NOUNS = frozenset("smile laugh talk watch wait pose look".split())
_WORN = frozenset("shorts pants jeans glasses sunglasses trousers clothes goggles boots shoes gloves".split())
_COLOURS = frozenset("orange gold silver pink purple tan white black brown red blue green yellow gray grey".split())
_PREPOSITIONS = frozenset("down up on in by behind around over off along through across past".split())
_PARTICIPLE_NEXT = frozenset("with by in on at near behind under from up of inside next against together".split())


def _fix_tags(words: list[str], tags: list[str], places: range) -> None:
    """Fix what newspapers teach wrongly about captions; one pass from the left, each rule with its example."""
    for i in places:
        word, pos, before, after = words[i], tags[i], tags[i - 1], tags[i + 1]
        if pos == "POS" and (before == "PRP" or words[i - 1] in {"there", "that", "it", "he", "she", "what"}):
            tags[i] = "VBZ"  # it's
        elif before == "TO" and pos in {"NN", "JJ", "VBP", "VBD"} and word in VERBS:
            tags[i] = "VB"  # ready to blow out
        elif before == "CC" and pos in {"NN", "VB", "NNS"} and _joins_verb(words, tags, i):
            tags[i] = "VBZ" if word.endswith("s") else "VBP"  # two people pose and smile; a man sits and waits
        elif pos in {"NNS", "NN", "VB", "VBP", "JJ"} and _is_verb_here(words, tags, i):
            tags[i] = "VBZ" if word.endswith("s") else "VBP"  # a man rides a horse; two men ride horses
        elif pos in {"VBZ", "VBP", "VB"} and before in _BEFORE_NOUN and word not in _BE and after != "DT":
            tags[i] = "NNS" if pos == "VBZ" else "NN"  # with long stands; on a ride
        elif pos in {"NN", "JJ"} and word.endswith("ing") and word not in _lexicon_ing_nouns():
            if before in {*_NOUNS, "VBZ", "VBP", "VBD", ",", "CC", "STAART", "WDT"} and after in _AFTER_VERB:
                tags[i] = "VBG"  # a man surfing on a wave
        elif pos == "VBZ" and word not in _AUXILIARIES and _is_plural_here(words, tags, i):
            tags[i] = "NNS"  # two sinks; with leaves; teddy bears sitting
        elif pos == "MD" and word == "can" and before in {"NN", "VBG", "DT"} and not after.startswith(("VB", "RB")):
            tags[i] = "NN"  # in a watering can
        elif pos == "VBD" and before in _NOUNS and after in _NOUNS and word.endswith("ed"):
            tags[i] = "VBN"  # a snow covered slope
        elif (
            pos in {"VBD", "VBN"}
            and before in _NOUNS | {"RB"}
            and words[i + 1] in _PARTICIPLE_NEXT
            and word.endswith("ed")
        ):
            tags[i] = "VBN"  # a bus parked on the street: captions rarely tell the past
        elif pos == "VBN" and before in _BEFORE_NOUN and after in _NOUNS | {"JJ"}:
            tags[i] = "JJ"  # a parked car
        elif word in _COLOURS:
            of_noun = after in _NOUNS or after == "JJ" or words[i - 1] in _BE or words[i + 1] in {"and", ","}
            tags[i] = "JJ" if of_noun or word not in {"orange", "gold", "silver"} else "NN"  # an orange cat; an orange
        elif pos in {"RB", "RP"} and word in _PREPOSITIONS and after in {"DT", "PRP$", "NN", "NNS", "JJ", "CD"}:
            tags[i] = "IN"  # walking down a road
        elif word in {"female", "male"} and before in {"DT", "CD"} and words[i + 1] in VERBS and tags[i + 2] != "NN":
            tags[i] = "NN"  # one female stand near a rail
        elif word == "nearby" and before in _NOUNS and after in _NOUNS | {"DT"}:
            tags[i] = "IN"  # water nearby rocks
        elif word == "remote" and words[i + 1] in {"sitting", "laying", "lying", "resting"}:
            tags[i] = "NN"  # a remote sitting on a table
        elif pos == "JJ" and before in {"DT", "PRP$"} and after in _AFTER_NOUN and word not in {"other", "same"}:
            tags[i] = "NN"  # a female holding a racket
        elif word == "left" and words[i - 1] == "the" and after not in _NOUNS:
            tags[i] = "NN"  # on the left
        elif word in {"back", "front", "top", "bottom", "side"} and before in {"DT", "PRP$", "IN", "JJ"}:
            tags[i] = "JJ" if after in _NOUNS and before != "IN" else "NN"  # on the back of; in front of; a back yard
        elif word == "her" and after not in _NOUNS | {"JJ", "VBG", "CD", "VBN"}:
            tags[i] = "PRP"  # next to her


def _is_verb_here(words: list[str], tags: list[str], i: int) -> bool:
    """A subject just before, a base or third-person form that agrees with it, and no noun where it would end."""
    word, before, after = words[i], tags[i - 1], tags[i + 1]
    if word in VERBS | {"ski", "cross", "race"} and words[i - 1] in _ONE and tags[i] != "JJ" and word != "park":
        joined = "and" in words[i - 4 : i - 1]  # a man and a woman ride bikes
        return joined and words[i - 2] != "of" and not any(pos.startswith("VB") for pos in tags[:i])
    if word in VERBS and before == "NN" and word not in _MOSTLY_NOUNS:
        goes_on = after in _AFTER_VERB or words[i + 1 : i + 3] == ["side", "by"]
        joined = "and" in words[i - 4 : i - 1] and goes_on  # a man and a girl walk past
        return joined and not any(pos.startswith("VB") for pos in tags[:i])
    if word in VERBS or (words[i - 1] in _PEOPLE and not word.endswith(("s", "ing")) and tags[i] != "JJ"):
        return before in {"NNS", "PRP"} and (after in _AFTER_VERB or after in _NOUNS)
    if not word.endswith("s") or word.endswith("ss") or after not in _AFTER_VERB | {"NN", "NNS"}:
        return False
    if words[i - 1] in {"who", "that", "it", "he", "she"} or before == "NNP":
        return third_person(word)
    if words[i - 1] in _WORN and third_person(word) and word not in _MOSTLY_NOUNS:
        return after in _AFTER_VERB  # a man in black shorts jumps
    if before != "NN" or tags[i] != "NNS":
        return False
    if after not in {"NN", "NNS"} and third_person(word) and word not in _MOSTLY_NOUNS:
        return True
    start = i - 1  # "a street signs" cannot be a plural: the article tells that the -s belongs to a verb
    while tags[start] in {"NN", "JJ", "VBG", "VBN", "RB"}:
        start -= 1
    return words[start] in {"a", "an", "one"} and words[i - 1] not in {"lot", "bunch", "number"}


def _joins_verb(words: list[str], tags: list[str], i: int) -> bool:
    """Whether the verb just before "and" tells that this word is one too."""
    if tags[i + 1] in _NOUNS or words[i] in _MOSTLY_NOUNS:
        return False
    if words[i] in _NEVER_PLURAL or (words[i] in _SELDOM_NOUNS and "VBP" in tags[:i]):
        return True  # a woman holds a cup and smiles; people stand by a wall and smile
    return third_person(words[i]) if tags[i - 2] == "VBZ" else tags[i - 2] == "VBP" and words[i] in VERBS


def _is_plural_here(words: list[str], tags: list[str], i: int) -> bool:
    before, after = tags[i - 1], tags[i + 1]
    if before == "CC" and words[i] in _NEVER_PLURAL:
        return False  # plays with a balloon and laughs
    if before in {"VBG", "CD", "JJ", "STAART", "PRP$"} or (before == "IN" and words[i - 1] != "that"):
        return True
    return after in {"VBG", "VBZ", "VBP"} or (before in {",", "CC"} and after in {",", "CC", ".", "STAART"})


@functools.cache
def _lexicon_ing_nouns() -> frozenset[str]:
    """Nouns in -ing that are things, not doings; all other words in -ing may be verbs."""
    listed = set(CAPTION_WORDS["NN"].split()) | {"thing", "something", "nothing", "anything", "everything", "ping"}
    return frozenset(word for word in listed if word.endswith("ing")) | {"sling", "swing", "dressing", "stocking"}
