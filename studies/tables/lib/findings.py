"""Which claims of the hard-positive paper hold where: in its own numbers and in this form.

A claim has a direction. Ours are paired differences that count only where their interval excludes zero; the paper
gives no intervals, so its own differences are read as they are printed.
"""

from __future__ import annotations

from equipoise.evaluation.record import Change
from studies.harness import table
from studies.tables.lib.jobs import BASE, CONTROL, HN, HP_HN, OURS, PRIOR, REPLACE_ONLY, SWAP_ONLY, Job
from studies.tables.lib.published import rows
from studies.tables.lib.show import GONE, change
from studies.tables.lib.study import Study

MODELS = (BASE, CONTROL, HN, HP_HN, SWAP_ONLY, REPLACE_ONLY, OURS)
BOTH = ("REPLACE", "SWAP")
PLACES = {"original": (0, 3), "augmented": (1, 4), "drop": (2, 5), "brittleness": (6, 7)}  # in a row of Table 1
CLAIMS: tuple[tuple[str, Job, Job, str, int, tuple[str, ...]], ...] = (  # before, after, metric, its direction
    ("hard negatives raise Original accuracy", BASE, HN, "original", +1, BOTH),
    ("hard negatives raise Brittleness", BASE, HN, "brittleness", +1, BOTH),
    ("hard positives added to them raise Augmented accuracy", HN, HP_HN, "augmented", +1, BOTH),
    ("hard positives added to them lower Brittleness", HN, HP_HN, "brittleness", -1, BOTH),
    ("with both, Augmented accuracy is above the base's", BASE, HP_HN, "augmented", +1, BOTH),
    ("with both, Brittleness is below the base's", BASE, HP_HN, "brittleness", -1, BOTH),
    ("swaps alone are worse on replacements than both: Augmented", HP_HN, SWAP_ONLY, "augmented", -1, ("REPLACE",)),
    ("replacements alone are worse on swaps than both: Augmented", HP_HN, REPLACE_ONLY, "augmented", -1, ("SWAP",)),
)
NOT_ASKED = (  # what the paper does not ask
    ("captions alone", BASE, CONTROL),
    ("HP+HN beyond captions alone", CONTROL, HP_HN),
    ("`equipoise_2026` beyond HP+HN", HP_HN, OURS),
)
ON_PHOTOS = """CE-CLIP's claims, and those above on [COCO photos](coco.md#every-recipe-on-the-same-texts). A claim with
several comparisons holds where each goes its way significantly; one that goes the other way contradicts it.
`python -m studies.coco.every --claims` prints these tables.

<!-- numbers: claims -->

`python -m studies.page_numbers --write` fills it.

<!-- end -->"""
HOLDS, FAILS, UNCLEAR = "holds", "**fails**", "not clear"


def verdict(direction: int, measured: Change | None) -> str:
    """Whether a difference has the claim's direction; an interval that holds zero says nothing."""
    if measured is None or not measured.clear:
        return UNCLEAR
    return HOLDS if measured.difference * direction > 0 else FAILS


def findings(study: Study) -> list[str]:
    where = "the world" if study.form.name == "quick" else "these photos"
    printed = rows("hp_table_1")
    lines, own, ours = [], [], []
    for claim, before, after, metric, direction, columns in CLAIMS:
        for column in columns:
            place = PLACES[metric][column == "SWAP"]
            gap = (printed[after.name][place] or 0) - (printed[before.name][place] or 0)
            changes = study.difference(before, after, column)
            measured = changes[metric] if changes else None
            own.append(HOLDS if gap * direction > 0 else FAILS)
            ours.append(verdict(direction, measured))
            lines.append([claim, column, f"*{gap:+.1f}*", own[-1], change(measured), ours[-1]])
    count = (
        f"Differences in points. Of {len(lines)} claims {own.count(HOLDS)} hold in the paper's own Table 1; on {where} "
    )
    unclear = ours.count(UNCLEAR)
    count += (
        f"{ours.count(HOLDS)} hold, {ours.count(FAILS)} fail and {unclear} {'is' if unclear == 1 else 'are'} unclear."
    )
    why = (
        "On the world a rare word alone gives away half of the hard negatives (src/equipoise/world/README.md), a "
        "shortcut that pays in Original accuracy and is paid for in Augmented accuracy. A claim that fails there says "
        "how far it carries, not that a printed number is wrong."
    )
    heads = ("the paper's claim", "on", "published", "published: it", f"{where} [95%]", f"{where}: it")
    beyond = [[words, *_both(study, before, after)] for words, before, after in NOT_ASKED]
    titles = [f"{column} {short}" for column in BOTH for short in ("Aug.", "Brit. ↓")]
    return [
        table(heads, lines),
        " ".join([count, *([why] if study.form.name == "quick" else [])]),
        table((f"beyond the paper, {where}", *titles), beyond),
        *([ON_PHOTOS] if study.form.name == "quick" else []),
    ]


def _both(study: Study, before: Job, after: Job) -> list[str]:
    gaps = [study.difference(before, after, column) for column in BOTH]
    return [change(gap[metric]) if gap else GONE for gap in gaps for metric in ("augmented", "brittleness")]


# ---------------------------------------------------------------------------- averages that the text quotes


def quoted(study: Study) -> list[str]:
    """The averages in the hard-positive paper's text: as printed, from its own tables, and of our models."""
    on_swaps = [job for job in PRIOR if job.seen == "SWAP"]
    on_replacements = [job for job in PRIOR if job.seen == "REPLACE"]
    averages = [
        *((f"drop {column}", f"mean drop on {column} of the earlier models", PRIOR, column, "drop") for column in BOTH),
        (
            "transfer SWAP",
            "Brittleness on SWAP of those finetuned on replacements",
            on_replacements,
            "SWAP",
            "brittleness",
        ),
        ("transfer REPLACE", "Brittleness on REPLACE of those finetuned on swaps", on_swaps, "REPLACE", "brittleness"),
    ]
    printed, told = rows("hp_table_1"), rows("hp_text")
    lines = []
    for key, words, jobs, column, metric in averages:
        theirs = [printed[job.name][PLACES[metric][column == "SWAP"]] or 0 for job in jobs]
        results = [study.numbers(job, column) for job in jobs if study.form.can(job)]
        values = [100 * (numbers[metric] or 0) for numbers in results if numbers]
        lines.append([words, f"*{told[key][0]:.1f}*", f"*{_mean(theirs):.2f}*", f"{_mean(values):.1f} ({len(values)})"])
    scores = rows("hp_table_9")
    for key, words, jobs in (
        ("loss earlier", "loss of s(c) of the earlier models, both benchmarks", PRIOR),
        ("loss ours", "loss of s(c) of Our HP+HN, both benchmarks", (HP_HN,)),
    ):
        theirs = [(scores["base"][k] or 0) - (scores[job.name][k] or 0) for job in jobs for k in (0, 1)]
        losses = [loss for job in jobs if study.form.can(job) for loss in _losses(study, job)]
        lines.append(
            [words, f"*{told[key][0]:.3f}*", f"*{_mean(theirs):.4f}*", f"{_mean(losses):.3f} ({len(losses) // 2})"]
        )
    heads = ("average", "printed in the text", "from its printed tables", "here (models)")
    return [table(heads, lines)]


def _losses(study: Study, job: Job) -> list[float]:
    scores = [(study.mean_scores(BASE, column).get("c"), study.mean_scores(job, column).get("c")) for column in BOTH]
    return [a.value - b.value for a, b in scores if a and b and a.value is not None and b.value is not None]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
