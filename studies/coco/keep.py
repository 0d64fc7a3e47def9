"""Pack what run.py found of one text tower into two files small enough for the repository.

    python -m studies.coco.keep OUT/m --stages search shares final --out studies/coco/results/m.jsonl
    python -m studies.coco.keep OUT --stages base --out studies/coco/results/bases.jsonl

m.jsonl has a line for each model: its recipe, options, seed, seconds and numbers. m.npz has the item scores of every
model that was judged on test (scores.py says in which form); `table.py` recomputes every interval from it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from equipoise.core.files import atomic_write
from studies.coco.scores import pack, read_rows
from studies.harness.inputs import existing

STAGES = ("search", "shares", "final")


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
    if (options.folder / "scores").is_dir():
        pack(options.folder / "scores", options.out.with_suffix(".npz"))


if __name__ == "__main__":
    main()
