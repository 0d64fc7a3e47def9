"""The demo: measure a base model, finetune it four ways, measure again, and show what changed.

It uses the same trainer, evaluation and files as any model. Each step is saved, so a second call resumes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any

from equipoise.core import run_folder
from equipoise.core.processes import processes
from equipoise.core.progress import be_quiet, is_quiet, progress
from equipoise.demo.numbers import Finetuned, Models, changes, findings, headline, numbers_of, steps, value_of
from equipoise.demo.opening import chart, picture
from equipoise.demo.stories import BASE, ROWS, USUAL, Story, StoryRow
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.results import joined, load_run
from equipoise.evaluation.run import Result, evaluate, evaluate_set
from equipoise.report.chapters import Chapter, Entry
from equipoise.report.page import Page, Table, write_page

log = logging.getLogger(__name__)
SAVED = 20  # steps between checkpoints
TAGS = ("type", "synonym", "negative")  # breakdowns on the page
TuningJob = tuple[StoryRow, int]  # a model and its seed


def run_demo(out: Path, story: Story, seeds: Sequence[int] = (0,), lasts: str = "") -> tuple[Models, Page]:
    """Do all missing steps in `out` and write the page to OUT/report.html."""
    with run_folder.locked(out):
        run_folder.take(out, "demo", dict(story.identity), writes=("report.html", "training", "runs", "cache"))
        _say(
            f"The demo measures a model on {story.title}, finetunes it {len(ROWS) - 1} ways, measures again and writes "
            f"{out / 'report.html'}.{lasts} Finished steps are not repeated."
        )
        models = measure(out, story, ROWS, seeds)
        page = build_page(story, models)
        write_page(out / "report.html", page)
    return models, page


def measure(out: Path, story: Story, rows: Sequence[StoryRow], seeds: Sequence[int]) -> Models:
    """The runs of every row, several models at a time."""
    jobs = [(row, seed) for row in rows for seed in (seeds if row.recipe else (0,))]
    finetuned: dict[TuningJob, Finetuned] = {}
    for (row, seed), tuned in _each(out, story, jobs):
        cells = (f"{column.title} {100 * value_of([tuned], column)[0]:.1f}" for column in story.columns)
        _say(f"{row.label}: {', '.join(cells)}")
        finetuned[row, seed] = tuned
    return {row.label: [finetuned[job] for job in jobs if job[0] == row] for row in rows}


def _each(out: Path, story: Story, jobs: Sequence[TuningJob]) -> Iterator[tuple[TuningJob, Finetuned]]:
    """The base comes first and caches the photos; the other models only read texts."""
    from equipoise.train.run.log import read_log

    first = [job for job in jobs if job[0].recipe is None]
    rest = [job for job in reversed(jobs) if job not in first]
    if story.processes == 1:
        yield from ((job, measured(out, story, *job)) for job in (*first, *rest))
        return
    with processes(story.processes) as submit:
        begun = {submit(_alone, out, story, *job): job for job in first}
        _see_training_photos(out, story)
        # The last rows have the most texts. They start first, so that the processes end at about the same time.
        begun |= {submit(_alone, out, story, *job): job for job in rest}
        waiting, shown = set(begun), 0
        with progress(story.steps() * len(rest), "finetuning", "steps") as advance:
            while waiting:
                done, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
                now = sum(step["step"] for job in rest for step in read_log(out / "training" / _folder(*job))[-1:])
                advance(now - shown)
                shown = now
                yield from ((job, future.result()) for future, job in begun.items() if future in done)


def _see_training_photos(out: Path, story: Story) -> None:
    """Cache the frozen tower's outputs, so that each finetuning process does not compute them again."""
    from equipoise.train.data.batches import pool

    if story.recipe("control").freeze is not None:
        photos = dict.fromkeys(item.image for item in story.training["usual"] if item.image is not None)
        with _cache(out) as cache:
            pool([(story.images, photo) for photo in photos], story.base, cache, show=True)


def _cache(out: Path) -> contextlib.closing[EmbeddingCache]:
    """A cache of images and texts: models share the image tower, and tests share captions."""
    return contextlib.closing(EmbeddingCache(out / "cache"))


def _folder(row: StoryRow, seed: int) -> str:
    return f"{row.label.replace(' + ', '-').replace(' ', '-').lower()}-{seed}"


def _alone(out: Path, story: Story, row: StoryRow, seed: int) -> Finetuned:
    """In its own process: with its share of the cores and without progress bars."""
    import torch

    torch.set_num_threads(max(1, (os.cpu_count() or 1) // story.processes))
    be_quiet(True)
    return measured(out, story, row, seed)


def _say(line: str) -> None:
    if not is_quiet():
        print(line, file=sys.stderr)


def measured(out: Path, story: Story, row: StoryRow, seed: int) -> Finetuned:
    from equipoise.models import load_model

    name = _folder(row, seed)
    model = story.base
    places: dict[str, Path] = {}
    results: list[Result] = []
    with _cache(out) as cache:
        if row.recipe:
            folder = _finetuned(out / "training" / name, story, row, seed, cache)
            model = load_model(f"hf:{folder}", device=story.device)
        for items, known in story.tests:
            benchmark, test = (None, known) if isinstance(known, str) else (known, known.name)
            places[test] = place = out / "runs" / name / test
            if not (place / "result.json").exists():
                _say(f"{row.label}: {test}, {len(items):,} items")
            results.append(
                evaluate(
                    model, items, images=story.images, benchmark=benchmark, name=test, out=place, cache=cache,
                    limit=len(items) if benchmark else None,
                )
            )  # fmt: skip
        searched = evaluate_set(model, story.retrieval, out=out / "runs" / name / "retrieval", cache=cache)
    if read := sum(result.read_from is not None for result in (*results, searched)):
        log.warning("%s: %d of %d evaluations read from %s", row.label, read, len(results) + 1, out / "runs" / name)
    runs = {test: [load_run(places[part]) for part in parts] for test, parts in story.joins.items()}
    return Finetuned(
        {test: joined(parts) if len(parts) > 1 else parts[0] for test, parts in runs.items()}, searched.rows
    )


def _finetuned(out: Path, story: Story, row: StoryRow, seed: int, cache: EmbeddingCache) -> Path:
    from equipoise.train.run.loop import Hardware, Saving, train

    assert row.recipe is not None
    if not (out / "model").is_dir():
        _say(f"{row.label}: finetuning with the recipe {row.recipe}")
    return train(
        story.recipe(row.recipe, seed), story.training[row.data], story.base, out, images=story.images,
        hardware=Hardware(device=story.device), saving=Saving(every=SAVED, keep=1, cache=cache), show=not is_quiet(),
    )  # fmt: skip


def build_page(story: Story, models: Models) -> Page:
    from_control, from_base = changes(models, story.columns), changes(models, story.columns, BASE.label)
    test = story.columns[1].test
    texts = {
        item.id: (item.caption, item.positives[0].text, item.negatives[0].text)
        for items, _ in story.tests
        for item in items
        if item.positives and item.negatives
    }
    shown = picture(models, test, story.shown or story.images, texts)
    record = next(iter(models[BASE.label][0].tests.values())).records[0]
    environment = record.environment
    seeds = len(models[USUAL.label])
    words = sorted({row.tags["synonym"] for row in models[BASE.label][0].tests[test].rows if "synonym" in row.tags})
    return Page(
        title="A model learns to spot wrong captions. Does it still know the right ones?",
        lead=[
            headline(from_control, story.columns),
            "CLIP scores how well a sentence fits a picture. A hard negative is a caption with a small change that "
            "makes it wrong; a hard positive is a rewording that stays right. Most reports ask only whether the "
            "caption beats the hard negative. We also ask about the rewording. Here a model is finetuned on "
            f"{story.title} in four ways, {'one run' if seeds == 1 else f'{seeds} runs'} each.",
        ],
        opening=[part for part in (shown, chart(from_control, story.columns)) if part is not None],
        chapters=[_chapter(story, models, name) for name in story.chapters],
        story=steps(models, from_control, from_base, story.columns),
        findings=findings(from_control, from_base),
        tables=[
            Table(
                "Words that finetuning showed, and words it never showed",
                "By whether the new word of the reworded caption is in a training text (seen) or in none (unseen).",
                [(f"{kind} words", [(label, numbers_of(of, test, "synonym", kind)) for label, of in models.items()])
                 for kind in words if kind in ("seen", "unseen")],
            )
        ],
        notes=[
            f"{seeds} finetuning run(s) of each kind. Intervals are over pictures"
            f"{' and seeds' if seeds > 1 else ', not over seeds (`equipoise demo --seeds 3` has more)'}. A change is "
            "significant if its interval excludes zero and its p-value, corrected for all "
            f"{len(story.columns) * (len(ROWS) - 2)} changes against captions alone, is below 0.05.",
            "Only the text tower is finetuned, with the same number of steps for every model.",
            "Orderings and single items are those of the first seed; all other numbers are means over seeds.",
            *story.notes,
        ],
        provenance={
            "made by": "equipoise demo",
            "version": environment.equipoise,
            "code": environment.code.revision if environment.code else "installed package",
            "packages": ", ".join(f"{name} {version}" for name, version in environment.packages.items()),
            "base weights": str(record.model.weight_sha256),
            "your own model": "equipoise demo --captions FILE --images FOLDER --model hf:YOUR-MODEL",
        },
        images=story.shown or story.images,
        size=1_500_000,
    )  # fmt: skip


def _chapter(story: Story, models: Models, test: str) -> Chapter:
    """One test with every model; single items are those of the first seed."""
    title, about = story.chapters[test]
    first = models[BASE.label][0].tests[test]
    values = {tag: sorted({row.tags[tag] for row in first.rows if tag in row.tags}) for tag in TAGS}
    # All models in turn on the same items, so that the cached resamples are used.
    by: dict[str, dict[str, dict[str, Any]]] = {
        tag: {value: {label: numbers_of(of, test, tag, value) for label, of in models.items()} for value in listed}
        for tag, listed in values.items()
        if len(listed) > 1
    }
    entries = [
        Entry(
            label=row.label,
            about=row.about,
            numbers=numbers_of(models[row.label], test),
            run=models[row.label][0].tests[test],
            by={tag: {value: of[row.label] for value, of in of_values.items()} for tag, of_values in by.items()},
        )
        for row in ROWS
    ]
    several = "mean of the test sets" if len(first.records) > 1 else "mean over items"
    return Chapter(title=title, average=several, chance=first.records[0].benchmark.chance, entries=entries, about=about)


def table(story: Story, models: Models) -> list[dict[str, Any]]:
    """A row for each model: its columns in percent, with intervals."""
    rows = []
    for label, seeds in models.items():
        cells: dict[str, Any] = {"model": label}
        for column in story.columns:
            value, (low, high) = value_of(seeds, column)
            cells[column.title] = {"percent": 100 * value, "interval": [100 * low, 100 * high]}
        rows.append(cells)
    return rows


def in_lines(story: Story, models: Models) -> str:
    """The table for a terminal, 80 columns wide."""
    heads = [column.title.split(", " if ", " in column.title else " ") for column in story.columns]
    lines = [" " * 19 + "".join(f"{''.join(head[place : place + 1]):>13}" for head in heads) for place in (0, 1)]
    for cells in table(story, models):
        values = [f"{cells[column.title]['percent']:>13.1f}" for column in story.columns]
        lines.append(f"{cells['model']:19}" + "".join(values))
    return "\n".join(lines)
