"""The sources of negatives in `balanced`: lines that are sure, and words that captions and photos attest."""

from __future__ import annotations

import pytest

from equipoise.language.collocations import in_images, is_known
from equipoise.language.plausibility import COLOURS, NOT_KNOWN, UNLIKELY, doubts
from equipoise.perturb import Caption, get_recipe, perturb_caption
from equipoise.perturb.operations.replace import doubt_of
from equipoise.perturb.recipe import replaced
from equipoise.perturb.sources.lexicon import Lexicon


def made(text: str, target: str) -> set[str]:
    """Negatives of lines that are not marked `wide` and have nothing against them; colours may be new to their noun."""
    caption, found = Caption(text), set()
    for each in Lexicon().contrasts(caption, target):  # type: ignore[arg-type]
        colour = each.to in COLOURS
        if each.mark != "wide" and doubt_of(caption, each) <= (NOT_KNOWN if colour or target == "action" else 0):
            found.add(replaced(text, "negative", each).text)
    return found


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


def test_reasons_are_told_for_every_empty_slot() -> None:
    result = perturb_caption(get_recipe("balanced"), Caption("A vase of tulips beside a lamp"))
    assert {slot for slot, _ in result.empty} >= {"negative action", "negative swap"}
