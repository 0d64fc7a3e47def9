"""Per-phrase results: REPLACE by the words that were exchanged (the hard-positive paper's Tables 4 to 6 list them).

python runs/tables/phrases.py
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, HN, HP_HN, OURS
from lib.show import number, section, table
from lib.study import Study, Wanted

NAME = "phrases"
MODELS = (BASE, HN, HP_HN, OURS)
MOST = 12  # phrases of each set, the most frequent


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, (), (), ("REPLACE attributes", "REPLACE relations"))


def page(study: Study) -> str:
    parts = []
    for column in ("REPLACE attributes", "REPLACE relations"):
        found = [study.analysis(job, column)[0].by.get("positive edit", {}) for job in MODELS]
        rows = []
        for phrase, numbers in list(found[0].items())[:MOST]:
            shown = [f"{number(one[phrase].metrics.get('brittleness'))}" for one in found]
            rows.append([phrase, f"{numbers.metrics['original'].n:,}", *shown])
        heads = ("caption → hard positive", "n", *(f"{job.label}: Brit. ↓" for job in MODELS))
        parts.append(f"{column}, the {len(rows)} most frequent of {len(found[0])}:\n\n{table(heads, rows)}")
    note = (
        "Brittleness with 99% intervals (2,000 resamples of pictures); result.json of a model's analysis has them all."
    )
    return section(study, NAME, "Per phrase: which rewordings a model takes", *parts, note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
