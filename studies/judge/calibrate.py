"""Calibrates the dial of `perturb --precision`: from the chance that the judge gives to the share that readers accept.

    python -m studies.judge.candidates verdicts studies/judge/verdicts.tsv.gz --shared DATA --out v.jsonl
    python -m studies.judge.calibrate v.jsonl --shared DATA [--write]

Three sets of verdicts, all about captions that the judge did not learn from. docs/perturb_reading.tsv has what blind
readers said of edits that older recipes wrote, and (photos of train2017) of those that the dial let pass. The other
file has edits of all chances, read by stricter rules: sheets 500 to 506, and 511 to 516 with swaps of every kind (of
verbs, prepositions and whole phrases readers accepted too few: they are no longer written). Sheets 521 to 526 repeat
the swaps of the blind readings since the twenty-first, whose words the table does not name. A logistic regression on
all of them tells the share that is accepted from the chance, the words of the kind and the set. A second one, on its
result, has two numbers: how far the readers of what the dial let pass differ (they are surer of what is sure).

`least` is how likely readers must be to accept a replaced word, so that all that is written is accepted as often as the
dial says; counted on captions of the learning half. Relations and swaps need none: each must be as likely as the dial
says. --write: writes src/equipoise/language/data/calibration.json.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise.language.vocabulary import SECTIONS
from equipoise.perturb import Caption, dial
from equipoise.perturb.dial import ALONE, HIGHEST, LIKELY, LOWEST, accepted, logit, positive_kind
from equipoise.perturb.judge import SORTS, Pair, reading_of
from equipoise.perturb.operations.replace import distinct, judged_of, with_doubt
from equipoise.perturb.operations.swap_candidates import Exchange, exchanges, kind_of_swap, swaps_of
from equipoise.perturb.operations.swap_positive import swap_positive
from equipoise.perturb.recipe import Candidate, Proposal, replaced
from equipoise.perturb.recipes import balanced
from studies.caption_halves import captions_of, coco, flickr, train2017
from studies.harness import LANGUAGE, read_lines, read_rows
from studies.harness.inputs import HALVES, arguments, existing
from studies.perturb_reading import READ_BEFORE

OUT = LANGUAGE / "calibration.json"
RECIPE = balanced()
HELD = (*range(500, 507), *range(511, 517))  # about photos that the judge never saw; the last six of swaps
BLIND = range(521, 527)  # the swaps of the blind readings since the twenty-first, a line a reader
WORDS = (*SECTIONS, "proposed", "people", "doubtful")  # of the kinds of replaced words
SWAPS = ("swap", *SORTS[:3], "two", "bare", "doing", "own")
COMMON = (*SECTIONS, "swap")  # every kind has one of these words
MIDDLE = 3.0  # a logit
STRICTER = 0.88  # of what may be refused: so far the strictest readers differ from all
FLOOR = 0.4  # what readers accept less often is never written
SWAPPED = 0.92  # swap positives: 92 of 100, blind reader, 18 November 2026 (texts of unseen captions, not in READ). The
# share itself: half a verdict more on each side, as other kinds have it, makes 0.916, which the default dial refuses.
RIDGE, ENOUGH = 3.0, 25  # how much kinds lean on each other; positives of a kind with fewer verdicts have no own rate
Lines = dict[str, list[float]]


class Verdict(NamedTuple):
    kind: str
    chance: float
    accepted: float  # the share of its readers
    readers: str  # "old", "strict" or "now"


def together(captions: list[Caption], size: int = 250) -> None:
    for start in range(0, len(captions), size):
        RECIPE.prepare(captions[start : start + size], RECIPE.sources)  # type: ignore[misc]


def judged(caption: Caption) -> Iterator[tuple[str, str, Proposal | Exchange, float]]:
    """(from, to, what it is, chance) of all negatives that the recipe may write."""
    for tiers in judged_of(caption, RECIPE.sources).values():
        chances = dict(reversed(list(itertools.chain.from_iterable(tiers))))
        for each in distinct(reversed(chances)):
            yield caption.text[each.start : each.end], each.to, each, float(chances[each][0])
    for exchange, row in zip(*swaps_of(caption), strict=True):
        edit = exchange.candidate.edit
        yield edit.source or "", edit.to or "", exchange, float(row[0])


def kind_in(caption: Caption, each: Proposal | Exchange) -> str | None:
    """The kind of an edit as the dial counts it; None where the checks drop it."""
    made = each.candidate if isinstance(each, Exchange) else replaced(caption.text, "negative", each)
    if any(check(caption, made) for check in RECIPE.checks):
        return None
    return kind_of_swap(each) if isinstance(each, Exchange) else with_doubt(caption, each)


def read_blind(shared: Path) -> tuple[list[Verdict], dict[str, list[float]]]:
    """Negatives with their chance, and how readers found positives of each kind, and contrasts."""
    records = coco(shared / "coco" / "karpathy_test_first_half.json", learned=False)
    texts = {str(record["image"]): record["caption"] for record in records} | flickr(shared, learned=False)
    texts |= train2017(shared, learned=False)
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in read_rows(READ_BEFORE):
        if row["image"] in texts and not row["sort"].startswith("published"):
            rows[row["image"]].append(row)
    listed = {image: captions_of(texts[image]) for image in rows}  # type: ignore[arg-type]
    together([caption for captions in listed.values() for caption in captions])
    negatives, positives = [], defaultdict(list)
    for image, captions in listed.items():
        known = {(old, new): (one, each, likely) for one in captions for old, new, each, likely in judged(one)}
        made = [made.edit for caption in captions for made in positives_of(caption)]
        right = {(edit.source, edit.to): positive_kind(edit) for edit in made}
        for row in rows[image]:
            edit, verdicts = (row["from"], row["to"]), [row[name] for name in ("reader1", "reader2") if row[name]]
            share = verdicts.count("pass") / len(verdicts)
            if row["sort"] in ("contrast positive", "contrast negative"):
                positives[row["sort"]].append(share)
            elif row["sort"].endswith("positive") and edit in right and not image.startswith("train2017"):
                positives[right[edit]].append(share)
            elif "negative" in row["sort"] and edit in known and (kind := kind_in(*known[edit][:2])):
                readers = "now" if image.startswith("train2017") else "old"
                negatives.append(Verdict(kind, known[edit][2], share, readers))
    return negatives, positives


def rate_of_rewordings() -> float:
    """The smoothed share of accepted positives that replace no word, in three readings of docs/perturb_reading.tsv.

    Edits that the rules no longer write count too: the rules were made after these readings, and would seem never to be
    refused.
    """
    rows = [row for row in read_rows(READ_BEFORE) if row["sort"] == "other positive"]
    rows = [row for row in rows if row["reading"].endswith(("twenty-second", "twenty-third", "twenty-eighth"))]
    said = [row[name] == "pass" for row in rows for name in ("reader1", "reader2")]
    return round((sum(said) + 0.5) / (len(said) + 1), 3)


def positives_of(caption: Caption) -> list[Candidate]:
    proposals = [each for source in RECIPE.sources for target in SECTIONS for each in source.synonyms(caption, target)]
    made = [replaced(caption.text, "positive", each) for each in proposals]
    return made + [each for each in swap_positive(caption, (), random.Random(0)) if isinstance(each, Candidate)]


def read_strict(path: Path) -> list[Verdict]:
    verdicts = []
    for row in read_lines(path):
        if row["sheet"] not in HELD and row["sheet"] not in BLIND:
            continue
        caption = Caption(row["caption"], tuple(row["others"]))
        if row["op"] == "swap":
            written = {each.candidate.text: each for each in exchanges(caption)}
            kind = kind_in(caption, written[row["text"]]) if row["text"] in written else None
        else:
            kind = kind_in(caption, proposal(row))
        if kind is not None:
            readers = "strict" if row["sheet"] in HELD else "now"
            verdicts.append(Verdict(kind, chance(row), float(row["verdict"] == 0), readers))
    return verdicts


def chance(row: dict[str, Any]) -> float:
    reading = reading_of(Caption(row["caption"], tuple(row["others"])))
    if row["op"] == "swap":
        first, second = tuple(row["first"]), tuple(row["second"])
        pair = Pair(SORTS.index(row["sort"]), first, second, row["into_first"], row["into_second"])
        return float(reading.swaps([pair])[0, 0])
    return float(reading.chances([proposal(row)])[0, 0])


def proposal(row: dict[str, Any]) -> Proposal:
    start, end = row["span"]
    return Proposal(start, end, row["to"], row["target"], row["by"], 1.0, row.get("mark") or "")


def regression(x: Any, y: Any, pull: Any) -> Any:
    """Weights of a logistic regression, pulled to nought."""
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ weights))
        weights += np.linalg.solve((x.T * (p * (1 - p))) @ x + np.diag(pull), x.T @ (y - p) - pull * weights)
    return weights


def lines(verdicts: list[Verdict], words: Sequence[str]) -> Lines:
    """Each word's part of the height and (for SORTS) of the slope; COMMON words also have the part that all share."""
    x = np.array([logit(v.chance) for v in verdicts]) - MIDDLE
    own = np.array([[word in v.kind.split() for word in words] for v in verdicts], float)
    apart = np.array([[v.readers == name for name in ("old", "strict")] for v in verdicts], float)
    y, bent = np.array([v.accepted for v in verdicts]), own * x[:, None] * [word in SORTS for word in words]
    seen = np.column_stack((np.ones(len(x)), x, apart, own, bent))
    weights = regression(seen, y, np.array([0.01] * 4 + [RIDGE] * (seen.shape[1] - 4)))
    now = np.array([v.readers == "now" and v.chance > LIKELY for v in verdicts])
    height, slope = regression(np.column_stack((np.ones(now.sum()), (seen @ weights)[now])), y[now], np.zeros(2))
    heights, bends = np.split(weights[4:], 2)
    by_word = {}
    for word, own_height, own_slope in zip(words, heights, bends, strict=True):
        line = np.array([own_height - MIDDLE * own_slope, own_slope]) * slope
        if word in COMMON:
            line += [height + slope * (weights[0] - MIDDLE * weights[1]), slope * weights[1]]
        by_word[word] = [round(float(part), 3) for part in line]
    return by_word


def least(shared: Path) -> list[list[float]]:
    """How likely the least likely may be, for each setting of the dial."""
    records = coco(shared / "coco" / "karpathy_test_first_half.json", learned=True)[:400]
    captions = [caption for record in records for caption in captions_of(record["caption"])]  # type: ignore[arg-type]
    together(captions)
    listed = [_replaced(caption) for caption in captions]
    grid = np.arange(FLOOR, 0.996, 0.005)
    means = np.maximum.accumulate([_mean_written(listed, bound) for bound in grid])
    precisions = np.arange(LOWEST, HIGHEST + 0.001, 0.01)
    places = np.minimum(np.searchsorted(means, 1 - STRICTER * (1 - precisions)), len(grid) - 1)
    curve: list[list[float]] = np.column_stack((precisions.round(2), grid[places].round(3))).tolist()
    return curve


def _replaced(caption: Caption) -> dict[str, Any]:
    """By target, how likely readers accept each; words for people apart, as only captions without others get them."""
    by_target: dict[str, list[float]] = defaultdict(list)
    for *_, each, likely in judged(caption):
        if not isinstance(each, Proposal) or each.target == "relation" or likely < dial.SEEN:
            continue
        if kind := kind_in(caption, each):
            by_target["people" if "people" in kind else each.target].append(accepted(kind, likely))
    return {name: np.array(shares) for name, shares in by_target.items()}


def _mean_written(captions: list[dict[str, Any]], bound: float) -> float:
    """The share that readers accept: of each target one is drawn among those above the bound; where there is none, the
    likeliest of all, if it is above the bound of a caption's only one."""
    shares: list[float] = []
    for kinds in captions:
        drawn = [
            float(few.mean()) for name, all_ in kinds.items() if name != "people" and (few := all_[all_ >= bound]).size
        ]
        best = max((float(likely.max()) for likely in kinds.values()), default=0.0)
        shares += drawn or ([best] if best >= 1 - ALONE * (1 - bound) else [])
    return float(np.mean(shares)) if shares else 1.0


def main() -> None:
    parser = arguments(__doc__, *HALVES)
    parser.add_argument("verdicts", type=existing())
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    blind, right = read_blind(options.shared)
    verdicts = blind + read_strict(options.verdicts)
    halves = ([v for v in verdicts if v.kind.startswith("swap") == swap] for swap in (False, True))
    calibrated = lines(next(halves), WORDS) | lines(next(halves), SWAPS)
    dial.calibration()["accepted"] = calibrated
    dial._line.cache_clear()
    dial._least.cache_clear()
    for word in calibrated:
        for readers in ("old", "strict", "now"):
            mine = [v for v in verdicts if word in v.kind.split() and v.readers == readers]
            line = [f"{word}, {readers}: {len(mine)} verdicts"]
            for low, high in ((0, 0.7), (0.7, 0.8), (0.8, 0.85), (0.85, 0.9), (0.9, 0.95), (0.95, 1.01)):
                if part := [(v.accepted, told) for v in mine if low <= (told := accepted(v.kind, v.chance)) < high]:
                    share, told = (sum(each) / len(part) for each in zip(*part, strict=True))
                    line.append(f"{low}: {share:.0%} of {len(part)}, calibrated {told:.0%}")
            print("; ".join(line))
    rates = {kind: round((sum(each) + 0.5) / (len(each) + 1), 3) for kind, each in right.items() if len(each) >= ENOUGH}
    values = [value for each in right.values() for value in each]
    rates["other"] = round(sum(values) / len(values), 3)
    rates |= dict.fromkeys(("converse", "fronting", "inversion", "passive"), rate_of_rewordings()) | {"swap": SWAPPED}
    print("rates:", {kind: (rates.get(kind, "-"), len(each)) for kind, each in sorted(right.items())})
    bounds = least(options.shared)
    print("least:", {p: b for p, b in bounds if p in (0.85, 0.92, 0.97)})
    if options.write:
        made = {"accepted": calibrated, "least": bounds, "rates": dict(sorted(rates.items()))}
        text = re.sub(r"\[\s+([\d.-]+),\s+([\d.-]+)\s+\]", r"[\1, \2]", json.dumps(made, indent=1))
        OUT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
