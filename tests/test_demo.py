"""The demo end to end, at a size for tests: same code, fewer items and steps."""

from __future__ import annotations

import functools
import io
import multiprocessing
import pickle
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from equipoise import demo
from equipoise.core import processes
from equipoise.core.errors import Busy, UserError
from equipoise.core.files import read_json
from equipoise.core.run_folder import locked
from equipoise.demo.numbers import Finetuned, Models, changes, findings, headline, steps, value_of
from equipoise.demo.opening import chart, picture
from equipoise.demo.stories import ROWS, USUAL, Story, StoryColumn, world_story
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import RunRecord
from equipoise.evaluation.results import LoadedRun
from equipoise.evaluation.scores import ItemScores
from equipoise.evaluation.sets import RetrievalRow


@functools.cache
def small() -> Story:
    return world_story(tests=40, finetuning=48, steps=3)


@pytest.mark.slow
def test_the_whole_story_and_a_second_call_that_resumes(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fork = multiprocessing.get_context("fork")  # each new process would load torch and transformers
    monkeypatch.setattr(processes.multiprocessing, "get_context", lambda method: fork)
    story = small()
    models, page = demo.run_demo(tmp_path, story)
    said = capsys.readouterr().err
    assert story.processes > 1 and said.index("base: usual score") < said.index("Equipoise: usual score")
    text = (tmp_path / "report.html").read_text()
    for part in (page.lead[0], "reworded, unseen words", "One word replaced", "Equipoise", "against captions alone"):
        assert part in text
    results = [read_json(path) for path in sorted((tmp_path / "runs").rglob("world-*/result.json"))]
    assert len(results) == len(ROWS) * 3
    assert len({one["model"]["weight_sha256"] for one in results}) == len(ROWS)
    encoded = {"base-0" in one["arguments"]["out"]: one["counts"]["images_encoded"] for one in results}
    assert encoded[True] > 0 and encoded[False] == 0  # one image tower: its photos are embedded once
    rows = demo.table(story, models)
    assert [row["model"] for row in rows] == [row.label for row in ROWS]
    lines = demo.in_lines(story, models).splitlines()
    assert len(lines) == 2 + len(ROWS) and max(map(len, lines)) < 85
    assert lines[1].split() == ["score", "seen", "words", "unseen", "words", "attributes"]
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "report.html"]
    stamps = {path: path.stat().st_mtime_ns for path in written}
    demo.run_demo(tmp_path, replace(story, processes=1))
    assert "Equipoise: 4 of 4 evaluations read from" in caplog.text
    assert ": finetuning with" not in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert (tmp_path / "report.html").read_text() == text


@pytest.mark.slow
def test_models_with_most_texts_begin_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun last, the longest training would go on alone while the other cores are idle."""
    begun: list[str] = []

    @contextmanager
    def at_once(count: int) -> Iterator[Callable[..., Any]]:
        def submit(work: Any, out: Path, story: Story, row: Any, seed: int) -> Future[Any]:
            begun.append(f"{row.label} {seed}")
            done: Future[Any] = Future()
            done.set_result(row.label)
            return done

        yield submit

    monkeypatch.setattr(demo, "processes", at_once)
    monkeypatch.setattr(demo, "measured", lambda out, story, row, seed: row.label)
    monkeypatch.setattr(demo, "_see_training_photos", lambda *_: begun.append("photos"))
    jobs = [(row, seed) for row in ROWS for seed in ((0, 1) if row.recipe else (0,))]
    found = dict(demo._each(tmp_path, replace(small(), processes=2), jobs))
    assert begun[:4] == ["base 0", "photos", "Equipoise 1", "Equipoise 0"] and begun[-1] == "captions alone 0"
    assert found == {job: job[0].label for job in jobs}


def test_the_vision_tower_stays_as_it_is() -> None:
    story = small()
    assert story.settings["freeze"] == "vision"
    for usual, matched in zip(story.training["usual"], story.training["matched"], strict=True):
        assert usual.image == matched.image  # the same pictures: only the texts differ


def test_the_demo_takes_only_a_folder_of_its_own(tmp_path: Path) -> None:
    story = small()
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(UserError, match=r"no run of equipoise demo: report\.html would be overwritten"):
        demo.run_demo(tmp_path, story)
    assert (tmp_path / "report.html").read_text() == "mine"
    with locked(tmp_path / "out"), pytest.raises(Busy):
        demo.run_demo(tmp_path / "out", story)


# ---------------------------------------------------------------------------- a user's own photos


@pytest.fixture
def own(tmp_path: Path) -> list[str]:
    """Options of the demo for 120 drawn pictures as a user would bring them."""
    from equipoise.world.splits import picture as drawn
    from equipoise.world.splits import world_items

    (tmp_path / "photos").mkdir()
    lines = ["image,caption"]
    for number, item in enumerate(world_items("validation", 120, 5)):
        assert item.image is not None
        drawn(item.image.path).save(tmp_path / "photos" / f"{number}.png")
        lines.append(f"{number}.png,{item.caption}")
    (tmp_path / "captions.csv").write_text("\n".join(lines))
    return ["--captions", f"{tmp_path}/captions.csv", "--images", f"{tmp_path}/photos", "--model", "world"]


def _demo(*options: str) -> Any:
    from typer.testing import CliRunner

    from equipoise.cli import app

    return CliRunner().invoke(app, ["demo", *options, "--device", "cpu"])


@pytest.mark.slow
def test_the_story_on_own_photos(own: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.demo import photos

    few = ("--set", "batch_size=16", "--set", "max_steps=2", "--out", str(tmp_path / "out"))
    assert "too few test items of held-out photos (usual score: " in str(_demo(*own, *few).exception)
    monkeypatch.setattr(photos, "LEAST", 5)
    story = _story(own, tmp_path)
    assert pickle.loads(pickle.dumps(story)).tests == story.tests  # other processes get it; the whole story has some
    monkeypatch.setattr(photos.os, "cpu_count", lambda: 1)
    found = _demo(*own, *few, "--json")
    assert found.exception is None, found.output
    held_out = {item.image for items, _ in story.tests for item in items}
    taught = {item.image for items in story.training.values() for item in items}
    assert held_out and taught and not held_out & taught
    text = (tmp_path / "out" / "report.html").read_text()
    assert "data:image" in text and "no pictures" not in text  # neither the opening nor the gallery lacks them
    assert "captions to train on" in text and str(tmp_path) not in text.partition("<nav")[0]
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.jsonl")}
    assert _demo(*own, *few).exception is None
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def _story(own: list[str], folder: Path) -> Story:
    from equipoise.demo.photos import photo_story

    return photo_story(Path(own[1]), own[3], own[5], folder / "out" / "captions", {"batch_size": 16}, "cpu")


def test_two_names_of_one_photo_are_in_one_half(
    own: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Photos are held out by their bytes: with one photo under every name there is nothing to train on or to test."""
    from equipoise.demo import photos

    monkeypatch.setattr(photos, "LEAST", 1)
    monkeypatch.setattr(photos, "photo_digests", lambda paths, *_: dict.fromkeys(paths, b"one"))
    with pytest.raises(UserError, match=r"0 captions to train on|too few test items"):
        _story(own, tmp_path)


def test_no_unseen_substitution_is_trained_on(own: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.demo import photos

    monkeypatch.setattr(photos, "LEAST", 1)
    story = _story(own, tmp_path)
    words = {
        frozenset((text.edit.source, text.edit.to))
        for items in story.training.values()
        for item in items
        for text in (*item.positives, *item.negatives)
        if text.edit is not None and text.edit.op == "replace" and text.edit.source and text.edit.to
    }
    unseen = {
        frozenset((item.positives[0].edit.source, item.positives[0].edit.to))
        for items, _ in story.tests
        for item in items
        if item.tags["synonym"] == "unseen" and item.positives[0].edit is not None
    }
    assert words and unseen and not words & unseen


def test_the_demo_reads_so_many_captions_and_no_more(
    own: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many photos a user has: the demo is for a laptop."""
    from equipoise.demo import photos
    from equipoise.demo.photos import SETTINGS, estimate

    monkeypatch.setattr(photos, "LEAST", 1)
    story = _story(own, tmp_path)
    few = replace(story, training={kind: items[:32] for kind, items in story.training.items()})
    many = replace(story, training={kind: list(items) * 99 for kind, items in story.training.items()})
    assert few.steps() == 2 * 2 and many.steps() == SETTINGS["max_steps"]
    longer = replace(many, settings={**many.settings, "max_steps": 10_000, "epochs": 100})
    assert estimate(few) > 0 and 5 * estimate(many) < estimate(longer)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--captions", "x.csv"], "needs --images, --model as well"),
        (["--set", "lr=1"], "--set is for the demo on your own photos"),
    ],
)
def test_options_that_belong_together(options: list[str], said: str) -> None:
    found = _demo(*options).exception
    assert isinstance(found, UserError) and said in str(found)


def test_a_setting_that_does_not_exist_is_known_at_once(own: list[str], tmp_path: Path) -> None:
    found = _demo(*own, "--set", "learning_rte=1", "--out", str(tmp_path / "out")).exception
    assert isinstance(found, UserError) and "learning_rte" in str(found)
    assert not (tmp_path / "out" / "captions").exists()


# ---------------------------------------------------------------------------- words that follow the numbers

COLUMNS = (
    StoryColumn("usual score", "", "replace", "original"),
    StoryColumn("reworded, seen words", "", "replace", "augmented", "seen"),
    StoryColumn("reworded, unseen words", "", "replace", "augmented", "unseen"),
    StoryColumn("retrieval", "", "retrieval", "recall"),
)


@pytest.fixture(scope="module")
def told(make_record: Callable[..., RunRecord]) -> Callable[..., Models]:
    """Models, given for each how many of 400 items are right and how many more are brittle, and its searches' rank."""

    @functools.cache
    def one(label: str, right: int, brittle: int, rank: int) -> Finetuned:
        rows = [
            ItemScores(
                id=str(n),
                caption=float(n < right + brittle),
                positives=[float(n < right)],
                negatives=[0.5],
                image=f"{n}.png",
                tags={"synonym": "seen" if n % 2 else "unseen"},
            )
            for n in range(400)
        ]
        searches = [
            RetrievalRow(find=way, id=f"{n}", image=f"{n}.png", rank=rank, tie=False)
            for n in range(20)
            for way in ("image", "text")
        ]  # fmt: skip
        return Finetuned({"replace": LoadedRun(Path(label), (make_record(label),), outcomes_of(rows))}, searches)

    def build(shares: Mapping[str, tuple[int, int]]) -> Models:
        return {row.label: [one(row.label, *shares.get(row.label, (200, 40)), 3)] for row in ROWS}

    return build


@pytest.fixture(scope="module")
def changed(told: Callable[..., Models]) -> Callable[[int, int], Any]:
    """Every cell of the table, where so many of the usual negatives' 400 items are right, and so many brittle."""
    return functools.cache(lambda right, brittle: changes(told({USUAL.label: (right, brittle)}), COLUMNS))


def test_a_harm_is_said_in_the_headline(told: Callable[..., Models], changed: Callable[[int, int], Any]) -> None:
    models = told({USUAL.label: (120, 220)})
    found = changed(120, 220)
    line = headline(found, COLUMNS)
    assert line.startswith("With the usual hard negatives the usual score rises by 25.0 points [")
    assert "reworded with unseen words falls by 20.0 points" in line and "rejects captions that are still right" in line
    assert (
        "With our recipe the usual score shows no significant change (+0.0 [" in line and "not significant" not in line
    )
    heads, *rows = steps(models, found, changes(models, COLUMNS, "base"), COLUMNS)
    assert heads[1:] == [column.title for column in COLUMNS]
    parts = {row[0]: row[1:] for row in rows}
    assert parts["base"][0] == "60.0 %"
    assert parts["usual negatives, against captions alone"][0].startswith("+25.0 [")
    assert all(cell.endswith(", p = 1.0000") for cell in parts["Equipoise, against captions alone"])


def test_what_is_not_clear_is_not_claimed(changed: Callable[[int, int], Any]) -> None:
    found = changed(201, 40)
    line = headline(found, COLUMNS)
    assert line.count("shows no significant change") == 4 == line.count(", p = ") and "still right" not in line
    assert all("not significant" in part for part in findings(found, found)[0].split("; "))


def test_a_p_value_of_zero_is_a_small_one(told: Callable[..., Models], monkeypatch: pytest.MonkeyPatch) -> None:
    """Student's t with many pictures gives 0.0, which `p or 1` took for no p-value."""
    from equipoise.demo import numbers

    compare = numbers.compare_models

    def exact(*given: Any, **named: Any) -> Any:
        whole = compare(*given, **named)
        return whole.model_copy(
            update={"changes": {name: one.model_copy(update={"p": 0.0}) for name, one in whole.changes.items()}}
        )

    monkeypatch.setattr(numbers, "compare_models", exact)
    assert changes(told({USUAL.label: (120, 220)}), COLUMNS)[USUAL.label]["usual score"].significant


def test_the_corrected_table_counts_every_cell(changed: Callable[[int, int], Any]) -> None:
    found = changed(170, 110)
    one = found[USUAL.label]["reworded, seen words"]
    assert one.p is not None and one.adjusted is not None and one.adjusted > 2 * one.p
    assert sum(len(row) for row in found.values()) == 3 * len(COLUMNS)


def test_recall_is_the_mean_of_six(told: Callable[..., Models]) -> None:
    value, (low, high) = value_of(told({})["base"], COLUMNS[-1])
    assert (value, low, high) == pytest.approx((2 / 3, 2 / 3, 2 / 3))  # rank 3: found in 5 and 10, not in 1


class _Dot:
    def read(self, path: str) -> bytes:
        stream = io.BytesIO()
        Image.new("RGB", (4, 4)).save(stream, "PNG")
        return stream.getvalue()


def test_the_picture_is_an_item_that_the_usual_negatives_broke(told: Callable[..., Models]) -> None:
    models = told({USUAL.label: (120, 220)})
    texts = {str(n): (f"caption {n}", f"reworded {n}", f"wrong {n}") for n in range(400)}
    shown = str(picture(models, "replace", _Dot(), texts))
    assert "caption 120" in shown  # the first with an unseen word that is right in all others and c > n > p there
    assert shown.count('class="order"') == len(ROWS)
    assert "broke 80 of 400 items like this one and fixed 0; Equipoise broke 0 and" in shown
    assert picture(told({}), "replace", _Dot(), texts) is None


def test_the_chart_marks_gain_loss_and_nothing_clear(changed: Callable[[int, int], Any]) -> None:
    drawn = str(chart(changed(120, 220), COLUMNS))
    assert drawn.count('class="mark gain"') == 1 and drawn.count('class="mark loss"') == 2
    assert drawn.count('class="mark hollow"') == 9
    assert ">40<" in drawn and 'x="81.25%"' in drawn  # +25 points: beyond 20, and inside the axis
    assert ">20<" in str(chart(changed(190, 60), COLUMNS))
