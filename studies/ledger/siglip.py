"""The effect of one tokenizer argument on SigLIP in mteb: the table of docs/appendix/siglip.md.

python -m studies.ledger.siglip --shared ../shared/data
"""

from __future__ import annotations

from pathlib import Path

from studies.harness import read_rows, show
from studies.harness.inputs import arguments

TASKS = ("SugarCrepe", "AROCocoOrder", "AROFlickrOrder")  # those with a result from before the change


def history(shared: Path) -> dict[str, dict[str, tuple[float, float]]]:
    """Model -> task -> the score with `padding=True` and with `padding="max_length"`."""
    by_model: dict[str, dict[str, dict[str, float]]] = {}
    for row in read_rows(shared / "published_scores" / "mieb_siglip_history.csv"):
        model = row["model"].removeprefix("google/")
        by_model.setdefault(model, {}).setdefault(row["task"], {})[row["date"]] = float(row["main_score"])
    return {
        model: {task: (scores[min(scores)], scores[max(scores)]) for task, scores in tasks.items() if len(scores) == 2}
        for model, tasks in by_model.items()
    }


def main() -> None:
    models = history(arguments(__doc__, "published_scores/mieb_siglip_history.csv").parse_args().shared)
    lines = [[model, *(f"{tasks[task][0]} → {tasks[task][1]}" for task in TASKS)] for model, tasks in models.items()]
    show(("checkpoint", *TASKS), lines)
    for task in TASKS:
        gains = sorted(round(after - before, 1) for before, after in (tasks[task] for tasks in models.values()))
        print(f"- {task}: {len(gains)} checkpoints, gain {gains[0]:+.1f} to {gains[-1]:+.1f} points")


if __name__ == "__main__":
    main()
