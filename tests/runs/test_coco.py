"""runs/coco: the page's cells are those of the kept item scores, and no test photo is in training."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "coco.md").read_text(encoding="utf-8")
TABLES = (ROOT / "docs" / "appendix" / "coco.md").read_text(encoding="utf-8")


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
        head, *_ = (line for line in TABLES.splitlines() if line.startswith(f"| {title} | REPLACE"))
        start = TABLES.splitlines().index(head)
        for name, line in zip(
            (name for name in table.NAMES if name in table.models(tower)),
            TABLES.splitlines()[start + 2 :],
            strict=False,
        ):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert cells[0] == table.NAMES[name]
            for kind, cell in zip(table.kinds_of(tower), cells[1:], strict=False):
                parts = table.JOINED.get(kind, (kind,))
                means = [
                    np.mean([own[k].mean() for own in judged])
                    for judged in [
                        [above(*np.concatenate([table.scores(tower)[f"{name}-{row['seed']}/{p}"] for p in parts], 1))
                         for row in table.models(tower)[name]]
                    ]
                    for k in range(3)
                ]  # fmt: skip
                assert cell == " / ".join(f"{100 * mean:.1f}" for mean in means)


def above(c: Any, p: Any) -> tuple[Any, Any, Any]:
    return c > 0, (c > 0) & (p > 0), ((c > 0) & (p < 0)) | ((c < 0) & (p > 0))


def test_the_differences_of_the_first_finding_are_those_that_compare_gives() -> None:
    table = load("table")
    for kind, metric, words in (
        ("negclip", "original", "27.2 points [24.9, 29.5]"),
        ("vsr_symmetric", "brittleness", "31.7 points [24.3, 39.0]"),
    ):
        found = table.compare_models(table.runs("m", "control", kind), table.runs("m", "hn-negclip", kind))[metric]
        low, high = found.interval
        assert words in PAGE
        assert f"[{100 * low:.1f}, {100 * high:.1f}]" in words and f"{100 * found.difference:.1f} " in words


def test_the_wrong_human_caption_is_of_another_photo_and_shares_rare_words() -> None:
    data = load("data")
    texts = [["a cat on a sofa", "a cat sleeps"], ["a cat under a sofa", "one cat"], ["a boat", "a red boat at sea"]]
    rows = [{"id": n, "captions": own} for n, own in enumerate(texts)]
    found = {item.id: item for item in data.human_items(rows)}
    first = found["human/0"]
    assert (first.caption, first.positives[0].text) == ("a cat on a sofa", "a cat sleeps")
    assert first.negatives[0].text == "a cat under a sofa"
    assert all(item.negatives[0].text not in texts[int(item.id[-1])] for item in found.values())


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
