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

from equipoise.benchmarks.base import Average, Benchmark
from equipoise.benchmarks.reading import Case, Raw, choose, entries, literal_list, read
from equipoise.core.errors import Problems, UserError
from equipoise.data.items import Edit, ImageRef, Item, texts

CHOICES = {
    "coco": "COCO_val_mcq_llama3.1_rephrased.csv",
    "voc2007": "VOC2007_mcq_llama3.1_rephrased.csv",
    "synthetic": "synthetic_mcq_llama3.1_rephrased.csv",
}
_PLAIN, _NEGATED = "COCO_val_retrieval.csv", "COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true.csv"
OTHERS = 9  # captions of other photos beside a photo's own
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
    debris = "right option" if _DEBRIS.search(right) else "wrong option" if _any_debris(options) else "none"
    yield Case(
        key,
        image=ImageRef(path=PurePosixPath(row.image_path).name),
        caption=right,
        negatives=texts(*options),
        tags={"template": row.correct_answer_template, "debris": debris},
    )


def _any_debris(options: Sequence[str]) -> bool:
    return any(map(_DEBRIS.search, options))


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read("negbench", choose("negbench", source, CHOICES, splits), _Question, _question)


# ---------------------------------------------------------------------------- retrieval


class _Captions(Raw):
    filepath: str
    captions: Annotated[list[str], BeforeValidator(literal_list)]


def load_retrieval(source: Path, splits: Sequence[str]) -> list[Item]:
    """Both files, joined by photo and by the number of the caption."""
    (negated,) = choose("negbench-retrieval", source, {"coco": _NEGATED}, splits).values()
    (plain,) = choose("negbench-retrieval", source, {"coco": _PLAIN}, splits).values()
    problems = Problems(str(plain))
    rows = [_Captions.model_validate(value) for _, _, value in entries(plain, _Captions, problems)]
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


_GET = (
    "The CSV files are in the Google Drive folder that the repository's datasets.md links (data/images); --source is "
    "their folder. Images: COCO val2017 (--images is the folder val2017), VOC2007's JPEGImages, the synthetic photos."
)
_CITE = "Alhamoud et al. 2025, Vision-Language Models Do Not Understand Negation, CVPR"
_URL = "https://github.com/m1k2zoo/negbench"
_LICENCE = "MIT (annotations); COCO images under their Flickr licences"

BENCHMARK = Benchmark(
    name="negbench",
    title="NegBench, multiple choice: one right caption of four, with and without negation",
    splits={"coco": 5914, "voc2007": None, "synthetic": None},
    chance={"original": 1 / 4},
    ties="the first option wins a tie (argmax), and the right one is always the first: a constant scorer has 100%",
    licence=_LICENCE,
    citation=_CITE,
    url=_URL,
    get=_GET,
    load=load,
    averages={"equipoise": Average(("split",), "ours: the paper prints each file by itself")},
    notes="By template see the tag `template`. Published numbers from before March 2025 come from features that were "
    "not normalised. Rows with remarks of the language model have the tag `debris`. Wrong options of the COCO file "
    "have a fixed form (1 hybrid, 2 affirmative, 3 negated), and so has the order of the synthetic file, another one.",
)
RETRIEVAL = Benchmark(
    name="negbench-retrieval",
    title="NegBench, retrieval layout: a caption and the same with a true negation, against captions of other photos",
    splits={"coco": None},
    chance={"original": 1 / (1 + OTHERS)},
    ties="not asked: the paper ranks photos (R@5)",
    licence=_LICENCE,
    citation=_CITE,
    url=_URL,
    get=_GET + " Needed are COCO_val_retrieval.csv and COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true.csv.",
    load=load_retrieval,
    metrics=("ranks",),
    notes="Not the paper's R@5 over 5,000 photos: a caption is ranked among those of nine other photos, which are "
    "easy. What carries over is the drop: Original asks the plain caption, Augmented also the one with a negation.",
)
