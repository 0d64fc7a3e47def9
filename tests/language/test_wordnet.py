"""The shipped extract: senses by context, relations, and that it is small and licensed."""

from __future__ import annotations

import runpy
from importlib import resources
from pathlib import Path

import pytest

from equipoise.language.wordnet import EXTRACT, WordNet

WORDNET = WordNet()
STUDIES = Path(__file__).parents[2] / "studies"


def test_the_sense_follows_the_context() -> None:
    computer = WORDNET.sense("mouse", "n", frozenset({"keyboard", "monitor"}))
    animal = WORDNET.sense("mouse", "n", frozenset({"cat", "squirrel"}))
    assert computer is not None and WORDNET.data.synsets[computer].lexfile == 6
    assert animal is not None and WORDNET.data.synsets[animal].lexfile == 5


def test_relations() -> None:
    assert WORDNET.related("dog", "animal")
    assert WORDNET.related("animal", "dog")
    assert WORDNET.related("couch", "sofa")
    assert not WORDNET.related("dog", "cat")
    assert "sofa" in WORDNET.synonym_words("couch", "n")
    assert "helicopter" in WORDNET.co_hyponyms("airplane")
    assert "airplane" not in WORDNET.co_hyponyms("plane")
    assert "small" in WORDNET.antonyms("large", "a")


def test_the_extract_is_small_and_brings_its_licence() -> None:
    data = resources.files("equipoise.language").joinpath("data")
    with resources.as_file(data.joinpath(EXTRACT)) as path:
        assert path.stat().st_size < 1_000_000
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in data.joinpath("WORDNET_LICENSE.txt").read_text()


def test_reads_wordnets_own_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nouns under one parent, as wndb(5) has them."""
    (tmp_path / "index.noun").write_text(
        "  1 licence\nbeast n 1 1 ~ 1 0 00000001  \ncat n 1 1 @ 1 1 00000002  \ndog n 1 1 @ 1 1 00000003  \n"
    )
    (tmp_path / "data.noun").write_text(
        "  1 licence\n"
        "00000001 05 n 01 beast 0 000 | a beast  \n"
        "00000002 05 n 02 cat 0 true_cat 0 001 @ 00000001 n 0000 | purrs  \n"
        "00000003 05 n 01 dog 0 001 @ 00000001 n 0000 | barks  \n"
    )
    for name in ("index.verb", "index.adj", "data.verb", "data.adj"):
        (tmp_path / name).write_text("  1 licence\n")
    (tmp_path / "cntlist.rev").write_text("cat%1:05:00:: 1 18\n")
    script = runpy.run_path(str(STUDIES / "make_wordnet_extract.py"))
    data = script["read_folder"](tmp_path, {"cat", "dog", "beast"})
    assert data.senses["n:cat"] == [("n00000002", 18)]
    assert data.synsets["n00000002"].lemmas == ("cat",)
    wordnet = WordNet()
    monkeypatch.setattr(wordnet, "data", script["read_folder"](tmp_path))
    assert wordnet.data.synsets["n00000002"].lemmas == ("cat", "true cat")
    assert wordnet.related("cat", "beast") and not wordnet.related("cat", "dog")
    assert script["write_extract"](data, tmp_path / "extract.json.gz") > 0
