"""Models of one or several seeds: against slow loops, by simulation, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.evaluation.comparing.exact import mcnemar

from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.evaluation.comparing import inference
from equipoise.evaluation.comparing.differences import difference, leaves_of, per_item
from equipoise.evaluation.comparing.folders import _holding, flips
from equipoise.evaluation.comparing.gate import Gate, check_gates, read_gate
from equipoise.evaluation.comparing.models import ComparedModel, compare_models, contributions, place, require_seeds
from equipoise.evaluation.metrics import METRICS
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Change, Comparison, Interval, RunRecord
from equipoise.evaluation.results import LoadedRun
from equipoise.evaluation.scores import ItemScores
from equipoise.report.comparison import change_rows

MakeRun = Callable[..., LoadedRun]


@pytest.fixture
def run(make_record: Callable[..., RunRecord]) -> MakeRun:
    """A run whose items are right (1) or wrong (0); two items an image unless told, a positive where given."""

    def make(
        original: Sequence[float],
        positive: Sequence[float] | None = None,
        splits: str = "",
        an_image: int = 2,
        name: str = "run",
    ) -> LoadedRun:
        rows = [
            ItemScores(
                id=str(index),
                image=str(index // an_image),
                caption=float(value),
                positives=[] if positive is None else [float(positive[index])],
                negatives=[0.5],
                tags={"split": splits[index]} if splits else {},
            )
            for index, value in enumerate(original)
        ]
        return LoadedRun(Path(name), (make_record(),), outcomes_of(rows))

    return make


def test_one_run_a_side_keeps_the_interval_of_images(run: MakeRun) -> None:
    rng = np.random.default_rng(0)
    before, after = (run(rng.integers(0, 2, 60), rng.integers(0, 2, 60)) for _ in range(2))
    plain, tested = difference([before], [after]), compare_models([before], [after])
    assert list(plain.changes) == list(tested.changes) and set(plain.changes) >= {"original", "augmented", "drop"}
    for metric, old in plain.changes.items():
        new = tested.changes[metric]
        assert (new.interval, new.difference) == (old.interval, old.difference)
        assert new.p is not None and new.image_error is not None and new.seed_error is None
        assert new.detectable is not None and new.detectable > 2.8 * new.image_error


def test_each_metric_says_how_many_items_it_asks(run: MakeRun) -> None:
    plain = run([1, 0, 1, 0, 1, 0])
    rows = [ItemScores.model_validate(row.model_dump() | {"positives": [1.0] * (row.id < "2")}) for row in plain.rows]
    some = LoadedRun(plain.folder, plain.records, outcomes_of(rows))
    found = difference([some], [some]).changes
    asked = {"original": 6, "augmented": 2, "brittleness": 2, "drop": 2}
    assert {name: found[name].n for name in asked} == asked
    compared = Comparison(n=6, n_positives=2, runs=(1, 1), benchmark="b", before="x", after="y", changes=found)
    assert {row["metric"]: row["n"] for row in change_rows([compared])} == {
        name: change.n for name, change in found.items()
    }


def test_the_error_of_independent_items_is_the_closed_form(run: MakeRun) -> None:
    """b + c items differ: variance (b + c - (b - c)^2 / n) / n^2."""
    gained, lost, n = 30, 10, 400
    before = run([0] * gained + [1] * lost + [1] * (n - gained - lost), an_image=1)
    after = run([1] * gained + [0] * lost + [1] * (n - gained - lost), an_image=1)
    found = compare_models([before], [after])["original"]
    assert found is not None
    assert found.image_error == pytest.approx(math.sqrt(gained + lost - (gained - lost) ** 2 / n) / n, rel=0.05)
    assert found.p == pytest.approx(mcnemar(lost, gained), abs=0.002)
    assert found.detectable == pytest.approx(0.048, abs=0.001)  # docs/appendix/statistics.md


def test_contributions_add_up_to_the_average(run: MakeRun) -> None:
    """Groups of unequal size, one of them without a positive."""
    positives = [1, 0, 1, 1, 0, 0]
    one = run([1, 0, 1, 0, 1, 1], positives, splits="aaaabb", an_image=3)
    values = per_item(one.outcomes, [METRICS[name] for name in ("original", "augmented", "brittleness", "drop")])
    values[4:, 1:] = np.nan
    groups = leaves_of(one, ("split",), 1)
    found = contributions(values, one.outcomes.cluster, groups).sum(axis=0)
    expected = [(np.mean([1, 0, 1, 0]) + 1) / 2, *(values[:4, column].mean() for column in (1, 2, 3))]
    assert found == pytest.approx(expected)


def _slow_parts(outcomes: list[np.ndarray], an_image: int) -> tuple[float, float]:
    """(variance of the mean over seeds, of it the chance on single images) with loops alone."""
    seeds, items = len(outcomes), len(outcomes[0])
    images = items // an_image
    of_seed = [one.mean() for one in outcomes]
    mean = sum(of_seed) / seeds
    raw = sum((one - mean) ** 2 for one in of_seed) / (seeds - 1) / seeds
    chance = 0.0
    for image in range(images):
        cells = [one[image * an_image : (image + 1) * an_image].sum() / items for one in outcomes]
        for value, level in zip(cells, of_seed, strict=True):
            chance += (value - sum(cells) / seeds - (level - mean) / images) ** 2
    return raw, chance / (seeds * (seeds - 1)) * images / (images - 1)


def test_the_parts_of_the_variance_against_loops(run: MakeRun) -> None:
    rng = np.random.default_rng(3)
    first, second = (
        [(rng.random(60) < level).astype(float) for level in levels] for levels in ((0.3, 0.8, 0.5), (0.6, 0.9))
    )
    found = compare_models([run(one) for one in first], [run(one) for one in second], resamples=4000)["original"]
    assert found is not None and found.seed_error is not None and found.image_error is not None
    parts = [_slow_parts(side, 2) for side in (first, second)]
    own = sum(max(0.0, raw - chance) for raw, chance in parts)
    assert found.seed_error == pytest.approx(math.sqrt(own))
    images = found.image_error**2
    df = (images + own) ** 2 / (images**2 / 29 + parts[0][0] ** 2 / 2 + parts[1][0] ** 2 / 1)
    half = stats.t_quantile(0.95, max(1.0, df)) * math.sqrt(images + own)
    assert found.interval.high - found.difference == pytest.approx(half, rel=0.06)  # the rest is the resamples
    assert found.difference - found.interval.low == pytest.approx(found.interval.high - found.difference)


@pytest.mark.slow
def test_coverage_where_seeds_differ(run: MakeRun) -> None:
    """No true difference, seeds that differ: the interval of images alone is wrong every second time."""
    rng = np.random.default_rng(7)
    both = images = 0
    for _ in range(60):
        base = rng.normal(size=50).repeat(2)
        first, second = (
            [run(base + rng.normal(0, 0.3) + rng.normal(size=100) > 0) for _ in range(3)] for _ in range(2)
        )
        found, plain = (
            compare_models(first, second, resamples=200)["original"],
            difference(first, second, resamples=200)["original"],
        )
        assert found is not None and plain is not None
        both += found.interval.low <= 0 <= found.interval.high
        images += plain.interval.low <= 0 <= plain.interval.high
    assert both / 60 >= 0.9 > 0.75 >= images / 60


def test_several_seeds_draw_no_sign_flips(run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their p-value is Student's; the flips took most of the time of studies/coco/table.py."""
    monkeypatch.delattr(inference, "sign_flip_sums")
    rng = np.random.default_rng(4)
    first, second = ([run(rng.integers(0, 2, 40)) for _ in range(3)] for _ in range(2))
    found = compare_models(first, second)["original"]
    assert found is not None and found.p is not None and 0 < found.p < 1


def test_seeds_that_agree_add_nothing(run: MakeRun) -> None:
    rng = np.random.default_rng(1)
    right = rng.integers(0, 2, 40)
    found = compare_models([run(right)] * 3, [run(1 - right)] * 3)["original"]
    assert found is not None and found.seed_error == pytest.approx(0, abs=1e-12)
    assert found.interval.high - found.difference == pytest.approx(
        stats.t_quantile(0.95, 19) * found.image_error,
        rel=1e-3,  # 20 images
    )


def test_what_is_no_seed(run: MakeRun) -> None:
    one = run([1, 0])
    with pytest.raises(UserError, match="the same weights, not two seeds"):
        require_seeds(ComparedModel("x", [one, run([0, 1])]))
    record = one.records[0]
    other = record.model.model_copy(update={"weight_sha256": "other", "architecture": {"class": "another"}})
    changed = LoadedRun(one.folder, (record.model_copy(update={"model": other}),), one.outcomes)
    with pytest.raises(UserError, match="different architecture"):
        require_seeds(ComparedModel("x", [one, changed]))


# ---------------------------------------------------------------------------- groups


def test_models_that_cannot_be_told_apart_share_a_letter(run: MakeRun) -> None:
    """With 100 items: A 90, B 85 (five of A's), C 80, D 20: neighbours overlap, D is alone."""
    models = [
        ComparedModel(name, [run([1] * n + [0] * (100 - n), an_image=1)])
        for name, n in zip("DBCA", (20, 85, 80, 90), strict=True)
    ]
    found = place(models, "original")
    assert [(one.model, round(one.value, 9), one.letters) for one in found] == [
        ("A", 0.9, "a"), ("B", 0.85, "a b"), ("C", 0.8, "b"), ("D", 0.2, "c")
    ]  # fmt: skip
    pairs = {  # exact: A-B 5 of 5, B-C 5 of 5 (p 0.0625); A-C 10 of 10 (p 0.002, times 4 pairs at least)
        "AB": mcnemar(5, 0), "AC": mcnemar(10, 0)
    }  # fmt: skip
    assert pairs["AB"] > 0.05 > 6 * pairs["AC"]
    assert place(models, "augmented") == []


def test_forty_models_are_told_apart_where_they_differ(run: MakeRun) -> None:
    """780 pairs: a p-value that cannot be below 1 / 10,000 would leave all of them together."""
    rng = np.random.default_rng(0)
    rates = np.linspace(0.2, 0.98, 40)
    models = [
        ComparedModel(f"m{n}", [run((rng.random(1000) < rate).astype(float), an_image=1)])
        for n, rate in enumerate(rates)
    ]
    letters = {one.model: set(one.letters.split()) for one in place(models, "original")}
    assert (
        not letters["m0"] & letters["m10"]
        and not letters["m10"] & letters["m20"]
        and not letters["m0"] & letters["m39"]
    )
    equal = [ComparedModel(f"m{n}", [run((rng.random(300) < 0.5).astype(float), an_image=1)]) for n in range(40)]
    assert {one.letters for one in place(equal, "original")} == {"a"}


def test_brittleness_is_better_when_lower(run: MakeRun) -> None:
    steady, brittle = run([1] * 40, [1] * 40), run([1] * 40, [0] * 40)
    found = place([ComparedModel("brittle", [brittle]), ComparedModel("steady", [steady])], "brittleness")
    assert [(one.model, one.letters) for one in found] == [("steady", "a"), ("brittle", "b")]


def test_groups_of_seeds(run: MakeRun) -> None:
    rng = np.random.default_rng(0)
    models = [
        ComparedModel(name, [run((rng.random(200) < level).astype(float)) for _ in range(3)])
        for name, level in (("low", 0.3), ("high", 0.8), ("as high", 0.8))
    ]
    letters = {one.model: one.letters for one in place(models, "original")}
    assert letters["high"] == letters["as high"] == "a" and letters["low"] == "b"


# ---------------------------------------------------------------------------- flips


def test_flips_largest_first(run: MakeRun, tmp_path: Path) -> None:
    before = run([1, 1, 1, 1, 0, 0], splits="aaabbb", name=str(tmp_path))
    after = run([0, 0.2, 1, 1, 1, 0], splits="aaabbb")
    (tmp_path / "items.jsonl").write_text(
        '{"id": "0", "texts": {"caption": "a dog", "positives": [], "negatives": ["a cat"]}}\n'
    )
    found = flips(ComparedModel("x", [before]), ComparedModel("y", [after]), 10)
    assert (found.gained, found.lost) == (1, 2)
    assert [(one.id, one.change, one.before, one.after) for one in found.items] == [
        ("4", 1, -0.5, 0.5), ("0", -1, 0.5, -0.5), ("1", -1, 0.5, pytest.approx(-0.3))
    ]  # fmt: skip
    assert found.items[1].texts is not None and found.items[1].texts.negatives == ["a cat"]
    assert [(one.tag, one.value, one.n, one.gained, one.lost) for one in found.tags] == [
        ("split", "a", 3, 0, 2), ("split", "b", 3, 1, 0)
    ]  # fmt: skip
    fewer = flips(ComparedModel("x", [before]), ComparedModel("y", [after]), 1)
    assert ([one.id for one in fewer.items], len(fewer.tags), fewer.lost) == (["4", "0"], 1, 2)


def test_texts_are_those_of_the_items_that_flipped(run: MakeRun, tmp_path: Path) -> None:
    before, after = run([1, 1, 0, 1], name=str(tmp_path)), run([1, 0, 1, 1])
    lines = [
        json.dumps({"id": str(n), "texts": {"caption": f"{n}", "positives": [], "negatives": []}}) for n in range(4)
    ]
    (tmp_path / "items.jsonl").write_text("\n" + "\n\n".join(lines) + "\n")
    found = flips(ComparedModel("x", [before]), ComparedModel("y", [after]), 10)
    assert [(one.id, one.texts and one.texts.caption) for one in found.items] == [("2", "2"), ("1", "1")]


def test_places_of_tags_are_those_that_a_loop_finds() -> None:
    shared = [{"a": "1", "b": "2"}, {"b": "2"}, {}, {"a": "3"}, {"a": "1", "b": "2"}]
    rows = [shared[spot] for spot in np.random.default_rng(0).integers(0, 5, 40)]
    expected: dict[tuple[str, str], list[int]] = {}
    for spot, tags in enumerate(rows):
        for pair in tags.items():
            expected.setdefault(pair, []).append(spot)
    assert {pair: places.tolist() for pair, places in _holding(rows).items()} == expected
    assert _holding([]) == {}


# ---------------------------------------------------------------------------- gates


def _compared(difference: float, low: float, high: float) -> Comparison:
    change = Change(difference=difference, interval=Interval(low, high), detectable=0.02)
    changes = {"original": change, "brittleness": change}
    return Comparison(n=9, n_positives=9, runs=(1, 1), benchmark="b", before="x", after="y", changes=changes)


@pytest.mark.parametrize(
    ("metric", "interval", "verdict"),
    [
        ("original", (-0.05, -0.08, -0.021), "worse"),
        ("original", (-0.05, -0.08, -0.02), "unclear"),  # the interval touches what is allowed
        ("original", (-0.05, -0.11, 0.01), "unclear"),
        ("original", (-0.02, -0.03, -0.01), "fine"),
        ("original", (0.05, 0.02, 0.08), "fine"),
        ("brittleness", (0.05, 0.021, 0.08), "worse"),
        ("brittleness", (-0.05, -0.08, -0.03), "fine"),
    ],
)
def test_a_gate_fails_where_the_whole_interval_is_beyond_it(
    metric: str, interval: tuple[float, float, float], verdict: str
) -> None:
    (found,) = check_gates([read_gate(f"{metric}:2")], [_compared(*interval)])
    assert found.verdict == verdict and found.failed is (verdict == "worse")
    assert found.visible == pytest.approx(4)
    assert found.low <= found.loss <= found.high


@pytest.mark.parametrize(
    ("loss", "verdict", "failed"),
    [((0.0, -1.0, 1.0), "fine", False), ((0.0, -4.0, 4.0), "unclear", True), ((5.0, 3.0, 7.0), "worse", True)],
)
def test_a_strict_gate_fails_unless_the_loss_is_shown_to_be_small(
    loss: tuple[float, float, float], verdict: str, failed: bool
) -> None:
    gate = read_gate("original:2", strict=True)
    value, low, high = (points / 100 for points in loss)
    (found,) = check_gates([gate], [_compared(-value, -high, -low)])
    assert (found.verdict, found.failed) == (verdict, failed)
    (lenient,) = check_gates([read_gate("original:2")], [_compared(-value, -high, -low)])
    assert lenient.failed is (verdict == "worse")
    with pytest.raises(UserError, match="--fail-unless-shown original:x"):
        read_gate("original:x", strict=True)


def test_no_loss_is_above_100_points() -> None:
    change = Change(difference=-0.31, interval=Interval(-1.3, 0.68), detectable=0.99)
    compared = _compared(0, 0, 0).model_copy(update={"changes": {"original": change, "drop": change}})
    one, drop = check_gates([read_gate("original:5"), read_gate("drop:5")], [compared])
    assert (one.low, one.high) == pytest.approx((-68, 100)) and one.visible is None
    assert (drop.low, drop.high, drop.visible) == pytest.approx((-130, 68, 104))  # of a difference of two


def test_what_a_gate_refuses() -> None:
    assert read_gate("drop:0") == Gate("drop", 0.0)
    for text, words in [
        ("orignal:1", "Did you mean original"),
        ("original", "POINTS from 0 to 100"),
        ("original:-1", "POINTS from 0 to 100"),
        ("original:nan", "POINTS from 0 to 100"),
        ("original:inf", "POINTS from 0 to 100"),
        ("original:\uff11", "POINTS from 0 to 100"),  # a full-width digit
    ]:
        with pytest.raises(UserError, match=words):
            read_gate(text)
    with pytest.raises(UserError, match="so nothing could fail"):
        check_gates([Gate("augmented", 1)], [_compared(0, 0, 0)])
