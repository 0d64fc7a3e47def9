"""One sentence on a run: is it above chance, what does rewording cost, and what should a reader look at next?"""

from __future__ import annotations

from equipoise.core.errors import printable
from equipoise.evaluation.record import Numbers, RunRecord
from equipoise.report.tables import by_chance

FEW = 20  # items; below this a share says nothing


def verdict(record: RunRecord, average: str | None = None) -> str:
    """The conclusion of a run of items; "" for retrieval, classification and ratings."""
    numbers = record.metrics.by_rule(average)
    if record.kind != "items" or (original := numbers.metrics.get("original")) is None:
        return ""
    chance = by_chance(numbers, record.benchmark.chance).get("original")
    known = "" if chance is None else f" (chance {100 * chance:.1f})"
    spec = printable(record.model.spec)
    low = original.interval.low if original.interval else original.value
    if record.n.scored < FEW:
        return f"{spec}: too few items for a verdict."
    if chance is not None and low <= chance:
        return (
            f"{spec} is not shown to be above chance: it ranks the caption first on "
            f"{100 * original.value:.1f}% of the items{known}. Check how it is loaded: equipoise doctor "
            + ("MODEL" if " " in spec else spec)
        )
    return (
        f"{spec} ranks the caption above every wrong text on {100 * original.value:.1f}% of "
        f"the items{known}{_reworded(numbers)}. {_look_at(record, average)}"
    ).rstrip()


def _reworded(numbers: Numbers) -> str:
    augmented, brittle = numbers["augmented"], numbers["brittleness"]
    if augmented is None or brittle is None:
        return "; no item has a hard positive, so the effect of rewording is not measured"
    drop = numbers["drop"]
    lost = "" if drop is None else f"; rewording costs {100 * drop:.1f} points"
    return f"{lost}, and on {100 * brittle:.1f}% the answer depends on the wording"


def _look_at(record: RunRecord, average: str | None) -> str:
    """The first of these that holds: words alone do as well, one split is far below the others."""
    blind = record.blind.by_rule(average) if record.blind else None
    gain = blind.gain.get("original") if blind else None
    if blind is not None and gain is not None and gain.interval.low <= 0:
        return (
            f"A baseline that reads only the texts ({gain.over}) does about as well: these items do not show that the "
            "model looks at the image (equipoise audit)."
        )
    parts = {
        name: (value, one.n)
        for name, one in record.metrics.by.get("split", {}).items()
        if one.n >= FEW and (value := one["augmented"] if one["augmented"] is not None else one["original"]) is not None
    }
    if len(parts) < 2:
        return ""
    worst = min(parts, key=lambda name: parts[name][0])
    return f"Weakest split: {printable(worst)} ({100 * parts[worst][0]:.1f}, n = {parts[worst][1]:,})."


def edits_line(record: RunRecord) -> str:
    """How many texts of each kind of edit were scored: 'edits: negatives: object 120, attribute 77; ...'."""
    found: dict[str, dict[str, int]] = {}
    for name, graded in record.edits.items():
        kind, _, edit = name.partition(" ")
        count = graded.n_positives if kind == "positive" else graded.n_negatives
        target = edit.split(" ")[-1] if edit else "unknown"
        counts = found.setdefault(kind, {})
        counts[target] = counts.get(target, 0) + count
    shown = []
    for kind in ("negative", "positive"):
        counts = dict(sorted(found.get(kind, {}).items(), key=lambda pair: -pair[1]))
        if counts:
            listed = ", ".join(f"{printable(target)} {count:,}" for target, count in list(counts.items())[:6])
            shown.append(f"{kind}s: {listed}{', ...' if len(counts) > 6 else ''}")
    return f"edits: {'; '.join(shown)}" if shown else ""
