"""Blind baselines beside a result: on the same items, averaged in the same way, with a paired gain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from equipoise.benchmarks.base import Average, Benchmark
from equipoise.cli import app
from equipoise.data.items import ImageRef, Item, texts, write_items
from equipoise.evaluation.record import Number
from equipoise.evaluation.results import read_result
from equipoise.evaluation.run import evaluate
from equipoise.models import load_model

BENCHMARK = Benchmark(
    name="toy",
    title="Toy",
    splits={"short": 60, "same": 20},
    chance={"original": 1 / 2, "augmented": 1 / 3, "brittleness": 1 / 3},
    ties="wrong",
    licence="none",
    citation="Toy 2024",
    url="none",
    get="nothing to get",
    load=lambda source, splits: [],
    averages={"paper": Average(("split",))},
)


class Perfect:
    """Knows every caption and every hard positive."""

    card = {"spec": "perfect", "digest": "1"}  # noqa: RUF012

    def score_pairs(self, images: Sequence[Image.Image], strings: Sequence[str]) -> list[float]:
        return [0.0 if "wrong" in text or "gnorw" in text else 1.0 for text in strings]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(80):
        Image.new("RGB", (4, 4), (number, 0, 0)).save(folder / f"{number}.png")
    return folder


def _items() -> list[Item]:
    """In `short` the caption is the shorter text and no word tells; in `same` all texts have one length."""
    found = []
    for number in range(80):
        split = "short" if number < 60 else "same"
        caption = f"cap{number:02}"
        wrong = f"wrong{number:02}" if split == "short" else "gnorw"
        found.append(
            Item(
                id=str(number),
                image=ImageRef(path=f"{number}.png"),
                caption=caption,
                positives=texts(f"pos{number:02}" if split == "short" else f"pos{number:02}gnor"[:5]),
                negatives=texts(wrong),
                tags={"split": split},
            )
        )
    return found


def share(best: tuple[str, Number] | None) -> tuple[str, float]:
    assert best is not None
    return best[0], best[1].value


def test_the_best_blind_judge_and_the_gain_over_it(photos: Path, tmp_path: Path) -> None:
    result = evaluate(Perfect(), _items(), images=photos, benchmark=BENCHMARK, out=tmp_path / "run")
    blind = read_result(tmp_path / "run").blind
    assert blind is not None and blind == result.record.blind
    short, same = blind.splits["short"], blind.splits["same"]
    assert share(short.best()) == ("blind:length", 1.0)
    assert short.gain["original"].difference == 0.0 and short.gain["original"].over == "blind:length"
    assert same.baselines["blind:length"]["original"].value == 0.0  # ties
    assert share(same.best()) == ("blind:ngram", 1.0)  # one wrong word for all of them
    assert blind.headline == "paper"
    length = [blind.splits[split].baselines["blind:length"]["original"].value for split in ("short", "same")]
    assert blind.by_rule(None).baselines["blind:length"]["original"].value == pytest.approx(
        sum(length) / 2
    )  # as the paper averages
    assert blind.overall.baselines["blind:length"]["original"].value == pytest.approx(60 / 80)
    gain = blind.overall.gain["original"]
    assert gain.difference == pytest.approx(1 - share(blind.overall.best())[1])
    assert gain.interval.low <= gain.difference <= gain.interval.high


def test_what_was_not_scored_does_not_teach_the_baselines(photos: Path) -> None:
    for number in range(60, 80):
        (photos / f"{number}.png").write_bytes(b"no image")
    some = evaluate(Perfect(), _items(), images=photos, benchmark=BENCHMARK, allow_missing=True, workers=3)
    alone = evaluate(Perfect(), _items()[:60], images=photos, benchmark=BENCHMARK)
    assert len(some.rows) == 60 and some.record.blind is not None and alone.record.blind is not None
    assert some.record.blind.overall == alone.record.blind.overall


def test_the_result_of_the_same_run_has_the_same_bytes(photos: Path, tmp_path: Path) -> None:
    for place in ("one", "two"):
        evaluate(Perfect(), _items(), images=photos, benchmark=BENCHMARK, out=tmp_path / place)
    one, two = (json.loads((tmp_path / place / "result.json").read_text())["blind"] for place in ("one", "two"))
    assert one == two


def test_a_blind_model_needs_no_images(tmp_path: Path) -> None:
    evaluate(load_model("blind:length"), _items(), out=tmp_path / "length")  # no --images


def test_the_table_says_it(tmp_path: Path) -> None:
    write_items(tmp_path / "toy.jsonl", _items())
    found = CliRunner().invoke(app, ["eval", "blind:ngram", "--bench", str(tmp_path / "toy.jsonl"), "--verbose"])
    assert found.exit_code == 0, found.output
    assert "best blind" in found.stdout and "gain over the best: Orig. " in found.stdout
    rows = CliRunner().invoke(app, ["eval", "blind:ngram", "--bench", str(tmp_path / "toy.jsonl"), "--json"])
    assert json.loads(rows.stdout)[0]["blind"]["baselines"]["blind:length"]["original"]["value"] == pytest.approx(0.75)
    row = CliRunner().invoke(app, ["eval", "blind:ngram", "--bench", str(tmp_path / "toy.jsonl"), "--format", "csv"])
    assert "blind_gain_low" in row.stdout.splitlines()[0]


def test_a_blind_run_can_be_compared_with_one_that_read_photos(photos: Path, tmp_path: Path) -> None:
    evaluate(Perfect(), _items(), images=photos, out=tmp_path / "perfect")
    evaluate(load_model("blind:length"), _items(), out=tmp_path / "length")
    found = CliRunner().invoke(app, ["compare", str(tmp_path / "length"), str(tmp_path / "perfect")])
    assert found.exit_code == 0, found.output
    assert "+25.0" in found.stdout and "older version" not in found.stdout
