"""Evaluation end to end with a model of a few lines: numbers, files on disk, runs that are not mixed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.benchmarks.base import Average, Benchmark
from equipoise.core.errors import Busy, OtherRun, UserError
from equipoise.data.items import ImageRef, Item, load_items, texts, write_items
from equipoise.evaluation.record import ItemCounts
from equipoise.evaluation.results import read_result
from equipoise.evaluation.run import evaluate, evaluate_loaded, read_benchmarks


class Liking:
    """Scores a text by a number written into it: 'a cat 0.9'."""

    card = {"spec": "liking", "digest": "1"}  # noqa: RUF012

    def score_pairs(self, images: Sequence[Image.Image], strings: Sequence[str]) -> list[float]:
        return [float(string.split()[-1]) for string in strings]


CHANCE = {"original": 1 / 2, "augmented": 1 / 3, "brittleness": 1 / 3}
BENCHMARK = Benchmark(
    name="toy",
    title="Toy",
    splits={"attributes": 3, "relations": 1},
    chance=CHANCE,
    ties="wrong",
    licence="none",
    citation="Toy 2024",
    url="none",
    get="nothing to get",
    load=lambda source, splits: [],
    averages={"paper": Average(("split",))},
    notes="small",
)


def item(name: str, split: str, caption: float, positive: float, negative: float) -> Item:
    return Item(
        id=name,
        image=ImageRef(path="1.png"),
        caption=f"c {caption}",
        positives=texts(f"p {positive}"),
        negatives=texts(f"n {negative}"),
        tags={"split": split},
    )


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    Image.new("RGB", (4, 4)).save(tmp_path / "1.png")
    return [
        item("1", "attributes", 0.9, 0.8, 0.1),
        item("2", "attributes", 0.9, 0.0, 0.1),
        item("3", "attributes", 0.1, 0.5, 0.5),
        item("4", "relations", 0.0, 0.2, 0.3),
    ]


def test_numbers_and_the_papers_average(items: list[Item], tmp_path: Path) -> None:
    result = evaluate(Liking(), items, images=tmp_path, benchmark=BENCHMARK)
    attributes = result.record.metrics.by["split"]["attributes"]
    assert (attributes["original"], attributes["augmented"], attributes["brittleness"]) == (2 / 3, 1 / 3, 1 / 3)
    assert result.numbers["original"] == pytest.approx((2 / 3 + 0) / 2)
    assert result.record.metrics.overall["original"] == 0.5
    assert result.record.metrics.overall.ties == 1


def test_a_run_says_what_it_was_made_from(items: list[Item], tmp_path: Path) -> None:
    passed = {"bench": "toy", "limit": None}
    evaluate(Liking(), items, images=tmp_path, benchmark=BENCHMARK, out=tmp_path / "run", arguments=passed)
    record = read_result(tmp_path / "run")
    assert record.date is not None and abs((datetime.now(UTC) - record.date).total_seconds()) < 60
    assert record.benchmark.name == "toy" and len(record.benchmark.items_sha256) == 64
    assert (record.benchmark.splits, record.benchmark.limit) == (["attributes", "relations"], None)
    assert (record.benchmark.citation, record.benchmark.ties, record.benchmark.notes) == ("Toy 2024", "wrong", "small")
    assert passed.items() <= record.arguments.items()
    assert record.n == ItemCounts(items=4, scored=4, skipped=0)
    assert {"torch", "numpy"} <= set(record.environment.packages)
    written = json.loads((tmp_path / "run" / "result.json").read_text())
    assert written["schema"] == 5 and written["date"].endswith("Z") and "status" not in written
    lines = [json.loads(line) for line in (tmp_path / "run" / "items.jsonl").read_text().splitlines()]
    outcome = {"original": True, "augmented": False, "brittleness": True, "tie": False}
    assert outcome.items() <= lines[1]["outcome"].items()
    assert lines[1]["texts"]["negatives"] == ["n 0.1"] and lines[1]["negatives"] == [0.1]


def test_the_same_run_is_read_and_another_refused(items: list[Item], tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = evaluate(Liking(), items, images=tmp_path, benchmark=BENCHMARK, out=out)
    before = (out / "result.json").read_bytes()
    again = evaluate(Liking(), items, images=tmp_path, benchmark=BENCHMARK, out=out)
    assert (first.read_from, again.read_from) == (None, out) and again.record == first.record == read_result(out)
    with pytest.raises(OtherRun, match=r"benchmark items sha256: there"):
        evaluate(Liking(), items[:2], images=tmp_path, benchmark=BENCHMARK, out=out)
    with pytest.raises(OtherRun):
        evaluate(Liking(), items, images=tmp_path, benchmark=BENCHMARK, out=out, limit=2)
    assert (out / "result.json").read_bytes() == before


def test_a_run_whose_scores_are_gone_is_made_again(items: list[Item], tmp_path: Path) -> None:
    out = tmp_path / "run"
    evaluate(Liking(), items, images=tmp_path, benchmark=BENCHMARK, out=out)
    (out / "items.jsonl").unlink()
    assert evaluate(Liking(), items, images=tmp_path, benchmark=BENCHMARK, out=out).read_from is None
    assert (out / "items.jsonl").exists()


def test_a_place_for_the_run_is_sought_before_anything_is_scored(items: list[Item], tmp_path: Path) -> None:
    class Never:
        def score_pairs(self, images: Any, strings: Any) -> Any:
            raise AssertionError("scored before the folder was tried")

    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="the folder cannot be made"):
        evaluate(Never(), items, images=tmp_path, out=tmp_path / "file" / "run")


def test_a_second_run_is_kept_out_while_the_first_scores(items: list[Item], tmp_path: Path) -> None:
    refused = []

    class Slow(Liking):
        def score_pairs(self, images: Any, strings: Any) -> Any:
            with pytest.raises(Busy) as caught:
                evaluate(Liking(), items, images=tmp_path, out=tmp_path / "run", seed=7)
            refused.append(caught)
            return super().score_pairs(images, strings)

    evaluate(Slow(), items, images=tmp_path, out=tmp_path / "run")
    assert refused and read_result(tmp_path / "run").settings.seed == 0
    evaluate(Slow(), items, images=tmp_path, out=tmp_path / "run")  # and the lock is free again


def test_a_file_that_no_run_wrote_is_never_overwritten(items: list[Item], tmp_path: Path) -> None:
    class Never:
        def score_pairs(self, images: Any, strings: Any) -> Any:
            raise AssertionError("scored before the folder was tried")

    write_items(tmp_path / "items.jsonl", items)
    before = (tmp_path / "items.jsonl").read_bytes()
    with pytest.raises(UserError, match=r"holds no run of equipoise eval: items\.jsonl would be overwritten"):
        evaluate(Never(), load_items(tmp_path / "items.jsonl"), images=tmp_path, out=tmp_path)
    assert (tmp_path / "items.jsonl").read_bytes() == before


def test_scores_without_a_result_are_this_programs_own(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the two files; and the next run may have other settings, as nothing of the first is kept."""
    with monkeypatch.context() as patch:
        patch.setattr("equipoise.evaluation.results.write_json", lambda *_: sys.exit(1))
        with pytest.raises(SystemExit):
            evaluate(Liking(), items, images=tmp_path, out=tmp_path / "run")
    assert (tmp_path / "run" / "items.jsonl").exists() and not (tmp_path / "run" / "result.json").exists()
    evaluate(Liking(), items, images=tmp_path, out=tmp_path / "run", seed=7)
    assert read_result(tmp_path / "run").settings.seed == 7


def test_what_differs_is_said(items: list[Item], tmp_path: Path) -> None:
    evaluate(Liking(), items, images=tmp_path, out=tmp_path / "run")
    with pytest.raises(UserError) as caught:
        evaluate(Liking(), items[:2], images=tmp_path, out=tmp_path / "run", seed=7, allow_missing=True)
    first, *told, last = str(caught.value).splitlines()
    assert first == f"{tmp_path / 'run'} holds another run:"
    assert told[0].startswith("  benchmark items sha256: there ") and len(told[0]) < 80
    assert told[1:] == ["  settings seed: there 0, here 7", "  settings allow missing: there no, here yes"]
    assert last == "Choose another --out, or delete this folder if you no longer need it."


def test_a_benchmark_never_leaves_its_folder(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file called "...jsonl" has the name ".." before its ending."""
    monkeypatch.chdir(tmp_path)
    write_items("...jsonl", items)
    out = tmp_path / "runs" / "deep" / "x"
    if Path("...jsonl").suffix:
        list(evaluate_loaded(Liking(), read_benchmarks(["./...jsonl"], data=tmp_path, out=out), out=out))
        assert [path.parent for path in tmp_path.rglob("result.json")] == [out / "items"]
    else:  # since Python 3.14 it has no ending, and is no items file
        with pytest.raises(UserError, match="neither a benchmark nor a file of items"):
            list(evaluate_loaded(Liking(), read_benchmarks(["./...jsonl"], data=tmp_path, out=out), out=out))
    with monkeypatch.context() as patch, pytest.raises(UserError, match="outside"):
        patch.setattr("equipoise.benchmarks.registry.load", lambda *_: (items, replace(BENCHMARK, name="../up")))
        list(evaluate_loaded(Liking(), read_benchmarks(["toy"], data=tmp_path, out=out), out=out))


def test_a_run_that_finished_meanwhile_is_not_overwritten(
    items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)

    class Slow(Liking):
        def score_pairs(self, images: Any, strings: Any) -> Any:
            if not (tmp_path / "run" / "result.json").exists():
                evaluate(Liking(), items[:2], images=tmp_path, out=tmp_path / "run")  # as another process would
            return super().score_pairs(images, strings)

    with pytest.raises(OtherRun):
        evaluate(Slow(), items, images=tmp_path, out=tmp_path / "run")
    assert read_result(tmp_path / "run").n.items == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_disk_full_leaves_no_half_result(items: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    def on_a_full_disk(**_: Any) -> tuple[int, str]:
        return os.open("/dev/full", os.O_WRONLY), str(tmp_path / "part")

    monkeypatch.setattr("tempfile.mkstemp", on_a_full_disk)
    with pytest.raises(UserError, match="No space left on device"):
        evaluate(Liking(), items, images=tmp_path, out=tmp_path / "run")
    assert not list((tmp_path / "run").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(("constant", "name"), [(True, "constant"), (False, "random")])
def test_constant_and_random_scorers_on_real_annotations(
    constant: bool, name: str, benchmark_folders: Callable[[str], list[Path]], tmp_path: Path
) -> None:
    """The issue's check: nothing but ties for a constant scorer, chance within its interval for a random one."""
    from equipoise.benchmarks import registry

    class Scorer:
        def score_pairs(self, images: Sequence[Image.Image], strings: Sequence[str]) -> Any:
            return np.zeros(len(strings)) if constant else rng.random(len(strings))

    for folder, count in zip(benchmark_folders("sugarcrepe_pp"), (121, 4512), strict=False):
        rng = np.random.default_rng(0)
        items, benchmark = registry.load("sugarcrepe-pp", folder, ())
        for path in {item.image.path for item in items if item.image}:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (1, 1)).save(tmp_path / path, "PNG")
        numbers = evaluate(Scorer(), items, images=tmp_path, benchmark=benchmark).record.metrics.overall
        if constant:
            assert (numbers["original"], numbers["augmented"], numbers["brittleness"]) == (0, 0, 0)
            assert numbers.ties == numbers.n == count
        else:
            for metric, chance in CHANCE.items():
                low, high = numbers.interval(metric)
                assert low <= chance <= high
            assert numbers.ties <= 2  # a hard positive may be spelt like the caption
