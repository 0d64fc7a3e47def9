"""REPLACE without its defects: only the records whose hard positive is right and whose hard negative is wrong.

REPLACE was made by string replacement on VL-CheckList, itself made so. studies/replace_clean.py finds each sort of flaw
with a check of its own: a record with any is dropped, and only articles and spaces are repaired. REPLACE never changes,
so the verdicts are data: data/replace/clean.json has every reason for which a record is dropped.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.benchmarks.base import DATA, stored
from equipoise.benchmarks.replace import build as replace
from equipoise.core.errors import UserError
from equipoise.core.files import sha256_json
from equipoise.data.items import Item, Text
from equipoise.language.forms import fix_articles

VERDICTS = DATA / "replace" / "clean.json"
REASONS: dict[str, str] = stored("replace/words")["reasons"]


@dataclass(frozen=True)
class PairVerdict:
    """A record that was dropped or repaired (as it was before), and every reason for it."""

    item: Item
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Cleaned:
    kept: list[Item]  # repaired where it was needed; the number in the id is that of `replace`
    dropped: list[PairVerdict]
    repaired: list[PairVerdict]

    def reasons_table(self) -> list[tuple[str, int, int]]:
        """(reason, records dropped, records repaired); a record with several reasons counts in each row."""
        dropped = Counter(reason for verdict in self.dropped for reason in verdict.reasons)
        repaired = Counter(reason for verdict in self.repaired for reason in verdict.reasons)
        return [(reason, dropped[reason], repaired[reason]) for reason in REASONS]


def texts_of(item: Item) -> tuple[str, str, str]:
    return item.caption, item.positives[0].text, item.negatives[0].text


def repair(item: Item, lost: tuple[int, str] | None) -> tuple[Item, tuple[str, ...]]:
    """The record as an item of replace-clean, and what had to be repaired; `lost` is the negative's missing article and
    how many words stand before it."""
    spaced = [" ".join(text.split()) for text in texts_of(item)]
    caption, positive, negative = spaced
    if lost:
        before, article = lost
        negative = " ".join([*negative.split()[:before], article, *negative.split()[before:]])
    fixed = [fix_articles(text) for text in (caption, positive, negative)]
    repairs = {
        "article": fixed != [caption, positive, negative],
        "lost article": negative != spaced[2],
        "spaces": tuple(spaced) != texts_of(item),
    }
    repaired = item.model_copy(
        update={
            "id": item.id.replace("replace-", "replace-clean-", 1),
            "caption": fixed[0],
            "positives": (Text(text=fixed[1], edit=item.positives[0].edit),),
            "negatives": (Text(text=fixed[2], edit=item.negatives[0].edit),),
        }
    )
    return repaired, tuple(name for name, done in repairs.items() if done)


def sort(items: Iterable[Item], dropped: Mapping[str, Sequence[str]], lost: Mapping[str, tuple[int, str]]) -> Cleaned:
    """Kept, dropped and repaired records by the verdicts, which are listed by the records' ids."""
    result = Cleaned([], [], [])
    for item in items:
        if reasons := dropped.get(item.id):
            result.dropped.append(PairVerdict(item, tuple(reasons)))
            continue
        fixed, repairs = repair(item, lost.get(item.id))
        if repairs:
            result.repaired.append(PairVerdict(item, repairs))
        result.kept.append(fixed)
    return result


def clean(items: Sequence[Item]) -> Cleaned:
    """Sort the records of REPLACE into kept, dropped and repaired."""
    known = json.loads(VERDICTS.read_text(encoding="utf-8"))
    for split, group in itertools.groupby(items, lambda item: item.tags.get("split", "")):
        records = list(group)
        if fingerprint(records) != known["sha256"].get(split):
            raise UserError(
                f"replace-clean: {len(records):,} records of split {split!r} are not those of the published REPLACE, "
                "and only those were checked. Get their files: equipoise bench fetch replace-clean --out DIR"
            )
    return sort(items, known["dropped"], known["lost article"])


def fingerprint(items: Sequence[Item]) -> str:
    return sha256_json([item.to_json() for item in items])


def load(source: Path, splits: Sequence[str] = ()) -> list[Item]:
    """The items of `replace` that passed every check."""
    return clean(replace.load(source, splits)).kept
