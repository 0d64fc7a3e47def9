"""Answers of generative models: two orders of the options, several prompts, text and image questions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError
from equipoise.evaluation.record import RunRecord
from equipoise.published.measuring import published_run

sugarcrepe = registry.get("sugarcrepe")

TYPE = "swap_obj"
N = sugarcrepe.splits[TYPE] or 0


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(value, indent=2).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def option(number: int, said: str, first: str) -> dict[str, Any]:
    """One record; `said` is caption, negative or "", `first` the text that came first."""
    texts = {"caption": f"A cat on mat {number}.", "negative": f"A mat on cat {number}.", "": ""}
    words = "I cannot say." if not said else "(1)" if said == first else "(2)"
    answer = {"free_form_answer": words, "multiple_choice_answer": texts[said]}
    row = {"caption": texts["caption"], "negative_caption": texts["negative"], "filename": f"{number}.jpg"}
    return {"answer": answer, **row, "correct": said == "caption"}


def orders(tmp_path: Path, end: str = "json", **changed: tuple[str, str]) -> list[Path]:
    """Both files; every item right in both orders but the `changed` ones: i3=("negative", "")."""
    paths = []
    for place, first in enumerate(("caption", "negative")):
        rows: dict[str, Any] = {
            str(n): option(n, changed.get(f"i{n}", ("caption", "caption"))[place], first) for n in range(N)
        }
        name = f"{'positive' if first == 'caption' else 'negative'}-first/model-{TYPE}.{end}"
        paths.append(write(tmp_path / name, rows | {"accuracy": 0.9}))
    return paths


@pytest.mark.parametrize("end", ["json", "json.gz"])
def test_an_answer_that_follows_the_position_is_a_flip_and_no_win(tmp_path: Path, end: str) -> None:
    changed = {"i0": ("caption", "negative"), "i1": ("negative", "caption"), "i2": ("negative", "negative")}
    files = orders(tmp_path, end, **changed, i3=("caption", ""), i4=("", ""))
    record = published_run(files, "sugarcrepe").record
    found = record.metrics.overall
    assert (found.n, found["original"], found["order_flips"]) == (N, (N - 4) / N, 2 / (N - 2))
    assert found["accuracy"] == pytest.approx((N - 4 + 0.5) / N) and found["refusals"] == pytest.approx(1.5 / N)
    assert found["wording_flips"] is None and found["augmented"] is None and found.ties is None
    first = (N - 5) / 2 + 1 + 0.5 + 1  # of each item: half of the right answers, item 0 always, 2 once, 3 its only one
    assert found["first_option"] == pytest.approx(first / (N - 1))
    assert record.model.spec == "model"
    assert published_run(files[::-1], "sugarcrepe").record.metrics == record.metrics


def test_what_is_wrong_with_files_of_two_orders(tmp_path: Path) -> None:
    first, second = orders(tmp_path)
    nameless = write(tmp_path / "answers.json", json.loads(first.read_text()))
    with pytest.raises(UserError, match=r"answers.json: which type of SugarCrepe is it\?"):
        published_run([nameless], "sugarcrepe")
    with pytest.raises(UserError, match=r"both hold swap_obj, caption first"):
        published_run([first, first], "sugarcrepe")
    rows = json.loads(second.read_text())
    rows["0"]["correct"] = False
    rows["1"]["answer"]["multiple_choice_answer"] = "A dog."
    rows["2"]["answer"]["free_form_answer"] = "(1)"
    rows["3"]["caption"] = rows["3"]["answer"]["multiple_choice_answer"] = "A dog on a mat."
    del rows["4"]
    with pytest.raises(UserError) as caught:
        published_run([first, write(second, rows)], "sugarcrepe")
    for expected in (
        "'0': correct is False",
        "'1': answer: multiple_choice_answer is neither",
        "options in both orders",
    ):
        assert expected in str(caught.value)
    rows["2"]["answer"]["free_form_answer"] = "(2)"
    with pytest.raises(UserError, match=r"(?s)244 of 245 pairs.*sugarcrepe-swap_obj/3: other texts"):
        published_run([first, write(second, rows)], "sugarcrepe")


def prompts(*answers: tuple[str, str, str], truth: str = "On top") -> list[dict[str, Any]]:
    """One photo's records: label, options, answer."""
    return [
        {"image": "cup_on_box.jpeg", "prompt": f"Where? Choose: {options}", "prompt_label": label, "answer": answer}
        | {"ground_truth": truth}
        for label, options, answer in answers
    ]


def test_wordings_and_orders_of_one_photo(tmp_path: Path) -> None:
    plain = "A :To the left, B: To the right, C: On top, D: Under"
    rows = prompts(
        ("Plain", plain, "C"),
        ("Shuffled", "C: On top, A: To the left, D: Under, B: To the right", "A"),
        ("Vary", plain.replace("On top", "Above"), "B: To the right"),
        ("Reason", "Think. Left, Right, On top or Under", "Front"),
    )
    record = published_run([write(tmp_path / "w.json", rows)], "whatsup").record
    by = record.metrics.by["wording"]
    above = by["Above, To the left, To the right, Under"]
    assert (above["wording_flips"], above["wording_changes"], above["order_flips"]) == (1, 1, 1)
    assert above["accuracy"] == 1 / 3 and above["refusals"] == 0
    assert by["Reason"]["refusals"] == 1 / 3 and by["Reason"]["wording_flips"] is None  # in another order than plain
    with pytest.raises(UserError, match=r"(?s)1 prompts doubled.*1 photos without all of the 4 prompts"):
        more = [{**row, "image": "b.jpeg"} for row in rows[:2]]
        published_run([write(tmp_path / "w.json", [*rows, rows[0], *more])], "whatsup")


def colours(side: str, said: dict[int, tuple[str, str]], right: str) -> list[dict[str, Any]]:
    asked = "image" if side == "text" else "caption"
    rows = []
    for number in range(300):
        row: dict[str, Any] = {"id": number}
        for place in (1, 2):
            row[f"prompt_{asked}_{place}"] = "Does it present (A) a red cup, or (B) a blue cup? Note: choose"
            row[f"response_{asked}_{place}"] = said.get(number, (right, right))[place - 1]
            row[f"log_{place}"] = {"correct_answer": right}
        rows.append(row)
    return rows


def test_colorswap(tmp_path: Path) -> None:
    wrong = {
        0: ("A", "B"),
        1: ("The image presents (A) a red cup, not (B) a blue cup.", "The image shows the red cup."),
        2: ("I cannot tell.", "Option B: a blue"),
    }
    text = write(tmp_path / "text-m-colorswap.json", colours("text", wrong, "A"))
    image = write(
        tmp_path / "image-m-colorswap.json.gz", colours("image", {0: ("The second image.", "First image")}, "first")
    )
    record = published_run([text, image], "colorswap").record
    groups = record.metrics.overall
    assert (groups["text_score"], groups["image_score"], groups["group_score"]) == (298 / 300, 299 / 300, 298 / 300)
    assert record.metrics.overall["refusals"] == 1 / 1200 and record.model.spec == "m"
    alone = published_run([image], "colorswap").record.metrics.overall.metrics
    assert alone["image_score"].value == 299 / 300 and "text_score" not in alone and "group_score" not in alone
    with pytest.raises(UserError, match="both ask for the text"):
        published_run([text, text], "colorswap")
    with pytest.raises(UserError, match=r"(?s)299 of 300 examples.*expected prompt and response"):
        rows = colours("text", {}, "A")[:299]
        del rows[3]["log_2"]["correct_answer"]
        published_run([write(text, rows)], "colorswap")


# ---------------------------------------------------------------------------- what real models answered


@pytest.fixture
def published(shared_data: Path) -> Path:
    folder = shared_data / "published_scores"
    if not folder.is_dir():
        pytest.skip("the published answers are not here")
    return folder


def share(record: RunRecord, metric: str) -> float:
    value = record.metrics.overall[metric]
    assert value is not None
    return round(100 * value, 1)


@pytest.mark.slow
def test_gpt4v_turns_with_the_order(published: Path) -> None:
    """This number is for six types; all seven, which the repository has, give 7.8."""
    record = published_run(sorted((published / "sugarcrepe_gpt4v").iterdir()), "sugarcrepe").record
    assert record.metrics.overall.count("order_flips") == 7064
    assert (share(record, "order_flips"), share(record, "accuracy"), share(record, "refusals")) == (7.5, 92.5, 1.9)


@pytest.mark.slow
def test_llava_on_top_and_above(published: Path) -> None:
    record = published_run([published / "whatsup_llava" / "wordings.json.gz"], "whatsup").record
    above = record.metrics.by["wording"]["Above, To the left, To the right, Underneath"]
    changed, flipped = above["wording_changes"], above["wording_flips"]
    assert changed is not None and flipped is not None
    assert (above.n, round(100 * changed, 1), round(100 * flipped, 1)) == (418, 54.1, 46.7)


@pytest.mark.slow
def test_sugarcrepe_pp_of_a_real_clip(published: Path) -> None:
    record = published_run(list((published / "sugarcrepe_pp").iterdir()), "sugarcrepe-pp").record
    found = [share(record, name) for name in ("original", "augmented", "brittleness")]
    assert (record.metrics.overall.n, record.metrics.overall.ties, *found) == (4757, 2, 79.7, 69.6, 15.9)
