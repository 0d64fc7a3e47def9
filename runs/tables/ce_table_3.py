"""CE-CLIP, Table 3: SugarCrepe.

python runs/tables/ce_table_3.py
"""

from ce_table_1 import MODELS
from lib.command import main
from lib.form import Form
from lib.published import CE_3
from lib.show import Cell, grid, section
from lib.study import Study, Wanted

NAME = "ce_table_3"
COLUMNS = (
    "SC replace object", "SC replace attribute", "SC replace relation", "SC replace", "SC swap object",
    "SC swap attribute", "SC swap", "SC add object", "SC add attribute", "SC add",
)  # fmt: skip
CELLS = tuple(Cell(name.removeprefix("SC "), name) for name in COLUMNS)


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, COLUMNS)


def page(study: Study) -> str:
    note = "The text-only models of the paper (Vera, Grammar) see no image; `equipoise audit` measures what they would."
    return section(study, NAME, "CE-CLIP, Table 3: SugarCrepe", grid(study, MODELS, CELLS, CE_3), note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
