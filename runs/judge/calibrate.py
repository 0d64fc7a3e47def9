"""Calibrates the dial of `perturb --precision`: from the chance that the judge gives to the share that readers accept.

    python runs/judge/candidates.py verdicts runs/judge/verdicts.tsv.gz --shared DATA --out v.jsonl
    python runs/judge/calibrate.py v.jsonl --shared DATA [--write]

Two sets of verdicts, both about captions that the judge did not learn from. docs/perturb_reading.tsv has what blind
readers said of edits that the recipes wrote. verdicts.tsv.gz has edits of all chances, read by stricter rules: sheets
500 to 506, and 511 to 516 with swaps of every kind (of verbs, prepositions and whole phrases readers accepted too few:
they are no longer written). Its sheets 521 to 526 repeat the swaps of the blind readings since the twenty-first, whose
words the table does not name. A logistic regression tells the share that is accepted from the chance, the kind of edit
and the rules of the reader; kinds with few verdicts lean on the others. The curves are for rules between the two.

`least` is how likely readers must be to accept an edit, so that all that is written of a kind is accepted as often as
the dial says; counted on captions of the learning half. --write: writes src/equipoise/perturb/data/calibration.json.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from caption_halves import coco, flickr, train2017
from check import chance
from needs import HALVES, existing

from equipoise.perturb import Caption
from equipoise.perturb.dial import HIGHEST, LOWEST, positive_kind
from equipoise.perturb.english.vocabulary import SECTIONS
from equipoise.perturb.judge import SORTS
from equipoise.perturb.operations.replace import kind_of
from equipoise.perturb.operations.swap_candidates import exchanges, kind_of_swap, prepare_swaps
from equipoise.perturb.operations.swap_positive import swap_positive
from equipoise.perturb.recipe import Candidate, replaced
from equipoise.perturb.recipes import balanced

OUT = Path(__file__).resolve().parents[2] / "src" / "equipoise" / "perturb" / "data" / "calibration.json"
RECIPE = balanced()
READ = Path(__file__).resolve().parents[2] / "docs" / "perturb_reading.tsv"
HELD = (*range(500, 507), *range(511, 517))  # about photos that the judge never saw; the last six of swaps
BLIND = range(521, 527)  # the swaps of the blind readings since the twenty-first, a line a reader
KINDS = (*SECTIONS, *(f"{target} wide" for target in SECTIONS), *(f"swap {sort}" for sort in SORTS[:3]))
POINTS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995, 1.0)
FLOOR = 0.4  # what readers accept less often is never written
RULES = 0.65  # between the blind readers' rules (0) and the stricter ones (1). Older filters had chosen what the blind
# readers read. Where 92 % were expected, new readers accepted 88 % of the replaced words with 0.5, and 97 % with 1
# (17 November in docs/perturb_reading.tsv).
SWAPS = 1.0  # the same of swaps: with 0.5, new readers accepted 85 % where 92 % were asked
RIDGE, ALONE = 3.0, 25  # how much kinds lean on each other; positives of a kind with fewer verdicts have no own rate


class Verdict(NamedTuple):
    kind: str
    chance: float
    accepted: float  # the share of its readers
    strict: bool  # by the rules of the judge's sheets


def together(captions: list[Caption], size: int = 250) -> None:
    for start in range(0, len(captions), size):
        RECIPE.prepare(captions[start : start + size], RECIPE.sources)  # type: ignore[misc]


def judged(caption: Caption) -> list[tuple[str, str, float, str, str]]:
    """(target or swap, kind, chance, from, to) of all negatives that the recipe may write."""
    found = [
        (target, kind_of(each), float(row[0]), caption.text[each.start : each.end], each.to)
        for target, tiers in caption.kept["judged", RECIPE.sources].items()
        for tier in tiers
        for each, row in tier
    ]
    exchanges, chances = caption.kept["swaps"]
    for each, row in zip(exchanges, chances, strict=True):
        edit = each.candidate.edit
        found.append(("swap", kind_of_swap(each), float(row[0]), edit.source, edit.to))
    return found


def captions_of(texts: Sequence[str]) -> list[Caption]:
    clean = [" ".join(text.split()) for text in texts]
    return [Caption(text, tuple(o for k, o in enumerate(clean) if k != place)) for place, text in enumerate(clean)]


def read_blind(shared: Path) -> tuple[list[Verdict], dict[str, list[float]]]:
    """Negatives with their chance, and how readers found positives of each kind."""
    records = coco(shared / "coco" / "karpathy_test_first_half.json", learned=False)
    texts = {str(record["image"]): record["caption"] for record in records} | flickr(shared, learned=False)
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    with READ.open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            if row["image"] in texts and row["sort"].split()[0] in {"replace", "swap"}:
                rows[row["image"]].append(row)
    listed = {image: captions_of(texts[image]) for image in rows}  # type: ignore[arg-type]
    together([caption for captions in listed.values() for caption in captions])
    negatives, positives = [], defaultdict(list)
    for image, captions in listed.items():
        known, right = defaultdict(list), {}
        for caption in captions:
            for _, kind, likely, old, new in judged(caption):
                known[old, new].append((kind, likely))
            for made in positives_of(caption):
                right[made.edit.source, made.edit.to] = positive_kind(made.edit)
        for row in rows[image]:
            said = [row[name] == "pass" for name in ("reader1", "reader2") if row[name] in {"pass", "fail"}]
            found = known.get((row["from"], row["to"]), [])
            if row["sort"].endswith("positive") and (row["from"], row["to"]) in right:
                positives[right[row["from"], row["to"]]].append(sum(said) / len(said))
            elif row["sort"].endswith("negative") and found:
                likely = sum(one for _, one in found) / len(found)
                negatives.append(Verdict(found[0][0], likely, sum(said) / len(said), False))
    return negatives, positives


def rate_of_converses() -> float:
    """Of all that replaces no word, in the readings since their rules were last changed."""
    with READ.open(encoding="utf-8", newline="") as handle:
        rows = [row for row in csv.DictReader(handle, delimiter="\t") if row["sort"] == "other positive"]
    rows = [row for row in rows if row["reading"].endswith(("twenty-second", "twenty-third"))]
    said = [row[name] == "pass" for row in rows for name in ("reader1", "reader2")]
    return round((sum(said) + 0.5) / (len(said) + 1), 3)


def positives_of(caption: Caption) -> list[Candidate]:
    found = [each for source in RECIPE.sources for target in SECTIONS for each in source.synonyms(caption, target)]
    made = [replaced(caption.text, "positive", each) for each in found]
    return made + [each for each in swap_positive(caption, (), random.Random(0)) if isinstance(each, Candidate)]


def read_strict(path: Path) -> list[Verdict]:
    found = []
    for line in path.open(encoding="utf-8"):
        row = json.loads(line)
        if row["sheet"] not in HELD and row["sheet"] not in BLIND:
            continue
        kind = row["target"] + (" wide" if row["mark"] == "wide" else "")
        if row["op"] == "swap":
            kind = f"swap {row['sort']}"
            caption = Caption(row["caption"], tuple(row["others"]))
            if row["text"] not in {each.candidate.text for each in exchanges(caption)}:
                continue  # no longer written
        found.append(Verdict(kind, chance(row), float(row["verdict"] == 0), row["sheet"] in HELD))
    return found


def logit(chances: Any) -> Any:
    clipped = np.clip(chances, 0.01, 0.999)
    return np.log(clipped / (1 - clipped))


def features(kinds: Sequence[str], chances: Any, strict: Any) -> Any:
    """The chance and the reader's rules, and for each kind a height and a slope of its own."""
    own = np.array([[kind == name for name in KINDS] for kind in kinds], float)
    x = logit(np.asarray(chances, float)) - 3.0
    return np.column_stack((np.ones(len(x)), x, strict, own, own * x[:, None]))


def fit(verdicts: list[Verdict]) -> Any:
    """Words that are replaced and words that change places apart: what a reader's rules mean differs."""
    parts = ([v for v in verdicts if v.kind.startswith("swap") == swap] for swap in (False, True))
    return [_fit(part) for part in parts]


def _fit(verdicts: list[Verdict]) -> Any:
    x = features([v.kind for v in verdicts], [v.chance for v in verdicts], [v.strict for v in verdicts])
    y = np.array([v.accepted for v in verdicts])
    pull = np.array([0.01] * 3 + [RIDGE] * (x.shape[1] - 3))
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ weights))
        step = np.linalg.solve((x.T * (p * (1 - p))) @ x + np.diag(pull), x.T @ (y - p) - pull * weights)
        weights += step
    return weights


def accepted(weights: Any, kinds: Sequence[str], chances: Any, strict: float | None = None) -> Any:
    rules = [SWAPS if kind.startswith("swap") else RULES for kind in kinds] if strict is None else [strict] * len(kinds)
    x, swap = features(kinds, chances, np.array(rules)), [kind.startswith("swap") for kind in kinds]
    return 1 / (1 + np.exp(-np.where(swap, x @ weights[1], x @ weights[0])))


def least(weights: Any, shared: Path) -> dict[str, list[list[float]]]:
    """Target -> how likely the least likely may be, for each setting of the dial."""
    records = coco(shared / "coco" / "karpathy_test_first_half.json", learned=True)[:400]
    captions = [caption for record in records for caption in captions_of(record["caption"])]  # type: ignore[arg-type]
    together(captions)
    listed: dict[str, list[Any]] = defaultdict(list)
    for caption in captions:
        by_target = defaultdict(list)
        for target, kind, likely, *_ in judged(caption):
            by_target[target].append((kind, likely))
        for target, found in by_target.items():
            listed[target].append(accepted(weights, [kind for kind, _ in found], [likely for _, likely in found]))
    listed["swap"] = _swaps(weights, shared)
    curves = {}
    for target, found in listed.items():
        grid = np.arange(FLOOR, 0.996, 0.005)
        means = np.array([_mean_written(found, bound, np.max if target == "swap" else np.mean) for bound in grid])
        means = np.maximum.accumulate(means)
        curves[target] = [
            [round(float(asked), 2), round(float(grid[min(np.searchsorted(means, asked), len(grid) - 1)]), 3)]
            for asked in np.arange(LOWEST, HIGHEST + 0.001, 0.01)
        ]
    return curves


def _swaps(weights: Any, shared: Path, photos: int = 3000) -> list[Any]:
    """Few captions have a swap that passes: counted on more of them, and on photos of no benchmark."""
    captions = [each for texts in list(train2017(shared, True).values())[:photos] for each in captions_of(texts)]
    prepare_swaps(captions)
    found = (caption.kept["swaps"] for caption in captions)
    return [
        accepted(weights, [kind_of_swap(each) for each in exchanged], [row[0] for row in chances])
        for exchanged, chances in found
        if exchanged
    ]


def _mean_written(found: list[Any], bound: float, of: Callable[[Any], float]) -> float:
    """The share that readers accept of one for each caption among those above the bound: drawn, or the likeliest."""
    shares = [float(of(likely[likely >= bound])) for likely in found if (likely >= bound).any()]
    return float(np.mean(shares)) if shares else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verdicts", type=existing())
    parser.add_argument("--shared", type=existing(*HALVES), required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    blind, right = read_blind(options.shared)
    verdicts = blind + read_strict(options.verdicts)
    weights = fit(verdicts)
    for kind in KINDS:
        for strict in (False, True):
            mine = [v for v in verdicts if v.kind == kind and v.strict == strict]
            line = [f"{kind}, {'sheets' if strict else 'blind readers'}: {len(mine)} verdicts"]
            for low, high in ((0, 0.7), (0.7, 0.9), (0.9, 0.95), (0.95, 0.98), (0.98, 1.01)):
                part = [v for v in mine if low <= v.chance < high]
                if part:
                    told = accepted(weights, [kind] * len(part), [v.chance for v in part], strict).mean()
                    share = sum(v.accepted for v in part) / len(part)
                    line.append(f"{low}: {share:.0%} of {len(part)}, calibrated {told:.0%}")
            print("; ".join(line))
    rates = {
        kind: round((sum(found) + 0.5) / (len(found) + 1), 3) for kind, found in right.items() if len(found) >= ALONE
    }
    every = [one for found in right.values() for one in found]
    rates["other"] = round(sum(every) / len(every), 3)
    rates |= dict.fromkeys(("converse", "fronting", "inversion", "passive"), rate_of_converses())
    print("positives:", {kind: (rates.get(kind, "-"), len(found)) for kind, found in sorted(right.items())})
    bounds = least(weights, options.shared)
    print("least:", {target: {p: b for p, b in curve if p in (0.85, 0.92, 0.97)} for target, curve in bounds.items()})
    if options.write:
        curves = {
            kind: [
                [p, round(float(y), 3)]
                for p, y in zip(POINTS, accepted(weights, [kind] * len(POINTS), POINTS), strict=True)
            ]
            for kind in KINDS
        }
        found = {"accepted": curves, "least": bounds, "positives": dict(sorted(rates.items()))}
        OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
