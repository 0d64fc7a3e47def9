"""A metric is one row, and a column of `compare` one field: the lists of them elsewhere are derived."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

from equipoise.evaluation import metrics, record

ROW = """
    _share("both_wrong", "Both wrong", "Both wrong", "share of items whose right captions are all below a wrong one",
           lambda outcomes: ~outcomes.original & ~outcomes.brittle, "has_positive", better="low"),
"""
FIELD = """
    twice: Annotated[float | None, Column("twice", about="twice the change")] = 0.5
    images: Annotated[float | None, Column("images", "number")] = 1234.0
"""
REPLACE = """
import importlib, sys, types
name, path = sys.argv[1:]
module = types.ModuleType(name)
sys.modules[name] = module
exec(compile(open(path, encoding="utf-8").read(), path, "exec"), module.__dict__)
setattr(importlib.import_module("equipoise.evaluation"), name.rpartition(".")[2], module)
"""
LISTS = """
from equipoise.api.notebook import HEADLINE
from equipoise.report.tables import OF_THOSE
print(OF_THOSE)
print(*HEADLINE)
"""
TABLES = """
from equipoise.evaluation.record import Change, Comparison, Interval
from equipoise.report.comparison import change_rows, render_rows, _tests
change = Change(difference=0.1, interval=Interval(0.05, 0.2), p=0.01, adjusted=0.01)
one = Comparison(n=9, n_positives=9, runs=(1, 1), benchmark="b", before="x", after="y", changes={"original": change})
for form in ("csv", "md"):
    print(render_rows([one], form, ["metric", "twice", "images"]))
print(render_rows([one], "csv").splitlines()[0])
print(_tests([one]))
print(*change_rows([one])[0])
"""


def with_new(module: ModuleType, before: str, new: str, show: str, folder: Path) -> list[str]:
    """The lines that a script prints where a module of the package has lines more."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    place = source.index(before)
    changed = folder / "changed.py"
    changed.write_text(f"{source[:place].rstrip()}{new}{source[place:]}", encoding="utf-8")
    command = [sys.executable, "-c", REPLACE + show, module.__name__, str(changed)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_new_metric_is_in_the_lists_of_others(tmp_path: Path) -> None:
    of_those, headline = with_new(metrics, '    _share("drop"', ROW, LISTS, tmp_path)
    assert "Both wrong" in of_those and "both_wrong" in headline.split()


def test_a_new_column_is_in_every_table(tmp_path: Path) -> None:
    printed = with_new(record, "    # standard errors", FIELD, TABLES, tmp_path)
    assert {"detectable", "twice", "images"} <= set(printed[-1].split())  # of `to_frame`
    assert printed[:2] == ["metric,twice,images", "original,50.0,1234.0"]
    assert any("50.00" in line and "1,234" in line for line in printed if line.startswith("|"))
    assert any(line.endswith("verdict") and "twice,images" in line for line in printed)
    assert "twice: twice the change" in " ".join("".join(printed).split())
