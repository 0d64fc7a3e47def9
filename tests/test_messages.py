"""The words of every error are reviewed in one file: `python -m tests.messages` writes tests/golden/messages.txt."""

from __future__ import annotations

from pathlib import Path

from tests.messages import GOLDEN, messages, said_in


def test_the_messages_are_those_of_the_golden_file() -> None:
    kept, now = (text.splitlines() for text in (GOLDEN.read_text(encoding="utf-8"), messages()))
    gone, new = sorted({*kept} - {*now}), sorted({*now} - {*kept})
    words = "read them, then: python -m tests.messages"
    assert now == kept, f"{words}\n" + "\n".join([*(f"- {line}" for line in gone), *(f"+ {line}" for line in new)])


def test_what_is_read_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "raise UserError(f'{path}: no such {\"file\" if one else path}; ' + hint)\nproblems.add(where, 'no caption')\n"
        "raise UserError('an item' if one else 'items')\nprint('hello')\nraise UserError(words)\nfound.add(path)\n"
    )
    assert [*said_in(tmp_path / "a.py")] == ["{...}: no such {file | {...}}; {...}", "no caption", "{an item | items}"]
