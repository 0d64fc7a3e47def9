"""CE-CLIP, Table 2: VL-CheckList.

python runs/tables/ce_table_2.py
"""

from ce_table_1 import MODELS
from lib.command import main
from lib.form import Form
from lib.published import CE_2
from lib.show import Cell, grid, section
from lib.study import Study, Wanted

NAME = "ce_table_2"
COLUMNS = (
    "VL attribute action", "VL attribute colour", "VL attribute material", "VL attribute size", "VL attribute state",
    "VL attribute", "VL object location", "VL object size", "VL object", "VL relation action", "VL relation spatial",
    "VL relation", "VL-CheckList",
)  # fmt: skip
CELLS = tuple(Cell(name.removeprefix("VL "), name) for name in COLUMNS)


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, COLUMNS)


def page(study: Study) -> str:
    return section(study, NAME, "CE-CLIP, Table 2: VL-CheckList", grid(study, MODELS, CELLS, CE_2))


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
