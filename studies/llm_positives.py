"""A language model's positives: what the check keeps and refuses.

    python -m studies.llm_positives ask RECIPE --shared DATA --llm URL --llm-model NAME --cache DIR [--limit 300]
    python -m studies.llm_positives count

Of each held-out COCO photo (caption_halves.py) the first caption is asked about, prompt by prompt, at temperature 0 and
checked as `perturb` does; the outcomes are kept in llm_positives.tsv, without captions, which are not ours to publish.
`count` prints them.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from equipoise.core.files import atomic_write
from equipoise.core.llm_client import LlmSettings, llm_for
from equipoise.core.stats import wilson
from equipoise.perturb import Caption
from equipoise.perturb.llm import LLM_RECIPES
from equipoise.perturb.llm.recipes import llm_recipe
from equipoise.perturb.recipe import perturb_caption
from studies.harness import read_rows, table
from studies.harness.inputs import HALVES, arguments, existing
from studies.perturb_measure import read_groups

KEPT = Path(__file__).with_suffix(".tsv")
FIELDS = ("recipe", "prompt", "image", "outcome", "from", "to")


def answers(recipe: str, options: argparse.Namespace) -> Iterator[tuple[str | None, ...]]:
    """The rows that are kept, one for each answer, with FIELDS as heads."""
    settings = LlmSettings(options.llm, options.llm_model, cache=str(options.cache), timeout=600)
    whole = llm_recipe(recipe, llm_for(settings))
    for image, (text, *_) in read_groups(options.shared)[: options.limit]:
        for slot in whole.slots:
            made = perturb_caption(replace(whole, slots=(slot,)), Caption(text))
            results = [*((each, "kept") for each in made.positives), *made.dropped]
            for each, why in results[:1]:
                prompt, outcome = slot.name.removeprefix("positive "), why.partition(":")[0]
                yield recipe, prompt, image, outcome, each.edit.source, each.edit.to


def count() -> None:
    rows = read_rows(KEPT)
    total = Counter((row["recipe"], row["prompt"]) for row in rows)
    lines = []
    for (recipe, prompt), n in total.items():
        outcomes = Counter(row["outcome"] for row in rows if (row["recipe"], row["prompt"]) == (recipe, prompt))
        for outcome, number in sorted(outcomes.items(), key=lambda pair: (pair[0] != "kept", -pair[1])):
            low, high = wilson(number, n)
            lines.append([prompt, outcome, str(n), str(number), f"{number / n:.1%} [{low:.1%}, {high:.1%}]"])
    print(table(("prompt", "outcome", "answers", "n", "%"), lines, left=2))


def main() -> None:
    parser = arguments(__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("count")
    ask = verbs.add_parser("ask")
    ask.add_argument("recipe", choices=LLM_RECIPES)
    ask.add_argument("--shared", required=True, type=existing(*HALVES))
    ask.add_argument("--llm", required=True, help="address of a server")
    ask.add_argument("--llm-model", required=True)
    ask.add_argument("--cache", required=True, type=Path)
    ask.add_argument("--limit", type=int, default=300, help="photos")
    options = parser.parse_args()
    if options.verb == "count":
        count()
        return
    rows = list(answers(options.recipe, options))
    others = [row for row in read_rows(KEPT) if row["recipe"] != options.recipe] if KEPT.exists() else []
    with atomic_write(KEPT) as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerows([FIELDS, *(row.values() for row in others), *rows])
    count()


if __name__ == "__main__":
    main()
