"""The words of every error are reviewed in one file: `python -m tests.messages` writes tests/golden/messages.txt."""

from __future__ import annotations

import ast

from tests.messages import GOLDEN, kinds, messages, said_in


def test_the_messages_are_those_of_the_golden_file() -> None:
    kept, now = (text.splitlines() for text in (GOLDEN.read_text(encoding="utf-8"), messages()))
    gone, new = sorted({*kept} - {*now}), sorted({*now} - {*kept})
    words = "read them, then: python -m tests.messages"
    assert now == kept, f"{words}\n" + "\n".join([*(f"- {line}" for line in gone), *(f"+ {line}" for line in new)])


CODE = """
class Mine(UserError): pass
class Own(Mine): pass
class Other(ValueError): pass
raise Own(f'{path}: no such {"file" if one else path}; ' + hint)
problems.add(where, 'no caption')
raise UserError('an item' if one else 'items')
raise Other('hello')
raise UserError(words)
found.add(path)
"""


def test_what_is_read_of_a_file() -> None:
    tree = ast.parse(CODE)
    said = ["{...}: no such {file | {...}}; {...}", "no caption", "{an item | items}"]
    assert [*said_in(tree, kinds([tree]))] == said
