"""Parts of speech of a caption, offline and fast: Brill's tagger with rules and words for captions on top.

Brill's files (lexicon, word shapes, contextual rules: data/BRILL_LICENSE.txt) were learned from newspapers; the rules
at the end of this file fix their mistakes in captions. textblob, which carries the files, is not used: it never
applies the contextual rules (its lazy list of them stays empty), so that "to blow" stays a noun.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from equipoise.language.vocabulary import read_text

MOST_WORDS = 100_000  # tags kept in memory; a corpus of millions of captions has more odd words than that
_SENTENCE_END = frozenset(".!?")


def _data(name: str) -> list[str]:
    """The lines of one of Brill's files."""
    return [line for line in read_text(name).splitlines() if line.strip() and not line.startswith((";;;", "# "))]


@functools.cache
def _caption_words() -> dict[str, list[str]]:
    """Lists of our own, by tag or by name."""
    pairs = (line.split(": ", 1) for line in _data("caption-words.txt"))
    return {name: words.split() for name, words in pairs}


_TAGGED = {name[4:]: listed for name, listed in _caption_words().items() if name.startswith("tag ")}
_FIXED = {mark: pos for pos, listed in _TAGGED.items() for mark in listed}


@functools.cache
def brill_lexicon() -> dict[str, str]:
    pairs = (line.split() for line in _data("brill-lexicon.txt.gz"))
    lexicon = {pair[0]: pair[1].split("|")[0] for pair in pairs if len(pair) > 1}
    # Words that the lexicon lacks, or has with a reading of newspapers; captions need the other reading first.
    for pos, listed in _caption_words().items():
        if pos.isupper():
            lexicon.update(dict.fromkeys(listed, pos))
    return lexicon


@functools.lru_cache(MOST_WORDS)
def word_tag(word: str, first: bool) -> str:
    """The tag of a word out of context; a capital counts as a name only where a sentence does not begin."""
    if fixed := _FIXED.get(word.lower()):
        return fixed
    lexicon = brill_lexicon()
    lower = word.lower()
    known = lexicon.get(lower)
    if known and not known.startswith("NNP"):
        capital = lexicon.get(word, known)
        return known if first or word == lower or not capital.startswith("NNP") or lower in _common() else capital
    if word in lexicon and (word != lower or known):
        return lexicon[word]
    if word[0].isdigit():
        return "CD" if re.fullmatch(r"[\d.,:/-]+", word) else "JJ"
    if not word[0].isalpha():
        return "SYM"
    if word[0].isupper() and not first:
        return "NNP"
    return known or _shape_tag(lower)


# Words of Title Case Captions that Brill's newspapers only know as names when written with a capital.
@functools.cache
def _common() -> frozenset[str]:
    return frozenset(
        word for name, words in _caption_words().items() if name.isupper() or name == "common" for word in words
    )


_MORPHOLOGY = {"char", "haspref", "hassuf", "addpref", "addsuf", "deletepref", "deletesuf"}


@functools.cache
def _shape_rules() -> list[tuple[str, str, str, str]]:
    """(from tag or "", affix, kind, new tag); the rules that look at neighbours are left to the context."""
    rules = []
    for line in _data("brill-morphology.txt"):
        parts = line.split()
        if parts[1] in _MORPHOLOGY:
            rules.append(("", parts[0], parts[1], parts[-2]))
        elif parts[2].removeprefix("f") in _MORPHOLOGY:
            rules.append((parts[0], parts[1], parts[2].removeprefix("f"), parts[-2]))
    return rules


def _shape_tag(word: str) -> str:
    """The tag that beginnings and endings suggest for a word that the lexicon lacks."""
    lexicon, pos = brill_lexicon(), "NN"
    if "-" in word.strip("-"):  # black-and-white, three-legged, t-shirt: as its last part, adjectives mostly
        last = word_tag(word.rsplit("-", 1)[-1] or word.strip("-"), True)
        return last if last in {"NN", "NNS", "VBG"} else "JJ"
    for before, affix, kind, after in _shape_rules():
        if before and before != pos:
            continue
        if (
            (kind == "char" and affix in word)
            or (kind == "haspref" and word.startswith(affix))
            or (kind == "hassuf" and word.endswith(affix))
            or (kind == "addpref" and affix + word in lexicon)
            or (kind == "addsuf" and word + affix in lexicon)
            or (kind == "deletepref" and word.startswith(affix) and word[len(affix) :] in lexicon)
            or (kind == "deletesuf" and word.endswith(affix) and word[: -len(affix)] in lexicon)
        ):
            pos = after
    return "NN" if pos == "JJR" else pos  # a waterskier is nobody's comparative


def first_tags(words: Sequence[str]) -> list[str]:
    tags, first = [], True
    for word in words:
        tags.append(word_tag(word, first))
        first = word in _SENTENCE_END or (first and not word[0].isalnum())
    return tags


_Kind = Callable[[list[str], list[str], int, str, str], bool]

_KINDS: dict[str, _Kind] = {  # w words, t tags, i the place; x and y are the rule's arguments
    "PREVTAG": lambda w, t, i, x, y: t[i - 1] == x,
    "NEXTTAG": lambda w, t, i, x, y: t[i + 1] == x,
    "PREV2TAG": lambda w, t, i, x, y: t[i - 2] == x,
    "NEXT2TAG": lambda w, t, i, x, y: t[i + 2] == x,
    "PREV1OR2TAG": lambda w, t, i, x, y: x in (t[i - 1], t[i - 2]),
    "NEXT1OR2TAG": lambda w, t, i, x, y: x in (t[i + 1], t[i + 2]),
    "PREV1OR2OR3TAG": lambda w, t, i, x, y: x in t[i - 3 : i],
    "NEXT1OR2OR3TAG": lambda w, t, i, x, y: x in t[i + 1 : i + 4],
    "SURROUNDTAG": lambda w, t, i, x, y: t[i - 1] == x and t[i + 1] == y,
    "PREVBIGRAM": lambda w, t, i, x, y: t[i - 2] == x and t[i - 1] == y,
    "NEXTBIGRAM": lambda w, t, i, x, y: t[i + 1] == x and t[i + 2] == y,
    "CURWD": lambda w, t, i, x, y: w[i] == x,
    "PREVWD": lambda w, t, i, x, y: w[i - 1] == x,
    "NEXTWD": lambda w, t, i, x, y: w[i + 1] == x,
    "PREV1OR2WD": lambda w, t, i, x, y: x in (w[i - 1], w[i - 2]),
    "LBIGRAM": lambda w, t, i, x, y: w[i - 1] == x and w[i] == y,
    "RBIGRAM": lambda w, t, i, x, y: w[i] == x and w[i + 1] == y,
    "WDPREVTAG": lambda w, t, i, x, y: t[i - 1] == x and w[i] == y,
    "WDNEXTTAG": lambda w, t, i, x, y: w[i] == x and t[i + 1] == y,
    "WDAND2AFT": lambda w, t, i, x, y: w[i] == x and w[i + 2] == y,
    "WDAND2TAGBFR": lambda w, t, i, x, y: t[i - 2] == x and w[i] == y,
    "WDAND2TAGAFT": lambda w, t, i, x, y: w[i] == x and t[i + 2] == y,
}


@functools.cache
def _context_rules() -> dict[str, list[tuple[str, _Kind, str, str]]]:
    """Tag -> the rules that may change it, in Brill's order; names (capitals) are not his to decide here."""
    rules: dict[str, list[tuple[str, _Kind, str, str]]] = {}
    for line in _data("brill-context.txt"):
        before, after, kind, x, *rest = line.split()
        if kind in _KINDS and "NNP" not in (before, after):
            by_word = "WD" in kind or kind in {"LBIGRAM", "RBIGRAM"}
            x, y = (x.lower(), rest[0] if rest else "") if by_word and kind != "WDPREVTAG" else (x, (rest or [""])[0])
            rules.setdefault(before, []).append((after, _KINDS[kind], x, y))
    return rules


_WORD_FIRST = frozenset(_KINDS[kind] for kind in ("CURWD", "RBIGRAM", "WDNEXTTAG", "WDAND2AFT", "WDAND2TAGAFT"))
_WORD_SECOND = frozenset(_KINDS[kind] for kind in ("LBIGRAM", "WDPREVTAG", "WDAND2TAGBFR"))


@functools.lru_cache(MOST_WORDS)
def _rules_for(word: str, was: str) -> tuple[tuple[str, _Kind, str, str], ...]:
    """The few rules that may change this tag of this word: most are for other words, or give it a tag that it cannot
    have."""
    return tuple(
        (after, kind, x, y)
        for after, kind, x, y in _context_rules().get(was, ())
        if (kind not in _WORD_FIRST or word == x)
        and (kind not in _WORD_SECOND or word == y)
        and may_be(word, was, after)
    )


def apply_context(words: list[str], tags: list[str], places: range) -> None:
    for place in places:
        for after, holds, x, y in _rules_for(words[place], tags[place]):
            if holds(words, tags, place, x, y):
                tags[place] = after
                break


def may_be(word: str, was: str, pos: str) -> bool:
    """Guards Brill's guesses: his rules make verbs of any plural, which captions are full of."""
    lexicon = brill_lexicon()
    if word in {"a", "an", "the"} or (was == "NN" and pos == "JJ") or (pos == "PRP" and was != "PRP$"):
        return False
    if pos == "WDT":
        return word == "that"
    if pos == "NN":
        return was not in {"IN", "JJ"}
    if pos == "VBG":
        return word.endswith("ing")
    if pos in {"VBD", "VBN"}:
        return was in {"VBD", "VBN"} or lexicon.get(word) in {"VBD", "VBN"}
    if pos.startswith("VB") and not was.startswith("VB"):
        return third_person(word) if pos == "VBZ" else word in VERBS or lexicon.get(word, "").startswith("VB")
    return True


VERBS = frozenset(_caption_words()["verbs"])


@functools.lru_cache(MOST_WORDS)
def third_person(word: str) -> bool:
    base = f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
    return base in VERBS or (word.endswith("es") and word[:-2] in VERBS)


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
    words_at = split(text)
    if not words_at:
        return []
    pad = ["STAART"] * 3  # Brill's rules look up to three places to either side; the spelling is theirs
    words = [*pad, *(word.lower() for word, _, _ in words_at), *pad]
    tags = [*pad, *first_tags([word for word, _, _ in words_at]), *pad]
    places = range(3, 3 + len(words_at))
    apply_context(words, tags, places)
    _fix_tags(words, tags, places)
    return [Token(*token, tags[place]) for place, token in zip(places, words_at, strict=True)]


_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
_AFTER_VERB = frozenset({"DT", "PRP$", "IN", "TO", "RP", "RB", ".", ",", "CC", "STAART", "PRP", "CD", "JJ", "VBG"})
_AFTER_NOUN = frozenset({"VBG", "VBZ", "VBN", "IN", ".", "STAART"})
_BEFORE_NOUN = frozenset({"DT", "PRP$", "JJ", "POS"})
_BE, _PEOPLE, _MOSTLY_NOUNS, _NEVER_PLURAL, _ONE, _SELDOM_NOUNS, _WORN, _COLOURS, _PREPOSITIONS, _PARTICIPLE_NEXT = (
    frozenset(_caption_words()[name])
    for name in (
        "be", "people", "mostly nouns", "never plural", "one", "seldom nouns", "worn", "colours", "prepositions",
        "after a participle",
    )
)  # fmt: skip
_AUXILIARIES = _BE | {"has", "does"}


def _fix_tags(words: list[str], tags: list[str], places: range) -> None:
    """Fix tags that newspapers teach wrongly for captions; one pass from the left, each rule with its example."""
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
        elif pos in {"VBD", "VBN"} and _is_participle(words, tags, i):
            tags[i] = "VBN"  # a bus parked on the street: captions rarely tell the past
        elif pos == "VBN" and before in _BEFORE_NOUN and after in _NOUNS | {"JJ"}:
            tags[i] = "JJ"  # a parked car
        elif word in _COLOURS:
            of_noun = after in _NOUNS or after == "JJ" or words[i - 1] in _BE or words[i + 1] in {"and", ","}
            tags[i] = "JJ" if of_noun or word not in {"orange", "gold", "silver"} else "NN"  # an orange cat; an orange
        elif pos in {"RB", "RP"} and word in _PREPOSITIONS and after in {"DT", "PRP$", "NN", "NNS", "JJ", "CD"}:
            tags[i] = "IN"  # walking down a road
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


def _is_participle(words: list[str], tags: list[str], i: int) -> bool:
    return words[i].endswith("ed") and tags[i - 1] in _NOUNS | {"RB"} and words[i + 1] in _PARTICIPLE_NEXT


def _is_verb_here(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a subject is just before, the form agrees with it, and no noun follows where the phrase would end."""
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
    """Whether this word is a verb, by the verb just before "and"."""
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
    """Nouns in -ing that are things and not actions; all other words in -ing may be verbs."""
    listed = set(_caption_words()["NN"]) | {"thing", "something", "nothing", "anything", "everything", "ping"}
    return frozenset(word for word in listed if word.endswith("ing")) | {"sling", "swing", "dressing", "stocking"}
