"""Every recipe against `control`, those of 2025 and 2026 and ours among them, on the same items for the same steps.

python runs/tables/recipes_2026.py [--seeds 3]
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, CONTROL, HN, HP_HN, NEW, PRIOR
from lib.show import Cell, change, grid, number, section, table
from lib.study import Study, Wanted

NAME = "recipes_2026"
MODELS = (BASE, CONTROL, HN, HP_HN, *PRIOR, *NEW)
COLUMNS = ("REPLACE", "SWAP", "seen synonyms", "unseen synonyms", "unseen type")
CELLS = tuple(
    Cell(f"{column} {short}", column, metric)
    for column in COLUMNS
    for short, metric in (("Aug.", "augmented"), ("Brit. ↓", "brittleness"))
)
RECALLS = ("text_to_image_recall@1", "image_to_text_recall@1")


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, COLUMNS, ("COCO", "ImageNet"))


def page(study: Study) -> str:
    rows, kept = [], []
    for job in MODELS:
        if job is not CONTROL:
            found = {column: study.difference(CONTROL, job, column) for column in COLUMNS}
            cells = [change(one[cell.metric]) if (one := found[cell.column]) else "–" for cell in CELLS]
            rows.append([job.label, *cells])
        standard = [study.standard(job, "COCO", metric) for metric in RECALLS]
        kept.append([job.label, *map(number, standard), number(study.standard(job, "ImageNet", "accuracy@1"))])
    lead = (
        "Points above `control`, paired over the same pictures [95% interval]; ~: the interval holds zero, so no "
        "difference is claimed. Where nothing is said of Brittleness, lower is better."
    )
    return section(
        study,
        NAME,
        "All recipes against `control`",
        grid(study, MODELS, CELLS, {}),
        lead,
        table(("minus `control`", *(cell.title for cell in CELLS)), rows),
        "What they keep:",
        table(("model", "text to image R@1", "image to text R@1", "classification acc@1"), kept),
    )


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
