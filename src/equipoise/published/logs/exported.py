"""Rows of a benchmark that `bench export` wrote: a log repeats the data, so that nothing is guessed."""

from __future__ import annotations

from equipoise.evaluation.asking.shipped import shares
from equipoise.evaluation.export.rows import answer_to, row_of
from equipoise.published.logs.said import Log, Said, cut


def said(record: object, text: str, epoch: int = 0) -> Said | None:
    """The row of a log whose `record` is a row of the export; None where it is not."""
    row = row_of(record)
    if row is None:
        return None
    answer = answer_to(row, text, epoch)
    return Said(
        key=row.item, said=cut(text), truth=(row.truth,), question=cut(row.prompt), options=row.names,
        image=next(iter(row.images), None), tags={name: one for name, one in row.tags.items() if one is not None},
        answer=answer.model_copy(update={"said": cut(text)}),
    )  # fmt: skip


def scores(log: Log) -> dict[str, float]:
    """The metrics of the task file, by its rule, in percent."""
    rows = [(row.key, row.answer) for row in log.rows if row.answer is not None]
    named = (
        (
            {"item": key, "truth": one.truth, "variant": one.prompt, "about": one.question, **one.model_dump()},
            one.choice,
        )
        for key, one in rows
    )
    return {name: 100 * share for name, share in shares(named).items()}
