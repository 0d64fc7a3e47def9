"""Recipes joined, items added to, captions kept: the training set of Kamath et al. in one command."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.perturb import describe, perturb
from equipoise.core.errors import UserError
from equipoise.data.items import Edit, ImageRef, Item, Text, load_items, texts, write_items
from equipoise.data.readers.captions.groups import read_captions
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.counts import having
from equipoise.perturb.run.engine import perturb_file, read_captions_of, write_captions
from equipoise.perturb.run.shards import Parts, shards_of

SUBJECTS = ("a man", "two dogs", "a cat and a dog", "a young boy", "a black cat and a white dog")
PLACES = ("sitting on a red bench", "standing next to a big table", "running behind a wooden fence")
CAPTIONS = [" ".join(parts) for parts in product(SUBJECTS, PLACES)]
BOTH = "hard_positives_rules,crepe_ma_2023"


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.csv"
    path.write_text("image,caption\n" + "".join(f"{place}.jpg,{text}\n" for place, text in enumerate(CAPTIONS)))
    return path


def made(captions: Path, out: Path, setup: Setup, **more: Any) -> list[Item]:
    perturb_file(captions, out, setup, **more)
    return load_items(out)


def test_joined_recipes_give_what_each_gives_alone(captions: Path, tmp_path: Path) -> None:
    together = {item.id: item for item in made(captions, tmp_path / "both.jsonl", Setup(BOTH, seed=5))}
    alone = {
        name: made(captions, tmp_path / f"{name}.jsonl", Setup(name, seed=5))
        for name in ("hard_positives_rules", "crepe_ma_2023")
    }
    for item in alone["hard_positives_rules"]:
        assert together[item.id].positives == item.positives != ()
    for item in alone["crepe_ma_2023"]:
        assert together[item.id].negatives == item.negatives != ()
    assert sum(bool(item.positives and item.negatives) for item in together.values()) > 10
    assert {item.tags["recipe"] for item in together.values()} == {BOTH}
    assert all(text.edit is not None for item in together.values() for text in (*item.positives, *item.negatives))


def test_the_identity_of_a_run_holds_all_its_recipes(captions: Path, tmp_path: Path) -> None:
    assert Setup(" hard_positives_rules , crepe_ma_2023").identity() == Setup(BOTH).identity()
    assert Setup("hard_positives_rules").identity() != Setup(BOTH).identity() != Setup(BOTH, keep_all=True).identity()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parts, "join", lambda self, count: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            perturb_file(captions, tmp_path / "x.jsonl", Setup(BOTH))
    with pytest.raises(
        UserError, match="setup recipe: there hard_positives_rules,crepe_ma_2023, here hard_positives_rules"
    ):
        perturb_file(captions, tmp_path / "x.jsonl", Setup("hard_positives_rules"))
    for wrong, said in (("hard_positives_rules,crepe_ma", "Did you mean crepe"), (f"{BOTH},crepe_ma_2023", "twice")):
        with pytest.raises(UserError, match=said):
            Setup(wrong).recipes()


def an_item(name: str, caption: str, **more: Any) -> Item:
    return Item(id=name, image=ImageRef(path=f"{name}.jpg", box=(1.0, 2.0, 30.0, 40.0)), caption=caption, **more)


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    """Items of every sort: texts with and without edits, tags, boxes, captions that no recipe can edit."""
    edit = Edit(op="swap", target="order", source="x", to="y", by="me", span=(0, 3))
    found = [
        an_item("one", CAPTIONS[0], positives=(Text(text="mine", edit=edit),), tags={"split": "a", "recipe": "own"}),
        an_item("two", CAPTIONS[7], negatives=texts("not mine"), tags={"hard_images": '["one"]'}),
        an_item("three", "قطة على حصيرة", positives=texts("قطة"), negatives=texts("كلب")),
        an_item("four", "abc", tags={"split": "b"}),
        an_item("five", "a  man\ton a   couch", positives=texts("a guy on a couch")),
    ]
    write_items(tmp_path / "items.jsonl", found)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_an_items_file_is_added_to(items: list[Item], tmp_path: Path, suffix: str) -> None:
    write_items(tmp_path / f"in{suffix}", items)
    out = tmp_path / "out.jsonl"
    report = perturb_file(tmp_path / f"in{suffix}", out, Setup(BOTH))
    after = load_items(out)
    assert [item.id for item in after] == [item.id for item in items], "none is lost, not even without an edit"
    for before, now in zip(items, after, strict=True):
        assert (now.image, now.caption) == (before.image, before.caption)
        assert now.positives[: len(before.positives)] == before.positives
        assert now.negatives[: len(before.negatives)] == before.negatives
        assert {name: value for name, value in now.tags.items() if name != "recipe"} == {
            name: value for name, value in before.tags.items() if name != "recipe"
        }
    assert after[0].tags["recipe"] == f"own,{BOTH}"
    assert len(after[0].positives) == 2 and after[0].negatives
    assert after[1].positives and len(after[1].negatives) > 1
    assert after[2].positives == items[2].positives and report["refused"]
    assert all(text.edit is not None and text.edit.span is None for text in after[4].negatives), (
        "places of a clean text"
    )
    assert report["having"]["both"] == 4 and report["having"]["neither"] == 1
    perturb_file(tmp_path / f"in{suffix}", tmp_path / "two.jsonl", Setup(BOTH), workers=2, shard=1)
    assert (tmp_path / "two.jsonl").read_bytes() == out.read_bytes(), "for any number of workers"


def test_adding_again_adds_nothing(captions: Path, tmp_path: Path) -> None:
    first = made(captions, tmp_path / "1.jsonl", Setup("hard_positives_rules"))
    second = made(tmp_path / "1.jsonl", tmp_path / "2.jsonl", Setup("hard_positives_rules"))
    assert second == first
    third = made(tmp_path / "1.jsonl", tmp_path / "3.jsonl", Setup("crepe_ma_2023"))
    assert [item.positives for item in third] == [item.positives for item in first]
    assert all(item.negatives for item in third)


def test_what_the_item_calls_wrong_is_never_added_as_right(captions: Path, tmp_path: Path) -> None:
    (first,) = made(captions, tmp_path / "1.jsonl", Setup("hard_positives_rules"), limit=1)
    right = first.positives[0].text
    write_items(tmp_path / "in.jsonl", [first.model_copy(update={"positives": (), "negatives": texts(right.upper())})])
    report = perturb_file(tmp_path / "in.jsonl", tmp_path / "2.jsonl", Setup("hard_positives_rules"))
    (item,) = load_items(tmp_path / "2.jsonl")
    assert not item.positives
    assert report["dropped"]["positive: already a negative of this caption"] == 1


def test_half_an_item_is_refused_and_not_read_as_a_caption(tmp_path: Path) -> None:
    lines = [
        {"id": "1", "caption": CAPTIONS[0], "negatives": [7]},
        {"id": "2", "caption": CAPTIONS[1], "positives": [], "tagz": {}},
        {"id": "3", "caption": CAPTIONS[2], "positives": []},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = perturb_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl", Setup(BOTH))
    assert [item.id for item in load_items(tmp_path / "out.jsonl")] == ["3"]
    assert report["refused"] == {"not a valid item (negatives)": 1, "not a valid item (tagz)": 1}


def test_items_travel_to_ray_and_back(items: list[Item], tmp_path: Path) -> None:
    (shard,) = shards_of(read_captions(tmp_path / "items.jsonl"))
    parts = Parts(tmp_path / "x.jsonl")
    parts.folder.mkdir()
    back = read_captions_of(write_captions(parts, shard))
    assert [record.item for group in back.groups for record in group.records] == [
        record.item for group in shard.groups for record in group.records
    ]


def test_all_captions_are_kept_when_asked(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(f"{CAPTIONS[0]}\nabc\nقطة على حصيرة\n{CAPTIONS[8]}\n")
    kept = made(tmp_path / "c.txt", tmp_path / "all.jsonl", Setup(BOTH, keep_all=True))
    assert [item.caption for item in kept] == [CAPTIONS[0], "abc", CAPTIONS[8]]
    assert not kept[1].positives and not kept[1].negatives
    some = made(tmp_path / "c.txt", tmp_path / "some.jsonl", Setup(BOTH))
    assert some == [kept[0], kept[2]]


def test_the_report_says_how_many_have_what(captions: Path, tmp_path: Path) -> None:
    with captions.open("a") as handle:
        handle.write("99.jpg,abc\n")
    report = perturb_file(captions, tmp_path / "x.jsonl", Setup(BOTH, keep_all=True), shard=4)
    items = load_items(tmp_path / "x.jsonl")
    assert report["having"] == having(items)
    found = report["having"]
    assert found["neither"] == 1 and found["both by swap"] > 0 and found["both by replace"] > 0
    assert found["a positive"] + found["a negative"] - found["both"] + found["neither"] == len(items)
    told = describe(report)
    assert f"{found['both']:>9,}  got both" in told
    assert "1  got nothing (kept all the same: --keep-all)" in told


def test_what_items_had_is_told_from_what_was_added(captions: Path, tmp_path: Path) -> None:
    """Adding to an items file: what was there is not counted as made, in the report and in what is printed."""
    first = perturb_file(captions, tmp_path / "1.jsonl", Setup("swap_pairs"))
    assert not any(first["had"].values()) and first["added"] == first["having"]
    before = load_items(tmp_path / "1.jsonl")
    report = perturb_file(tmp_path / "1.jsonl", tmp_path / "2.jsonl", Setup("hard_positives_rules"), shard=4)
    now = load_items(tmp_path / "2.jsonl")
    grown = sum(len(after.positives) > len(item.positives) for item, after in zip(before, now, strict=True))
    assert report["had"] == having(before) == first["having"] and report["having"] == having(now)
    assert report["had"]["a positive"] and 0 < report["added"]["a positive"] == grown
    assert report["added"]["a negative"] == report["added"]["both"] == 0
    told = [line.strip() for line in describe(report).splitlines()]
    assert f"{report['had']['a positive']}  had a hard positive already" in told
    assert f"{report['had']['a negative']}  had a hard negative already" in told
    assert any(line.startswith(f"{grown}  got a hard positive (") for line in told)
    assert {"0  got both", f"{report['having']['both']}  have both now"} <= set(told)
    again = describe(perturb_file(tmp_path / "2.jsonl", tmp_path / "3.jsonl", Setup("hard_positives_rules")))
    assert f"{len(now)}  got nothing new" in again and "no new positive: the item has this text already" in again
    assert "0  got a hard positive (0.0 % of the captions, 0 texts)" in again


def test_refining_keeps_captions_when_asked_and_never_thins_items(captions: Path, tmp_path: Path) -> None:
    report = perturb_file(
        captions, tmp_path / "x.jsonl", Setup(BOTH, keep_all=True), refine=("words", "length"), shard=1000
    )
    items = load_items(tmp_path / "x.jsonl")
    assert len(items) == len(CAPTIONS) and report["having"] == having(items)
    assert report["having"]["neither"] > 0
    with pytest.raises(UserError, match="--refine: would drop texts"):
        perturb_file(tmp_path / "x.jsonl", tmp_path / "y.jsonl", Setup(BOTH), refine=("words", "length"))


def test_swap_pairs_have_both(captions: Path, tmp_path: Path) -> None:
    items = made(captions, tmp_path / "x.jsonl", Setup("swap_pairs"))
    both = [item for item in items if item.positives and item.negatives]
    assert len(both) >= 4
    for item in both:
        for text in (*item.positives, *item.negatives):
            assert text.edit is not None and text.edit.op == "swap"
            assert sorted(text.text.replace(" an ", " a ").split()) == sorted(item.caption.split())


def test_the_verb_takes_several_recipes(captions: Path, tmp_path: Path) -> None:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(perturb)
    out = str(tmp_path / "x.jsonl")
    arguments = [str(captions), "--recipe", BOTH, "--keep-all", "--out", out, "--workers", "1"]
    told = CliRunner().invoke(app, arguments, catch_exceptions=False).output
    assert BOTH in told and "  got both" in told
    assert len(load_items(out)) == len(CAPTIONS)
    with pytest.raises(UserError, match="--llm URL"):
        CliRunner().invoke(
            app,
            [str(captions), "--recipe", "hard_positives_kamath_2024,crepe_ma_2023", "--out", out],
            catch_exceptions=False,
        )
