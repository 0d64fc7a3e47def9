"""The demo's numbers and its sentences: what changed from model to model, and where it is unlike the paper.

The words follow the numbers, never the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.evaluation.comparing.differences import Run, average, difference
from equipoise.evaluation.metrics import METRICS
from equipoise.evaluation.record import Change, Difference, Numbers

PAPER: dict[str, dict[str, dict[str, float]]] = {  # Kamath et al. 2024, Table 1: CLIP ViT-B/32, in percent
    "replace": {
        "original": {"base": 61.6, "HN": 73.9, "HP+HN": 69.0},
        "augmented": {"base": 46.8, "HN": 55.7, "HP+HN": 58.0},
        "brittleness": {"base": 23.2, "HN": 21.0, "HP+HN": 16.9},
    },
    "swap": {
        "original": {"base": 60.5, "HN": 74.3, "HP+HN": 73.2},
        "augmented": {"base": 49.6, "HN": 60.5, "HP+HN": 61.1},
        "brittleness": {"base": 21.7, "HN": 25.1, "HP+HN": 22.9},
    },
}
SHARES = ("original", "augmented", "brittleness")  # the metrics of the story
STEPS, OURS = (("base", "HN"), ("HN", "HP+HN"), ("base", "HP+HN")), ("base", "Equipoise")  # what is compared


def numbers_of(runs: Sequence[dict[str, Run]], column: str, tag: str = "", value: str = "") -> Numbers:
    """The numbers of a column over all seeds; of the items with a tag's value where one is named."""
    chosen = [one[column].where(tag, value) if tag else one[column] for one in runs]
    return average(chosen, path=("benchmark",) if column == "replace" else ())


def findings(runs: Mapping[str, Sequence[dict[str, Run]]]) -> list[str]:
    """What the paired differences say, clear or not; the words follow the numbers, never the other way round."""
    lines = [plain_words(runs)]
    for column in ("swap", "replace"):
        for before, after in (step for step in (*STEPS, OURS) if step[1] in runs):
            found = _difference(runs, column, before, after)
            parts = ", ".join(_change(name, change) for name in SHARES if (change := found[name]))
            lines.append(f"{column.upper()}, {before} → {after}: {parts}.")
    return lines + unlike_the_paper(runs)


def story(runs: Mapping[str, Sequence[dict[str, Run]]]) -> list[tuple[str, str]]:
    """What happened, step by step, for people who have read neither paper; the words follow from the numbers."""
    base = numbers_of(runs["base"], "replace")
    held, both, torn = (f"{100 * (base[name] or 0):.0f}" for name in SHARES)
    first = (
        f"On REPLACE, where one word is changed, the base scores the caption above the wrong one on {held} of 100 "
        f"items (Original accuracy). Asked for the reworded caption as well, it is right on {both} (Augmented "
        f"accuracy). On {torn} of 100 it puts one right caption above the wrong one and the other below, though both "
        "say the same (Brittleness)."
    )
    steps = [("The base, before", first)]
    for heading, before, after in (
        ("Shown wrong captions: HN", "base", "HN"),
        ("Shown reworded captions as well: HP+HN", "HN", "HP+HN"),
        ("In the end: HP+HN beside the base", "base", "HP+HN"),
    ):
        moved = _moves(runs, "replace", before, after)
        steps.append((heading, f"{moved[0].upper()}{moved[1:]}."))
    if "Equipoise" in runs:
        steps.append(("The same data by a recipe of our own: Equipoise beside the base", _ours(runs)))
    elsewhere = f"Where two words change places (SWAP), from the base to HN: {_moves(runs, 'swap', 'base', 'HN')}"
    others = sum(line.startswith("Unlike the paper") for line in unlike_the_paper(runs))
    paper = "Nothing here points clearly the other way than in the paper behind this demo (Kamath et al. 2024)."
    if others:
        paper = (
            "This is a small drawn world, not the photos of the paper behind it (Kamath et al. 2024): where the two "
            "disagree is said below, with every difference."
        )
    return [*steps, ("Is it so everywhere?", f"{elsewhere}. {paper}")]


def _ours(runs: Mapping[str, Sequence[dict[str, Run]]]) -> str:
    """Where our recipe ends, and why: on words that it was shown and on words that it was not."""
    told = f"From the base: {_moves(runs, 'replace', 'base', 'Equipoise')}."
    for value, words in (("seen", "finetuning showed"), ("unseen", "it never showed")):
        found = (numbers_of(runs[label], "replace", "synonym", value) for label in ("base", "Equipoise"))
        before, after = (100 * (one["brittleness"] or 0) for one in found)
        told += f" With synonyms that {words}: brittle on {after:.0f} of 100, the base on {before:.0f}."
    if after > before:  # of the unseen ones
        told += " So it learns word by word what is harmless; on photos it did not (docs/appendix/flickr8k.md)."
    return told


def _moves(runs: Mapping[str, Sequence[dict[str, Run]]], column: str, before: str, after: str) -> str:
    """'right about the caption more often (69 → 82 of 100); ...'; what is not clear is called so."""
    words: dict[str, str] = {
        "original": "right about the caption",
        "augmented": "right about caption and rewording alike",
        "brittleness": "right about one and wrong about the other (brittle)",
    }
    found = _difference(runs, column, before, after)
    there = [numbers_of(runs[label], column) for label in (before, after)]
    parts = []
    for name, said in words.items():
        change, ends = found[name], [f"{100 * (one[name] or 0):.0f}" for one in there]
        if change is None:
            continue
        way = "more often" if change.difference > 0 else "less often"
        parts.append(f"{said} {way} ({ends[0]} → {ends[1]} of 100)" if change.clear else f"{said}: no clear change")
    return "; ".join(parts)


def unlike_the_paper(runs: Mapping[str, Sequence[dict[str, Run]]]) -> list[str]:
    """Where a clear difference on the world points the other way than the paper's Table 1, said in words.

    The paper prints no intervals, so every step in its table counts as one; here only clear ones do.
    """
    lines = []
    for column, printed in PAPER.items():
        for before, after in STEPS:
            found = _difference(runs, column, before, after)
            other = [
                _against(name, change.difference, *(printed[name][label] for label in (before, after)))
                for name in SHARES
                if (change := found[name]) and change.clear
                if change.difference * (printed[name][after] - printed[name][before]) < 0
            ]
            if other:
                lines.append(
                    f"Unlike the paper (its Table 1), {column.upper()}, {before} → {after}: {'; '.join(other)}."
                )
    return lines or ["No clear difference points the other way than in the paper (its Table 1)."]


def _against(name: str, difference: float, before: float, after: float) -> str:
    way, there = ("lower", "higher") if difference < 0 else ("higher", "lower")
    return (
        f"{METRICS[name].title} ends {abs(100 * difference):.1f} points {way} here, and "
        f"{abs(after - before):.1f} points {there} in the paper ({before} to {after})"
    )


def _difference(runs: Mapping[str, Sequence[dict[str, Run]]], column: str, before: str, after: str) -> Difference:
    """Paired over items, and seed by seed; the base, which has none, is paired with every one."""
    first, second = ([one[column] for one in runs[label]] for label in (before, after))
    first = first * len(second) if len(first) == 1 else first
    return difference(first, second, path=("benchmark",) if column == "replace" else ())


def plain_words(runs: Mapping[str, Sequence[dict[str, Run]]]) -> str:
    """The first line of the page, for people who read only one; it claims only what is clear on REPLACE."""
    learned, unlearned, whole = (_difference(runs, "replace", before, after) for before, after in STEPS)
    gain, harm, cure = learned["original"], learned["brittleness"], unlearned["brittleness"]
    parts = []
    if gain and gain.clear:
        parts.append(f"hard negatives changed Original accuracy by {100 * gain.difference:+.1f} points")
    if harm and harm.clear:
        parts.append(f"hard negatives changed Brittleness by {100 * harm.difference:+.1f} points")
    if cure and cure.clear:
        parts.append(f"adding hard positives changed Brittleness by {100 * cure.difference:+.1f} points")
    if left := [
        _from_base(name, change) for name in ("augmented", "brittleness") if (change := whole[name]) and change.clear
    ]:
        parts.append(f"in the end HP+HN is {' and '.join(left)}")
    return f"On REPLACE, {'; '.join(parts)}." if parts else "On REPLACE nothing changed clearly."


def _from_base(name: str, change: Change) -> str:
    way = "above" if change.difference > 0 else "below"
    return f"{abs(100 * change.difference):.0f} points {way} the base on {METRICS[name].title}"


def _change(name: str, change: Change) -> str:
    low, high = (100 * value for value in change.interval)
    unclear = "" if change.clear else ", not clear"
    return f"{METRICS[name].title} {100 * change.difference:+.1f} points [{low:+.1f}, {high:+.1f}{unclear}]"
