"""Every script of studies/: --help, and what it says and writes where its input is missing."""

from __future__ import annotations

import runpy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "studies").rglob("*.py") if "__main__" in path.read_text("utf-8")
)
# The arguments of each script that reads other people's data, GONE being a folder that is not there.
READING = {
    "studies/audits.py": ("--data GONE", "--data GONE replace"),
    "studies/blind.py": ("--data GONE", "--data GONE --only sugarcrepe"),
    "studies/docs_pictures.py": ("GONE/report.html",),
    "studies/judge/calibrate.py": ("GONE --shared GONE",),
    "studies/judge/candidates.py": ("pool --shared GONE --out OUT/x", "verdicts GONE --shared GONE --out OUT/x"),
    "studies/judge/learn.py": ("GONE --pool GONE GONE --encoder GONE",),
    "studies/judge/teach.py": ("GONE GONE GONE --out OUT/x",),
    "studies/judge/wide.py": ("--shared GONE --out OUT/x",),
    "studies/ledger/courts.py": ("--shared GONE",),
    "studies/ledger/make.py": ("--shared GONE --out OUT/x.html",),
    "studies/ledger/printed.py": ("--shared GONE",),
    "studies/ledger/siglip.py": ("--shared GONE",),
    "studies/ledger/t2i.py": ("--shared GONE",),
    "studies/llm_positives.py": (
        "ask hard_positives_kamath_2024 --shared GONE --llm http://127.0.0.1:1/v1 --llm-model x --cache OUT/x",
    ),
    "studies/make_giveaway.py": ("--shared GONE",),
    "studies/make_pair_counts.py": ("--shared GONE",),
    "studies/make_word_counts.py": ("--shared GONE",),
    "studies/make_wordnet_extract.py": ("GONE",),
    "studies/perturb_measure.py": ("--shared GONE",),
    "studies/perturb_reading.py": ("sheet coco --shared GONE --seed 1 --out OUT/x", "count GONE GONE"),
    "studies/published_numbers.py": ("--shared GONE",),
    "studies/recompute.py": ("--scores GONE",),
    "studies/replace_clean.py": ("GONE",),
    "studies/tables/table.py": ("ce_table_1 --real --data GONE --out OUT", "all --real --data GONE", "all --real"),
}
OWN = {  # what reads nothing but this repository, or makes its data
    "studies/coco/every.py", "studies/coco/table.py", "studies/docs_site.py", "studies/make_forms_table.py",
    "studies/page_numbers.py",
    "studies/seed_coverage.py", "studies/tables/lib/guide.py", "studies/world_base.py",
    "studies/world_check.py", "studies/world_story.py", "studies/write_decisions.py", "studies/write_schemas.py",
}  # fmt: skip


class Done(NamedTuple):
    code: Any
    out: str
    err: str


Run = Callable[[str], Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A script as `python -m` runs it, but in this process: each of its own would import the package anew."""
    monkeypatch.chdir(ROOT)

    def run(line: str) -> Done:
        script, *words = line.split()
        monkeypatch.setattr(sys, "argv", [script, *words])
        with pytest.raises(SystemExit) as ended, warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # it was imported before
            runpy.run_module(script.removesuffix(".py").replace("/", "."), run_name="__main__")
        return Done(ended.value.code, *capsys.readouterr())

    return run


def written() -> dict[Path, tuple[int, int]]:
    """Every file that a script might write: its size and time."""
    folders = [ROOT / name for name in ("docs", "studies", "src")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def test_every_script_is_known_here() -> None:
    assert sorted({*READING, *OWN}) == SCRIPTS and not OWN & set(READING)


def test_the_readme_names_every_file() -> None:
    said = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    files = [path for path in (ROOT / "studies").rglob("*.py") if path.name != "__init__.py"]
    assert not [path.name for path in files if f"{path.name}`" not in said]


@pytest.mark.slow
def test_every_script_has_help_and_writes_nothing_for_it(run: Run) -> None:
    before = written()
    for script in SCRIPTS:
        done = run(f"{script} --help")
        assert done.code == 0 and done.out.startswith("usage: "), script
    assert written() == before


@pytest.mark.slow
def test_a_script_without_its_input_says_so_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    before = written()
    gone, out = tmp_path / "gone", tmp_path / "out"
    for script, given in ((script, given) for script, listed in READING.items() for given in listed):
        done = run(f"{script} {given}".replace("GONE", str(gone)).replace("OUT", str(out)))
        assert done.code == 2 and (str(gone) in done.err or "--data DIR" in done.err), f"{script} {given}\n{done.err}"
    assert written() == before and list(tmp_path.iterdir()) == []


def test_an_audit_of_what_is_not_there_keeps_the_page(run: Run, tmp_path: Path) -> None:
    """It once wrote an empty page over docs/appendix/audits.md."""
    before = written()
    done = run(f"studies/audits.py --data {tmp_path}")
    assert done.code == 2 and "equipoise bench fetch sugarcrepe" in done.err and written() == before
