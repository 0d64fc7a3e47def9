"""Hard-positive paper, Table 2: mean scores of caption, hard negative and hard positive on REPLACE.

python runs/tables/hp_table_2.py
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, DAC, HN, HP_HN
from lib.published import HP_2
from lib.show import number, published, section, table
from lib.study import Study, Wanted

NAME = "hp_table_2"
MODELS = (BASE, DAC, HN, HP_HN)


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, ("REPLACE",))


def page(study: Study) -> str:
    rows = []
    for job in MODELS:
        found = study.mean_scores(job, "REPLACE")
        rows.append([job.label, *(number(found.get(part), percent=False) for part in ("c", "n", "p"))])
        rows += published(job.label, HP_2.get(job.name), 3)
    n = found["c"].n
    head = ("model", f"c (↑, n = {n:,})", "n (↓)", "p (↑)")
    note = "Cosines of image and text; another base model has another scale, so only rows of one kind compare."
    return section(study, NAME, "Hard positives, Table 2: mean scores", table(head, rows), note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
