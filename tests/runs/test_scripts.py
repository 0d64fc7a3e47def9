"""Every script of runs/: --help, and what it says and writes where its input is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "runs").rglob("*.py") if "__main__" in path.read_text("utf-8")
)
# The arguments of each script that reads other people's data, GONE being a folder that is not there.
READING = {
    "runs/audits.py": ("--data GONE", "--data GONE replace"),
    "runs/blind.py": ("--data GONE", "--data GONE --only sugarcrepe"),
    "runs/coco/base.py": ("GONE --wheel GONE --minilm GONE --out OUT",),
    "runs/coco/data.py": ("photos --git GONE --shared GONE --out OUT",),
    "runs/coco/keep.py": ("GONE --out OUT/x.jsonl",),
    "runs/coco/matching.py": ("GONE --out GONE",),
    "runs/coco/run.py": ("GONE --out GONE",),
    "runs/docs_pictures.py": ("GONE/report.html",),
    "runs/judge/calibrate.py": ("GONE --shared GONE",),
    "runs/judge/candidates.py": ("pool --shared GONE --out OUT/x", "verdicts GONE --shared GONE --out OUT/x"),
    "runs/judge/check.py": ("GONE --sheets 1",),
    "runs/judge/learn.py": ("GONE --pool GONE GONE --encoder GONE",),
    "runs/judge/teach.py": ("GONE GONE GONE --out OUT/x",),
    "runs/judge/wide.py": ("--shared GONE --out OUT/x",),
    "runs/ledger/courts.py": ("--shared GONE",),
    "runs/ledger/logs.py": ("GONE",),
    "runs/ledger/make.py": ("--shared GONE --out OUT/x.html",),
    "runs/ledger/printed.py": ("GONE",),
    "runs/ledger/siglip.py": ("--shared GONE",),
    "runs/make_giveaway.py": ("GONE",),
    "runs/make_pair_counts.py": ("GONE",),
    "runs/make_word_counts.py": ("GONE",),
    "runs/make_wordnet_extract.py": ("GONE",),
    "runs/perturb_bias.py": ("--shared GONE",),
    "runs/perturb_bound.py": ("--shared GONE",),
    "runs/perturb_measure.py": ("--shared GONE",),
    "runs/perturb_reading.py": ("sheet coco --shared GONE --seed 1 --out OUT/x", "count GONE GONE"),
    "runs/perturb_sample.py": ("GONE OUT/x",),
    "runs/published_numbers.py": ("GONE",),
    "runs/replace_clean.py": ("GONE",),
    "runs/tables/recompute.py": ("--scores GONE",),
    "runs/tables/table.py": ("ce_table_1 --real --data GONE --out OUT", "all --real --data GONE", "all --real"),
}
OWN = {  # what reads nothing but this repository, or makes its data
    "runs/coco/table.py", "runs/docs_site.py", "runs/make_forms_table.py", "runs/page_numbers.py",
    "runs/seed_coverage.py", "runs/world_base.py",
    "runs/world_check.py", "runs/world_story.py", "runs/write_decisions.py", "runs/write_schemas.py",
}  # fmt: skip


def run(line: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *line.split()]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def several(lines: list[str]) -> dict[str, subprocess.CompletedProcess[str]]:
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(lines, pool.map(run, lines), strict=True))


def written() -> dict[Path, tuple[int, int]]:
    """Every file that a script might write: its size and time."""
    folders = [ROOT / name for name in ("docs", "runs", "src")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def test_every_script_is_known_here() -> None:
    assert sorted({*READING, *OWN}) == SCRIPTS and not OWN & set(READING)


@pytest.mark.slow
@pytest.mark.long
def test_every_script_has_help_and_writes_nothing_for_it() -> None:
    before = written()
    for line, done in several([f"{script} --help" for script in SCRIPTS]).items():
        assert done.returncode == 0 and done.stdout.startswith("usage: "), f"{line}\n{done.stdout}{done.stderr}"
    assert written() == before


@pytest.mark.slow
@pytest.mark.long
def test_a_script_without_its_input_says_so_and_writes_nothing(tmp_path: Path) -> None:
    before = written()
    gone, out = tmp_path / "gone", tmp_path / "out"
    lines = [
        f"{script} {given}".replace("GONE", str(gone)).replace("OUT", str(out))
        for script, listed in READING.items()
        for given in listed
    ]
    for line, done in several(lines).items():
        said = f"{line}\n{done.stdout}{done.stderr}"
        assert done.returncode == 2 and "Traceback" not in said, said
        assert str(gone) in done.stderr or "--data DIR" in done.stderr, said
    assert written() == before and list(tmp_path.iterdir()) == []


def test_an_audit_of_what_is_not_there_keeps_the_page(tmp_path: Path) -> None:
    """It once wrote an empty page over docs/appendix/audits.md."""
    before = written()
    done = run(f"runs/audits.py --data {tmp_path}")
    assert done.returncode == 2 and "equipoise bench fetch sugarcrepe" in done.stderr and written() == before
