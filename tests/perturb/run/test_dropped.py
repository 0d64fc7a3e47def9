"""Nothing in silence: --dropped lists every caption and candidate with its reason; files as users name them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.errors import UserError
from equipoise.perturb import Caption, Setup, get_recipe, perturb_caption, perturb_file

TEXTS = ["A dog on a couch and a cat on a chair", "zxcv qwer", "Where is the dog?", "El perro con la pelota en la casa"]


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


def test_the_terminal_says_how_many_more(tmp_path: Path) -> None:
    source = tmp_path / "captions.txt"
    source.write_text("\n".join([TEXTS[0], *[f"{TEXTS[1]} {n}" for n in range(9)]]), encoding="utf-8")
    shown = CliRunner().invoke(app, ["perturb", str(source), "--out", str(tmp_path / "o.jsonl"), "--workers", "1"])
    assert shown.exit_code == 0, shown.output
    assert "9 captions gave nothing" in shown.output and "and 4 more" in shown.output
    assert "caption 2: " in shown.output


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
