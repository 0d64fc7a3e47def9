"""The table of docs/scale.md: how well words alone tell originals from edits, by recipe and for NegCLIP's file.

python runs/perturb_bias.py --captions COCO.json [--negclip DIR] [--recipes balanced,...] [--refine words,frequency]
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any

from equipoise.benchmarks.negclip import load
from equipoise.items import Item, texts
from equipoise.perturb.bias import PAIRS, separability
from equipoise.perturb.engine import perturb_file
from equipoise.perturb.recipes import RECIPES
from equipoise.perturb.setup import Setup


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captions", required=True, type=Path)
    parser.add_argument("--negclip", type=Path, help="folder of valid_neg_clip.tsv")
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--refine", default="", help="two judges: refine before judging")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    refine = tuple(arguments.refine.split(",")) if arguments.refine else None
    print("| | texts | " + " | ".join(f"{a} / {b}: one text | which of two" for a, b in PAIRS) + " |")
    print("| --- " * (2 + 2 * len(PAIRS)) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(None, arguments.recipes.split(",")):
            report = perturb_file(
                arguments.captions,
                Path(folder) / f"{name}.jsonl",
                Setup(name),
                workers=arguments.workers,
                limit=arguments.limit,
                refine=refine,  # type: ignore[arg-type]
            )
            made = f"{sum(report['edits'].values()):,}"
            if report["refined"]:
                kept = report["refined"]["positives_after"] + report["refined"]["negatives_after"]
                made = f"{kept:,} of {made}"
            print(row(name, made, report["separability"]), flush=True)
    if arguments.negclip:
        items = load(arguments.negclip, ["valid"])
        made = f"{sum(len(item.negatives) for item in items):,}"
        print(row("NegCLIP's file, as it is", made, separability(items)))
        print(row("NegCLIP's file, blanks before marks mended", made, separability([mended(item) for item in items])))


def mended(item: Item) -> Item:
    """Its negatives are joined tokens; without that the figure speaks of the swaps and not of the joining."""
    return item.model_copy(
        update={"caption": _joined(item.caption), "negatives": texts(*(_joined(text.text) for text in item.negatives))}
    )


def _joined(text: str) -> str:
    return re.sub(r"\s+(?=[.,!?;:'])", "", text).strip()


def row(name: str, made: str, found: dict[str, Any]) -> str:
    cells = [name, made]
    for numbers in found.values():
        cells += ["-", "-"] if numbers is None else [_percent(numbers[question]) for question in ("unpaired", "paired")]
    return "| " + " | ".join(cells) + " |"


def _percent(number: dict[str, Any]) -> str:
    low, high = (100 * bound for bound in number["interval"])
    return f"{100 * number['accuracy']:.1f} [{low:.1f}, {high:.1f}]"


if __name__ == "__main__":
    main()
