"""CE-CLIP, Table 4: the losses one by one.

python runs/tables/ce_table_4.py
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, CE_CLIP, CLIP_FT, LOSSES
from lib.published import CE_4
from lib.show import Cell, grid, section
from lib.study import Study, Wanted

NAME = "ce_table_4"
MODELS = (BASE, CLIP_FT, *LOSSES, CE_CLIP)
COLUMNS = ("ARO relation", "ARO attribution", "VALSE", "VL-CheckList")
CELLS = (
    *(Cell(name, name) for name in COLUMNS),
    Cell("REPLACE Aug.", "REPLACE", "augmented"),
    Cell("REPLACE Brit. ↓", "REPLACE", "brittleness"),
)
PRINTED = {name: (*row[:4], None, None) for name, row in CE_4.items()}


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, (*COLUMNS, "REPLACE"))


def page(study: Study) -> str:
    note = (
        "CE-CLIP is itc(hn) + IMC + CMR; the published rows are CE-CLIP+'s. The last two columns are not in the paper: "
        "they say what the gains cost."
    )
    return section(study, NAME, "CE-CLIP, Table 4: the losses", grid(study, MODELS, CELLS, PRINTED), note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
