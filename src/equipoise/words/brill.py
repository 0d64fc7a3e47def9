"""Brill's tagger: lexicon, word shapes, contextual rules (data/BRILL_LICENSE.txt), with words of captions added.

textblob, which carries the files, is not used: it never applies the contextual rules (its lazy list of them stays
empty), so that "to blow" stays a noun.
"""

from __future__ import annotations

import functools
import gzip
import re
from collections.abc import Callable, Sequence
from importlib import resources

MOST_WORDS = 100_000  # tags kept in memory; a corpus of millions of captions has more odd words than that
_SENTENCE_END = frozenset(".!?")
_FIXED = {
    **dict.fromkeys([".", "!", "?"], "."),
    **dict.fromkeys([":", ";", "...", "-", "–", "—"], ":"),
    **dict.fromkeys(["'s", "’s"], "POS"),
    **dict.fromkeys(["n't", "n’t"], "RB"),
    **dict.fromkeys(["'m", "’m", "'re", "’re", "'ve", "’ve"], "VBP"),
    **dict.fromkeys(["'ll", "’ll", "'d", "’d"], "MD"),
    "&": "CC",
    "%": "NN",
    "$": "$",
    "#": "#",
    ",": ",",
    "(": "(",
    ")": ")",
}


def _data(name: str) -> list[str]:
    """The lines of one of Brill's files."""
    raw = resources.files("equipoise.words").joinpath("data", name).read_bytes()
    lines = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode().splitlines()
    return [line for line in lines if line.strip() and not line.startswith(";;;")]


@functools.cache
def brill_lexicon() -> dict[str, str]:
    pairs = (line.split() for line in _data("brill-lexicon.txt.gz"))
    lexicon = {pair[0]: pair[1].split("|")[0] for pair in pairs if len(pair) > 1}
    # What the lexicon lacks or takes from newspapers alone; captions need the other reading first.
    for pos, listed in CAPTION_WORDS.items():
        lexicon.update(dict.fromkeys(listed.split(), pos))
    return lexicon


CAPTION_WORDS = {
    "NN": "moped skateboard snowboard surfboard frisbee kite laptop smartphone cellphone microwave giraffe zebra teddy "
    "cat dog horse sheep fruit plate tie fire living dining stop back top front side middle tennis baseball "
    "racket racquet bat ball tv wii lot bunch group pair couple close-up closeup hydrant bed seed speed shed sled "
    "building ceiling clothing railing evening morning wedding string king ring wing spring awning frosting icing "
    "topping stuffing bedding lighting siding paneling crossing landing parking kid guy lady polka wetsuit sink "
    "monitor flip net flooring fencing pepperoni zucchini",
    "NNS": "skis people children men women mountains pajamas jeans goggles waters tracks bears leaves "
    "sinks lights signs flowers trees steps stairs",
    "VBG": "skiing surfing skateboarding snowboarding biking grazing playing cutting cooking eating drinking swimming "
    "flying sailing boating bathing leaning posing texting jumping smiling",
    "VBZ": "rides inhales surfs grazes skateboards snowboards kneels leaps poses chases fetches catches watches",
    "JJ": "orange purple pink gold silver beige tan turquoise teal maroon navy fluffy furry shaggy plaid stuffed "
    "striped wooden brick paved colorful multi-colored snowy grassy sandy rocky",
    "IN": "atop underneath amidst onto aboard like near behind beside besides under over through along among around "
    "against between inside outside above below beneath towards toward across past by",
    "CD": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty",
    "DT": "another each some all both any no every",
}


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
    listed = "white brown black green red blue yellow man woman street park train bus house city day new big young old"
    return frozenset(" ".join([listed, *CAPTION_WORDS.values()]).split())


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


# ---------------------------------------------------------------------------- Brill's contextual rules

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


def apply_context(words: list[str], tags: list[str], places: range) -> None:
    rules = _context_rules()
    for place in places:
        was = tags[place]
        for after, holds, x, y in rules.get(was, ()):
            if holds(words, tags, place, x, y) and may_be(words[place], was, after):
                tags[place] = after
                break


@functools.lru_cache(MOST_WORDS)
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


VERBS = frozenset(
    "ride walk stand look play jump run rest sit hold wear eat drink fly catch throw hit swing kick pose smile wait "
    "watch carry pull push hang lie lay lean perch drive swim climb race surf ski skate skateboard snowboard "
    "graze feed sleep talk read cut prepare cook show hug kiss pet chase fetch leap splash dance sing laugh point "
    "reach stare gaze work move travel pass cross take make give get go come help use touch bite lick chew roll "
    "slide fall turn wave bend kneel crouch squat gather face contain display fill cover surround line hover float "
    "rise approach exit enter leave land dive dig drag lift paint draw write type shop sell buy serve dry wash "
    "brush comb shave bathe nap snuggle cuddle flip blow attempt try begin start stop park sail paddle row fish hike "
    "camp march parade practice compete celebrate cheer listen speak call text ".split()
)


@functools.lru_cache(MOST_WORDS)
def third_person(word: str) -> bool:
    base = f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
    return base in VERBS or (word.endswith("es") and word[:-2] in VERBS)
