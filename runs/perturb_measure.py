"""Counts what `balanced` makes of captions: coverage, how many substitutions carry the positives, what a lookup knows.

    python runs/perturb_measure.py --shared DIR [--flickr] [--recipe balanced] [--cap N] [--limit N]

On the captions that nothing was learned from (caption_halves.py). A lookup of substitutions is learned on half of the
images and asked about the other half: a pair (from, to) gets the label it had more often, an unknown one a coin.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections import Counter
from pathlib import Path

from caption_halves import coco, flickr
from needs import HALVES, existing

from equipoise.data.items import Item, Text
from equipoise.perturb import Caption, get_recipe, perturb_caption
from equipoise.perturb.bias.thinning import KINDS, cap_items, substitution
from equipoise.perturb.recipe import Perturbed

Edits = list[tuple[str, str]]  # (kind, substitution)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--shared", required=True, type=existing(*HALVES), help="the folder that holds coco/, flickr8k/"
    )
    parser.add_argument("--flickr", action="store_true", help="Flickr8k's test images instead of COCO's")
    parser.add_argument("--recipe", default="balanced")
    parser.add_argument("--cap", type=int, help="at most so many texts of each substitution, as perturb --cap")
    parser.add_argument("--limit", type=int, help="images")
    options = parser.parse_args()
    groups = _groups(options.shared, options.flickr)[: options.limit]
    recipe = get_recipe(options.recipe)
    images, items, began = [], [], time.process_time()
    for image, texts in groups:
        for place, text in enumerate(texts):
            others = tuple(other for k, other in enumerate(texts) if k != place)
            images.append(image)
            items.append(_item(f"{image} {place}", perturb_caption(recipe, Caption(text, others)), text))
    spent, count = time.process_time() - began, len(items)
    if options.cap:
        items = list(cap_items(lambda: items, options.cap, keep_all=True))
    print(f"{count:,} captions of {len(groups):,} images; {1000 * spent / count:.2f} ms of CPU a caption")
    for name, number in sorted(Counter(name for item in items for name in _kinds(item)).items()):
        print(f"  {number:7,} {number / count:6.1%}  {name}")
    halves: tuple[Edits, Edits] = ([], [])
    for image, item in zip(images, items, strict=True):
        half = halves[zlib.crc32(f"lookup{image}".encode()) % 2]
        for kind in KINDS:
            named = (substitution(kind, text) for text in getattr(item, kind))
            half += [(kind.removesuffix("s"), f"{found[1]} -> {found[2]}") for found in named if found]
    _diversity([*halves[0], *halves[1]])
    _lookup(*halves)


def _groups(shared: Path, of_flickr: bool) -> list[tuple[str, list[str]]]:
    if of_flickr:
        return [(image, [" ".join(text.split()) for text in texts]) for image, texts in flickr(shared, False).items()]
    records = coco(shared / "coco" / "karpathy_test_first_half.json", learned=False)
    return [(str(r["image"]), [" ".join(text.split()) for text in r["caption"]]) for r in records]  # type: ignore[attr-defined]


def _item(name: str, made: Perturbed, caption: str) -> Item:
    positives, negatives = (
        tuple(Text(text=each.text, edit=each.edit) for each in listed) for listed in (made.positives, made.negatives)
    )
    return Item(id=name, caption=caption, positives=positives, negatives=negatives)


def _kinds(item: Item) -> set[str]:
    """What the caption has."""
    found = {f"a {kind.removesuffix('s')}" for kind in KINDS if getattr(item, kind)}
    for kind in KINDS:
        edits = [text.edit for text in getattr(item, kind)]
        found |= {f"{kind.removesuffix('s')} {e.op} {e.target if e.op != 'swap' else ''}" for e in edits}
    return found


def _diversity(edits: Edits) -> None:
    for kind in ("positive", "negative"):
        counts = Counter(pair for which, pair in edits if which == kind)
        total, sum_, needed = sum(counts.values()), 0, 0
        for _, number in counts.most_common():
            sum_, needed = sum_ + number, needed + 1
            if 2 * sum_ >= total:
                break
        top = ", ".join(f"{pair} {number / total:.1%}" for pair, number in counts.most_common(6))
        print(f"replace {kind}s: {total:,} from {len(counts):,} substitutions, half of them from {needed}; {top}")


def _lookup(learned: Edits, asked: Edits) -> None:
    table: dict[str, Counter[str]] = {}
    for kind, pair in learned:
        table.setdefault(pair, Counter())[kind] += 1
    rates = []
    for kind in ("positive", "negative"):
        mine = [pair for which, pair in asked if which == kind]
        known = [table[pair] for pair in mine if pair in table]
        other = "negative" if kind == "positive" else "positive"
        right = sum(1.0 if c[kind] > c[other] else 0.5 if c[kind] == c[other] else 0.0 for c in known)
        rates.append((right + 0.5 * (len(mine) - len(known))) / max(1, len(mine)))
        print(
            f"lookup, {kind}s: knows {len(known) / max(1, len(mine)):.1%} of {len(mine):,}, of these "
            f"{right / max(1, len(known)):.1%} right; with a coin for the others {rates[-1]:.1%}"
        )
    print(f"lookup, both kinds alike: {sum(rates) / 2:.1%} right")


if __name__ == "__main__":
    main()
