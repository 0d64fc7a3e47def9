"""CE-CLIP, Fig. 6: the weights of IMC (alpha) and CMR (beta).

python runs/tables/ce_fig_6.py
"""

from lib.command import main
from lib.form import Form
from lib.jobs import CE_CLIP, WEIGHTS
from lib.show import Cell, grid, section
from lib.study import Study, Wanted

NAME = "ce_fig_6"
MODELS = (CE_CLIP, *WEIGHTS)
COLUMNS = ("ARO relation", "ARO attribution", "VALSE", "VL-CheckList", "SugarCrepe")
CELLS = (*(Cell(name, name) for name in COLUMNS), Cell("REPLACE Brit. ↓", "REPLACE", "brittleness"))


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, (*COLUMNS, "REPLACE"))


def page(study: Study) -> str:
    note = "Rows are α, β; CE-CLIP has 0.2, 0.4, the paper's best. It says that larger weights decrease performance."
    return section(study, NAME, "CE-CLIP, Fig. 6: loss weights", grid(study, MODELS, CELLS, {}), note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
