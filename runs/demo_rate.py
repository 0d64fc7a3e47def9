"""How far a recipe moves the world's model in few steps, on validation scenes: from this the demo's rate was chosen.

    python runs/demo_rate.py 110 64 1e-3 [--recipes hn_only equipoise_2026]

Steps, batch and learning rate; prints Original / Augmented / Brittleness of the base and of each recipe, in percent,
on 500 validation items of each set. A recipe takes about a minute on two cores.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from equipoise import registry
from equipoise.demo import REPLACE
from equipoise.evaluation.record import SHARES
from equipoise.evaluation.run import evaluate
from equipoise.models import Model, load_model
from equipoise.models.clip import ClipModel
from equipoise.progress import be_quiet
from equipoise.train.recipes import get_recipe
from equipoise.train.run.loop import train
from equipoise.train.run.options import Hardware
from equipoise.world.splits import DrawnImages, finetuning_items, world_items

SETS = (*REPLACE, "world-swap")
ITEMS = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=int)
    parser.add_argument("batch", type=int)
    parser.add_argument("rate", type=float)
    parser.add_argument("--recipes", nargs="+", default=["hn_only"])
    given = parser.parse_args()
    be_quiet(True)
    base = load_model("world", device="cpu")
    assert isinstance(base, ClipModel)
    print(f"base: {shown(base)}", flush=True)
    items = finetuning_items(given.steps * given.batch)
    settings = {"max_steps": given.steps, "warmup_steps": given.steps // 10, "batch_size": given.batch}
    for name in given.recipes:
        with tempfile.TemporaryDirectory() as folder:
            recipe = get_recipe(name, quick=True, seed=0, lr=given.rate, **settings)
            place = Path(folder) / "run"
            model = train(recipe, items, base, place, images=DrawnImages(), hardware=Hardware(device="cpu"))
            print(f"{name}: {shown(load_model(f'hf:{model}', device='cpu'))}", flush=True)


def shown(model: Model) -> str:
    found = []
    for name in SETS:
        items = list(world_items("validation", ITEMS, tests=tuple(registry.get(name).splits)))
        numbers = evaluate(model, items, images=DrawnImages()).record.metrics.overall
        found.append(f"{name} " + " / ".join(f"{100 * (numbers[share] or 0):.1f}" for share in SHARES))
    return "; ".join(found)


if __name__ == "__main__":
    main()
