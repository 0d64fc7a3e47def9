from __future__ import annotations

from equipoise.world.vocabulary import ART, FAMILIES, article, plural, seen, unseen


def test_the_vocabulary_is_as_large_as_promised() -> None:
    assert len(FAMILIES["kind"]) >= 20
    assert len(FAMILIES["colour"]) >= 8
    assert len(FAMILIES["relation"]) >= 6
    assert all(len(words) >= 3 for values in FAMILIES.values() for words in values.values())
    assert set(ART) == set(FAMILIES["kind"])


def test_no_word_says_two_things() -> None:
    """A word shared by two values would make a hard negative true."""
    for values in FAMILIES.values():
        words = [word for said in values.values() for word in said]
        assert len(words) == len(set(words))
    attributes = [
        word for family in ("colour", "size", "texture") for said in FAMILIES[family].values() for word in said
    ]
    assert len(attributes) == len(set(attributes))


def test_seen_and_unseen_synonyms_are_apart_and_neither_is_the_common_word() -> None:
    for family in ("colour", "size", "texture", "relation"):
        for value, words in FAMILIES[family].items():
            assert seen(family, value) and unseen(family, value)
            assert sorted((words[0], *seen(family, value), *unseen(family, value))) == sorted(words)


def test_articles_and_plurals() -> None:
    assert [article(word) for word in ("orange cat", "uniform cat", "unpatterned cat", "cat")] == ["an", "a", "an", "a"]
    assert [plural(word) for word in ("box", "fish", "cat", "headgear")] == ["boxes", "fishes", "cats", "headgear"]
