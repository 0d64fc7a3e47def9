"""Draws many cases of the world and asks the truth function about every sentence of theirs.

python -m studies.world_check
"""

from __future__ import annotations

import sys

from equipoise.core.progress import progress
from equipoise.world.sentences import holds
from equipoise.world.splits import BALANCED, TESTS, UNSEEN, case_at
from studies.harness.inputs import arguments

COUNT = 10_000


def check(count: int = COUNT, seed: int = 1) -> tuple[int, int, int]:
    """Wrong captions, wrong positives and wrong negatives among `count` cases of all splits and tests.

    Asked anew, not taken from the makers' own check.
    """
    wrong = [0, 0, 0]
    kinds = [(split, test) for split in ("finetune", "validation", "test") for test in (*TESTS, *UNSEEN)]
    kinds = [(split, test) for split, test in kinds if split != "finetune" or test in TESTS]
    kinds += [("test", test) for test in BALANCED]
    kinds += [("finetune-objects", "replace-objects"), ("finetune-actions", "replace-actions")]
    with progress(count, "checking", "items") as advance:
        for number in range(count):
            split, test = kinds[number % len(kinds)]
            case = case_at(split, test, seed, number // len(kinds))
            wrong[0] += not holds(case.caption, case.scene)
            wrong[1] += not holds(case.positive, case.scene)
            wrong[2] += holds(case.negative, case.scene) or holds(case.negative, case.scene, lenient=True)
            advance(1)
    return wrong[0], wrong[1], wrong[2]


def main() -> int:
    arguments(__doc__).parse_args()
    captions, positives, negatives = check()
    print(
        f"{COUNT:,} items: {captions} wrong captions, {positives} wrong hard positives, "
        f"{negatives} wrong hard negatives"
    )
    return 1 if captions or positives or negatives else 0


if __name__ == "__main__":
    sys.exit(main())
