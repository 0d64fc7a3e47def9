"""What the checks asked for by name drop of the texts that were read: docs/perturbation.md, "More checks".

    python runs/perturb_checks.py docs/perturb_labels.tsv link-grammar --captions DIR/karpathy_test_first_half.json
    python runs/perturb_checks.py docs/perturb_labels_strict.tsv lm:FOLDER --captions DIR/captions.tsv

A good check drops few of the texts that were read and found right. The controls are texts it ought to drop: to the
sentence encoder, the negatives handed in as positives; to link-grammar, captions with two neighbouring words exchanged
(some of which are still English). A language model is handed everything as a replace negative, the one thing it judges.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path

from needs import existing

from equipoise.items import Edit, Operation
from equipoise.perturb.candidate import Candidate
from equipoise.perturb.checks.named import check_named
from equipoise.perturb.english.caption import Caption


def cases(rows: list[dict[str, str]]) -> Iterator[tuple[str, str, Candidate]]:
    """(kind of case, caption, candidate), everything handed in as a positive."""
    rng = random.Random(0)
    wrong = {row["text"] for row in rows if is_wrong(row)}  # to any reader
    for row in {row["text"]: row for row in rows}.values():
        op: Operation = "swap" if row["edit"].startswith("swap") else "replace"
        name = f"{row['kind']}s, {op}{', found wrong' if row['text'] in wrong else ''}"
        yield name, row["caption"], positive(row["text"], op)
        words = row["caption"].split()
        place = rng.randrange(max(1, len(words) - 1))
        words[place : place + 2] = reversed(words[place : place + 2])
        yield "neighbours exchanged", row["caption"], positive(" ".join(words), "replace")


def with_texts(rows: list[dict[str, str]], captions: Path) -> list[dict[str, str]]:
    """The captions are not ours to publish: a label names one (image#k) and the words that were changed."""
    if captions.suffix == ".json":
        records = json.loads(captions.read_text(encoding="utf-8"))
        named = {f"{Path(one['image']).name}#{k}": text for one in records for k, text in enumerate(one["caption"])}
    else:
        lines = captions.read_text(encoding="utf-8").splitlines()
        named = dict(line.split("\t", 1) for line in lines)
    corpus = "coco" if "coco" in rows[0] else "flickr8k"
    return [row | {"caption": (own := named[row[corpus]]), "text": changed(own, row["words"])} for row in rows]


def changed(caption: str, words: str) -> str:
    """`2:3=lady;5:6=a` puts "lady" in the place of the third word, and so on."""
    found = caption.split()
    for part in reversed(words.split(";")):
        place, _, new = part.partition("=")
        first, last = map(int, place.split(":"))
        found[first:last] = new.split(" ") if new else []
    return " ".join(found)


def is_wrong(row: dict[str, str]) -> bool:
    if "verdict" in row:
        return row["verdict"] != "pass"
    return row["as_wanted"] != "y" or row["grammatical"] != "y"


def positive(text: str, op: Operation) -> Candidate:
    return Candidate(text, "positive", Edit(op=op, target="object", source="", to="", by="sample", span=(0, 0)))


def as_negative(candidate: Candidate) -> Candidate:
    return candidate._replace(kind="negative", edit=candidate.edit.model_copy(update={"op": "replace"}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", type=existing())
    parser.add_argument("checks", nargs="+")
    parser.add_argument("--captions", type=existing(), required=True, help="the captions that the labels name")
    options = parser.parse_args()
    with options.labels.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    listed = list(cases(with_texts(rows, options.captions)))
    print("| check | case | texts | dropped |\n| --- | --- | --- | --- |")
    for name in options.checks:
        check = check_named(name)
        if name.startswith("lm:"):
            listed = [(case, caption, as_negative(candidate)) for case, caption, candidate in listed]
        for kind in sorted({kind for kind, _, _ in listed}):
            verdicts = [check(Caption(caption), candidate) for case, caption, candidate in listed if case == kind]
            dropped = sum(verdict is not None for verdict in verdicts)
            share = f"{dropped:,} ({dropped / len(verdicts):.1%})"
            print(f"| {name.partition(':')[0]} | {kind} | {len(verdicts):,} | {share} |")


if __name__ == "__main__":
    main()
