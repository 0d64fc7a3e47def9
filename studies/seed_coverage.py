"""How often the interval over seeds and images holds the truth: the table of docs/appendix/statistics.md.

python -m studies.seed_coverage [REPETITIONS]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from equipoise.evaluation.comparing.differences import difference
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.results import LoadedRun, read_result
from equipoise.evaluation.scores import ItemScores
from studies.harness import ROOT, show
from studies.harness.inputs import arguments

IMAGES, ITEMS = 100, 200
RESAMPLES = 300
RECORD = read_result(ROOT / "tests" / "golden" / "run")


def run(right: np.ndarray) -> LoadedRun:
    rows = [
        ItemScores(id=str(index), image=str(index * IMAGES // ITEMS), caption=float(value), negatives=[0.5])
        for index, value in enumerate(right)
    ]
    return LoadedRun(Path("drawn"), (RECORD,), outcomes_of(rows))


def main(repetitions: int) -> None:
    lines = []
    for seeds in (2, 3, 5):
        for of_seeds, of_images in ((0.0, 0.0), (0.0, 1.0), (0.3, 0.0), (0.2, 0.7)):
            rng = np.random.default_rng(1)
            covered = np.zeros(2)
            differences, widths = [], []
            for _ in range(repetitions):
                base, own = (rng.normal(0, spread, IMAGES).repeat(ITEMS // IMAGES) for spread in (1, of_images))
                first, second = (
                    [run(base + shift + rng.normal(0, of_seeds) + rng.normal(0, 1, ITEMS) > 0) for _ in range(seeds)]
                    for shift in (0, own)
                )
                tested = compare_models(first, second, resamples=RESAMPLES)
                plain = difference(first, second, resamples=RESAMPLES)
                for place, change in enumerate((tested["original"], plain["original"])):
                    assert change is not None
                    covered[place] += change.interval.low <= 0 <= change.interval.high
                    if place == 0:
                        differences.append(change.difference)
                        widths.append((change.interval.high - change.interval.low) / 2)
            both, images = 100 * covered / repetitions
            width = np.mean(widths) / (1.96 * np.std(differences))
            numbers = (f"{value:.1f}" for value in (both, images, width))
            lines.append([str(seeds), f"{of_seeds:g}", f"{of_images:g}", *numbers])
    heads = ("seeds a side", "spread of seeds", "spread of images", "seeds and images", "images only", "width")
    show(heads, lines, left=0)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("repetitions", type=int, nargs="?", default=200)
    main(parser.parse_args().repetitions)
