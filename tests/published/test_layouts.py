"""Published scores: each layout read, and what is wrong with a file named and counted, exit 2."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli import main
from equipoise.core.errors import UserError
from equipoise.published import answers, scores
from equipoise.published.measuring import published_run
from equipoise.published.reading import read_any

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`equipoise metrics ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", "metrics", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        return int(ended.value.code or 0), printed.out, printed.err

    return command


def write_lines(name: str, rows: list[dict[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_table(name: str, rows: list[dict[str, Any]]) -> None:
    with Path(name).open("w", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


# ---------------------------------------------------------------------------- Winoground


def winoground(best: float = 1.0) -> list[dict[str, Any]]:
    """Each image's own caption is best; of example 0 the second caption is best for both images."""
    return [
        {"label": f"{n}_c{c}_i{i}", "score": best if (c == 1 if n == 0 else c == i) else 0.0}
        for n in range(scores.WINOGROUND)
        for i in (0, 1)
        for c in (0, 1)
    ]


def test_winoground(run: Run) -> None:
    write_lines("s.jsonl", winoground())
    code, out, _ = run("s.jsonl", "--bench", "winoground", "--json")
    found = json.loads(out)
    metrics = found["overall"]["metrics"]
    assert code == 0 and [metrics[part]["value"] for part in ("text", "image", "group")] == [399 / 400] * 3
    assert (
        found["overall"]["metrics"]["original"]["value"] == found["overall"]["metrics"]["group"]["value"] == 399 / 400
    )
    assert (found["layout"], found["outcomes_only"]) == ("Winoground's labels", False)


def test_what_is_wrong_with_winogrounds_labels(run: Run) -> None:
    half = winoground()[:800]
    write_lines("s.jsonl", half)
    code, _, error = run("s.jsonl", "--bench", "winoground")
    assert code == 2 and "800 of 1,600 labels missing: '200_c0_i0', " in error
    write_lines("s.jsonl", [*winoground(), *winoground(2.0)])
    code, _, error = run("s.jsonl", "--bench", "winoground")
    assert code == 2 and "1,600 labels doubled (two models in one file?): '0_c0_i0', " in error
    write_lines("s.jsonl", [*winoground(), {"label": "400_c0_i0", "score": 1.0}, {"label": "x", "score": 1.0}])
    code, _, error = run("s.jsonl", "--bench", "winoground")
    assert code == 2 and "2 labels unknown to the benchmark: '400_c0_i0', 'x'" in error
    write_lines("s.jsonl", [{**row, "score": float("nan")} if row["label"][0] == "7" else row for row in winoground()])
    code, _, error = run("s.jsonl", "--bench", "winoground")
    assert code == 2 and "44 scores that are not finite numbers: '7_c0_i0', " in error
    write_lines("s.jsonl", [row | {"model": "ab"[n % 2]} for n, row in enumerate(winoground())])
    code, _, error = run("s.jsonl", "--bench", "winoground")
    assert code == 2 and "2 different ones are mixed in this file ('a' in 800 rows, 'b' in 800 rows)" in error
    write_lines("s.jsonl", [{"label": "0_c0_i0", "score": "high"}, *winoground()[1:]])
    code, _, error = run("s.jsonl", "--bench", "winoground")
    assert code == 2 and "line 1: score: input should be a valid number" in error


def test_another_benchmarks_file(run: Run) -> None:
    write_lines("s.jsonl", winoground())
    code, _, error = run("s.jsonl", "--bench", "valse")
    assert code == 2 and "1,600 records in the layout of winoground's published scores, none of them of valse" in error
    assert "--bench winoground" in error
    code, _, error = run("s.jsonl")
    assert code == 2 and "name the benchmark with --bench winoground" in error
    code, _, error = run("s.jsonl", "s.jsonl", "--bench", "winoground")
    assert code == 2 and "winoground takes 1 file(s), found 2" in error
    write_table("s.csv", [{"id": 1, "score": 2}])
    code, _, error = run("s.csv", "--bench", "valse")
    assert code == 2 and "s.csv: columns caption and negative are missing. Found id, score." in error
    write_table("s.csv", [{"id": 1, "caption": 0.3, "neg": 0.2}])
    code, _, error = run("s.csv")
    assert code == 2 and "s.csv: column negative is missing. Did you mean neg? Call it negative. Found" in error
    assert error.index("Expected the columns") < error.index("winoground") and len(error) < 450
    assert run("none.csv", "--bench", "valse")[0] == 2


def test_our_own_layout_of_another_benchmark(run: Run) -> None:
    rows = [
        {"id": f"sugarcrepe-pp-swap_att/{n}", "caption": 1.0, "negatives": [0.0], "tags": {"split": "swap_att"}}
        for n in range(3)
    ]
    write_lines("s.jsonl", rows)
    code, _, error = run("s.jsonl", "--bench", "valse")
    assert code == 2 and "3 of 3 scores belong to sugarcrepe-pp, not to valse" in error
    code, out, error = run("s.jsonl", "--bench", "sugarcrepe-pp")
    assert code == 0 and (out + error).count("note: not all of sugarcrepe-pp is here: swap_att 3 of 666") == 1


def test_tags_of_winogrounds_items(run: Run) -> None:
    write_lines("s.jsonl", winoground())
    example = {"caption_0": "a", "caption_1": "b", "tag": "Noun"}
    write_lines("examples.jsonl", [{"id": n, **example} for n in range(400)])
    code, out, _ = run("s.jsonl", "--bench", "winoground", "--source", ".", "--json")
    assert code == 0 and list(json.loads(out)["by"]["tag"]) == ["Noun"]
    write_lines("examples.jsonl", [{"id": n, **example} for n in range(399)])
    code, _, error = run("s.jsonl", "--bench", "winoground", "--source", ".")
    assert code == 2 and "1 unknown: no such item: 'winoground-test/399'" in error


# ---------------------------------------------------------------------------- VALSE


def test_valse(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    real = shared_data / "valse_scores" / "x-vlm_16m.jsonl"
    found = read_any([real], "valse")
    assert len(found.rows) == len({row.id for row in found.rows}) == 7702
    assert found.rows[0].tags == {"split": "actant-swap", "phenomenon": "actions"}
    rows = [json.loads(line) for line in real.read_text().splitlines()]
    write_lines("s.jsonl", [row for row in rows if row["instrument"] != "existence"][:-1])
    with pytest.raises(UserError, match=r"(?s)1 items with the score of only one of.*existence: 0 of 505 items"):
        read_any([Path("s.jsonl")], "valse")
    write_lines("s.jsonl", [*rows, rows[0], {**rows[1], "instrument": "colour"}, {**rows[2], "label": "1"}])
    with pytest.raises(UserError) as caught:
        read_any([Path("s.jsonl")], "valse")
    assert "1 labels doubled (two models in one file?): 'actant-swap 0_c'" in str(caught.value)
    assert "1 instruments that VALSE does not have: 'colour'" in str(caught.value)
    assert "1 labels that are neither ID_c nor ID_f: '1'" in str(caught.value)


def test_valses_scores_meet_their_items_in_the_order_of_the_file(shared_data: Path, run: Run) -> None:
    real = shared_data / "valse_scores" / "blip2_itm_pretrain.jsonl"
    source = ("--source", str(shared_data / "valse"))
    code, out, error = run(str(real), "--bench", "valse", *source, "--splits", "existence,relations", "--json")
    found = json.loads(out)
    assert code == 0 and found["overall"]["n"] == 505 + 535
    assert found["overall"]["images"] == 991 and "6,662 scores of other splits" in error
    assert found["overall"]["ties"] == 0 and found["by"]["split"]["existence"]["metrics"]["original"][
        "value"
    ] == pytest.approx(0.8356, abs=1e-4)
    code, _, error = run(str(real), "--bench", "valse", *source)
    assert code == 2 and "795 unknown: no such item" in error  # two of the files are not here


# ---------------------------------------------------------------------------- predicate-noun


def rows_of(right: float = 0.9, wrong: float = 0.2, **more: Any) -> list[dict[str, Any]]:
    return [{"id": n, "prob_target_match": right, "prob_distractor_match": wrong} | more for n in range(2584)]


def test_both_wordings(run: Run) -> None:
    first, alt = rows_of(0.9, 0.2), rows_of(0.8, 0.1)
    first[1] |= {"prob_target_match": 0.1}  # wrong, and the pair with it
    alt[2] |= {"prob_target_match": 0.15}  # right in its own wording, below the first one's wrong sentence
    write_table("a.csv", first)
    write_table("b.csv", alt)
    code, out, _ = run("a.csv", "b.csv", "--bench", "predicate-noun", "--json")
    found = json.loads(out)
    one = found["by"]["split"]["first"]
    assert code == 0 and (one["n"], one["metrics"]["original"]["value"]) == (2584, 2583 / 2584)
    assert one["metrics"]["brittleness"]["value"] == 2 / 2584 and one["metrics"]["augmented"]["value"] == 2582 / 2584
    paper = [found["overall"]["metrics"][name]["value"] for name in ("pair_first", "pair_alt", "one_wording")]
    assert tuple(paper) == (1291 / 1292, 1, 1 / 2584)
    code, out, _ = run("a.csv", "--bench", "predicate-noun", "--json")
    found = json.loads(out)
    assert code == 0 and "augmented" not in found["overall"]["metrics"] and "one wording alone" in found["notes"][0]


def test_a_softmax_is_not_compared_across_wordings(run: Run) -> None:
    """0.6 against 0.4 and 0.3 against 0.7: the first right, the second wrong, whatever 0.6 and 0.7 have to do."""
    first, alt = rows_of(0.6, 0.4), rows_of(0.55, 0.45)
    alt[0] |= {"prob_target_match": 0.49, "prob_distractor_match": 0.51}  # above 0.4, and wrong all the same
    write_table("a.csv", first)
    write_table("b.csv", alt)
    code, out, _ = run("a.csv", "b.csv", "--bench", "predicate-noun", "--json")
    found = json.loads(out)
    assert code == 0 and found["notes"] == [scores.WITHIN]
    assert found["by"]["split"]["first"]["metrics"]["brittleness"]["value"] == 1 / 2584
    assert found["by"]["split"]["first"]["metrics"]["original"]["value"] == 1


def test_what_is_wrong_with_a_result_csv(run: Run) -> None:
    write_table("good.csv", rows_of())
    write_table("a.csv", rows_of()[:1292])
    code, _, error = run("a.csv", "--bench", "predicate-noun")
    assert code == 2 and "1,292 of 2,584 ids missing: '1292'" in error
    write_table("a.csv", [*rows_of(), *rows_of(0.1)])
    code, _, error = run("a.csv", "--bench", "predicate-noun")
    assert code == 2 and "2,584 ids doubled (two models in one file?): '0'" in error
    write_table("a.csv", [*rows_of()[:1292], *rows_of(0.8, 0.2)[1292:]])
    code, _, error = run("a.csv", "--bench", "predicate-noun")
    assert code == 2 and "1,292 of 2,584 rows add up to 1 and the others do not" in error
    write_table("a.csv", [*rows_of(model="CLIP")[:1292], *rows_of(model="LXMERT")[1292:]])
    code, _, error = run("a.csv", "--bench", "predicate-noun")
    assert code == 2 and "model: 2 different ones are mixed" in error
    write_table("a.csv", [{**row, "prob_target_match": "nan"} if row["id"] == 3 else row for row in rows_of()])
    code, _, error = run("a.csv", "--bench", "predicate-noun")
    assert code == 2 and "1 scores that are not finite numbers: '3'" in error
    write_table("a.csv", [{**row, "prob_target_match": "high"} if row["id"] == 3 else row for row in rows_of()])
    code, _, error = run("a.csv", "--bench", "predicate-noun")
    assert code == 2 and "line 5: prob_target_match" in error
    code, _, error = run("good.csv", "good.csv", "--bench", "predicate-noun")
    assert code == 2 and "the same scores" in error
    write_table("b.csv", rows_of(0.8, 0.2))
    code, _, error = run("good.csv", "b.csv", "--bench", "predicate-noun")
    assert code == 2 and "one holds a softmax over two sentences, one does not" in error


# ---------------------------------------------------------------------------- outcomes only


def example(n: int, four: str = "TTTT", **changed: str) -> dict[str, str]:
    i0, i1, c0, c1 = (mark == "T" for mark in four)
    values = (i0, i1, c0, c1, i0 and i1, c0 and c1, i0 and i1 and c0 and c1)
    row = {"image": "<PIL>", "caption": f"c{n}", "negative_caption": f"n{n}", "type": "swap", "subtype": "obj"}
    return row | dict(zip(answers.OLD, map(str, values), strict=True)) | changed


@pytest.mark.slow
def test_bivlc(tmp_path: Path) -> None:
    marks = {0: "TTFT", 1: "TFTT", 2: "FTFT"}
    rows = [example(n, marks.get(n, "TTTT")) for n in range(answers.BIVLC)]
    write_table(str(tmp_path / "a.csv"), rows)
    found = published_run([tmp_path / "a.csv"], "bivlc").record
    n = answers.BIVLC
    shares = (found.metrics.overall[name] for name in ("text", "image", "group"))
    assert tuple(shares) == ((n - 2) / n, (n - 2) / n, (n - 3) / n)
    assert found.metrics.by["type"]["swap"]["group"] == (n - 3) / n
    assert found.metrics.overall["group_match"] is None  # a total needs scores
    renamed = [{dict(zip(answers.OLD, answers.NEW, strict=True)).get(k, k): v for k, v in r.items()} for r in rows]
    write_table(str(tmp_path / "b.csv"), renamed)
    assert published_run([tmp_path / "b.csv"], "bivlc").record.metrics == found.metrics


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (example(0, "TTFF"), "1 examples with comparisons that no four scores can give: '0'"),
        (example(0, group_score="False"), "1 examples whose text, image or group score does not follow"),
        (example(0, image_score_c0="maybe"), "line 2: image_score_c0: expected True or False, found 'maybe'"),
    ],
)
def test_outcomes_that_cannot_be(tmp_path: Path, row: dict[str, str], complaint: str) -> None:
    write_table(str(tmp_path / "a.csv"), [row, *(example(n) for n in range(1, answers.BIVLC))])
    with pytest.raises(UserError, match=complaint):
        read_any([tmp_path / "a.csv"], "bivlc")


def test_half_of_bivlc_and_two_models(tmp_path: Path) -> None:
    half = [example(n) for n in range(1000)]
    write_table(str(tmp_path / "a.csv"), [*half, *half])
    with pytest.raises(UserError, match=r"(?s)2,000 of 2,933 examples.*1,000 pairs of captions doubled"):
        read_any([tmp_path / "a.csv"], "bivlc")


def test_sugarcrepes_outcomes(shared_data: Path, run: Run) -> None:
    """7,512 rows, one of them withdrawn; six pairs stand in two splits; ties are unknown and no zero."""
    path = shared_data / "bivlc" / "SUGARCREPE_CORRECT_ViT-B-32.csv"
    code, out, error = run(str(path), "--bench", "sugarcrepe", "--json")
    found = json.loads(out)
    assert code == 0 and found["outcomes_only"] is True and found["overall"]["n"] == 7511
    assert found["overall"]["ties"] is None and "mean_score_caption" not in found["overall"]["metrics"]
    assert found["averages"][found["rule"]]["ties"] is None and found["by"]["split"]["swap_obj"]["n"] == 245
    assert "left out: 1 pair that SugarCrepe withdrew (swap_obj, image 000000310622.jpg)" in error
    assert "6 pairs of sentences are asked in two splits" in found["notes"]
    part = (str(path), "--bench", "sugarcrepe", "--source", str(shared_data / "sugarcrepe"), "--splits", "add_att")
    code, out, error = run(*part)
    assert (
        code == 0
        and "overall (outcomes only)          │ 692 │" in out
        and "outcomes only: no score was published" in out
    )
    assert (out + error).count("note: 6,819 scores of other splits") == 1
    assert json.loads(run(*part, "--json")[1])["outcomes_only"]
    lines = path.read_text().splitlines()
    Path("half.csv").write_text("\n".join([*lines[:3000], lines[1]]))
    code, _, error = run("half.csv", "--bench", "sugarcrepe")
    assert code == 2 and "1 pairs doubled" in error and "swap_obj: 0 of 245 pairs" in error
