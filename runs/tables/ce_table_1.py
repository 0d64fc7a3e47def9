"""CE-CLIP, Table 1: ARO and VALSE.

python runs/tables/ce_table_1.py
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, CE_CLIP, CE_PLUS, NEGCLIP
from lib.published import CE_1
from lib.show import Cell, grid, section
from lib.study import Study, Wanted

NAME = "ce_table_1"
MODELS = (BASE, NEGCLIP, CE_CLIP, CE_PLUS)
COLUMNS = (
    "ARO relation", "ARO attribution", "VALSE existence", "VALSE plurality", "VALSE counting", "VALSE relations",
    "VALSE actions", "VALSE actant swap", "VALSE coreference", "VALSE coreference clean", "VALSE foil-it", "VALSE",
)  # fmt: skip
CELLS = tuple(Cell("VALSE average" if name == "VALSE" else name, name) for name in COLUMNS)


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, COLUMNS)


def page(study: Study) -> str:
    note = (
        "On the world ARO's relations are REPLACE's (a relation replaced), its attribution is SWAP; VALSE's columns "
        "are absence, numbers, relations, verbs and kinds of things. NegCLIP is finetuned on swaps, CE-CLIP on four "
        "types of negatives."
        if study.form.name == "quick"
        else ""
    )
    return section(study, NAME, "CE-CLIP, Table 1: ARO and VALSE", grid(study, MODELS, CELLS, CE_1), note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
