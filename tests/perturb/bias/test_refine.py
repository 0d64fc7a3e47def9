"""Adversarial refinement: both blind judges end at exactly one half, whatever they thought before."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.errors import UserError
from equipoise.data.items import Item, load_items, texts, write_items
from equipoise.language.separability import separability
from equipoise.perturb.bias.thinning import judge_named, refine, refine_file, refine_items

GAP = st.one_of(st.just(0.0), st.just(1.0), st.just(-1.0), st.floats(-1, 1))


def wins(gaps: list[float]) -> float:
    return sum(1.0 if gap > 0 else 0.5 if gap == 0 else 0.0 for gap in gaps)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(GAP, GAP), max_size=60), st.integers(0, 5))
def test_both_judges_end_at_exactly_one_half(pairs: list[tuple[float, float]], seed: int) -> None:
    first, second = [one for one, _ in pairs], [two for _, two in pairs]
    kept = refine(first, second, seed)
    assert wins([first[pair] for pair in kept]) * 2 == len(kept)
    assert wins([second[pair] for pair in kept]) * 2 == len(kept)
    assert kept == sorted(set(kept))


def test_two_biased_judges() -> None:
    rng = random.Random(0)
    first = [rng.gauss(0.3, 0.4) for _ in range(5000)]
    second = [0.5 * gap + rng.gauss(0.1, 0.3) for gap in first]
    assert wins(first) / len(first) > 0.7 and wins(second) / len(second) > 0.7
    kept = refine(first, second)
    assert len(kept) > 500
    assert wins([first[pair] for pair in kept]) / len(kept) == 0.5
    assert wins([second[pair] for pair in kept]) / len(kept) == 0.5
    large = [abs(first[pair]) > 0.5 for pair in kept if first[pair] > 0]
    small = [abs(first[pair]) > 0.5 for pair in kept if first[pair] < 0]
    assert abs(sum(large) - sum(small)) <= 0.05 * len(kept), "not only the signs are balanced, the sizes are too"


def test_a_gap_of_one_does_not_leave_the_grid() -> None:
    assert refine([1.0, -0.99], [1.0, -0.99]) == [0, 1], "the last cell holds it, with what is just below"
    assert refine([1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]) == [0, 1]


def test_pairs_in_which_a_judge_sees_nothing() -> None:
    assert refine([0.0, 0.0], [0.0, 0.0]) == [0, 1]
    assert refine([0.0, 0.0, 0.0], [0.5, -0.52, 0.9]) == [0, 1]


def test_scores_of_any_scale() -> None:
    first, second = [0.5, -0.5, 0.9, 0.2], [0.1, -0.1, 0.3, -0.7]
    assert refine([400 * gap for gap in first], [7 * gap for gap in second]) == refine(first, second) == [0, 1]


def test_the_seed_decides_who_stays() -> None:
    first, second = [0.5] * 20 + [-0.5] * 5, [0.5] * 20 + [-0.5] * 5
    assert refine(first, second, 1) == refine(first, second, 1) != refine(first, second, 2)
    assert len(refine(first, second, 1)) == 10


def test_gaps_that_are_no_numbers() -> None:
    with pytest.raises(ValueError, match="finite"):
        refine([float("nan")], [0.0])
    with pytest.raises(ValueError, match="gaps of one judge"):
        refine([1.0], [])


def items_with_a_bias() -> list[Item]:
    """Negatives are mostly, not always, the longer text with the rarer word."""
    rng = random.Random(0)
    found = []
    for number in range(600):
        short, long = f"a cat on mat {number % 7}", f"a feline on top of mat {number % 7}"
        caption, negative = (short, long) if rng.random() < 0.75 else (long, short)
        found.append(
            Item(id=str(number), caption=caption, positives=texts(caption + " now"), negatives=texts(negative))
        )
    return found


def test_items_lose_their_bias() -> None:
    items = items_with_a_bias()
    before = separability(items)["originals / negatives"]["paired"]["accuracy"]
    judges = {"negatives": (judge_named("length", items, "negatives"), judge_named("words", items, "negatives"))}
    after = list(refine_items(lambda: items, judges))
    left = [item for item in after if item.negatives]
    assert before > 0.7 and len(left) > 200
    for judge in judges["negatives"]:
        gaps = [one - other for one, other in (judge(item, [item.caption, item.negatives[0].text]) for item in left)]
        assert wins(gaps) / len(gaps) == 0.5
    assert separability(left)["originals / negatives"]["paired"]["accuracy"] < 0.55
    assert len(after) == len(items), "positives, which nobody judged, stay"


def test_a_file_is_refined_in_place(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write_items(path, [item.model_copy(update={"positives": ()}) for item in items_with_a_bias()])
    items = load_items(path)
    two = (judge_named("length", items, "negatives"), judge_named("frequency", items, "negatives"))
    counts, edits = refine_file(path, {"negatives": two})
    left = load_items(path)
    assert counts["negatives_before"] == counts["items_before"] == 600
    assert sum(edits.values()) == sum(text.edit is not None for item in left for text in item.negatives)
    assert counts["negatives_after"] == counts["items_after"] == len(left) == len(path.read_text().splitlines())
    assert {item.id for item in left} < {item.id for item in items}
    assert json.loads(path.read_text().splitlines()[0])["negatives"]


def test_nothing_left_is_an_error_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write_items(path, [Item(id="1", caption="a cat", negatives=texts("a cat now"))])
    two = (judge_named("length", [], "negatives"), judge_named("length", [], "negatives"))
    with pytest.raises(UserError, match="left nothing"):
        refine_file(path, {"negatives": two})
    assert len(load_items(path)) == 1
    with pytest.raises(UserError, match="no blind judge"):
        judge_named("lenght", [], "negatives")
