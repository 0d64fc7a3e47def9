"""Hard-positive paper, Table 7: REPLACE's attributes and relations apart.

python runs/tables/hp_table_7.py
"""

from hp_table_1 import ORDER
from lib.command import main
from lib.form import Form
from lib.show import Cell, grid, section
from lib.study import Study, Wanted

NAME = "hp_table_7"
MODELS = tuple(job for jobs in ORDER.values() for job in jobs)
CELLS = tuple(
    Cell(f"{part} {short}", f"REPLACE {part.lower()}", metric)
    for part in ("Attributes", "Relations")
    for short, metric in (("Orig.", "original"), ("Aug.", "augmented"), ("Brit. ↓", "brittleness"))
)


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, ("REPLACE attributes", "REPLACE relations"))


def page(study: Study) -> str:
    found = grid(study, MODELS, CELLS, {})
    return section(study, NAME, "Hard positives, Table 7: attributes and relations apart", found)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
