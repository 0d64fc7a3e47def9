"""The reasons that are printed: each is counted, and read, without the words of the one caption it speaks of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.perturb import Caption, get_recipe, perturb_caption
from equipoise.perturb.run.counts import reason_class

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "equipoise" / "perturb"
CAPTIONS = [
    "An old lady is holding a white fence near the river.",
    "Three children walk past a bowl of green apples at the beach.",
    "A man in a red shirt and a woman in a blue dress stand next to a large dog.",
    "A cat or a dog sits on a couch and a chair, with a cup and a plate on the table.",
    "A person on the phone at the edge of a field from above, almost two meters high",
    "A boy chases two birds and a small black cat on a wooden bench.",
]


def reasons_in(path: Path) -> Iterator[ast.JoinedStr]:
    """Reasons that a function returns or gives to Refused and Doubt, with a word of the caption in them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        told = node.value if isinstance(node, ast.Return) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"Refused", "Doubt"}:
            told = node.args[0]
        yield from (part for part in ast.walk(told) if isinstance(part, ast.JoinedStr)) if told else ()


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_a_reason_says_first_what_is_wrong_and_then_with_which_words(path: Path) -> None:
    """`'cat' wants an article` would be counted, and printed, as `… wants an article`."""
    for reason in reasons_in(path):
        before = ""
        for part in reason.values:
            if isinstance(part, ast.Constant):
                before += part.value
            elif isinstance(part, ast.FormattedValue) and part.conversion == ord("r"):
                assert ": " in before, f"line {reason.lineno}: {ast.unparse(reason)}"


@pytest.mark.parametrize("recipe", ["balanced", "hard_positives_rules", "crepe_ma_2023"])
def test_reasons_are_sentences_not_riddles(recipe: str) -> None:
    told = set()
    for text in CAPTIONS:
        found = perturb_caption(get_recipe(recipe), Caption(text))
        told |= {reason_class(reason) for _, reason in (*found.dropped, *found.empty)}
    assert told
    for reason in told:
        assert "…" not in reason and len(reason.split()) >= 4, reason
