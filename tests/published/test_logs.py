"""Logs of harnesses: small ones of each kind, strange ones, and the numbers that published ones must give."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.errors import UserError
from equipoise.evaluation.results import read_run
from equipoise.published.logs.groups import items_of
from equipoise.published.logs.reading import read_logs, refuse_unknown
from equipoise.published.logs.said import Said, option, read
from equipoise.published.measuring import log_runs, published_run


def sheet(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A workbook as Excel's writers make them: shared strings, and numbers as they are."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    words: dict[str, int] = {}

    def cell(column: int, number: int, value: Any) -> str:
        place = f"{chr(ord('A') + column)}{number}"
        if isinstance(value, str):
            return f'<c r="{place}" t="s"><v>{words.setdefault(value, len(words))}</v></c>'
        return f'<c r="{place}"><v>{value}</v></c>' if value is not None else f'<c r="{place}"/>'

    lines = [dict(zip(names, names, strict=True)), *rows]
    body = "".join(
        f'<row r="{number}">{"".join(cell(at, number, line.get(name)) for at, name in enumerate(names))}</row>'
        for number, line in enumerate(lines, 1)
    )
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", f"<worksheet {main}><sheetData>{body}</sheetData></worksheet>")
        shared = "".join(f"<si><t>{escape(word)}</t></si>" for word in words)
        packed.writestr("xl/sharedStrings.xml", f"<sst {main}>{shared}</sst>")
    return path


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def measured(*paths: Path, columns: str = "") -> Any:
    found = read_logs(list(paths), columns)
    assert found is not None
    ((log,), _) = found
    return log_runs([log])[0].record


CIRCULAR = [
    {"index": 0, "question": "What?", "A": "cat", "B": "dog", "answer": "A", "prediction": "A. cat"},
    {"index": 1, "question": "Who?", "A": "he", "B": "she", "answer": "B", "prediction": "B"},
    {"index": 1000000, "question": "What?", "A": "dog", "B": "cat", "answer": "B", "prediction": "A"},
    {"index": 1000001, "question": "Who?", "A": "she", "B": "he", "answer": "A", "prediction": "The answer is A."},
]


def test_rotated_options_are_one_question(tmp_path: Path) -> None:
    (tmp_path / "m_MMBench_DEV_EN_acc.csv").write_text('"split","Overall"\n"dev","0.5"\n')
    record = measured(sheet(tmp_path / "m_MMBench_DEV_EN.xlsx", CIRCULAR))
    found = record.metrics.overall
    assert (found.n, found["accuracy"], found["right_every_time"], found["order_flips"]) == (2, 0.75, 0.5, 0.5)
    assert (record.model.spec, record.benchmark.name) == ("m", "MMBench_DEV_EN")
    notes = " ".join(record.published.notes)
    assert "prints Overall 50.00; the rows give the same" in notes and "4 of 4,329 rows" in notes


def test_verdicts_and_sheet_are_one_log(tmp_path: Path) -> None:
    sheet(tmp_path / "m_CCBench.xlsx", CIRCULAR)
    sheet(tmp_path / "m_CCBench_openai_result.xlsx", [CIRCULAR[0] | {"hit": 0}, CIRCULAR[1] | {"hit": 1}])
    record = measured(tmp_path)
    assert record.metrics.overall["order_flips"] == 0.5
    assert any("50.00% of 2" in note for note in record.published.notes)
    alone = measured(tmp_path / "m_CCBench_openai_result.xlsx")
    assert alone.metrics.overall["order_flips"] is None and any(
        "without _result" in one for one in alone.published.notes
    )


def test_turned_photos(tmp_path: Path) -> None:
    one = {"index": 7, "question": "What?", "A": "cat", "B": "dog", "answer": "A", "prediction": "A"}
    first = sheet(tmp_path / "m_tdbench_rot0.xlsx", [one, one | {"index": 8, "question": "Left?"}])
    second = sheet(
        tmp_path / "m_tdbench_rot90.xlsx", [one | {"prediction": "B"}, one | {"index": 8, "question": "Up?"}]
    )
    record = measured(first, second)
    found = record.metrics.overall
    assert (found.n, found["picture_flips"], found["accuracy"], found["original"]) == (1, 1, 0.5, 1)
    assert any(note.startswith("1 questions are not in all files") for note in record.published.notes)


def test_figures_with_other_truths(tmp_path: Path) -> None:
    rows = [
        {"index": f"VD_map_1_0_{figure}_0", "question": "North?", "answer": truth, "prediction": "Yes, it is."}
        for figure, truth in ((0, "Yes"), (1, "No"))
    ]
    record = measured(sheet(tmp_path / "m_HallusionBench.xlsx", rows))
    found = record.metrics.overall
    assert (found.n, found["constant_answers"], found["accuracy"]) == (1, 1, 0.5)
    assert any(note == "every answer is 'yes': the model says nothing else" for note in record.published.notes)


def test_a_figure_without_a_clear_answer_is_no_change(tmp_path: Path) -> None:
    rows = [
        {"index": f"VD_map_1_0_{figure}_0", "question": "North?", "answer": truth, "prediction": said}
        for figure, truth, said in ((0, "Yes", "Yes."), (1, "No", "It is hard to say."))
    ]
    found = measured(sheet(tmp_path / "m_HallusionBench.xlsx", rows)).metrics.overall
    assert (found.count("constant_answers"), found["constant_answers"], found["refusals"]) == (1, 1, 0.5)


def test_llava_takes_the_truth_from_a_question_file(tmp_path: Path) -> None:
    said = {"prompt": "Is it red?", "text": "Yes", "answer_id": "x", "model_id": "llava", "metadata": {}}
    answers = lines(tmp_path / "answers.jsonl", [{"question_id": n, **said} for n in (1, 2)])
    asked = [{"question_id": n, "image": f"{n}.jpg", "text": "Is it red?", "label": "no"} for n in (1, 2, 3)]
    record = measured(answers, lines(tmp_path / "questions.jsonl", asked))
    assert record.metrics.overall["accuracy"] == 0 and any("2 of 3 rows" in one for one in record.published.notes)
    alone = measured(answers)
    assert alone.metrics.overall["accuracy"] is None and alone.metrics.overall["original"] is None
    assert any(note.startswith("no truth") for note in alone.published.notes)


def test_the_layouts_of_samples(tmp_path: Path) -> None:
    prompt = "What?\nA. cat\nB. dog\nAnswer."
    row = {"doc_id": 0, "target": "B", "doc_hash": "74234e98", "exact_match": 1.0}
    old = tmp_path / "old.json"
    old.write_text(
        json.dumps({"args": {}, "logs": [{**row, "filtered_resps": ["B"], "doc": {"choices": ["cat", "dog"]}}]})
    )
    new = lines(tmp_path / "m_20260101_000000_samples_qa.jsonl", [{**row, "filtered_resps": "B", "input": prompt}])
    likely = {**row, "target": 1, "filtered_resps": [[-2.0, False], [-1.0, True]], "doc": {"choices": ["cat", "dog"]}}
    third = lines(tmp_path / "samples_qa_2026-01-01T00-00-00.jsonl", [likely])
    for path in (old, new, third):
        found = read_logs([path])
        assert found is not None
        (answer,) = items_of(found[0][0]).rows[0].answers
        assert (answer.choice, answer.right, answer.place, answer.options) == ("dog", True, 1, 2), path


def sample(epoch: int, said: str, value: str) -> dict[str, Any]:
    return {
        "id": 1, "epoch": epoch, "input": "What?", "choices": ["cat", "dog"], "target": "A",
        "output": {"choices": [{"message": {"content": said}}]},
        "scores": {"choice": {"value": value, "answer": said[-1]}},
    }  # fmt: skip


def test_epochs_of_inspect_are_repeats(tmp_path: Path) -> None:
    head = {"status": "success", "eval": {"task": "pets", "model": "m"}, "results": {"total_samples": 2}}
    two = [sample(1, "ANSWER: A", "C"), sample(2, "ANSWER: B", "I")]
    plain, packed = tmp_path / "log.json", tmp_path / "log.eval"
    plain.write_text(json.dumps({**head, "samples": two}))
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("header.json", json.dumps(head))
        for number, one in enumerate(two):
            archive.writestr(f"samples/{number}.json", json.dumps(one))
    for path in (plain, packed):
        found = measured(path).metrics.overall
        assert (found.n, found["repeat_flips"], found["accuracy"], found["right_every_time"]) == (1, 1, 0.5, 0)


def test_a_log_becomes_a_run(tmp_path: Path) -> None:
    found = read_logs([sheet(tmp_path / "m_CCBench.xlsx", CIRCULAR)])
    assert found is not None
    log_runs(found[0], out=tmp_path / "run")
    record, rows = read_run(tmp_path / "run")
    assert record.benchmark.name == "CCBench" and [len(row.answers) for row in rows] == [2, 2]
    assert rows[0].answers[1].said == "A" and rows[0].answers[1].order == "BA"


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("B", 1), ("(B)", 1), ("**B**", 1), ("b. dog", 1), ("Dog", 1), ("The correct answer is:\nB. dog", 1),
        ("ANSWER: B", 1), ("A dog is shown.", 1), ("答案是B.", 1), ("Neither a cat nor a dog.", None),
        ("D. C. cat", None), ("", None), ("E", None),
    ],
)  # fmt: skip
def test_the_option_that_an_answer_names(said: str, place: int | None) -> None:
    assert option(said, ["cat", "dog", "fox", "owl"]) == place


def test_an_option_listed_twice_is_right_by_its_letter() -> None:
    row = Said("1", "A", ("cat",), options=("cat", "dog", "cat"), at=2)
    assert read(row).right is False and read(row).choice == "cat"


OWN = [
    {"frage": "Is it red?", "antwort": "yes", "loesung": "yes", "bild": "a.jpg", "wer": "m"},
    {"frage": "Is it red?", "antwort": "no", "loesung": "yes", "bild": "a.jpg", "wer": "m"},
]
NAMED = "question=frage,answer=antwort,truth=loesung,image=bild,model=wer"


def test_named_columns(tmp_path: Path) -> None:
    record = measured(lines(tmp_path / "own.jsonl", OWN), columns=NAMED)
    assert (record.metrics.overall.n, record.metrics.overall["repeat_flips"], record.model.spec) == (1, 1, "m")


def refused(path: Path, columns: str = "") -> str:
    with pytest.raises(UserError) as error:
        found = read_logs([path], columns)
        if found is None:
            refuse_unknown([path])
        assert found is not None
        log_runs(found[0])
    return str(error.value)


def test_strange_files_are_refused_with_a_sentence(tmp_path: Path) -> None:
    whole = sheet(tmp_path / "m_CCBench.xlsx", CIRCULAR)
    cut = tmp_path / "cut_CCBench.xlsx"
    cut.write_bytes(whole.read_bytes()[:-40])
    assert "cut off" in refused(cut)
    two = lines(tmp_path / "two.jsonl", [OWN[0], OWN[1] | {"wer": "other"}])
    assert "2 models are mixed" in refused(two, NAMED)
    said = {"question_id": 1, "prompt": "Red?", "text": "Yes", "answer_id": "x"}
    mixed = lines(tmp_path / "mixed.jsonl", [said | {"model_id": name} for name in ("a", "b")])
    assert "'a' and 'b' are mixed" in refused(mixed)
    assert "no column 'fragen'" in refused(two, NAMED.replace("frage,", "fragen,"))
    foreign = tmp_path / "gbk.csv"
    foreign.write_bytes("问题,答案\n天,地\n".encode("gbk"))
    assert "UTF-8" in refused(foreign, NAMED)
    bomb = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", b" " * (101 * 2**20))
    assert "when unpacked" in refused(bomb)
    renamed = sheet(tmp_path / "renamed.xlsx", [{"问题": "什么", "答案": "A"}])
    assert "--columns" in refused(renamed)
    half = tmp_path / "half.json"
    half.write_text(json.dumps({"eval": {}, "samples": [sample(1, "A", "C")]})[:-1])
    assert "cut off" in refused(half)


def test_a_long_log_takes_little_memory(tmp_path: Path) -> None:
    """Answers of thousands of words are cut as they are read: the log is never whole in memory."""
    said = {"doc_id": 0, "doc": {"question": "Red?"}, "target": "A", "acc": 1.0}
    long = {"filtered_resps": ["because " * 5000 + "The answer is A"], "resps": [["because " * 5000]]}
    path = lines(tmp_path / "samples_long.jsonl", [said | long | {"doc_id": number} for number in range(200)])
    assert path.stat().st_size > 15e6
    tracemalloc.start()
    found = measured(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found.metrics.overall.n, most < path.stat().st_size / 3) == (200, True)


@pytest.fixture
def cli() -> Any:
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_a_wide_sheet_from_excel(tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    wide.write_bytes("问题;答案;真值\n红吗;yes;no\n".encode("utf-16"))
    assert measured(wide, columns="question=问题,answer=答案,truth=真值").metrics.overall["accuracy"] == 0


def test_all_conditions_of_vsr_in_one_file(tmp_path: Path) -> None:
    def row(id_: str, condition: str, prediction: bool, turned: bool | None) -> dict[str, Any]:
        truth = {"ground_truth": True, "expected_transformed_label": turned}
        said = {"prediction": prediction, "raw_output": str(prediction)}
        return {"example_id": id_, "condition": condition, "statement": condition, **truth, **said}

    rows = [row("1", "normal", True, None), row("1", "shuffle", False, None), row("1", "relcomp", True, False)]
    rows += [row("2", "normal", True, None), row("2", "relcomp", False, False)]
    run = published_run([lines(tmp_path / "qwen3.jsonl", rows)], "vsr-pairs")
    found = run.record.metrics.overall
    assert (found.n, found["wording_flips"], found["original"], found["augmented"]) == (2, 0.5, 1, 0.5)
    assert run.record.published is not None and any("shuffle" in note for note in run.record.published.notes)


def test_the_verb_reads_a_folder_and_the_report_is_a_card(tmp_path: Path, cli: Any) -> None:
    sheet(tmp_path / "m_CCBench.xlsx", CIRCULAR)
    sheet(tmp_path / "m_tdbench_rot0.xlsx", CIRCULAR[:2])
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    done = cli("metrics", str(tmp_path), "--out", str(tmp_path / "runs"))
    assert done.exit_code == 0 and "order flips" in done.output and "notes.csv" in done.output
    assert (tmp_path / "runs/m/CCBench/result.json").exists() and (tmp_path / "runs/m/tdbench/result.json").exists()
    card = tmp_path / "card.html"
    assert cli("report", str(tmp_path / "runs"), "--out", str(card)).exit_code == 0
    text = card.read_text(encoding="utf-8")
    assert "Answers that changed: 1 of 2 items" in text and "no question was repeated" in text
    assert cli("report", str(tmp_path / "m_CCBench.xlsx"), "--out", str(card)).exit_code == 0


def test_scores_become_a_run_without_a_benchmark(tmp_path: Path, cli: Any) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("id,caption,positive,negative\n1,0.3,0.2,0.1\n2,0.3,0.1,0.2\n")
    assert cli("metrics", str(table), "--out", str(tmp_path / "run")).exit_code == 0
    record, _ = read_run(tmp_path / "run")
    assert (record.benchmark.name, record.metrics.overall["brittleness"]) == ("scores", 0.5)
