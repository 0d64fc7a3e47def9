"""The two judges that learn from the benchmark's own texts: what they must find, and what they must not."""

from __future__ import annotations

import random

from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scoring import score_items
from equipoise.models import load_model
from equipoise.models.blind import by_length, by_ngrams, folds

_NOUNS = "dog cat cup hat box car boat tree fish bird".split()


def _items(count: int, negative: str, seed: int = 0) -> list[Item]:
    """Captions of two nouns; `negative` gives the wrong one, of {a} and {b}."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        a, b = rng.sample(_NOUNS, 2)
        wrong = negative.format(a=a, b=b)
        found.append(
            Item(
                id=str(number),
                image=ImageRef(path=f"{number // 2}.jpg"),
                caption=f"a {a} near a {b}",
                negatives=texts(wrong),
                tags={"split": "all"},
            )
        )
    return found


def _original(rule: str, items: list[Item]) -> float:
    rows = score_items(load_model(f"blind:{rule}"), items).rows
    value = summarise(outcomes_of(rows), resamples=50).overall["original"]
    assert value is not None
    return value


def test_items_that_share_a_photo_share_a_fold() -> None:
    def item(name: str, image: str, *negative_images: str) -> Item:
        others = tuple(ImageRef(path=path) for path in negative_images)
        return Item(
            id=name, image=ImageRef(path=image), caption="a dog", negatives=texts("a cat"), negative_images=others
        )

    chain = [item(str(n), f"{n}.jpg", f"{n + 1}.jpg") for n in range(40)]  # each photo is also its neighbour's
    assert len(set(folds(chain))) == 1
    assert len(set(folds([item(str(n), f"{n}.jpg") for n in range(40)]))) == 5
    assert folds(chain[::-1]) == folds(chain)[::-1]


def test_length_learns_its_direction_from_other_images() -> None:
    longer, shorter = _items(200, "a very large {a} near a {b}"), _items(200, "a {a}")
    assert _original("length", longer) == 1.0
    assert _original("length", shorter) == 1.0  # the same rule, the other way round
    assert _original("length", _items(200, "a {b} near a {a}")) == 0.0  # as long: a tie is never a win


def test_ngrams_find_a_word_that_only_negatives_have() -> None:
    assert _original("ngram", _items(200, "a {a} beside a {b}")) == 1.0


def test_ngrams_know_nothing_of_their_own_image() -> None:
    """Every wrong word is of one image alone: whoever had learnt from that image would win."""
    items = [
        Item(
            id=f"{number}/{copy}",
            image=ImageRef(path=f"{number}.jpg"),
            caption="a dog near a cat",
            negatives=texts(f"a dog near a w{number}"),
            tags={},
        )
        for number in range(60)
        for copy in range(4)
    ]
    scores = by_ngrams([item.model_copy(update={"caption": f"a dog near a c{n // 4}"}) for n, item in enumerate(items)])
    assert all(caption == negative for caption, negative in scores)


def test_a_swap_without_a_habit_is_near_chance() -> None:
    assert 0.35 < _original("ngram", _items(400, "a {b} near a {a}")) < 0.65


def test_texts_of_the_same_words_tie_exactly() -> None:
    items = [item.model_copy(update={"negatives": texts(item.caption)}) for item in _items(50, "x")]
    assert all(caption == negative for caption, negative in by_ngrams(items))


def test_scores_do_not_depend_on_the_order_of_the_items() -> None:
    items = _items(100, "a {a} beside a {b}") + [
        item.model_copy(update={"id": f"s{item.id}"}) for item in _items(100, "a {b} near a {a}", seed=1)
    ]
    for rule in (by_length, by_ngrams):
        first = dict(zip([item.id for item in items], rule(items), strict=True))
        again = dict(zip([item.id for item in items[::-1]], rule(items[::-1]), strict=True))
        assert {name: [round(one, 9) for one in row] for name, row in first.items()} == {
            name: [round(one, 9) for one in row] for name, row in again.items()
        }


def test_one_image_teaches_nothing() -> None:
    items = [item.model_copy(update={"image": ImageRef(path="one.jpg")}) for item in _items(30, "a {a}")]
    assert _original("length", items) == _original("ngram", items) == 0.0
