"""Do label courts find wrong labels? Flip 2 % of SugarCrepe's labels and look for them in the queue.

    python runs/ledger/courts.py --shared ../shared/data

Answers: eight public result sets of five models. A flipped label turns the answer of every model around. The queue is
that of `equipoise audit --models`; the score is the share of flipped labels in its first 4 %. Real label errors of
SugarCrepe count against the queue, as nobody has listed them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from needs import existing

from equipoise.audit.court import Answers, failures, gather, suspicion

FLIPPED, QUEUE = 0.02, 0.04
Key = tuple[str, str, str]  # split, caption, negative


def opened(path: Path) -> TextIO:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def key(split: str, row: dict[str, Any]) -> Key:
    """BiVLC writes the same captions with other capitals and spaces, and often without the final stop."""
    caption, negative = (" ".join(row[name].lower().split()).rstrip(". ") for name in ("caption", "negative_caption"))
    return split, caption, negative


def result_sets(shared: Path) -> tuple[dict[str, dict[str, bool]], dict[str, dict[str, Any]]]:
    """Set -> item -> right, and every item with its texts, split and photo."""
    published = shared / "published_scores"
    found: dict[str, list[tuple[str, dict[str, Any], bool]]] = {}
    with opened(published / "sugarcrepe" / "xlm-roberta-base-ViT-B-32.json.gz") as handle:
        subsets = json.load(handle)["subsets"]
    found["open_clip XLM-R ViT-B/32"] = [
        (split, row, row["positive_score"] > row["negative_score"])
        for split, rows in subsets.items()
        for row in rows.values()
    ]
    for order in ("positive", "negative"):
        answers = found[f"GPT-4V, {order} first"] = []
        for path in sorted((published / "sugarcrepe_gpt4v").glob(f"{order}-first-gpt4v-*.json.gz")):
            split = path.name.removeprefix(f"{order}-first-gpt4v-").removesuffix(".json.gz")
            with opened(path) as handle:
                answers += [(split, row, row["correct"]) for row in json.load(handle).values()]
    for name, path, column in (
        ("CLIP ViT-B/32", shared / "bivlc" / "SUGARCREPE_CORRECT_ViT-B-32.csv", "correct"),
        ("TROHN-Img", published / "bivlc" / "SUGARCREPE_CORRECT_CLIP_TROHN-Img.csv.gz", "correct"),
        ("CLIP ViT-B/32, BiVLC", shared / "bivlc" / "BiVLC_ViT-B-32.csv", "text_score_i0"),
        ("TROHN-Img, BiVLC", published / "bivlc" / "BiVLC_CLIP_TROHN-Img.csv.gz", "text_score_i0"),
        ("TROHN-Text, BiVLC", shared / "bivlc" / "BiVLC_CLIP_TROHN-Text.csv", "text_score_i0"),
    ):
        with opened(path) as handle:
            found[name] = [
                (f"{row['type']}_{row['subtype']}", row, row[column] in ("1", "True")) for row in csv.DictReader(handle)
            ]
    items: dict[str, dict[str, Any]] = {}
    ids: dict[Key, list[str]] = {}
    for split, row, _ in found["CLIP ViT-B/32"]:  # the whole of SugarCrepe
        id_ = f"{split}/{len(items)}"
        items[id_] = {"split": split, **row}
        ids.setdefault(key(split, row), []).append(id_)
    named = {(*key(items[id_]["split"], items[id_]), items[id_]["filename"]): id_ for id_ in items}
    outcomes: dict[str, dict[str, bool]] = {name: {} for name in found}
    for name, rows in found.items():
        for split, row, right in rows:
            same = ids.get(key(split, row), [])
            id_ = named.get((*key(split, row), row["filename"])) if "filename" in row else None
            if id_ or len(same) == 1:  # BiVLC names no photo: two pairs of captions have two
                outcomes[name][id_ or same[0]] = bool(right)
    return outcomes, items


def tables(
    outcomes: dict[str, dict[str, bool]], items: dict[str, dict[str, Any]]
) -> tuple[Answers, Answers, list[str]]:
    """The answers with each model once, as the courts use them; those of all eight sets; notes on what was merged."""
    answers, notes = gather(outcomes, {id_: item["split"] for id_, item in items.items()})
    columns = [[one.get(id_, np.nan) for id_ in answers.ids] for one in outcomes.values()]
    return answers, Answers(answers.ids, list(outcomes), np.array(columns, dtype=np.float64).T, answers.groups), notes


def found_early(score: np.ndarray, flipped: np.ndarray, draw: np.random.Generator) -> float:
    """The share of the flipped labels in the first part of the queue; equal scores stand in random order."""
    order = np.lexsort((draw.random(len(score)), -score))[: round(QUEUE * len(score))]
    return float(flipped[order].sum() / flipped.sum())


def trial(answers: Answers, raw: Answers, seed: int) -> dict[str, float]:
    """One draw of flipped labels: how many of them each queue finds early."""
    draw = np.random.default_rng(seed)
    flipped = np.zeros(len(answers.ids), bool)
    flipped[draw.choice(len(flipped), round(FLIPPED * len(flipped)), replace=False)] = True
    turned, raw_turned = (
        Answers(one.ids, one.models, np.where(flipped[:, None], 1 - one.right, one.right), one.groups)
        for one in (answers, raw)
    )
    return {
        "item-response model": found_early(suspicion(turned).log_odds, flipped, draw),
        "counting, each model once": found_early(failures(turned), flipped, draw),
        "counting all eight sets": found_early(np.nansum(1 - raw_turned.right, axis=1), flipped, draw),
    }


def interval(values: np.ndarray, draw: np.random.Generator) -> tuple[float, float]:
    """95 % interval of the mean over draws."""
    means = draw.choice(values, (4000, len(values))).mean(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--shared",
        type=existing(
            "bivlc", "published_scores/sugarcrepe", "published_scores/sugarcrepe_gpt4v", "published_scores/bivlc"
        ),
        default="../shared/data",
    )
    parser.add_argument("--draws", type=int, default=20)
    arguments = parser.parse_args()
    outcomes, items = result_sets(arguments.shared)
    answers, raw, notes = tables(outcomes, items)
    print(f"{len(answers.ids):,} pairs")
    for name, one in outcomes.items():
        print(f"  {name}: {100 * np.mean(list(one.values())):.1f} % right of {len(one):,}")
    print("\n".join(f"  note: {note}" for note in notes))

    trials = [trial(answers, raw, seed) for seed in range(arguments.draws)]
    draw = np.random.default_rng(0)
    share = round(FLIPPED * len(answers.ids))
    print(f"\n{share} flipped labels ({FLIPPED:.0%}), found in the first {QUEUE:.0%} of the queue, {len(trials)} draws")
    for name in trials[0]:
        values = 100 * np.array([one[name] for one in trials])
        low, high = interval(values, draw)
        print(
            f"  {name}: {values.mean():.1f} % [{low:.1f}, {high:.1f}]; draws {values.min():.1f} to {values.max():.1f}"
        )
    first, *others = trials[0]
    for other in others:
        values = 100 * np.array([one[first] - one[other] for one in trials])
        low, high = interval(values, draw)
        print(f"  {first} minus {other}: {values.mean():+.1f} points [{low:+.1f}, {high:+.1f}]")

    everywhere = ~np.isnan(raw.right).any(1)
    failed = np.flatnonzero(everywhere & (raw.right == 0).all(1))
    found = suspicion(answers)
    print(f"\n{everywhere.sum():,} pairs are in all eight sets; {len(failed)} of them fail in all eight")
    print(f"Labels of SugarCrepe that are wrong, estimated: {found.share:.2%}")
    for row in sorted(failed.tolist(), key=lambda row: -found.log_odds[row]):
        item = items[answers.ids[row]]
        print(f"  {item['split']} {item['filename']}  P(wrong) {1 / (1 + np.exp(-found.log_odds[row])):.2f}")
        print(f"    right: {item['caption']}\n    wrong: {item['negative_caption']}")


if __name__ == "__main__":
    main()
