"""CE-CLIP, Fig. 7: larger base models on VL-CheckList against the base-sized CE-CLIP.

python runs/tables/ce_fig_7.py [--pretraining-steps 1500]
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, CE_CLIP, variant
from lib.show import Cell, grid, section
from lib.study import Study, Wanted

NAME = "ce_fig_7"


def models(form: Form) -> tuple:
    return (BASE, CE_CLIP, *(variant(name, label) for name, label in form.variants.items()))


def wanted(form: Form) -> Wanted:
    return Wanted(models(form), ("VL-CheckList",))


def page(study: Study) -> str:
    cells = (Cell("VL-CheckList", "VL-CheckList"),)
    note = (
        f"On the world the others are pretrained for {study.form.pretraining_steps:,} steps of 256, far less than the "
        "base: compare the widths with each other, and CE-CLIP with the base it comes from."
        if study.form.name == "quick"
        else ""
    )
    found = grid(study, models(study.form), cells, {})
    return section(study, NAME, "CE-CLIP, Fig. 7: does scale alone do it?", found, note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
