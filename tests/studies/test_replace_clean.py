"""studies/replace_clean.py: each check, and the file that it writes."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from equipoise.benchmarks.replace import build as replace
from equipoise.benchmarks.replace.clean import VERDICTS, texts_of
from equipoise.data.items import ImageRef, Item, Text
from studies import replace_clean as script


def verdict(*texts: str) -> tuple[str, ...]:
    result = script.clean([item(*texts)])
    return result.dropped[0].reasons if result.dropped else ()


def item(caption: str, positive: str, negative: str, image: str = "VG_100K/1.jpg", number: int = 1) -> Item:
    """A record of REPLACE; relations are those whose edit only the relations' lexicon explains."""
    for split in ("relations", "attributes"):
        kind, edit = replace.explain(split, caption, positive)
        if kind:
            break
    return Item(
        id=f"replace-{split}/{number:05}",
        image=ImageRef(path=image),
        caption=caption,
        positives=(Text(text=positive, edit=edit),),
        negatives=(Text(text=negative),),
        tags={"split": split, "type": kind} if kind else {"split": split},
    )


@pytest.mark.parametrize(
    ("reason", "caption", "positive", "negative"),
    [
        ("tie", "man holding bat", "man grasping bat", "man holding bat"),
        ("tie", "nose OF small sheep", "nose OF tiny sheep", "nose OF tiny sheep"),
        ("tie", "red  cat", "crimson  cat", "Red cat"),
        ("garbled", "woman wearing wearing a skirt", "woman in wearing a skirt", "woman enclosing wearing a skirt"),
        ("compound", "car in front of house", "car within front of house", "car behind house"),
        ("compound", "car in middle of street", "car within middle of street", "car nearby street"),
        ("compound", "dog in between cars", "dog within between cars", "dog nearby cars"),
        ("compound", "man near to church", "man next to to church", "man far from church"),
        ("compound", "bike near by", "bike next to by", "bike far from by"),
        ("compound", "kid riding down slope", "kid traveling on down slope", "kid tying slope"),
        ("part of word", "plant covered in green leaf", "plant covecrimson in green leaf", "plant covered in tan leaf"),
        ("part of word", "white whiteboard", "ivory ivoryboard", "tan whiteboard"),
        ("other word", "white clouds IN blue sky", "ivory clouds IN blue sky", "white clouds IN brown sky"),
        ("other word", "fork in corner of plate", "fork within corner of plate", "fork in center of plate"),
        ("corrupt negative", "window in room", "window within room", "wout ofdow out of room"),
        ("corrupt negative", "lamp in living room", "lamp within living room", "lamp out of livout ofg room"),
        (
            "wordy negative",
            "part of bush visible behind dog",
            "part of bush visible to the rear of dog",
            "part in front of dog",
        ),
        ("wordy negative", "child wears blue jacket", "child in blue jacket", "child making jacket"),
        ("wordy negative", "lamp next to red car", "lamp near red car", "lamp on the right of car"),
        ("not within", "trees in background", "trees within background", "trees out of background"),
        ("not within", "man in black shirt", "man within black shirt", "man out of black shirt"),
        ("not within", "woman in red", "woman within red", "woman out of red"),
        ("not within", "buses in row", "buses within row", "buses out of row"),
        ("not in", "man wearing a watch", "man in a watch", "man licking watch"),
        ("no synonym", "sky above train", "sky on top of train", "sky below train"),
        ("no synonym", "pole holding sign", "pole grasping sign", "pole kicking sign"),
        ("no synonym", "plate sitting on table", "plate seated on table", "plate biting table"),
        ("no synonym", "clear glass", "unclouded glass", "foggy glass"),
        ("no synonym", "table covered by cloth", "table covered near cloth", "table covered far from cloth"),
        ("no synonym", "girl walking a dog", "girl strolling a dog", "girl biting dog"),
        ("no synonym", "red hair", "crimson hair", "blue hair"),
        ("near synonym", "white cup", "ivory cup", "cream colored cup"),
        ("near synonym", "black car", "ebony car", "dark blue car"),
        ("near synonym", "silver car", "metallic car", "gray car"),
        ("near synonym", "small dog", "tiny dog", "little dog"),
        ("near synonym", "clear sky", "unclouded sky", "cloudless sky"),
        ("both true", "wet street", "damp street", "sunny street"),
        ("both true", "man holding cup", "man grasping cup", "man touching cup"),
        ("both true", "man holding racket", "man grasping racket", "man swinging racket"),
        ("both true", "bird in a tree", "bird within a tree", "bird nearby tree"),
        ("both true", "giraffe next to a tree", "giraffe near a tree", "giraffe nearby tree"),
        ("both true", "long table", "lengthy table", "wide table"),
        ("both true", "standing man", "upright man", "pointing man"),
        ("both true", "white zebra", "ivory zebra", "black zebra"),
        ("symmetric", "bus behind bus", "bus to the rear of bus", "bus in front of bus"),
        ("symmetric", "a cow behind another cow", "a cow to the rear of another cow", "a cow in front of cow"),
    ],
)
def test_each_damage_is_found(reason: str, caption: str, positive: str, negative: str) -> None:
    assert reason in verdict(caption, positive, negative)


@pytest.mark.parametrize(
    "texts",
    [
        ("wine in glass", "wine within glass", "wine out of glass"),
        ("phone in left hand", "phone within left hand", "phone out of left hand"),
        ("swing in back yard", "swing within back yard", "swing out of back yard"),
        ("dog behind car", "dog to the rear of car", "dog in front of car"),
        ("cup on top of table", "cup on table", "cup below table"),
        ("man wearing hat", "man in hat", "man kicking hat"),
        ("man riding on horse", "man traveling on horse", "man washing horse"),
        ("woman sitting on bench", "woman seated on bench", "woman biting bench"),
        ("towel hanging from rack", "towel dangling from rack", "towel eating rack"),
        ("white shirt", "ivory shirt", "blue shirt"),
        ("black hair", "ebony hair", "blond hair"),
        ("silver car", "metallic car", "red car"),
        ("large dog", "big dog", "tiny dog"),
        ("standing man", "upright man", "lying man"),
        ("clear sky", "unclouded sky", "stormy sky"),
        ("old man", "aged man", "young man"),
    ],
)
def test_sound_records_are_kept(texts: tuple[str, str, str]) -> None:
    assert verdict(*texts) == ()


def test_the_same_record_is_kept_once() -> None:
    texts = ("red cat", "crimson cat", "blue cat")
    other_photo = item(*texts, image="VG_100K/2.jpg", number=4)
    result = script.clean([item(*texts), item(*texts, number=2), item("Red  cat", *texts[1:], number=3), other_photo])
    assert [kept.id for kept in result.kept] == ["replace-clean-attributes/00001", "replace-clean-attributes/00004"]
    assert [(gone.item.id[-1], gone.reasons[0]) for gone in result.dropped] == [("2", "duplicate"), ("3", "duplicate")]


def test_a_negative_that_another_caption_of_the_photo_says_is_dropped() -> None:
    records = [
        item("red boat", "crimson boat", "white boat"),
        item("umbrella ON small white boat", "umbrella ON tiny white boat", "umbrella ON huge white boat", number=2),
        item("dog ON large white boat", "dog ON big white boat", "dog ON tiny white boat", number=3),
    ]
    assert [gone.item.id[-1] for gone in script.clean(records).dropped] == ["1"]
    elsewhere = [records[0], *(r.model_copy(update={"image": ImageRef(path="VG_100K/9.jpg")}) for r in records[1:])]
    assert script.clean(elsewhere).dropped == []


def test_articles_and_spaces_are_repaired() -> None:
    records = [
        item("cat has a white paw", "cat has a ivory paw", "cat has a orange paw"),
        item(" red   cat", " crimson   cat", "blue cat", number=2),
        item("man wearing a hat", "man in a hat", "man eating hat", number=3),
        item("man riding an elephant", "man traveling on an elephant", "man washing elephant", number=4),
        item("green dog", "emerald dog", "pink dog", number=5),
    ]
    result = script.clean(records)
    assert [(text.item.id[-1], text.reasons) for text in result.repaired] == [
        ("1", ("article",)),
        ("2", ("spaces",)),
        ("3", ("lost article",)),
        ("4", ("lost article",)),
    ]
    assert [(kept.caption, kept.positives[0].text, kept.negatives[0].text) for kept in result.kept] == [
        ("cat has a white paw", "cat has an ivory paw", "cat has an orange paw"),
        ("red cat", "crimson cat", "blue cat"),
        ("man wearing a hat", "man in a hat", "man eating a hat"),
        ("man riding an elephant", "man traveling on an elephant", "man washing an elephant"),
        ("green dog", "emerald dog", "pink dog"),
    ]
    assert result.repaired[0].item == records[0]
    assert result.kept[0].positives[0].edit == records[0].positives[0].edit


def test_records_of_unknown_edits_are_judged_by_what_can_be_known() -> None:
    assert verdict("red cat", "scarlet cat", "blue cat") == ()
    assert verdict("red cat", "scarlet cat", "red cat") == ("tie",)
    assert verdict("man in ", "man within ", "man out of ") == ()


def made() -> list[Item]:
    """Records as REPLACE has them: good ones, ties, duplicates with other articles or case, broken compounds."""
    edits = [("in", "within", "out of"), ("near", "next to", "far from"), ("in front of", "within front of", "behind")]
    texts = [
        tuple(f"{article}{thing} {phrase} {place}" for phrase in edit)
        for article in ("", "a ", "the ")
        for thing in ("man", "dog", "Dog", "red car")
        for place in ("house", "tree", "red shirt")
        for edit in (*edits, ("holding", "grasping", "holding"), ("riding", "traveling on", "eating"))
    ]
    return [
        item(*three, image=f"VG_100K/{number % 2}.jpg", number=number)
        for number, three in enumerate(texts * 2, start=1)
    ]


@pytest.mark.slow
def test_the_order_of_records_decides_which_duplicate_stays_and_nothing_else(whole_data: Path | None) -> None:
    lists = [made()]
    if whole_data is not None:
        lists.append(replace.load(whole_data / "vl_checklist")[10_000:14_000])
    for some in lists:
        shuffled = random.Random(0).sample(some, len(some))
        assert 0 < len(script.clean(some).kept) < len(some)
        assert sorted(map(_key, script.clean(shuffled).kept)) == sorted(map(_key, script.clean(some).kept))


def _key(item: Item) -> tuple[str, ...]:
    """Without articles: of two records that differ in one, the first stays."""
    assert item.image is not None
    return item.image.path, *(re.sub(r"\b(an?|the) ", "", text.lower()) for text in texts_of(item))


def test_checks_are_functions_of_one_record() -> None:
    record = script.Record(item("dog behind car", "dog to the rear of car", "dog in front of car"))
    assert [check(record) for check in script.CHECKS] == [None] * len(script.CHECKS)


def test_a_caption_that_begins_with_the_phrase() -> None:
    assert verdict(" in the house", " within the house", " out of the house") == ()
    assert "compound" in verdict(" in front of house", " within front of house", " behind house")


def test_the_shipped_verdicts_are_what_the_checks_say(shared_data: Path) -> None:
    assert script.as_json(replace.load(shared_data / "vl_checklist")) == VERDICTS.read_text(encoding="utf-8")
