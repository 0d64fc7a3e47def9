import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.language.forms import article_for, fix_articles

AN = """hour hourglass honest honour honorary heir heirloom herb umbrella umpire uncle unidentified unimportant
uninhabited unimpressed unusual urban urn usher ugly utter upright unlit unopened onerous orange elephant egg eight
island ivory ebony emerald X-ray x-ray MRI SUV suv mp3 RV LED LCD ATM FBI H L-shaped S-shaped f 8 8-year-old 11 18 1800s
18,000 80 800 NBA SOS EU éclair AI HDTV Yves ox on-ramp oak UGLY uber heir's OLD"""
A = """cat unicorn uniform union unique unit united university unidirectional unicycle one once one-way onesie one's
European euro eucalyptus ewe used useful user usual utensil utility ukulele Ukrainian urinal UFO ufo USB US U.S. UK
u-turn U-shaped Ouija house horse hotel historic hat yellow yacht year TV tv BBQ bbq DVD 1 100 10 1,800 110 7 180 Mr mr
white NASA MAN HAT laptop St unanimous U useless utopian uterus"""


def test_a_and_an() -> None:
    assert not [word for word in AN.split() if article_for(word) != "an"]
    assert not [word for word in A.split() if article_for(word) != "a"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("a ivory cat on an big mat", "an ivory cat on a big mat"),
        ("A emerald tree. An crimson one", "An emerald tree. A crimson one"),
        ("a  hour   later", "an  hour   later"),
        ('a "old" sign and a (empty) box', 'an "old" sign and an (empty) box'),
        ("an one way sign", "a one way sign"),
        ("a orange, a apple, and an banana", "an orange, an apple, and a banana"),
        ("A OLD MAN", "AN OLD MAN"),
        ("man in a upright position", "man in an upright position"),
    ],
)
def test_wrong_articles_are_mended(wrong: str, right: str) -> None:
    assert fix_articles(wrong) == right
    assert fix_articles(right) == right


@pytest.mark.parametrize(
    "text",
    [
        "vitamin A ointment",  # a letter, not an article
        "letter a and letter e",
        "a herb garden",
        "an herb garden",
        "an historic house",
        "a historic house",
        "cafe-a umbrella",
        "plane at gate b.a airport",
        "from a to b",
        "a boy an with his dog",  # "and", misspelled
        "",
        "a",
        "a 😀 face",
    ],
)
def test_what_is_no_error_stays(text: str) -> None:
    assert fix_articles(text) == text


def test_nothing_but_articles_changes() -> None:
    text = "  an  cat \t sat\non a  umbrella's  edge "
    assert fix_articles(text) == "  a  cat \t sat\non an  umbrella's  edge "


@pytest.mark.slow
@given(st.text())
def test_any_text_is_survived_and_fixed_once(text: str) -> None:
    once = fix_articles(text)
    assert fix_articles(once) == once
    assert article_for(text) in {"a", "an"}
