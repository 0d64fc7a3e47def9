"""Hard-positive paper, Table 10: what finetuning forgets: classification and retrieval.

python runs/tables/hp_table_10.py
"""

from lib.command import main
from lib.form import Form
from lib.jobs import BASE, CONTROL, HN, HP_HN, OURS
from lib.published import HP_10
from lib.show import GONE, number, published, section, table
from lib.study import Study, Wanted

NAME = "hp_table_10"
MODELS = (BASE, CONTROL, HN, HP_HN, OURS)
ASKED = (
    ("ImageNet acc@1", "ImageNet", "accuracy@1"),
    ("ImageNet acc@5", "ImageNet", "accuracy@5"),
    ("COCO image R@1", "COCO", "text_to_image_recall@1"),
    ("COCO text R@1", "COCO", "image_to_text_recall@1"),
    ("Flickr30k image R@1", "Flickr30k", "text_to_image_recall@1"),
    ("Flickr30k text R@1", "Flickr30k", "image_to_text_recall@1"),
    ("VTAB acc@1", "VTAB", "accuracy@1"),
    ("VTAB acc@5", "VTAB", "accuracy@5"),
)


def wanted(form: Form) -> Wanted:
    return Wanted(MODELS, (), ("ImageNet", "COCO", "Flickr30k", "VTAB"))


def page(study: Study) -> str:
    rows = []
    for job in MODELS:
        found = [study.standard(job, name, metric) for _, name, metric in ASKED]
        rows.append([job.label, *map(number, found)])
        rows += published(job.label, HP_10.get(job.name), 2)
    counts = [GONE if one is None else f"n = {one.n:,}" for one in found]
    heads = [f"{title} ({count})" for (title, *_), count in zip(ASKED, counts, strict=True)]
    note = (
        "On the world ImageNet's place is taken by pictures of one thing each, 27 kinds, four templates; COCO's by "
        "1,000 pictures with captions of two things, many of which fit several pictures."
        if study.form.name == "quick"
        else ""
    )
    return section(study, NAME, "Hard positives, Table 10: standard evaluations", table(("model", *heads), rows), note)


if __name__ == "__main__":
    main(NAME, __doc__, wanted, page)
