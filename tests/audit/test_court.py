"""Label courts: planted wrong labels come first in the queue, and a person's verdicts leave the page as a diff."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise import cli, evaluate, load_items
from equipoise.audit.court import Answers, court, gather, suspicion
from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts, write_items


def answered(n: int = 1500, seed: int = 0) -> tuple[Answers, np.ndarray]:
    """Five models of different strength; two splits, the second harder; 2 % of the labels are wrong."""
    draw = np.random.default_rng(seed)
    hard = np.arange(n) % 3 == 0
    flipped = np.zeros(n, bool)
    flipped[draw.choice(n, n // 50, replace=False)] = True
    strength = np.array([0.5, 1.0, 2.0, 3.0, 3.0])
    eta = strength + np.array([2.0, 1.5, 1.0, 0.5, 0.5]) * draw.normal(size=(n, 1)) - 1.0 * hard[:, None]
    right = (draw.random((n, 5)) < 1 / (1 + np.exp(-eta))).astype(float)
    right = np.where(flipped[:, None], 1 - right, right)
    right[draw.random((n, 5)) < 0.1] = np.nan
    return Answers(
        [str(i) for i in range(n)], list("abcde"), right, ["hard" if one else "easy" for one in hard]
    ), flipped


def early(score: np.ndarray, flipped: np.ndarray) -> float:
    first = np.argsort(-score, kind="stable")[: len(score) // 25]
    return float(flipped[first].sum() / flipped.sum())


def test_planted_labels_come_first_and_sooner_than_by_counting() -> None:
    by_model, by_count = [], []
    for seed in range(5):
        answers, flipped = answered(seed=seed)
        found = suspicion(answers)
        assert found.share is not None and 0.01 < found.share < 0.05
        by_model.append(early(found.log_odds, flipped))
        by_count.append(early(np.nansum(1 - 2 * answers.right, axis=1), flipped))
    assert np.mean(by_model) > 0.8
    assert np.mean(by_model) > np.mean(by_count) + 0.03


def test_a_clean_benchmark_has_few_suspects() -> None:
    answers, flipped = answered()
    right = np.where(flipped[:, None], 1 - answers.right, answers.right)
    assert (suspicion(Answers(answers.ids, answers.models, right, answers.groups)).share or 0) < 0.01


@pytest.mark.parametrize(("accuracy", "wrong"), [(0.59, 0.0), (0.57, 0.1), (0.8, 0.0)])
def test_where_answers_do_not_say_how_many_labels_are_wrong_no_share_is_given(accuracy: float, wrong: float) -> None:
    """The fit ended where it had started: "2.0%" with 0 or 10 % wrong."""
    draw = np.random.default_rng(0)
    eta = np.log(accuracy / (1 - accuracy)) * np.array([0.8, 1.15, 1.5]) + draw.normal(size=(1000, 1))
    right = draw.random((1000, 3)) < 1 / (1 + np.exp(-eta))
    right ^= draw.random((1000, 1)) < wrong
    found = suspicion(Answers([str(n) for n in range(1000)], list("abc"), right.astype(float), [""] * 1000))
    assert found.share is None and np.isfinite(found.log_odds).all()


def test_an_item_that_no_model_fails_is_never_above_one_that_all_fail() -> None:
    """Two of the three are blind and mostly wrong, so their agreement speaks against a label."""
    items = [Item(id=f"i{n}", caption=f"cat {n}", negatives=texts(f"dog {n}")) for n in range(200)]
    draw = np.random.default_rng(0)
    outcomes = {
        name: {item.id: bool(draw.random() < accuracy) for item in items}
        for name, accuracy in (("seeing", 0.85), ("blind", 0.35), ("length", 0.3))
    }
    failures = [len(case.failed) for case in court(items, "mine", outcomes).queue]
    assert failures.count(0) > 5 and failures.count(3) > 5
    assert failures[-failures.count(0) :] == [0] * failures.count(0)


def test_one_model_in_two_files_votes_once() -> None:
    answers, _ = answered()
    columns: dict[str, dict[str, bool]] = {
        name: {id_: bool(value) for id_, value in zip(answers.ids, column, strict=True) if value == value}
        for name, column in zip(answers.models, answers.right.T, strict=True)
    }
    groups = dict.fromkeys(answers.ids, "all")
    found, notes = gather(
        {**columns, "again": {id_: one for id_, one in columns["a"].items() if int(id_) < 900}}, groups
    )
    assert list(found.models) == list("abcde") and notes == ["again and a fail the same items and count as one model"]
    with pytest.raises(UserError, match="2 different models, expected at least 3"):
        gather({"a": columns["a"], "b": columns["b"], "again": columns["a"]}, groups)


# ---------------------------------------------------------------------------- the verb


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """The arguments of an audit of 60 items with photos by three models; item 7 is failed by all."""
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (40, 30), "red").save(tmp_path / "photos" / "7.png")
    items = [
        Item(id=f"i{n}", image=ImageRef(path=f"{n}.png"), caption=f"<b>cat</b> {n}", negatives=texts(f"dog {n}"))
        for n in range(60)
    ]
    write_items(tmp_path / "items.jsonl", items)
    draw = np.random.default_rng(0)
    named = []
    for model in ("one", "two", "three"):
        won = draw.random(60) < 0.9
        won[7] = False
        lines = [{"id": f"i{n}", "caption": float(one), "negatives": [0.5]} for n, one in enumerate(won)]
        path = tmp_path / f"{model}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        named += ["--models", str(path)]
    return [str(tmp_path / "items.jsonl"), *named]


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["equipoise", "audit", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_the_verb(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*asked, monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr().out
    assert "60 items answered by 3 models; 1 failed by all of them" in shown
    assert shown.index("  failed by 3 of 3  i7") == shown.index("  failed by")
    assert "right: <b>cat</b> 7" in shown and "wrong: dog 7" in shown
    assert run(*asked, "--json", monkeypatch=monkeypatch) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["queue"][0] | {"probability": 0} == {
        "id": "i7",
        "probability": 0,
        "failed": ["one.jsonl", "two.jsonl", "three.jsonl"],
        "asked": 3,
    }
    page = tmp_path / "court.html"
    for _ in range(2):
        out = ["--images", str(tmp_path / "photos"), "--out", str(page)]
        assert run(*asked, *out, monkeypatch=monkeypatch) == 0
    assert "9 photos were not found" in capsys.readouterr().err
    text = page.read_text()
    assert text.count("data:image/jpeg;base64,") == 1 and "<b>cat" not in text and "&lt;b&gt;cat&lt;/b&gt; 7" in text


def test_models_are_the_folders_that_compare_takes(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of an evaluation holds a folder for each benchmark; it was "no finished run here"."""
    folders = []
    for scores in asked[2::2]:
        out = tmp_path / "runs" / Path(scores).stem
        words = ["equipoise", "metrics", scores, "--bench", asked[0], "--out", str(out / "items")]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code, capsys.readouterr().err
        folders += ["--models", str(out)]
    capsys.readouterr()
    assert run(asked[0], *folders, "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["models"] == ["one", "two", "three"]


def test_what_the_verb_refuses(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    precious = tmp_path / "court.html"
    precious.write_text("precious")
    assert run(*asked, "--out", str(precious), monkeypatch=monkeypatch) == 2
    assert precious.read_text() == "precious"
    assert run(*asked, "--out", str(tmp_path / "court.md"), monkeypatch=monkeypatch) == 2
    assert "ends in .html with --models" in capsys.readouterr().err
    assert run(*asked[:3], monkeypatch=monkeypatch) == 2
    assert "1 different models, expected at least 3" in capsys.readouterr().err
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "x", "caption": 1, "negatives": [0]}\n')
    assert run(*asked, "--models", str(other), monkeypatch=monkeypatch) == 2
    assert "answers none of the 60 items" in capsys.readouterr().err
    assert run(asked[0], "--images", str(tmp_path), monkeypatch=monkeypatch) == 2
    assert "--images is for the HTML page" in capsys.readouterr().err


def test_runs_of_other_texts_with_the_same_ids_are_refused(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run of a corrected version of the benchmark is not an answer to this one; one of some of its items is."""
    items = load_items(tmp_path / "items.jsonl")
    swapped = {"caption": items[3].negatives[0].text, "negatives": texts(items[3].caption)}
    for name, of in (("part", items[:40]), ("other", [*items[:3], items[3].model_copy(update=swapped)])):
        evaluate("blind:length", of, out=tmp_path / name)
    folder = {name: str(next((tmp_path / name).rglob("result.json")).parent) for name in ("part", "other")}
    assert run(*asked, "--models", folder["part"], monkeypatch=monkeypatch) == 0
    assert run(*asked, "--models", folder["other"], monkeypatch=monkeypatch) == 2
    assert "i3" in capsys.readouterr().err


# ---------------------------------------------------------------------------- the page in a browser

browsing = pytest.importorskip("tests.browsing", reason="needs playwright")
browser = browsing.browser


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    with browsing.visiting(browser) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.skipif(browsing.CHROMIUM is None, reason="needs a browser: apt-get install chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_verdicts_leave_the_page_as_a_diff(tmp_path: Path, visit: Any, width: int) -> None:
    from equipoise.study.page import write_court

    items = [Item(id=f"i{n}", caption=f"cat {n}", negatives=texts(f"dog {n}")) for n in range(60)]
    draw = np.random.default_rng(0)
    outcomes = {name: {f"i{n}": bool(draw.random() < 0.9 and n != 7) for n in range(60)} for name in "abc"}
    write_court(tmp_path / "court.html", court(items, "mine", outcomes), items, None)
    page = visit((tmp_path / "court.html").as_uri(), width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator(".card select").nth(0).select_option("swap")
    page.locator(".card input").nth(0).fill("it is a dog")
    page.locator(".card select").nth(1).select_option("right")
    assert page.locator("#count").inner_text() == "2 of 10 judged, 1 to change"
    with page.expect_download() as waited:
        page.locator("#save").click()
    found = json.loads(Path(waited.value.path()).read_text())
    assert found["benchmark"] == "mine" and found["models"] == ["a", "b", "c"] and len(found["right"]) == 1
    assert found["changes"] == [
        {
            "id": "i7",
            "image": None,
            "verdict": "swap",
            "why": "it is a dog",
            "before": {"caption": "cat 7", "negatives": ["dog 7"]},
            "after": {"caption": "dog 7", "negatives": ["cat 7"]},
        }
    ]
    page.reload()
    assert page.locator("#count").inner_text() == "2 of 10 judged, 1 to change"


@pytest.mark.slow
@pytest.mark.skipif(browsing.CHROMIUM is None, reason="needs a browser: apt-get install chromium")
def test_two_courts_of_the_same_items_keep_each_others_verdicts(tmp_path: Path, visit: Any) -> None:
    from equipoise.study.page import write_court

    items = [Item(id=f"i{n}", caption=f"cat {n}", negatives=texts(f"dog {n}")) for n in range(60)]
    for name, failed in (("first", range(10)), ("second", range(9, 19))):  # one item is in both
        outcomes = {model: {f"i{n}": n not in failed for n in range(60)} for model in "abc"}
        for place, answers in enumerate(outcomes.values()):  # different models
            answers[f"i{30 + place}"] = False
        write_court(tmp_path / f"{name}.html", court(items, "mine", outcomes), items, None)

    def counted(page: Any, words: str) -> None:
        page.wait_for_function("words => document.getElementById('count').textContent.startsWith(words)", arg=words)

    first = visit((tmp_path / "first.html").as_uri())
    tab = visit((tmp_path / "first.html").as_uri(), context=first.context)
    for place in range(10):
        first.locator(".card select").nth(place).select_option("drop")
    counted(first, "10 of 10")
    second = visit((tmp_path / "second.html").as_uri(), context=first.context)
    counted(second, "1 of 10")
    first.reload()
    counted(first, "10 of 10")
    both = second.locator(".card", has_text="cat 9").locator("select")
    assert both.input_value() == "drop"
    second.locator(".card", has_not_text="cat 9").locator("select").first.select_option("right")
    both.select_option("")
    first.reload()
    counted(first, "9 of 10")
    counted(tab, "9 of 10")
    second.reload()
    counted(second, "1 of 10")
