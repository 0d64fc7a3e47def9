"""Twenty models with known rates: every measured rate must lie inside its interval, in 19 or 20 of 20."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from tests.evaluation.asking.simulated import Simulated, items

from equipoise.evaluation.asking.variants import Ask, parse_ask
from equipoise.evaluation.run import evaluate

RATES = [
    Simulated(right, first, refuse, flip, noise, wordy, seed)
    for seed, (right, first, refuse, flip, noise, wordy) in enumerate(
        [
            (1.0, 0.0, 0.0, 0.0, 0.0, False), (0.9, 0.0, 0.0, 0.0, 0.0, True), (0.9, 0.1, 0.0, 0.0, 0.0, False),
            (0.9, 0.3, 0.0, 0.0, 0.0, True), (0.9, 0.6, 0.0, 0.0, 0.0, False), (0.8, 0.0, 0.05, 0.0, 0.0, False),
            (0.8, 0.0, 0.2, 0.0, 0.0, True), (0.7, 0.0, 0.0, 0.1, 0.0, False), (0.7, 0.0, 0.0, 0.3, 0.0, True),
            (0.9, 0.0, 0.0, 0.5, 0.0, False), (0.9, 0.0, 0.0, 0.0, 0.1, False), (0.9, 0.0, 0.0, 0.0, 0.3, True),
            (0.9, 0.0, 0.0, 0.0, 0.6, False), (0.9, 0.2, 0.1, 0.0, 0.0, False), (0.9, 0.2, 0.0, 0.2, 0.0, False),
            (0.6, 0.0, 0.1, 0.2, 0.1, True), (0.8, 0.4, 0.05, 0.1, 0.1, False), (0.5, 0.1, 0.0, 0.4, 0.2, False),
            (0.95, 0.05, 0.02, 0.05, 0.05, True), (0.9, 0.6, 0.2, 0.5, 0.3, False),
        ]
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    for number in range(20):
        Image.new("RGB", (8, 8), (10 * number, 0, 50)).save(folder / f"{number}.png")
    return folder


def _truth(model: Simulated) -> dict[str, float]:
    """The expected rates, by the rules of `Simulated`, of answers that name an option."""
    own = (1 - model.first) * (1 - model.noise)  # the answer that it knows
    drawn = (1 - model.first) * model.noise / 2
    knows = {True: model.right, False: 1 - model.right}

    def names_right(place: int, known: bool) -> float:
        return own * known + drawn + model.first * (place == 0)

    def differ(first: tuple[int, bool], second: tuple[int, bool]) -> float:
        one, other = names_right(*first), names_right(*second)
        return one * (1 - other) + other * (1 - one)

    def reworded(known: bool, flips: bool) -> bool:
        return known != flips

    each = [(share, known) for known, share in knows.items() if share]
    said = 1 - model.refuse
    accuracy = sum(
        weight * said * share * turn * names_right(place, reworded(known, flips)) / 2
        for share, known in each for place in (0, 1) for wording, weight in ((0, 3 / 5), (1, 2 / 5))  # with a repeat
        for flips, turn in (((True, model.flip), (False, 1 - model.flip)) if wording else ((False, 1.0),))
    )  # fmt: skip
    return {
        "accuracy": accuracy,
        "refusals": model.refuse,
        "repeat_flips": sum(share * differ((at, known), (at, known)) / 2 for share, known in each for at in (0, 1)),
        "first_option": own * 0.5 + 2 * drawn * 0.5 + model.first,
    }


@pytest.mark.slow
def test_twenty_models_with_known_rates(photos: Path) -> None:
    missed: dict[str, list[str]] = {}
    ask = parse_ask("wordings,orders,repeats:2")
    for number, model in enumerate(RATES):
        found = evaluate(model, items(400), images=photos, ask=ask).numbers
        for name, truth in _truth(model).items():
            interval = found.metrics[name].interval
            assert interval is not None
            if not interval.low - 1e-9 <= truth <= interval.high + 1e-9:
                missed.setdefault(name, []).append(f"{number}: {truth:.3f} not in {interval}")
        if model.noise == model.first == model.refuse == 0:
            assert found["wording_flips"] == pytest.approx(model.flip, abs=0.08)
            assert found["order_flips"] == 0 == found["repeat_flips"]
    assert all(len(one) <= 1 for one in missed.values()), missed


def test_a_coin_is_at_chance_and_no_more_moved_by_words_than_by_repeats(photos: Path) -> None:
    coin = Simulated(noise=1.0)
    record = evaluate(coin, items(400), images=photos, ask=parse_ask("wordings,orders,repeats:2")).record
    found = record.metrics.headline.metrics
    chances = {"original": 0.25, "augmented": 0.0625, "brittleness": 0.375, "accuracy": 0.5, "order_flips": 0.75}
    chances |= {"repeat_flips": 0.5, "first_option": 0.5, "right_every_time": 0.5**5}
    for name, chance in chances.items():
        number = found[name]
        assert number.interval is not None and number.chance == pytest.approx(chance, abs=1e-9), name
        assert number.interval.low <= chance <= number.interval.high, name
    effect = found["wording_effect"]
    assert effect.interval is not None and effect.interval.low < 0 < effect.interval.high


def test_a_preference_for_the_first_option_is_no_brittleness(photos: Path) -> None:
    found = evaluate(Simulated(first=1.0), items(100), images=photos, ask=Ask()).numbers
    assert (found["original"], found["brittleness"], found["order_flips"]) == (0.0, 0.0, 1.0)
    assert found["accuracy"] == 0.5 and found["wording_flips"] == 0.0 and found["first_option"] == 1.0
