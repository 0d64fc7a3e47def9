"""Do label courts find wrong labels? Flip 2 % of SugarCrepe's labels and look for them in the queue.

    python -m studies.ledger.courts --shared ../shared/data

Answers: eight public result sets of five models. A flipped label turns the answer of every model around. The queue is
that of `equipoise audit --models`; the score is the share of flipped labels in its first 4 %. Real label errors of
SugarCrepe count against the queue, as nobody has listed them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from equipoise.audit.court import Answers, gather, suspicion
from equipoise.data.items import Item
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.published.reading import read_any
from equipoise.published.sheets import PublishedScores
from studies.harness import ranged, show
from studies.harness.inputs import arguments

FLIPPED, QUEUE, DRAWS = 0.02, 0.04, 20


def result_sets(shared: Path) -> tuple[dict[str, dict[str, bool]], dict[str, Item]]:
    """Set -> item -> right, and every item of SugarCrepe. GPT-4V's two orders are two sets."""
    published = shared / "published_scores"
    whole = {
        "open_clip XLM-R ViT-B/32": published / "sugarcrepe" / "xlm-roberta-base-ViT-B-32.json.gz",
        "CLIP ViT-B/32": shared / "bivlc" / "SUGARCREPE_CORRECT_ViT-B-32.csv",
        "TROHN-Img": published / "bivlc" / "SUGARCREPE_CORRECT_CLIP_TROHN-Img.csv.gz",
    }
    outcomes: dict[str, dict[str, bool]] = {}
    items: dict[str, Item] = {}
    for name, path in whole.items():
        foreign = read_any([path], "sugarcrepe")
        outcomes[name] = right_of(foreign)
        items |= {item.id: item for item in foreign.items}
    answered = read_any(sorted((published / "sugarcrepe_gpt4v").iterdir()), "sugarcrepe")
    for order in ("caption first", "negative first"):
        outcomes[f"GPT-4V, {order}"] = {
            row.id: bool(answer.right) for row in answered.rows for answer in row.answers if answer.order == order
        }
    ids: dict[tuple[str, ...], list[str]] = {}
    for item in items.values():
        ids.setdefault(key(item), []).append(item.id)
    for name, path in (
        ("CLIP ViT-B/32, BiVLC", shared / "bivlc" / "BiVLC_ViT-B-32.csv"),
        ("TROHN-Img, BiVLC", published / "bivlc" / "BiVLC_CLIP_TROHN-Img.csv.gz"),
        ("TROHN-Text, BiVLC", shared / "bivlc" / "BiVLC_CLIP_TROHN-Text.csv"),
    ):
        foreign = read_any([path], "bivlc")
        right = right_of(foreign)
        matches = [(ids.get(key(item), []), right[item.id]) for item in foreign.items]
        outcomes[name] = {
            same[0]: won for same, won in matches if len(same) == 1
        }  # it names no photo: some pairs have two
    return outcomes, items


def right_of(foreign: PublishedScores) -> dict[str, bool]:
    outcomes = outcomes_of(foreign.rows)
    return dict(zip(outcomes.rows.ids, outcomes.original.tolist(), strict=True))


def key(item: Item) -> tuple[str, ...]:
    """BiVLC writes the same captions with other capitals and spaces, and often without the final stop."""
    texts = (item.caption, item.negatives[0].text)
    return item.tags.get("subtype", item.tags["split"]), *(" ".join(one.lower().split()).rstrip(". ") for one in texts)


def tables(outcomes: dict[str, dict[str, bool]], items: dict[str, Item]) -> tuple[Answers, Answers, list[str]]:
    """The answers with each model once, as the courts use them; those of all eight sets; notes on what was merged."""
    answers, notes = gather(outcomes, {id_: item.tags["split"] for id_, item in items.items()})
    columns = [[by_id.get(id_, np.nan) for id_ in answers.ids] for by_id in outcomes.values()]
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
        Answers(table.ids, table.models, np.where(flipped[:, None], 1 - table.right, table.right), table.groups)
        for table in (answers, raw)
    )
    return {
        "item-response model": found_early(suspicion(turned).log_odds, flipped, draw),
        "counting, each model once": found_early(np.nansum(1 - 2 * turned.right, axis=1), flipped, draw),
        "counting all eight sets": found_early(np.nansum(1 - raw_turned.right, axis=1), flipped, draw),
    }


def mean_of(values: np.ndarray, draw: np.random.Generator, form: str = ".1f") -> str:
    """The mean over draws with its 95 % interval."""
    means = draw.choice(values, (4000, len(values))).mean(1)
    return ranged(values.mean(), np.quantile(means, (0.025, 0.975)), form)


def main() -> None:
    files = (f"published_scores/{name}" for name in ("sugarcrepe", "sugarcrepe_gpt4v", "bivlc"))
    outcomes, items = result_sets(arguments(__doc__, "bivlc", *files).parse_args().shared)
    answers, raw, _ = tables(outcomes, items)
    trials = [trial(answers, raw, seed) for seed in range(DRAWS)]
    shares = {name: np.array([trial[name] for trial in trials]) for name in trials[0]}
    draw = np.random.default_rng(0)
    show(("queue", "flipped labels found, %"), [[name, mean_of(values, draw)] for name, values in shares.items()])
    first, *others = shares
    for other in others:
        print(f"{first} minus {other}: {mean_of(shares[first] - shares[other], draw, '+.1f')} points")

    failed = np.flatnonzero((raw.right == 0).all(1)).tolist()
    flipped = suspicion(answers).log_odds
    print(f"\n{len(failed)} pairs fail in all eight sets:")
    for row in sorted(failed, key=lambda row: -flipped[row]):
        item = items[answers.ids[row]]
        print(f"- {item.id}, P(wrong) {1 / (1 + np.exp(-flipped[row])):.2f}: {item.caption} / {item.negatives[0].text}")


if __name__ == "__main__":
    main()
