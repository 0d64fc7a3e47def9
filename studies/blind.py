"""How much of each benchmark a judge that never sees the image solves -> the table of docs/appendix/blind.md.

    python -m studies.blind --data ../shared/data [--lm FOLDER --sample 500 --lm-on NAMES] [--out PAGE]

The length rule and the n-gram model see every item, five-fold over images; the language model a sample of the items,
drawn with seed 0, as a likelihood takes an eighth of a second on a core. Its scores are kept in the cache, so a larger
sample later costs only what is new. Shares are means over items, whatever a paper's own average is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.benchmarks import registry
from equipoise.core.files import atomic_write
from equipoise.core.provenance import default_cache
from equipoise.data.items import Item
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import ItemNumbers
from equipoise.evaluation.scoring import score_items
from equipoise.models import load_model
from equipoise.report.tables import percent
from studies.audits import FOLDERS
from studies.harness import table
from studies.harness.inputs import arguments, existing, needed

NAMES = ("replace", "replace-clean", "sugarcrepe", "sugarcrepe-pp", "valse", "crepe", "negclip", "negbench")
WORLD = ("world-replace-attributes", "world-replace-relations", "world-swap", "world-unseen", "world-balanced")
BEGIN, END = "<!-- written by studies/blind.py -->", "<!-- to here -->"
HEADER = ("benchmark", "n", "chance", "length", "n-grams", "language model", "its n")


def numbers(model: Any, items: Sequence[Item], cache: EmbeddingCache | None = None) -> ItemNumbers:
    return summarise(outcomes_of(score_items(model, items, cache=cache, batch_size=256).rows)).overall


def rows_of(name: str, folder: Path, lm: Any, sample: int) -> list[list[str]]:
    items, benchmark = registry.load(name, folder)
    order = list(range(len(items)))
    random.Random(0).shuffle(order)  # a larger sample holds the smaller
    sampled = [items[place] for place in order[:sample]]
    blind = [numbers(load_model(spec), items) for spec in ("blind:length", "blind:ngram")]
    judged = numbers(lm, sampled, EmbeddingCache(default_cache())) if lm is not None else None
    metrics: list[tuple[str, str]] = [("original", name), ("augmented", f"{name}, Augmented")]
    rows = []
    for metric, label in metrics:
        if blind[0][metric] is None:
            continue
        count = blind[0].n if metric == "original" else blind[0].n_positives
        chance = benchmark.chance.get(metric)
        row = [
            label,
            f"{count:,}",
            "-" if chance is None else f"{100 * chance:.1f}",
            *(percent(result, metric) for result in blind),
        ]
        if judged is not None:
            row += [percent(judged, metric), f"{judged.n if metric == 'original' else judged.n_positives:,}"]
        rows.append(row)
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the annotation files, one folder each")
    parser.add_argument("--lm", type=existing(), help="folder of a causal language model")
    parser.add_argument("--sample", type=int, default=500, help="items that the language model is asked about")
    parser.add_argument("--lm-on", help="benchmarks that the language model is asked about, all if not given")
    parser.add_argument("--only", help="benchmarks, separated by commas; the file is then not written")
    parser.add_argument("--out", type=Path, default=Path("docs/appendix/blind.md"))
    options = parser.parse_args()
    names = options.only.split(",") if options.only else (*NAMES, *WORLD)
    unknown = [name for name in names if name not in (*NAMES, *WORLD)]
    missing = [options.data / FOLDERS[name] for name in names if name in NAMES]
    missing = [path for path in missing if not path.is_dir()]
    if unknown or missing:
        parser.error(f"unknown: {', '.join(unknown)}" if unknown else needed(missing))
    lm = load_model(f"blind:lm:{options.lm}") if options.lm else None
    rows = []
    for name in names:
        folder = default_cache() / "world" if name in WORLD else options.data / FOLDERS[name]
        own_lm = lm if options.lm_on is None or name in options.lm_on.split(",") else None
        for row in rows_of(name, folder, own_lm, options.sample):
            row += ["-"] * (len(HEADER) - len(row) if lm is not None else 0)
            print(" | ".join(row), flush=True)
            rows.append(row)
    if options.only:
        return
    text = options.out.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    with atomic_write(options.out) as handle:
        handle.write(
            f"{before}{BEGIN}\n\n{table(HEADER if options.lm else HEADER[:5], rows)}\n\n{END}{rest.partition(END)[2]}"
        )


if __name__ == "__main__":
    main()
