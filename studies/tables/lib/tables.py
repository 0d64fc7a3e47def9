"""Every table and figure that is rows of models and columns of numbers; `pages.py` has those that are more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from studies.tables.lib.form import Form
from studies.tables.lib.jobs import (
    BASE,
    CE_CLIP,
    CE_PLUS,
    CE_RELEASED,
    CLIP_FT,
    CONTROL,
    DAC,
    HN,
    HP_HN,
    LOSSES,
    NEGCLIP,
    OURS,
    PRIOR,
    RATIOS,
    REPLACE_ONLY,
    SWAP_ONLY,
    TYPES,
    WEIGHTS,
    Job,
    variant,
)  # fmt: skip
from studies.tables.lib.published import Rows, rows
from studies.tables.lib.show import GONE, Cell, grid, listing, number
from studies.tables.lib.study import Study, Wanted


@dataclass(frozen=True)
class Table:
    title: str
    wanted: Callable[[Form], Wanted]
    parts: Callable[[Study], Sequence[str]]  # in Markdown, below the title and the command


def quick(study: Study, words: str) -> str:
    """The facts that are true only of the drawn world."""
    return words if study.form.name == "quick" else ""


def plain(name: str, title: str, jobs: Sequence[Job], cells: Sequence[Cell], note: str = "", world: str = "") -> Table:
    """A grid of shares, the paper's rows among them."""
    columns = tuple(dict.fromkeys(name for cell in cells for name in (cell.mean_of or (cell.column,))))

    def parts(study: Study) -> list[str]:
        return [grid(study, jobs, cells, rows(name)), note, quick(study, world)]

    return Table(title, lambda form: Wanted(tuple(jobs), columns), parts)


# ---------------------------------------------------------------------------- the hard-positive paper

CONTRASTS = tuple(
    Cell(f"{column} {short}", column, metric)
    for column in ("REPLACE", "SWAP")
    for short, metric in (("Orig.", "original"), ("Aug.", "augmented"), ("drop ↓", "drop"))
) + tuple(Cell(f"{column} Brit. ↓", column, "brittleness") for column in ("REPLACE", "SWAP"))
TABLE_1 = (BASE, *PRIOR, CONTROL, HN, HP_HN, SWAP_ONLY, REPLACE_ONLY)
PARTS = tuple(
    Cell(f"{part} {short}", f"REPLACE {part.lower()}", metric)
    for part in ("Attributes", "Relations")
    for short, metric in (("Orig.", "original"), ("Aug.", "augmented"), ("Brit. ↓", "brittleness"))
)


def hp_table_1(study: Study) -> list[str]:
    note = (
        "The paper's (a) is the base, (b) NegCLIP to DAC-SAM, (c) Our HN and Our HP+HN, (d) the last two. *Finetuned "
        "on* is the shading of its cells: the benchmark whose kind of hard negative a model has seen. `control` is not "
        "in the paper; it says what finetuning changes without hard texts."
    )
    return [grid(study, TABLE_1, CONTRASTS, rows("hp_table_1"), seen=True), note]


def mean_scores(name: str, title: str, jobs: Sequence[Job], cells: Sequence[tuple[str, str, str]], note: str) -> Table:
    """Mean scores of texts: of each column its title, what stands for it, and which text (c, n, p)."""

    def parts(study: Study) -> list[str]:
        by_job = {job: [study.mean_scores(job, column).get(text) for _, column, text in cells] for job in jobs}
        first = next(iter(by_job.values()))
        heads = [f"{title} (n = {mean.n:,})" if mean else title for (title, *_), mean in zip(cells, first, strict=True)]
        shown = listing(study, jobs, heads, lambda job: [number(mean, False) for mean in by_job[job]], rows(name), 3)
        return [shown, note]

    return Table(title, lambda form: Wanted(tuple(jobs), tuple({column for _, column, _ in cells})), parts)


def standards(
    study: Study, jobs: Sequence[Job], cells: Sequence[tuple[str, str, str]], printed: Rows, digits: int
) -> str:
    """Standard evaluations: of each column its title, the set, and the metric."""
    by_job = {job: [study.standard(job, name, metric) for _, name, metric in cells] for job in jobs}
    heads = []
    for (title, name, _), score in zip(cells, by_job[jobs[0]], strict=True):
        sets = len(study.form.standards.get(name, ()))
        several = f", {sets} sets" if study.form.name == "real" and name in {"VTAB", "ELEVATER"} else ""
        heads.append(f"{title} ({GONE if score is None else f'n = {score.n:,}'}{several})")
    return listing(study, jobs, heads, lambda job: [number(score) for score in by_job[job]], printed, digits)


TABLE_10 = (BASE, CONTROL, HN, HP_HN, OURS)
ASKED_10 = (
    ("ImageNet acc@1", "ImageNet", "accuracy@1"),
    ("ImageNet acc@5", "ImageNet", "accuracy@5"),
    ("COCO image R@1", "COCO", "text_to_image_recall@1"),
    ("COCO text R@1", "COCO", "image_to_text_recall@1"),
    ("Flickr30k image R@1", "Flickr30k", "text_to_image_recall@1"),
    ("Flickr30k text R@1", "Flickr30k", "image_to_text_recall@1"),
    ("VTAB acc@1", "VTAB", "accuracy@1"),
    ("VTAB acc@5", "VTAB", "accuracy@5"),
)


def hp_table_10(study: Study) -> list[str]:
    note = (
        "On the world ImageNet's place is taken by pictures of one thing each, 27 kinds, four templates; COCO's by "
        "1,000 pictures with captions of two things, many of which fit several pictures."
    )
    return [standards(study, TABLE_10, ASKED_10, rows("hp_table_10"), 2), quick(study, note)]


def others(form: Form) -> tuple[Job, ...]:
    """The other base models of a form."""
    return tuple(variant(name, label) for name, label in form.variants.items())


def hp_table_8(study: Study) -> list[str]:
    note = (
        "On the world the base has seen 400,000 scenes and 1,950 steps of 1,024; the others here 12,800 scenes and "
        f"{getattr(study.form, 'pretraining_steps', 0):,} steps of 256, so they compare with each other alone."
    )
    return [grid(study, (BASE, *others(study.form)), CONTRASTS, {}), quick(study, note), absent(study)]


def absent(study: Study) -> str:
    """The other models that are not there."""
    names = [job.label for job in others(study.form) if not study.form.can(job)]
    return f"Not here, so not scored: {', '.join(names)}." if names else ""


# ---------------------------------------------------------------------------- CE-CLIP

FOUR = ("ARO relation", "ARO attribution", "VALSE", "VL-CheckList")
FIVE = (*FOUR, "SugarCrepe")
WHOLE = tuple(Cell(name, name) for name in FIVE)
BRITTLE = Cell("REPLACE Brit. ↓", "REPLACE", "brittleness")
CE_MODELS = (BASE, NEGCLIP, CE_CLIP, CE_RELEASED, CE_PLUS)
CE_COLUMNS = {
    "ce_table_1": (
        "ARO relation", "ARO attribution", "VALSE existence", "VALSE plurality", "VALSE counting", "VALSE relations",
        "VALSE actions", "VALSE actant swap", "VALSE coreference", "VALSE coreference clean", "VALSE foil-it", "VALSE",
    ),
    "ce_table_2": (
        "VL attribute action", "VL attribute colour", "VL attribute material", "VL attribute size",
        "VL attribute state", "VL attribute", "VL object location", "VL object size", "VL object",
        "VL relation action", "VL relation spatial", "VL relation", "VL-CheckList",
    ),
    "ce_table_3": (
        "SC replace object", "SC replace attribute", "SC replace relation", "SC replace", "SC swap object",
        "SC swap attribute", "SC swap", "SC add object", "SC add attribute", "SC add",
    ),
}  # fmt: skip
AVERAGES = {"VALSE", "VL attribute", "VL object", "VL relation", "VL-CheckList", "SC replace", "SC swap", "SC add"}


def ce_cells(name: str) -> tuple[Cell, ...]:
    return tuple(
        Cell(f"{column.removeprefix('VL ').removeprefix('SC ')}{' average' if column in AVERAGES else ''}", column)
        for column in CE_COLUMNS[name]
    )


TABLE_5 = (BASE, CLIP_FT, CE_CLIP, CE_RELEASED, CE_PLUS)
ASKED_5 = (
    ("T2I R@5", "COCO", "text_to_image_recall@5"),
    ("I2T R@5", "COCO", "image_to_text_recall@5"),
    ("ELEVATER acc@1", "ELEVATER", "accuracy@1"),
)


def ce_table_5(study: Study) -> list[str]:
    printed = rows("ce_table_5")
    return [
        grid(study, TABLE_5, WHOLE, {name: row[:5] for name, row in printed.items()}),
        standards(study, TABLE_5, ASKED_5, {name: row[5:] for name, row in printed.items()}, 1),
        "CLIP-FT is finetuned on the same captions without hard texts.",
    ]


def ce_fig_7(study: Study) -> list[str]:
    note = (
        f"On the world the others are pretrained for {getattr(study.form, 'pretraining_steps', 0):,} steps of 256, far "
        "less than the base: compare the widths with each other, and CE-CLIP with the base it comes from."
    )
    cells = (Cell("VL-CheckList", "VL-CheckList"),)
    return [grid(study, (BASE, CE_CLIP, *others(study.form)), cells, {}), quick(study, note), absent(study)]


TABLES: dict[str, Table] = {
    "hp_table_1": Table(
        "Hard positives, Table 1 (a to d): Original, Augmented, Brittleness",
        lambda form: Wanted(TABLE_1, ("REPLACE", "SWAP")),
        hp_table_1,
    ),
    "hp_table_2": mean_scores(
        "hp_table_2", "Hard positives, Table 2: mean scores", (BASE, DAC, HN, HP_HN),
        (("c ↑", "REPLACE", "c"), ("n ↓", "REPLACE", "n"), ("p ↑", "REPLACE", "p")),
        "Cosines of image and text; another base model has another scale, so only rows of one kind compare.",
    ),
    "hp_table_3": plain(
        "hp_table_3", "Hard positives, Table 3: hard negatives from 0 to 1", (BASE, *RATIOS, HP_HN, HN), CONTRASTS,
        "Our HP+HN is the weight 1; Our HN has no hard positives at all.",
    ),
    "hp_table_7": plain("hp_table_7", "Hard positives, Table 7: attributes and relations apart", TABLE_1, PARTS),
    "hp_table_8": Table(
        "Hard positives, Table 8: other CLIPs",
        lambda form: Wanted((BASE, *others(form)), ("REPLACE", "SWAP")),
        hp_table_8,
    ),
    "hp_table_9": mean_scores(
        "hp_table_9", "Hard positives, Table 9: mean score of the caption", TABLE_1,
        (("REPLACE", "REPLACE", "c"), ("SWAP", "SWAP", "c")), "",
    ),
    "hp_table_10": Table(
        "Hard positives, Table 10: standard evaluations",
        lambda form: Wanted(TABLE_10, (), ("ImageNet", "COCO", "Flickr30k", "VTAB")),
        hp_table_10,
    ),
    "ce_table_1": plain(
        "ce_table_1", "CE-CLIP, Table 1: ARO and VALSE", CE_MODELS, ce_cells("ce_table_1"),
        "VALSE's average is the mean of its splits, as in the paper.",
        "On the world the splits are the five printed columns: absence, numbers, relations, verbs and kinds of things. "
        "ARO's relations are REPLACE's (a relation replaced), its attribution is SWAP. CE-CLIP is finetuned on four "
        "types of negatives.",
    ),
    "ce_table_2": plain(
        "ce_table_2", "CE-CLIP, Table 2: VL-CheckList", CE_MODELS, ce_cells("ce_table_2"),
        "Averages are means of the printed tests, as in the paper; an object's places and sizes are one test each.",
    ),
    "ce_table_3": plain(
        "ce_table_3", "CE-CLIP, Table 3: SugarCrepe", CE_MODELS, ce_cells("ce_table_3"),
        "Averages are means of the printed splits, as in the paper. Vera and Grammar see no image; `equipoise audit` "
        "measures what such a judge would get.",
    ),
    "ce_table_4": plain(
        "ce_table_4", "CE-CLIP, Table 4: the losses", (BASE, CLIP_FT, *LOSSES, CE_CLIP),
        (*WHOLE[:4], Cell("average of the four", mean_of=FOUR), Cell("REPLACE Aug.", "REPLACE", "augmented"), BRITTLE),
        "CE-CLIP is itc(hn) + IMC + CMR; the published rows are CE-CLIP+'s. The last two columns are not in the paper: "
        "they say what the gains cost.",
    ),
    "ce_table_5": Table(
        "CE-CLIP, Table 5: compositional and standard tasks",
        lambda form: Wanted(TABLE_5, FIVE, ("COCO", "ELEVATER")),
        ce_table_5,
    ),
    "ce_fig_4": plain(
        "ce_fig_4", "CE-CLIP, Fig. 4: types of hard negatives", (BASE, *TYPES, CE_CLIP), (*WHOLE, BRITTLE),
        "The paper's figure says that object negatives help most and that all four together are best.",
    ),
    "ce_fig_6": plain(
        "ce_fig_6", "CE-CLIP, Fig. 6: loss weights", (CE_CLIP, *WEIGHTS), (*WHOLE, BRITTLE),
        "Rows are α, β; CE-CLIP has 0.2, 0.4, the paper's best. It says that larger weights decrease performance. "
        "These are 6 points of its grid.",
    ),
    "ce_fig_7": Table(
        "CE-CLIP, Fig. 7: does scale alone do it?",
        lambda form: Wanted((BASE, CE_CLIP, *others(form)), ("VL-CheckList",)),
        ce_fig_7,
    ),
}  # fmt: skip
