"""A sheet of edits for blind reading, and the count of the verdicts.

    python -m studies.perturb_reading sheet coco --shared DATA --seed 1 --out DIR [--captions 6000] \\
        [--wanted "swap negative=100,replace negative=40,NegCLIP negative=10"] [--domains web=FILE medical=FILE]
    python -m studies.perturb_reading count DIR/key.tsv DIR/reader1.tsv DIR/reader2.tsv
    python -m studies.perturb_reading published thirty-second thirty-third

Captions that nothing was learned from (caption_halves.py; `coco`: its photos of train2017), without the photos of
docs/perturb_reading.tsv, where all that was read before is listed. Rare sorts are looked for in more captions than
--captions. A photo gives one edit of a sort. Among the edits of `balanced` at three settings of its dial stand,
unmarked, as anchors, texts of NegCLIP and of REPLACE. A reader gets sheet.txt and studies/perturb_reading_task.md, and
writes a line for each number: number, tab, pass or fail, tab, why. --wanted: how many of which sorts, other than usual.
--domains: files of captions of other sorts, one a line; DOMAIN positives of each are read too. The key names no
caption: those are not ours to publish.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from equipoise.benchmarks.negclip import load as negclip
from equipoise.benchmarks.replace.build import load as replace
from equipoise.core.stats import wilson
from equipoise.perturb import Candidate, Caption, Perturbed
from equipoise.perturb.recipe import perturb_captions
from equipoise.perturb.recipes import balanced
from studies.caption_halves import captions_of, coco, flickr, train2017
from studies.harness import ROOT, read_rows, table
from studies.harness.inputs import HALVES, arguments, existing

WANTED = {  # sort of edit: how many are read
    "replace positive": 150,
    "other positive": 80,  # converse, passive, fronting, swap: no word is replaced
    "replace negative": 150,
    "relation negative": 60,
    "swap negative": 60,  # and converse
    "contrast positive": 60,
    "contrast negative": 60,
    "negative only at 0.85": 40,
    "swap negative only at 0.85": 20,
    "negative at 0.97": 40,
    "REPLACE positive": 15,  # anchors
    "REPLACE negative": 15,
    "NegCLIP negative": 20,
}
RARE = ("relation negative", "swap negative")
DOMAIN = 40
READ_BEFORE = ROOT / "docs" / "perturb_reading.tsv"
QUESTIONS = {"positive": "TRUE OF THE SAME PHOTO?", "negative": "FALSE OF THE PHOTO?"}
FIELDS = ("number", "source", "sort", "image", "from", "to")


class Edited(NamedTuple):
    """A text to read, with the facts that its reader does not see."""

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
        return QUESTIONS["positive" if "positive" in self.sort else "negative"]


def groups(corpus: str, shared: Path) -> list[tuple[str, list[str]]]:
    """(image, captions) of the part that nothing was learned from, less what was read before."""
    if corpus == "flickr8k":
        listed = list(flickr(shared, learned=False).items())
    elif corpus == "karpathy":
        records = coco(shared / "coco" / "karpathy_test_first_half.json", learned=False)
        listed = [(str(r["image"]), [str(text) for text in r["caption"]]) for r in records]  # type: ignore[attr-defined]
    else:
        listed = list(train2017(shared, learned=False).items())
    read = {row["image"] for row in read_rows(READ_BEFORE)}
    return [(image, texts) for image, texts in listed if image not in read]


def ours(corpus: str, shared: Path, seed: int, count: int, wanted: dict[str, int]) -> Iterator[Edited]:
    """Edits of `balanced`, drawn."""
    rng = random.Random(seed)
    pool = groups(corpus, shared)
    rng.shuffle(pool)
    by_sort: dict[str, dict[str, list[Edited]]] = {sort: {} for sort in WANTED if not _is_anchor(sort)}
    seen = 0
    rare = {sort: wanted.get(sort, 0) for sort in RARE}
    while pool and (seen < count or any(len(by_sort[sort]) < rare[sort] for sort in rare)) and seen < 4 * count:
        block = [pool.pop() for _ in range(min(100, len(pool)))]
        pairs = [(image, caption) for image, texts in block for caption in captions_of(texts)]
        dials = DIALS if seen < count else DIALS[:1]
        made = [perturb_captions(balanced(p), [caption for _, caption in pairs], seed) for p in dials]
        for (image, caption), *at in zip(pairs, *made, strict=True):
            for sort, each in sorts(*at):
                if seen < count or sort in RARE:
                    edit = each.edit
                    row = (image, caption.text, each.text, caption.others, edit.source or "", edit.to or "")
                    by_sort[sort].setdefault(image, []).append(Edited(corpus, sort, *row))
        seen += len(pairs)
    for sort, by_image in by_sort.items():
        images = rng.sample(sorted(by_image), len(by_image))
        taken = [rng.choice(by_image[image]) for image in images[: wanted.get(sort, 0)]]
        print(f"{sort}: {len(by_image):,} photos have one; {len(taken)} of {wanted.get(sort, 0)} taken")
        yield from taken


DIALS = (0.92, 0.85, 0.97)


def sorts(
    plain: Perturbed, lower: Perturbed | None = None, higher: Perturbed | None = None
) -> Iterator[tuple[str, Candidate]]:
    for made in plain.positives:
        yield f"{made.edit.op if made.edit.op in ('replace', 'contrast') else 'other'} positive", made
    for made in plain.negatives:
        if made.edit.op in ("replace", "contrast"):
            yield f"{made.edit.op} negative", made
        if made.edit.op == "swap" or (made.edit.op == "replace" and made.edit.target == "relation"):
            yield ("relation" if made.edit.op == "replace" else "swap") + " negative", made
    known = {made.text for made in plain.negatives}
    if lower is not None and higher is not None:
        for made in lower.negatives:
            if made.text not in known and made.edit.op != "contrast":
                yield ("swap " if made.edit.op != "replace" else "") + "negative only at 0.85", made
        yield from (("negative at 0.97", made) for made in higher.negatives)


def of_domains(files: dict[str, Path], seed: int) -> Iterator[Edited]:
    """Positives of captions without others, at the default dial."""
    for name, path in files.items():
        lines = [" ".join(line.split()) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        rng, taken = random.Random(f"{name} {seed}"), 0
        for place in rng.sample(range(len(lines)), len(lines)):
            if taken == DOMAIN:
                break
            (made,) = perturb_captions(balanced(), [Caption(lines[place])], seed)
            if made.positives:
                each, taken = rng.choice(made.positives), taken + 1
                row = (f"{name}/{place}", lines[place], each.text, (), each.edit.source or "", each.edit.to or "")
                yield Edited(name, "domain positive", *row)


def _is_anchor(sort: str) -> bool:
    return sort.startswith(("REPLACE", "NegCLIP"))


def anchors(shared: Path, seed: int, wanted: dict[str, int]) -> Iterator[Edited]:
    """Published edits, to see how strict a reader is."""
    rng = random.Random(seed)
    published = {
        "NegCLIP": ("NegCLIP's file", negclip(shared / "negclip", ("valid",))),
        "REPLACE": ("REPLACE", replace(shared / "vl_checklist")),
    }
    for sort in filter(_is_anchor, wanted):
        name, kind = sort.split()
        source, items = published[name]
        texts = [(item, made) for item in items for made in getattr(item, f"{kind}s")]
        for item, made in rng.sample(texts, wanted[sort]):
            image = item.image.path if item.image else item.id
            yield Edited(source, f"published {kind}", image, item.caption, made.text, (), "", "")


def sheet(
    corpus: str, shared: Path, seed: int, out: Path, captions: int, wanted: dict[str, int], domains: dict[str, Path]
) -> None:
    by_text: dict[tuple[str, str], Edited] = {}
    made = ours(corpus, shared, seed, captions, wanted), of_domains(domains, seed), anchors(shared, seed, wanted)
    for row in itertools.chain(*made):
        by_text.setdefault((row.caption, row.text), row)  # an edit of two sorts is read once
    write_sheet(list(by_text.values()), seed, out)


def write_sheet(rows: list[Edited], seed: int, out: Path) -> None:
    """The sheet that a reader gets, in a drawn order, and the key to it."""
    rows = random.Random(seed).sample(rows, len(rows))
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


def count(key: Path, readers: Sequence[Path]) -> None:
    """The verdicts on a sheet."""
    rows = read_rows(key)
    verdicts = [_verdicts(path, len(rows)) for path in readers]
    for row in rows:
        said = [reader[int(row["number"])] for reader in verdicts]
        row |= {f"reader{place}": verdict for place, (verdict, _) in enumerate(said, 1)}
        row["why"] = "; ".join(why for _, why in said)
    counted(rows)
    print(f"same verdict: {sum(row['reader1'] == row['reader2'] for row in rows)} of {len(rows)}")


def published(readings: list[str]) -> None:
    """The verdicts of readings in docs/perturb_reading.tsv, counted together."""
    counted([row for row in read_rows(READ_BEFORE) if row["reading"].endswith(tuple(readings))])


def counted(rows: list[dict[str, str]]) -> None:
    """Print how many each reader passed, by source and sort; Wilson's 95 % interval spans both readers."""
    by_sort: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_sort.setdefault(f"{row['source']}, {row['sort']}", []).append(row)
    lines = []
    for name, own in sorted(by_sort.items()):
        right = [sum(row[f"reader{number}"] == "pass" for row in own) for number in (1, 2)]
        ends = [end for passed in right for end in wilson(passed, len(own))]
        shares = [f"{passed / len(own):.1%}" for passed in right]
        trivial = sum("trivial" in row["why"] for row in own)
        lines.append([name, str(len(own)), *shares, f"[{min(ends):.1%}, {max(ends):.1%}]", str(trivial)])
    print(table(("edits", "n", "reader 1", "reader 2", "95 %", "called trivial by a reader"), lines))


def _verdicts(path: Path, count: int) -> dict[int, tuple[str, str]]:
    """Each number's verdict, pass or fail, and its reason."""
    verdicts = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        number, verdict, why, *_ = [*line.split("\t"), ""]
        if verdict not in ("pass", "fail"):
            raise SystemExit(f"{path}: number {number} has {verdict!r}, expected pass or fail")
        verdicts[int(number)] = verdict, why
    if missing := set(range(1, count + 1)) - set(verdicts):
        raise SystemExit(f"{path}: no verdict for {sorted(missing)[:20]}, {len(missing)} in all")
    return verdicts


def _numbers(text: str) -> dict[str, int]:
    numbers = {sort.strip(): int(number) for sort, number in (part.split("=") for part in text.split(","))}
    if unknown := sorted(numbers.keys() - WANTED.keys()):
        raise argparse.ArgumentTypeError(f"no sort {unknown}; there are {', '.join(WANTED)}")
    return numbers


def main() -> None:
    parser = arguments(__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("sheet")
    make.add_argument("corpus", choices=("coco", "karpathy", "flickr8k"))
    make.add_argument("--shared", required=True, type=existing(*HALVES))
    make.add_argument("--seed", required=True, type=int)
    make.add_argument("--out", required=True, type=Path)
    make.add_argument("--captions", type=int, default=6000)
    make.add_argument("--wanted", type=_numbers, default=WANTED)
    make.add_argument("--domains", nargs="*", default=[], metavar="NAME=FILE")
    judge = verbs.add_parser("count")
    judge.add_argument("key", type=existing())
    judge.add_argument("readers", type=existing(), nargs=2)
    verbs.add_parser("published").add_argument("readings", nargs="+", help="how they end in the first column")
    options = parser.parse_args()
    if options.verb == "published":
        published(options.readings)
    elif options.verb == "sheet":
        domains = {name: Path(path) for name, _, path in (each.partition("=") for each in options.domains)}
        sheet(options.corpus, options.shared, options.seed, options.out, options.captions, options.wanted, domains)
    else:
        count(options.key, options.readers)


if __name__ == "__main__":
    main()
