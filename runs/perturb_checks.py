"""What the checks asked for by name drop of the texts that were read: docs/perturbation.md, "More checks".

    python runs/perturb_checks.py docs/perturb_labels.tsv link-grammar embedding:FOLDER

A good check drops few of the positives, which were read and found right. The controls are texts it ought to drop:
to the sentence encoder, the negatives handed in as positives; to link-grammar, captions with two neighbouring words
exchanged (some of which are still English).
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterator
from pathlib import Path

from equipoise.items import Edit, Operation
from equipoise.perturb.candidate import Candidate
from equipoise.perturb.checks.named import check_named
from equipoise.perturb.english.caption import Caption


def cases(rows: list[dict[str, str]]) -> Iterator[tuple[str, str, Candidate]]:
    """(kind of case, caption, candidate), everything handed in as a positive."""
    rng = random.Random(0)
    wrong = {row["text"] for row in rows if row["as_wanted"] != "y" or row["grammatical"] != "y"}  # to any reader
    for row in {row["text"]: row for row in rows}.values():
        op: Operation = "swap" if row["edit"].startswith("swap") else "replace"
        name = "found wrong" if row["text"] in wrong else f"{row['kind']}s, {op}"
        yield name, row["caption"], positive(row["text"], op)
        words = row["caption"].split()
        place = rng.randrange(max(1, len(words) - 1))
        words[place : place + 2] = reversed(words[place : place + 2])
        yield "neighbours exchanged", row["caption"], positive(" ".join(words), "replace")


def positive(text: str, op: Operation) -> Candidate:
    return Candidate(text, "positive", Edit(op=op, target="object", source="", to="", by="sample", span=(0, 0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", type=Path)
    parser.add_argument("checks", nargs="+")
    options = parser.parse_args()
    with options.labels.open(newline="", encoding="utf-8") as handle:
        listed = list(cases(list(csv.DictReader(handle, delimiter="\t"))))
    print("| check | case | texts | dropped |\n| --- | --- | --- | --- |")
    for name in options.checks:
        check = check_named(name)
        for kind in sorted({kind for kind, _, _ in listed}):
            verdicts = [check(Caption(caption), candidate) for case, caption, candidate in listed if case == kind]
            dropped = sum(verdict is not None for verdict in verdicts)
            print(f"| {name.partition(':')[0]} | {kind} | {len(verdicts):,} | {dropped / len(verdicts):.1%} |")


if __name__ == "__main__":
    main()
