"""Word forms: lemmas, inflection, capitals, and writing an edit into a caption with its article fixed.

Lemmas and inflected forms of single words are those of lemminflect 0.2.3, for any word (data/FORMS_LICENSE.txt). The
library itself is not a dependency: it imports spaCy where that is installed, and with it torch, which costs each worker
300 MB and three seconds. studies/make_forms_table.py makes the data files. A net with one hidden layer sees the last
letters of a word and picks its ending; the table holds the words of lemminflect's dictionary for which that goes wrong.

"a" or "an" is chosen by how the next word sounds, not by how it is spelled: a replaced word leaves its article behind
("a white cat" -> "a ivory cat"), and a model may then tell the edit by the broken grammar alone. English needs a short
list of sounds for this, no dictionary.
"""

from __future__ import annotations

import functools
import io
import json
import re
import unicodedata
from typing import Any, Literal

import numpy as np

from equipoise.language.vocabulary import read_data, word_map

# Vowel letters that sound like a consonant: "you" (unicorn, European, ewe) and "w" (one, Ouija).
_CONSONANT_SOUND = re.compile(
    r"""
    (?: e(?: u | we(?:s|r|rs)?$ )
      | one(?:s|self|ness|time|sies?)?$ | once$ | ouija | oui$
      | u$ | ubiq | ugand | uk[reu] | ulyss
      | unanim | unary$
      | uni(?! d(?!irect) | ll | m(?!od) | n | r | ss )   # unicorn, but unidentified, unimportant, uninhabited
      | ur[aeiou] | us[aeu] | ut[aeio] | uvula | ui$
    )
    """,
    re.VERBOSE,
)
_SILENT_H = re.compile(r"hour|honest|honou?r|heir|hors$|herb(?!i)")
_VOWEL_Y = re.compile(r"y[bcdfgklmnprstv]")  # Yves, yttrium
_EITHER = re.compile(r"herb|histori|hotel|homage|hysteri|habitual")  # both articles are in use; neither is an error

# Read letter by letter although they look like words. (Without a vowel, as in TV or LCD, no list is needed.)
_SPELLED = re.compile(
    r"ai|eu|fbi|fyi|hiv|hoa|hud|ipa|lapd|led|lsu|mba|mri|nba|ncaa|nra|nsa|nyu|smu|sos|suvs?"
    r"|uae|uc|ucla|ufos?|uhd|uhf|uk|unc|ups|usa?|usaf|usb|usc|usda|usps|uv|uw|ux"
)
_ABBREVIATED = re.compile(r"mrs?|ms|mt|st|ft|ltd|sr")  # no vowel, yet said as a word
_LETTERS_SAID_WITH_VOWEL = frozenset("aefhilmnorsx")


@functools.lru_cache(maxsize=1 << 14)
def article_for(word: str) -> str:
    """The article a speaker would say before `word`: a or an."""
    plain = _plain(word)
    if not plain:
        return "a"
    if plain[0].isdecimal():
        return "an" if _number_starts_with_vowel(plain) else "a"
    first = plain.split("-")[0]
    letters = first.replace(".", "")
    if _is_spelled(letters, dotted="." in first.rstrip(".")):
        return "an" if letters[0] in _LETTERS_SAID_WITH_VOWEL else "a"
    said = letters.removesuffix("'s").replace("'", "")
    if _SILENT_H.match(said) or _VOWEL_Y.match(said):
        return "an"
    if said[:1] in "aeiou" and not _CONSONANT_SOUND.match(said):
        return "an"
    return "a"


# The article, the gap with any opening quote or bracket, and the word that decides.
_ARTICLE = re.compile(r"(?<![\w'’.\-])(a|an|A|An|AN)(\s+[\"'“‘(\[]?)([^\W_][\w'’.&\-]*)")
# Before these a lone "a" is a letter or a slip of the pen, and changing it fixes nothing.
_NO_NOUN_PHRASE = re.compile(
    r"an?|and|are|as|at|by|for|from|her|his|if|in|is|its?|of|on|or|the|their|to|was|with", re.IGNORECASE
)


def fix_articles(text: str) -> str:
    """`text` with every a/an right for the next word; all else, spaces included, stays as it is."""
    whole_upper = text.isupper()

    def fixed(match: re.Match[str]) -> str:
        article, gap, word = match.groups()
        if _NO_NOUN_PHRASE.fullmatch(word) or _EITHER.match(_plain(word)):
            return match[0]
        if article == "A" and not whole_upper and not _starts_sentence(text, match.start()):
            return match[0]  # a letter: "vitamin A ointment"
        right = article_for(word)
        if article[0] == "A":
            right = right.upper() if whole_upper else right.capitalize()
        return right + gap + word

    return _ARTICLE.sub(fixed, text)


def _starts_sentence(text: str, position: int) -> bool:
    before = text[:position].rstrip().rstrip("\"'“‘([")
    return not before or before.rstrip()[-1:] in ".!?:"


def _plain(word: str) -> str:
    """Lower case, without accents or surrounding punctuation: Éclair -> eclair."""
    bare = unicodedata.normalize("NFKD", word.strip().replace("’", "'")).lower()
    bare = "".join(letter for letter in bare if not unicodedata.combining(letter))
    return bare.strip("\"'“”‘()[]{}.,;:!?-_")


def _is_spelled(letters: str, dotted: bool) -> bool:
    """Whether people say the letters: U.S., TV, mp3, X; but not Mr, nor OLD on a sign in capitals."""
    alphabetic = re.sub(r"[^a-z]", "", letters)
    if len(alphabetic) <= 1 or (dotted and len(alphabetic) <= 4):
        return True
    if _SPELLED.fullmatch(alphabetic):
        return True
    return not re.search(r"[aeiouy]", alphabetic) and not _ABBREVIATED.fullmatch(alphabetic)


def _number_starts_with_vowel(number: str) -> bool:
    """Whether it is eight..., eleven or eighteen, also in thousands, or a year or decade from 1100 or 1800."""
    digits = re.match(r"[\d,]+", number)
    assert digits is not None
    whole = digits[0].replace(",", "")
    if whole[0] == "8":
        return True
    leading = whole[: len(whole) % 3 or 3]
    said_in_hundreds = len(whole) == 4 and "," not in digits[0]
    return leading in {"11", "18"} or (said_in_hundreds and whole[:2] in {"11", "18"})


_LETTERS = 8  # letters that the net sees, counted from the end
_CODES = 28  # for each letter: one per letter, one for every other character, one that is not used


def lemma(word: str, pos: Literal["NOUN", "VERB"]) -> str:
    """The base form of a noun or a verb: stools -> stool, running -> run."""
    base = _table()[pos].get(word.lower())
    if base is None:
        cut, add, undouble = _table()["endings"][_picked("lemma", word.lower(), pos == "VERB")]
        base = word[: max(len(word) - cut, 0)] + add
        base = base[:-1] if undouble else base  # runn-ing
    return _like(word, base)


def inflections(word: str, tag: str) -> tuple[str, ...]:
    """The spellings of a base form's NNS, VBZ, VBD, VBN or VBG, the usual first: antenna -> antennas, antennae."""
    lower = word.lower()
    forms: list[str] = _table()[tag].get(lower) or [_regular(lower, tag)]
    return tuple(_like(word, form) for form in forms)


def _regular(word: str, tag: str) -> str:
    picked = _picked("form", word, tag != "NNS")  # 0: regular; 1: the last letter is doubled; 2: Greek or Latin
    if tag == "NNS" and picked:
        for singular, many in _GREEK_AND_LATIN.items():
            if word.endswith(singular):
                return word.removesuffix(singular) + many
    if tag in {"NNS", "VBZ"}:
        if re.search("[^aeiou]y$", word):
            return word[:-1] + "ies"
        return word + ("es" if word.endswith(("s", "z", "x", "ch", "sh")) else "s")
    if picked:
        return word + word[-1:] + ("ing" if tag == "VBG" else "ed")
    if tag == "VBG":
        if word.endswith("ie"):
            return word[:-2] + "ying"
        return (word[:-1] if re.search("[^iyeo]e$", word) else word) + "ing"
    if re.search("[^aeiou]y$", word):
        return word[:-1] + "ied"
    return word + ("d" if re.search(".e$", word) else "ed")


_GREEK_AND_LATIN = word_map("Greek and Latin endings")


def _picked(net: str, word: str, verb: bool) -> int:
    """The ending that a net picks for a word. Its input is one-hot, so that its first layer is a sum of rows."""
    rows = [int(verb)]
    for place, letter in enumerate(reversed(word[-_LETTERS:]), 1):
        rows.append(_CODES * place + (ord(letter) - ord("a") + 2 if "a" <= letter <= "z" else 1))
    first, first_bias, second, second_bias = _nets()[net]
    hidden = np.maximum(first[rows].sum(axis=0) + first_bias, 0)
    return int(np.argmax(hidden @ second + second_bias))


def _like(original: str, new: str) -> str:
    """`new` with the capitals of `original`, as lemminflect does it: iPhones counts as small letters."""
    if original.isupper():
        return new.upper()
    return new.capitalize() if original[:1].isupper() else new.lower()


@functools.cache
def _table() -> dict[str, Any]:
    """ "NOUN" and "VERB": word -> lemma; a tag: lemma -> spellings; "endings": (letters cut, added, undouble?)."""
    table: dict[str, object] = json.loads(read_data("forms.json.gz"))
    return table


@functools.cache
def _nets() -> dict[str, list[Any]]:
    with np.load(io.BytesIO(read_data("forms.npz"))) as arrays:
        return {net: [arrays[f"{net}_{index}"] for index in range(4)] for net in ("lemma", "form")}


_IRREGULAR_PLURAL = {"person": "people", "child": "children", "mitten": "mittens", "hoof": "hooves"}
_NOUN_LEMMAS = word_map("lemmas of nouns")


@functools.lru_cache(maxsize=1 << 16)
def noun_lemma(word: str) -> str:
    if word in _NOUN_LEMMAS:
        return _NOUN_LEMMAS[word]
    plain = not word.endswith(("s", "en", "i", "ae", "a", "eet", "ice")) or word.endswith(("ss", "us", "is"))
    if plain or len(word) < 4:
        return word
    return lemma(word, "NOUN") or word


@functools.lru_cache(maxsize=1 << 16)
def verb_lemma(word: str) -> str:
    if word in {"laying", "lays", "laid"}:
        return "lay"
    if word in {"lying", "lies"}:
        return "lie"
    if word in {"seated", "parked"}:
        return word.removesuffix("ed") if word == "parked" else "seat"
    return lemma(word, "VERB") or word


@functools.lru_cache(maxsize=1 << 16)
def lemma_of(phrase: str, target: str | None) -> str:
    """A word or phrase of an edit in its plain form: the last word of an object, the first of an action."""
    phrase = phrase.lower()
    if target == "action":
        first, *rest = phrase.split()
        return " ".join([verb_lemma(first), *rest])
    if target == "object":
        *rest, last = phrase.split()
        return " ".join([*rest, noun_lemma(last)])
    return phrase


@functools.lru_cache(maxsize=1 << 16)
def inflect(phrase: str, pos: str) -> str:
    """`phrase` in the form `pos`: its last word for nouns (traffic lights), its first for verbs (looking at)."""
    words = phrase.split(" ")
    if pos in {"NNS", "NNPS"}:
        words[-1] = plural(words[-1])
    elif pos in {"VBG", "VBZ", "VBD", "VBN"}:
        words[0] = _verb_form(words[0], pos)
    return " ".join(words)


@functools.lru_cache(maxsize=1 << 16)
def plural(word: str) -> str:
    if word in _IRREGULAR_PLURAL:
        return _IRREGULAR_PLURAL[word]
    if word in {"sheep", "deer", "fish", "aircraft", "moose", "bison", "elk", "broccoli", "people", "cattle"}:
        return word
    forms = inflections(word, "NNS")
    regular = [form for form in forms if form.endswith("s")]
    if word in {"man", "woman", "foot", "tooth", "mouse", "goose", "ox", "policeman", "fireman"} or not regular:
        return forms[0]
    return regular[0]


def _verb_form(word: str, pos: str) -> str:
    if word == "lie":
        return {"VBG": "lying", "VBZ": "lies", "VBD": "lay", "VBN": "lain"}[pos]
    return inflections(word, pos)[0]


def like(original: str, new: str) -> str:
    """`new` with the capitals of `original`."""
    if original.isupper() and len(original) > 1:
        return new.upper()
    if original[:1].isupper():
        return new[:1].upper() + new[1:]
    return new


def article_before(before: str, word: str) -> str:
    """`before`, with a last "a" or "an" right for the word that now follows it."""
    stripped = before.rstrip()
    last = stripped.split()[-1] if stripped else ""
    if last.lower() not in {"a", "an"}:
        return before
    return stripped[: -len(last)] + like(last, article_for(word.split()[0])) + before[len(stripped) :]


_ARTICLE_BEFORE = re.compile(r"(?:^|(?<=[\s(\"'“]))([Aa][Nn]?)(\s+)$")
_GOES_ON = re.compile(r"[\w,]\s+$")  # no sentence begins here


def write_edit(text: str, start: int, end: int, new: str) -> str:
    """`text` with `start:end` replaced by `new`, the article just before it fixed for the new word."""
    old, before = text[start:end], text[:start]
    if old and not text.isupper() and _GOES_ON.search(before) and new.lower().endswith(f" {old.lower()}"):
        new = new[: -len(old)] + old  # a TV, a Frisbee: an old TV, a blue Frisbee
    else:
        new = like(old, new)
    if match := _ARTICLE_BEFORE.search(before):
        right = article_for(new.split()[0]) if new else match[1]
        before = before[: match.start(1)] + (right.upper() if text.isupper() else like(match[1], right)) + match[2]
    if start and text[start - 1] in ".!?" and new[:1].islower():
        before += " "
    return before + new + text[end:]
