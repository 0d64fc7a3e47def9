"""The word lists as the lexicon reads them: no line is dead."""

from __future__ import annotations

import re

from equipoise.language.vocabulary import read_text
from equipoise.perturb import Caption
from equipoise.perturb.sources.lexicon import Lexicon


def names() -> list[str]:
    """Nouns of several words without quotes, to be replaced by a synonym."""
    found = []
    for line in read_text("synonyms.txt").partition("[object]")[2].partition("[attribute]")[0].splitlines():
        line, _, guards = line.partition("#")[0].partition("|")
        if "never" not in guards:
            sides = re.split("[~>]", line)
            found += [side.strip() for side in (sides if "~" in line else sides[:1])]
    return [name for name in found if " " in name and not name.startswith('"')]


def test_a_name_of_several_words_is_one_to_the_tagger_or_replaced_all_the_same() -> None:
    """Else its line never applies: put it into quotes, or into compounds.txt."""
    dead = []
    for name in names():
        caption = Caption(f"a {name} is here")
        known = name in [unit.word for unit in caption.units]
        if not known and not any(proposal.start == 2 for proposal in Lexicon().synonyms(caption, "object")):
            dead.append(name)
    assert not dead
