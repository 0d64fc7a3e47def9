"""Upper limits that a benchmark's texts set: items that no model, or no model of a kind, can get right.

A model that hears words but not their order cannot tell two texts of the same words apart, and every tie is lost: the
share of such items bounds it. Two texts that CLIP's tokenizer turns into the same tokens bound every CLIP. Doubled
items count twice without being two, and a text that one item calls right and another wrong for the same image makes one
of the two a lie. All of it in one pass over the texts, so it is computed with every run.

The tokens are those of CLIP's tokenizer before its merges (lower case, entities unescaped, white space squeezed, words,
single digits and runs of punctuation). A model reads only its first tokens (CLIP: 77, with one at each end), and every
word or sign is at least one: texts that are the same up to there are forced ties too. Words of several tokens bring the
cut forward, so there may be more of them than are counted.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from equipoise.data.items import Item

# The pattern of CLIP's tokenizer: endings after an apostrophe, words, single digits, runs of other signs.
_TOKEN = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d|[^\W\d_]+|\d|(?:[^\s\w]|_)+")
_SEVERAL = -1


class Ceilings(BaseModel):
    """Counts over items; shares of them are what a model cannot get. `items` and `with_positives` are those that
    Original and Augmented accuracy are of: with a hard negative, and with a hard positive as well."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    items: int
    with_positives: int
    same_words: int  # the caption has the words of a negative: Original is lost to a model that hears no order
    same_words_augmented: int  # ... or a hard positive has: Augmented is lost; of the items with a positive
    forced_ties: int  # the caption reads to CLIP as a negative does: Original is lost
    forced_ties_augmented: int
    duplicates: int  # items that are an earlier one again
    contradictions: int  # (image, text) pairs that one item calls right and another wrong

    @property
    def best_original(self) -> float:
        """The highest Original accuracy with CLIP's tokenizer."""
        return 1 - self.forced_ties / max(1, self.items)

    @property
    def best_original_without_order(self) -> float:
        """The highest Original accuracy of a model that ignores word order."""
        return 1 - self.same_words / max(1, self.items)

    @property
    def best_augmented_without_order(self) -> float | None:
        return 1 - self.same_words_augmented / self.with_positives if self.with_positives else None

    def line(self) -> str:
        """For the terminal: what there is to know, and nothing where there is nothing."""
        findings = []
        if self.same_words:
            augmented = self.best_augmented_without_order
            more = "" if augmented is None else f" (Augmented {100 * augmented:.1f})"
            best = f"{100 * self.best_original_without_order:.1f}{more}"
            findings.append(
                f"{self.same_words:,} of {self.items:,} captions with the words of a negative: without word order at "
                f"most {best}"
            )
        if self.forced_ties or self.forced_ties_augmented:
            count = max(self.forced_ties, self.forced_ties_augmented)
            findings.append(f"{count:,} forced ties: with CLIP's tokenizer at most {100 * self.best_original:.1f}")
        if self.duplicates:
            findings.append(f"{self.duplicates:,} items twice")
        if self.contradictions:
            findings.append(f"{self.contradictions:,} texts right in one item and wrong in another of the same image")
        return "; ".join(findings) or "no same-word pairs, forced ties, doubled items or contradictions"


def as_read(text: str) -> str:
    """The text in the tokens of CLIP's tokenizer before its merges, with a space between."""
    if "&" in text:
        text = html.unescape(html.unescape(text))
    return " ".join(_TOKEN.findall(text.lower()))


def _within_context(read: str, context: int) -> str:
    """The first context - 2 tokens; a text too short to hold more is returned as it is."""
    return read if len(read) < 2 * (context - 2) else " ".join(read.split(" ")[: context - 2])


def has_words_of(text: str, others: Sequence[str]) -> bool:
    """Whether one of the others has the same words; texts of another length cannot."""
    alike = [other for other in others if len(other) == len(text)]
    return bool(alike) and sorted(text.split()) in [sorted(other.split()) for other in alike]


CONTEXT = 77  # tokens that CLIP reads


def ceilings(items: Iterable[Item], context: int = CONTEXT) -> Ceilings:
    """The counts of some items, in one pass; of every text only a hash is kept. `context` is what the model reads."""
    count: Counter[str] = Counter()
    seen: set[int] = set()
    right: dict[int, int] = {}  # (image, text) -> the one item that calls it right, or _SEVERAL
    wrong: list[tuple[int, int]] = []
    for place, item in enumerate(items):
        read = [as_read(text) for text in item.texts()]
        correct, negatives = read[: 1 + len(item.positives)], read[1 + len(item.positives) :]
        heard = {_within_context(text, context) for text in negatives}
        tied = [_within_context(text, context) in heard for text in correct]
        same = [has_words_of(text, negatives) for text in correct]
        count["items"] += bool(negatives)
        count["same_words"] += same[0]
        count["forced_ties"] += tied[0]
        if item.positives and negatives:
            count["with_positives"] += 1
            count["same_words_augmented"] += any(same)
            count["forced_ties_augmented"] += any(tied)
        image = None if item.image is None else (item.image.path, item.image.box)
        whole = hash((image, len(correct), *read))
        count["duplicates"] += whole in seen
        seen.add(whole)
        if image is not None:
            for key in {hash((image, text)) for text in correct}:
                right[key] = place if key not in right else _SEVERAL
            wrong += [(hash((image, text)), place) for text in negatives]
    lies = {key for key, place in wrong if right.get(key, place) != place}
    counted = {name: count[name] for name in Ceilings.model_fields if name != "contradictions"}
    return Ceilings(**counted, contradictions=len(lies))
