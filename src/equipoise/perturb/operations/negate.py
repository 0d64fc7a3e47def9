"""CREPE's negate: the caption denies something that it said."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from equipoise.perturb.candidate import Candidate, edited
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.sources.base import Source


def negate(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
    """ "is riding" -> "is not riding", "with a dog" -> "without a dog", "a man riding" -> "a man not riding"."""
    found = []
    units, text = caption.units, caption.text
    for place, unit in enumerate(units):
        after = units[place + 1] if place + 1 < len(units) else None
        before = units[place - 1] if place else None
        if after is None or after.word in {"not", "no"}:
            continue
        if unit.word in {"is", "are", "was", "were"} and after.kind in {
            "verb",
            "adjective",
            "preposition",
            "determiner",
        }:
            if after.word != "no" and not (before is not None and before.word in {"there", "that", "it"}):
                found.append((unit.start, unit.end, f"{unit.text} not"))
        elif unit.word == "with" and after.kind in {"determiner", "noun", "adjective", "number"}:
            verb = before is not None and before.kind == "verb"  # topped with, playing with
            if not verb and caption.phrase_at.get(place + 1) is not None and after.word not in {"some", "lots", "many"}:
                found.append((unit.start, unit.end, "without"))
        elif unit.kind == "verb" and unit.pos == "VBG" and before is not None and before.kind == "noun":
            found.append((unit.start, unit.end, f"not {unit.text}"))
    rng.shuffle(found)
    for start, end, to in found:
        new = text[:start] + to + text[end:]
        yield edited(
            text, "negative", "negate", "relation" if to == "without" else "action", (start, end), to, "rules", new
        )
