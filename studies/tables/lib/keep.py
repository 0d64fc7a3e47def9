"""Item scores of every model of the quick form in one small file, so that page and intervals can be recomputed.

Of each item s(c), s(c) - s(n) and s(p) - s(n) in half precision: a difference near zero keeps its sign there, which the
scores themselves would not. `studies/recompute.py` reads it without this package.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.evaluation.results import load_run
from studies.harness import write_arrays
from studies.tables.lib.study import Study, Wanted

TAGS = ("type", "synonym")


def keep(study: Study, wanted: Iterable[Wanted], path: Path) -> None:
    """Write the scores of the first seed of each model on each test set."""
    arrays: dict[str, Any] = {}
    labels = {}
    for task in study.tasks(wanted):
        if task.seed != study.seeds_of(task.job)[0]:
            continue
        labels[task.job.name] = study.form.label(task.job)
        for test in task.tests:
            folder = study.run_folder(task.job, task.seed, "test", test)
            if not (folder / "result.json").exists():
                continue
            items = load_run(folder).outcomes
            scores = np.stack([items.caption, items.caption - items.negative, items.positive - items.negative])
            arrays[f"scores/{task.job.name}/{test}"] = scores.astype(np.float16)
            arrays[f"test/{test}/picture"] = items.cluster.astype(np.uint16)
            for tag in TAGS:
                arrays[f"test/{test}/{tag}"] = np.array([tags.get(tag, "") for tags in items.tags])
    arrays["models"] = np.array(list(labels.items()))
    write_arrays(path, arrays)
