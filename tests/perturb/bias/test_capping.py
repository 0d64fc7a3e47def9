"""At most so many texts of each substitution; what is no replacement stays; the draw is by seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.perturb import perturb
from equipoise.core.errors import UserError
from equipoise.data.items import TEXT_KINDS, Edit, Item, Operation, Text, load_items, write_items
from equipoise.perturb.bias.thinning import cap_items, substitution
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.engine import perturb_file


def text(old: str, new: str, op: Operation = "replace") -> Text:
    return Text(text=f"{old} {new}", edit=Edit(op=op, source=old, to=new, by="test"))


def made() -> list[Item]:
    """Eleven times couch for sofa right, once wrong, ten swaps; three times dog for cat."""
    found = [Item(id=str(n), caption="c", positives=(text("Couch" if n % 2 else "couch", "sofa"),)) for n in range(10)]
    found += [Item(id=f"s{n}", caption="c", positives=(text("couch", "sofa", "swap"),)) for n in range(10)]
    found += [Item(id=f"n{n}", caption="c", negatives=(text("dog", "cat"),)) for n in range(3)]
    return [
        *found,
        Item(id="both", caption="c", negatives=(text("couch", "sofa"),), positives=(text("couch", "sofa"),)),
    ]


def numbers(items: list[Item]) -> Counter[object]:
    return Counter(substitution(kind, each) for item in items for kind in TEXT_KINDS for each in getattr(item, kind))


def test_a_frequent_substitution_is_drawn_from_and_the_rest_stays() -> None:
    left = list(cap_items(made, 4))
    assert numbers(left) == {
        ("positives", "couch", "sofa"): 4, None: 10, ("negatives", "dog", "cat"): 3, ("negatives", "couch", "sofa"): 1,
    }  # fmt: skip
    assert "both" in {item.id for item in left}, "its negative stays"
    assert all(item.positives or item.negatives for item in left)
    assert len(list(cap_items(made, 4, keep_all=True))) == len(made())
    assert left == list(cap_items(made, 4)) != list(cap_items(made, 4, seed=1))


def test_nothing_is_dropped_where_nothing_is_too_many() -> None:
    assert list(cap_items(made, 11)) == made()


def test_the_command_caps_and_says_so(tmp_path: Path) -> None:
    captions, out = tmp_path / "captions.txt", tmp_path / "items.jsonl"
    captions.write_text("\n".join(f"a cat on a couch near {n} mice" for n in range(30)))
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(perturb)
    arguments = [str(captions), "--recipe", "hard_positives_rules", "--out", str(out), "--workers", "1"]
    told = CliRunner().invoke(app, [*arguments, "--cap", "2"], catch_exceptions=False).output
    items = load_items(out)
    counted = numbers(items)
    assert items and max(count for name, count in counted.items() if name) == 2
    kept = f"{sum(len(item.positives) for item in items)} of 30 positives and 0 of 0 negatives kept"
    left = f"{30 - len(items)} captions left without any"
    assert f"no substitution more than 2 times: {kept}; {left}" in " ".join(told.split())
    with pytest.raises(UserError, match="cap: there 2, here nothing"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_texts_that_were_there_before_are_never_dropped(tmp_path: Path) -> None:
    write_items(tmp_path / "items.jsonl", [Item(id="1", caption="a cat on a couch")])
    with pytest.raises(UserError, match="--cap: would drop texts"):
        perturb_file(tmp_path / "items.jsonl", tmp_path / "x.jsonl", Setup("hard_positives_rules"), cap=1)


def test_the_same_bytes_for_any_number_of_workers_and_the_report_counts_what_is_left(tmp_path: Path) -> None:
    captions = tmp_path / "captions.txt"
    seats = ("couch", "sofa", "couch", "bench")
    captions.write_text("\n".join(f"a cat on a {seats[n % 4]} near {n} mice" for n in range(160)))
    made = []
    for workers in (1, 2):
        out = tmp_path / f"{workers}.jsonl"
        setup = Setup("hard_positives_rules")
        report = perturb_file(captions, out, setup, workers=workers, shard=30, cap=12, refine=("length", "frequency"))
        made.append(out.read_bytes())
        items = load_items(out)
        assert report["items"] == len(items) and sum(report["edits"].values()) == sum(len(i.positives) for i in items)
        assert report["capped"]["items_after"] == report["refined"]["items_before"] < report["capped"]["items_before"]
        assert max(count for name, count in numbers(items).items() if name) <= 12
    assert made[0] == made[1]
