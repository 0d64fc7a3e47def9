"""Metrics against the definitions written out item by item, and against worked examples."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.averages import Averages, leaves, summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.results import each_outcome
from equipoise.evaluation.scores import ImageScores, ItemScores, Scores, TextScores, read_scores


def row(name: str, caption: float, positives: list[float], negatives: list[float], **rest: object) -> ItemScores:
    return ItemScores.model_validate(
        {"id": name, "caption": caption, "positives": positives, "negatives": negatives, **rest}
    )


def outcome(caption: float, positives: list[float], negatives: list[float]) -> dict[str, bool]:
    found = next(iter(each_outcome(outcomes_of([row("x", caption, positives, negatives)]))))
    return {name: found[name] for name in ("original", "augmented", "brittleness", "tie") if name in found}


def test_the_five_cases_of_the_paper() -> None:
    assert outcome(0.3, [0.2], [0.1]) == {"original": True, "augmented": True, "brittleness": False, "tie": False}
    assert outcome(0.3, [0.1], [0.2]) == {"original": True, "augmented": False, "brittleness": True, "tie": False}
    assert outcome(0.1, [0.3], [0.2]) == {"original": False, "augmented": False, "brittleness": True, "tie": False}
    assert outcome(0.1, [0.2], [0.3]) == {"original": False, "augmented": False, "brittleness": False, "tie": False}
    assert outcome(0.3, [0.2], [0.2]) == {"original": True, "augmented": False, "brittleness": False, "tie": True}


def test_a_tie_is_never_a_win_and_never_brittle() -> None:
    assert outcome(0.2, [0.3], [0.2])["original"] is False
    # One positive above, one below, the caption level with the negative: a tie first of all.
    assert outcome(0.2, [0.3, 0.1], [0.2]) == {"original": False, "augmented": False, "brittleness": False, "tie": True}


def test_the_highest_negative_counts_and_a_tie_with_a_lower_one_does_not() -> None:
    assert outcome(0.3, [], [0.3, 0.4]) == {"original": False, "tie": False}
    assert outcome(0.3, [], [0.1, 0.2]) == {"original": True, "tie": False}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.lists(st.integers(0, 3), max_size=3),
            st.lists(st.integers(0, 3), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_definitions(cases: list[tuple[int, list[int], list[int]]]) -> None:
    result = outcomes_of([row(str(i), c, list(p), list(n)) for i, (c, p, n) in enumerate(cases)])
    for index, (c, p, n) in enumerate(cases):
        right, top = [c, *p], max(n)
        assert result.original[index] == all(c > value for value in n)
        assert result.tie[index] == any(value == top for value in right)
        if p:
            assert result.augmented[index] == all(value > other for value in right for other in n)
            split = any(value > top for value in right) and any(value < top for value in right)
            assert result.brittle[index] == (split and not result.tie[index])


def test_a_constant_scorer_gets_nothing_and_only_ties() -> None:
    numbers = summarise(outcomes_of([row(str(i), 0.5, [0.5], [0.5]) for i in range(50)]), resamples=100).overall
    assert (numbers["original"], numbers["augmented"], numbers["brittleness"]) == (0, 0, 0)
    assert numbers.ties == numbers.n == 50
    assert numbers.interval("original")[1] > 0.05  # 50 equal answers are not certainty


def test_a_random_scorer_is_at_chance() -> None:
    rng = np.random.default_rng(7)
    scores = [row(str(i), *rng.random(1), [rng.random()], [rng.random()]) for i in range(20_000)]  # type: ignore[arg-type]
    numbers = summarise(outcomes_of(scores), resamples=500).overall
    for name, chance in {"original": 1 / 2, "augmented": 1 / 3, "brittleness": 1 / 3}.items():
        low, high = numbers.interval(name)
        assert low < chance < high and high - low < 0.02


def test_drop_is_measured_where_there_are_positives() -> None:
    scores = [row("a", 1, [], [0]), row("b", 1, [-1], [0]), row("c", 1, [1], [0])]
    numbers = summarise(outcomes_of(scores), resamples=50).overall
    assert numbers["original"] == 1 and numbers["augmented"] == 0.5 and numbers["drop"] == 0.5
    assert numbers.n == 3 and numbers.n_positives == 2
    assert [numbers[f"mean_score_{text}"] for text in ("caption", "positive", "negative")] == [1, 0, 0]


def test_without_positives_nothing_is_claimed_about_them() -> None:
    numbers = summarise(outcomes_of([row("a", 1, [], [0])]), resamples=50).overall
    assert numbers["augmented"] is None and numbers["brittleness"] is None and numbers["drop"] is None
    assert type(numbers).model_validate_json(numbers.model_dump_json()) == numbers


def test_tags_break_the_numbers_down_and_ids_do_not() -> None:
    scores = [row(str(i), i % 2, [], [0.5], tags={"split": "ab"[i % 2], "image_id": str(i)}) for i in range(300)]
    by = summarise(outcomes_of(scores), resamples=20).by
    assert set(by) == {"split"}
    assert by["split"]["a"]["original"] == 0 and by["split"]["b"]["original"] == 1


def test_intervals_are_wider_when_items_share_images() -> None:
    answers = np.random.default_rng(0).integers(0, 2, 100)
    apart = [row(f"{i}", answers[i // 10], [], [0.5], image=str(i)) for i in range(1000)]
    shared = [row(f"{i}", answers[i // 10], [], [0.5], image=str(i // 10)) for i in range(1000)]
    (low, high), (low_shared, high_shared) = (
        summarise(outcomes_of(scores), resamples=500).overall.interval("original") for scores in (apart, shared)
    )
    assert 2 < (high_shared - low_shared) / (high - low) < 5  # sqrt(10) is 3.2


def test_macro_is_the_plain_mean_of_splits() -> None:
    scores = [row(f"a{i}", 1, [1], [0], tags={"split": "attributes"}) for i in range(9)]
    scores.append(row("r", 0, [0], [1], tags={"split": "relations"}))
    result = Averages(outcomes_of(scores), resamples=200).macro(["split"])
    assert result["original"] == result["augmented"] == 0.5
    assert result.groups == 2 and result.n == 10
    assert summarise(outcomes_of(scores), resamples=20).overall["original"] == 0.9


def test_weights_of_groups_are_shares_of_the_whole() -> None:
    tags = [{"test": test, "file": file} for test, file in ("aa", "ab", "ac", "bd", "bd")]
    found = leaves(tags, ("test", "file"))
    assert found is not None and found.weights.tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_macro_nests_and_leaves_small_groups_out() -> None:
    def item(name: str, right: int, test: str, source: str) -> ItemScores:
        return row(name, right, [], [0.5], tags={"test": test, "source": source})

    scores = [item("1", 1, "color", "vg"), item("2", 0, "color", "vaw"), item("3", 0, "color", "hake")]
    scores += [item(f"s{i}", 1, "size", "vg") for i in range(4)]
    both = Averages(outcomes_of(scores), resamples=20).macro(["test", "source"])
    assert both["original"] == pytest.approx((1 / 3 + 1) / 2)
    kept = Averages(outcomes_of(scores), resamples=20).macro(["test", "source"], least=4)
    assert kept["original"] == 1 and kept.left_out == 3 and kept.n == 4


def test_same_seed_same_numbers() -> None:
    rng = np.random.default_rng(1)
    scores = [row(str(i), *rng.random(1), [], [0.5]) for i in range(100)]  # type: ignore[arg-type]
    assert summarise(outcomes_of(scores), seed=3, resamples=25) == summarise(outcomes_of(scores), seed=3, resamples=25)
    assert summarise(outcomes_of(scores), seed=3, resamples=25) != summarise(outcomes_of(scores), seed=4, resamples=25)


def test_not_a_number_names_the_items(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "scores.jsonl"
    path.write_text('{"id": "good", "caption": 1, "negatives": [0]}\n{"id": "bad", "caption": NaN, "negatives": [0]}\n')
    with pytest.raises(UserError, match=r"item 'bad': caption: expected finite scores, found nan"):
        read_scores(path)


def test_all_problems_of_a_score_file_at_once(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "scores.jsonl"
    path.write_text(
        '{"id": "a", "caption": "high", "negatives": [0]}\n'
        '{"id": "b", "caption": 1, "negatives": []}\n'
        "not json\n"
        '{"id": "d", "caption": 1, "negatives": [0]}\n'
        '{"id": "d", "caption": 1, "negatives": [0]}\n'
    )
    with pytest.raises(UserError) as caught:
        read_scores(path)
    message = str(caught.value)
    assert "4 problems" in message
    for part in (
        "line 1: caption",
        "line 2: negatives",
        "line 3: not JSON",
        "line 5: id: 'd' is already used in line 4",
    ):
        assert part in message


def test_one_long_tag_does_not_cost_its_length_for_every_item() -> None:
    """A file of 1.9 MB asked for 29.8 GiB."""
    tags = ["x" * 100_000, *["short"] * 999]
    scores = [row(str(i), i % 3, [1], [0.5], tags={"split": tag}) for i, tag in enumerate(tags)]
    outcomes = outcomes_of(scores)
    tracemalloc.start()
    by = summarise(outcomes, resamples=20).by["split"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6 and [numbers.n for numbers in by.values()] == [999, 1]


def test_huge_scores_are_judged() -> None:
    scores = [row(str(i), 1.5e308, [1.4e308, 1.6e308], [-1.7e308, -1.7e308, 1.0]) for i in range(3)]
    overall = summarise(outcomes_of(scores), resamples=20).overall
    assert overall["augmented"] == 1
    assert overall["mean_score_caption"] == pytest.approx(1.5e308)
    assert overall["mean_score_positive"] == pytest.approx(1.5e308)
    assert overall["mean_score_negative"] == pytest.approx(-3.4e307 / 3 * 10)


def test_mean_scores_of_ordinary_scores() -> None:
    scores = [row("1", 0.3, [0.1, 0.2], [0.1]), row("2", 0.1, [], [0.2, 0.4])]
    found = summarise(outcomes_of(scores), resamples=20).overall
    means = [found[f"mean_score_{text}"] for text in ("caption", "positive", "negative")]
    assert means == pytest.approx([0.2, 0.15, 0.2])


def test_columns_give_back_the_rows() -> None:
    text = TextScores(caption_positives=[0.5], caption_negatives=[0.1], positives_negatives=[[0.2]])
    rows = [
        row("a", 0.5, [], [0.1]),
        row("b", 1, [2, 3], [4, 5, 6], image="1.jpg", tags={"split": "x"}, text=text),
        row("c", -0.0, [0.1], [0.3], tags={"split": "x"}),
    ]
    columns = Scores(rows)
    assert columns == rows and rows == columns and columns[-1] == rows[-1] and columns[1:] == rows[1:]
    assert columns != rows[:2] and columns != [rows[0], rows[1], rows[1]]
    assert columns[1].model_dump() == rows[1].model_dump()
    assert columns.tags[1] is columns.tags[2], "what is the same is kept once"
    assert Scores.of(columns) is columns
    with pytest.raises(IndexError):
        columns[3]
    assert len(outcomes_of([])) == 0


def test_columns_made_at_once_are_those_made_row_by_row() -> None:
    rng = np.random.default_rng(0)
    items = [
        Item(
            id=str(number),
            image=ImageRef(path=f"{number // 2}.jpg") if number % 5 else None,
            caption="a",
            positives=texts(*"bc"[: number % 3]),
            negatives=texts(*"def"[: number % 4]),
            tags={"split": "xy"[number % 2]},
        )
        for number in range(30)
    ]
    values = [rng.random(len(item.texts())).tolist() for item in items]
    rows = [
        ItemScores.model_construct(
            id=item.id,
            image=item.image and item.image.path,
            caption=one[0],
            positives=one[1 : 1 + len(item.positives)],
            negatives=one[1 + len(item.positives) :],
            tags=item.tags,
        )
        for item, one in zip(items, values, strict=True)
    ]
    columns = Scores.of_items(items, np.concatenate(values))
    assert columns == rows and columns.tags[0] is columns.tags[2]
    plain = ("id", "image", "caption", "positives", "negatives", "tags")
    assert list(columns.fields()) == [{name: vars(row)[name] for name in plain} for row in rows]
    assert len(Scores.of_items([], np.zeros(0))) == 0


def test_fields_of_rows_with_more_than_others_are_all_there() -> None:
    other = ImageScores(image="2.jpg", caption=0.5, negatives=[0.1])
    rows = [row("a", 0.5, [], [0.1]), row("b", 0.5, [], [0.1], negative_images=(other,), paired=True)]
    assert list(Scores(rows).fields())[1] == vars(rows[1])


def test_each_outcome_is_that_of_its_item() -> None:
    other = ImageScores(image="2.jpg", caption=0.5, negatives=[0.1])
    rows = [row("a", 0.5, [0.2], [0.1]), row("b", 0.5, [], [0.5]), row("c", 0.1, [0.3], [0.2])]
    for scores in (rows, [*rows, row("d", 0.5, [], [], negative_images=(other.model_copy(update={"negatives": []}),))]):
        assert list(each_outcome(outcomes_of(scores))) == [
            next(iter(each_outcome(outcomes_of([one])))) for one in scores
        ]


def test_columns_are_judged_as_single_items_are() -> None:
    """Against the definitions at the top of metrics.py, item by item."""
    rng = np.random.default_rng(0)
    scores = []
    for number in range(400):
        values = rng.choice([0.0, 0.1, 0.2, 0.3, 1e308, -1.7e308], 9).tolist()
        split = int(rng.integers(1, 5))
        scores.append(row(str(number), values[0], values[1:split], values[5 : 5 + int(rng.integers(1, 5))]))
    found = outcomes_of(scores)
    for index, score in enumerate(scores):
        right, highest = [score.caption, *score.positives], max(score.negatives)
        tie = highest in right
        assert found.original[index] == (score.caption > highest)
        assert found.augmented[index] == (bool(score.positives) and min(right) > highest)
        assert found.brittle[index] == (min(right) < highest < max(right) and not tie)
        assert found.tie[index] == tie
        for column, values in ((found.positive, score.positives), (found.negative, score.negatives)):
            mean = math.fsum(value / 2**40 for value in values) / len(values) * 2**40 if values else math.nan
            assert repr(float(column[index])) == repr(mean)
