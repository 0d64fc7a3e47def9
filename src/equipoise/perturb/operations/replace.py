"""Replace one word or phrase: by a synonym for a positive, by something exclusive for a negative.

`replace_judged` takes what the judge lets pass of all that the sources propose.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from equipoise.perturb.bias.importance_weights import gaps
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.forms import lemma_of
from equipoise.perturb.english.plausibility import IMPOSSIBLE, NOT_KNOWN, doubts
from equipoise.perturb.english.vocabulary import SECTIONS, Section, count
from equipoise.perturb.judge import Array, reading_of
from equipoise.perturb.recipe import Candidate, Kind, Proposal, Refused, Source, replaced

NOTHING = math.exp(-2.5)  # the weight of no edit where one may be left out, against one for a plain draw of an edit


def replace_positive(
    caption: Caption, sources: Sequence[Source], rng: random.Random, target: Section, strict: bool = False
) -> Iterator[Candidate | Refused]:
    found = False
    for source in sources:  # a later source is only asked when the earlier ones have nothing that passes
        listed = list(source.synonyms(caption, target))
        found |= bool(listed)
        yield from _written(caption, "positive", listed, rng, strict)
    if not found:
        yield Refused(f"our word lists know no fitting synonym for any {target} in this caption")


def replace_any_positive(
    caption: Caption, sources: Sequence[Source], rng: random.Random
) -> Iterator[Candidate | Refused]:
    """A replacement of any target, drawn among all of them."""
    found = False
    for source in sources:
        listed = [proposal for target in SECTIONS for proposal in source.synonyms(caption, target)]
        found |= bool(listed)
        yield from _written(caption, "positive", listed, rng)
    if not found:
        yield Refused("our word lists know no fitting synonym for any word of this caption")


def replace_negative(
    caption: Caption, sources: Sequence[Source], rng: random.Random, target: Section
) -> Iterator[Candidate | Refused]:
    """Words seen beside all their neighbours first, then those of lines marked `wide`, then the doubtful."""
    found = False
    for source in sources:
        later: list[list[Candidate]] = [[] for _ in range(IMPOSSIBLE + 1)]
        for each in drawn(caption, "negative", source.contrasts(caption, target), rng):
            if each is None:
                continue
            found, doubt = True, doubt_of(caption, each)
            made = replaced(caption.text, "negative", each)
            if doubt or each.mark == "wide":
                later[doubt].append(made)
            else:
                yield made
        # A place that nobody is seen at is hardly ever one; a thing or an action may be. The checks have their word.
        yield from (made for tier in later[: NOT_KNOWN + 1 if target == "relation" else None] for made in tier)
    if not found:
        yield Refused(f"our word lists know no surely false word in place of any {target} in this caption")


def doubt_of(caption: Caption, proposal: Proposal) -> int:
    """How much speaks against a new word where it would stand: nothing (captions have it beside all its neighbours),
    that this is not known, or that it is unlikely. What is impossible the checks drop, and say why."""
    if proposal.by == "gender" or (proposal.by == "captions" and proposal.target == "attribute"):
        return 0
    place = caption.units_of((proposal.start, proposal.end))
    if place is None:
        return 0
    word = lemma_of(proposal.to, proposal.target)
    return max((doubt.weight for doubt in doubts(caption, *place, word, proposal.target, proposal.mark)), default=0)


def _written(
    caption: Caption, kind: Kind, proposals: Iterable[Proposal], rng: random.Random, strict: bool = False
) -> Iterator[Candidate | Refused]:
    for each in drawn(caption, kind, proposals, rng, strict):
        if each is None:
            yield Refused("skipped on purpose, as its words come too often and would give the edit away")
            return
        yield replaced(caption.text, kind, each)


def drawn(
    caption: Caption,
    kind: Kind,
    proposals: Iterable[Proposal],
    rng: random.Random,
    strict: bool = False,
    worth: Mapping[Proposal, float] | None = None,
) -> Iterator[Proposal | None]:
    """Proposals in a random order whose first element leaves the frequencies of words as they are.

    Words are drawn so that over many captions each, and each pair of neighbours, comes in about as often as it goes
    out, and a classifier that only knows which words are suspicious learns little. A `strict` order may be cut short by
    None: no edit at all takes part in the draw too, and wins where all there is would give itself away. `worth` tells
    how much more often one is drawn than that would say.
    """
    listed = distinct(proposals)
    if not listed:
        return
    plain = plain_weights(listed, caption.text if kind == "positive" else "")
    tilted = [
        weight * math.exp(-gap) * (worth[each] if worth else 1.0)
        for each, weight, gap in zip(listed, plain, gaps(caption.text, kind, listed), strict=True)
    ]
    for place in weighted_order([*tilted, NOTHING] if strict else tilted, rng):
        yield listed[place] if place < len(listed) else None


def distinct(proposals: Iterable[Proposal]) -> list[Proposal]:
    """The first of those that write the same."""
    first: dict[tuple[int, int, str], Proposal] = {}
    for proposal in proposals:
        first.setdefault((proposal.start, proposal.end, proposal.to), proposal)
    return list(first.values())


def plain_weights(proposals: Sequence[Proposal], text: str = "") -> list[float]:
    """Each place of the caption is as likely as any other, and a word there as likely as it is common.

    With the caption's `text`, rare words are replaced before common ones and by any of their synonyms: else half of all
    positives are a few dozen substitutions ("man" by "guy"), which a model has soon seen.
    """
    power = 0.0 if text else 1.0
    totals: dict[tuple[int, int], float] = {}
    for proposal in proposals:
        place = proposal.start, proposal.end
        totals[place] = totals.get(place, 0.0) + proposal.weight**power
    shares = {place: _rarity(text[place[0] : place[1]]) if text else 1.0 for place in totals}
    shares |= {
        (each.start, each.end): 1.0 for each in proposals if each.by == "captions"
    }  # right here, wrong elsewhere
    whole = len(shares)
    return [
        proposal.weight**power / totals[proposal.start, proposal.end] * shares[proposal.start, proposal.end] / whole
        for proposal in proposals
    ]


_COMMON = 30  # what captions have more often than this is replaced less often


def _rarity(words: str) -> float:
    """Phrases are seldom counted; one may be a tenth as common as its rarest word."""
    each = words.split()
    number = count(words) if len(each) == 1 else max(count(words), min(map(count, each), default=1) / 10)
    return min(1.0, _COMMON / number) ** 3


def weighted_order(weights: Sequence[float], rng: random.Random) -> list[int]:
    """Places drawn one after the other without putting back, in proportion to their weights (an exponential race)."""
    keyed = [(-math.log(1.0 - rng.random()) / weight, place) for place, weight in enumerate(weights)]
    return [place for _, place in sorted(keyed)]


# The least chance to pass: where nothing else speaks against an edit, where one thing does, and where both do: captions
# have the new word with other neighbours only, or it is of a wide line or a word that the judge itself proposes. At the
# same chance readers fail these more often. Chosen on verdicts of what the recipes write of captions that the net had
# not seen (docs/tasks/captions.md): STRICT for what a strict reader passes 92 times in 100, LENIENT for nine in ten.
Least = Mapping[str, tuple[float, ...]]
STRICT: Least = {
    "object": (0.96, 0.975, 0.985),
    "attribute": (0.96, 0.99, 0.995),
    "action": (0.97, 0.975, 0.99),
    "relation": (0.98, 0.985, 0.985),
    "swap": (0.9,),
}
LENIENT: Least = {
    "object": (0.94, 0.96, 0.975),
    "attribute": (0.94, 0.98, 0.98),
    "action": (0.95, 0.96, 0.98),
    "relation": (0.975, 0.98, 0.98),
    "swap": (0.85,),
}
_SURE = 0.995  # what is surer than this is not drawn more often: else the same few words would always be
_BOUNDED = re.compile(
    r"\b(at (least|most)|(fewer|less|more) than|up to) "
    r"(\d|a |one|two|three|four|five|six|seven|eight|nine|ten)"
)
_CERTAIN = frozenset(("to the left", "to the right"))  # of something: never both, and no sheet had any
_WHY = ("may be true of the photo as well", "is unlikely or absurd there", "is no good English there")


def replace_judged(
    caption: Caption,
    sources: Sequence[Source],
    rng: random.Random,
    target: Section,
    least: Least = STRICT,
) -> Iterator[Candidate | Refused]:
    """A later source is only asked when the earlier ones have nothing that passes."""
    if is_bounded(caption):
        yield Refused("a count with a bound: of fewer than ten cars nobody knows that it is not true of bicycles")
        return
    best, sure, known = np.zeros(4, np.float32), False, False
    for source in sources:
        passed, chances = passing(caption, source, target, least)
        for one in drawn(caption, "negative", passed, rng, worth=passed):
            if one is not None:
                yield replaced(caption.text, "negative", one)
        sure, known = sure or bool(passed), known or len(chances) > 0
        best = max((best, *chances), key=lambda row: float(row[0]))
    if not sure:
        reason = f"the likeliest {why(best)}" if known else "none is known"
        yield Refused(f"no word is sure enough in place of any {target} in this caption: {reason}")


def is_bounded(caption: Caption) -> bool:
    return _BOUNDED.search(caption.text.lower()) is not None


def passing(
    caption: Caption, source: Source, target: Section, least: Least = STRICT
) -> tuple[dict[Proposal, float], Array]:
    """What one source proposes and the judge would let pass, each with its worth in the draw; the chances of all."""
    listed = list(dict.fromkeys(source.contrasts(caption, target)))
    if not listed:
        return {}, np.zeros((0, 4), np.float32)
    chances = reading_of(caption).chances(listed)
    passed = {
        each: 1 / (1 - min(float(chance), _SURE))
        for each, chance in zip(listed, chances[:, 0], strict=True)
        if each.to in _CERTAIN or _is_likely(caption, each, float(chance), least[target])
    }
    return passed, chances


def _is_likely(caption: Caption, proposal: Proposal, chance: float, least: Sequence[float]) -> bool:
    """Enough for what speaks against it; counts, which take longer, are only asked where they decide."""
    against = int(proposal.mark == "wide")
    if chance < least[against] or chance >= least[against + 1]:
        return chance >= least[against]
    return not doubt_of(caption, proposal)


def why(chances: Array) -> str:
    return _WHY[int(np.argmax(chances[1:]))] if chances.any() else "stands too far into a long caption"
