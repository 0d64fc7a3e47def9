"""CE-CLIP, Fig. 8: similarity of caption and hard negative as texts, and the gap of their scores with the image.

    python runs/tables/ce_fig_8.py

As the paper has it: 50,000 resamples, 99% intervals. Beside it the similarity with the hard positive, which the paper
does not ask about: a text tower that pushes every changed caption away does well on its figure.
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, CE_CLIP, HP_HN, NEGCLIP
from lib.show import number, section, table
from lib.study import Study, Wanted

NAME = "ce_fig_8"
MODELS = (BASE, NEGCLIP, CE_CLIP, HP_HN)
COLUMNS = ("ARO relation", "ARO attribution")
MEASURED = ("cos(c,n)", "cos(c,p)", "s(c)-s(n)", "s(c)-s(p)")


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, (), (), COLUMNS)


def page(study: Study) -> str:
    rows = []
    for column in COLUMNS:
        for job in MODELS:
            (record,) = study.analysis(job, column)
            found = record.numbers.metrics
            cells = [number(found.get(name), percent=False) for name in MEASURED]
            rows.append([f"{column}, {job.label}", f"{found['s(c)-s(n)'].n:,}", *cells])
    heads = ("", "n", "cos(c, n) ↓", "cos(c, p) ↑", "s(c) - s(n) ↑", "s(c) - s(p), near 0")
    level = record.intervals
    note = f"{level.resamples:,} resamples of pictures, {100 * level.level:.0f}% intervals."
    return section(study, NAME, "CE-CLIP, Fig. 8: intra-modal similarity and cross-modal gap", table(heads, rows), note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
