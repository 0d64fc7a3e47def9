"""Writes docs/appendix/audits.md: `audit` of every benchmark that can be read from a folder of annotation files.

    python -m studies.audits [--data DATA] [NAME ...]

DATA has a folder of annotation files for each benchmark. With names, only those are audited and the page is printed
instead of written. A benchmark that is missing ends the script before anything is written.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.audit.checks import audit
from equipoise.audit.page import percent, shown, table
from equipoise.audit.record import Audit, Example, Shortcut, TextCheck
from equipoise.benchmarks import registry
from equipoise.core.files import atomic_write
from equipoise.data.items import Item
from studies.harness import ROOT, SHARED
from studies.harness.inputs import arguments, today

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
COLUMNS = {  # of the first table, and the rows of the table of fixes
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
# How the counts compare with those that others published for REPLACE and CREPE.
NOTES = {
    "replace": (
        "An earlier count of the published files (methods.md, section B) gives the same 1,403 + 186 exact duplicates, "
        "15 forced ties in relations, one in attributes (of the hard positive) and 10 sub-word edits. The other 24 "
        "sub-word findings are negatives that VL-CheckList published broken (`wout ofdow`). Edits of another word: "
        "the same 21 in attributes. Of the 32 in relations, 25 change `in` in the positive and the noun after it in "
        "the negative (`within back of` against `in front of`), 6 captions have the word twice (`sitting sitting "
        "at`), and one negative only lost an article. Broken compounds: {compounds} here, 409 in the earlier count, "
        "which does not list them. `replace-clean` has a wider rule and drops 466: these and 67 more, mostly "
        "without `of` (`within front`: 38) or verbs with a particle (`traveling on in`: 8). Ten of the 67, "
        "`replace-relations/` 06155, 06224, 06326, 07039, 07297, 08047, 08253, 08978, 09829 and 09946, would make 409. "
        "They have two prepositions, or `of`, without being compound prepositions (`in from of`, `near top of`). The "
        "edit broke only four of them: 08978 (`bird on of clock tower`), 06224 and 07297 (`within on`) and 06326 "
        "(`within from of`)."
    ),
    "crepe": (
        "67 forced ties: 56 of negate (11, 25 and 20 rows of complexities 4, 6 and 8) and 11 of swap (1, 6 and 4). All "
        "are equal in lower case, as methods_2026.md (G12) counts them. 11 are equal in every letter, all of swap; 39 "
        "more differ only in the first capital. We could not reproduce an earlier count of 34: there are 67 distinct "
        "captions, 62 images, 62 rows with a list of negatives and 5 with a set. The rows, `crepe-prod_FILE/ROW`: "
        "swap_4: 20; swap_6: 142, "
        "156, 162, 215, 254, 255; swap_8: 49, 194, 803, 937; negate_4: 251, 287, 356, 497, 664, 792, 938, 1010, 1079, "
        "1218, 1260; negate_6: 30, 86, 97, 114, 186, 257, 308, 323, 343, 549, 607, 670, 676, 767, 770, 957, 1036, "
        "1052, 1131, 1391, 1416, 1503, 1525, 1551, 1778; negate_8: 50, 145, 404, 502, 710, 715, 794, 1134, 1205, "
        "1217, 1428, 1433, 1592, 1644, 1657, 1822, 1871, 1898, 1906, 1983. CREPE itself made the sub-word "
        "negatives of atom: it replaced `on` inside `person` (`persinside`)."
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


def by_name(found: Audit) -> tuple[dict[str, TextCheck], dict[str, Shortcut]]:
    return {check.name: check for check in found.checks}, {one.name: one for one in found.shortcuts}


def first_table(found: Sequence[tuple[Audit, int]]) -> str:
    rows = []
    for one, total in found:
        checks, _ = by_name(one)
        sampled = "" if one.items == total else f" of {total:,}"
        cells = [f"{checks[name].count:,}" if checks[name].of else "-" for name in COLUMNS]
        rows.append((one.benchmark, f"{one.items:,}{sampled}", *cells))
    return table(("benchmark", "items", *COLUMNS.values()), rows)


def fixes(found: Sequence[Audit]) -> str:
    """What each check finds and how to fix it, then the fixes of the shortcuts."""
    rows = {check.name: (check.what, check.fix) for check in found[0].checks if check.name in COLUMNS}
    for shortcut in (shortcut for one in found for shortcut in one.shortcuts):
        rows.setdefault(shortcut.name.split("_")[0], ("shortcut, see below", shortcut.fix))
    return table(("check", "what it finds", "fix"), [(_plain(name), *row) for name, row in rows.items()], left=3)


def images(found: Sequence[Audit]) -> str:
    rows = [
        (one.benchmark, f"{use.items:,}", f"{use.images:,}", f"{use.most:,}", f"{use.effective:,.0f}",
         f"{use.design_effect:.2f}")
        for one in found if (use := one.reuse)
    ]  # fmt: skip
    return table(("benchmark", "items", "images", "most items of an image", "effective n", "design effect"), rows)


def second_table(found: Sequence[tuple[Audit, int]]) -> str:
    names = ("words_negatives", "length_negatives", "frequency_negatives", "direction_negatives", "words_positives",
             "substitution")  # fmt: skip
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
            lines.append(f"- **{_plain(check.name)}** {check.count:,} ({percent(check.share)}): {first}.")
    telling = [s for s in one.shortcuts if s.result.interval[0] > s.chance or s.result.interval[1] < s.chance]
    if telling:
        most = max(telling, key=lambda s: abs(s.result.share - s.chance))
        first = "; ".join(map(_named, most.examples[:2]))
        lines.append(f"- **shortcut** {_plain(most.name)} {shown(most.result)}: {first}.")
    return "\n".join(
        [lines[0], "", *([lines[1], ""] if one.benchmark in NOTES else []), *lines[1 + (one.benchmark in NOTES) :]]
    )


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _named(example: Example) -> str:
    """An item's id and what is wrong with it, without the item's sentences: those are not ours to publish."""
    said = " ".join(example.said.removeprefix(example.id).replace("`", "'").split())
    plain = _SENTENCE.sub("", said).strip(": /")
    return f"`{example.id}` `{plain}`" if plain else f"`{example.id}`"


def page(found: Sequence[tuple[Audit, int]]) -> str:
    each = [one for one, _ in found]
    return "\n\n".join(
        [
            "# Audits",
            "Defects that rules find in the texts of published benchmarks, and how many answers a model can guess "
            "without the image. `python -m studies.audits` writes this page; `equipoise audit NAME --source DIR` "
            "prints one benchmark with five examples of each finding (`--json` for programs). No rule sees the photo, "
            "so read a finding before you drop an item.",
            "Counts are of items; contradictions are of (image, text) pairs. `-`: the benchmark lacks the recorded "
            f"edits, hard positives or images that the check needs. Files of more than {MOST:,} items are sampled "
            f"(seed {SEED}), which undercounts duplicates, contradictions and repeated images.",
            first_table(found),
            fixes(each),
            "## Images",
            "Effective n is 1 / the sum of the squared shares of the images: what the items are worth if all items of "
            "an image agree. Intervals should resample images, not items, as `eval` and `compare` do.",
            images(each),
            "## Shortcuts",
            "Percent right without the image [95 % interval, images resampled], on at most 4,000 items (seed 0; a few "
            "have no pair). Chance is 50; far below 50 gives away as much as far above. The first five columns ask "
            "which of two texts is the caption (c), not the hard negative (n) or hard positive (p). They use a "
            "logistic regression on words, trained on other images (so it partly knows the substitutions); the "
            "shorter text; the text with more frequent words; and a table of the changed words in the other half of "
            "the images. `from -> to` asks such a table whether a substitution is a hard positive or a hard negative. "
            "The last column is the percentage of hard positives that a detector, trained on (c, n) of other images, "
            "calls wrong.",
            "<!-- numbers: audits -->",
            second_table(found),
            f"Computed on {today()}.",
            "<!-- end -->",
            *map(section, each),
        ]
    ) + "\n"  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--data", type=Path, default=SHARED, help="the folder of all annotation files (default: %(default)s)"
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
