"""Counts what `balanced` makes of captions: coverage, the mix of kinds, trivial positives, what words alone give away.

    python -m studies.perturb_measure [--shared DIR] [--precision 0.92] [--caps 4,8,16] [--limit N]
    python -m studies.perturb_measure --curve 0.8,0.85,0.9,0.92,0.95,0.97
    python -m studies.perturb_measure --limit 300 --llm URL --llm-model NAME --cache DIR

On the captions that nothing was learned from (caption_halves.py). A lookup of substitutions is learned on half of the
images and asked about the other half: a pair (from, to) gets the label it had more often, an unknown one a coin.
--curve prints coverage and expected precision for each setting of the dial, --caps coverage and what a lookup knows for
each setting of perturb --cap. --llm compares the words of our lists with those that a language model proposes, on the
first caption of each image, and prints what the judge keeps of the model's.
"""

from __future__ import annotations

import dataclasses
import time
import zlib
from collections import Counter
from pathlib import Path

from equipoise.core.llm_client import LlmSettings, llm_for
from equipoise.data.items import TEXT_KINDS, Item, Text
from equipoise.language.separability import separability
from equipoise.language.vocabulary import SECTIONS
from equipoise.perturb import Caption
from equipoise.perturb.bias.thinning import cap_items, substitution
from equipoise.perturb.llm.recipes import LlmWriter
from equipoise.perturb.recipe import Perturbed, perturb_caption, perturb_captions
from equipoise.perturb.recipes import balanced
from equipoise.perturb.run.counts import Mix, described, expected
from studies.caption_halves import captions_of, coco
from studies.harness import show
from studies.harness.inputs import HALVES, arguments

Edits = list[tuple[str, str]]  # (kind, substitution)


def main() -> None:
    parser = arguments(__doc__, *HALVES)
    parser.add_argument("--precision", type=float, default=0.92)
    parser.add_argument("--curve", type=lambda text: [float(number) for number in text.split(",")])
    parser.add_argument("--caps", type=lambda text: [int(number) for number in text.split(",")])
    parser.add_argument("--limit", type=int, help="images")
    parser.add_argument("--llm", help="address of a server")
    parser.add_argument("--llm-model")
    parser.add_argument("--cache", help="folder of the model's answers")
    options = parser.parse_args()
    groups = read_groups(options.shared)[: options.limit]
    if options.llm:
        settings = LlmSettings(options.llm, options.llm_model, cache=options.cache, timeout=600)
        _print_llm(groups, options.precision, LlmWriter(llm_for(settings)))
        return
    if options.curve:
        lines = []
        for precision in options.curve:
            written = [made for _, made in write_edits(groups, precision)]
            mix = mix_of(written)
            swapped = [any(each.edit.op != "replace" for each in edits.negatives) for edits in written]
            listed = [edits.negatives for edits in written], swapped, [edits.positives for edits in written]
            cells = [sum(map(bool, having)) / len(written) for having in listed]
            told = [expected(mix, kind) or 0.0 for kind in ("negative", "positive")]
            lines.append([str(precision), *(f"{cell:.1%}" for cell in (*cells, *told))])
        expects = ("expected of negatives", "expected of positives")
        show(("asked", "a negative", "no word replaced", "a positive", *expects), lines)
        return
    began = time.process_time()
    made = write_edits(groups, options.precision)
    spent, count = time.process_time() - began, len(made)
    items = [item_of(f"{place}", edits, caption.text) for place, (caption, edits) in enumerate(made)]
    images = [image for image, texts in groups for _ in texts]
    print(f"{count:,} captions of {len(groups):,} images; {1000 * spent / count:.2f} ms of CPU a caption")
    if options.caps:
        _print_caps(items, images, options.caps)
    for name, number in sorted(Counter(name for item in items for name in _kinds(item)).items()):
        print(f"  {number:7,} {number / count:6.1%}  {name}")
    print("\n".join(described(mix_of([edits for _, edits in made]), count, sum(len(item.positives) for item in items))))
    print(f"lookup, both kinds alike: {lookup_rate(*in_halves(items, images)):.1%} right")
    for name, numbers in separability(items[:: max(1, count // 4000)]).items():
        if numbers is not None:
            single, paired = (numbers[how]["accuracy"] for how in ("unpaired", "paired"))
            print(f"words alone, {name}: {single:.1%} one text, {paired:.1%} of two")


def read_groups(shared: Path) -> list[tuple[str, list[str]]]:
    records = coco(shared / "coco" / "karpathy_test_first_half.json", learned=False)
    return [(str(r["image"]), [" ".join(text.split()) for text in r["caption"]]) for r in records]  # type: ignore[attr-defined]


def write_edits(groups: list[tuple[str, list[str]]], precision: float) -> list[tuple[Caption, Perturbed]]:
    captions = [caption for _, texts in groups for caption in captions_of(texts)]
    return list(zip(captions, perturb_captions(balanced(precision), captions), strict=True))


def _print_llm(groups: list[tuple[str, list[str]]], precision: float, writer: LlmWriter) -> None:
    mixed = balanced(precision, writer)
    recipes = {"lists": balanced(precision), "model": dataclasses.replace(mixed, sources=(writer,)), "both": mixed}
    captions = [Caption(text, tuple(others)) for _, (text, *others) in groups]
    by_recipe = {name: [perturb_caption(recipe, caption) for caption in captions] for name, recipe in recipes.items()}
    for caption, edits in zip(captions, by_recipe["model"], strict=True):
        for each in (*edits.positives, *edits.negatives):
            if each.edit.by == writer.name:
                print(f"{each.kind}, expected {each.expected:.2f}: {caption.text} => {each.text}")
    proposals = [each for caption in captions for target in SECTIONS for each in writer.contrasts(caption, target)]
    print(f"{len(captions):,} captions; {len(proposals):,} proposals of wrong words by the model")
    lines = []
    for name, made in by_recipe.items():
        cells = (
            sum(any(each.edit.op == "replace" for each in getattr(edits, kind)) for edits in made) / len(made)
            for kind in ("negatives", "positives")
        )
        lines.append([name, *(f"{cell:.1%}" for cell in cells)])
    show(("words of", "a negative that replaces a word", "a positive that replaces a word"), lines)


def _print_caps(items: list[Item], images: list[str], caps: list[int]) -> None:
    lines = []
    for cap in (len(items), *caps):
        kept = list(cap_items(lambda: items, cap, keep_all=True))
        cells = [sum(bool(getattr(item, kind)) for item in kept) / len(kept) for kind in ("negatives", "positives")]
        right = lookup_rate(*in_halves(kept, images))
        lines.append([f"{cap:,}", *(f"{cell:.1%}" for cell in (*cells, right))])
    show(("texts of a substitution, at most", "a negative", "a positive", "a lookup is right"), lines)


def in_halves(items: list[Item], images: list[str]) -> tuple[Edits, Edits]:
    halves: tuple[Edits, Edits] = ([], [])
    for image, item in zip(images, items, strict=True):
        half = halves[zlib.crc32(f"lookup{image}".encode()) % 2]
        for kind in TEXT_KINDS:
            named = (substitution(kind, text) for text in getattr(item, kind))
            half += [(kind.removesuffix("s"), f"{match[1]} -> {match[2]}") for match in named if match]
    return halves


def mix_of(edited: list[Perturbed]) -> dict[str, dict[str, int]]:
    mix = Mix()
    for edits in edited:
        mix.add(edits)
    return mix.to_json()


def item_of(name: str, made: Perturbed, caption: str) -> Item:
    positives, negatives = (
        tuple(Text(text=each.text, edit=each.edit) for each in listed) for listed in (made.positives, made.negatives)
    )
    return Item(id=name, caption=caption, positives=positives, negatives=negatives)


def _kinds(item: Item) -> set[str]:
    """The kinds of texts and edits that the item has."""
    kinds = {f"a {kind.removesuffix('s')}" for kind in TEXT_KINDS if getattr(item, kind)}
    for kind in TEXT_KINDS:
        edits = [text.edit for text in getattr(item, kind)]
        kinds |= {f"{kind.removesuffix('s')} {e.op} {e.target if e.op == 'replace' else ''}" for e in edits}
        kinds |= {f"a {kind.removesuffix('s')} that is no replaced word" for e in edits if e.op != "replace"}
    if {"a positive that is no replaced word", "a negative that is no replaced word"} <= kinds:
        kinds.add("both that are no replaced word")
    return kinds


def lookup_rate(learned: Edits, tested: Edits) -> float:
    """How often a lookup is right; positives and negatives count alike."""
    table: dict[str, Counter[str]] = {}
    for kind, pair in learned:
        table.setdefault(pair, Counter())[kind] += 1
    rates = []
    for kind in ("positive", "negative"):
        mine = [pair for which, pair in tested if which == kind]
        known = [table[pair] for pair in mine if pair in table]
        other = "negative" if kind == "positive" else "positive"
        right = sum(1.0 if c[kind] > c[other] else 0.5 if c[kind] == c[other] else 0.0 for c in known)
        rates.append((right + 0.5 * (len(mine) - len(known))) / max(1, len(mine)))
    return sum(rates) / 2


if __name__ == "__main__":
    main()
