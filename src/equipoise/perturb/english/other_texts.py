"""Texts that are no English captions: questions and other languages, which rules for captions would spoil."""

from __future__ import annotations

import re

from equipoise.perturb.english.vocabulary import word_set

# Little words of other languages; those that are English words too are left out.
_FOREIGN = word_set("foreign little words")
_ENGLISH = word_set("english little words")
_ASKING = word_set("question words")
_PLAIN = re.compile(r"[^\W\d_]+")


def not_a_caption(text: str) -> str | None:
    """A question, or another language: rules for English captions would spoil it."""
    if "?" in text and (text.rstrip(" \"'”)").endswith("?") or text.split()[0].lower() in _ASKING):
        return "a question"
    words = [word.lower() for word in _PLAIN.findall(text)]
    foreign = sum(word in _FOREIGN for word in words)
    if foreign >= 2 and foreign > sum(word in _ENGLISH for word in words):
        return "not in English"
    return None
