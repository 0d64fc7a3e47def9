"""Published scores as runs: what the record says, and compare, gates, tables and pages on them."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli import main
from equipoise.core.errors import OtherRun, UserError
from equipoise.evaluation.results import read_run
from equipoise.published import answers, scores
from equipoise.published.measuring import published_run, published_tables

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        return int(ended.value.code or 0), printed.out + printed.err

    return run


def cosines(path: Path, lost: int, pp: bool = False, **head: Any) -> Path:
    """SugarCrepe's or SugarCrepe++'s swap_obj as one pretty-printed object; the first `lost` items are lost."""
    rows = {}
    for number in range(245):
        bar = 0.4 if number < lost else 0.1
        row = {"sample_id": str(number), "subset": "swap_obj", "filename": f"{number}.jpg", "caption": f"c{number}"}
        row |= {"negative_caption": f"n{number}", "caption2": f"p{number}"}
        row |= {"positive_score": 0.3, "negative_score": bar, "image_p1": 0.3, "image_p2": 0.2, "image_neg": bar}
        rows[str(number)] = row | {"p1_p2": 0.9, "p1_ref": 0.8, "p2_ref": 0.7}
    if not pp:
        rows = {key: {name: value for name, value in row.items() if "_p" not in name} for key, row in rows.items()}
    path.write_text(json.dumps({"model": "m", **head, "subsets": {"swap_obj": rows}}, indent=2))
    return path


def test_scores_with_their_texts(tmp_path: Path) -> None:
    path = cosines(tmp_path / "a.jsonl", 5, pp=True, pretrained="p", language="de")  # whatever it is called
    result = published_run([path], "sugarcrepe-pp", out=tmp_path / "run", origin="me/mine", commit="abc", licence="MIT")
    record = result.record
    assert record.metrics.overall["original"] == record.metrics.overall["augmented"] == 240 / 245
    assert record.metrics.overall["tot"] == 1
    about = record.published
    assert about is not None and (about.source, about.commit, about.licence) == ("me/mine", "abc", "MIT")
    assert "texts" not in about.unknown and "captions in the language 'de'" in about.notes
    assert record.model.spec == "m p" and record.benchmark.splits == ["swap_obj"]
    line = json.loads((tmp_path / "run" / "items.jsonl").read_text().splitlines()[0])
    assert line["texts"] == {"caption": "c0", "positives": ["p0"], "negatives": ["n0"]}
    again = read_run(tmp_path / "run")[0]
    assert again.metrics.overall["original"] == 240 / 245
    with pytest.raises(OtherRun):
        published_run([cosines(tmp_path / "b.json", 6, pp=True)], "sugarcrepe-pp", out=tmp_path / "run")


def test_what_is_wrong_with_cosines(tmp_path: Path) -> None:
    whole = json.loads(cosines(tmp_path / "a.json", 5).read_text())
    rows = whole["subsets"]["swap_obj"]
    rows["0"]["positive_score"] = float("nan")
    rows["1"]["positive_score"] = "high"
    rows["2"]["sample_id"] = "3"
    rows["4"]["subset"] = "swap_cat"
    (tmp_path / "b.json").write_text(json.dumps(whole))
    with pytest.raises(UserError) as caught:
        published_run([tmp_path / "b.json"], "sugarcrepe")
    said = str(caught.value)
    for expected in ("1 subsets that sugarcrepe does not have: 'swap_cat'", "1 pairs doubled", "244 of 245 pairs"):
        assert expected in said
    assert "record 'swap_obj 1': positive_score" in said and "not finite numbers: \"record 'swap_obj 0'\"" in said


def test_outcomes_beside_scores(tmp_path: Path, command: Command) -> None:
    """Right or wrong alone: ties are missing, not zero, and the keys are those of SugarCrepe's files."""
    rows = [
        {"filename": f"{n}.jpg", "caption": f"c{n}", "negative_caption": f"n{n}", "type": "swap", "subtype": "obj"}
        | {"correct": str(int(n >= 50))}
        for n in range(245)
    ]
    others = [
        {**rows[0], "type": kind.split("_")[0], "subtype": kind.split("_")[1], "caption": f"{kind}{n}"}
        for kind, count in answers.SUGARCREPE.items()
        for n in range(count or 0)
        if kind != "swap_obj"
    ]
    with Path("right.csv").open("w", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows([*rows, *others])
    cosines(tmp_path / "a.json", 5)
    bench = ("--bench", "sugarcrepe", "--splits", "swap_obj")
    assert command("metrics", "right.csv", *bench, "--out", "one", "--model", "mine")[0] == 0
    assert command("metrics", "a.json", *bench, "--out", "two")[0] == 0
    first, second = (json.loads(Path(name, "result.json").read_text()) for name in ("one", "two"))
    assert first["model"]["spec"] == "mine" and first["metrics"]["overall"]["ties"] is None
    assert (first["published"]["source"], first["published"]["unknown"][-2:]) == ("unknown", ["scores", "ties"])
    keys = [json.loads(line)["id"] for line in Path("one", "items.jsonl").read_text().splitlines()]
    assert keys[107:109] == ["sugarcrepe-swap_obj/107", "sugarcrepe-swap_obj/109"]  # 108 was withdrawn
    assert second["metrics"]["overall"]["n"] == 245
    code, said = command("compare", "one", "two")  # the made-up cosines have a pair 108
    assert code == 2 and "were not scored on the same items" in said


def test_two_runs_of_outcomes(tmp_path: Path, command: Command) -> None:
    lines = [
        {"label": f"{n}_c{c}_i{i}", "score": float(c == i)}
        for n in range(scores.WINOGROUND)
        for c in (0, 1)
        for i in (0, 1)
    ]
    for name, lost in (("good", 0), ("bad", 100)):
        changed = [{**line, "score": 0.5} if index < 4 * lost else line for index, line in enumerate(lines)]
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, changed)))
        assert command("metrics", f"{name}.jsonl", "--bench", "winoground", "--out", name)[0] == 0
    assert command("compare", "good", "bad", "--fail-if-worse", "text:1")[0] == 1
    assert command("compare", "bad", "good", "--fail-if-worse", "text:1")[0] == 0
    code, table = command("report", "good", "bad", "--format", "md")
    assert code == 0 and "| good | 400 | 100.0" in table and "| bad | 400 | 75.0" in table
    assert command("report", "good", "bad", "--out", "page.html")[0] == 0


# ---------------------------------------------------------------------------- tables of results


def result(model: str, task: str, **shares: float) -> str:
    return json.dumps(
        {
            "model": model,
            "task": task,
            "result": {"dataset_revision": "r", "scores": {"test": [{"accuracy": 0.0, **shares}]}},
        }
    )


def test_a_table_of_results(tmp_path: Path, command: Command) -> None:
    lines = [
        result("org/a", "SugarCrepe", text_acc=6000 / 7511, image_acc=0.0),
        result("org/b", "SugarCrepe", text_acc=0.5),
        result("org/a", "Winoground", text_acc=0.3, image_acc=0.1, accuracy=0.05),
    ]
    Path("t.jsonl").write_text("\n".join(lines))
    a, b, square = published_tables([Path("t.jsonl")])
    assert a.record.kind == "aggregate" and a.record.metrics.overall["image"] is None  # a zero that nobody measured
    assert (a.record.metrics.overall["original"], a.record.metrics.overall.ties) == (6000 / 7511, None)
    assert [square.record.metrics.overall[name] for name in ("text", "image", "group")] == [0.3, 0.1, 0.05]
    assert any("no whole count of 7,511 items" in note for note in b.record.published.notes)  # type: ignore[union-attr]
    code, said = command("metrics", "t.jsonl", "--bench", "sugarcrepe", "--out", "runs")
    assert code == 0 and "sugarcrepe: org/a (reported)" in said
    code, said = command("compare", "runs/org_a", "runs/org_b", "--fail-if-worse", "original:1")
    assert code == 1 and "aggregate, unpaired" in said and "-29.9 [-31.3, -28.4]" in said
    assert "org/b" in command("report", "runs", "--format", "md")[1]


@pytest.mark.slow
def test_margins_of_outcomes_are_missing(tmp_path: Path, command: Command) -> None:
    """Two runs of BiVLC's right and wrong: what flipped is shown, and no margin is made up."""
    for name, lost in (("good", 0), ("bad", 30)):
        rows = []
        for n in range(answers.BIVLC):
            won = [str(n >= lost)] * 7
            row = {"caption": f"c{n}", "negative_caption": f"n{n}", "type": "swap", "subtype": "obj"}
            rows.append(row | dict(zip(answers.OLD, won, strict=True)))
        if lost:
            rows[0] |= dict(zip(answers.OLD, ("True", "False", "True", "False", *["False"] * 3), strict=True))
        with Path(f"{name}.csv").open("w", newline="") as handle:
            writer = csv.DictWriter(handle, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        assert command("metrics", f"{name}.csv", "--bench", "bivlc", "--out", name)[0] == 0
    code, said = command("compare", "good", "bad", "--flips", "40")
    assert code == 0 and "GroupMatch" not in said
    row = next(line for line in said.splitlines() if "bivlc-test/17 " in line)
    assert row and "became wrong" in said and "+1.000" not in said and "-1.000" not in said


def test_a_table_with_dates(tmp_path: Path, command: Command) -> None:
    Path("h.csv").write_text(
        "model,task,date,main_score,text_acc\norg/a,SugarCrepe,2024-11-02,53.5,53.5\norg/a,SugarCrepe,2024-11-12,83.8,83.8\n"
    )
    found = published_tables(["h.csv"], "sugarcrepe")
    assert [one.record.model.spec for one in found] == ["org/a@2024-11-02", "org/a@2024-11-12"]
    assert found[1].record.metrics.overall["original"] == pytest.approx(0.838)


def test_what_is_wrong_with_a_table_of_results(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        "\n".join(
            [
                result("a", "SugarCrepe", text_acc=0.5),
                result("a", "SugarCrepe", text_acc=0.6),
                result("a", "Cats", text_acc=0.5),
                result("b", "SugarCrepe", text_acc=83.0),
                result("c", "SugarCrepe"),
                result("d", "SugarCrepe", text_acc=float("nan")),
                "{",
            ]
        )
    )
    with pytest.raises(UserError) as caught:
        published_tables([path])
    for expected in (
        "line 2: a, SugarCrepe: already in t.jsonl, line 1",
        "line 3: task: expected one of SugarCrepe",
        "line 4: original: expected a share from 0 to 1",
        "line 5: not a result of mteb's (KeyError: 'text_acc')",
        "line 7: ",
    ):
        assert expected in str(caught.value)
    assert "line 6: " in str(caught.value)
