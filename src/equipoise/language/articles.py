"""a or an: chosen by how the next word sounds, not by how it is spelled.

Replacing a word in a caption leaves its article behind ("a white cat" -> "a ivory cat"), and a model may
then tell the edit by the broken grammar alone. English needs a short list of sounds for this, no dictionary.
"""

from __future__ import annotations

import functools
import re
import unicodedata

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
    """`text` with every a/an as the next word wants it; all else, spaces included, stays as it is."""
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
    """Whether people say the letters: U.S., TV, mp3, X; but not Mr, and not OLD because a sign shouts."""
    alphabetic = re.sub(r"[^a-z]", "", letters)
    if len(alphabetic) <= 1 or (dotted and len(alphabetic) <= 4):
        return True
    if _SPELLED.fullmatch(alphabetic):
        return True
    return not re.search(r"[aeiouy]", alphabetic) and not _ABBREVIATED.fullmatch(alphabetic)


def _number_starts_with_vowel(number: str) -> bool:
    """Eight..., eleven and eighteen, with their thousands, and the years and decades from 1100 and 1800."""
    digits = re.match(r"[\d,]+", number)
    assert digits is not None
    whole = digits[0].replace(",", "")
    if whole[0] == "8":
        return True
    leading = whole[: len(whole) % 3 or 3]
    said_in_hundreds = len(whole) == 4 and "," not in digits[0]
    return leading in {"11", "18"} or (said_in_hundreds and whole[:2] in {"11", "18"})
