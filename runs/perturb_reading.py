"""A sheet of edits for blind reading, and the count of the verdicts.

    python runs/perturb_reading.py sheet flickr8k --shared DATA --seed 1 --out DIR [--sorts "swap negative"]
    python runs/perturb_reading.py count DIR/key.tsv DIR/reader1.tsv DIR/reader2.tsv

Captions that nothing was learned from (caption_halves.py), without the photos of docs/perturb_reading.tsv, where all
that was read before is listed. A photo gives one edit of a sort, and more (of its other captions) only where there are
not enough photos. With --sorts only these, without anchors; with --again, where no unread photo is left that has an
edit of a sort, unread edits of photos that were read before. Among `balanced`'s edits stand, unmarked, as
anchors, 60 negatives of NegCLIP's file and 30 positives and 30 negatives of REPLACE. A reader gets sheet.txt and writes
a line for each number: number, tab, pass or fail, tab, why. The key names no caption: those are not ours to publish.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from caption_halves import coco, flickr
from needs import HALVES, existing

from equipoise.benchmarks.negclip import load as negclip
from equipoise.benchmarks.replace.build import load as replace
from equipoise.core.stats import wilson
from equipoise.perturb import Caption, get_recipe, perturb_caption

WANTED = {  # sort of edit: how many are read
    "replace positive": 200,
    "replace negative": 200,
    "swap positive": 100,
    "swap negative": 100,
}
READ_BEFORE = Path(__file__).parents[1] / "docs" / "perturb_reading.tsv"
QUESTIONS = {"positive": "TRUE OF THE SAME PHOTO?", "negative": "FALSE OF THE PHOTO?"}
FIELDS = ("number", "source", "sort", "image", "from", "to")


class Edited(NamedTuple):
    """A text to read, and what the reader is not told."""

    source: str
    sort: str
    image: str
    caption: str
    text: str
    others: tuple[str, ...]
    before: str
    after: str

    @property
    def question(self) -> str:
        return QUESTIONS[self.sort.split()[-1]]


def read_before() -> list[dict[str, str]]:
    with READ_BEFORE.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


def groups(corpus: str, shared: Path, again: bool = False) -> list[tuple[str, list[str]]]:
    """(image, captions) of the part that nothing was learned from, less what was read before.

    `again`: with photos that were read before. (Until the eighth reading those of which an edit had failed were left
    out, since rules were mended by failures; nets are not, and what is left would be the easier part.)
    """
    if corpus == "flickr8k":
        found = list(flickr(shared, learned=False).items())
    else:
        records = coco(shared / "coco" / "karpathy_test_first_half.json", learned=False)
        found = [(str(r["image"]), [str(text) for text in r["caption"]]) for r in records]  # type: ignore[attr-defined]
    read = set() if again else {row["image"] for row in read_before()}
    return [(image, texts) for image, texts in found if image not in read]


def ours(corpus: str, shared: Path, seed: int, sorts: list[str], again: bool) -> Iterator[Edited]:
    """Edits of `balanced`, drawn; none that was read before."""
    read = {(row["image"], row["from"], row["to"]) for row in read_before()}
    recipe, rng = get_recipe("balanced"), random.Random(seed)
    by_sort: dict[str, dict[str, list[Edited]]] = {sort: {} for sort in sorts}
    for image, texts in groups(corpus, shared, again):
        for place, text in enumerate(texts):
            others = tuple(other.strip() for k, other in enumerate(texts) if k != place)
            caption = Caption(text.strip(), others)
            result = perturb_caption(recipe, caption, seed)
            for made in (*result.positives, *result.negatives):
                op = "swap" if made.edit.op == "swap" else "replace"
                row = (image, caption.text, made.text, others, made.edit.source or "", made.edit.to or "")
                edited = Edited(corpus, f"{op} {made.kind}", *row)
                if edited.sort in by_sort and (image, edited.before, edited.after) not in read:
                    by_sort[edited.sort].setdefault(image, []).append(edited)
    for sort, by_image in by_sort.items():
        images = rng.sample(sorted(by_image), len(by_image))
        shuffled = {image: rng.sample(listed, len(listed)) for image, listed in by_image.items()}
        ranked = [shuffled[image][k] for k in range(5) for image in images if k < len(shuffled[image])]
        found = ranked[: WANTED[sort]]
        print(f"{sort}: {len(by_image):,} photos have one; {len(found)} of {WANTED[sort]} taken")
        yield from found


def anchors(shared: Path, seed: int) -> Iterator[Edited]:
    """Published edits, to see how strict a reader is."""
    rng = random.Random(seed)
    for name, items, kinds in (
        ("NegCLIP's file", negclip(shared / "negclip", ("valid",)), {"negative": 60}),
        ("REPLACE", replace(shared / "vl_checklist"), {"positive": 30, "negative": 30}),
    ):
        for kind, count in kinds.items():
            texts = [(item, made) for item in items for made in getattr(item, f"{kind}s")]
            for item, made in rng.sample(texts, count):
                image = item.image.path if item.image else item.id
                yield Edited(name, f"published {kind}", image, item.caption, made.text, (), "", "")


def sheet(corpus: str, shared: Path, seed: int, out: Path, sorts: list[str] | None = None, again: bool = False) -> None:
    rows = [*ours(corpus, shared, seed, sorts or list(WANTED), again), *(() if sorts else anchors(shared, seed))]
    random.Random(seed).shuffle(rows)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "sheet.txt").open("w", encoding="utf-8") as handle:
        for number, row in enumerate(rows, 1):
            others = f"\n   others:  {' | '.join(row.others)}" if row.others else ""
            handle.write(f"{number}. {row.question}\n   caption: {row.caption}\n   edit:    {row.text}{others}\n")
    with (out / "key.tsv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, delimiter="\t", lineterminator="\n")
        writer.writerow(FIELDS)
        for number, row in enumerate(rows, 1):
            writer.writerow((number, row.source, row.sort, row.image, row.before, row.after))
    print(f"{len(rows)} texts in {out / 'sheet.txt'}")


def count(key: Path, readers: list[Path]) -> None:
    """Passed by each reader, by source and sort, with Wilson's 95 % interval."""
    with key.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    verdicts = [_verdicts(path, len(rows)) for path in readers]
    total = Counter((row["source"], row["sort"]) for row in rows)
    print("| edits | n | " + " | ".join(f"reader {n}" for n, _ in enumerate(readers, 1)) + " |")
    print("| --- | --- |" + " --- |" * len(readers))
    for source, sort in sorted(total):
        n, cells = total[source, sort], []
        for passed in verdicts:
            right = sum(passed[int(r["number"])] for r in rows if (r["source"], r["sort"]) == (source, sort))
            low, high = wilson(right, n)
            cells.append(f"{right} = {right / n:.1%} [{low:.1%}, {high:.1%}]")
        print(f"| {source}, {sort} | {n} | {' | '.join(cells)} |")
    if len(verdicts) == 2:
        print(f"same verdict: {sum(verdicts[0][n] == verdicts[1][n] for n in verdicts[0])} of {len(rows)}")


def _verdicts(path: Path, count: int) -> dict[int, bool]:
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        number, verdict, *_ = line.split("\t")
        if verdict not in ("pass", "fail"):
            raise SystemExit(f"{path}: number {number} has {verdict!r}, expected pass or fail")
        found[int(number)] = verdict == "pass"
    if missing := set(range(1, count + 1)) - set(found):
        raise SystemExit(f"{path}: no verdict for {sorted(missing)[:20]}, {len(missing)} in all")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("sheet")
    make.add_argument("corpus", choices=("flickr8k", "coco"))
    make.add_argument("--shared", required=True, type=existing(*HALVES))
    make.add_argument("--seed", required=True, type=int)
    make.add_argument("--out", required=True, type=Path)
    make.add_argument("--sorts", type=lambda text: text.split(","), help=f"of {', '.join(WANTED)}; all if not given")
    make.add_argument("--again", action="store_true", help="unread edits of photos read before too")
    judge = verbs.add_parser("count")
    judge.add_argument("key", type=existing())
    judge.add_argument("readers", type=existing(), nargs="+")
    options = parser.parse_args()
    if options.verb == "sheet":
        sheet(options.corpus, options.shared, options.seed, options.out, options.sorts, options.again)
    else:
        count(options.key, options.readers)


if __name__ == "__main__":
    main()
