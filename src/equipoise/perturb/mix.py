"""The mix of what a run wrote: kinds of edits, people, trivial positives, and the share that readers should accept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from equipoise.perturb.operations.replace import is_of_people
from equipoise.perturb.recipe import Candidate, Perturbed
from equipoise.perturb.trivial import kind_of_edit

_EVERYDAY = 0.16  # of everyday captions 8 to 12 % have a word that the judge does not know, of web captions 20 %
GOAL = {"object": 40, "attribute": 25, "action": 15, "relation": 10, "swap": 10}  # of a hundred negatives


def kind_of(candidate: Candidate) -> str:
    """A negative as the mix counts it; an edit that replaces no word is a swap, unless it is a contrast."""
    edit = candidate.edit
    if edit.op == "replace" and edit.target in GOAL:
        return str(edit.target)
    return "contrast" if edit.op == "contrast" else "swap"


class Mix:
    """Counts of one shard."""

    def __init__(self) -> None:
        self.negatives: Counter[str] = Counter()  # texts
        self.having: Counter[str] = Counter()  # captions with one
        self.trivial: Counter[str] = Counter()
        self.people: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()  # texts of which it is known how often readers accept such
        self.accepted: Counter[str] = Counter()  # thousandths, summed
        self.read: Counter[str] = Counter()  # captions that the judge read, and those with words that it does not know

    def add(self, found: Perturbed) -> None:
        if found.known is not None:
            self.read.update({"captions": 1, "strange": not found.known})
        kinds = [kind_of(one) for one in found.negatives]
        self.negatives.update(kinds)
        self.having.update(set(kinds))
        self.people["negative"] += sum(is_of_people(one.edit) for one in found.negatives)
        self.trivial.update(kind for one in found.positives if (kind := kind_of_edit(one.edit)))
        for one in (*found.positives, *found.negatives):
            if one.expected is not None:
                self.accepted[one.kind] += round(1000 * one.expected)
                self.judged[one.kind] += 1

    def to_json(self) -> dict[str, dict[str, int]]:
        return {name: dict(sorted(counter.items())) for name, counter in vars(self).items()}


def sum_of_mixes(parts: Iterable[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    total = Mix()
    for part in parts:
        for name, counter in vars(total).items():
            counter.update(part[name])
    return total.to_json()


def expected(mix: dict[str, dict[str, int]], kind: str) -> float | None:
    """The share that strict readers should accept of what was written."""
    judged = mix["judged"].get(kind, 0)
    return mix["accepted"][kind] / judged / 1000 if judged else None


def described(mix: dict[str, dict[str, int]], captions: int, positives: int) -> list[str]:
    """The lines of the printed report."""
    told = {kind: share for kind in ("negative", "positive") if (share := expected(mix, kind)) is not None}
    if not told:
        return []
    total, trivial = sum(mix["negatives"].values()), sum(mix["trivial"].values())
    people, shares = mix["people"].get("negative", 0), [f"{share:.1%} of the {kind}s" for kind, share in told.items()]
    lines = ["", f"A strict reader should accept {', '.join(shares)}."]
    strange = mix["read"].get("strange", 0) / max(1, mix["read"].get("captions", 0))
    if strange > _EVERYDAY:
        lines = [
            "",
            f"{strange:.0%} of the captions have words that captions of everyday photos do not have. How many of",
        ]
        lines += [
            "their edits a strict reader accepts is not known: fewer than of everyday photos. Read some before use."
        ]
    if total:
        lines.append("Negatives by kind (percent of the texts, goal; captions that have one):")
        for kind, goal in (*GOAL.items(), ("contrast", "")):
            count, having = mix["negatives"].get(kind, 0), mix["having"].get(kind, 0)
            what = f"goal {goal}" if goal else '"X, not Y": exchanges nothing, so it is counted apart from swaps'
            lines.append(
                f"  {kind:<10}{count:>9,}  {100 * count / total:4.1f} % ({what}); {having:,} captions, "
                f"{100 * having / captions:.1f} %"
            )
        lines.append(f"  One word for a person in place of another: {100 * people / total:.1f} % of the negatives.")
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(mix["trivial"].items(), key=lambda pair: -pair[1]))
    lines.append(f"Trivial positives: {trivial:,} of {positives:,}" + (f" ({kinds})." if trivial else "."))
    return lines
