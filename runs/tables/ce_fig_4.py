"""CE-CLIP, Fig. 4: one type of hard negative alone, and all four.

python runs/tables/ce_fig_4.py
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, CE_CLIP, TYPES
from lib.show import Cell, grid, section
from lib.study import Study, Wanted

NAME = "ce_fig_4"
MODELS = (BASE, *TYPES, CE_CLIP)
COLUMNS = ("ARO relation", "ARO attribution", "VALSE", "VL-CheckList", "SugarCrepe")
CELLS = (*(Cell(name, name) for name in COLUMNS), Cell("REPLACE Brit. ↓", "REPLACE", "brittleness"))


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, (*COLUMNS, "REPLACE"))


def page(study: Study) -> str:
    note = "The paper's figure says that object negatives help most and that all four together are best."
    return section(study, NAME, "CE-CLIP, Fig. 4: types of hard negatives", grid(study, MODELS, CELLS, {}), note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
