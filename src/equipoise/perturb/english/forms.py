"""Word forms: lemmas, inflection, capitals, and writing an edit into a caption with its article fixed."""

from __future__ import annotations

import functools
import re

from equipoise.perturb.english.inflection import inflections, lemma
from equipoise.words.articles import article_for

_IRREGULAR_PLURAL = {"person": "people", "child": "children", "mitten": "mittens", "hoof": "hooves"}
_NOUN_LEMMAS = {
    "people": "people", "men": "man", "women": "woman", "children": "child", "kids": "kid", "glasses": "glasses",
    "sunglasses": "sunglasses", "scissors": "scissors", "pants": "pants", "jeans": "jeans", "shorts": "shorts",
    "clothes": "clothes", "skis": "ski", "woods": "woods", "bus": "bus", "buses": "bus", "busses": "bus",
    "grass": "grass", "glass": "glass", "teeth": "tooth", "leaves": "leaf", "goods": "goods", "tennis": "tennis",
    "cattle": "cattle", "headphones": "headphones", "toppings": "topping", "frisbees": "frisbee", "dress": "dress",
    "fries": "fry", "stairs": "stairs", "series": "series", "pajamas": "pajamas", "christmas": "christmas",
    "dice": "dice", "canvas": "canvas", "lens": "lens", "trousers": "trousers", "goggles": "goggles",
    "utensils": "utensil", "eyeglasses": "eyeglasses", "pliers": "pliers",
}  # fmt: skip


@functools.lru_cache(maxsize=1 << 16)
def noun_lemma(word: str) -> str:
    if word in _NOUN_LEMMAS:
        return _NOUN_LEMMAS[word]
    if (
        not word.endswith(("s", "en", "i", "ae", "a", "eet", "ice"))
        or len(word) < 4
        or word.endswith(("ss", "us", "is"))
    ):
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
    if "-" in word and word.split("-")[-1] in {"up"}:
        return word + "s"
    found = inflections(word, "NNS")
    regular = [form for form in found if form.endswith("s")]
    if word in {"man", "woman", "foot", "tooth", "mouse", "goose", "ox", "policeman", "fireman"} or not regular:
        return found[0]
    return regular[0]


def _verb_form(word: str, pos: str) -> str:
    if word == "be":
        return {"VBG": "being", "VBZ": "is", "VBD": "was", "VBN": "been"}[pos]
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
