"""Counts of the texts that a run wrote and dropped, under the names of its report.

The mix has kinds of edits, people, trivial positives, and the share that readers should accept.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from equipoise.data.items import Item
from equipoise.perturb.operations.replace import is_of_people
from equipoise.perturb.recipe import Candidate, Perturbed, edit_class
from equipoise.perturb.trivial import kind_of_edit

HAVING = ("a positive", "a negative", "both", "both by swap", "both by replace", "neither")


def having(results: Iterable[Item | Perturbed]) -> dict[str, int]:
    """How many have the texts that a training recipe may need; a loss that needs both learns only from those."""
    counts = dict.fromkeys(HAVING, 0)
    for result in results:
        right, wrong = (
            {None if text.edit is None else text.edit.op for text in texts}
            for texts in (result.positives, result.negatives)
        )
        counts["a positive"] += bool(right)
        counts["a negative"] += bool(wrong)
        counts["both"] += bool(right and wrong)
        counts["both by swap"] += "swap" in right & wrong
        counts["both by replace"] += "replace" in right & wrong
        counts["neither"] += not (right or wrong)
    return counts


_PARTICULAR = re.compile(r"(?<!\w)'[^']*'(?!\w)|(?<!\w)\"[^\"]*\"(?!\w)|: .*| \(.*\)$")


@functools.lru_cache(maxsize=1 << 12)
def reason_class(reason: str) -> str:
    """A reason without the words of its caption, so that reasons can be counted."""
    return re.sub(r"\d[\d,]*", "N", _PARTICULAR.sub("…", reason)).replace("…,", "…").removesuffix("…").strip()


_NO_REASON = "every candidate was"  # refused by a check: the checks have their own
ASKED = ("answers", "answers_from_cache")  # of a language model
COUNTED = ("edits", "dropped", "refused", "empty", "lacking")
_WHEN = ("had", "added", "having")
_SHOWN, _ALL_SHOWN = 5, 20  # places of refused captions that a shard and the report keep


class Counts:
    """Counts of what a shard kept and dropped, under the names of the report."""

    def __init__(self) -> None:
        self.nothing = 0
        self.had, self.added, self.having = (dict.fromkeys(HAVING, 0) for _ in range(3))  # before, by this run, now
        self.edits, self.dropped, self.refused, self.empty, self.lacking = (Counter[str]() for _ in COUNTED)
        self.refused_at: list[list[str]] = []
        self.nothing_at: list[list[str]] = []
        self.lacking_at: dict[str, list[str]] = {}
        self.mix = Mix()

    def lack(self, where: str, text: str, result: Perturbed) -> None:
        """Count why a caption has no positive or negative: one reason for each, that of the text that came nearest."""
        by_kind = {"positive": result.positives, "negative": result.negatives}
        first: dict[str, str] = {}
        for name, reason in (*((candidate.kind, why) for candidate, why in result.dropped), *result.empty):
            kind = name.split()[0]  # slots are called "negative object", or as their paper does
            if not by_kind.get(kind, result.positives or result.negatives) and not reason.startswith(_NO_REASON):
                first.setdefault(kind if kind in by_kind else "text", reason)
        for kind, reason in first.items():
            name = f"{kind}: {reason_class(reason)}"
            self.lacking[name] += 1
            self.lacking_at.setdefault(name, [where, text, reason])

    def miss(self, where: str, result: Perturbed) -> None:
        """Count a caption that gave nothing."""
        self.nothing += 1
        if len(self.nothing_at) < _SHOWN:
            why = [reason for _, reason in (*result.dropped, *result.empty) if not reason.startswith(_NO_REASON)]
            self.nothing_at.append([where, "; ".join(list(dict.fromkeys(why))[:2])])

    def refuse(self, where: str, reason: str) -> None:
        self.refused[reason] += 1
        if len(self.refused_at) < _SHOWN:
            self.refused_at.append([where, reason])

    def add(self, result: Perturbed) -> None:
        self.mix.add(result)
        for candidate in (*result.positives, *result.negatives):
            self.edits[edit_class(candidate.kind, candidate.edit)] += 1
        self.empty.update({f"{slot}: {reason_class(reason)}" for slot, reason in result.empty})
        for candidate, reason in result.dropped:
            self.dropped[f"{candidate.kind}: {reason_class(reason)}"] += 1

    def have(self, before: Item | None, result: Perturbed, now: Item) -> None:
        """Count the texts that an item had before, got, and has now."""
        new = having([result])
        all_now = new if before is None else having([now])
        for name, count in having([before]).items() if before is not None else ():
            self.had[name] += count
        for name in HAVING:
            self.added[name] += new[name]
            self.having[name] += all_now[name]

    def to_json(self, captions: int) -> dict[str, object]:
        counters = {name: dict(sorted(getattr(self, name).items())) for name in COUNTED}
        return {"captions": captions, **vars(self), **counters, "mix": self.mix.to_json()}


def summed(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The counts of all shards together; reasons by how often they occur."""
    parts = list(parts)
    answered = [name for name in ASKED if any(name in part for part in parts)]
    total: dict[str, Any] = {name: sum(part[name] for part in parts) for name in ("captions", "items", "nothing")}
    total |= {name: sum(part.get(name, 0) for part in parts) for name in answered}
    total |= {when: {name: sum(part[when][name] for part in parts) for name in HAVING} for when in _WHEN}
    for name in COUNTED:
        counter = sum((Counter[str](part[name]) for part in parts), Counter[str]())
        total[name] = dict(sorted(counter.items(), key=lambda pair: (-pair[1], pair[0])))
    for name in ("refused_at", "nothing_at"):
        total[name] = [place for part in parts for place in part[name]][:_ALL_SHOWN]
    examples: dict[str, list[str]] = {}
    for part in reversed(parts):
        examples |= part["lacking_at"]
    total["lacking_at"] = {name: examples[name] for name in total["lacking"]}
    return {**total, "mix": sum_of_mixes(part["mix"] for part in parts)}


_EVERYDAY = 0.16  # of everyday captions 8 to 12 % have a word that the judge does not know, of web captions 20 %
GOAL = {"object": 40, "attribute": 25, "action": 15, "relation": 10, "swap": 10}  # of a hundred negatives


def edit_kind(candidate: Candidate) -> str:
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

    def add(self, result: Perturbed) -> None:
        if result.known is not None:
            self.read.update({"captions": 1, "strange": not result.known})
        kinds = [edit_kind(candidate) for candidate in result.negatives]
        self.negatives.update(kinds)
        self.having.update(set(kinds))
        self.people["negative"] += sum(is_of_people(candidate.edit) for candidate in result.negatives)
        self.trivial.update(kind for candidate in result.positives if (kind := kind_of_edit(candidate.edit)))
        for candidate in (*result.positives, *result.negatives):
            if candidate.expected is not None:
                self.accepted[candidate.kind] += round(1000 * candidate.expected)
                self.judged[candidate.kind] += 1

    def to_json(self) -> dict[str, dict[str, int]]:
        return {name: dict(sorted(counter.items())) for name, counter in vars(self).items()}


def sum_of_mixes(parts: Iterable[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    total = Mix()
    for part in parts:
        for name, counter in vars(total).items():
            counter.update(part[name])
    return total.to_json()


def expected(mix: dict[str, dict[str, int]], kind: str) -> float | None:
    """The share of the written texts that strict readers should accept."""
    judged = mix["judged"].get(kind, 0)
    return mix["accepted"][kind] / judged / 1000 if judged else None


def described(mix: dict[str, dict[str, int]], captions: int, positives: int) -> list[str]:
    """The lines of the printed report."""
    rates = {kind: share for kind in ("negative", "positive") if (share := expected(mix, kind)) is not None}
    if not rates:
        return []
    total, trivial = sum(mix["negatives"].values()), sum(mix["trivial"].values())
    people, shares = mix["people"].get("negative", 0), [f"{share:.1%} of the {kind}s" for kind, share in rates.items()]
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
