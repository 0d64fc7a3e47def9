"""Words are data: every list stands once, in vocabulary.txt, with what it is for."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from equipoise.language import vocabulary
from equipoise.language.vocabulary import word_list, word_set

LANGUAGE = Path(vocabulary.__file__).parent
TEXT = (LANGUAGE / "data" / "vocabulary.txt").read_text(encoding="utf-8")
FILES = [path for room in (LANGUAGE, LANGUAGE.parent / "perturb") for path in sorted(room.rglob("*.py"))]
CODE = {path: path.read_text(encoding="utf-8") for path in FILES}
NAMES = re.findall(r"^\[(.+)\]$", TEXT, re.MULTILINE)
NO_WORDS = {"_GUARDS", "_REPORTED", "_DIGITS", "_POSTURES"}  # names of guards and fields, digits, forms of five verbs
MOST = 5  # words that may stand in code


def test_a_list_is_read_by_its_name() -> None:
    assert "herd" in word_set("collectives") and "in front of" in word_set("places of both")
    assert word_list("guests")[:2] == ("elephant", "piano")
    with pytest.raises(KeyError):
        word_set("no such list")


def test_every_list_is_used_and_holds_each_word_once() -> None:
    used = {name for text in CODE.values() for name in re.findall(r'word_(?:set|list|map)\("([^"]+)"\)', text)}
    assert set(NAMES) == used and len(NAMES) == len(set(NAMES))
    twice = {name for name in NAMES if len(word_list(name)) != len(word_set(name))}
    assert not twice and all(len(word_list(name)) > MOST for name in NAMES)
    same = [(a, b) for a in NAMES for b in NAMES if a < b and word_set(a) == word_set(b)]
    assert not same, f"one notion under two names: {same}"


def test_no_long_word_list_stands_in_code() -> None:
    found = []
    for path, text in CODE.items():
        for statement in ast.parse(text).body:
            if not isinstance(statement, ast.Assign) or getattr(statement.targets[0], "id", "") in NO_WORDS:
                continue
            for node in ast.walk(statement):
                value = node.value if isinstance(node, ast.Attribute) and node.attr == "split" else None
                if isinstance(value, ast.Constant) and len(str(value.value).split()) > MOST:
                    found.append(f"{path.name}:{value.lineno}")
    assert not found, f"lists of more than {MOST} words: put them into language/data/vocabulary.txt: {found}"
