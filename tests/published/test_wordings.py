"""VSR's answers in two wordings: accuracy in each, the share right in only one, and what is wrong with the files."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.evaluation.record import ItemNumbers, RunRecord
from equipoise.published import wordings
from equipoise.published.measuring import published_run

Row = dict[str, str]


def row(number: int, condition: str, truth: str, expected: str, prediction: str) -> Row:
    values = (f"vsr_test:{number:04}", condition, f"as asked, {condition}", f"The kite is near bag {number}.", "near")
    return dict(zip(wordings.VSR, (*values, truth, expected, prediction, "a model"), strict=True))


def normal(*answers: tuple[str, str]) -> list[Row]:
    return [row(number, "normal", truth, "", answer) for number, (truth, answer) in enumerate(answers)]


def write(path: Path, rows: list[Row]) -> Path:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def run(*paths: Path) -> RunRecord:
    return published_run(paths, "vsr-pairs" if len(paths) > 1 else "vsr").record


def measured(*paths: Path) -> ItemNumbers:
    return run(*paths).metrics.overall


def notes(record: RunRecord) -> list[str]:
    assert record.published is not None
    return record.published.notes


FIRST = normal(("True", "True"), ("True", "False"), ("False", "False"), ("False", "True"), ("True", "True"))
SAME = [  # right both times, right only now, right only before, never right, an answer that is none
    row(0, "sorev", "True", "True", "True"),
    row(1, "sorev", "True", "True", "True"),
    row(2, "sorev", "False", "False", "True"),
    row(3, "sorev", "False", "False", "True"),
    row(4, "sorev", "True", "True", "Unknown"),
]


@pytest.mark.parametrize("end", ["csv", "csv.gz"])
def test_the_share_right_in_only_one_wording(tmp_path: Path, end: str) -> None:
    first, same = write(tmp_path / f"a.{end}", FIRST), write(tmp_path / f"b.{end}", SAME)
    found = measured(first, same)
    assert (found.n, found["original"], found["augmented"]) == (5, 3 / 5, 1 / 5)
    assert found["brittleness"] == 3 / 5
    assert (found["accuracy"], found["wording_flips"], found["refusals"]) == (5 / 10, 3 / 5, 1 / 10)
    assert found.ties is None
    said = notes(run(first, same))
    assert "accuracy in the second wording (sorev): 40.0%" in said
    assert "1 of 10 answers are neither True nor False and count as wrong" in said
    assert measured(same, first) == found


def test_one_wording_alone_has_an_accuracy_and_nothing_across_wordings(tmp_path: Path) -> None:
    found = run(write(tmp_path / "a.csv", FIRST))
    assert (found.metrics.overall["accuracy"], found.metrics.overall["original"]) == (3 / 5, 3 / 5)
    assert found.metrics.overall["wording_flips"] is None and found.metrics.overall["augmented"] is None
    assert "auc" not in found.metrics.overall.metrics  # an AUC needs scores


def test_of_turned_truths_only_true_statements_count(tmp_path: Path) -> None:
    turned = [
        row(0, "relcomp", "True", "False", "True"),
        row(2, "relcomp", "False", "True", "False"),
        row(4, "relcomp", "True", "False", "False"),
    ]
    files = write(tmp_path / "a.csv", FIRST), write(tmp_path / "b.csv", turned)
    found = measured(*files)
    assert (found.n, found["augmented"], found["brittleness"]) == (2, 1 / 2, 1 / 2)
    assert "left out of relcomp: 1 false statements, whose rewording need not be true" in notes(run(*files))


def test_a_pattern_takes_other_conditions_and_files_along(tmp_path: Path) -> None:
    """Another photo is no rewording, and a file of ids is no answers: both are named, and the rest is read."""
    first, same = write(tmp_path / "a.csv", FIRST), write(tmp_path / "b.csv", SAME)
    blank = write(tmp_path / "c.csv", [one | {"condition": "blank"} for one in FIRST])
    turned = [one | {"condition": "hflip", "statement": one["original_statement"]} for one in SAME]
    mirrored = write(tmp_path / "d.csv", turned)
    ids = tmp_path / "ids.json"
    ids.write_text('{"total": 5}')
    found = run(ids, first, same, blank, mirrored)
    assert found.metrics.overall == measured(first, same)
    assert "not read, as they are no rewording: blank, hflip" in notes(found) and "not read: ids.json" in notes(found)
    other = write(tmp_path / "e.csv", [one | {"model_condition": "another"} for one in FIRST])
    with pytest.raises(UserError, match=r"3 files of 2 models \(a model, another\); name those of one model"):
        run(first, same, other)
    with pytest.raises(UserError, match=r"blank.*expected one file with"):
        run(first, blank)


def test_one_file_of_all_conditions_is_read_as_its_parts(tmp_path: Path) -> None:
    """The Qwen3-VL study's JSONL: the statement as it is stands in the normal rows alone."""
    kept = [name for name in wordings.VSR_LINES if name != "raw_output"]
    lines = [
        {name: one[name] for name in kept} | {"raw_output": ""}
        for one in (*FIRST, *SAME, *(one | {"condition": "blank"} for one in FIRST))
    ]
    (tmp_path / "qwen3.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    found = published_run([tmp_path / "qwen3.jsonl"], "vsr-pairs").record
    for one in FIRST:
        one["statement"] = one["original_statement"]
    assert found.metrics.overall == measured(write(tmp_path / "a.csv", FIRST), write(tmp_path / "b.csv", SAME))
    assert "not read, as they are no rewording: blank" in notes(found)


def test_what_is_wrong_with_the_files(tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", FIRST)
    with pytest.raises(UserError, match=r"a.csv \(normal\): expected one file with"):
        measured(first, first)
    with pytest.raises(UserError, match=r"reworded statements \(sorev\); name the file of the statements as they are"):
        measured(write(tmp_path / "c.csv", SAME))
    wrong = [
        {**SAME[0], "model_condition": "another"},
        {**SAME[1], "original_statement": "The hat is near the bag."},
        {**SAME[2], "expected_transformed_label": ""},
        {**SAME[3], "example_id": "vsr_test:0099"},
    ]
    with pytest.raises(UserError) as caught:
        measured(first, write(tmp_path / "b.csv", wrong))
    for expected in (
        "model_condition: 2 different ones",
        "1 ids unknown there: 'vsr_test:0099'",
        "1 ids with another statement or another truth there: 'vsr_test:0001'",
        "1 rows without the truth of the reworded statement (expected_transformed_label): 'vsr_test:0002'",
    ):
        assert expected in str(caught.value)
    with pytest.raises(UserError, match=r"2 different ones(?s:.*)1 ids doubled"):
        measured(first, write(tmp_path / "b.csv", [*SAME, FIRST[0]]))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"example_id,condition\n" * 50)[:-9])
    with pytest.raises(UserError, match=r"b.csv.gz: not a whole gzip file"):
        measured(first, tmp_path / "b.csv.gz")


@pytest.mark.parametrize(
    ("model", "rewording", "n", "flips"),
    [
        ("zero_shot", "sorev", 603, 18.1),
        ("zero_shot", "continv", 169, 10.1),
        ("hardneg_lora", "sorev", 603, 14.8),
    ],
)
def test_qwen2_vl(shared_data: Path, model: str, rewording: str, n: int, flips: float) -> None:
    folder = shared_data / "published_scores" / "vsr_vlm"
    if not folder.is_dir():
        pytest.skip("the published answers are not here")
    found = measured(folder / f"full-{model}_normal.csv.gz", folder / f"tierb_full-{model}_{rewording}.csv.gz")
    assert found["wording_flips"] is not None
    assert (found.n, round(100 * found["wording_flips"], 1)) == (n, flips)
    assert found["brittleness"] == found["wording_flips"] and found["refusals"] == 0
