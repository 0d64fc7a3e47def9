"""Replace one word or phrase: by a synonym for a positive, by something exclusive for a negative.

`replace_judged` takes the proposals of all sources that the judge lets pass.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Literal

from equipoise.data.items import Edit
from equipoise.language.caption import Caption, Kept
from equipoise.language.forms import lemma_of
from equipoise.language.plausibility import IMPOSSIBLE, NOT_KNOWN, Doubt, doubts
from equipoise.language.vocabulary import SECTIONS, Section, count, word_set
from equipoise.perturb.bias.importance_weights import gaps
from equipoise.perturb.dial import Dial, accepted, positive_kind, rate_of
from equipoise.perturb.judge import chances, reading_of, readings_of
from equipoise.perturb.recipe import Candidate, Kind, Made, Op, Proposal, Refused, Sources, replaced
from equipoise.perturb.sources.fillers import offer
from equipoise.perturb.trivial import change, trivial_kind

COMMONNESS = 0.5  # how far `balanced` prefers common words in negatives: with less a lookup knows fewer of its words
NOTHING = math.exp(-2.5)  # the weight of no edit where one may be left out, against one for a plain draw of an edit


def replace_positive(
    caption: Caption,
    sources: Sources,
    rng: random.Random,
    targets: Sequence[Section] = SECTIONS,
    strict: bool = False,
    dial: Dial | None = None,
    trivial: bool | None = None,
) -> Made:
    """A synonym of any target, drawn among all of them. With a dial: only kinds that readers accept often enough, and
    the likelier the more words change. `trivial`: only trivial ones (trivial.py), or none of them."""
    known, text = False, caption.text
    caption_dial = dial and dial_for(caption, dial)
    if dial is not None and caption_dial is None:
        yield Refused(UNKNOWN)
        return
    for source in sources:  # a later source is only asked when the earlier ones have nothing that passes
        listed = [proposal for target in targets for proposal in source.synonyms(caption, target)]
        if caption_dial is not None:
            listed = [proposal for proposal in listed if caption_dial.allows(f"{proposal.by} {proposal.target}")]
        if trivial is not None:
            listed = [p for p in listed if (trivial_kind(text[p.start : p.end], p.to, p.by) is not None) == trivial]
        known |= bool(listed)
        worth = None if dial is None else {p: max(1.0, change(text[p.start : p.end], p.to)) for p in listed}
        for proposal in drawn(caption, "positive", listed, rng, strict, worth):
            if proposal is None:
                yield Refused("skipped on purpose, as its words come too often and would give the edit away")
                break
            candidate = replaced(text, "positive", proposal)
            yield candidate if dial is None else candidate._replace(expected=rate_of(positive_kind(candidate.edit)))
    if not known:
        what = targets[0] if len(targets) == 1 else "word"
        yield Refused(f"our word lists know no fitting synonym for any {what} in this caption")


def measured(caption: Caption, sources: Sources, rng: random.Random, op: Op, dial: Dial) -> Made:
    """The positives of another operation, if readers accept those of its kind often enough; with the share."""
    caption_dial = dial_for(caption, dial)
    for candidate in op(caption, sources, rng):
        if isinstance(candidate, Refused):
            yield candidate
        elif caption_dial is None or not caption_dial.allows(positive_kind(candidate.edit)):
            yield Refused(UNKNOWN if caption_dial is None else "readers accept such positives less often than asked")
        else:
            yield candidate._replace(expected=rate_of(positive_kind(candidate.edit)))


def replace_negative(caption: Caption, sources: Sources, rng: random.Random, target: Section) -> Made:
    """Words seen next to all their neighbours first, then those of lines marked `wide`, then the doubtful."""
    known = False
    for source in sources:
        later: list[list[Candidate]] = [[] for _ in range(IMPOSSIBLE + 1)]
        for proposal in drawn(caption, "negative", source.contrasts(caption, target), rng):
            if proposal is None:
                continue
            known, doubt = True, doubt_of(caption, proposal)
            candidate = replaced(caption.text, "negative", proposal)
            if doubt or proposal.mark == "wide":
                later[doubt].append(candidate)
            else:
                yield candidate
        # A relation that captions never have there is hardly ever possible; a thing or an action may be. Checks follow.
        yield from (
            candidate for tier in later[: NOT_KNOWN + 1 if target == "relation" else None] for candidate in tier
        )
    if not known:
        yield Refused(f"our word lists know no surely false word in place of any {target} in this caption")


def doubt_of(caption: Caption, proposal: Proposal) -> int:
    """The weight of the strongest doubt about a new word in its place: 0 (captions have it next to all its neighbours),
    not known, or unlikely. The checks drop impossible words, and say why."""
    return max((doubt.weight for doubt in _doubts(caption, proposal)), default=0)


def _doubts(caption: Caption, proposal: Proposal) -> Iterator[Doubt]:
    place = caption.units_of((proposal.start, proposal.end))
    if place is None or (proposal.by == "captions" and proposal.target == "attribute"):
        return iter(())
    return doubts(caption, *place, lemma_of(proposal.to, proposal.target), proposal.target, proposal.mark)


def drawn(
    caption: Caption,
    kind: Kind,
    proposals: Iterable[Proposal],
    rng: random.Random,
    strict: bool = False,
    worth: Mapping[Proposal, float] | None = None,
) -> Iterator[Proposal | None]:
    """Proposals in a random order. Words are drawn so that over many captions each, and each pair of neighbours, comes
    in about as often as it goes out: a classifier that only knows which words are suspicious learns little. A `strict`
    order may end early with None: "no edit" takes part in the draw too, and wins where all proposals would give
    themselves away. The weights are multiplied by `worth`."""
    listed = distinct(proposals)
    if not listed:
        return
    table: Literal["positive", "negative", "judged"] = "judged" if worth and kind == "negative" else kind
    plain = plain_weights(listed, caption.text if kind == "positive" else "", COMMONNESS if worth else 1.0)
    tilted = [
        weight * math.exp(-gap) * (worth[proposal] if worth else 1.0)
        for proposal, weight, gap in zip(listed, plain, gaps(caption.text, table, listed), strict=True)
    ]
    for place in weighted_order([*tilted, NOTHING] if strict else tilted, rng):
        yield listed[place] if place < len(listed) else None


def distinct(proposals: Iterable[Proposal]) -> list[Proposal]:
    """The proposals without those that write the same as an earlier one."""
    first: dict[tuple[int, int, str], Proposal] = {}
    for proposal in proposals:
        first.setdefault((proposal.start, proposal.end, proposal.to), proposal)
    return list(first.values())


def plain_weights(proposals: Sequence[Proposal], text: str = "", power: float = 1.0) -> list[float]:
    """Weights by which each place of the caption is equally likely, and a word there as likely as it is common (to the
    `power`). With the caption's `text`, rare words are replaced before common ones and by any of their synonyms: else
    half of all positives are a few dozen substitutions ("man" by "guy"), which a model has soon seen."""
    power = 0.0 if text else power
    totals: dict[tuple[int, int], float] = {}
    for proposal in proposals:
        place = proposal.start, proposal.end
        totals[place] = totals.get(place, 0.0) + proposal.weight**power
    shares = {place: _rarity(text[place[0] : place[1]]) if text else 1.0 for place in totals}
    # Words of other captions are right here and wrong elsewhere.
    shares |= {(proposal.start, proposal.end): 1.0 for proposal in proposals if proposal.by == "captions"}
    whole = len(shares)
    return [
        proposal.weight**power / totals[proposal.start, proposal.end] * shares[proposal.start, proposal.end] / whole
        for proposal in proposals
    ]


_COMMON = 30  # words that captions have more often than this are replaced less often


def _rarity(words: str) -> float:
    """Phrases are seldom counted; one may be a tenth as common as its rarest word."""
    single = words.split()
    number = count(words) if len(single) == 1 else max(count(words), min(map(count, single), default=1) / 10)
    return min(1.0, _COMMON / number) ** 3


def weighted_order(weights: Sequence[float], rng: random.Random) -> list[int]:
    """Places drawn one after the other without putting back, in proportion to their weights (an exponential race)."""
    keyed = [(-math.log(1.0 - rng.random()) / weight, place) for place, weight in enumerate(weights)]
    return [place for _, place in sorted(keyed)]


_SURE = 0.995  # surer words are not drawn more often: else the same few words would always be drawn
_BOUNDED = re.compile(
    r"\b(at (least|most)|(fewer|less|more) than|up to) "
    r"(\d|a |one|two|three|four|five|six|seven|eight|nine|ten)"
)
_CERTAIN = frozenset(("to the left", "to the right"))  # of something: never both, and no sheet had any
_WHY = ("may be true of the photo as well", "is unlikely or absurd there", "is no good English there")
Judged = dict[Section, list[list[tuple[Proposal, list[float]]]]]  # the proposals of each source, with their VERDICTS
_JUDGED: Kept[dict[Sources, Judged]] = Kept()


def prepare(captions: Sequence[Caption], sources: Sources) -> None:
    """Judge all proposals for all captions at once, and keep them with each caption."""
    captions = [caption for caption in captions if sources not in _JUDGED.once(caption, dict)]
    readings = readings_of(captions)
    offer(captions)
    proposed = [
        {target: [list(dict.fromkeys(source.contrasts(caption, target))) for source in sources] for target in SECTIONS}
        for caption in captions
    ]
    flat = [[proposal for tiers in by_target.values() for tier in tiers for proposal in tier] for by_target in proposed]
    for caption, by_target, rows in zip(
        captions, proposed, chances(list(zip(readings, flat, strict=True))), strict=True
    ):
        left = iter(rows.tolist())
        judged: Judged = {
            target: [list(zip(tier, left, strict=False)) for tier in tiers] for target, tiers in by_target.items()
        }
        _JUDGED.once(caption, dict)[sources] = judged


def replace_judged(caption: Caption, sources: Sources, rng: random.Random, target: Section, dial: Dial) -> Made:
    """Negatives that the judge lets pass; a later source is only asked if the earlier ones have none."""
    if is_bounded(caption.text):
        yield Refused(BOUNDED)
        return
    sure, caption_dial = False, dial_for(caption, dial)
    for passed in passing(caption, sources, target, dial):
        worth = {proposal: worth_of(chance) for proposal, chance in passed.items()}
        for proposal in drawn(caption, "negative", passed, rng, worth=worth):
            if proposal is None or caption_dial is None:
                continue
            kind = with_doubt(caption, proposal)
            if passed[proposal] >= caption_dial.least(kind) or proposal.to in _CERTAIN:
                sure = True
                yield replaced(caption.text, "negative", proposal)._replace(expected=accepted(kind, passed[proposal]))
    if not sure:
        yield Refused(_why_none(caption, sources, target, dial))


def worth_of(chance: float) -> float:
    return 1 / (1 - min(chance, _SURE))


def passing(caption: Caption, sources: Sources, target: Section, dial: Dial) -> Iterator[dict[Proposal, float]]:
    """The proposals of each source that the dial lets pass if captions have them next to their neighbours, with their
    chances; no word for a person in place of another."""
    if (caption_dial := dial_for(caption, dial)) is None:
        return
    least = {kind: caption_dial.least(kind) for kind in (target, _PROPOSED[target])}
    for tier in judged_of(caption, sources)[target]:
        yield {
            proposal: row[0]
            for proposal, row in tier
            if (row[0] >= least[noun_kind(proposal)] or proposal.to in _CERTAIN)
            and not _are_people(caption.text[proposal.start : proposal.end], proposal.to)
        }


def _why_none(caption: Caption, sources: Sources, target: Section, dial: Dial) -> str:
    if dial_for(caption, dial) is None:
        return UNKNOWN
    rows = [row for tier in judged_of(caption, sources)[target] for _, row in tier]
    reason = f"the likeliest {why(max(rows, key=itemgetter(0)))}" if rows else "none is known"
    return f"no word is sure enough in place of any {target} in this caption: {reason}"


def replace_best(caption: Caption, sources: Sources, rng: random.Random, dial: Dial) -> Made:
    """For a caption without a negative: the words of any target, for people too, that readers are likeliest to accept;
    they may be less sure than one of several."""
    caption_dial = dial_for(caption, dial)
    if is_bounded(caption.text) or caption_dial is None:
        yield Refused(BOUNDED if is_bounded(caption.text) else UNKNOWN)
        return
    text, queue, low = caption.text, [], min(caption_dial.least(f"{target} people", alone=True) for target in SECTIONS)
    judged = itertools.chain.from_iterable(itertools.chain.from_iterable(judged_of(caption, sources).values()))
    for place, (proposal, row) in enumerate(judged):
        if row[0] >= low and row[0] >= caption_dial.least(kind := noun_kind(proposal, text), alone=True):
            queue.append((-accepted(kind, row[0]), place, proposal, row[0], False))
    if not queue:
        yield Refused("no word is sure enough in place of any in this caption")
    heapq.heapify(queue)
    while queue:  # doubts take long: asked of the likeliest alone
        likely, place, proposal, chance, is_asked = heapq.heappop(queue)
        if is_asked:
            yield replaced(text, "negative", proposal)._replace(expected=-likely)
        elif chance >= caption_dial.least(kind := with_doubt(caption, proposal), alone=True):
            heapq.heappush(queue, (-accepted(kind, chance), place, proposal, chance, True))


def judged_of(caption: Caption, sources: Sources) -> Judged:
    judged = _JUDGED.once(caption, dict)
    if sources not in judged:
        prepare([caption], sources)
    return judged[sources]


BOUNDED = 'a count with a bound ("at least 4"): another number may be true too'
UNKNOWN = "the judge does not know enough words of this caption to tell"


def dial_for(caption: Caption, dial: Dial) -> Dial | None:
    """The dial for this caption. The judge and the lists know everyday photos: if the caption has words that captions
    of photos do not have, the dial is stricter; if it has many of them, it is None and nothing is written."""
    known = reading_of(caption).known_share
    return dial if known >= _ALL_KNOWN else dial.stricter() if known >= _MOST_KNOWN else None


_ALL_KNOWN, _MOST_KNOWN = 0.85, 0.8  # of the words


@functools.lru_cache(maxsize=4)  # one slot after another asks
def is_bounded(text: str) -> bool:
    return _BOUNDED.search(text.lower()) is not None


_PEOPLE = word_set("plain words for people")


def is_of_people(edit: Edit) -> bool:
    """Whether a plain word for a person became another: man, woman, boy, girl."""
    return edit.op == "replace" and edit.target == "object" and _are_people(edit.source or "", edit.to or "")


def _are_people(old: str, new: str) -> bool:
    return {old.lower().rpartition(" ")[2], new.lower().rpartition(" ")[2]} <= _PEOPLE


def noun_kind(proposal: Proposal, text: str = "") -> str:
    """The kind in the calibration; with the caption's text, also whether both are words for people."""
    kind = _PROPOSED[proposal.target] if proposal.mark == "wide" and proposal.by != "lexicon" else proposal.target
    return f"{kind} people" if text and _are_people(text[proposal.start : proposal.end], proposal.to) else kind


_PROPOSED = {target: f"{target} proposed" for target in SECTIONS}


def with_doubt(caption: Caption, proposal: Proposal) -> str:
    """The kind, and whether captions lack the new word next to its neighbours."""
    return noun_kind(proposal, caption.text) + (" doubtful" if any(_doubts(caption, proposal)) else "")


def why(chances: list[float]) -> str:
    return _WHY[chances.index(max(chances[1:]), 1) - 1] if any(chances) else "stands too far into a long caption"
