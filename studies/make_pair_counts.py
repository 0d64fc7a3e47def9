"""Counts which words people combine in captions of photos, for telling what fits a place from what does not.

    python -m studies.make_pair_counts [--shared DATA]

Reads the captions that may be learned from (caption_halves.py); writes src/equipoise/language/data/pairs.json.gz, which
holds counts alone. Run it again when the tagger or the compounds change.
"""

from __future__ import annotations

from collections import Counter

from equipoise.language.caption import Caption
from equipoise.language.collocations import RARE, RELATIONS, pairs_at
from equipoise.language.plausibility import CONTENT, places_in, sort_of
from equipoise.language.vocabulary import exclusive
from studies.caption_halves import learning
from studies.harness import LANGUAGE, write_packed
from studies.harness.inputs import HALVES, arguments

OUT = LANGUAGE / "pairs.json.gz"
OFTEN, IMAGES = 0.025, 20  # nouns named together in so large a share of the images of the first, of so many at least


def pairs_of(caption: Caption) -> set[tuple[str, str, str]]:
    """All pairs of neighbours in a caption, as they are counted."""
    return {
        pair.filled(unit.word if pair.first is None and unit.kind == "adjective" else unit.lemma)
        for place, unit in enumerate(caption.units)
        for pair in pairs_at(caption, place, place + 1)
    }


def main() -> None:
    shared = arguments(__doc__, *HALVES).parse_args().shared
    counted: dict[str, dict[str, Counter[str]]] = {relation: {} for relation in (*RELATIONS, "where", "scene", "image")}
    chosen = {m.entry.text for line in exclusive() if line.section == "object" for group in line.groups for m in group}
    shown: Counter[str] = Counter()
    images: Counter[str] = Counter()
    together: dict[str, Counter[str]] = {}
    for _, listed in learning(shared):
        nouns, words = set(), set()
        for caption in map(Caption, dict.fromkeys(text.strip() for text in listed)):
            here = {unit.lemma for unit in caption.units if unit.kind == "noun"}
            nouns |= here
            words |= {unit.lemma for unit in caption.units if unit.kind in CONTENT}
            for noun in here & chosen:
                counted["scene"].setdefault(noun, Counter()).update(here - {noun})
            for noun, where in places_in(caption):
                for name in filter(None, (noun, sort_of(noun))):
                    counted["where"].setdefault(name, Counter())[where] += 1
            for relation, first, second in pairs_of(caption):
                counted[relation].setdefault(first, Counter())[second] += 1
        images.update(words | {""})
        for noun in words & chosen:
            counted["image"].setdefault(noun, Counter()).update(words - {noun})
        if len(listed) > 1:
            shown.update(nouns)
            for noun in nouns:
                together.setdefault(noun, Counter()).update(nouns - {noun})
    counted["together"] = {
        noun: Counter({w: n for w, n in others.items() if w in chosen and n >= max(2, OFTEN * shown[noun])})
        for noun, others in together.items()
        if shown[noun] >= IMAGES
    }
    counted["scene"] = {
        noun: Counter({w: n for w, n in others.items() if n > 1}) for noun, others in counted["scene"].items()
    }
    common = {word for word, number in images.items() if number >= RARE}  # "in how many photos": the sums of "image"
    counted["image"] = {
        noun: Counter({w: n for w, n in others.items() if images[noun] * images[w] >= images[""]})  # expected once
        for noun, others in counted["image"].items()
        if noun in common
    }
    counted["images"] = {"": Counter({word: images[word] for word in common})}
    kept = {
        relation: {first: dict(sorted(listed.items())) for first, listed in sorted(pairs.items())}
        for relation, pairs in counted.items()
    }
    size = write_packed(OUT, kept)
    for relation, pairs in kept.items():
        print(relation, len(pairs), sum(map(len, pairs.values())), sum(sum(c.values()) for c in pairs.values()))
    print(f"{size} bytes")


if __name__ == "__main__":
    main()
