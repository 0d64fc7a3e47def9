"""Writes docs/appendix/decisions.md: every place where a paper, its code and we differ, gathered from the docstrings.

    python -m studies.write_decisions

The docstrings are the source, so that the reason is next to the code; tests/test_docs_decisions.py checks that the page
is up to date.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from studies.harness import ROOT
from studies.harness.inputs import arguments

PACKAGE = ROOT / "src" / "equipoise"
PAGE = ROOT / "docs" / "appendix" / "decisions.md"
MARKS = ("Where paper and code differ", "Paper and code agree")
WHOLE = {  # modules whose whole docstring is about such a decision
    "evaluation/metrics.py": "Original, Augmented, Brittleness and ties",
    "evaluation/paper_metrics.py": "Metrics of single papers",
    "models/inputs.py": "Preprocessing of photos and texts",
    "train/step/lora.py": "LoRA",
    "perturb/llm/recipes.py": "Prompts of the hard-positive paper",
    "perturb/sources/masked_lm.py": "CE-CLIP's masked language model",
    "perturb/bias/thinning.py": "SugarCrepe's adversarial refinement",
    "benchmarks/replace/build.py": "REPLACE rebuilt",
    "benchmarks/swap.py": "SWAP",
    "benchmarks/crepe.py": "CREPE",
    "benchmarks/aro_order.py": "ARO's order shuffles",
}


def page() -> str:
    parts = [
        "# Where paper, code and we differ",
        "Made by `python -m studies.write_decisions` from the docstrings of the code; do not edit by hand.",
        "## Losses",
        *_losses(),
        "## Training recipes",
        *_recipes(),
        "## Measures, models and perturbation",
        *_modules(),
        "## Benchmarks: ties, averages and what to know",
        "Ties are those of the paper's code. Here a tie is never a win.",
        *_benchmarks(),
    ]
    return _listed("\n\n".join(part.strip() for part in parts)) + "\n"


def _listed(text: str) -> str:
    """The text with the empty line that Markdown needs before a list."""
    return re.sub(r"(?m)^(?![-\s|#`])(.+)\n(?=- )", r"\1\n\n", text)


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def _losses() -> Iterator[str]:
    for path in sorted((PACKAGE / "train" / "losses").glob("*.py")):
        text = _docstring(path)
        start = min((text.index(mark) for mark in MARKS if mark in text), default=-1)
        if start >= 0:
            yield f"### {text.splitlines()[0].rstrip('.')}\n\n`train/losses/{path.name}`\n\n{text[start:]}"


def _recipes() -> Iterator[str]:
    from equipoise.train.recipes import RECIPES, explained

    for name in RECIPES:
        yield f"### `{name}`\n\n{explained(name)}"


def _modules() -> Iterator[str]:
    for name, title in WHOLE.items():
        yield f"### {title}\n\n`{name}`\n\n{textwrap.dedent(_docstring(PACKAGE / name))}"


def _benchmarks() -> Iterator[str]:
    from equipoise.benchmarks import registry

    for name in registry.names():
        benchmark = registry.get(name)
        if not benchmark.drawn:
            notes = f" {benchmark.notes}" if benchmark.notes else ""
            yield f"- **{name}**. Ties: {benchmark.ties}.{notes}"


if __name__ == "__main__":
    arguments(__doc__).parse_args()
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
