"""The architecture of docs/design.md, held by a test: imports go one way, and the package is light to import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "equipoise"

GROUND = {"errors", "files", "records", "items", "images", "scores", "stats", "metrics", "paper_metrics", "progress"}
GROUND |= {"archives", "download"}
MAY_SEE: dict[str, set[str]] = {
    **dict.fromkeys(GROUND, GROUND),
    "words": GROUND,
    "benchmarks": GROUND | {"words", "world"},  # world: only its rows in the registry
    "world": GROUND | {"words", "benchmarks"},  # benchmarks: only what a Benchmark is
    "perturb": GROUND | {"words"},
    "models": GROUND | {"world"},  # world: only the folder of the shipped weights
    "cache": GROUND,
    "scoring": GROUND | {"cache", "models"},
    "results": GROUND,
    "evaluation": GROUND | {"benchmarks", "cache", "scoring", "results"},
    "comparison": GROUND | {"results"},
    "train": GROUND | {"models", "results"},
    "report": GROUND | {"results", "comparison"},
}


def imports_of(path: Path) -> set[str]:
    """The parts of equipoise that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "equipoise":
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("equipoise."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {name.name.split(".")[1] for name in node.names if name.name.startswith("equipoise.")}
    return {name for name in found if not name.startswith("_")}


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    if part in MAY_SEE:  # cli, demo and the package itself may see everything
        wrong = imports_of(path) - MAY_SEE[part] - {part}
        assert not wrong, f"{part} must not import {sorted(wrong)} (docs/design.md)"
    else:
        assert part in {"__init__", "cli", "demo", "doctor"}, f"{part} is not in docs/design.md"


@pytest.mark.parametrize(
    "module",
    [
        "equipoise",
        "equipoise.benchmarks",
        "equipoise.metrics",
        "equipoise.perturb",
        "equipoise.report.page",
        "equipoise.cli",
        "equipoise.evaluation",
        "equipoise.words.tagging",
        "equipoise.world.scenes",
    ],
)
def test_import_loads_no_torch(module: str) -> None:
    check = f"import sys, {module}; print([m for m in ('torch', 'transformers', 'ray', 'spacy') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
