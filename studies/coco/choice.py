"""The rule by which settings are chosen on dev: run.py uses it for trainings, table.py for shares of averaging."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from studies.coco.bases import score

CHOSEN_ON = ("negclip", "vsr_symmetric", "vsr_inverse", "human", "seen", "unseen", "phrases", "replace")


def worth(found: Mapping[str, float], control: Mapping[str, float], recall: float) -> tuple[float, float]:
    """The higher, the better. First, points missed: the mean of six recalls may fall `recall` below the control's, and
    Augmented accuracy on each kind of dev items 2 points. Then mean Augmented accuracy."""
    missed = max(0.0, score(control) - recall - score(found))
    for kind in CHOSEN_ON:
        missed += max(0.0, control[f"{kind}/augmented"] - 2 - found[f"{kind}/augmented"])
    return -missed, float(np.mean([found[f"{kind}/augmented"] for kind in CHOSEN_ON]))
