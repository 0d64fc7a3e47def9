"""A metric is one row: the lists of metrics elsewhere are made of the rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from equipoise.evaluation import metrics

ROW = """
    _share("both_wrong", "Both wrong", "Both wrong", "share of items whose right captions are all below a wrong one",
           lambda outcomes: ~outcomes.original & ~outcomes.brittle, "has_positive", better="low"),
"""
SHOW = """
import sys, types
module = types.ModuleType("equipoise.evaluation.metrics")
sys.modules[module.__name__] = module
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), module.__dict__)
import equipoise.evaluation
equipoise.evaluation.metrics = module
from equipoise.api.notebook import HEADLINE
from equipoise.report.tables import OF_THOSE
print(OF_THOSE)
print(*HEADLINE)
"""


def test_a_new_row_is_in_the_lists_of_others(tmp_path: Path) -> None:
    source = Path(metrics.__file__).read_text(encoding="utf-8")
    last = source.index('    _share("drop"')  # before the drop, so that it is not the last of a list
    changed = tmp_path / "metrics.py"
    changed.write_text(f"{source[:last].rstrip()}{ROW}{source[last:]}", encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, "-c", SHOW, str(changed)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "Brittleness, Both wrong and drop" in printed[0] and "both_wrong" in printed[1].split()
