"""NegBench (Alhamoud et al. 2025): does a model know what "no" means? Multiple choice, and retrieval.

Multiple choice: four captions of a photo, one right. The right one is option 0 in every row of the published file, so
an argmax that takes the first of a tie would give a model without an opinion 100%; here a tie is never a win. The
template of the right option (positive, negative, hybrid) is the tag `template`. A language model wrote the wording,
and some rows still hold what it said about its work ("(To do)"): the tag `debris` tells them apart.

Retrieval: COCO captions, plain and with a true negation added, to find a photo by. Items ask about one photo, so R@5
over all photos is not theirs to ask. What the paper asks, how much the negation costs, is a question of hard
positives: plain caption, the negated one as its hard positive, captions of the next nine photos as negatives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import BeforeValidator, Field

from equipoise.benchmarks.base import stored
from equipoise.benchmarks.reading import Case, Raw, choose, literal_list, read, records
from equipoise.core.errors import Problems, UserError
from equipoise.data.items import Edit, ImageRef, Item, texts

CHOICES = stored("negbench")["tables"]["files"]
_PLAIN, _NEGATED = "COCO_val_retrieval.csv", "COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true.csv"
OTHERS = 9  # captions of other photos next to a photo's own
# No caption of an object needs these signs, speaks of captions, or closes a quotation and goes on.
_DEBRIS = re.compile(r"[()?:=>#*\[\]/]|rephras|caption|\bor\b.*\"|\w\"\s*\w", re.IGNORECASE)


class _Question(Raw):
    image_path: str
    correct_answer: Annotated[int, Field(ge=0, le=3, strict=False)]
    caption_0: str
    caption_1: str
    caption_2: str
    caption_3: str
    correct_answer_template: str


def _question(_split: str, key: str, row: _Question) -> Iterator[Case]:
    options = [row.caption_0, row.caption_1, row.caption_2, row.caption_3]
    right = options.pop(row.correct_answer)
    debris = (
        "right option" if _DEBRIS.search(right) else "wrong option" if any(map(_DEBRIS.search, options)) else "none"
    )
    yield Case(
        key,
        image=ImageRef(path=PurePosixPath(row.image_path).name),
        caption=right,
        negatives=texts(*options),
        tags={"template": row.correct_answer_template, "debris": debris},
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read("negbench", choose("negbench", source, CHOICES, splits), _Question, _question)


class _Captions(Raw):
    filepath: str
    captions: Annotated[list[str], BeforeValidator(literal_list)]


def load_retrieval(source: Path, splits: Sequence[str]) -> list[Item]:
    """Both files, joined by photo and by the number of the caption."""
    (negated,) = choose("negbench-retrieval", source, {"coco": _NEGATED}, splits).values()
    (plain,) = choose("negbench-retrieval", source, {"coco": _PLAIN}, splits).values()
    problems = Problems(str(plain))
    rows = records(plain, _Captions, problems)
    problems.raise_if_any()
    captions = {_name(row): row.captions for row in rows}
    firsts = [row.captions[0] for row in rows if row.captions]
    place = {_name(row): index for index, row in enumerate(rows)}
    if len(firsts) != len(rows) or len(rows) <= OTHERS:
        raise UserError(f"{plain}: expected captions of more than {OTHERS} photos, found {len(firsts):,}")

    def build(_split: str, _key: str, row: _Captions) -> Iterator[Case]:
        name = _name(row)
        if len(captions.get(name, ())) != len(row.captions):
            raise UserError(
                f"{negated}: {len(row.captions)} captions of {row.filepath}, where {plain.name} has "
                f"{len(captions.get(name, ()))}. Are these two files of one release?"
            )
        following = [firsts[(place[name] + step) % len(firsts)] for step in range(1, OTHERS + 1)]
        for number, (caption, longer) in enumerate(zip(captions[name], row.captions, strict=True)):
            yield Case(
                f"{PurePosixPath(name).stem}-{number}",
                image=ImageRef(path=name),
                caption=caption,
                positives=texts(longer, edit=Edit(op="negate", by="Llama 3.1")),
                negatives=texts(*following),
            )

    return read("negbench-retrieval", {"coco": negated}, _Captions, build)


def _name(row: _Captions) -> str:
    return PurePosixPath(row.filepath).name
