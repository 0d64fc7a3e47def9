"""Named recipes: operations, word sources and checks, called after their paper and year.

`perturb_caption` draws every random number from a generator seeded by seed, recipe and caption text, so that a
caption gets the same candidates in any order and from any number of workers.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from equipoise.errors import UserError, did_you_mean
from equipoise.perturb import checks
from equipoise.perturb.candidate import Candidate
from equipoise.perturb.caption import Caption, unusable
from equipoise.perturb.operations.add import add_attribute, add_object
from equipoise.perturb.operations.negate import negate
from equipoise.perturb.operations.replace import replace_any_positive, replace_negative, replace_positive
from equipoise.perturb.operations.shuffle import (
    shuffle_all_but_nouns_and_adjectives,
    shuffle_nouns_and_adjectives,
    shuffle_trigrams,
    shuffle_within_trigrams,
)
from equipoise.perturb.operations.swap_negative import swap_alike, swap_attributes, swap_nouns, swap_phrases, swap_spans
from equipoise.perturb.operations.swap_positive import swap_positive
from equipoise.perturb.sources.base import Source
from equipoise.perturb.sources.files import SECTIONS, Section
from equipoise.perturb.sources.lexicon import Lexicon
from equipoise.perturb.sources.wordnet import WordNet

Op = Callable[[Caption, Sequence[Source], random.Random], Iterator[Candidate]]
Check = Callable[[Caption, Candidate], str | None]


@dataclass(frozen=True)
class Slot:
    """One text of the output: the first candidate that passes, of the operations in turn."""

    name: str
    ops: tuple[Op, ...]
    unless: str | None = None  # a kind: the slot is only for captions that have none of it yet


@dataclass(frozen=True)
class Recipe:
    name: str
    about: str
    slots: tuple[Slot, ...]
    sources: tuple[Source, ...] = ()
    checks: tuple[Check, ...] = ()
    pick: int | None = None  # at most so many of the filled slots, drawn at random


@dataclass
class Perturbed:
    positives: list[Candidate] = field(default_factory=list)
    negatives: list[Candidate] = field(default_factory=list)
    dropped: list[tuple[Candidate, str]] = field(default_factory=list)
    refused: str | None = None  # why nothing was tried


CHECKS: tuple[Check, ...] = (
    checks.changed,
    checks.plausible,
    checks.can_be_told,
    checks.not_there_too,
    checks.small_edit,
    checks.grammar,
    checks.shares_sense,
    checks.not_true_already,
    checks.not_true_elsewhere,
    checks.really_swapped,
)
_TRIES = 80  # candidates a slot may drop before it stays empty


def perturb_caption(recipe: Recipe, caption: Caption, seed: int = 0) -> Perturbed:
    """Positives and negatives of one caption, and what was dropped and why."""
    result = Perturbed(refused=unusable(caption.text))
    if result.refused:
        return result
    seen: set[str] = set()  # not the caption: an edit that changes nothing is dropped with a reason
    filled: list[Candidate] = []
    rng = _generator(seed, recipe.name, caption.text)
    for slot in recipe.slots:
        if slot.unless and any(candidate.kind == slot.unless for candidate in filled):
            continue
        found = _first_kept(recipe, slot, caption, rng, seen, result)
        if found is not None:
            seen.add(found.text)
            filled.append(found)
    if recipe.pick is not None and len(filled) > recipe.pick:
        filled = rng.sample(filled, recipe.pick)
    for candidate in filled:
        (result.positives if candidate.kind == "positive" else result.negatives).append(candidate)
    return result


def _first_kept(
    recipe: Recipe, slot: Slot, caption: Caption, rng: random.Random, seen: set[str], result: Perturbed
) -> Candidate | None:
    tries = 0
    for op in slot.ops:
        for candidate in op(caption, recipe.sources, rng):
            if candidate.text in seen:
                continue
            reason = next((why for check in recipe.checks if (why := check(caption, candidate))), None)
            if reason is None:
                return candidate
            result.dropped.append((candidate, reason))
            tries += 1
            if tries >= _TRIES:
                return None
    return None


def _generator(*parts: object) -> random.Random:
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return random.Random(int.from_bytes(digest, "big"))


# ---------------------------------------------------------------------------- the recipes


def _matched_positive(target: Section) -> Slot:
    return Slot(f"positive {target}", (functools.partial(replace_positive, target=target, strict=True),))


def _negative(target: Section) -> Slot:
    return Slot(f"negative {target}", (functools.partial(replace_negative, target=target),))


_SWAP_POSITIVE = Slot("positive swap", (swap_positive,))
_LEXICON, _WORDNET = Lexicon(), WordNet()

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "hard_positives_rules",
            'One replace positive and, where an "and" allows it, one swap positive; offline. Our default.',
            (Slot("positive replace", (replace_any_positive,)), _SWAP_POSITIVE),
            (_LEXICON,),
            CHECKS,
        ),
        Recipe(
            "balanced",
            "A positive and a negative of every type that applies, all checked, matched in type and word frequency.",
            (
                *(slot(target) for target in SECTIONS for slot in (_matched_positive, _negative)),
                _SWAP_POSITIVE,
                Slot("positive replace", (replace_any_positive,), unless="positive"),
                Slot("negative swap", (swap_attributes, swap_alike)),
            ),
            (_LEXICON,),
            CHECKS,
        ),
        Recipe(
            "crepe_ma_2023",
            "CREPE's productivity negatives: replace (antonyms, co-hyponyms), swap, negate.",
            (
                Slot("replace", tuple(functools.partial(replace_negative, target=target) for target in SECTIONS)),
                Slot("swap", (swap_attributes, swap_phrases, swap_nouns)),
                Slot("negate", (negate,)),
            ),
            (_LEXICON, _WORDNET),
            CHECKS,
        ),
        Recipe(
            "ce_clip_zhang_2024",
            "CE-CLIP's four types: relation (two nouns swapped), attribute, action, object.",
            (
                Slot("relation", (swap_nouns,)),
                _negative("attribute"),
                _negative("action"),
                _negative("object"),
            ),
            (_LEXICON, _WORDNET),
            CHECKS,
        ),
        Recipe(
            "negclip_yuksekgonul_2023",
            "NegCLIP's swaps of two spans of one type: phrases, nouns, verbs, adverbs or adjectives.",
            (Slot("swap", (swap_spans,)),),
            (),
            (checks.changed, checks.really_swapped),
        ),
        Recipe(
            "svlc_doveh_2023",
            "SVLC's rule-based negatives: one word of a list (colour, action, material, size, state) for another.",
            (_negative("attribute"), _negative("action")),
            (_LEXICON,),
            CHECKS,
            pick=1,
        ),
        Recipe(
            "aro_order_yuksekgonul_2023",
            "ARO's four order shuffles, seeded.",
            (
                Slot("nouns and adjectives", (shuffle_nouns_and_adjectives,)),
                Slot("all but nouns and adjectives", (shuffle_all_but_nouns_and_adjectives,)),
                Slot("within trigrams", (shuffle_within_trigrams,)),
                Slot("trigrams", (shuffle_trigrams,)),
            ),
            (),
            (checks.changed,),
        ),
        Recipe(
            "sugarcrepe_add_hsieh_2023",
            "SugarCrepe's ADD by rules: an object or an attribute that the photo does not have.",
            (Slot("add object", (add_object,)), Slot("add attribute", (add_attribute,))),
            (),
            CHECKS,
        ),
    )
}


def get_recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise UserError(f"no recipe {name!r}; there are {', '.join(RECIPES)}.{did_you_mean(name, RECIPES)}")
    return RECIPES[name]
