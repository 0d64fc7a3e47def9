"""Negatives of the learning captions, good and bad alike: sheets for readers, and a pool without verdicts.

    python -m studies.judge.candidates pool --shared DATA [--more FILE] [--passed] --out pool.jsonl
    python -m studies.judge.candidates sheets pool.jsonl --count 10 --captions 200 --out DIR [--op swap]
    python -m studies.judge.candidates collect DIR --out studies/judge/verdicts.tsv.gz
    python -m studies.judge.candidates verdicts studies/judge/verdicts.tsv.gz --shared DATA [--more FILE] --out v.jsonl

A reader gets sheetK.txt and studies/judge/RULES.md, and writes `number letter` lines (p, t, i, g) to labelsK.txt.
--passed: only what the judge of today lets pass, for its second pass. verdicts.tsv.gz has what was read, without the
captions (they are not ours to publish); `collect` keeps its other sheets.

--more has captions that are not in ../shared, a line a photo: {"corpus": "coco", "image": "v139", "texts": [...]}. Used
were COCO's val2017 without the photos of shared/coco, and Flickr30k's training captions (multi30k) without
Flickr8k's photos. Nothing of the captions that are measured (caption_halves.py) is looked at.
"""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
import random
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.language.forms import write_edit
from equipoise.language.vocabulary import SECTIONS
from equipoise.perturb import Caption, get_recipe
from equipoise.perturb.checks.meaning import plausible
from equipoise.perturb.judge import SORTS, Pair, reading_of
from equipoise.perturb.operations.swap_candidates import Exchange, exchanges
from equipoise.perturb.recipe import Candidate, Proposal, replaced
from equipoise.perturb.recipes import CHECKS
from studies.caption_halves import captions_of, coco, flickr, train2017
from studies.harness import read_lines, read_rows
from studies.harness.inputs import HALVES, arguments, existing

RECIPE = get_recipe("balanced")
KEPT = tuple(check for check in CHECKS if check is not plausible)  # what the judge has no say in
LONGEST = 28  # words of a caption whose swaps are listed
LETTERS = "ptig"


class Wanted(NamedTuple):
    """Limits for the candidates of a caption: how many at most, and how likely to pass."""

    listed: dict[str, int]  # of our lists' words, by target
    own: dict[str, int]  # of those that the judge proposes
    swaps: dict[str, int]
    all_swaps: int
    least: float = 0.0
    least_swap: float = 0.0


_SWAPS = {"quality": 5, "number": 3, "noun": 4, "phrase": 3}
ANY = Wanted(
    {"object": 12, "attribute": 6, "action": 6, "relation": 2},
    {"object": 14, "action": 8},
    _SWAPS,
    sum(_SWAPS.values()),
)
PASSED = Wanted({"object": 6, "attribute": 3, "action": 3}, {"object": 8, "action": 4}, _SWAPS, 3, 0.6, 0.2)


def learning(shared: Path, more: Path | None = None) -> Iterator[tuple[str, str, list[str]]]:
    """(corpus, image, its captions)."""
    for record in coco(shared / "coco" / "karpathy_test_first_half.json", learned=True):
        yield "coco", str(record["image"]), [" ".join(text.split()) for text in record["caption"]]  # type: ignore[attr-defined]
    for image, texts in flickr(shared, learned=True).items():
        yield "flickr8k", image, [" ".join(text.split()) for text in texts]
    if more is not None:
        for row in read_lines(more):
            yield row["corpus"], row["image"], [" ".join(text.split()) for text in row["texts"]]


def candidates(caption: Caption, rng: random.Random, wanted: Wanted = ANY) -> list[Candidate]:
    """Replacements: whatever the sources propose, each as likely as any other."""
    by_text: dict[str, Candidate] = {}
    for target in SECTIONS:
        listed = [each for source in RECIPE.sources for each in dict.fromkeys(source.contrasts(caption, target))]
        if wanted.least and listed:
            chances = reading_of(caption).chances(listed)[:, 0]
            listed = [each for each, chance in zip(listed, chances, strict=True) if chance >= wanted.least]
        for own, numbers in ((False, wanted.listed), (True, wanted.own)):
            mine = [each for each in listed if (each.by == "judge") == own]
            for made in _kept(caption, mine, numbers.get(target, 0), rng):
                by_text.setdefault(made.text, made)
    return list(by_text.values())


def _kept(caption: Caption, listed: Sequence[Proposal], number: int, rng: random.Random) -> list[Candidate]:
    """At most `number` of the candidates, all of which the checks keep."""
    kept: list[Candidate] = []
    for each in rng.sample(listed, len(listed)):
        if len(kept) == number:
            break
        made = replaced(caption.text, "negative", each)
        if not any(check(caption, made) for check in KEPT):
            kept.append(made)
    return kept


def swaps(caption: Caption, rng: random.Random, wanted: Wanted = ANY) -> list[Exchange]:
    listed = list(exchanges(caption)) if len(caption.text.split()) <= LONGEST else []
    if wanted.least_swap and listed:
        chances = reading_of(caption).swaps([each.pair for each in listed])[:, 0]
        listed = [each for each, chance in zip(listed, chances, strict=True) if chance >= wanted.least_swap]
    by_text: dict[str, Exchange] = {}
    for sort, most in wanted.swaps.items():
        mine = [each for each in listed if SORTS[each.pair.sort] == sort]
        for each in rng.sample(mine, min(len(mine), most)):
            by_text.setdefault(each.candidate.text, each)
    return rng.sample(list(by_text.values()), min(len(by_text), wanted.all_swaps))


def pool(shared: Path, more: Path | None, out: Path, wanted: Wanted) -> None:
    with out.open("w", encoding="utf-8") as handle:
        for corpus, image, texts in learning(shared, more):
            for place, caption in enumerate(captions_of(texts)):
                text = caption.text
                rng = random.Random(zlib.crc32(f"{image} {text}".encode()))
                rows = [row_of(made) for made in candidates(caption, rng, wanted)]
                rows += [row_of_swap(made) for made in swaps(caption, rng, wanted)]
                about = {"corpus": corpus, "image": image, "place": place, "caption": text, "others": caption.others}
                handle.write(json.dumps({**about, "made": rows}) + "\n")


def row_of(made: Candidate) -> dict[str, Any]:
    edit = made.edit.model_dump(include={"op", "target", "source", "to", "by", "span"})
    return {"text": made.text, "mark": made.mark, **edit}


def row_of_swap(made: Exchange) -> dict[str, Any]:
    edit = made.candidate.edit.model_dump(include={"op", "target", "by"})
    return {"text": made.candidate.text, "mark": "", **edit, **made.pair._asdict(), "sort": SORTS[made.pair.sort]}


def sheets(source: Path, count: int, captions: int, out: Path, op: str | None) -> None:
    rng = random.Random(5)
    blocks = list(_blocks(source, op))
    rng.shuffle(blocks)
    out.mkdir(parents=True, exist_ok=True)
    for sheet in range(count):
        number, lines, rows = 0, [], []
        for block in blocks[sheet * captions : (sheet + 1) * captions]:
            lines.append(f"# {block['caption']}\n  others: {' | '.join(block['others'])}\n")
            for made in rng.sample(block["made"], min(len(block["made"]), 6)):
                number += 1
                lines.append(f"{number}. {made['text']}\n")
                rows.append({**{key: block[key] for key in block if key != "made"}, **made, "number": number})
        (out / f"sheet{sheet}.txt").write_text("".join(lines), encoding="utf-8")
        (out / f"sheet{sheet}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        print(f"sheet{sheet}.txt: {number} edits")


def _blocks(source: Path, op: str | None) -> Iterator[dict[str, Any]]:
    """Captions with their candidates; one caption of a photo."""
    seen = set()
    for block in read_lines(source):
        block["made"] = [made for made in block["made"] if op in {None, made["op"]}]
        if block["made"] and block["image"] not in seen:
            seen.add(block["image"])
            yield block


# Of a swap, `start`, `end` and `to` are of its first half. Only the oldest rows say whether a word was `attested`.
_SECOND = ("second_start", "second_end", "second_to")
FIELDS = (*"sheet corpus image place target by mark attested start end to sort".split(), *_SECOND, "verdict")


def collect(folder: Path, out: Path) -> None:
    """Write a line for each edit that was read, with its verdict, without texts; other sheets of `out` stay."""
    read = {path.stem.removeprefix("labels"): path for path in folder.glob("labels*.txt")}
    rows = [row for row in read_rows(out) if row["sheet"] not in read] if out.exists() else []
    for sheet, path in sorted(read.items(), key=lambda pair: int(pair[0])):
        verdicts = dict(_verdicts(path))
        lines = (folder / f"sheet{sheet}.jsonl").read_text(encoding="utf-8").splitlines()
        told = [(row, verdicts[row["number"]]) for row in map(json.loads, lines) if row["number"] in verdicts]
        rows += [_stored_row(row, sheet, verdict) for row, verdict in told]
        if missing := len(lines) - len(told):
            print(f"sheet {sheet}: {missing} of {len(lines)} edits have no verdict and are left out")
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, FIELDS, restval="", delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    out.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def _verdicts(path: Path) -> Iterator[tuple[int, int]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        number, letter = [*line.split(), "", ""][:2]
        if number.rstrip(".").isdigit() and letter and letter in LETTERS:
            yield int(number.rstrip(".")), LETTERS.index(letter)


def _stored_row(row: dict[str, Any], sheet: str, verdict: int) -> dict[str, Any]:
    told = {key: row.get(key, "") for key in ("corpus", "image", "place", "target", "by", "mark")}
    if row["op"] == "swap":
        (start, end), (second_start, second_end) = row["first"], row["second"]
        told |= {"to": row["into_first"], "second_to": row["into_second"], "sort": row["sort"]}
        told |= {"second_start": second_start, "second_end": second_end}
    else:
        start, end = row["span"]
        told["to"] = row["to"]
    return {**told, "sheet": sheet, "start": start, "end": end, "verdict": verdict}


def verdicts(source: Path, shared: Path, more: Path | None, out: Path) -> None:
    """The rows that `collect` wrote, with their captions."""
    texts = {image: listed for _, image, listed in learning(shared, more)}
    for half in (True, False):
        texts |= {image: [" ".join(text.split()) for text in said] for image, said in train2017(shared, half).items()}
    unknown = 0
    with out.open("w", encoding="utf-8") as written:
        for row in read_rows(source):
            if row["image"] not in texts:
                unknown += 1
                continue
            caption = captions_of(texts[row["image"]])[int(row["place"])]
            about = {
                "sheet": int(row["sheet"]),
                "corpus": row["corpus"],
                "image": row["image"],
                "caption": caption.text,
            }
            told = {"others": caption.others, "mark": row["mark"], "verdict": int(row["verdict"])}
            edit = {"target": row["target"], "by": row["by"], **_edit(caption, row)}
            written.write(json.dumps({**about, **told, **edit}) + "\n")
    if unknown:
        print(f"{unknown:,} verdicts are on captions that are neither in {shared} nor in --more: left out")


def _edit(caption: Caption, row: dict[str, str]) -> dict[str, Any]:
    span = int(row["start"]), int(row["end"])
    if not row.get("sort"):
        text = write_edit(caption.text, *span, row["to"])
        return {"op": "replace", "source": caption.text[slice(*span)], "to": row["to"], "span": span, "text": text}
    second = int(row["second_start"]), int(row["second_end"])
    pair = Pair(SORTS.index(row["sort"]), span, second, row["to"], row["second_to"])
    return {"op": "swap", **pair._asdict(), "sort": row["sort"], "text": swap_text(caption, pair)}


def swap_text(caption: Caption, pair: Pair) -> str:
    """The swap as it was written; where the rules of swaps have changed since, without a verb after it."""
    if pair in (known := _texts(caption)):
        return known[pair]
    return write_edit(write_edit(caption.text, *pair.second, pair.into_second), *pair.first, pair.into_first)


@functools.lru_cache(maxsize=1)  # one verdict on a caption after another
def _texts(caption: Caption) -> dict[Pair, str]:
    return {each.pair: each.candidate.text for each in exchanges(caption)}


def main() -> None:
    parser = arguments(__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    of_pool = verbs.add_parser("pool")
    of_pool.add_argument("--passed", action="store_true", help="only what the judge lets pass")
    of_sheets = verbs.add_parser("sheets")
    of_sheets.add_argument("pool", type=existing())
    of_sheets.add_argument("--count", type=int, default=10)
    of_sheets.add_argument("--captions", type=int, default=200)
    of_sheets.add_argument("--op", choices=("replace", "swap"), help="only these: of a caption's edits few are swaps")
    of_collect = verbs.add_parser("collect")
    of_collect.add_argument("folder", type=existing())
    of_verdicts = verbs.add_parser("verdicts")
    of_verdicts.add_argument("source", type=existing())
    for verb in (of_pool, of_verdicts):
        verb.add_argument("--shared", type=existing(*HALVES), required=True)
        verb.add_argument("--more", type=existing())
    for verb in (of_pool, of_sheets, of_collect, of_verdicts):
        verb.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.verb == "pool":
        pool(options.shared, options.more, options.out, PASSED if options.passed else ANY)
    elif options.verb == "sheets":
        sheets(options.pool, options.count, options.captions, options.out, options.op)
    elif options.verb == "collect":
        collect(options.folder, options.out)
    else:
        verdicts(options.source, options.shared, options.more, options.out)


if __name__ == "__main__":
    main()
