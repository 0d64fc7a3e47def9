"""Replace negatives of the learning captions, good and bad alike: sheets for readers, and a pool without verdicts.

    python runs/proposer/candidates.py pool --shared DATA --out pool.jsonl
    python runs/proposer/candidates.py sheets pool.jsonl --count 10 --captions 200 --out DIR [--least P.npy 0.9]
    python runs/proposer/candidates.py collect DIR --out runs/proposer/verdicts.tsv.gz
    python runs/proposer/candidates.py verdicts runs/proposer/verdicts.tsv.gz --shared DATA --out verdicts.jsonl

A reader gets sheetK.txt and runs/proposer/RULES.md, and writes `number letter` lines (p, t, i, g) to labelsK.txt. With
--least only candidates that a first teacher finds so likely to pass are put on the sheets: those that would be kept,
where a verdict tells most. verdicts.tsv.gz has what was read, without the captions (they are not ours to publish).
Nothing of the captions that are measured (caption_halves.py) is looked at.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from caption_halves import coco, flickr

from equipoise.perturb import Caption, checks, get_recipe
from equipoise.perturb.candidate import Candidate, Refused
from equipoise.perturb.english.forms import write_edit
from equipoise.perturb.english.word_lists import SECTIONS
from equipoise.perturb.operations.replace import replace_negative
from equipoise.perturb.recipes import CHECKS

RECIPE = get_recipe("balanced")
KEPT = tuple(check for check in CHECKS if check is not checks.plausible)  # what the reader has no say in
TAKEN = {"object": 5, "attribute": 3, "action": 4, "relation": 3}  # of each caption, beside the one tried first
TRIED = 40
LETTERS = "ptig"


def learning(shared: Path) -> Iterator[tuple[str, str, list[str]]]:
    for record in coco(shared / "coco" / "karpathy_test_first_half.json", learned=True):
        yield "coco", str(record["image"]), [" ".join(text.split()) for text in record["caption"]]  # type: ignore[attr-defined]
    for image, texts in flickr(shared, learned=True).items():
        yield "flickr8k", image, [" ".join(text.split()) for text in texts]


def candidates(caption: Caption, rng: random.Random) -> list[Candidate]:
    """The first that the checks keep, and some of the others, of each target."""
    found: dict[str, Candidate] = {}
    for target in SECTIONS:
        kept: list[Candidate] = []
        for made in replace_negative(caption, RECIPE.sources, rng, target):
            if not isinstance(made, Refused) and not any(check(caption, made) for check in KEPT):
                kept.append(made)
                if len(kept) == TRIED:
                    break
        for made in [*kept[:1], *rng.sample(kept[1:], min(len(kept[1:]), TAKEN[target]))]:
            found.setdefault(made.text, made)
    return list(found.values())


def pool(shared: Path, out: Path) -> None:
    with out.open("w", encoding="utf-8") as handle:
        for corpus, image, texts in learning(shared):
            for place, text in enumerate(texts):
                caption = Caption(text, tuple(other for k, other in enumerate(texts) if k != place))
                rng = random.Random(zlib.crc32(f"{image} {text}".encode()))
                rows = [row_of(made) for made in candidates(caption, rng)]
                about = {"corpus": corpus, "image": image, "place": place, "caption": text, "others": caption.others}
                handle.write(json.dumps({**about, "made": rows}) + "\n")


def row_of(made: Candidate) -> dict[str, Any]:
    edit = made.edit.model_dump(include={"op", "target", "source", "to", "by", "span"})
    return {"text": made.text, "mark": made.mark, "attested": made.attested, **edit}


def sheets(source: Path, count: int, captions: int, seed: int, out: Path, least: tuple[Path, float] | None) -> None:
    rng = random.Random(seed)
    blocks = list(_blocks(source, least))
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


def _blocks(source: Path, least: tuple[Path, float] | None) -> Iterator[dict[str, Any]]:
    """Captions with their candidates; one caption of a photo."""
    import numpy as np

    chances = np.load(least[0])[:, 0] if least else None
    place, seen = 0, set()
    for line in source.open(encoding="utf-8"):
        block = json.loads(line)
        mine = slice(place, place + len(block["made"]))
        place = mine.stop
        if chances is not None and least is not None:
            block["made"] = [m for m, chance in zip(block["made"], chances[mine], strict=True) if chance >= least[1]]
        if block["made"] and block["image"] not in seen:
            seen.add(block["image"])
            yield block


FIELDS = ("sheet", "corpus", "image", "place", "target", "by", "mark", "attested", "start", "end", "to", "verdict")


def collect(folder: Path, out: Path) -> None:
    """All sheets that were read, a line an edit, with its verdict; without texts."""
    with gzip.open(out, "wt", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, delimiter="\t", lineterminator="\n")
        writer.writerow(FIELDS)
        for path in sorted(folder.glob("labels*.txt")):
            sheet = path.stem.removeprefix("labels")
            read = dict(line.split()[:2] for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
            for line in (folder / f"sheet{sheet}.jsonl").read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                start, end = row["span"]
                more = {"sheet": sheet, "start": start, "end": end, "attested": int(row["attested"])}
                more["verdict"] = LETTERS.index(read[str(row["number"])])
                writer.writerow([{**row, **more}[field] for field in FIELDS])


def verdicts(source: Path, shared: Path, out: Path) -> None:
    """What `collect` wrote, with the captions again."""
    texts = {image: listed for _, image, listed in learning(shared)}
    with gzip.open(source, "rt", encoding="utf-8", newline="") as handle, out.open("w", encoding="utf-8") as written:
        for row in csv.DictReader(handle, delimiter="\t"):
            listed, place = texts[row["image"]], int(row["place"])
            caption, start, end = listed[place], int(row["start"]), int(row["end"])
            others = [other for k, other in enumerate(listed) if k != place]
            edit = {
                "op": "replace",
                "target": row["target"],
                "source": caption[start:end],
                "to": row["to"],
                "by": row["by"],
            }
            about = {"sheet": int(row["sheet"]), "image": row["image"], "caption": caption, "others": others}
            told = {"mark": row["mark"], "attested": row["attested"] == "1", "verdict": int(row["verdict"])}
            text = write_edit(caption, start, end, row["to"])
            written.write(json.dumps({**about, **edit, **told, "span": [start, end], "text": text}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("pool")
    one.add_argument("--shared", type=Path, required=True)
    one.add_argument("--out", type=Path, required=True)
    two = verbs.add_parser("sheets")
    two.add_argument("pool", type=Path)
    two.add_argument("--count", type=int, default=10)
    two.add_argument("--captions", type=int, default=200)
    two.add_argument("--seed", type=int, default=5)
    two.add_argument("--out", type=Path, required=True)
    two.add_argument("--least", nargs=2, metavar=("SCORES", "CHANCE"))
    three = verbs.add_parser("collect")
    three.add_argument("folder", type=Path)
    three.add_argument("--out", type=Path, required=True)
    four = verbs.add_parser("verdicts")
    four.add_argument("source", type=Path)
    four.add_argument("--shared", type=Path, required=True)
    four.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.verb == "pool":
        pool(options.shared, options.out)
    elif options.verb == "sheets":
        least = (Path(options.least[0]), float(options.least[1])) if options.least else None
        sheets(options.pool, options.count, options.captions, options.seed, options.out, least)
    elif options.verb == "collect":
        collect(options.folder, options.out)
    else:
        verdicts(options.source, options.shared, options.out)


if __name__ == "__main__":
    main()
