"""Hard-positive paper, Table 9: the mean score of the original caption, of every model, on REPLACE and SWAP.

python runs/tables/hp_table_9.py
"""

from hp_table_1 import ORDER
from lib.command import main
from lib.form import Form
from lib.published import HP_9
from lib.show import number, published, section, table
from lib.study import Study, Wanted

NAME = "hp_table_9"
MODELS = tuple(job for jobs in ORDER.values() for job in jobs)


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, ("REPLACE", "SWAP"))


def page(study: Study) -> str:
    rows = []
    for job in MODELS:
        found = [study.mean_scores(job, column).get("c") for column in ("REPLACE", "SWAP")]
        rows.append([job.label, *(number(one, percent=False) for one in found)])
        rows += published(job.label, HP_9.get(job.name), 3)
    heads = [f"{name} (n = {one.n:,})" for name, one in zip(("REPLACE", "SWAP"), found, strict=True) if one]
    return section(study, NAME, "Hard positives, Table 9: mean score of the caption", table(("model", *heads), rows))


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
