"""The whole story on the built-in world: evaluate the base, finetune it four ways, judge, compare, show.

Every step is the ordinary library: the same trainer, the same evaluation, the same files as for a real model. Each is
on disk before the next begins, so that a second call goes on where the first stopped.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.benchmarks import registry
from equipoise.core import run_folder
from equipoise.core.progress import is_quiet
from equipoise.demo.sentences import findings, numbers_of, story
from equipoise.evaluation.comparing.differences import Run, joined, load_run
from equipoise.evaluation.run import evaluate
from equipoise.report.chapters import Chapter, Entry
from equipoise.report.page import Page, Table, write_page
from equipoise.report.tables import Line, in_a_line
from equipoise.world.splits import FINETUNING, DrawnImages, finetuning_items, world_items

if TYPE_CHECKING:
    from equipoise.benchmarks.base import Benchmark
    from equipoise.data.items import Item
    from equipoise.models import Model

log = logging.getLogger(__name__)

REPLACE = ("world-replace-attributes", "world-replace-relations")
TESTS = (*REPLACE, "world-swap", "world-unseen")
MODELS = {  # label: recipe, and what to say about it
    "base": (None, "pretrained on noisy captions, not finetuned"),
    "control": ("control", "finetuned on clean captions alone"),
    "HN": ("hn_only", "finetuned on captions and hard negatives"),
    "HP+HN": ("hard_positives_kamath_2024", "finetuned on captions, hard negatives and hard positives"),
    "Equipoise": ("equipoise_2026", "finetuned on the same by a recipe of our own"),
}
CHAPTERS = {  # column: what the page calls it, what is changed in the captions, and how it is averaged
    "replace": ("REPLACE", "one word is replaced", "mean of attributes and relations"),
    "swap": ("SWAP", "two attributes change places", "mean over items"),
    "world-unseen": ("UNSEEN", "numbers and absence, which no finetuning data changed", "mean over items"),
}
TAGS = ("type", "synonym", "negative")  # of the world's items; see world/benchmarks.py


@dataclass(frozen=True)
class Size:
    """How much of the story is told. The short one is for a first look: its intervals are wide."""

    models: tuple[str, ...] = tuple(MODELS)
    items: int | None = None  # of each test set; None: all
    settings: Mapping[str, float] = field(default_factory=dict)  # of the training recipes
    finetuning: int = FINETUNING
    lasts: str = "8 minutes"  # about, one seed, on two idle cores


WHOLE = Size()
# Fewer steps at a higher rate, chosen on validation scenes.
_STORY = {"max_steps": 110, "warmup_steps": 11, "batch_size": 64, "lr": 1e-3}
_QUICK = {"max_steps": 80, "warmup_steps": 8, "batch_size": 32, "lr": 1e-3}
STORY = Size(tuple(MODELS), 500, _STORY, 110 * 64, "4 minutes")
QUICK = Size(("base", "HN", "HP+HN"), 300, _QUICK, 80 * 32, "90 seconds")
SHORTER = {
    QUICK.items: "A first look (`equipoise demo --quick`): few items, little finetuning, wide intervals. The story is "
    "`equipoise demo`.",
    STORY.items: "Fewer items, less finetuning. All of it: `equipoise demo --full` (docs/results.md: three seeds).",
}


def run_demo(out: Path, seeds: Sequence[int] = (0,), size: Size = WHOLE) -> Page:
    """Do everything that is not done yet below `out`, write the page to OUT/report.html, and return what it shows."""
    identity = {} if size == WHOLE else {"items": size.items, **size.settings}  # more seeds are welcome
    with run_folder.locked(out):
        run_folder.take(out, "demo", identity, writes=("report.html", "world", "training", "runs"))
        each = " for each seed" if len(seeds) > 1 else ""
        _say(
            f"A small CLIP is judged on {len(TESTS)} test sets of drawn pictures, finetuned {len(size.models) - 1} "
            f"ways and judged again; then {out / 'report.html'} is written. About {size.lasts}{each} on two idle "
            "cores; what is there already is not done again."
        )
        return _run_demo(out, seeds, size)


def _say(line: str) -> None:
    """For somebody who waits: what comes, what the bars below are of, and numbers as soon as they are there."""
    if not is_quiet():
        print(line, file=sys.stderr)


def _tests(world: Path, size: Size) -> tuple[list[tuple[Sequence[Item], Benchmark]], Path | DrawnImages]:
    """The test sets and their pictures; for a first look nobody needs eight thousand files."""
    if size.items is None:
        return [registry.load(name, world) for name in TESTS], world
    found = [registry.get(name) for name in TESTS]
    return [(list(world_items("test", size.items, tests=tuple(one.splits))), one) for one in found], DrawnImages()


def _run_demo(out: Path, seeds: Sequence[int], size: Size) -> Page:
    from equipoise.models import load_model
    from equipoise.models.clip import ClipModel
    from equipoise.train.recipes import get_recipe
    from equipoise.train.run.loop import train
    from equipoise.train.run.options import Hardware

    items = finetuning_items(size.finetuning)
    tests, images = _tests(out / "world", size)
    models = {label: MODELS[label] for label in size.models}
    base = load_model("world", device="cpu")
    assert isinstance(base, ClipModel)
    results = []
    for label, (recipe, _) in models.items():
        for seed in seeds if recipe else (0,):
            model: Model = base
            name = f"{label}, seed {seed}" if len(seeds) > 1 and recipe else label
            if recipe:
                if not (out / "training" / _name(label, seed) / "model").is_dir():
                    _say(f"{name}: finetuning by the recipe {recipe}")
                folder = train(
                    get_recipe(recipe, quick=True, seed=seed, **size.settings),
                    items,
                    base,
                    out / "training" / _name(label, seed),
                    images=DrawnImages(),  # drawn when first read: nobody needs 12,000 files
                    hardware=Hardware(device="cpu"),
                )
                model = load_model(f"hf:{folder}", device="cpu")
            for cases, benchmark in tests:
                place = out / "runs" / _name(label, seed) / benchmark.name
                if not (place / "result.json").exists():
                    _say(f"{name}: judging on {benchmark.name}, {len(cases):,} items")
                results.append(evaluate(model, cases, images=images, benchmark=benchmark, out=place, limit=size.items))
            here = _runs(out / "runs", label, (seed,))
            for column in ("replace", "swap"):  # the first after seconds, long before the page
                _say(in_a_line(f"{label} {column.upper()}", numbers_of(here, column)))
    if read := sum(result.read_from is not None for result in results):
        log.warning("%d of %d evaluations read from %s, not computed", read, len(results), out / "runs")
    runs = {label: _runs(out / "runs", label, seeds if recipe else (0,)) for label, (recipe, _) in models.items()}
    page = build_page(runs)
    write_page(out / "report.html", page)
    return page


def _name(label: str, seed: int) -> str:
    return f"{label.lower()}-{seed}"


def _runs(folder: Path, label: str, seeds: Sequence[int]) -> list[dict[str, Run]]:
    """For each seed: the runs of a model by column, and by benchmark."""
    found = []
    for seed in seeds:
        by_name = {test: load_run(folder / _name(label, seed) / test) for test in TESTS}
        found.append({"replace": joined([by_name[name] for name in REPLACE]), "swap": by_name["world-swap"], **by_name})
    return found


def build_page(runs: Mapping[str, Sequence[dict[str, Run]]]) -> Page:
    from equipoise.world.benchmarks import LargePictures

    record = runs["base"][0]["swap"].records[0]
    environment = record.environment
    seeds = len(runs["HN"])
    ways = "four ways: on clean captions alone (control), " if "control" in runs else "two ways: "
    ours = ", and with both by a recipe of our own (Equipoise)" if "Equipoise" in runs else ""
    return Page(
        title="A model learns to spot wrong captions. Does it still know the right ones?",
        lead=[
            "CLIP is a model that scores how well a sentence fits a picture. Shown a caption and a wrong one that "
            "differs in a word (a hard negative), it should score the right one higher. Finetuning (training a "
            "finished model a little more) on such pairs helps with that, and may do harm: a model can pass by "
            "learning that any change of words is wrong. So we also reword the caption without changing its meaning (a "
            "hard positive), and ask whether it is still above the wrong one.",
            "A small CLIP was pretrained on drawn pictures with noisy captions, as the web has them (base), and then "
            f"finetuned {ways}with hard negatives (HN), with hard negatives and hard positives (HP+HN){ours}. "
            "Three test sets change the captions in different ways.",
        ],
        chapters=[_chapter(runs, column) for column in CHAPTERS],
        story=story(runs),
        findings=findings(runs),
        tables=[
            Table(
                "Synonyms that finetuning showed, and synonyms it never showed",
                "REPLACE, apart by whether the hard positive's word was a positive in finetuning (seen) or not.",
                [
                    (
                        f"{value} synonyms",
                        [(label, numbers_of(runs[label], "replace", "synonym", value)) for label in runs],
                    )
                    for value in ("seen", "unseen")
                ],
            ),
            Table(
                "Each test set",
                "world-unseen changes what no finetuning data changed: numbers and absence.",
                [(name, [(label, numbers_of(runs[label], name)) for label in runs]) for name in TESTS],
            ),
        ],
        notes=[
            *([SHORTER[limit]] if (limit := record.benchmark.limit) in SHORTER else []),
            f"{seeds} finetuning run(s) of each kind; intervals speak of other pictures, not of other seeds. "
            "`equipoise demo --seeds 3` repeats the finetuning.",
            "Orderings, scores and items are the first seed's; tables and the other figures are means over seeds.",
            "The world is drawn and its truth is known, so no label is wrong; a real benchmark has wrong ones "
            "(equipoise bench check). Its difficulty was tuned on validation scenes, never on these tests.",
            "The world is not the paper's data: a small model, drawn pictures, a short finetuning. What it shows "
            "of the paper, and what not, is under “Every difference”; only runs on real photos can repeat the paper.",
            "Pictures are drawn larger here than the model saw them, without lamp and grain.",
        ],
        provenance={
            "made by": "equipoise demo",
            "version": environment.equipoise,
            "code": environment.code.revision if environment.code else "installed package",
            "packages": ", ".join(f"{name} {version}" for name, version in environment.packages.items()),
            "base weights": str(record.model.weight_sha256),
            "model": "world (shipped with the package); evaluate your own: equipoise eval hf:YOUR-MODEL --bench ... "
            "--out RUN, then equipoise report RUN --out report.html",
        },
        images=LargePictures(),
        size=1_500_000,  # a few hundred pictures: each must be drawn
    )


def _chapter(runs: Mapping[str, Sequence[dict[str, Run]]], column: str) -> Chapter:
    """One test set for the report, with every model; what it shows of single items is the first seed's."""
    title, about, words = CHAPTERS[column]
    first = runs["base"][0][column]
    values = {tag: sorted({row.tags[tag] for row in first.rows if tag in row.tags}) for tag in TAGS}
    # Every model in turn on the same items: they are resampled alike, and the draws are made once.
    by = {
        tag: {value: {label: numbers_of(runs[label], column, tag, value) for label in runs} for value in found}
        for tag, found in values.items()
        if len(found) > 1
    }
    entries = [
        Entry(
            label=label,
            about=MODELS[label][1],
            numbers=numbers_of(by_seed, column),
            run=by_seed[0][column],
            by={tag: {value: of[label] for value, of in found.items()} for tag, found in by.items()},
        )
        for label, by_seed in runs.items()
    ]
    return Chapter(title=title, average=words, chance=first.records[0].benchmark.chance, entries=entries, about=about)


def table_rows(page: Page) -> list[Line]:
    """The page's Table-1-shaped rows for a terminal: every model on REPLACE and on SWAP."""
    return [
        Line(f"{entry.label} {chapter.title}", entry.numbers)
        for chapter in page.chapters[:2]
        for entry in chapter.entries
    ]
