"""A study: its questions, the order in which each annotator sees them, and the checks of answers.

Annotators are blind: study.json has the texts of a question in a random order, and every annotator sees them in another
one. The page contains only the texts: no role, no item id, no file name. `read_answers` restores the order.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import read_json, sha256_json
from equipoise.data.readers.records import validated

SCHEMA = 1
FILE = "study.json"
IMAGES = "images"
MOST_TEXTS = 9  # of one question: one key each
LONGEST_NAME = 40  # of an annotator
Ask = Literal["rank", "pairs"]
Role = Literal["c", "p", "n"]  # caption, hard positive, hard negative
SAID = ("yes", "no", "unsure")
ANSWERS = "equipoise study answers"  # the format field of an answers file
_AGAIN = "Ask the annotator for the file again: the page's button 'Download answers' makes it."
Value = Any  # JSON, checked by `problem_of`: a rank for each text, or the answers on a pair


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Wording(_Record):
    role: Role
    text: str


class Question(_Record):
    """One picture with its captions, or one pair of texts. `image` is the number of the study's copy."""

    number: int
    item: str
    image: int | None
    cluster: str  # the picture's path, by which intervals resample
    tags: dict[str, str]
    texts: tuple[Wording, ...]


class Picture(_Record):
    path: str  # as in the items; hidden from annotators
    box: tuple[float, float, float, float] | None
    sha256: str  # of the study's copy


class Study(_Record):
    version: int
    ask: Ask
    benchmark: str
    items_sha256: str  # of all items, drawn or not
    items: int
    seed: int
    texts_left_out: int  # of items with more than MOST_TEXTS
    questions: tuple[Question, ...]
    pictures: tuple[Picture, ...]

    @property
    def digest(self) -> str:
        """Identifies the study in answers files."""
        return sha256_json(self.model_dump(mode="json"))


def picture_name(number: int) -> str:
    return f"{number:05}.jpg"


def read_study(folder: str | Path) -> Study:
    path = Path(folder) / FILE
    if not path.is_file():
        raise UserError(f"{folder}: there is no {FILE}; make a study with `equipoise study make ITEMS --out {folder}`")
    value = read_json(path)
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > SCHEMA:
        raise UserError(f"{path}: written by a newer version of equipoise (schema {version}); update it to read this")
    fix = "Make the study again, in another folder."
    study, problems = validated(Study, path.read_bytes(), str(path), fix), Problems(str(path))
    for place, question in enumerate(study.questions):
        if question.number != place:
            problems.add(f"questions.{place}", f"number: expected {place}, found {question.number}")
        if question.image is not None and not 0 <= question.image < len(study.pictures):
            problems.add(f"questions.{place}", f"image: there is no picture {question.image}")
        if not 2 <= len(question.texts) <= MOST_TEXTS:
            problems.add(f"questions.{place}", f"texts: expected 2 to {MOST_TEXTS}, found {len(question.texts)}")
    problems.raise_if_any(fix)
    return study


def annotator_name(name: object) -> str:
    """The normalised name: "Anna " and "anna" are one person."""
    if not isinstance(name, str):
        raise UserError("annotator: expected a name")
    plain = " ".join(unicodedata.normalize("NFKC", name).split()).casefold()
    if not plain or len(plain) > LONGEST_NAME or not plain.isprintable():
        raise UserError(f"annotator: expected a name of 1 to {LONGEST_NAME} printable characters")
    return plain


def drawn(*parts: object) -> str:
    """A pseudo-random sort key, the same on every machine and version of Python."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def page_of(study: Study, annotator: str) -> str:
    """Identifies an annotator's page: a file under another name has its texts in another order."""
    return drawn(study.digest, annotator)


def shown_order(study: Study, annotator: str, question: Question) -> list[int]:
    """Which text is at each place of the annotator's screen."""
    return sorted(
        range(len(question.texts)), key=lambda place: drawn(study.seed, annotator, question.number, "text", place)
    )


def question_order(study: Study, annotator: str) -> list[Question]:
    """A different order for each annotator, so that no question is always the last."""
    return sorted(study.questions, key=lambda question: drawn(study.seed, annotator, question.number, "question"))


def screen(study: Study, annotator: str) -> list[dict[str, object]]:
    """The questions for the page, in this annotator's order."""
    return [
        {
            "question": question.number,
            "image": question.image,
            "texts": [question.texts[place].text for place in shown_order(study, annotator, question)],
        }
        for question in question_order(study, annotator)
    ]


def problem_of(study: Study, question: Question, value: Value) -> str:
    """The problem of an answer to a question, or ""."""
    return (_rank_problem if study.ask == "rank" else _pair_problem)(value, len(question.texts))


def _rank_problem(value: Value, texts: int) -> str:
    expected = f"expected a rank for each of the {texts} texts: 1 is best, ties are allowed, no rank is skipped"
    if not isinstance(value, list) or len(value) != texts or any(type(rank) is not int for rank in value):
        return expected
    return "" if set(value) == set(range(1, len(set(value)) + 1)) else expected


def _pair_problem(value: Value, texts: int) -> str:
    expected = f'expected {{"same": ..., "grammatical": [..., ...], "plausible": [..., ...]}} of {", ".join(SAID)}'
    if not isinstance(value, dict) or set(value) != {"same", "grammatical", "plausible"}:
        return expected
    each = [value["grammatical"], value["plausible"]]
    if any(not isinstance(said, list) or len(said) != texts for said in each):
        return expected
    said = [value["same"], *each[0], *each[1]]
    return "" if all(isinstance(word, str) and word in SAID for word in said) else expected


def in_study_order(study: Study, annotator: str, question: Question, value: Value) -> Value:
    """A checked answer, reordered from the screen to the study's order."""
    order = shown_order(study, annotator, question)
    back = [order.index(place) for place in range(len(order))]
    if isinstance(value, list):
        return [value[place] for place in back]
    return {name: [said[place] for place in back] if isinstance(said, list) else said for name, said in value.items()}


def read_answers(study: Study, paths: Sequence[Path]) -> dict[str, dict[int, Value]]:
    """The answers in the annotators' files: annotator -> question -> answer."""
    answers: dict[str, dict[int, Value]] = {}
    for path in paths:
        annotator, given = _read_file(study, path)
        if annotator in answers:
            raise UserError(
                f"{path}: a second file of {annotator}; name only the newer one. Two people need a page each: "
                "`equipoise study page FOLDER --annotator NAME`"
            )
        answers[annotator] = given
    return answers


def _read_file(study: Study, path: Path) -> tuple[str, dict[int, Value]]:
    value = read_json(path)
    if not isinstance(value, dict) or value.get("format") != ANSWERS:
        raise UserError(f"{path}: not the answers of a study. {_AGAIN}")
    if value.get("study") != study.digest:
        raise UserError(f"{path}: answers to another study ({str(value.get('study'))[:10]}…); score them with that one")
    annotator, answers = annotator_name(value.get("annotator")), value.get("answers")
    if value.get("page") != page_of(study, annotator):
        raise UserError(
            f"{path}: not downloaded from the page of {annotator}, so the order of its texts is unknown. Use the file "
            "under the name of its page. A file without `page` is of an older version: make the page of the same name "
            "again, load the file there and download it."
        )
    if not isinstance(answers, list):
        raise UserError(f"{path}: answers: expected a list. {_AGAIN}")
    problems = Problems(str(path))
    given: dict[int, Value] = {}
    for place, row in enumerate(answers):
        where = f"answers.{place}"
        if not isinstance(row, dict) or set(row) != {"question", "value"}:
            problems.add(where, "expected question and value")
            continue
        number = row["question"]
        if type(number) is not int or not 0 <= number < len(study.questions):
            problems.add(where, f"question: expected a number below {len(study.questions)}, found {number!r}")
        elif number in given:
            problems.add(where, f"question {number} is answered twice")
        elif wrong := problem_of(study, study.questions[number], row["value"]):
            problems.add(where, f"value: {wrong}")
        else:
            given[number] = in_study_order(study, annotator, study.questions[number], row["value"])
    problems.raise_if_any(_AGAIN)
    return annotator, given
