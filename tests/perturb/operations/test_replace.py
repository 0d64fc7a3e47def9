"""Replacements by the lexicon: sense, form, compounds, names; positives and negatives."""

from __future__ import annotations

import random

import pytest

from equipoise.language.vocabulary import SECTIONS, Section
from equipoise.perturb import Candidate, Caption
from equipoise.perturb.operations.replace import plain_weights, replace_negative, replace_positive
from equipoise.perturb.recipe import Proposal
from equipoise.perturb.sources.lexicon import Lexicon

SOURCES = (Lexicon(),)


def positives(text: str, *targets: Section) -> set[str]:
    return {
        candidate.text
        for target in targets or SECTIONS
        for candidate in replace_positive(Caption(text), SOURCES, random.Random(0), (target,))
        if isinstance(candidate, Candidate)
    }


def negatives(text: str, *targets: Section) -> set[str]:
    return {
        candidate.text
        for target in targets or SECTIONS
        for candidate in replace_negative(Caption(text), SOURCES, random.Random(0), target)
        if isinstance(candidate, Candidate)
    }


@pytest.mark.parametrize(
    ("caption", "replaced"),
    [  # like the samples in appendix C of the Hard Positives paper
        ("Two baby deer stand together on wet stones", "Two baby deer stand together on wet rocks"),
        ("a field that ha a bunch of sheep near it", "a meadow that ha a bunch of sheep near it"),
        ("a field that ha a bunch of sheep near it", "a field that ha a flock of sheep near it"),
        (
            "A rear view mirror on the handle bars of a motorcycle",
            "A rear view mirror on the handle bars of a motorbike",
        ),
        (
            "A variety of vegetables sits in a heap on a counter",
            "A collection of vegetables sits in a heap on a counter",
        ),
        (
            "a boy going down a pole on some stairs on a skate board",
            "a boy going down a pole on some stairs on a skateboard",
        ),
    ],
)
def test_the_pairs_of_the_paper_come_out(caption: str, replaced: str) -> None:
    """But for "a morsel of an eaten sandwich" and "two baby kids", which strict readers find unnatural."""
    assert replaced in positives(caption)


@pytest.mark.parametrize(
    ("caption", "replaced"),
    [
        ("Two couches in a room", "Two sofas in a room"),
        ("A man leaping over a fence", "A man jumping over a fence"),
        ("a huge cake", "an enormous cake"),
        ("An airplane in the sky", "A plane in the sky"),
        ("A dog NEXT TO a car", "A dog BESIDE a car"),
        ("A man in a suit on a bench", "A man wearing a suit on a bench"),
    ],
)
def test_inflection_articles_and_capitals(caption: str, replaced: str) -> None:
    assert replaced in positives(caption)


@pytest.mark.parametrize(
    ("caption", "forbidden"),
    [
        ("A man in front of a store", "within front"),
        ("A hot dog on a plate", "canine"),
        ("A man on his phone near Big Ben", "Large Ben"),
        ("A dirt bike with a helmet", "bicycle"),
        ("A street sign on a pole", "road sign"),
        ("a teddy bear in a chair", "bear in a seat"),
        ("a painter covered in red paint", "covecrimson"),
    ],
)
def test_no_word_inside_a_compound_or_name_is_touched(caption: str, forbidden: str) -> None:
    assert not [text for text in positives(caption) if forbidden in text]


def test_negatives_are_other_things_of_the_same_form() -> None:
    found = negatives("Two dogs on a couch", "object")
    assert "Two cats on a couch" in found
    assert "Two dogs on a bed" in found
    assert not found & {
        "Two puppies on a couch",
        "Two canines on a couch",
        "Two dogs on a sofa",
        "Two animals on a couch",
    }


def test_colours_that_overlap_never_replace_each_other() -> None:
    found = negatives("a white cup", "attribute")
    assert "a red cup" in found
    assert not found & {"a cream cup", "a beige cup", "a silver cup", "a gray cup"}


def test_things_sit_but_do_not_stand_up() -> None:
    assert negatives("a vase sitting on a table", "action") == set()
    assert "a woman standing on a chair" in negatives("a woman sitting on a chair", "action")


def test_relations_break_only_where_they_are_of_place() -> None:
    assert "a cat under a table" in negatives("a cat on a table", "relation")
    assert negatives("a man on the phone", "relation") == set()
    assert negatives("a man in a suit", "relation") == set()


def test_the_edit_says_what_changed_and_where() -> None:
    caption = Caption("An old couch in a room")
    edits = [c.edit for c in replace_positive(caption, SOURCES, random.Random(0), ("object",)) if c.edit.to == "sofa"]
    assert edits[0].source == "couch"
    assert edits[0].span == (7, 12)
    assert caption.text[7:12] == "couch"
    assert (edits[0].op, edits[0].target, edits[0].by) == ("replace", "object", "lexicon")


@pytest.mark.parametrize(
    ("caption", "replaced"),
    [  # each a family that readers found wrong, and how it may still be said
        ("A plate sitting on a table", "A plate on a table"),
        ("A red fire hydrant on a lawn", "A red hydrant on a lawn"),
        ("A person in the rain", "Someone in the rain"),
        ("Someone in the rain", "A person in the rain"),
        ("A cat sleeping on a bed", "A cat asleep on a bed"),
        ("Two men playing catch", "A pair of men playing catch"),
        ("Three zebras by a lake", "A trio of zebras by a lake"),
        ("A kitchen with a stove", "A kitchen that has a stove"),
        ("A woman that is on a bench", "A woman who is on a bench"),
        ("A man walking down a road", "A man walking along a road"),
        ("A clock on a brick building", "A clock on a building made of brick"),
        ("There are a lot of kites", "There are lots of kites"),
        ("Donuts on a tray", "Doughnuts on a tray"),
        ("A toaster on a cutting board", "A toaster on a chopping board"),
        ("A cake shaped like a boat", "A cake in the shape of a boat"),
    ],
)
def test_sound_ways_to_say_it_again(caption: str, replaced: str) -> None:
    assert replaced in positives(caption)


WRONG = [
    ("A woman is holding a bottle up", ("gripping", "grasping", "clutching")),
    ("The plate is holding a sandwich", ("containing",)),
    ("The jar is holding pens", ("containing",)),
    ("A bed with posts has a red blanket", ("that has",)),
    ("Tables with lamps in a hall", ("that has",)),
    ("A man against a wall with a racquet", ("that has", "wall containing")),
    ("A boy jumping a skateboard", ("leaping",)),
    ("A girl jumping in the air", ("midair",)),
    ("Many of them fly kites", ("umerous", "lot of", "ots of")),
    ("A train on the inside of a station", ("inside a", "within a")),
    ("Bananas at an outside market", ("outside of",)),
    ("A bus in the middle of traffic", ("center",)),
    ("There are two parrots on a branch", ("a pair",)),
    ("A drawer with two scissors in it", ("a pair",)),
    ("A pair of huge scissors on a desk", ("a couple",)),
    ("Workers sitting on elephants", ("positioned", "resting")),
    ("A couple of monitors sitting on a desk", ("seated",)),
    ("Zebras standing together", ("gathered",)),
    ("A bench in an airport", ("airfield",)),
    ("Red scissors on a newspaper", ("shears",)),
    ("A large group of goats", ("bunch",)),
    ("A small group of people", ("bunch",)),
    ("A public squat toilet", ("crouch",)),
    ("A picture from a boy's school", ("lad",)),
    ("Three motorcycle policemen on a street", ("motorbike", "male police")),
    ("A plane in a cloudy sky", ("overcast",)),
    ("A parking meter stands on the street", ("road",)),
    ("A sheep by the side of the road", ("street",)),
    ("A young man on a boat", ("youthful",)),
    ("A man and woman at a table", ("lady", "guy")),
    ("A weather map with rain over the coast", ("photo of", "picture of")),
    ("A bench in the park", ("park bench",)),
    ("A vintage photo of a man", ("old-fashioned",)),
    ("A fire hydrant by a wall", ("fireplug",)),
    ("A variety of people at a fair", ("assortment",)),
    ("A refrigerator in a very small kitchen", ("very little",)),
    ("An elephant with a red cloth", ("fabric",)),
    ("A pitcher throwing a ball", ("tossing",)),
    ("A skier is about to fall", ("getting ready",)),
    ("A seated man watches on", ("observes",)),
    ("A sign by the highway", ("freeway",)),
    ("A plane leaving a smoke trail", ("path",)),
    ("A giraffe and a zebra cross paths", ("pathway",)),
    ("A horse in a dirt field", ("pasture", "meadow")),
    ("Time to go to sleep", ("nap", "doze", "asleep")),
    ("Cut vegetables and a knife", ("Slice",)),
    ("Prepared pizzas on a rack", ("Made",)),
    ("A row of tractor trailer cabs", ("taxi",)),
    ("A bus pulling up to pick up people", ("arriving",)),
    ("A bear walking in a zoo enclosure", ("at a zoo",)),
    ("A train going down a mountain track", ("mountainside",)),
    ("The children's toys on a shelf", ("kids's", "kids'")),
    ("Two broken tv's in a yard", ("set's", "sets's")),
    ("A house under some construction", ("beneath", "underneath")),
    ("A kitchen has the windows open", ("contains",)),
    ("A bowl of soup and a spoon", ("containing",)),
    ("A desk with various other items", ("different other",)),
    ("Two giraffes standing alone", ("by itself",)),
    ("A man pointing on a street corner", ("at a street corner",)),
    ("Three buses parked along the street", ("down the street",)),
    ("A flower that grows in a pot", ("blossom",)),
    ("Fine china stays on display", ("being displayed",)),
    ("A group of adult and young elephants", ("grown-up",)),
    ("A fast bike driven on a curb", ("traveled",)),
    ("A bear walks in the bush", ("shrub",)),
    ("A boy on a jungle gym", ("gymnasium",)),
    ("The child sits and drinks from a cup", ("beverages",)),
    ("A dog hit by a jet of water", ("jet plane",)),
    ("A man keeps watch at a parade", ("observe",)),
    ("A crowd, some of which are singing", ("of that",)),
    ("A bowling alley with people", ("alleyway",)),
    ("Two people take a picture of a bird", ("image",)),
    ("A German shepherd puppy in a yard", ("shepherd young",)),
    ("A girl laid on a bed", ("lain",)),
    ("A man behind a dog that is running", ("dog who",)),
    ("An old woman with a bag sits next to a boy", (" is next",)),
    ("A group of horses and their riders", ("herd",)),
    ("A yard with several container cars on the tracks", ("automobile",)),
    ("Ground with little scattered grass", ("small",)),
    ("A man with a blue shirt sitting in front of a computer", ("shirt in front",)),
]


def test_what_readers_found_wrong_does_not_come_back() -> None:
    assert not [
        text
        for caption, forbidden in WRONG
        for text in positives(caption)
        for words in forbidden
        if words in text and words not in caption
    ]


def test_words_too_close_for_a_negative_are_no_positive_either() -> None:
    """`never` lines: a street is not just any road, yet a road is no other thing than a street."""
    assert not [text for text in positives("A dog on a sidewalk") if "walkway" in text]
    assert not [text for text in negatives("A dog on a sidewalk", "object") if "walkway" in text]


def test_a_rare_word_is_replaced_before_a_common_one_and_a_phrase_by_its_rarest_word() -> None:
    text = "a man is running past a kiosk"
    places = [(2, 5, "guy"), (6, 16, "runs"), (24, 29, "stall")]
    listed = [Proposal(start, end, to, "object", "lexicon", 1.0) for start, end, to in places]
    man, running, kiosk = plain_weights(listed, text)
    assert kiosk == pytest.approx(1 / 3) and 0 < man < running < kiosk
