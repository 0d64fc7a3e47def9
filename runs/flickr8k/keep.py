"""What run.py found of one text tower, of all its models, in one file small enough for the repository.

    python runs/flickr8k/keep.py OUT/s --out runs/flickr8k/results/s.jsonl
    python runs/flickr8k/keep.py OUT --stages base --out runs/flickr8k/results/bases.jsonl

A line for each model: its recipe, options, seed, seconds and numbers (no captions, no scores).
`table.py` and `choose.py` read it in place of OUT/s; intervals need the scores, 0.1 MB a model, which stay in OUT.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from needs import existing
from scores import read_rows

from equipoise.files import atomic_write

STAGES = ("fifth", "final", "styles")


def lines(out: Path, stages: Sequence[str] = STAGES) -> list[str]:
    found = []
    for stage in stages:
        for row in read_rows(out, stage):
            numbers = {
                key: value for key, value in row["found"].items() if value == value
            }  # no NaN: dev has no experts
            found.append(json.dumps({"stage": stage} | row | {"found": numbers}))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=existing())
    parser.add_argument("--stages", nargs="*", default=STAGES)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(options.out) as handle:
        handle.write("\n".join(lines(options.folder, options.stages)) + "\n")


if __name__ == "__main__":
    main()
