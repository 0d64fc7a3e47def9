"""The table of docs/tasks/captions.md: how well words alone tell originals from edits, by recipe.

python -m studies.perturb_bias --shared DIR [--recipes balanced,...] [--types] [--refine words,frequency]

On COCO captions of images that no word table was learned from (caption_halves.py), or with --flickr on Flickr8k's test
images.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from equipoise.benchmarks.negclip import load
from equipoise.data.items import Item, texts
from equipoise.language.separability import PAIRS, separability
from equipoise.perturb.bias.thinning import KINDS, Kind
from equipoise.perturb.recipes import RECIPES, Setup
from equipoise.perturb.run.engine import perturb_file
from studies.caption_halves import coco, flickr
from studies.needs import HALVES, existing

_SAMPLE = 4_000  # items of a type, as many as the report takes of all


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--shared", required=True, type=existing(*HALVES), help="the folder that holds coco/, flickr8k/, negclip/"
    )
    parser.add_argument("--flickr", action="store_true", help="Flickr8k's test images instead of COCO's")
    parser.add_argument("--negclip", action="store_true", help="NegCLIP's published negatives too")
    parser.add_argument("--types", action="store_true", help="a row for each type of edit")
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--refine", default="", help="two judges: refine before judging")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    refine = tuple(arguments.refine.split(",")) if arguments.refine else None
    print("| | texts | " + " | ".join(f"{a} / {b}: one text | which of two" for a, b in PAIRS) + " |")
    print("| --- " * (2 + 2 * len(PAIRS)) + "|")
    with tempfile.TemporaryDirectory() as folder:
        captions = measured(arguments.shared, arguments.flickr, Path(folder) / "captions.json")
        for name in filter(None, arguments.recipes.split(",")):
            report = perturb_file(
                captions,
                Path(folder) / f"{name}.jsonl",
                Setup(name),
                workers=arguments.workers,
                limit=arguments.limit,
                refine=refine,  # type: ignore[arg-type]
            )
            made = f"{sum(report['edits'].values()):,}"
            if report["refined"]:
                before, kept = (
                    sum(report["refined"][f"{kind}_{when}"] for kind in KINDS) for when in ("before", "after")
                )
                made = f"{kept:,} of {before:,}"
            print(row(name, made, report["separability"]), flush=True)
            if arguments.types:
                items = [Item.model_validate_json(line) for line in (Path(folder) / f"{name}.jsonl").open("rb")]
                for kind in KINDS:
                    for edit, listed in by_type(items, kind).items():
                        made = f"{sum(len(getattr(item, kind)) for item in listed):,}"
                        print(row(f"{name}: {kind}, {edit}", made, separability(listed[:_SAMPLE])), flush=True)
    if arguments.negclip:
        items = load(arguments.shared / "negclip", ["valid"])
        made = f"{sum(len(item.negatives) for item in items):,}"
        print(row("NegCLIP's file, as it is", made, separability(items)))
        print(row("NegCLIP's file, blanks before marks fixed", made, separability([fixed(item) for item in items])))


def measured(shared: Path, of_flickr: bool, path: Path) -> Path:
    """The captions that nothing was learned from, as a file."""
    if of_flickr:
        records = [{"image": image, "caption": listed} for image, listed in flickr(shared, learned=False).items()]
    else:
        records = coco(shared / "coco" / "karpathy_test_first_half.json", learned=False)
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def by_type(items: list[Item], kind: Kind) -> dict[str, list[Item]]:
    """The items with the edits of one type alone."""
    found: dict[str, list[Item]] = {}
    for item in items:
        for text in getattr(item, kind):
            name = "swap" if text.edit.op == "swap" else text.edit.target
            update = dict.fromkeys(KINDS, ()) | {kind: (text,)}
            found.setdefault(name, []).append(item.model_copy(update=update))
    return dict(sorted(found.items()))


def fixed(item: Item) -> Item:
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
