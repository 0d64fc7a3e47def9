"""runs/coco: the page's cells are those of the kept item scores, and no test photo is in training."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "appendix" / "coco.md").read_text(encoding="utf-8")


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"coco_{name}", ROOT / "runs" / "coco" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def test_the_means_on_the_page_are_those_of_the_scores() -> None:
    table = load("table")
    for tower, title in table.TOWERS.items():
        head, *_ = (line for line in PAGE.splitlines() if line.startswith(f"| {title} | NegCLIP"))
        start = PAGE.splitlines().index(head)
        lines = PAGE.splitlines()[start + 2 : start + 2 + len(table.NAMES)]
        for (name, words), line in zip(table.NAMES.items(), lines, strict=True):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert cells[0] == words
            for kind, cell in zip(table.KINDS, cells[1:], strict=False):
                held = [table.scores(tower)[f"{name}-{row['seed']}/{kind}"] for row in table.models(tower)[name]]
                above = [(c > 0, (c > 0) & (p > 0), ((c > 0) & (p < 0)) | ((c < 0) & (p > 0))) for c, p in held]
                means = [100 * np.mean([one[k].mean() for one in above]) for k in range(3)]
                assert cell == " / ".join(f"{mean:.1f}" for mean in means)


def test_the_differences_of_the_first_finding_are_those_that_compare_gives() -> None:
    table = load("table")
    for kind, metric, words in (
        ("negclip", "original", "29.5 points [26.9, 32.1]"),
        ("vsr_symmetric", "brittleness", "34.4 points [27.2, 41.6]"),
    ):
        found = table.compare_models(table.runs("m", "control", kind), table.runs("m", "hn-negclip", kind))[metric]
        low, high = found.interval
        assert words in PAGE
        assert f"[{100 * low:.1f}, {100 * high:.1f}]" in words and f"{100 * found.difference:.1f} " in words


def test_no_photo_of_a_benchmark_is_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    data = load("data")
    monkeypatch.setattr(data, "DEV", 6)
    rows = [
        {"id": n, "photo": True, "use": "eval" if n % 3 == 0 else "train",
         "benchmarks": ["karpathy_test"] * (n % 6 == 0), "captions": ["a", "b", "c", "d"]}
        for n in range(40)
    ]  # fmt: skip
    found = data.photos_of(rows)
    names = {split: {row["id"] for row in own} for split, own in found.items()}
    assert len(names["dev"]) == 6 and len(names["train"]) == 20 and not names["dev"] & names["train"]
    assert not any(number % 3 == 0 for split in ("train", "dev") for number in names[split])
    assert names["test"] == {number for number in range(40) if number % 6 == 0}
