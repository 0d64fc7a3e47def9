"""Draws positives and negatives for reading, and counts how many captions get what.

    python -m studies.perturb_sample karpathy_test_first_half.json sample.tsv --seed 0

Half of the positives are of `hard_positives_rules`, half of `balanced`; all negatives are of `balanced`.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import time
from collections import Counter
from pathlib import Path

from equipoise.perturb import Caption, get_recipe, perturb_caption
from studies.needs import existing


def captions(path: Path) -> list[Caption]:
    """Captions with the other captions of their image, from Karpathy's JSON or Flickr8k's TSV."""
    if path.suffix == ".json":
        groups = [record["caption"] for record in json.loads(path.read_text(encoding="utf-8"))]
    else:
        by_image: dict[str, list[str]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            name, text = line.split("\t")
            by_image.setdefault(name.partition("#")[0], []).append(text)
        groups = list(by_image.values())
    return [
        Caption(text.strip(), tuple(other.strip() for k, other in enumerate(group) if k != place))
        for group in groups
        for place, text in enumerate(group)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("captions", type=existing())
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    pool: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    found: Counter[str] = Counter()
    listed = captions(options.captions)[: options.limit]
    for name in ("hard_positives_rules", "balanced"):
        recipe = get_recipe(name)
        began = time.process_time()  # of this process alone, on one core
        for caption in listed:
            result = perturb_caption(recipe, caption, options.seed)
            for candidate in (*result.positives, *result.negatives):
                edit = candidate.edit
                others = " / ".join(caption.others)  # what another caption says is true: readers must see it
                row = (
                    name,
                    candidate.kind,
                    f"{edit.op} {edit.target}",
                    caption.text,
                    candidate.text,
                    edit.by or "",
                    others,
                )
                pool.setdefault((name, candidate.kind), []).append(row)
                found[f"{name} {candidate.kind} {edit.op} {edit.target}"] += 1
            if name == "hard_positives_rules":
                replaced = any(candidate.edit.op == "replace" for candidate in result.positives)
                found["a replace positive"] += replaced
                words = caption.text.lower().split()
                if "and" in words and len(words) < 15:
                    found["with and, under 15 words"] += 1
                    found["of these a swap positive"] += any(c.edit.op == "swap" for c in result.positives)
        print(f"{name}: {len(listed) / (time.process_time() - began):.0f} captions/s of one core (tagging not counted)")
    for name, number in sorted(found.items()):
        print(f"{number:7d} {number / len(listed):6.1%}  {name}")
    rng = random.Random(options.seed)
    half = options.count // 2
    rows = rng.sample(pool["hard_positives_rules", "positive"], half)
    rows += rng.sample(pool["balanced", "positive"], options.count - half)
    rows += rng.sample(pool["balanced", "negative"], options.count)
    with options.out.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, delimiter="\t")
        writer.writerow(["recipe", "kind", "edit", "caption", "text", "by", "others"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
