"""CE-CLIP, Fig. 5: adaptive and fixed thresholds, upper bounds, and the curves of thresholds and losses.

    python runs/tables/ce_fig_5.py

The curves are what the trainer writes at every step (log.jsonl of the run).
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BOUNDS, CE_CLIP, FIXED
from lib.show import Cell, grid, section, table
from lib.study import Study, Wanted

from equipoise.files import atomic_write
from equipoise.train.run.chart import line_chart

NAME = "ce_fig_5"
MODELS = (CE_CLIP, *FIXED, *BOUNDS)
COLUMNS = ("ARO relation", "ARO attribution", "VALSE", "VL-CheckList", "SugarCrepe")
SHOWN = 8  # steps that the table of the curves has


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, COLUMNS)


def curves(study: Study) -> list[str]:
    """Thresholds and losses as two drawings, and some of their steps as numbers."""
    log = study.log(CE_CLIP)
    names = list(log[0]["parts"])
    thresholds = [name for name in names if name.startswith("threshold_")]
    parts = []
    for title, kept in (("thresholds", thresholds), ("losses", [name for name in names if name not in thresholds])):
        lines = {name.removeprefix("threshold_"): [(one["step"], one["parts"][name]) for one in log] for name in kept}
        path = study.out / "tables" / f"{NAME}_{title}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as handle:
            handle.write(line_chart(lines, "step", "logits" if title == "thresholds" else "loss, unweighted"))
        parts.append(f"![{title} by step](tables/{path.name})")
    places = sorted({round(k * (len(log) - 1) / (SHOWN - 1)) for k in range(SHOWN)})
    rows = [[str(log[k]["step"]), *(f"{log[k]['parts'][name]:.3f}" for name in names)] for k in places]
    return [*parts, table(("step", *names), rows)]


def page(study: Study) -> str:
    cells = tuple(Cell(name, name) for name in COLUMNS)
    last = study.log(CE_CLIP)[-1]["parts"]
    highest = max(value for name, value in last.items() if name.startswith("threshold_"))
    note = (
        f"The highest adaptive threshold ended at {highest:.1f} logits; bounds above what is reached change nothing. "
        "(b) and (d) of the figure: thresholds and losses of CE-CLIP at every step."
    )
    return section(
        study,
        NAME,
        "CE-CLIP, Fig. 5: thresholds",
        "(a) adaptive against fixed thresholds",
        grid(study, (CE_CLIP, *FIXED), cells, {}),
        "(c) upper bounds (CE-CLIP's own is u = 10)",
        grid(study, (CE_CLIP, *BOUNDS), cells, {}),
        note,
        *curves(study),
    )


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
