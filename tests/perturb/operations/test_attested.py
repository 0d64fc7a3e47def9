"""What `balanced` draws its negatives from: lines that are sure, and what captions and photos attest."""

from __future__ import annotations

import random

import pytest

from equipoise.perturb import Candidate, Caption, get_recipe, perturb_caption
from equipoise.perturb.candidate import Refused
from equipoise.perturb.english.evidence import UNLIKELY, doubts
from equipoise.perturb.english.fit import in_images, is_known
from equipoise.perturb.operations.replace import replace_negative
from equipoise.perturb.sources.lexicon import Lexicon


def made(text: str, target: str, attested: bool = True) -> set[str]:
    found = replace_negative(Caption(text), (Lexicon(),), random.Random(0), target, attested)  # type: ignore[arg-type]
    return {each.text for each in found if isinstance(each, Candidate)}


def told(text: str, target: str) -> set[str]:
    found = replace_negative(Caption(text), (Lexicon(),), random.Random(0), target, attested=True)  # type: ignore[arg-type]
    return {each.reason for each in found if isinstance(each, Refused)}


@pytest.mark.parametrize(
    ("caption", "target", "negative"),
    [
        ("A man sitting on a bench", "object", "A man sitting on a rock"),
        ("A dog playing in the snow", "object", "A dog playing on the beach"),
        ("A train traveling down the tracks", "object", "A train traveling through a tunnel"),
        ("A dog jumps over a log", "action", "A dog walks past a log"),
        ("A man holding a cup", "action", "A man reaching for a cup"),
        ("A woman looking at the camera", "action", "A woman looking away from the camera"),
        ("A bus driving down the street", "action", "A bus parked on the street"),
        ("A cat on a table", "relation", "A cat under a table"),
    ],
)
def test_sure_lines_need_no_counts(caption: str, target: str, negative: str) -> None:
    assert negative in made(caption, target)


@pytest.mark.parametrize(
    ("caption", "target", "absurd"),
    [
        ("Two dogs wrestling on the ground", "object", ("counter", "roof")),
        ("A boat on a canal", "object", ("train", "bus")),
        ("A family on a ski slope wearing skis", "object", ("street", "beach")),
        ("A dog on green grass", "object", ("sand", "snow")),
        ("A man holding a camera", "object", ("lap top",)),
        ("Two dogs, one black", "attribute", ("purple", "white")),
        ("An orange sits on a plate", "attribute", ("green", "blue")),
        ("A sandwich on a table", "relation", ("under", "beneath")),
        ("A bird perched on a branch", "action", ("stand", "sit")),
    ],
)
def test_what_readers_found_absurd_is_not_made(caption: str, target: str, absurd: tuple[str, ...]) -> None:
    assert not [text for text in made(caption, target) if any(word in text for word in absurd)]


def test_photos_are_evidence() -> None:
    """Skis are hardly ever on a photo with a street, though no caption need say so."""
    seen, expected = in_images("street", "ski")
    assert expected > 5 and seen < 0.5 * expected
    assert is_known("school bus") and not is_known("hammock")
    found = list(doubts(Caption("A man on a beach with skis"), 4, 5, "street", "object"))
    assert any("'street' beside 'ski'" in doubt.reason and doubt.weight == UNLIKELY for doubt in found)


def test_wide_lines_are_for_recipes_that_ask_no_evidence() -> None:
    assert "Two people on a bicycle in a barn" not in made("Two people on a bicycle in a room", "object")
    assert made("A plate of fruit", "object", attested=False) - made("A plate of fruit", "object")


def test_the_reasons_against_the_others_are_told() -> None:
    assert told("A dog running through a field", "object") and all(told("A dog running through a field", "object"))
    result = perturb_caption(get_recipe("balanced"), Caption("A vase of tulips beside a lamp"))
    assert {slot for slot, _ in result.empty} >= {"negative action", "negative swap"}
