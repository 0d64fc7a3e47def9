"""Nothing in silence: --dropped lists every caption and candidate with its reason; files as users name them."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.cli.perturb import describe
from equipoise.core.errors import UserError
from equipoise.perturb import Caption, Setup, get_recipe, perturb_caption, perturb_file

TEXTS = [
    "A black dog on a couch and a cat on a chair",
    "zxcv qwer",
    "Where is the dog?",
    "El perro con la pelota en la casa",
]


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_caption_and_candidate_is_listed(tmp_path: Path) -> None:
    source, dropped = tmp_path / "captions.txt", tmp_path / "dropped.jsonl"
    source.write_text("\n".join(TEXTS), encoding="utf-8")
    report = perturb_file(source, tmp_path / "items.jsonl", Setup("balanced"), dropped=dropped)
    listed = lines(dropped)
    assert {line["caption"] for line in listed} == {f"caption {n}" for n in range(1, 5)}
    assert [line["left_out"] for line in listed if "left_out" in line] == ["a question", "not in English"]
    assert all(line.get("reason") or line.get("left_out") for line in listed)
    assert sum("candidate" in line for line in listed) == sum(report["dropped"].values())
    assert report["nothing_at"][0][0] == "caption 2" and report["nothing_at"][0][1]


@pytest.mark.slow
def test_the_list_is_the_same_for_any_number_of_workers(tmp_path: Path) -> None:
    source = tmp_path / "captions.txt"
    source.write_text("\n".join(TEXTS * 4), encoding="utf-8")
    for workers in (1, 2):
        perturb_file(
            source, tmp_path / f"{workers}.jsonl", Setup("balanced"), workers=workers, shard=4,
            dropped=tmp_path / f"{workers}.dropped",
        )  # fmt: skip
    assert (tmp_path / "1.dropped").read_bytes() == (tmp_path / "2.dropped").read_bytes()
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


def summary(tmp_path: Path, *texts: str, recipe: str = "balanced") -> list[str]:
    source = tmp_path / "captions.txt"
    source.write_text("\n".join(texts), encoding="utf-8")
    out = str(tmp_path / "o.jsonl")
    shown = CliRunner().invoke(app, ["perturb", str(source), "--recipe", recipe, "--out", out, "--workers", "1"])
    assert shown.exit_code == 0, shown.output
    return [line.strip() for line in shown.stdout.splitlines()]


def test_the_summary_is_read_in_a_quarter_of_a_minute(tmp_path: Path) -> None:
    """The summary has counts, the commonest reasons with a caption each, the place of the rest, and the next step."""
    nothing = [f"{TEXTS[1]} {n}" for n in range(9)]
    shown = summary(tmp_path, TEXTS[0], *nothing, *TEXTS[2:])
    shown[3] = re.sub(r", \d texts", ", 1 texts", shown[3])  # as many as the readers let pass
    assert shown[2:8] == [
        "1  got a hard positive (8.3 % of the captions, 1 texts)",
        "1  got a hard negative (8.3 % of the captions, 1 texts)",
        "1  got both",
        "9  got nothing",
        "1  left out: a question (first: caption 11)",
        "1  left out: not in English (first: caption 12)",
    ]
    place = shown.index("Why some got none (the first reason of each caption):")
    told = shown.index("9  no positive: the judge does not know enough words of this caption to tell")
    assert told > place and shown[told + 1] == f"caption 2: {nothing[0]}"
    assert shown[place + 1] == "9  no negative: the judge does not know enough words of this caption to tell"
    assert any("--dropped FILE lists every caption" in line for line in shown)
    assert f"Next: equipoise audit {tmp_path / 'o.jsonl'}" in shown[-6:]
    assert len(shown) <= 38 and "…" not in "".join(shown)


def test_the_summary_knows_what_a_recipe_never_writes(tmp_path: Path) -> None:
    shown = summary(tmp_path, TEXTS[0], recipe="hard_positives_rules")
    assert "0  got a hard negative: this recipe writes none" in shown
    assert "Why some got none" not in "".join(shown)


def test_the_commonest_reasons_are_the_first_of_each_caption(tmp_path: Path) -> None:
    """They come from every shard, with the first example; five are shown, the rest is counted."""
    source = tmp_path / "captions.txt"
    source.write_text("\n".join([TEXTS[0], *[f"{TEXTS[1]} {n}" for n in range(9)]]), encoding="utf-8")
    report = perturb_file(source, tmp_path / "items.jsonl", Setup("balanced"), shard=3)
    assert [count for name, count in report["lacking"].items() if name.startswith("positive")] == [9]
    assert sum(report["lacking"].values()) == 18, "one reason for each kind, however many shards"
    assert next(iter(report["lacking_at"].values()))[:2] == ["caption 2", "zxcv qwer 0"]
    report["lacking"] = {f"negative: reason {n}": 1 for n in range(7)}
    report["lacking_at"] = {name: ["caption 1", "a dog", "reason: 'dog'"] for name in report["lacking"]}
    told = describe(report)
    assert "the 5 commonest" in told and "no negative: reason 4" in told and "reason 5" not in told
    assert "caption 1: a dog ('dog')" in told and "2  for 2 other reasons" in told


@pytest.mark.parametrize("name", ["items.json", "items.parquet", "items.jsonl.gz"])
def test_out_that_would_not_be_what_it_is_called(tmp_path: Path, name: str) -> None:
    source = tmp_path / "captions.txt"
    source.write_text(TEXTS[0], encoding="utf-8")
    with pytest.raises(UserError, match=r"name a \.jsonl file"):
        perturb_file(source, tmp_path / name, Setup("balanced"))


def test_dropped_overwrites_nobody(tmp_path: Path) -> None:
    source = tmp_path / "captions.txt"
    source.write_text(TEXTS[0], encoding="utf-8")
    for name in ("captions.txt", "items.jsonl"):
        with pytest.raises(UserError, match="another file of this run"):
            perturb_file(source, tmp_path / "items.jsonl", Setup("balanced"), dropped=tmp_path / name)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="already there"):
        perturb_file(source, tmp_path / "items.jsonl", Setup("balanced"), dropped=tmp_path / "mine.txt")


def test_gzipped_captions(tmp_path: Path) -> None:
    records = [{"image": "1.jpg", "caption": TEXTS[:1]}]
    plain, packed = tmp_path / "captions.json", tmp_path / "captions.json.gz"
    plain.write_text(json.dumps(records))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for source in (plain, packed):
        perturb_file(source, tmp_path / f"{source.suffix}.jsonl", Setup("balanced"))
    assert (tmp_path / ".json.jsonl").read_bytes() == (tmp_path / ".gz.jsonl").read_bytes()
    packed.write_bytes(packed.read_bytes()[:40])
    with pytest.raises(UserError, match="not a whole gzip file"):
        perturb_file(packed, tmp_path / "broken.jsonl", Setup("balanced"))


def test_a_caption_is_text() -> None:
    with pytest.raises(UserError, match="a caption is text; found None"):
        Caption(None)  # type: ignore[arg-type]


def test_recipes_that_ask_a_model_say_how() -> None:
    with pytest.raises(UserError, match="LlmSettings"):
        get_recipe("hard_positives_kamath_2024")


def test_what_must_not_be_edited() -> None:
    recipe = get_recipe("balanced")
    assert perturb_caption(recipe, Caption("Is that a dog on the couch?")).refused == "a question"
    made = perturb_caption(recipe, Caption("2 dogs on a couch"))
    assert not any("two" in text.text or "three" in text.text for text in (*made.positives, *made.negatives))
    nobody = perturb_caption(recipe, Caption("Nobody is sitting beneath the couch"))
    assert nobody.negatives == []
    title = perturb_caption(recipe, Caption("Two Bedroom House With Navy Blue Door"))
    assert title.positives == title.negatives == []
