"""A score as a table for the terminal."""

from __future__ import annotations

from equipoise.study.agreement import Agreement
from equipoise.study.score import Score, Share

NAMES = {
    "original": "Original: caption above every wrong one",
    "augmented": "Augmented: reworded captions too",
    "brittleness": "Brittleness (one of the two)",
    "same_ranking": "... and both gave the same ranking",
    "meaning": "read as meant (p the same, n not)",
}
TOLD = ("original", "augmented", "brittleness", "meaning")  # of a split


def in_words(found: Score) -> str:
    """Percent [95% interval], pictures resampled."""
    whose = ", ".join(f"{name} {count:,}" for name, count in found.answered.items())
    lines = [
        f"study of {found.benchmark}: {found.questions:,} questions; answered: {whose}",
        "percent [95% interval, pictures resampled]; a tie is never a win",
        "",
    ]
    if found.together:
        lines.append(f"two annotators, a point only if both are right ({found.answered_by_two:,} questions with two):")
        lines += [_line(NAMES.get(name, name), share) for name, share in found.together.items()]
    else:
        lines.append("no question has two answers yet, so there is no point to give; each annotator alone:")
    for value, shares in found.by.get("split", {}).items():
        lines += ["", f"split {value}:"]
        lines += [_line(NAMES.get(name, name), shares[name]) for name in TOLD if name in shares]
    if others := [tag for tag in found.by if tag != "split"]:
        lines += ["", f"by {', '.join(others)}: --json"]
    for annotator, shares in found.annotators.items():
        lines += ["", f"{annotator} alone:"]
        lines += [_line(name, share) for name, share in shares.items()]
    lines += ["", "agreement beyond chance (1: always, 0: as if by chance):"]
    lines += [_line_of(f"Krippendorff's alpha, {name}", one) for name, one in found.alpha.items()]
    for pair, kinds in found.kappa.items():
        lines += [_line_of(f"Cohen's kappa, {name}: {pair}", one) for name, one in kinds.items()]
    if found.lost:
        more = f" and {len(found.lost) - 10:,} more (--json has all)" if len(found.lost) > 10 else ""
        lines += ["", f"look at these, where not both were right: {', '.join(found.lost[:10])}{more}"]
    return "\n".join(lines)


def _line(name: str, share: Share) -> str:
    return f"  {name:<42} {100 * share.value:5.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]  n = {share.n:,}"


def _line_of(name: str, one: Agreement) -> str:
    if one.value is None:
        why = "nobody judged the same" if not one.n else "undefined: everybody always said the same"
        return f"  {name:<42} -  ({why})"
    return f"  {name:<42} {one.value:5.2f} [{one.low:.2f}, {one.high:.2f}]  n = {one.n:,}"
