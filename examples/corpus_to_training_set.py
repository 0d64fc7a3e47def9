"""A caption corpus to a training set: hard positives and negatives, what gives them away, and one step of training.

    python examples/corpus_to_training_set.py CAPTIONS OUT.jsonl
    python examples/corpus_to_training_set.py captions.jsonl training.jsonl

CAPTIONS is any layout that `equipoise perturb` reads (docs/tasks/captions.md);
give the image with each caption if you have it.
Then: equipoise train hard_positives_kamath_2024 --items OUT.jsonl --images DIR --model hf:... --out RUN
"""

import sys
from collections import Counter
from pathlib import Path

from equipoise import UserError, load_items
from equipoise.extend import Setup, perturb_file

RECIPES = "hard_positives_rules,crepe_ma_2023"  # the hard-positive paper's: both kinds, every caption kept


def main(captions: Path, out: Path) -> int:
    try:
        report = perturb_file(captions, out, Setup(RECIPES, seed=0, keep_all=True), workers=1)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    items = load_items(out)
    edits = Counter(text.edit.target or "swap" for item in items for text in item.negatives if text.edit)
    print(f"{len(items)} items, {sum(bool(item.positives) for item in items)} with a hard positive")
    print("hard negatives by what they change:", dict(edits))
    print("dropped, and why:", dict(sorted(report["dropped"].items(), key=lambda pair: -pair[1])[:5]))
    told = report["separability"].get("originals / negatives")
    print(
        "told apart by words alone:", "too few to say" if told is None else f"{100 * told['paired']['accuracy']:.0f} %"
    )
    example = next(item for item in items if item.positives and item.negatives)
    print(f"for instance: {example.caption}\n  + {example.positives[0].text}\n  - {example.negatives[0].text}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
