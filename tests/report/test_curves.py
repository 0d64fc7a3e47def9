"""The page of a training run's curves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import InTheWay
from equipoise.report.curves import findings, turn, write_curves
from equipoise.train.run.log import read_log


def row(step: int, **more: Any) -> dict[str, Any]:
    parts = {"itc": 2 / step, "cmr": 1 / step, "threshold_relation": step / 10}
    own = {"step": step, "epoch": 0, "loss": 3 / step, "parts": parts, "lr": 1e-4, "scale": 100.0}
    return own | {"gradient_norm": 1.0 + step, "images_per_s": 50.0} | more


def judged(step: int, original: float, augmented: float, half: float = 0.01) -> dict[str, Any]:
    metrics = {"original": original, "augmented": augmented, "brittleness": 0.2}
    intervals = {name: [value - half, value + half] for name, value in metrics.items()}
    return {"step": step, "metrics": metrics, "intervals": intervals, "n": dict.fromkeys(metrics, 400)}


def run(folder: Path, *rows: dict[str, Any], best: int | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    (folder / "run.json").write_text(json.dumps({"schema": 1, "command": "train", "run": {"recipe": "a<b"}}))
    if best is not None:
        (folder / "best").write_text(f"step-{best:08d}\n")
    return folder


LOG = [
    judged(0, 0.6, 0.4),
    *map(row, range(1, 11)),
    judged(10, 0.65, 0.45),
    *map(row, range(11, 21)),
    judged(20, 0.8, 0.3),
]


def test_every_curve_is_there_and_the_chosen_step_and_the_turn_are_marked(tmp_path: Path) -> None:
    page = write_curves(run(tmp_path / "run", *LOG, best=10))
    assert page is not None
    text = page.read_text()
    titles = re.findall("<h3>(.*?)</h3>", text)
    assert titles == ["Watched metrics", "Loss", "Thresholds", "Learning rate", "Gradient norm", "Speed"]
    assert text.count(">chosen</text>") == text.count(">Original ↑ Augmented ↓</text>") == 6
    assert (
        "Chosen checkpoint: step 10 (Original accuracy 65.0% [64.0, 66.0] of 400, Augmented accuracy 45.0% [44.0, 46.0]"
        in text
    )
    assert "Original accuracy rises from 65.0% [64.0, 66.0] of 400 to 80.0% [79.0, 81.0] of 400 and" in text
    assert "may be chance" not in text
    places = dict(re.findall(r'<line x1="([\d.]+)%" x2="[\d.]+%" y1="0" y2="220" class="(chance)"', text))
    assert set(places) == {"50.00", "100.00"}
    assert "a<b" not in text and "<script" not in text and "http:" not in text and "default-src 'none'" in text
    assert text.count('class="spread m0"') == 3  # one interval for each evaluation
    before = page.read_bytes()
    assert write_curves(tmp_path / "run") == page and page.read_bytes() == before


def test_the_turn_is_where_original_rises_while_augmented_falls(tmp_path: Path) -> None:
    assert turn([judged(0, 0.6, 0.4), judged(1, 0.7, 0.5), judged(2, 0.8, 0.6)]) is None
    assert turn([judged(0, 0.6, 0.4), judged(1, 0.5, 0.3)]) is None  # both fall
    found = turn([judged(0, 0.6, 0.4), judged(1, 0.6, 0.3), judged(2, 0.7, 0.3), judged(3, 0.8, 0.2)])
    assert found is not None and [one["step"] for one in found] == [0, 2]
    close = run(tmp_path / "run", judged(0, 0.6, 0.4, 0.1), row(1), judged(1, 0.7, 0.35, 0.1))
    assert "may be chance" in findings(close, read_log(close))[0]


def test_a_run_without_evaluation_and_one_that_is_empty(tmp_path: Path) -> None:
    page = write_curves(run(tmp_path / "run", *map(row, range(1, 4))))
    assert page is not None and "Watched metrics" not in page.read_text()
    assert write_curves(run(tmp_path / "none")) is None


def test_a_users_own_page_is_kept(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", row(1))
    (folder / "curves.html").write_text("mine")
    with pytest.raises(InTheWay, match=r"curves\.html"):
        write_curves(folder)
    assert (folder / "curves.html").read_text() == "mine"


def test_a_long_run_gives_a_small_page(tmp_path: Path) -> None:
    page = write_curves(run(tmp_path / "run", *(row(step) for step in range(1, 20_001))))
    assert page is not None and page.stat().st_size < 400_000
