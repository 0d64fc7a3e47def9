"""`Recipe`, `perturb_caption`, which follows one, and the types that its parts exchange.

A source proposes words for a stretch of a caption, an operation writes candidates, checks keep them or say why not.
Every random number is drawn from a generator seeded by seed, recipe and caption text, so that a caption gets the same
candidates in any order and from any number of workers.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Literal, NamedTuple, get_args

from equipoise.core.errors import UserError
from equipoise.data.items import Edit, Operation, Target
from equipoise.language.caption import Caption, Kept, unusable
from equipoise.language.forms import write_edit
from equipoise.language.vocabulary import Section


class Proposal(NamedTuple):
    """Characters `start:end` of the caption may become `to`.

    Weights are relative among the proposals for one place.
    """

    start: int
    end: int
    to: str
    target: Section
    by: str
    weight: float
    mark: str = ""  # "sure", "kin" or "wide": how a negative's line of exclusive.txt is marked


class Source:
    """A source of words for a caption; one that has only one of the two kinds leaves the other out."""

    name: str

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        """Replacements that keep the meaning."""
        return iter(())

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        """Replacements that break the meaning: only one of the two can be true of the same thing."""
        return iter(())


class Both(Source):
    """Two sources whose proposals are drawn together; in a recipe, a later source waits until an earlier has none."""

    def __init__(self, first: Source, second: Source) -> None:
        self.name, self._parts = first.name, (first, second)

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return chain.from_iterable(part.synonyms(caption, target) for part in self._parts)

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return chain.from_iterable(part.contrasts(caption, target) for part in self._parts)


Kind = Literal["positive", "negative"]
KINDS = frozenset(get_args(Kind))


class Candidate(NamedTuple):
    text: str
    kind: Kind
    edit: Edit
    mark: str = ""  # of the line its new word is from: "sure", "kin" or "wide"
    expected: float | None = None  # how likely a strict reader is to accept it, where that was measured (dial.py)


class Refused(NamedTuple):
    """Why an operation makes nothing here; yielded like a candidate."""

    reason: str


def edited(
    text: str, kind: Kind, op: Operation, target: Target, span: tuple[int, int], to: str, by: str, new: str
) -> Candidate:
    """The candidate `new`, in which characters `span` of `text` were changed to `to`."""
    edit = Edit(op=op, target=target, source=text[span[0] : span[1]], to=to, by=by, span=span)
    return Candidate(new, kind, edit)


def edit_class(kind: str, edit: Edit) -> str:
    """The name under which an edit is counted: "negative replace object"."""
    return " ".join(filter(None, (kind, edit.op, edit.target)))


def replaced(text: str, kind: Kind, proposal: Proposal) -> Candidate:
    """A proposal written into the caption."""
    new = write_edit(text, proposal.start, proposal.end, proposal.to)
    span = (proposal.start, proposal.end)
    candidate = edited(text, kind, "replace", proposal.target, span, proposal.to, proposal.by, new)
    return candidate._replace(mark=proposal.mark)


Sources = Sequence[Source]
Made = Iterator[Candidate | Refused]
Op = Callable[[Caption, Sources, random.Random], Made]
EditCheck = Callable[[Caption, Candidate], str | None]
Prepare = Callable[[Sequence[Caption], Sequence[Source]], None]


@dataclass(frozen=True)
class Slot:
    """One text of the output: the first candidate that passes, of the operations in turn."""

    name: str
    ops: tuple[Op, ...]
    unless: str | None = None  # a kind: the slot is only for captions that have none of it yet
    drawn: bool = False  # the operations in an order drawn for each caption, so that each has its share


@dataclass(frozen=True)
class Recipe:
    name: str
    about: str
    slots: tuple[Slot, ...]
    sources: tuple[Source, ...] = ()
    checks: tuple[EditCheck, ...] = ()
    pick: int | None = None  # at most so many of the filled slots, drawn at random
    masked_lm: Literal["none", "checked", "fourth guess"] = "checked"  # how one would be used, if there are sources
    without_masked_lm: str = ""  # what the report says where none is given
    prepare: Prepare | None = None  # work on many captions at once, kept with each; the texts are the same without it

    @property
    def takes_masked_lm(self) -> bool:
        return bool(self.sources) and self.masked_lm != "none"


@dataclass
class Perturbed:
    positives: list[Candidate] = field(default_factory=list)
    negatives: list[Candidate] = field(default_factory=list)
    dropped: list[tuple[Candidate, str]] = field(default_factory=list)
    empty: list[tuple[str, str]] = field(default_factory=list)  # (slot, why it has no text), a slot more than once
    refused: str | None = None  # why nothing was tried
    known: bool | None = None  # see IS_KNOWN


IS_KNOWN: Kept[bool] = Kept()  # whether the judge, where it read the caption, knows all of its words
_TRIES = 80  # candidates a slot may drop before it stays empty


def perturb_caption(recipe: Recipe, caption: Caption, seed: int = 0) -> Perturbed:
    """Positives and negatives of one caption, and the dropped candidates with their reasons."""
    result = Perturbed(refused=unusable(caption.text))
    if result.refused:
        return result
    seen: set[str] = set()  # not the caption: an edit that changes nothing is dropped with a reason
    filled: list[Candidate] = []
    drawn_by = f"{seed}\0{recipe.name}\0{caption.text}".encode("utf-8", "surrogatepass")
    rng = random.Random(int.from_bytes(hashlib.blake2b(drawn_by, digest_size=8).digest(), "big"))
    for slot in recipe.slots:
        if slot.unless and any(candidate.kind == slot.unless for candidate in filled):
            continue
        chosen = _first_kept(recipe, slot, caption, rng, seen, result)
        if chosen is not None:
            seen.add(chosen.text)
            filled.append(chosen)
    if recipe.pick is not None and len(filled) > recipe.pick:
        filled = rng.sample(filled, recipe.pick)
    for candidate in filled:
        (result.positives if candidate.kind == "positive" else result.negatives).append(candidate)
    result.known = IS_KNOWN.get(caption)
    return result


def perturb_captions(recipe: Recipe, captions: Iterable[Caption], seed: int = 0) -> Iterator[Perturbed]:
    """Batched `perturb_caption`: several times faster for recipes with a judge."""
    remaining = iter(captions)
    while block := list(islice(remaining, TOGETHER)):
        prepare([recipe], block)
        yield from (perturb_caption(recipe, caption, seed) for caption in block)


TOGETHER = 50  # captions that are prepared at once: enough for large products, few enough for the processor cache


def prepare(recipes: Sequence[Recipe], captions: Sequence[Caption]) -> None:
    usable = [caption for caption in captions if unusable(caption.text) is None]
    for recipe in recipes:
        if recipe.prepare is not None:
            with contextlib.suppress(Exception):  # perturbing the caption itself reports the problem
                recipe.prepare(usable, recipe.sources)


def _first_kept(
    recipe: Recipe, slot: Slot, caption: Caption, rng: random.Random, seen: set[str], result: Perturbed
) -> Candidate | None:
    tries, reasons = 0, []
    dropped = len(result.dropped)
    for op in rng.sample(slot.ops, len(slot.ops)) if slot.drawn else slot.ops:
        tries = 0 if slot.drawn else tries
        made = op(caption, recipe.sources, rng)
        if not isinstance(made, Iterable):
            raise _not_a_candidate(op, made)
        for candidate in made:
            if isinstance(candidate, Refused):
                reasons.append(candidate.reason)
                continue
            if not isinstance(candidate, Candidate) or candidate.kind not in KINDS:
                raise _not_a_candidate(op, candidate)
            if candidate.text in seen:
                reasons.append("the recipe wrote the same text already")
                continue
            reason = next((why for check in recipe.checks if (why := check(caption, candidate))), None)
            if reason is None:
                return candidate
            result.dropped.append((candidate, reason))
            tries += 1
            if tries >= _TRIES:
                break
        if tries >= _TRIES and not slot.drawn:
            reasons.append(f"the first {_TRIES} candidates were all refused by a check")
            break
    if len(result.dropped) > dropped:
        reasons.append("every candidate was refused by a check")
    result.empty += [
        (slot.name, reason) for reason in dict.fromkeys(reasons or ["the caption has nothing of this kind"])
    ]
    return None


def _not_a_candidate(op: Op, value: object) -> UserError:
    """The error for a value that an operation, mostly a user's own, should not have yielded."""
    name = getattr(op, "__name__", type(op).__name__)
    if isinstance(value, Candidate):
        return UserError(f'operation {name}: expected kind "positive" or "negative", found {value.kind!r}')
    return UserError(
        f"operation {name} yielded a {type(value).__name__}; expected equipoise.extend.Candidate "
        "(yield it, do not return it)"
    )
