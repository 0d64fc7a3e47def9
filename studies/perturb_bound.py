"""How far other words could hide from a lookup whether an edit of `balanced` is a positive or a negative.

    python -m studies.perturb_bound --shared DIR [--limit N]

Lists every candidate that passes at the default dial, for the captions of perturb_measure.py, and asks its lookup about
two choices that no draw can make, because they see all captions at once: for each word that the draw replaces, the
rarest substitution, at no lower expected precision of negatives; and, chosen freely, one negative and at most one
replaced positive for each caption. Edits that replace no word stay. The search is greedy, so a slightly better choice
may exist.
"""

from __future__ import annotations

import argparse
import functools
import math
import random
from collections import Counter

from equipoise.perturb import Candidate, Caption, Perturbed
from equipoise.perturb.dial import PRECISION
from equipoise.perturb.mix import expected
from equipoise.perturb.recipe import Recipe, Slot
from equipoise.perturb.recipes import balanced
from studies.harness.inputs import HALVES, existing
from studies.perturb_measure import in_halves, item_of, lookup_rate, mix_of, read_groups, write_edits

KINDS = ("positive", "negative")
ROUNDS = 5  # after which few choices change
Listed = list[Candidate]


def passing(recipe: Recipe, slot: Slot, caption: Caption) -> Listed:
    """All that a slot could be filled with."""
    found: dict[str, Candidate] = {}
    for op in slot.ops:
        if isinstance(op, functools.partial) and slot.name.startswith("positive"):
            op = functools.partial(op.func, **{**op.keywords, "strict": False})
        for one in op(caption, recipe.sources, random.Random(0)):
            if isinstance(one, Candidate) and not any(check(caption, one) for check in recipe.checks):
                found.setdefault(one.text, one)
    return list(found.values())


def slots_of(recipe: Recipe, caption: Caption, staying: Listed) -> list[Listed]:
    """The candidates of each slot that replaces a word; a last resort only if the caption has nothing of its kind."""
    found: list[Listed] = []
    for slot in recipe.slots:
        kinds = {one.kind for listed in (staying, *found) for one in listed}
        if not slot.name.endswith((" swap", " converse", " contrast")) and slot.unless not in kinds:
            found += filter(None, [passing(recipe, slot, caption)])
    return found


def rarest(choices: list[list[Listed]], price: float) -> list[Listed]:
    """For each text the candidate whose substitution its own kind has seldom and the other kind often. `price`: what
    being refused by readers costs, against the logarithm of that count."""
    counts: Counter[tuple[str, str, str]] = Counter()
    chosen: list[Listed] = [[] for _ in choices]
    rng = random.Random(1)

    def named(one: Candidate, kind: str) -> tuple[str, str, str]:
        return kind, (one.edit.source or "").lower(), (one.edit.to or "").lower()

    def cost(one: Candidate) -> tuple[float, float]:
        more = sum(counts[named(one, kind)] * (1 if kind == one.kind else -1) for kind in KINDS)
        return math.log1p(max(0, more)) + price * (1 - (one.expected or 0.0)), rng.random()

    for _ in range(ROUNDS):
        for place in rng.sample(range(len(choices)), len(choices)):
            counts.subtract(named(one, one.kind) for one in chosen[place])
            chosen[place] = [min(listed, key=cost) for listed in choices[place]]
            counts.update(named(one, one.kind) for one in chosen[place])
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", required=True, type=existing(*HALVES), help="the folder that holds coco/")
    parser.add_argument("--limit", type=int, help="images")
    options = parser.parse_args()
    groups, recipe = read_groups(options.shared, False)[: options.limit], balanced()
    images = [image for image, texts in groups for _ in texts]
    staying, slots, drawn, same, free = [], [], [], [], []
    for caption, made in write_edits(groups, PRECISION):
        texts = [*made.positives, *made.negatives]
        kept = [one for one in texts if one.edit.op != "replace"]
        replaced = [one for one in texts if one.edit.op == "replace"]
        mine = [] if made.refused else slots_of(recipe, caption, kept)
        staying.append(kept)
        drawn.append(replaced)
        slots.append(mine)
        same.append([next((listed for listed in mine if one in listed), [one]) for one in replaced])
        pools = ([one for listed in mine for one in listed if one.kind == kind] for kind in KINDS)
        free.append([pool for pool in pools if pool and pool[0].kind not in {one.kind for one in kept}])
    for kind in KINDS:
        sizes = [len(listed) for one in slots for listed in one if listed[0].kind == kind]
        print(f"{kind}s: {sizes.count(1) / len(sizes):.1%} of {len(sizes):,} slots have a single candidate")

    def texts_of(chosen: list[Listed]) -> list[Perturbed]:
        every = [kept + mine for kept, mine in zip(staying, chosen, strict=True)]
        halves = ([[one for one in texts if one.kind == kind] for kind in KINDS] for texts in every)
        return [Perturbed(positives, negatives) for positives, negatives in halves]

    def sure(found: list[Perturbed], kind: str) -> float:
        return expected(mix_of(found), kind) or 0.0

    def row(name: str, found: list[Perturbed]) -> None:
        having = [sum(bool(getattr(one, f"{kind}s")) for one in found) / len(found) for kind in KINDS]
        right = lookup_rate(*in_halves([item_of("-", one, "-") for one in found], images), quiet=True)
        cells = (*having, *(sure(found, kind) for kind in KINDS), right)
        print(f"| {name} | {' | '.join(f'{cell:.1%}' for cell in cells)} |", flush=True)

    print("| choice | a positive | a negative | expected of positives | of negatives | the lookup is right |")
    print("| --- | --- | --- | --- | --- | --- |")
    today = texts_of(drawn)
    row("today's draw", today)
    for price in range(0, 101, 5):
        rare = texts_of(rarest(same, price))
        if sure(rare, "negative") >= sure(today, "negative"):
            row("the rarest substitution, as sure", rare)
            break
    row("one of each kind, free choice", texts_of(rarest(free, 0)))


if __name__ == "__main__":
    main()
