"""`--average`, and `metrics --bench`: scores made elsewhere with a benchmark's averages and metrics."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.evaluation.results import record_hash

Run = Callable[..., tuple[int, str, str]]

FILES = {
    "replace_obj": 1,
    "swap_obj": 3,
    "swap_att": 1,
}  # items per split; those of swap_obj are wrong, the others right
MODEL = """
import numpy as np
class Model:
    card = {"digest": "words"}
    def embed_images(self, images): return np.tile([1.0, 0.0], (len(images), 1))
    def embed_texts(self, texts): return np.array([[0.5, 1.0] if "swap_obj right" in t or "foil" in t else [1.0, 0.0]
                                                   if "right" in t else [0.7, 1.0] for t in texts])
"""


def headline_of(metrics: dict[str, Any]) -> Any:
    return metrics["averages"][metrics["rule"]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, command_line: Run, tmp_path: Path) -> Run:
    """Run a command in a folder with a small SugarCrepe, a photo and a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "own_model_of_averages.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "0.png")
    for split, count in FILES.items():
        wrong = "wrong" if split == "swap_obj" else "foil"
        records = {
            str(n): {"filename": "0.png", "caption": f"{split} right {n}", "negative_caption": f"{split} {wrong} {n}"}
            for n in range(count)
        }
        (tmp_path / f"{split}.json").write_text(json.dumps(records))

    return command_line


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def scores(**tags: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"sugarcrepe-{split}/{n}",
            "caption": 0.2 if split == "swap_obj" else 0.4,
            "negatives": [0.3],
            "tags": {"split": split, "group": split.split("_")[0]} | tags,
        }
        for split, count in FILES.items()
        for n in range(count)
    ]


# vl_compo: replace 1, swap 1/4; ce_clip: 1, 0, 1; items: 2 of 5
EXPECTED = {"vl_compo": 0.625, "ce_clip": 2 / 3, "items": 0.4}


# ---------------------------------------------------------------------------- metrics --bench


@pytest.mark.parametrize("rule", [None, *EXPECTED])
def test_averages_of_scores_made_elsewhere(run: Run, tmp_path: Path, rule: str | None) -> None:
    write(tmp_path / "s.jsonl", scores())
    chosen = () if rule is None else ("--average", rule)
    code, out, _ = run("metrics", "s.jsonl", "--bench", "sugarcrepe", *chosen, "--format", "csv")
    first = next(csv.DictReader(io.StringIO(out)))
    assert code == 0 and float(first["original"]) == pytest.approx(EXPECTED[rule or "vl_compo"])
    found = json.loads(run("metrics", "s.jsonl", "--bench", "sugarcrepe", *chosen, "--json")[1])
    assert {name: one["metrics"]["original"]["value"] for name, one in found["averages"].items()} == pytest.approx(
        {name: value for name, value in EXPECTED.items() if name != "items"}
    )
    assert found["rule"] == "vl_compo"
    assert found["overall"]["metrics"]["original"]["value"] == 0.4


def test_tags_from_the_benchmarks_items(run: Run, tmp_path: Path) -> None:
    bare = [{**row, "tags": {}} for row in scores()]
    write(tmp_path / "s.jsonl", bare)
    code, _, error = run("metrics", "s.jsonl", "--bench", "sugarcrepe")
    assert code == 2 and "5 of 5 scores lack a tag of group" in error and "--source" in error
    code, out, _ = run("metrics", "s.jsonl", "--bench", "sugarcrepe", "--source", ".", "--json")
    assert code == 0 and headline_of(json.loads(out))["metrics"]["original"]["value"] == 0.625
    run("bench", "build", "sugarcrepe", "--source", ".", "--out", "items.jsonl")
    code, out, _ = run("metrics", "s.jsonl", "--bench", "items.jsonl", "--json")
    assert code == 0 and headline_of(json.loads(out))["metrics"]["original"]["value"] == 0.625
    write(tmp_path / "s.jsonl", [*bare, bare[1]])
    code, _, error = run("metrics", "s.jsonl", "--bench", "sugarcrepe", "--source", ".")
    assert code == 2 and "1 problem" in error and "is already used in line 2; ids must be unique" in error
    write(tmp_path / "s.jsonl", [*bare[1:], {**bare[0], "id": "other"}])
    code, _, error = run("metrics", "s.jsonl", "--bench", "sugarcrepe", "--source", ".")
    assert code == 2 and "2 problems" in error
    assert "1 unknown: no such item: 'other'" in error and "1 missing: item without a score: 'sugarcrepe-" in error
    write(tmp_path / "s.jsonl", [row for row in bare if "swap" in row["id"]])
    code, out, _ = run("metrics", "s.jsonl", "--bench", "sugarcrepe", "--source", ".", "--splits", "swap_obj,swap_att")
    assert code == 0


def test_what_is_refused(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "s.jsonl", scores())
    for arguments, part in (
        (("--average", "ce_clip"), "--average needs a benchmark"),
        (("--source", "."), "--source needs a benchmark"),
        (("--bench", "sugarcrepe", "--average", "paper"), "no average 'paper'; it has vl_compo, ce_clip, items"),
        (("--bench", "sugarcrepe", "--splits", "swap_obj"), "--source"),
        (("--bench", "winoground"), "5 of 5 scores belong to sugarcrepe, not to winoground"),
        (("--bench", "sugarcrep"), "Did you mean sugarcrepe"),
    ):
        code, _, error = run("metrics", "s.jsonl", *arguments)
        assert code == 2 and part in error, error


def test_metrics_of_single_papers(run: Run, tmp_path: Path) -> None:
    text = {"caption_positives": [0.9], "caption_negatives": [0.8], "positives_negatives": [[0.7]]}
    row = {"id": "0", "caption": 0.4, "positives": [0.2], "negatives": [0.3], "tags": {"split": "a"}, "text": text}
    write(tmp_path / "s.jsonl", [row])
    assert "the paper's own: itt 0.00%, tot 100.00%" in run("metrics", "s.jsonl", "--bench", "sugarcrepe-pp")[1]
    write(tmp_path / "s.jsonl", [{name: value for name, value in row.items() if name != "text"}])
    assert "tot" not in run("metrics", "s.jsonl", "--bench", "sugarcrepe-pp")[1]
    tags = {"kind": "productivity", "type": "atom", "split": "x"}
    write(tmp_path / "s.jsonl", [{"id": "0", "caption": 0.4, "negatives": [0.5, 0.45, 0.1], "tags": tags}])
    assert "recall at 3 100.00%" in run("metrics", "s.jsonl", "--bench", "crepe")[1]


# ---------------------------------------------------------------------------- eval, compare


def test_eval_and_compare(run: Run, tmp_path: Path) -> None:
    command = (
        "eval",
        "py:own_model_of_averages:Model",
        "--bench",
        "sugarcrepe",
        "--source",
        ".",
        "--images",
        ".",
        "--skip-preflight",
    )
    code, out, error = run(*command, "--out", "one")
    assert code == 0, error
    words = " ".join(out.split())
    assert "headline by vl_compo: mean of 2 group groups" in words and "ce_clip 66.7" in words and "items 40.0" in words
    record = json.loads((tmp_path / "one/sugarcrepe/result.json").read_text())
    assert headline_of(record["metrics"])["metrics"]["original"]["value"] == pytest.approx(0.625)
    assert record["metrics"]["averages"]["ce_clip"]["metrics"]["original"]["value"] == pytest.approx(2 / 3)
    assert record["benchmark"]["averages"]["ce_clip"]["over"] == ["split"]
    assert "Zhang et al. 2024" in record["benchmark"]["averages"]["ce_clip"]["cite"]
    code, out, error = run(*command, "--out", "one", "--average", "ce_clip", "--json")
    assert code == 0 and "not computed" in error  # the same run, shown by another rule
    headline = json.loads(out)[0]
    assert (
        headline["metrics"]["original"]["value"] == pytest.approx(2 / 3)
        and headline["average"] == "ce_clip: mean of 3 split groups"
    )
    assert set(headline["averages"]) == {"vl_compo", "ce_clip"}
    code, _, error = run(*command, "--average", "paper")
    assert code == 2 and "it has vl_compo, ce_clip, items" in error
    run(*command, "--out", "two")
    for rule in ("vl_compo", "ce_clip", "items"):
        code, out, _ = run("compare", "one", "two", "--json", "--average", rule)
        assert code == 0 and json.loads(out)["differences"][0]["average"] == rule
    assert json.loads(run("compare", "one", "two", "--json")[1])["differences"][0]["average"] == "vl_compo"
    code, _, error = run("compare", "one", "two", "--average", "paper")
    assert code == 2 and "measured are vl_compo, ce_clip, items" in error


def test_a_changed_average_is_refused(run: Run, tmp_path: Path) -> None:
    command = (
        "eval",
        "py:own_model_of_averages:Model",
        "--bench",
        "sugarcrepe",
        "--source",
        ".",
        "--images",
        ".",
        "--skip-preflight",
    )
    run(*command, "--out", "one")
    path = tmp_path / "one/sugarcrepe/result.json"
    whole = path.read_text()
    record = json.loads(whole)
    record["metrics"]["averages"]["ce_clip"]["metrics"]["original"]["value"] = 0.99
    path.write_text(json.dumps(record))
    code, _, error = run(*command, "--out", "one")
    assert code == 2 and "it was changed after the run" in error
    record = json.loads(whole)
    record["benchmark"]["averages"]["ce_clip"]["least"] = 2
    record["record_sha256"] = record_hash(record)
    path.write_text(json.dumps(record))
    code, _, error = run(*command, "--out", "one")
    assert code == 2 and "benchmark averages ce clip least: there 2, here 1" in error


# ---------------------------------------------------------------------------- mean scores


@pytest.mark.parametrize(
    ("form", "header", "row"),
    [
        ("text", "s(c)", "0.400"),
        ("md", "| ties | s(c) | s(p) | s(n) |", "| 0 | 0.400 | 0.350 | 0.300 |"),
        ("latex", r"ties & s(c) & s(p) & s(n) \\", r"0 & 0.400 & 0.350 & 0.300 \\"),
        ("csv", "mean_score_caption,mean_score_positive,mean_score_negative", ",0.4,0.35,0.3"),
        ("json", '"mean_score_caption"', '"value": 0.4'),
    ],
)
def test_mean_scores_in_every_format(run: Run, tmp_path: Path, form: str, header: str, row: str) -> None:
    """Kamath et al. 2024, Tables 2 and 9."""
    write(tmp_path / "s.jsonl", [{"id": "1", "caption": 0.4, "positives": [0.35], "negatives": [0.3]}])
    code, out, _ = run("metrics", "s.jsonl", *(["--json"] if form == "json" else ["--format", form]))
    assert code == 0 and header in out and row in out
