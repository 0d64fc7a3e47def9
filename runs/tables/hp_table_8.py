"""Hard-positive paper, Table 8: other CLIPs, that is other sizes, text towers, pretraining data and vision towers.

    python runs/tables/hp_table_8.py [--pretraining-steps 1500]

On the world the others are pretrained here, all for the same short time, the base's shape among them.
"""

from hp_table_1 import CELLS
from lib.command import main
from lib.form import Form
from lib.jobs import BASE, variant
from lib.show import grid, section
from lib.study import Study, Wanted

NAME = "hp_table_8"


def models(form: Form) -> tuple:
    return (BASE, *(variant(name, label) for name, label in form.variants.items()))


def wanted(form: Form) -> Wanted:
    return Wanted(models(form), ("REPLACE", "SWAP"))


def page(study: Study) -> str:
    note = (
        "On the world the base has seen 400,000 scenes and 1,950 steps of 1,024; the others here 12,800 scenes and "
        f"{getattr(study.form, 'pretraining_steps', 0):,} steps of 256, so they compare with each other alone."
        if study.form.name == "quick"
        else ""
    )
    found = grid(study, models(study.form), CELLS, {})
    return section(study, NAME, "Hard positives, Table 8: other CLIPs", found, note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
