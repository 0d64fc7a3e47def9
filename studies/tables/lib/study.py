"""Training and scoring each model once, and reading back the numbers for every table.

OUT/models/NAME-SEED-HASH holds a trained model, runs/TEST-HASH below it what it scored. The hashes are of content: the
recipe, the base's weights, the items and photos that it was trained on; the items and photos that it is judged on. So
nothing is made twice, and another base, file or photo gives another folder. (The code of the trainer is not hashed.)
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from os import cpu_count
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.core.errors import UserError
from equipoise.core.files import sha256_json, write_json
from equipoise.core.stats import RESAMPLES, percentile_interval
from equipoise.data.images import ImageProblem, ImageSource
from equipoise.data.items import Item
from equipoise.evaluation.averages import leaves
from equipoise.evaluation.comparing.differences import average, difference, grouped, leaves_of
from equipoise.evaluation.record import Difference, Interval, Number, Numbers
from equipoise.evaluation.results import LoadedRun, joined, load_run, read_result
from equipoise.evaluation.run import evaluate, evaluate_set
from equipoise.models import load_model
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Hardware, Saving, train
from studies.harness import jobs as harness_jobs
from studies.harness.jobs import Work
from studies.tables.lib.form import Column, Form
from studies.tables.lib.jobs import Job


@dataclass(frozen=True)
class Task:
    """One model with one seed, and the sets to score it on."""

    job: Job
    seed: int
    tests: tuple[str, ...]
    standards: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """The needs of a table: each of its models is scored on all of these columns and sets."""

    jobs: tuple[Job, ...]
    columns: tuple[str, ...] = ()
    standards: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    """Models of a form below a folder; computed numbers are kept."""

    form: Form
    out: Path
    device: str = "cpu"
    seeds: tuple[int, ...] = (0,)
    known: dict[tuple[Job, str], Numbers] = field(default_factory=dict, compare=False)  # several tables ask the same
    hashes: dict[tuple[str, str], str] = field(default_factory=dict, compare=False)  # kind and name -> of the content

    # ------------------------------------------------------------------ making

    def prepare(self, wanted: Iterable[Wanted], processes: int = 1) -> list[str]:
        """Train and score everything that is not there yet, several models at a time; returns what failed.

        One model that fails must not cost the others: its row will be empty.
        """
        wanted = list(wanted)
        tasks = self.tasks(wanted)
        tests = {test for task in tasks for test in task.tests}
        jobs = list(dict.fromkeys(job for want in wanted for job in want.jobs))
        self._require_peft(jobs)
        self.form.prepare(jobs, tests, sorted({name for want in wanted for name in want.standards}), processes)
        listed = [Work(f"{task.job.name}-{task.seed}", partial(self.make, task), self.results(task)) for task in tasks]
        failed = harness_jobs.run(listed, processes)
        if processes > 1:
            self._count(wanted, processes)
        return failed

    def _require_peft(self, jobs: Iterable[Job]) -> None:
        """Fail at once where peft is missing, not after an hour."""
        trained = [job for job in jobs if self.form.can(job) and self.form.trains(job)]
        adapted = [job.name for job in trained if self.form.recipe(job, 0).lora]
        if adapted and find_spec("peft") is None:
            raise UserError(f"{', '.join(adapted)}: trained with LoRA, which needs peft: pip install 'equipoise[lora]'")

    def _count(self, wanted: Iterable[Wanted], processes: int) -> None:
        """The intervals of every model and column, which the tables then find in `known`."""
        unsorted = {(job, column) for want in wanted for job in want.jobs for column in want.columns}
        pairs = sorted(unsorted, key=lambda pair: (pair[0].name, pair[1]))
        counted = harness_jobs.each(self._numbers, pairs, processes)
        self.known.update({pair: value for pair, value in zip(pairs, list(counted), strict=True) if value is not None})

    def _numbers(self, pair: tuple[Job, str]) -> Numbers | None:
        return self.numbers(*pair)

    def tasks(self, wanted: Iterable[Wanted]) -> list[Task]:
        """Each model and seed once, with all sets that any table needs. A model that is not trained has one seed."""
        by_seed: dict[tuple[Job, int], Task] = {}
        for want in wanted:
            tests = tuple(test for name in want.columns for test in self.column(name).tests)
            standards = tuple(part for name in want.standards for part in self.form.standards.get(name, ()))
            for job in filter(self.form.can, want.jobs):
                for seed in self.seeds_of(job):
                    task = by_seed.setdefault((job, seed), Task(job, seed, ()))
                    by_seed[job, seed] = replace(
                        task,
                        tests=tuple(dict.fromkeys((*task.tests, *tests))),
                        standards=tuple(dict.fromkeys((*task.standards, *standards))),
                    )
        return list(by_seed.values())

    def seeds_of(self, job: Job) -> tuple[int, ...]:
        return self.seeds if job.recipe and self.form.trains(job) else (0,)

    def column(self, name: str) -> Column:
        return self.form.columns.get(name, Column(()))

    # ------------------------------------------------------------------ where things are kept

    def folder(self, job: Job, seed: int) -> Path:
        made_of: list[Any] = [self._weights(job)]
        if self.form.trains(job):
            recipe = self.form.recipe(job, seed).describe()
            made_of += [str(recipe), self._hash("finetuning", job.variant or job.items)]
        return self.out / "models" / f"{job.name}-{seed}-{sha256_json(made_of)[:12]}"

    def run_folder(self, job: Job, seed: int, kind: str, name: str) -> Path:
        """The folder of a run on a test set or on a standard set."""
        content = self._hash("standard" if kind == "standard" else "test", name)
        return self.folder(job, seed) / "runs" / f"{name}-{content[:12]}"

    def _weights(self, job: Job) -> str:
        key = ("weights", f"{job.variant}/{job.checkpoint}")
        if key not in self.hashes:
            self.hashes[key] = self.form.weights(job)
        return self.hashes[key]

    def _hash(self, kind: str, name: str) -> str:
        """The hash of the content, computed once and sent to the workers with the study."""
        if (kind, name) not in self.hashes:
            self.hashes[kind, name] = self._content(kind, name)
        return self.hashes[kind, name]

    def _content(self, kind: str, name: str) -> str:
        if kind == "finetuning":
            items, images = self.form.finetuning(name)
            return content_of([item.to_json() for item in items], _paths(items), images)
        if kind == "test":
            test = self.form.test(name)
            return content_of([item.to_json() for item in test.items], _paths(test.items), test.images)
        data = self.form.standard(name)
        return content_of(data.content(), [ref.path for ref in data.refs()], data.source)

    def folders(self, task: Task) -> dict[tuple[str, str], Path]:
        by_kind = {"test": task.tests, "standard": task.standards}
        pairs = [(kind, name) for kind, names in by_kind.items() for name in names]
        return {pair: self.run_folder(task.job, task.seed, *pair) for pair in pairs}

    def results(self, task: Task) -> tuple[Path, ...]:
        return tuple(folder / "result.json" for folder in self.folders(task).values())

    def make(self, task: Task) -> None:
        model: Any = self._model(task.job, task.seed, self.folder(task.job, task.seed))
        for (kind, name), out in self.folders(task).items():
            if (out / "result.json").exists():
                continue
            if kind == "standard":
                evaluate_set(model, self.form.standard(name), out=out, workers=1)
                continue
            test = self.form.test(name)
            evaluate(
                model, test.items, images=test.images, benchmark=test.benchmark, name=test.name, out=out, workers=1
            )

    def _model(self, job: Job, seed: int, folder: Path) -> Any:
        if not self.form.trains(job):
            return self.form.base(job, self.device)
        saved = folder / "training" / "model"
        if not saved.is_dir():
            items, images = self.form.finetuning(job.variant or job.items)
            started = time.monotonic()
            train(
                self.form.recipe(job, seed),
                items,
                self.form.base(job, "cpu"),
                folder / "training",
                images=images,
                # So small a model is trained before it is compiled; the real form compiles.
                hardware=Hardware(self.device, workers=0, compiled=False) if self.form.name == "quick" else
                Hardware(self.device),
                saving=Saving(every=10**6, keep=1) if self.form.name == "quick" else Saving(),
                show=False,
            )  # fmt: skip
            write_json(folder / "seconds.json", round(time.monotonic() - started, 1))
        return load_model(f"hf:{saved}", device=self.device)

    # ------------------------------------------------------------------ reading

    def runs(self, job: Job, column: str) -> list[LoadedRun] | None:
        """The runs of a model, one a seed, on what stands for a column; None where nothing does."""
        where = self.column(column)
        if not where.tests or not self.form.can(job):
            return None
        runs = []
        for seed in self.seeds_of(job):
            folders = [self.run_folder(job, seed, "test", test) for test in where.tests]
            if not all((folder / "result.json").exists() for folder in folders):
                return None
            parts = [load_run(folder) for folder in folders]
            run = parts[0] if len(parts) == 1 else joined(parts)
            run = run.where(where.tag, where.value) if where.tag else run
            if not run.rows or leaves(run.outcomes.tags, *self._rule(run, column)) is None:
                return None  # no item, or no group that is large enough: a dash
            runs.append(run)
        return runs

    def numbers(self, job: Job, column: str) -> Numbers | None:
        if (job, column) not in self.known:
            runs = self.runs(job, column)
            if runs is None:
                return None
            self.known[job, column] = average(runs, *self._rule(runs[0], column))
        return self.known[job, column]

    def difference(self, before: Job, after: Job, column: str) -> Difference | None:
        """Paired over items and seeds; a model that is not trained is paired with every seed of the other."""
        first, second = self.runs(before, column), self.runs(after, column)
        if first is None or second is None:
            return None
        path, least = self._rule(first[0], column)
        return difference(first * len(second) if len(first) == 1 else first, second, path=path, least=least)

    def _rule(self, run: LoadedRun, column: str) -> tuple[Sequence[str], int]:
        """How the items of a column are averaged; see `Column`."""
        where = self.column(column)
        if where.over or len(where.tests) > 1:
            return where.over or ("benchmark",), 1
        about = run.records[0].benchmark
        if where.rule and about.averages and where.rule in about.averages:
            return tuple(about.averages[where.rule].over), about.averages[where.rule].least
        return tuple(about.macro or ()), about.least or 1

    def mean_scores(self, job: Job, column: str) -> dict[str, Number]:
        """s(c), s(n) and s(p) of the items of a column, averaged as its shares are; several negatives count once."""
        runs = self.runs(job, column)
        if runs is None:
            return {}
        outcomes = runs[0].outcomes
        groups = leaves_of(runs[0], *self._rule(runs[0], column))
        values = [np.stack([run.outcomes.caption, run.outcomes.negative, run.outcomes.positive], 1) for run in runs]
        means = grouped(np.mean(values, axis=0), outcomes, groups, 0, RESAMPLES)
        measured, spread = means.values, means.spread
        return {
            name: Number(
                value=float(measured[place]),
                interval=Interval(*percentile_interval(spread[:, place])),
                n=int((~np.isnan(values[0][:, place])).sum()),
            )
            for place, name in enumerate(("c", "n", "p"))
            if not np.isnan(measured[place])
        }

    def standard(self, job: Job, name: str, metric: str) -> Number | None:
        """A number of what stands for a standard set, of the first seed; of several sets the mean, without interval."""
        sets = self.form.standards.get(name, ()) if self.form.can(job) else ()
        folders = [self.run_folder(job, self.seeds_of(job)[0], "standard", part) for part in sets]
        numbers = [
            read_result(path).metrics.overall.metrics.get(metric) for path in folders if (path / "result.json").exists()
        ]
        known = [one for one in numbers if one is not None]
        if len(known) < 2:
            return known[0] if known else None
        return Number(value=float(np.mean([one.value for one in known])), interval=None, n=sum(one.n for one in known))

    def seconds(self, job: Job) -> list[float]:
        """How long each seed was trained; none of a model that was not trained here."""
        files = [self.folder(job, seed) / "seconds.json" for seed in self.seeds_of(job)]
        return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]

    def log(self, job: Job) -> list[dict[str, Any]]:
        """The training log of the first seed, with a row for each step."""
        folder = self.folder(job, self.seeds_of(job)[0]) / "training"
        return [row for row in read_log(folder) if "parts" in row] if folder.is_dir() else []


def _paths(items: Iterable[Item]) -> Iterator[str]:
    return (image.path for item in items for image in item.images())


def content_of(about: Any, paths: Iterable[str], images: ImageSource) -> str:
    """A hash of what is asked and of the bytes of every photo; one that cannot be read is evaluated as missing."""

    def digest(path: str) -> str:
        try:
            return hashlib.sha256(images.read(path)).hexdigest()
        except ImageProblem:
            return "missing"

    listed = sorted(set(paths))
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        return sha256_json([about, listed, list(pool.map(digest, listed))])
