"""Tables that are more than a grid: phrases, sizes, thresholds, similarities, recipes; and ALL, every table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from equipoise.benchmarks import registry
from equipoise.benchmarks.replace.build import LEXICON
from equipoise.core.files import atomic_write
from equipoise.data.items import Item
from equipoise.evaluation.averages import MOST_GROUPS, summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import ItemNumbers
from equipoise.evaluation.results import LoadedRun
from studies.harness import table
from studies.tables.lib.chart import line_chart
from studies.tables.lib.findings import MODELS as FINDINGS
from studies.tables.lib.findings import findings, quoted
from studies.tables.lib.jobs import BASE, BOUNDS, CE_CLIP, CONTROL, FIXED, HN, HP_HN, NEGCLIP, NEW, OURS, PRIOR
from studies.tables.lib.published import defects, rows
from studies.tables.lib.show import GONE, Cell, change, grid, number
from studies.tables.lib.study import Study, Wanted
from studies.tables.lib.tables import FIVE, TABLES, WHOLE, Table

# ---------------------------------------------------------------------------- the hard-positive paper's Tables 4 to 6

PHRASED = (BASE, HN, HP_HN, OURS)
REPLACE_PARTS = ("REPLACE relations", "REPLACE attributes")


def phrases(study: Study) -> list[str]:
    """Each replaced phrase with its replacement, its count, an example, and the brittleness of models."""
    parts = []
    for column in REPLACE_PARTS:
        edits = {item.id: edit for test in study.column(column).tests for item in study.form.test(test).items
                 if (edit := _first_edit(item))}  # fmt: skip
        by_job = [_by_edit(runs[0], edits) if (runs := study.runs(job, column)) else {} for job in PHRASED]
        examples: dict[str, str] = {}
        for item in (item for test in study.column(column).tests for item in study.form.test(test).items):
            if edit := _first_edit(item):
                texts = f"{item.caption} / {item.positives[0].text} / {item.negatives[0].text}"
                examples.setdefault(edit, texts)
        lines = [
            [
                phrase, f"{numbers.metrics['original'].n:,}", examples.get(phrase, GONE),
                *(number(row[phrase].metrics.get("brittleness")) if phrase in row else GONE for row in by_job),
            ]
            for phrase, numbers in by_job[0].items()
        ]  # fmt: skip
        heads = ("phrase -> hard positive", "n", "caption / hard positive / hard negative", *(j.label for j in PHRASED))
        parts += [f"{column}:", table(heads, lines)]
    counts = rows("hp_tables_4_to_6")
    theirs = [
        [f"{split}, {kind}", f"{phrase} -> {positive}", f"*{counts[f'{split}, {kind}: {phrase}'][0]:,.0f}*"]
        for split, kinds in LEXICON.items()
        for kind, listed in kinds.items()
        for phrase, positive in listed.items()
    ]
    return [
        "n is the frequency; the last columns are Brittleness with 95% intervals (2,000 resamples of pictures).",
        *parts,
        "The paper's own, as counted in its released files (`equipoise bench build replace` rebuilds them with all "
        "captions):",
        table(("REPLACE", "phrase -> hard positive", "records"), theirs),
    ]


def _first_edit(item: Item) -> str:
    """'walking -> strolling', where the item has positives and negatives and says what was changed."""
    edit = item.positives[0].edit if item.positives and item.negatives else None
    return f"{edit.source} -> {edit.to}" if edit is not None and edit.source and edit.to else ""


def _by_edit(run: LoadedRun, edits: Mapping[str, str]) -> dict[str, ItemNumbers]:
    """The numbers of each phrase, the most frequent ones."""
    kept = {edit for edit, _ in Counter(edits.values()).most_common(MOST_GROUPS)}
    rows = []
    for row in run.rows:
        edit = edits.get(row.id) or edits.get(row.id.partition("/")[2], "")  # joined runs put their name before the id
        rows.append(row.model_copy(update={"tags": {"edit": edit if edit in kept else ""}}))
    return summarise(outcomes_of(rows)).by.get("edit", {})


# ---------------------------------------------------------------------------- CE-CLIP's Table 6, Figures 5 and 8

SIZES = {
    "aro-vg-r": "ARO relation", "aro-vg-a": "ARO attribution", "valse": "VALSE", "vl-checklist": "VL-CheckList",
    "sugarcrepe": "SugarCrepe",
}  # fmt: skip


def sizes(study: Study) -> list[str]:
    lines = []
    for name, column in SIZES.items():
        known = list(registry.get(name).splits.values())
        files = GONE if None in known else f"{sum(count or 0 for count in known):,}"
        here = study.numbers(BASE, column)
        printed = (rows("ce_table_6")[name][0] or 0) / 1000
        lines.append([column, f"*{printed:g}k*", files, GONE if here is None else f"{here.n:,}"])
    heads = ("benchmark", "image-text pairs, published", "items in the released files", "items in this form")
    return [table(heads, lines), f"{GONE}: not every file states how many items it has."]


SHOWN = 8  # steps that the table of the curves has


def thresholds(study: Study) -> list[str]:
    """Adaptive and fixed thresholds, upper bounds, and what the trainer wrote at every step."""
    parts = [
        "(a) adaptive against fixed thresholds",
        grid(study, (CE_CLIP, *FIXED), WHOLE, {}),
        "(c) upper bounds (CE-CLIP's own is u = 10)",
        grid(study, (CE_CLIP, *BOUNDS), WHOLE, {}),
    ]
    log = study.log(CE_CLIP)
    if not log:
        return parts
    names = list(log[0]["parts"])
    adaptive = [name for name in names if name.startswith("threshold_")]
    highest = max(log[-1]["parts"][name] for name in adaptive)
    parts.append(
        f"The highest adaptive threshold ended at {highest:.1f} logits; bounds above what is reached change nothing. "
        "(b) and (d) of the figure: thresholds and losses of CE-CLIP at every step."
    )
    for title, kept in (("thresholds", adaptive), ("losses", [name for name in names if name not in adaptive])):
        lines = {name.removeprefix("threshold_"): [(row["step"], row["parts"][name]) for row in log] for name in kept}
        path = study.out / "tables" / f"ce_fig_5_{title}.svg"
        with atomic_write(path) as handle:
            handle.write(line_chart(lines, "step", "logits" if title == "thresholds" else "loss, unweighted"))
        parts.append(f"![{title} by step](tables/{path.name})")
    places = sorted({round(k * (len(log) - 1) / (SHOWN - 1)) for k in range(SHOWN)})
    steps = [[str(log[k]["step"]), *(f"{log[k]['parts'][name]:.3f}" for name in names)] for k in places]
    return [*parts, table(("step", *names), steps)]


SIMILAR = (BASE, NEGCLIP, CE_CLIP, HP_HN)


def similarities(study: Study) -> list[str]:
    """Texts' similarity with hard negative and hard positive (not in the paper), and the gaps of their scores."""
    lines = []
    for column in ("ARO relation", "ARO attribution"):
        for job in SIMILAR:
            for record in (record for run in (study.runs(job, column) or [])[:1] for record in run.records):
                overall = record.metrics.overall
                names = ("text_cosine_negative", "text_cosine_positive", "sensitivity_gap")
                shown = [number(overall.metrics.get(name), percent=False) for name in names]
                caption, positive = overall["mean_score_caption"], overall["mean_score_positive"]
                gap = GONE if caption is None or positive is None else f"{caption - positive:.3f}"
                lines.append([f"{column}, {study.form.label(job)}", f"{overall.n:,}", *shown, gap])
    heads = ("", "n", "cos(c, n) ↓", "cos(c, p) ↑", "s(c) - s(n) ↑", "s(c) - s(p), near 0")
    return [table(heads, lines), "Normal 95% intervals over pictures."]


# ---------------------------------------------------------------------------- every recipe

RECIPES = (BASE, CONTROL, HN, HP_HN, *PRIOR, *NEW)
KINDS = ("REPLACE", "SWAP", "seen synonyms", "unseen synonyms", "unseen type")
RECIPE_CELLS = tuple(
    Cell(f"{column} {short}", column, metric)
    for column in KINDS
    for short, metric in (("Aug.", "augmented"), ("Brit. ↓", "brittleness"))
)


def recipes(study: Study) -> list[str]:
    lines, kept = [], []
    for job in filter(study.form.can, RECIPES):
        label = study.form.label(job)
        if job is not CONTROL:
            gaps = {column: study.difference(CONTROL, job, column) for column in KINDS}
            lines.append([label, *(change(gap[c.metric]) if (gap := gaps[c.column]) else GONE for c in RECIPE_CELLS)])
        recalls = [study.standard(job, "COCO", f"{way}_recall@1") for way in ("text_to_image", "image_to_text")]
        kept.append([label, *map(number, recalls), number(study.standard(job, "ImageNet", "accuracy@1"))])
    return [
        grid(study, RECIPES, RECIPE_CELLS, {}),
        "Points above `control`, paired over the same pictures [95% interval]; ~: the interval contains zero, so no "
        "difference is claimed. Of Brittleness, lower is better.",
        table(("minus `control`", *(cell.title for cell in RECIPE_CELLS)), lines),
        "What they keep:",
        table(("model", "text to image R@1", "image to text R@1", "classification acc@1"), kept),
    ]


_MORE = {
    "findings": Table("Which claims hold where", lambda form: Wanted(FINDINGS, ("REPLACE", "SWAP")), findings),
    "hp_text": Table(
        "Hard positives: averages quoted in the text",
        lambda form: Wanted((BASE, *PRIOR, HP_HN), ("REPLACE", "SWAP")),
        quoted,
    ),
    "hp_tables_4_to_6": Table(
        "Hard positives, Tables 4 to 6: phrases, their replacements and frequency",
        lambda form: Wanted(PHRASED, REPLACE_PARTS),
        phrases,
    ),
    "ce_table_6": Table(
        "CE-CLIP, Table 6: sizes of the benchmarks", lambda form: Wanted((BASE,), tuple(SIZES.values())), sizes
    ),
    "ce_fig_5": Table("CE-CLIP, Fig. 5: thresholds", lambda form: Wanted((CE_CLIP, *FIXED, *BOUNDS), FIVE), thresholds),
    "ce_fig_8": Table(
        "CE-CLIP, Fig. 8: intra-modal similarity and cross-modal gap",
        lambda form: Wanted(SIMILAR, ("ARO relation", "ARO attribution")),
        similarities,
    ),
    "recipes": Table(
        "All recipes against `control`", lambda form: Wanted(RECIPES, KINDS, ("COCO", "ImageNet")), recipes
    ),
}
_ORDER = (
    "findings", *(f"hp_table_{n}" for n in (1, 2, 3)), "hp_tables_4_to_6", *(f"hp_table_{n}" for n in (7, 8, 9, 10)),
    "hp_text", *(f"ce_table_{n}" for n in range(1, 7)), *(f"ce_fig_{n}" for n in range(4, 9)), "recipes",
)  # fmt: skip
ALL = {name: _MORE.get(name) or TABLES[name] for name in _ORDER}


def section(study: Study, name: str, parts: Iterable[str]) -> str:
    """A table with its heading, the command that makes it, and what is wrong with the published numbers."""
    real = " --real --data DIR" if study.form.name == "real" else ""
    known = defects(name)
    wrong = "Known defects of the published numbers: " + "; ".join(known) + "." if known else ""
    said = [f"## {ALL[name].title}", f"    python -m studies.tables.table {name}{real}", *parts, wrong]
    return "\n\n".join(part for part in said if part)
