"""The audit of the whole files of REPLACE and CREPE finds the defects that were counted by other means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise.audit.checks import checks, reuse
from equipoise.audit.record import TextCheck
from equipoise.data.items import Item

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(replace_items: list[Item]) -> dict[str, TextCheck]:
    return {check.name: check for check in checks(replace_items)}


def test_replace(found: dict[str, TextCheck]) -> None:
    """studies/audits.py explains what differs from the counts of others (docs/appendix/audits.md)."""
    assert found["duplicates"].by_split == {"attributes": 186, "relations": 1_403}
    assert found["forced_ties"].by_split == {"attributes": 1, "relations": 15}
    assert found["sub_word"].by_kind == {"positives": 10, "negatives": 24}, "10 edits; 24 negatives came broken"
    assert found["sub_word"].by_split == {"attributes": 10, "relations": 24}
    assert found["other_word"].by_split == {"attributes": 21, "relations": 32}
    assert found["compounds"].by_kind == {"positives": 399, "negatives": 2}, "409 with ten that are no compounds"
    assert found["articles"].by_kind == {"positives": 145, "negatives": 19}
    assert found["spaces"].count == 185
    assert found["near_synonyms"].by_split["attributes"] == 770


def test_replace_asks_about_one_image_up_to_26_times(replace_items: list[Item]) -> None:
    used = reuse(replace_items)
    assert used is not None
    assert (used.images, used.most, used.most_of_caption) == (8_041, 26, 26)
    assert used.effective == pytest.approx(4_987, abs=1)


@pytest.mark.long
def test_crepe(crepe_items: list[Item]) -> None:
    """67 forced ties to CLIP: 56 differ by capitals, 11 by nothing. The 34 that were expected are no count of them."""
    ((tied,), (pieces,)) = (
        [check for check in checks(crepe_items) if check.name == name] for name in ("forced_ties", "sub_word")
    )
    assert tied.count == 67
    assert tied.by_split == {
        "prod_negate_4": 11, "prod_negate_6": 25, "prod_negate_8": 20,
        "prod_swap_4": 1, "prod_swap_6": 6, "prod_swap_8": 4,
    }  # fmt: skip
    assert sum(item.caption in {text.text for text in item.negatives} for item in crepe_items) == 11
    assert sum(count for split, count in pieces.by_split.items() if "_atom_" in split) > 400, "persinside, wneardow"


def test_the_items_behind_the_differences_are_named(replace_items: list[Item], crepe_items: list[Item]) -> None:
    """The audits name the ten that would make 409 compounds, and every forced tie of CREPE; the audit agrees."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "appendix" / "audits.md").read_text(encoding="utf-8")
    numbers = re.findall(r"\d{5}", page.split("Ten of the 67, `replace-relations/`")[1].split("would make 409")[0])
    phrases = r"\b(in (from of|on|next|top of|side of)|near (top|edge|center) of|on top of of)\b"
    other = {
        item.id.split("/")[1]
        for item in replace_items
        if item.tags["split"] == "relations"
        and (said := re.search(phrases, item.caption))
        and not re.search(rf"\b{said[0]}\b", item.positives[0].text)
    }
    assert set(numbers) == other and len(numbers) == 10
    rows = page.split("`crepe-prod_FILE/ROW`: ")[1].split(". CREPE itself")[0]
    named = {
        f"crepe-prod_{file}/{row}" for part in rows.split("; ") for file, _, all_rows in [part.partition(": ")]
        for row in all_rows.split(", ")
    }  # fmt: skip
    tied = {item.id for item in crepe_items if item.caption.lower() in {text.text.lower() for text in item.negatives}}
    assert named == tied and len(tied) == 67
