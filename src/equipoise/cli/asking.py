"""The parts of `eval` for models that answer: the variants, the bill, batch files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from equipoise.core.errors import UserError, printable
from equipoise.core.progress import is_watched

if TYPE_CHECKING:
    from equipoise.data.items import Item
    from equipoise.evaluation.asking.variants import Ask
    from equipoise.evaluation.task import Task


def print_plan(tasks: Sequence[Task], ask: Ask, price: str | None, checked: bool, as_json: bool) -> None:
    """The bill of each benchmark; the checks of the model are part of the first."""
    from equipoise.evaluation.asking.plan import parse_price, plan
    from equipoise.evaluation.preflight.judging import REQUESTS

    dollars = parse_price(price)
    for number, task in enumerate(_of_items(tasks)):
        planned = plan(askable(task.items), ask, REQUESTS if checked and number == 0 else 0)
        if as_json:
            typer.echo(planned.to_json(dollars))
            continue
        typer.echo(printable(f"{task.name}, asked in {ask.words()}:"))
        for line in planned.lines(dollars):
            typer.echo(f"  {line}")
    if not as_json:
        typer.echo("nothing was asked (--dry-run); answers that are kept from earlier runs will cost nothing")


def askable(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if item.image is not None and item.negatives]


def _of_items(tasks: Sequence[Task]) -> list[Task]:
    if others := [task.name for task in tasks if not task.items]:
        raise UserError(f"{others[0]} has no questions; a model that answers is asked about items")
    return list(tasks)


def announce(tasks: Sequence[Task], ask: Ask, price: str | None) -> None:
    """How many requests there will be, before the first."""
    from equipoise.evaluation.asking.plan import parse_price, plan

    dollars = parse_price(price)
    for task in _of_items(tasks):
        planned = plan(askable(task.items), ask)
        cost = "" if dollars is None else f", about ${planned.cost(dollars):,.2f}"
        if is_watched():
            about = f"{planned.total:,} questions about {planned.pictures:,} pictures{cost}"
            typer.echo(printable(f"{task.name}: {about} (--ask {ask.words()})"), err=True)


def batches(model: Any, tasks: Sequence[Task], ask: Ask, cache: Path, how: Batches) -> bool:
    """Write or read batch files; whether the run goes on."""
    from equipoise.core.answer_store import AnswerStore
    from equipoise.data.identity import of_model
    from equipoise.data.images import open_source
    from equipoise.evaluation.asking.batch import read_batches, write_batches
    from equipoise.evaluation.asking.live import ANSWER_CODE, PhotoReader, requests
    from equipoise.evaluation.scoring import default_batch

    known = of_model(model, default_batch(model), ANSWER_CODE)
    if known is None or not hasattr(model, "request_body"):
        raise UserError("--batch-out and --batch-in are for served:MODEL@URL")
    (task,) = _of_items(tasks) if len(tasks) == 1 else (None,)
    if task is None:
        raise UserError("--batch-out and --batch-in take one --bench at a time")
    photos, store = PhotoReader(open_source(task.images or ".")), AnswerStore(str(cache))
    wanted = requests(askable(task.items), photos, ask, known, None)
    if how.out is not None:
        count, paths = write_batches(how.out, wanted, store, model)
        typer.echo(
            f"{count:,} requests in {len(paths)} files in {how.out}. Send each as a batch, then: --batch-in RESULTS"
        )
        return False
    kept, missing, failed = read_batches(how.into, wanted, store)
    for line in failed[:5]:
        typer.echo(printable(f"failed: {line}"), err=True)
    if missing:
        raise UserError(
            f"{kept:,} answers read and kept, {len(failed):,} failed; {missing:,} questions have no answer yet. Write "
            "them with --batch-out NEW-FOLDER, or leave out --batch-in to ask them now"
        )
    typer.echo(f"{kept:,} answers read", err=True)
    return True


class Batches:
    """The folder that --batch-out names, and the files or folders of --batch-in."""

    def __init__(self, out: Path | None, into: Sequence[Path]) -> None:
        self.out = out
        self.into = [file for path in into for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]

    def __bool__(self) -> bool:
        return self.out is not None or bool(self.into)
