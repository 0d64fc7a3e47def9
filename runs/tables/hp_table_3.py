"""Hard-positive paper, Table 3: the weight of the hard-negative loss from 0 to 1.

python runs/tables/hp_table_3.py
"""

from hp_table_1 import CELLS
from lib.command import main
from lib.form import Form
from lib.jobs import BASE, HN, HP_HN, RATIOS
from lib.published import HP_3
from lib.show import grid, section
from lib.study import Study, Wanted

NAME = "hp_table_3"
MODELS = (BASE, *RATIOS, HP_HN, HN)


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, ("REPLACE", "SWAP"))


def page(study: Study) -> str:
    note = "Our HP+HN is the weight 1; Our HN has no hard positives at all."
    return section(
        study, NAME, "Hard positives, Table 3: hard negatives from 0 to 1", grid(study, MODELS, CELLS, HP_3), note
    )


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
