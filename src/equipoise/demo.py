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

from equipoise import registry, run_folder
from equipoise.evaluation.comparison import Run, average, difference, joined, load_run
from equipoise.evaluation.record import METRICS, SHARES, Change, Difference, Metric, Numbers
from equipoise.evaluation.run import evaluate
from equipoise.progress import is_quiet
from equipoise.report.chapters import Chapter, Entry
from equipoise.report.page import Page, Table, write_page
from equipoise.report.tables import Line, in_a_line
from equipoise.world.splits import FINETUNING, DrawnImages, finetuning_items, world_items

if TYPE_CHECKING:
    from equipoise.benchmarks.base import Benchmark
    from equipoise.items import Item
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
PAPER: dict[str, dict[Metric, dict[str, float]]] = {  # Kamath et al. 2024, Table 1: CLIP ViT-B/32, in percent
    "replace": {
        "original": {"base": 61.6, "HN": 73.9, "HP+HN": 69.0},
        "augmented": {"base": 46.8, "HN": 55.7, "HP+HN": 58.0},
        "brittleness": {"base": 23.2, "HN": 21.0, "HP+HN": 16.9},
    },
    "swap": {
        "original": {"base": 60.5, "HN": 74.3, "HP+HN": 73.2},
        "augmented": {"base": 49.6, "HN": 60.5, "HP+HN": 61.1},
        "brittleness": {"base": 21.7, "HN": 25.1, "HP+HN": 22.9},
    },
}
STEPS, OURS = (("base", "HN"), ("HN", "HP+HN"), ("base", "HP+HN")), ("base", "Equipoise")  # what is compared
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


WHOLE = Size()
# Fewer steps at a higher rate, chosen on validation scenes (runs/demo_rate.py).
STORY = Size(tuple(MODELS), 500, {"max_steps": 110, "warmup_steps": 11, "batch_size": 64, "lr": 1e-3}, 110 * 64)
QUICK = Size(("base", "HN", "HP+HN"), 300, {"max_steps": 80, "warmup_steps": 8, "batch_size": 32, "lr": 1e-3}, 80 * 32)
SHORTER = {
    QUICK.items: "A first look (`equipoise demo --quick`): few items, little finetuning, wide intervals. The story is "
    "`equipoise demo`.",
    STORY.items: "Fewer items, less finetuning. All of it: `equipoise demo --full` (docs/measured.md: three seeds).",
}


def run_demo(out: Path, seeds: Sequence[int] = (0,), size: Size = WHOLE) -> Page:
    """Do everything that is not done yet below `out`, write the page to OUT/report.html, and return what it shows."""
    identity = {} if size == WHOLE else {"items": size.items, **size.settings}  # more seeds are welcome
    with run_folder.locked(out):
        run_folder.take(out, "demo", identity, writes=("report.html", "world", "training", "runs"))
        return _run_demo(out, seeds, size)


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
            if recipe:
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
                results.append(evaluate(model, cases, images=images, benchmark=benchmark, out=place, limit=size.items))
            here = _runs(out / "runs", label, (seed,))
            for column in () if is_quiet() else ("replace", "swap"):  # the first after seconds, long before the page
                print(in_a_line(f"{label} {column.upper()}", numbers_of(here, column)), file=sys.stderr)
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


# ---------------------------------------------------------------------------- numbers


def numbers_of(runs: Sequence[dict[str, Run]], column: str, tag: str = "", value: str = "") -> Numbers:
    """The numbers of a column over all seeds; of the items with a tag's value where one is named."""
    chosen = [one[column].where(tag, value) if tag else one[column] for one in runs]
    return average(chosen, path=("benchmark",) if column == "replace" else ())


def findings(runs: Mapping[str, Sequence[dict[str, Run]]]) -> list[str]:
    """What the paired differences say, clear or not; the words follow the numbers, never the other way round."""
    lines = [plain_words(runs)]
    for column in ("swap", "replace"):
        for before, after in (step for step in (*STEPS, OURS) if step[1] in runs):
            found = _difference(runs, column, before, after)
            parts = ", ".join(_change(name, change) for name in SHARES if (change := found[name]))
            lines.append(f"{column.upper()}, {before} → {after}: {parts}.")
    return lines + unlike_the_paper(runs)


def story(runs: Mapping[str, Sequence[dict[str, Run]]]) -> list[tuple[str, str]]:
    """What happened, step by step, for people who have read neither paper; the words follow from the numbers."""
    base = numbers_of(runs["base"], "replace")
    held, both, torn = (f"{100 * (base[name] or 0):.0f}" for name in SHARES)
    first = (
        f"On REPLACE, where one word is changed, the base scores the caption above the wrong one on {held} of 100 "
        f"items (Original accuracy). Asked for the reworded caption as well, it is right on {both} (Augmented "
        f"accuracy). On {torn} of 100 it puts one right caption above the wrong one and the other below, though both "
        "say the same (Brittleness)."
    )
    steps = [("The base, before", first)]
    for heading, before, after in (
        ("Shown wrong captions: HN", "base", "HN"),
        ("Shown reworded captions as well: HP+HN", "HN", "HP+HN"),
        ("In the end: HP+HN beside the base", "base", "HP+HN"),
    ):
        moved = _moves(runs, "replace", before, after)
        steps.append((heading, f"{moved[0].upper()}{moved[1:]}."))
    if "Equipoise" in runs:
        steps.append(("The same data by a recipe of our own: Equipoise beside the base", _ours(runs)))
    elsewhere = f"Where two words change places (SWAP), from the base to HN: {_moves(runs, 'swap', 'base', 'HN')}"
    others = sum(line.startswith("Unlike the paper") for line in unlike_the_paper(runs))
    paper = "Nothing here points clearly the other way than in the paper behind this demo (Kamath et al. 2024)."
    if others:
        paper = (
            "This is a small drawn world, not the photos of the paper behind it (Kamath et al. 2024): where the two "
            "disagree is said below, with every difference."
        )
    return [*steps, ("Is it so everywhere?", f"{elsewhere}. {paper}")]


def _ours(runs: Mapping[str, Sequence[dict[str, Run]]]) -> str:
    """Where our recipe ends, and why: on words that it was shown and on words that it was not."""
    told = f"From the base: {_moves(runs, 'replace', 'base', 'Equipoise')}."
    for value, words in (("seen", "finetuning showed"), ("unseen", "it never showed")):
        found = (numbers_of(runs[label], "replace", "synonym", value) for label in ("base", "Equipoise"))
        before, after = (100 * (one.brittleness or 0) for one in found)
        told += f" With synonyms that {words}: brittle on {after:.0f} of 100, the base on {before:.0f}."
    if after > before:  # of the unseen ones
        told += " So it learns word by word what is harmless; on photos it did not (docs/flickr8k.md)."
    return told


def _moves(runs: Mapping[str, Sequence[dict[str, Run]]], column: str, before: str, after: str) -> str:
    """'right about the caption more often (69 → 82 of 100); ...'; what is not clear is called so."""
    words: dict[Metric, str] = {
        "original": "right about the caption",
        "augmented": "right about caption and rewording alike",
        "brittleness": "right about one and wrong about the other (brittle)",
    }
    found = _difference(runs, column, before, after)
    there = [numbers_of(runs[label], column) for label in (before, after)]
    parts = []
    for name, said in words.items():
        change, ends = found[name], [f"{100 * (one[name] or 0):.0f}" for one in there]
        if change is None:
            continue
        way = "more often" if change.difference > 0 else "less often"
        parts.append(f"{said} {way} ({ends[0]} → {ends[1]} of 100)" if change.clear else f"{said}: no clear change")
    return "; ".join(parts)


def unlike_the_paper(runs: Mapping[str, Sequence[dict[str, Run]]]) -> list[str]:
    """Where a clear difference on the world points the other way than the paper's Table 1, said in words.

    The paper prints no intervals, so every step in its table counts as one; here only clear ones do.
    """
    lines = []
    for column, printed in PAPER.items():
        for before, after in STEPS:
            found = _difference(runs, column, before, after)
            other = [
                _against(name, change.difference, *(printed[name][label] for label in (before, after)))
                for name in SHARES
                if (change := found[name]) and change.clear
                if change.difference * (printed[name][after] - printed[name][before]) < 0
            ]
            if other:
                lines.append(
                    f"Unlike the paper (its Table 1), {column.upper()}, {before} → {after}: {'; '.join(other)}."
                )
    return lines or ["No clear difference points the other way than in the paper (its Table 1)."]


def _against(name: Metric, difference: float, before: float, after: float) -> str:
    way, there = ("lower", "higher") if difference < 0 else ("higher", "lower")
    return (
        f"{METRICS[name]} ends {abs(100 * difference):.1f} points {way} here, and {abs(after - before):.1f} points "
        f"{there} in the paper ({before} to {after})"
    )


def _difference(runs: Mapping[str, Sequence[dict[str, Run]]], column: str, before: str, after: str) -> Difference:
    """Paired over items, and seed by seed; the base, which has none, is paired with every one."""
    first, second = ([one[column] for one in runs[label]] for label in (before, after))
    first = first * len(second) if len(first) == 1 else first
    return difference(first, second, path=("benchmark",) if column == "replace" else ())


def plain_words(runs: Mapping[str, Sequence[dict[str, Run]]]) -> str:
    """The first line of the page, for people who read only one; it claims only what is clear on REPLACE."""
    learned, unlearned, whole = (_difference(runs, "replace", before, after) for before, after in STEPS)
    gain, harm, cure = learned.original, learned.brittleness, unlearned.brittleness
    parts = []
    if gain and gain.clear:
        parts.append(f"hard negatives changed Original accuracy by {100 * gain.difference:+.0f} points")
    if harm and harm.clear:
        more = "brittle" if harm.difference > 0 else "steady"
        parts.append(f"made the model {more} on {abs(100 * harm.difference):.0f} in 100 items more")
    if cure and cure.clear:
        way = "took back" if cure.difference < 0 else "added"
        of = "of them" if harm and harm.clear and harm.difference > 0 else "in 100 brittle items"
        parts.append(f"hard positives {way} {abs(100 * cure.difference):.0f} {of}")
    ends: tuple[Metric, ...] = ("augmented", "brittleness")
    if left := [_from_base(name, change) for name in ends if (change := whole[name]) and change.clear]:
        parts.append(f"in the end HP+HN is {' and '.join(left)}")
    return f"On REPLACE, {'; '.join(parts)}." if parts else "On REPLACE nothing changed clearly."


def _from_base(name: Metric, change: Change) -> str:
    way = "above" if change.difference > 0 else "below"
    return f"{abs(100 * change.difference):.0f} points {way} the base on {METRICS[name]}"


def _change(name: Metric, change: Change) -> str:
    low, high = (100 * value for value in change.interval)
    unclear = "" if change.clear else ", not clear"
    return f"{METRICS[name]} {100 * change.difference:+.1f} points [{low:+.1f}, {high:+.1f}{unclear}]"


# ---------------------------------------------------------------------------- the page


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
    entries = [
        Entry(
            label=label,
            about=MODELS[label][1],
            numbers=numbers_of(by_seed, column),
            run=by_seed[0][column],
            by={
                tag: {value: numbers_of(by_seed, column, tag, value) for value in found}
                for tag, found in values.items()
                if len(found) > 1
            },
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
