"""The numbers of all formats are equal, and the LaTeX is one that LaTeX takes."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.evaluation.metrics import METRICS
from equipoise.report import grid

Runs = Callable[..., list[Path]]
TEX = shutil.which("tectonic") or shutil.which("pdflatex")
HOSTILE = ["[2pt]", "*", "100% & co_x #1", r"~^\{}$", r"\input{/etc/passwd}", "<script>|", "é ü", "- a", '"quoted"']
LABELS = ["plain", "[2pt] of it", "*starred", "100% & co_x #1 ~^{}$"]  # names of folders


def call(*arguments: str) -> str:
    found = CliRunner().invoke(app, ["report", *arguments], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def cells(line: str, between: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip(between).split(between)]


def test_the_numbers_of_all_formats_are_equal(make_runs: Runs, tmp_path: Path) -> None:
    folders = [str(folder) for folder in make_runs(40)]
    forms = {form: call(*folders, "--format", form) for form in ("csv", "md", "latex", "text")}
    forms["json"] = call(*folders, "--json")
    rows = {row["label"]: row for row in json.loads(forms["json"])}
    wanted = {}
    for label, row in rows.items():
        shares = {
            name: "{:.1f} [{:.1f}, {:.1f}]".format(
                100 * row["metrics"][name]["value"], *(100 * end for end in row["metrics"][name]["interval"])
            )
            for name, metric in METRICS.items()
            if metric.side == "texts" and metric.less is None
        }
        shares["augmented"] += f" ({100 * row['metrics']['drop']['value']:.1f})"
        scores = [
            f"{row['metrics'][f'mean_score_{part}']['value']:.3f}" for part in ("caption", "positive", "negative")
        ]
        wanted[label] = [label, str(row["n"]), *shares.values(), str(row["ties"]), *scores]
    for form, between, tail in (("md", "|", ""), ("latex", "&", r" \\"), ("text", "│", "")):
        found = [cells(line.removesuffix(tail), between) for line in forms[form].splitlines()]
        for label, numbers in wanted.items():
            assert numbers in found, (form, label)
    for line in csv.DictReader(io.StringIO(forms["csv"])):
        row = rows[line["label"]]
        for name in ("original", "augmented", "brittleness", "drop"):
            assert [float(line[f"{name}{end}"]) for end in ("", "_low", "_high")] == [
                row["metrics"][name]["value"],
                *row["metrics"][name]["interval"],
            ]
        assert (int(line["n"]), float(line["ties"])) == (row["n"], row["ties"])
    call(*folders, "--out", str(tmp_path / "page.html"))
    table = (tmp_path / "page.html").read_text().split('<table class="headline stack">')[1].split("</table>")[0]
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", table))
    for label, (_, _, original, augmented, brittleness, *_) in wanted.items():
        value, low, high, drop = re.fullmatch(r"(\S+) \[(\S+), (\S+)\] (\S+)", augmented).groups()  # type: ignore[union-attr]
        assert re.search(rf"{label} .*?{re.escape(f'{original} {value} {drop} [{low}, {high}] {brittleness}')}", words)


# ---------------------------------------------------------------------------- LaTeX


def problems_of(text: str) -> list[str]:
    """Errors in LaTeX: unbalanced braces, another number of cells, bare signs, \\\\[ and \\\\*."""
    found = []
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    for part in re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", "\n".join(lines), re.DOTALL):
        head, *rows = part.splitlines()
        columns = re.fullmatch(r"\\begin\{tabular\}\{(l?r*)\}", head)
        if columns is None:
            found.append(f"head: {head}")
            continue
        bare = re.sub(r"\\[&%$#_{}]", "", part)  # without escaped signs
        if bare.count("{") != bare.count("}") or re.search(r"(?<!\\)[%$#^~]", bare):
            found.append("a bare sign or brace")
        for before, row in zip([head, *rows], rows, strict=False):
            if before.endswith(r"\\") and row.lstrip().startswith(("[", "*")):
                found.append(f"taken for an option of the line before: {row}")
            if row.endswith(r"\\"):
                count = len(re.split(r"(?<!\\)&", row))
                found += [f"{count} cells: {row}"] if count != len(columns[1]) else []
            elif row not in (r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"):
                found.append(f"no row: {row}")
    return found


def test_the_syntax_check_finds_what_is_wrong() -> None:
    good = grid("latex", ["", "a_b"], [[text, text] for text in HOSTILE], "a % caption")
    assert problems_of(good) == []
    row = "\n\\midrule\n"
    for wrong in (
        f"{row}a & b & c \\\\",
        f"{row}a_ & 5% \\\\",
        f"{row}a{{ & b \\\\",
        f"{row}a & b \\\\\n[2pt] & b \\\\",
    ):
        assert problems_of(good.replace(row[:-1], wrong, 1)), wrong


def test_reports_in_latex(make_runs: Runs) -> None:
    folders = [str(folder) for folder in make_runs(16, models=LABELS)]
    assert problems_of(call(*folders, "--format", "latex")) == []


@pytest.mark.slow
@pytest.mark.skipif(TEX is None, reason="needs tectonic, or apt-get install texlive-latex-recommended")
def test_latex_compiles(make_runs: Runs, tmp_path: Path) -> None:
    """A document with the report's table and one of hostile cells, as people paste them."""
    tables = [call(*(str(folder) for folder in make_runs(16, models=LABELS)), "--format", "latex")]
    tables.append(grid("latex", ["", "a_b & c"], [[text, text] for text in HOSTILE], "a % caption\nof two lines"))
    body = "\n\n".join(tables)
    text = (
        f"\\documentclass{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\\tiny\n{body}\n\\end{{document}}\n"
    )
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    assert TEX is not None
    flags = [] if TEX.endswith("tectonic") else ["-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    done = subprocess.run([TEX, *flags, "t.tex"], cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0 and (tmp_path / "t.pdf").stat().st_size > 5_000, done.stdout[-2000:]
    if reader := shutil.which("pdftotext"):
        shown = subprocess.run([reader, "-layout", "t.pdf", "-"], cwd=tmp_path, capture_output=True, text=True).stdout
        assert "[2pt]" in shown and "100% & co_x #1" in shown and "root:" not in shown
