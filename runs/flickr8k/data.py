"""Flickr8k's captions as Items: perturbed once, then cut into splits whose substitutions finetuning has seen or not.

    python runs/flickr8k/data.py --out DIR        needs ../shared/data/flickr8k, about two minutes on two cores

DIR/train.jsonl     30,000 captions, every one with what edits it has; no held-out substitution, no relation edits
DIR/{dev,test}-{seen,unseen,swap,type}.jsonl    one positive and one negative per item:
    seen      replace positive by a substitution that training may show, replace negative of object, attribute or action
    unseen    the positive's substitution (in both directions) is one of the 30 % that training never shows
    swap      positive and negative by swap
    type      the negative changes a relation: a type that training never shows
DIR/{train,dev,test}-captions.jsonl    captions alone, for the contrastive base and for retrieval

Which substitutions are held out is decided by a hash of the two words, before any model is trained.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from needs import FLICKR8K, existing

from equipoise.data.items import Edit, ImageRef, Item, Text, load_items, write_items
from equipoise.perturb import Setup, perturb_file

SHARED = Path(__file__).resolve().parents[3] / "shared/data/flickr8k"
HELD_OUT = 0.3
RECIPES = {
    "balanced": "hard_positives_rules,balanced,swap_pairs",
    "negclip": "hard_positives_rules,negclip_yuksekgonul_2023",
    "crepe": "hard_positives_rules,crepe_ma_2023",
}


def captions(source: Path, split: str) -> Iterator[tuple[str, str, str]]:
    """(id, photo, caption) of a split, in the order of the captions' file."""
    photos = set((source / f"Flickr_8k.{split}Images.txt").read_text().split())
    for line in (source / "captions.tsv").read_text().splitlines():
        name, text = line.split("\t")
        photo, _, number = name.partition("#")
        if photo in photos and text.strip():
            yield f"{photo}#{number}", photo, tidy(text)


def tidy(text: str) -> str:
    """As a person would write it: Flickr8k's captions have a space before every full stop."""
    return text.strip().replace(" .", ".").replace(" ,", ",").replace(" 's", "'s")


def held_out(edit: Edit | None) -> bool:
    if edit is None or edit.op != "replace" or not edit.source or not edit.to:
        return False
    words = "|".join(sorted((edit.source.lower(), edit.to.lower())))
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], "big") / 2**32 < HELD_OUT


def is_relation(text: Text) -> bool:
    return text.edit is not None and text.edit.target == "relation" and text.edit.op == "replace"


def for_training(item: Item) -> Item:
    return item.model_copy(
        update={
            "positives": tuple(t for t in item.positives if not held_out(t.edit) and not is_relation(t)),
            "negatives": tuple(t for t in item.negatives if not is_relation(t)),
        }
    )


def for_testing(items: list[Item], kind: str) -> list[Item]:
    """One positive and one negative each, drawn by the item's id."""
    found = []
    for item in items:
        op = "swap" if kind == "swap" else "replace"
        positives = [t for t in item.positives if t.edit and t.edit.op == op and held_out(t.edit) == (kind == "unseen")]
        negatives = [t for t in item.negatives if t.edit and t.edit.op == op and is_relation(t) == (kind == "type")]
        if not positives or not negatives:
            continue
        rng = random.Random(f"{kind}/{item.id}")
        positive, negative = rng.choice(positives), rng.choice(negatives)
        tags = {"split": kind, "type": (negative.edit and negative.edit.target) or "none"}
        found.append(item.model_copy(update={"positives": (positive,), "negatives": (negative,), "tags": tags}))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--negatives", choices=sorted(RECIPES), default="balanced", help="who writes the negatives")
    parser.add_argument(
        "--source", type=existing(*FLICKR8K), default=str(SHARED), help="Flickr8k's captions and splits"
    )
    options = parser.parse_args()
    for split in ("train", "dev", "test"):
        plain = [
            Item(id=name, image=ImageRef(path=photo), caption=text)
            for name, photo, text in captions(options.source, split)
        ]
        path = options.out / f"{split}-captions.jsonl"
        write_items(path, plain)
        perturbed = options.out / f"{split}-perturbed.jsonl"
        perturb_file(path, perturbed, Setup(RECIPES[options.negatives], keep_all=True), workers=2)
        items = load_items(perturbed)
        if split == "train":
            items = [for_training(item) for item in items]
            write_items(options.out / "train.jsonl", items)
            both = sum(bool(item.positives and item.negatives) for item in items)
            print(f"train: {len(items):,} captions, {both:,} with a positive and a negative")
            continue
        for kind in ("seen", "unseen", "swap", "type"):
            found = for_testing(items, kind)
            write_items(options.out / f"{split}-{kind}.jsonl", found)
            print(f"{split}-{kind}: {len(found):,} items of {len({item.image for item in found}):,} photos")


if __name__ == "__main__":
    main()
