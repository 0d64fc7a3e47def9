"""Writes docs/appendix/audits.md: `audit` of every benchmark that can be read from a folder of annotation files.

    python runs/audits.py [--data DATA] [NAME ...]

DATA has a folder of annotation files for each benchmark. With names, only those are audited and the page is printed
instead of written. A benchmark that is missing ends the script before anything is written.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.audit.checks import audit
from equipoise.audit.page import percent, shown, table
from equipoise.audit.record import Audit, Check, Example, Shortcut
from equipoise.benchmarks import registry
from equipoise.core.files import atomic_write
from equipoise.data.items import Item

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "appendix" / "audits.md"
_SENTENCE = re.compile(r"(?<![\w'])'(?:[^' ]+ ){4,}[^']*(?:'\w[^']*)*(?:'|$)")  # five words or more in quotes
MOST = 30_000  # items: larger files are sampled, so that all of it takes minutes
SEED = 0

FOLDERS = {
    "replace": "vl_checklist",
    "replace-clean": "vl_checklist",
    "sugarcrepe": "sugarcrepe",
    "sugarcrepe-pp": "sugarcrepe_pp",
    "visla": "visla",
    "predicate-noun": "predicate_noun",
    "valse": "valse",
    "vl-checklist": "vl_checklist",
    "bivlc": "bivlc",
    "cola": "cola",
    "crepe": "crepe",
    "negbench": "negbench",
    "vsr": "vsr",
    "fg-ovd": "fg_ovd",
    "negclip": "negclip",
}
COLUMNS = {  # of the first table
    "duplicates": "duplicates",
    "forced_ties": "forced ties",
    "contradictions": "contra-dictions",
    "same_words": "same words",
    "articles": "a / an",
    "grammar": "grammar",
    "sub_word": "sub-word",
    "other_word": "other word",
    "compounds": "com-pounds",
    "near_synonyms": "near syn.",
}
# What a reader of REPLACE and CREPE may expect from elsewhere, and why it differs.
NOTES = {
    "replace": (
        "Counted elsewhere in the published files (methods.md, section B): 1,403 + 186 exact duplicates, 15 forced "
        "ties in relations (and one in attributes, of the hard positive), 10 sub-word edits: the same here. The 24 "
        "sub-word negatives besides are VL-CheckList's own (`wout ofdow`). Edits of another word: 21 in attributes, "
        "the same; of the 32 in relations, 25 change `in` in the positive and the side after it in the negative "
        "(`within back of` against `in front of`), 6 captions say the word twice (`sitting sitting at`), and one "
        "negative only lost an article. Broken compounds: {compounds} here, 409 there, where the list behind the "
        "number is not given. The wider rule of `replace-clean` drops 466: these and 67 more, most of them sides "
        "without `of` (`within front`: 38) and verbs with their particle (`traveling on in`: 8). Ten of the 67 have "
        "a phrase of two prepositions or with `of` that is no compound preposition (`in from of`, `in on`, `in "
        "next`, `in top of`, `in side of`, `near top of`, `near edge of`, `near center of`, `on top of of`), which "
        "would make 409: `replace-relations/` 06155, 06224, 06326, 07039, 07297, 08047, 08253, 08978, 09829, 09946. "
        "Of these only 08978 (`bird on of clock tower`), 06224 and 07297 (`within on`) and 06326 (`within from of`) "
        "are broken by the edit; the others read (`swan next to edge of pond`)."
    ),
    "crepe": (
        "67 forced ties: 56 of negate (11, 25 and 20 rows of complexities 4, 6 and 8) and 11 of swap (1, 6 and 4). All "
        "are equal after lower-casing, as methods_2026.md (G12) counts them; 11 are equal letter for letter, all of "
        "swap, and 39 more differ by the first capital alone. A count of 34 that was expected once is none of these "
        "(11, 50, 67), nor of distinct captions (67), images (62), rows whose negatives are a list (62) or a set (5); "
        "the reference's own counts by file add up to 67. The rows, `crepe-prod_FILE/ROW`: swap_4: 20; swap_6: 142, "
        "156, 162, 215, 254, 255; swap_8: 49, 194, 803, 937; negate_4: 251, 287, 356, 497, 664, 792, 938, 1010, 1079, "
        "1218, 1260; negate_6: 30, 86, 97, 114, 186, 257, 308, 323, 343, 549, 607, 670, 676, 767, 770, 957, 1036, "
        "1052, 1131, 1391, 1416, 1503, 1525, 1551, 1778; negate_8: 50, 145, 404, 502, 710, 715, 794, 1134, 1205, "
        "1217, 1428, 1433, 1592, 1644, 1657, 1822, 1871, 1898, 1906, 1983. The sub-word negatives of atom are words "
        "of CREPE's own making: `on` was replaced inside `person` (`persinside`)."
    ),
}


def load(name: str, data: Path) -> tuple[Sequence[Item], int]:
    """The items, or a sample of them in their order; and how many there are."""
    items = registry.load(name, data / FOLDERS[name])[0]
    if len(items) <= MOST:
        return items, len(items)
    chosen = sorted(random.Random(SEED).sample(range(len(items)), MOST))
    return [items[place] for place in chosen], len(items)


def audits(data: Path, names: Sequence[str]) -> Iterator[tuple[Audit, int]]:
    for name in names:
        items, total = load(name, data)
        print(f"{name}: {len(items):,} of {total:,} items", file=sys.stderr, flush=True)
        yield audit(items, name, SEED), total


def by_name(found: Audit) -> tuple[dict[str, Check], dict[str, Shortcut]]:
    return {check.name: check for check in found.checks}, {one.name: one for one in found.shortcuts}


def first_table(found: Sequence[tuple[Audit, int]]) -> str:
    rows = []
    for one, total in found:
        checks, _ = by_name(one)
        sampled = "" if one.items == total else f" of {total:,}"
        cells = [f"{checks[name].count:,}" if checks[name].of else "-" for name in COLUMNS]
        effective = f"{one.reuse.effective:,.0f}" if one.reuse else "-"
        rows.append((one.benchmark, f"{one.items:,}{sampled}", *cells, effective))
    return table(("benchmark", "items", *COLUMNS.values(), "effective n"), rows)


def second_table(found: Sequence[tuple[Audit, int]]) -> str:
    names = ("words_negatives", "length_negatives", "frequency_negatives", "direction_negatives", "words_positives")
    names = (*names, "substitution")
    rows = []
    for one, _ in found:
        _, shortcuts = by_name(one)
        cells = [shown(shortcuts[name].result) if name in shortcuts else "-" for name in names]
        flagged = shown(one.detector.positives) if one.detector else "-"
        rows.append((one.benchmark, f"{one.sample:,}", *cells, flagged))
    header = ("words: c / n", "length: c / n", "frequency: c / n", "changed words: c / n", "words: c / p")
    return table(("benchmark", "n", *header, "from -> to: p / n", "p flagged"), rows)


def section(one: Audit) -> str:
    """Short: what was found, two examples each; `equipoise audit` prints the whole page."""
    lines = [f"## {one.benchmark}"]
    if one.benchmark in NOTES:
        checks, _ = by_name(one)
        lines.append(NOTES[one.benchmark].format(compounds=checks["compounds"].count))
    for check in sorted(one.checks, key=lambda check: -check.count):
        if check.count and check.name not in {"same_words", "spaces"}:
            first = "; ".join(map(_named, check.examples[:2]))
            lines.append(
                f"- **{check.name.replace('_', ' ')}** {check.count:,} ({percent(check.share)}): {first}. "
                f"Fix: {check.fix}."
            )
    if one.reuse:
        lines.append(
            f"- **images** {one.reuse.images:,} for {one.reuse.items:,} items, up to {one.reuse.most:,} of one image; "
            f"design effect at most {one.reuse.design_effect:.2f}. Fix: {one.reuse.fix}."
        )
    telling = [s for s in one.shortcuts if s.result.interval[0] > s.chance or s.result.interval[1] < s.chance]
    if telling:
        most = max(telling, key=lambda s: abs(s.result.share - s.chance))
        first = "; ".join(map(_named, most.examples[:2]))
        lines.append(f"- **shortcut** {most.name.replace('_', ' ')} {shown(most.result)}: {first}. Fix: {most.fix}.")
    return "\n".join(
        [lines[0], "", *([lines[1], ""] if one.benchmark in NOTES else []), *lines[1 + (one.benchmark in NOTES) :]]
    )


def _named(example: Example) -> str:
    """An item's id and what is wrong with it, without the item's sentences: those are not ours to publish."""
    plain = _SENTENCE.sub("", " ".join(example.said.replace("`", "'").split())).strip(": /")
    return f"`{example.id}` `{plain}`" if plain else f"`{example.id}`"


def page(found: Sequence[tuple[Audit, int]]) -> str:
    return "\n\n".join(
        [
            "# Audits",
            "What rules find in the texts of other people's benchmarks, and how far one gets without looking. Made "
            "by `python runs/audits.py`; the page of one benchmark, with five examples of each finding, by "
            "`equipoise audit NAME --source DIR` (`--json` for programs). No rule sees the photo: a finding is a "
            "reason to look, not a verdict. The counts are of items, contradictions of (image, text) pairs.",
            f"Files of more than {MOST:,} items are sampled (seed {SEED}), which undercounts what takes two items: "
            "duplicates, contradictions and the use of images. `-`: the check needs recorded edits, hard positives or "
            "images that are not there. Effective n is 1 / the sum of squared shares of the images: what the items are "
            "worth if all items of an image agree.",
            first_table(found),
            "## Shortcuts",
            "Percent right without an image [95 % interval, images resampled], chance 50, on at most 4,000 items "
            "(seed 0): which of two texts is the caption (c) and which the hard negative (n) or hard positive (p), "
            "by logistic regression on words (learned on other images, so to a good part by known substitutions), "
            "by \"the shorter one\", by \"the one of more frequent words\" (far "
            "below 50 tells as much), by a table of changed words from the other half of the images; whether `from "
            "-> to` is a hard positive or a hard negative, by the same kind of table. Last: percent of the hard "
            "positives that a detector taught on (c, n) of other images calls wrong. n is of items; pairs may be a "
            "few less.",
            second_table(found),
            *(section(one) for one, _ in found),
        ]
    ) + "\n"  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=DATA, help="the folder of all annotation files (default: %(default)s)"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FOLDERS)}")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(FOLDERS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(FOLDERS)}")
    names = asked.names or list(FOLDERS)
    missing = [name for name in names if not (asked.data / FOLDERS[name]).is_dir()]
    if missing:
        get = "; ".join(f"equipoise bench fetch {name} --out {asked.data / FOLDERS[name]}" for name in missing)
        parser.error(f"no annotation files of {', '.join(missing)} in {asked.data}: {get}")
    made = page(list(audits(asked.data, names)))
    if asked.names:
        print(made)
        return
    with atomic_write(PAGE) as handle:
        handle.write(made)
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
