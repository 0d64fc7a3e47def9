"""The count of a blind reading: by source and sort, and nothing left out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from studies import perturb_reading

KEY = """number\tsource\tsort\timage\tfrom\tto
1\tflickr8k\tswap positive\ta.jpg\t\t
2\tflickr8k\tswap positive\tb.jpg\t\t
3\tREPLACE\tpublished negative\tc.jpg\t\t
4\tcoco\treplace positive\td.jpg\t\t
"""


def _count(folder: Path, *verdicts: str) -> None:
    (folder / "key.tsv").write_text(KEY)
    names = []
    for number, text in enumerate(verdicts):
        names.append(str(folder / f"{number}.tsv"))
        Path(names[-1]).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["perturb_reading", "count", str(folder / "key.tsv"), *names])
        perturb_reading.main()


def test_each_sort_is_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _count(tmp_path, "1\tpass\t\n2\tfail\twhy\n3\tpass\n4\tpass\ttrivial\n", "1\tpass\n2\tpass\n3\tfail\n4\tpass\n")
    printed = capsys.readouterr().out
    assert "| flickr8k, swap positive | 2 | 50.0% | 100.0% | [9.5%, 100.0%] | 0 |" in printed
    assert "| REPLACE, published negative | 1 | 100.0% | 0.0% |" in printed
    assert "| coco, replace positive | 1 | 100.0% | 100.0% | [20.7%, 100.0%] | 1 |" in printed
    assert "same verdict: 2 of 4" in printed


def test_a_missing_verdict_is_no_pass(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no verdict for \[2\]"):
        _count(tmp_path, *["1\tpass\n3\tpass\n4\tpass\n"] * 2)
