"""Scorers of generated images: the numbers of docs/appendix/t2i.md that docs/ledger.md does not have.

    python -m studies.ledger.t2i [--shared DATA]

Does the image with fewer errors score higher? An item is a pair of images of a prompt; a tie is wrong.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise.evaluation.comparing.same_model import same_model
from equipoise.published.reading import read_any
from studies.harness import read_rows, show
from studies.harness.inputs import arguments

Floats = np.ndarray[Any, np.dtype[np.float64]]
SCORERS = {"alignscore": "ALIGNScore", "clipscore": "CLIPScore", "viescore": "VIEScore (GPT-4V, 1 to 10)"}
SETS = {"dsg": "DSG", "tifa": "TIFA"}


class Pairs(NamedTuple):
    ids: list[str]  # PROMPT/IMAGE/IMAGE
    first: Floats  # (pairs, 2): the scores of the image with fewer errors and of the other one
    second: Floats  # by another set of questions, or with another prompt: no pure rewording, it asks other things


@cache
def rated(at: Path) -> dict[str, list[tuple[int, dict[str, str]]]]:
    """The images of each prompt: how many errors people counted, and the scores."""
    images = defaultdict(list)
    for about, scores in zip(read_rows(at / "metadata.csv"), read_rows(at / "scores_per_image.csv"), strict=True):
        if errors := re.match(r"\d+", about["rank"]):
            images[about["id"]].append((int(errors[0]), scores | {"image": about["file_name"]}))
    return images


def pairs(at: Path, first: str, second: str) -> Pairs:
    ids, scores = [], []
    for prompt, images in rated(at).items():
        scored = [image for image in images if image[1][first] and image[1][second]]
        for pair in combinations(scored, 2):
            (fewer, good), (more, bad) = sorted(pair, key=lambda image: image[0])
            if fewer != more:
                ids.append(f"{prompt}/{good['image']}/{bad['image']}")
                scores.append([[float(rating[name]) for rating in (good, bad)] for name in (first, second)])
    return Pairs(ids, *np.array(scores).swapaxes(0, 1))


def main() -> None:
    shared = arguments(__doc__, "harness_logs", "t2i_scores").parse_args().shared
    at, rows = shared / "t2i_scores", []
    for scorer, name in SCORERS.items():
        good, bad = pairs(at, scorer, scorer).first.T
        rows.append([name, f"{len(good):,}", f"{100 * (good > bad).mean():.1f}", f"{100 * (good == bad).mean():.1f}"])
    show(("scorer", "n", "right", "ties"), rows)

    rows = []
    for kind, name in SETS.items():
        runs = (read_rows(at / f"{model}_{kind}.csv.gz") for model in ("llava", "llava-alt"))
        changed = [left["correct"] != right["correct"] for left, right in zip(*runs, strict=True)]
        rows.append([f"LLaVA, another chat prompt: {name}", f"{len(changed):,}", f"{100 * np.mean(changed):.1f}", ""])
    logs = shared / "harness_logs/gpt4v_repeats/Winoground"
    files = (logs / name / "score_results_log.json.gz" for name in ("VIEScore", "VIEScore-1"))
    first, second = (read_any([file], "winoground").rows for file in files)
    changes = same_model(first, second)
    apart = changes.where["scores apart, in tenths of the largest"]["2 or more"][1]
    rows.append(["GPT-4V, the same prompt", f"{changes.pairs}", f"{100 * changes.changed:.1f}", f"{100 * apart:.1f}"])
    show(("asked twice", "n", "another answer", "2 or more of 10 apart"), rows)


if __name__ == "__main__":
    main()
