"""One row for each question about an item, as `eval` asks it; a log of a harness repeats it, and it is read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from equipoise.data.items import Item
from equipoise.data.readers.questions import LETTERS
from equipoise.evaluation.answers import Answer
from equipoise.evaluation.asking.variants import Ask, Asked, questions


class ExportRow(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    id: str
    item: str
    images: tuple[str, ...]  # paths below the folder
    prompt: str
    options: tuple[str, ...]  # as the prompt lists them
    names: tuple[str, ...]  # what each is called in every order and wording
    truth: str  # one of the names
    target: str  # what a right answer says: a letter, yes or no
    lettered: bool
    about: str  # which of the item's questions
    wording: str
    variant: str  # of the prompt
    order: str
    repeat: int
    tags: dict[str, str | None]


def rows_of(items: Sequence[Item], ask: Ask, paths: Mapping[str, Sequence[str]]) -> Iterator[ExportRow]:
    """`paths`: where the photos of each item are in the folder."""
    for number, item in enumerate(items):
        for place, asked in enumerate(questions(item, ask)):
            at = asked.names.index(asked.truth)
            yield ExportRow(
                id=f"{number}-{place}", item=item.id, images=tuple(paths[item.id]), prompt=asked.prompt,
                options=asked.options, names=asked.names, truth=asked.truth,
                target=LETTERS[at] if asked.lettered else asked.truth, lettered=asked.lettered, about=asked.question,
                wording=asked.wording, variant=asked.variant, order=asked.order, repeat=asked.repeat,
                tags=dict(item.tags),
            )  # fmt: skip


def row_of(record: object) -> ExportRow | None:
    """The row that a log repeats; None where it is of another benchmark."""
    if not isinstance(record, dict) or not {"item", "names", "lettered"} <= record.keys():
        return None
    try:
        return ExportRow.model_validate(record)
    except ValidationError:
        return None


def answer_to(row: ExportRow, said: str, epoch: int = 0) -> Answer:
    """The answer as `eval` reads it; `epoch`: how often the harness had asked it before."""
    from equipoise.evaluation.asking.live import read

    asked = Asked(
        row.prompt, row.options, row.names, row.truth, row.lettered, row.about, row.wording, row.variant, row.order,
        row.repeat + epoch, usual=False,
    )  # fmt: skip
    return read(asked, said)
