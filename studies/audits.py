"""Writes docs/appendix/audits.md: `audit` of every benchmark that can be read from a folder of annotation files.

    python -m studies.audits [--data DATA] [NAME ...]

DATA has a folder of annotation files for each benchmark. With names, only those are audited and the page is printed
instead of written. A benchmark that is missing ends the script before anything is written.
"""

from __future__ import annotations

import random
import re
import sys
import tomllib
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
NOTES: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


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


def by_name(result: Audit) -> tuple[dict[str, TextCheck], dict[str, Shortcut]]:
    return {check.name: check for check in result.checks}, {shortcut.name: shortcut for shortcut in result.shortcuts}


def first_table(audited: Sequence[tuple[Audit, int]]) -> str:
    rows = []
    for result, total in audited:
        checks, _ = by_name(result)
        sampled = "" if result.items == total else f" of {total:,}"
        cells = [f"{checks[name].count:,}" if checks[name].of else "-" for name in COLUMNS]
        rows.append((result.benchmark, f"{result.items:,}{sampled}", *cells))
    return table(("benchmark", "items", *COLUMNS.values()), rows)


def fixes(audited: Sequence[Audit]) -> str:
    """A table of checks, their findings and fixes, then the fixes of the shortcuts."""
    rows = {check.name: (check.what, check.fix) for check in audited[0].checks if check.name in COLUMNS}
    for shortcut in (shortcut for result in audited for shortcut in result.shortcuts):
        rows.setdefault(shortcut.name.split("_")[0], ("shortcut, see below", shortcut.fix))
    return table(("check", "what it finds", "fix"), [(_plain(name), *row) for name, row in rows.items()], left=3)


def images(audited: Sequence[Audit]) -> str:
    rows = [
        (result.benchmark, f"{use.items:,}", f"{use.images:,}", f"{use.most:,}", f"{use.effective:,.0f}",
         f"{use.design_effect:.2f}")
        for result in audited if (use := result.reuse)
    ]  # fmt: skip
    return table(("benchmark", "items", "images", "most items of an image", "effective n", "design effect"), rows)


def second_table(audited: Sequence[tuple[Audit, int]]) -> str:
    names = ("words_negatives", "length_negatives", "frequency_negatives", "direction_negatives", "words_positives",
             "substitution")  # fmt: skip
    rows = []
    for result, _ in audited:
        _, shortcuts = by_name(result)
        cells = [shown(shortcuts[name].result) if name in shortcuts else "-" for name in names]
        flagged = shown(result.detector.positives) if result.detector else "-"
        rows.append((result.benchmark, f"{result.sample:,}", *cells, flagged))
    header = ("words: c / n", "length: c / n", "frequency: c / n", "changed words: c / n", "words: c / p")
    return table(("benchmark", "n", *header, "from -> to: p / n", "p flagged"), rows)


def section(result: Audit) -> str:
    """The findings with two examples each; `equipoise audit` prints the whole page."""
    checks, _ = by_name(result)
    lines = []
    for check in sorted(result.checks, key=lambda check: -check.count):
        if check.count and check.name not in {"same_words", "spaces"}:
            first = "; ".join(map(_named, check.examples[:2]))
            lines.append(f"- **{_plain(check.name)}** {check.count:,} ({percent(check.share)}): {first}.")
    telling = [s for s in result.shortcuts if s.result.interval[0] > s.chance or s.result.interval[1] < s.chance]
    if telling:
        most = max(telling, key=lambda s: abs(s.result.share - s.chance))
        first = "; ".join(map(_named, most.examples[:2]))
        lines.append(f"- **shortcut** {_plain(most.name)} {shown(most.result)}: {first}.")
    note = NOTES.get(result.benchmark, "").format(compounds=checks["compounds"].count)
    return "\n\n".join(part for part in (f"## {result.benchmark}", note, "\n".join(lines)) if part)


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _named(example: Example) -> str:
    """An item's id and what is wrong with it, without the item's sentences: those are not ours to publish."""
    said = " ".join(example.said.removeprefix(example.id).replace("`", "'").split())
    plain = _SENTENCE.sub("", said).strip(": /")
    return f"`{example.id}` `{plain}`" if plain else f"`{example.id}`"


def page(audited: Sequence[tuple[Audit, int]]) -> str:
    listed = [result for result, _ in audited]
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
            first_table(audited),
            fixes(listed),
            "## Images",
            "Effective n is 1 / the sum of the squared shares of the images: what the items are worth if all items of "
            "an image agree. Intervals should resample images, not items, as `eval` and `compare` do.",
            images(listed),
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
            second_table(audited),
            f"Computed on {today()}.",
            "<!-- end -->",
            *map(section, listed),
        ]
    ) + "\n"  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--data", type=Path, default=SHARED, help="the folder of all annotation files (default: %(default)s)"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FOLDERS)}")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(FOLDERS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(FOLDERS)}")
    names = options.names or list(FOLDERS)
    missing = [name for name in names if not (options.data / FOLDERS[name]).is_dir()]
    if missing:
        get = "; ".join(f"equipoise bench fetch {name} --out {options.data / FOLDERS[name]}" for name in missing)
        parser.error(f"no annotation files of {', '.join(missing)} in {options.data}: {get}")
    made = page(list(audits(options.data, names)))
    if options.names:
        print(made)
        return
    with atomic_write(PAGE) as handle:
        handle.write(made)
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
