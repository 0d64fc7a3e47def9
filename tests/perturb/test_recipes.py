"""Recipes: determinism, reasons, odd input, and no known defect on real captions."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from tests import own_records

from equipoise.core.errors import UserError
from equipoise.language.forms import article_for
from equipoise.perturb import RECIPES, Caption, get_recipe, perturb_caption
from equipoise.perturb.operations.swap_negative import swap_across


def texts(recipe: str, caption: Caption, seed: int = 0) -> list[str]:
    result = perturb_caption(get_recipe(recipe), caption, seed)
    return [candidate.text for candidate in (*result.positives, *result.negatives)]


def test_an_unknown_recipe_is_named_with_its_neighbours() -> None:
    with pytest.raises(UserError, match="Did you mean balanced"):
        get_recipe("balancd")


@pytest.mark.parametrize("name", list(RECIPES))
def test_every_recipe_makes_something_and_the_same_each_time(name: str) -> None:
    caption = Caption("A young man riding a brown horse with a dog and a cat in a field.")
    first = texts(name, caption)
    texts(name, Caption("Something else in between, with a bus and a car."))
    assert first
    assert texts(name, Caption(caption.text)) == first
    assert caption.text not in first


def test_the_seed_changes_the_draw() -> None:
    caption = Caption("Two men in red jackets walking on a beach next to a blue boat.")
    assert len({tuple(texts("balanced", caption, seed)) for seed in range(8)}) > 1


def test_what_is_dropped_has_a_reason() -> None:
    caption = Caption(
        "A dog on a couch", ("a cat, a rabbit, a parrot and a monkey", "a horse or a cow on a bench or bed")
    )
    result = perturb_caption(get_recipe("ce_clip_zhang_2024"), caption)
    assert result.dropped
    assert all(reason for _, reason in result.dropped)
    assert not [n for n in result.negatives if " cat" in n.text or "bench" in n.text]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("word " * 2_000_000, "characters"),
        ("a man\x00 on a horse", "control characters"),
        ("رجل يركب حصانا", "Latin"),
        ("🐶🐱", "Latin"),
    ],
)
def test_odd_captions_are_refused_with_a_reason(text: str, reason: str) -> None:
    for name in RECIPES:
        result = perturb_caption(get_recipe(name), Caption(text))
        assert reason in (result.refused or "")
        assert not result.positives and not result.negatives


@pytest.mark.parametrize(
    "text", ["A dog 🐶 on a couch", "dog", "...", "a a a", "'s and and ,", "A\tman\non a   horse", "AND"]
)
def test_strange_captions_never_crash(text: str) -> None:
    for name in RECIPES:
        perturb_caption(get_recipe(name), Caption(text))


# ---------------------------------------------------------------------------- CREPE


def edits(recipe: str, text: str, seed: int = 0) -> list[tuple[str, str | None]]:
    found = perturb_caption(get_recipe(recipe), Caption(text), seed)
    return [(candidate.edit.op, candidate.edit.target) for candidate in found.negatives]


def test_crepe_replaces_swaps_and_negates() -> None:
    """Kamath et al. take their negatives from all three."""
    found = [op for op, _ in edits("crepe_ma_2023", "A man riding a brown horse on the beach.")]
    assert found == ["replace", "swap", "negate"]


def test_crepe_draws_the_type_that_it_replaces() -> None:
    """Nearly every caption has an object; the first operation that works would hardly ever be another."""
    text = "A small dog sitting under a wooden table"
    drawn = [target for seed in range(60) for op, target in edits("crepe_ma_2023", text, seed) if op == "replace"]
    counts = {target: drawn.count(target) for target in ("object", "attribute", "action", "relation")}
    assert sum(counts.values()) == 60 and min(counts.values()) >= 6, counts


def test_crepe_spreads_over_the_types_on_human_captions(shared_data: Path) -> None:
    recipe, counts = get_recipe("crepe_ma_2023"), dict.fromkeys(("object", "attribute", "action", "relation"), 0)
    for caption in coco_captions(shared_data)[:1000]:
        for candidate in perturb_caption(recipe, caption).negatives:
            if candidate.edit.op == "replace":
                counts[candidate.edit.target or ""] += 1
    assert sum(counts.values()) > 900
    assert counts["attribute"] > 100 and counts["action"] > 100 and counts["relation"] > 50, counts


# ---------------------------------------------------------------------------- swaps


def test_negclips_swaps_exist_as_published_and_checked(shared_data: Path) -> None:
    """As published, one swap in 160 says what our own swap positive says."""
    kept = dropped = 0
    for caption in coco_captions(shared_data)[:1500]:
        positives = {c.text for c in perturb_caption(get_recipe("swap_pairs"), caption).positives}
        for name in ("negclip_yuksekgonul_2023", "negclip_yuksekgonul_2023_checked"):
            same = positives & set(texts(name, caption))
            kept += bool(same) and not name.endswith("checked")
            dropped += bool(same) and name.endswith("checked")
    assert kept > 0 == dropped


def test_a_swap_across_says_something_else() -> None:
    """Never two members of a list, nor what a symmetric relation joins, nor a plural after "a"."""
    for text in ("a table, chairs and a sofa", "a cat next to a dog", "a man with a boy", "a dog near two cats"):
        assert not list(swap_across(Caption(text), (), random.Random(0))), text
    (found,) = swap_across(Caption("a bathroom with a toilet"), (), random.Random(0))
    assert found.text == "a toilet with a bathroom"


# ---------------------------------------------------------------------------- CE-CLIP

FOUR = [("swap", "relation"), ("replace", "attribute"), ("replace", "action"), ("replace", "object")]


def test_ce_clip_by_the_papers_rule_needs_only_the_words() -> None:
    """Words that our lists do not know, and a pair of nouns that the checked recipe refuses to swap."""
    text = "An adorable walrus embracing a zither and a bassoon"
    for seed in range(5):
        assert edits("ce_clip_zhang_2024_faithful", text, seed) == FOUR
    assert ("swap", "relation") not in edits("ce_clip_zhang_2024", "A cat and a dog")
    assert edits("ce_clip_zhang_2024_faithful", "A cat and a dog") == [FOUR[0], FOUR[3]]
    assert edits("ce_clip_zhang_2024_faithful", "Dogs") == [FOUR[3]]


def test_ce_clip_has_the_papers_coverage_on_human_captions(shared_data: Path) -> None:
    kinds = {"attribute": "adjective", "action": "verb", "object": "noun"}
    for caption in coco_captions(shared_data)[:400]:
        found = {target for _, target in edits("ce_clip_zhang_2024_faithful", caption.text)}
        nouns = {unit.word for unit in caption.units if unit.kind == "noun"}
        assert ("relation" in found) == (len(nouns) > 1), caption.text
        for target, kind in kinds.items():
            assert (target in found) == any(unit.kind == kind for unit in caption.units), (caption.text, target)


# ---------------------------------------------------------------------------- real captions

BROKEN = re.compile(
    r"within front of|within middle|within between|within background|next to to\b|next to by\b|near to to\b"
    r"|\ba the\b|\ban? an?\b|covecrimson|belengthy|dampsuit|ivoryboard",
    re.IGNORECASE,
)
OVERLAP = [  # near synonyms that VL-CheckList's negatives fall for
    {"white", "cream", "beige", "ivory"}, {"red", "maroon", "crimson"}, {"silver", "gray", "grey"},
    {"small", "little", "tiny"}, {"large", "big", "huge"}, {"next to", "beside", "near", "by", "close to", "nearby"},
    {"couch", "sofa"}, {"under", "beneath", "underneath", "below"}, {"photo", "picture", "image", "photograph"},
]  # fmt: skip


def captions(records: list[dict[str, Any]]) -> list[Caption]:
    return [
        Caption(text, tuple(other for other in record["caption"] if other != text))
        for record in records
        for text in record["caption"]
    ]


def coco_captions(folder: Path) -> list[Caption]:
    return captions(json.loads((folder / "coco" / "karpathy_test_first_half.json").read_text()))


def wrong_articles(text: str) -> set[str]:
    found = re.findall(r"\b(an?) ([a-z'-]+)", text.lower())
    return {f"{article} {word}" for article, word in found if article_for(word) != article}


def has_defect(caption: Caption, text: str, source: str, span: tuple[int, int]) -> str:
    start, end = span
    if BROKEN.search(text) and not BROKEN.search(caption.text):
        return "broken phrase"
    if wrong_articles(text) - wrong_articles(caption.text):
        return "article"
    inside = (start and caption.text[start - 1].isalnum()) or (end < len(caption.text) and caption.text[end].isalnum())
    if inside and start != end:
        return "part of a word"
    if caption.text[start:end] != source:
        return "span"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hard_positives_rules", "balanced"])
def test_no_known_defect_on_human_captions(whole_data: Path | None, name: str) -> None:
    """Errors of the published REPLACE: "within front of", "covecrimson", "a ivory", near synonyms as negatives.

    None of it may come out.
    """
    check_for_defects(name, captions(own_records.captions()))
    if whole_data is not None:
        check_for_defects(name, coco_captions(whole_data)[::25])


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", ["hard_positives_rules", "balanced"])
def test_no_known_defect_on_all_human_captions(shared_data: Path, name: str) -> None:
    """The same on 12,504 captions."""
    check_for_defects(name, coco_captions(shared_data))


def check_for_defects(name: str, listed: list[Caption]) -> None:
    recipe = get_recipe(name)
    replaced = with_and = swapped = 0
    for caption in listed:
        result = perturb_caption(recipe, caption)
        for candidate in (*result.positives, *result.negatives):
            edit = candidate.edit
            assert candidate.text != caption.text
            assert edit.source is not None and edit.span is not None
            assert not has_defect(caption, candidate.text, edit.source, edit.span), (caption.text, candidate.text)
            if candidate.kind == "negative" and edit.op == "replace" and edit.to:
                pair = {edit.source.lower(), edit.to.lower()}
                assert not any(pair <= group for group in OVERLAP), (caption.text, candidate.text)
        words = caption.text.lower().split()
        replaced += any(candidate.edit.op == "replace" for candidate in result.positives)
        if "and" in words and len(words) < 15:
            with_and += 1
            swapped += any(candidate.edit.op == "swap" for candidate in result.positives)
        kinds = {candidate.text for candidate in result.positives} & {n.text for n in result.negatives}
        assert not kinds, "a text is both positive and negative"
    if name == "hard_positives_rules":
        assert replaced / len(listed) >= 0.90
        # 21 % of all captions (52 before f78823e8): only four plain shapes swap, those that readers accept.
        assert swapped / with_and >= 0.20
