"""The training recipes by name: every function of recipes/ that returns a `Recipe` and takes only options. The files
are parsed and not imported, because `train list` and shell completion need no torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple


class RecipeRow(NamedTuple):
    module: str  # a file of recipes/, imported when needed
    summary: str  # the first line of the function's docstring


def _rows() -> Iterator[tuple[str, RecipeRow]]:
    for path in sorted((Path(__file__).parent / "recipes").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and _is_recipe(node):
                yield node.name, RecipeRow(path.stem, (ast.get_docstring(node) or "").partition("\n")[0])


def _is_recipe(node: ast.FunctionDef) -> bool:
    returns = isinstance(node.returns, ast.Name) and node.returns.id == "Recipe"
    return returns and not node.args.args and not node.name.startswith("_")


def _year(name: str) -> int:
    match = re.search(r"_(20\d\d)$", name)
    return int(match[1]) if match else 0


@cache
def recipe_rows() -> dict[str, RecipeRow]:
    """The recipes by year; those without one (of no paper, or ablations) come first."""
    return dict(sorted(_rows(), key=lambda row: (_year(row[0]), row[0])))
