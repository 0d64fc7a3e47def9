"""Tables in every format, from one worked result."""

from __future__ import annotations

import csv
import io
import json

import pytest

from equipoise.report.tables import percent, render, render_differences, result_rows

NUMBERS = {
    "n": 1234,
    "ties": 5,
    "original": 0.616,
    "augmented": 0.468,
    "brittleness": 0.232,
    "drop": 0.148,
    "intervals": {"original": [0.6, 0.63], "augmented": [0.45, 0.48], "brittleness": [0.22, 0.24], "drop": [0.1, 0.2]},
}
PLAIN = {"n": 10, "ties": 0, "original": 0.5, "augmented": None, "brittleness": None, "drop": None, "intervals": {}}
RECORD = {
    "benchmark": {"name": "replace", "chance": {"original": 0.5}},
    "model": {"spec": "hf:x"},
    "n": {"items": 1244, "scored": 1241, "skipped": 3},
    "metrics": {
        "overall": {**NUMBERS, "original": 0.9, "wilson": {"original": [0.89, 0.91]}},
        "paper": {"tot": {"tot": 0.5}},
        "macro": {"over": ["split"], "groups": 2, **NUMBERS},
        "by": {"split": {"attributes": NUMBERS, "relations": PLAIN}},
    },
}


def test_the_headline_is_the_papers_average() -> None:
    rows = result_rows(RECORD)
    assert [row["label"] for row in rows] == ["replace", "  attributes", "  relations"]
    assert rows[0]["original"] == 0.616 and rows[0]["average"] == "mean of 2 split groups"
    assert "wilson" not in rows[0], "that of the plain mean, which is not shown"


def test_percent() -> None:
    assert percent(NUMBERS, "original") == "61.6 [60.0, 63.0]"
    assert percent(PLAIN, "original") == "50.0" and percent(PLAIN, "augmented") == "-"


def test_text_and_markdown() -> None:
    text = render(result_rows(RECORD), "text", "a note")
    assert "46.8 [45.0, 48.0] (-14.8)" in text and "a note" in text and "1,234" in text
    lines = render(result_rows(RECORD), "md").splitlines()
    assert lines[1] == "| --- | --- | --- | --- | --- | --- |"
    assert lines[3].startswith("| attributes | 1,234 | 61.6 [60.0, 63.0] |")
    assert lines[4] == "| relations | 10 | 50.0 | - | - | 0 |"


def test_latex_escapes() -> None:
    text = render([{"label": "swap_att & more", **PLAIN}], "latex", "note")
    assert r"swap\_att \& more & 10 & 50.0" in text and text.startswith("% note")


def test_csv_and_json_hold_the_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(render(result_rows(RECORD), "csv"))))
    assert rows[0]["original_low"] == "0.6" and rows[2]["augmented"] == ""
    assert [row["benchmark"] for row in rows] == ["replace"] * 3 and [row["skipped"] for row in rows] == ["3", "", ""]
    headline, split, _ = json.loads(render(result_rows(RECORD), "json"))
    assert split["ties"] == 5 and split["label"] == "attributes" and split["benchmark"] == "replace"
    assert (headline["model"], headline["skipped"], headline["paper"]) == ("hf:x", 3, {"tot": {"tot": 0.5}})
    assert headline["chance"] == {"original": 0.5}
    assert render([{"label": "overall", **PLAIN}], "csv").startswith("label,n,ties,original")


def test_differences_mark_what_is_not_clear() -> None:
    clear = {"difference": 0.05, "interval": [0.01, 0.09], "clear": True}
    vague = {"difference": 0.01, "interval": [-0.01, 0.03], "clear": False}
    row = {"benchmark": "swap", "before": "a", "after": "b", "n": 10, "original": clear, "brittleness": vague}
    text = render_differences([row])
    assert "+5.0 [+1.0, +9.0] " in text and "+1.0 [-1.0, +3.0]~" in text


@pytest.mark.parametrize("label", ["[/red]", "[bold]x", ":smile:", "a[link=x]b"])
def test_labels_are_no_markup(label: str) -> None:
    assert label in render([{"label": label, **PLAIN}], "text", f"note {label}").splitlines()[3]
    assert f"note {label}" in render([{"label": "x", **PLAIN}], "text", f"note {label}")
    assert label in render_differences([{"benchmark": label, "before": "a", "after": "b", "n": 1}])
    assert label in render_differences([{"benchmark": "x", "before": "a", "after": label, "n": 1}])


@pytest.mark.parametrize("drop", [0.0, -0.0, 0.0004, -0.0004])
def test_no_drop_has_no_minus(drop: float) -> None:
    row = {"label": "x", **NUMBERS, "drop": drop}
    assert "(+0.0)" in render([row], "md")
    none = {"difference": -drop, "interval": [-drop, drop], "clear": False}
    row = {"benchmark": "x", "before": "a", "after": "b", "n": 1, "original": none}
    assert "+0.0 [+0.0, +0.0]~" in render_differences([row])


def test_every_special_character_is_escaped() -> None:
    row = {"label": r"a\b~c^d{e}|f", **PLAIN}
    assert r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d\{e\}|f & 10" in render([row], "latex")
    assert r"| a\b~c^d{e}\|f | 10 |" in render([row], "md")
    assert "| two lines | 10 |" in render([{"label": "two\nlines", **PLAIN}], "md")
