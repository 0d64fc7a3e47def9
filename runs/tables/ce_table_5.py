"""CE-CLIP, Table 5: compositional and standard tasks side by side.

python runs/tables/ce_table_5.py
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, CE_CLIP, CE_PLUS, CLIP_FT
from lib.published import CE_5
from lib.show import Cell, grid, number, published, section, table
from lib.study import Study, Wanted

NAME = "ce_table_5"
MODELS = (BASE, CLIP_FT, CE_CLIP, CE_PLUS)
COLUMNS = ("ARO relation", "ARO attribution", "VALSE", "VL-CheckList", "SugarCrepe")
ASKED = (
    ("T2I R@5", "COCO", "text_to_image_recall@5"),
    ("I2T R@5", "COCO", "image_to_text_recall@5"),
    ("ELEVATER acc@1", "ELEVATER", "accuracy@1"),
)


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, COLUMNS, ("COCO", "ELEVATER"))


def page(study: Study) -> str:
    cells = tuple(Cell(name, name) for name in COLUMNS)
    rows = []
    for job in MODELS:
        found = [study.standard(job, name, metric) for _, name, metric in ASKED]
        rows.append([job.label, *map(number, found)])
        rows += published(job.label, row[5:] if (row := CE_5.get(job.name)) else None)
    compositional = grid(study, MODELS, cells, {name: row[:5] for name, row in CE_5.items()})
    heads = [f"{title} (n = {one.n:,})" if one else title for (title, *_), one in zip(ASKED, found, strict=True)]
    return section(
        study,
        NAME,
        "CE-CLIP, Table 5: compositional and standard tasks",
        compositional,
        table(("model", *heads), rows),
        "CLIP-FT is finetuned on the same captions without hard texts.",
    )


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
