"""The count of a blind reading: by source and sort, and nothing left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEY = """number\tsource\tsort\timage\tfrom\tto
1\tflickr8k\tswap positive\ta.jpg\t\t
2\tflickr8k\tswap positive\tb.jpg\t\t
3\tREPLACE\tpublished negative\tc.jpg\t\t
4\tcoco\treplace positive\td.jpg\t\t
"""


def _count(folder: Path, *verdicts: str) -> subprocess.CompletedProcess[str]:
    (folder / "key.tsv").write_text(KEY)
    names = []
    for number, text in enumerate(verdicts):
        names.append(str(folder / f"{number}.tsv"))
        Path(names[-1]).write_text(text)
    command = [sys.executable, "-m", "studies.perturb_reading", "count", str(folder / "key.tsv"), *names]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_each_sort_is_counted_apart(tmp_path: Path) -> None:
    printed = _count(
        tmp_path, "1\tpass\t\n2\tfail\twhy\n3\tpass\n4\tpass\ttrivial\n", "1\tpass\n2\tpass\n3\tfail\n4\tpass\n"
    ).stdout
    assert "| flickr8k, swap positive | 2 | 1 = 50.0% [9.5%, 90.5%] | 2 = 100.0%" in printed
    assert "| REPLACE, published negative | 1 | 1 = 100.0%" in printed
    assert "same verdict: 2 of 4" in printed
    assert "reader 1 called trivial: 1 of 1" in printed and "reader 2 called trivial: 0 of 1" in printed


def test_a_missing_verdict_is_no_pass(tmp_path: Path) -> None:
    done = _count(tmp_path, "1\tpass\n3\tpass\n4\tpass\n")
    assert done.returncode != 0
    assert "no verdict for [2]" in done.stderr
