"""Hard-positive paper, Table 1: CLIP, earlier hard-negative models, HN and HP+HN, swap-only and replace-only.

python runs/tables/hp_table_1.py [--device cuda --jobs 12]     on the world
python runs/tables/hp_table_1.py --real --data DIR             on REPLACE and SWAP
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, CONTROL, HN, HP_HN, PRIOR, REPLACE_ONLY, SWAP_ONLY
from lib.published import HP_1
from lib.show import Cell, grid, section, table
from lib.study import Study, Wanted

NAME = "hp_table_1"
ORDER = {"(a)": (BASE,), "(b)": PRIOR, "(c)": (CONTROL, HN, HP_HN), "(d)": (SWAP_ONLY, REPLACE_ONLY)}
CELLS = (
    Cell("REPLACE Orig.", "REPLACE"),
    Cell("REPLACE Aug.", "REPLACE", "augmented"),
    Cell("SWAP Orig.", "SWAP"),
    Cell("SWAP Aug.", "SWAP", "augmented"),
    Cell("REPLACE Brit. ↓", "REPLACE", "brittleness"),
    Cell("SWAP Brit. ↓", "SWAP", "brittleness"),
)
NOTE = (
    "On the world NegCLIP has swaps and mined hard images, CREPE-Swap and CREPE-Replace one kind of negative in the "
    "same contrast, DAC two texts of each picture (its caption and positive) with their negatives; nobody wrote dense "
    "captions of drawn pictures, so DAC-LLM and DAC-SAM are one row. `control` is not in the paper's table; it says "
    "what finetuning changes without hard texts."
)


def wanted(form: Form) -> Wanted:
    return Wanted(tuple(job for jobs in ORDER.values() for job in jobs), ("REPLACE", "SWAP"))


def page(study: Study) -> str:
    parts = [f"{mark}\n\n{grid(study, jobs, CELLS, HP_1)}" for mark, jobs in ORDER.items()]
    rows = [["*random chance*", *(f"*{value:.1f}*" for value in HP_1["chance"])]]
    rows += [["*people, published*", *(f"*{value:.0f}*" for value in HP_1["human"])]]
    rows += [["*DAC-SAM, published*", *(f"*{value:.1f}*" for value in HP_1["dac-sam"])]]
    parts.append(table(["for comparison", *(cell.title for cell in CELLS)], rows))
    return section(study, NAME, "Hard positives, Table 1 (a to d): Original, Augmented, Brittleness", *parts, NOTE)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
