"""A study: what is asked, of whom in which order, and what an answer may be.

Blind: study.json keeps the texts of a question in an order drawn by seed, never caption first, and every annotator sees
them in an order of their own. What is sent to a browser is texts in that order and nothing else: no role, no item id,
no file name. `read_answers` turns answers back.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import read_json, sha256_json, write_json
from equipoise.data.readers.records import explain

SCHEMA = 1
FILE = "study.json"
IMAGES = "images"
MOST_TEXTS = 9  # of one question: a key for each
LONGEST_NAME = 40  # of an annotator
Ask = Literal["rank", "pairs"]
Role = Literal["c", "p", "n"]  # caption, hard positive, hard negative
SAID = ("yes", "no", "unsure")
ANSWERS = "equipoise study answers"  # what an answers file says it is
_AGAIN = "Ask for the file again: it is what the page's button 'Download answers' makes."
Value = Any  # JSON, checked by `problem_of`: a rank for each text, or the answers on a pair


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Wording(_Record):
    role: Role
    text: str


class Question(_Record):
    """One picture with its captions, or one pair of texts. `image` is the number of one of the study's own files."""

    number: int
    item: str
    image: int | None
    cluster: str  # the picture's path: what intervals resample
    tags: dict[str, str]
    texts: tuple[Wording, ...]


class Picture(_Record):
    path: str  # as in the items; not shown to annotators
    box: tuple[float, float, float, float] | None
    sha256: str  # of the study's own file


class Study(_Record):
    version: int
    ask: Ask
    benchmark: str
    items_sha256: str  # of all items it was drawn from
    items: int
    seed: int
    texts_left_out: int  # of items with more than a question holds
    questions: tuple[Question, ...]
    pictures: tuple[Picture, ...]

    @property
    def digest(self) -> str:
        """Which study this is: answers to another are never mixed in."""
        return sha256_json(self.model_dump(mode="json"))


def picture_name(number: int) -> str:
    return f"{number:05}.jpg"


def read_study(folder: str | Path) -> Study:
    path = Path(folder) / FILE
    if not path.is_file():
        raise UserError(f"{folder}: holds no {FILE}; make a study with `equipoise study make ITEMS --out {folder}`")
    value = read_json(path)
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > SCHEMA:
        raise UserError(f"{path}: written by a newer version of equipoise (schema {version}); update it to read this")
    problems = Problems(str(path))
    try:
        study = Study.model_validate_json(Path(path).read_bytes())
    except ValidationError as error:
        explain(error, "", problems)
        problems.raise_if_any("Make the study again, in another folder.")
        raise AssertionError("a file that does not validate has problems") from None
    for place, question in enumerate(study.questions):
        if question.number != place:
            problems.add(f"questions.{place}", f"number: expected {place}, found {question.number}")
        if question.image is not None and not 0 <= question.image < len(study.pictures):
            problems.add(f"questions.{place}", f"image: there is no picture {question.image}")
        if not 2 <= len(question.texts) <= MOST_TEXTS:
            problems.add(f"questions.{place}", f"texts: expected 2 to {MOST_TEXTS}, found {len(question.texts)}")
    problems.raise_if_any("Make the study again, in another folder.")
    return study


def write_study(folder: Path, study: Study) -> None:
    write_json(folder / FILE, study.model_dump(mode="json"))


def annotator_name(name: object) -> str:
    """A name as it is kept: "Anna " of a phone and "anna" of a desk are one person. Raises UserError."""
    if not isinstance(name, str):
        raise UserError("annotator: expected a name")
    plain = " ".join(unicodedata.normalize("NFKC", name).split()).casefold()
    if not plain or len(plain) > LONGEST_NAME or not plain.isprintable():
        raise UserError(f"annotator: expected a name of 1 to {LONGEST_NAME} printable characters")
    return plain


def drawn(*parts: object) -> str:
    """A number that looks random, the same for the same parts on every machine and version of Python."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def shown_order(study: Study, annotator: str, question: Question) -> list[int]:
    """Which text stands at each place of the annotator's screen."""
    return sorted(
        range(len(question.texts)), key=lambda place: drawn(study.seed, annotator, question.number, "text", place)
    )


def question_order(study: Study, annotator: str) -> list[Question]:
    """Everybody begins elsewhere, so that tiredness does not fall on the same questions."""
    return sorted(study.questions, key=lambda one: drawn(study.seed, annotator, one.number, "question"))


def screen(study: Study, annotator: str) -> list[dict[str, Any]]:
    """What a browser is given: questions in this annotator's order."""
    return [
        {
            "question": question.number,
            "image": question.image,
            "texts": [question.texts[place].text for place in shown_order(study, annotator, question)],
        }
        for question in question_order(study, annotator)
    ]


def problem_of(study: Study, question: Question, value: Value) -> str:
    """What is wrong with an answer to a question; "" where nothing is."""
    return (_rank_problem if study.ask == "rank" else _pair_problem)(value, len(question.texts))


def _rank_problem(value: Value, texts: int) -> str:
    expected = f"expected a rank for each of the {texts} texts, 1 for the best, ties allowed, no rank left out"
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
    """A checked answer about what was on the screen, as one about the texts in the study's order."""
    order = shown_order(study, annotator, question)
    back = [order.index(place) for place in range(len(order))]
    if isinstance(value, list):
        return [value[place] for place in back]
    return {name: [said[place] for place in back] if isinstance(said, list) else said for name, said in value.items()}


def read_answers(study: Study, paths: Sequence[Path]) -> dict[str, dict[int, Value]]:
    """The files that annotators downloaded from their pages: annotator -> question -> answer."""
    found: dict[str, dict[int, Value]] = {}
    for path in paths:
        annotator, given = _read_file(study, path)
        if annotator in found:
            raise UserError(
                f"{path}: a second file of {annotator}; name the newer one only (two people need two names)"
            )
        found[annotator] = given
    return found


def _read_file(study: Study, path: Path) -> tuple[str, dict[int, Value]]:
    value = read_json(path)
    if not isinstance(value, dict) or value.get("format") != ANSWERS:
        raise UserError(f"{path}: not the answers of a study. {_AGAIN}")
    if value.get("study") != study.digest:
        raise UserError(f"{path}: answers to another study ({str(value.get('study'))[:10]}…); score them with that one")
    annotator, answers = annotator_name(value.get("annotator")), value.get("answers")
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
