"""Texts that are no English captions: questions and other languages, which rules for captions would spoil."""

from __future__ import annotations

import re

# Little words of other languages; those that are English words too are left out.
_FOREIGN = frozenset(
    "el la los las una unos unas con del por para que es y en su un le les des du dans avec et sur une au aux est qui "
    "der die das und ein eine einen einem auf mit im ist den dem von zu il lo gli di della nel che sul uno os as um "
    "uma com na no em ao het een van op aan zijn och med som av till i o w z na do jest".split()
) - frozenset("an as die i in is no do o w z y e a on at es".split())  # fmt: skip
_ENGLISH = frozenset("a an the of in on at with to and is are by for from near two some his her its their up".split())
_ASKING = frozenset("what where who when why how which whose is are does do can could would".split())
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
