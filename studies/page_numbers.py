"""A number that a study or a bench produced has one home; every other page quotes it from there.

    python -m studies.page_numbers            names page, line and both values where a page differs; exit code 1 then
    python -m studies.page_numbers --write    writes the numbers into the pages

A *home* is a block of a page that holds what a command prints, between `<!-- numbers: NAME -->` and `<!-- end -->`.
The command runs again, and all its lines are compared. A home whose numbers cannot be computed in CI says when and at
which commit they were, in its last line or elsewhere: "on 18 November 2026 at commit 9648ca45".

A home with many tables is a folder of TSV files, docs/appendix/tables/NAME/. A page shows one of them between
`<!-- table: NAME/FILE -->` and `<!-- end -->`, and links to each file.

A *quote* is a comment before a number. It names a cell of a home by table, row and column:

    gains <!--coco: MiniLM, Original > hn-negclip - control > NegCLIP's pairs; significant-->27.6 points [25.8, 29.4]

The numbers after it, as many as the cell has, must be those of the cell. `; lost` turns their sign, `; 1` takes the
first of them alone, `; significant` and `; not significant` hold the cell to the verdict (the star of its table), `; p`
adds the corrected p that a cell has where the interval excludes zero and the difference is not significant, and the
column `*` takes all cells after the labels of the row. In README and the pages of the menu, an interval or a share such
as 95.9 % must stand in a home or after a quote.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import lru_cache
from importlib import import_module
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from equipoise.core.files import atomic_write
from studies.harness import ROOT, SHARED, TABLES, cells, file_name, read_tsv, tables_in, tsv
from studies.harness.inputs import arguments, today
from studies.harness.jobs import each

MENU = ROOT / "mkdocs.yml"
READINGS = "thirty-second thirty-third thirty-fourth thirty-fifth"
COMMANDS = {  # home: what prints it; with DATA, only where that folder (harness.SHARED) is
    "coco": "-m studies.coco.table",
    "coco-short": "-m studies.coco.table --short",
    "claims": "-m studies.coco.every --claims",
    "readings": f"-m studies.perturb_reading published {READINGS}",
    "reread": "-m studies.perturb_reading published thirty-third",
    "ledger": "-m studies.ledger.make --markdown --shared DATA",
    "siglip": "-m studies.ledger.siglip --shared DATA",
    "t2i": "-m studies.ledger.t2i --shared DATA",
    "guide": "-m studies.tables.lib.guide",
    "llm": "-m studies.llm_positives count",
    "llm-read": "-m studies.perturb_reading published thirty-sixth",
}
LANES = ([*COMMANDS][:3], [*COMMANDS][3:])  # a process each: COCO takes most of the time
ON_NO_PAGE = ("readings", "reread")  # quoted alone, and quick
FOLDERS = ("coco",)  # its tables are files; its block has what stands between them
HOME = re.compile(r"(?s)<!-- numbers: ([\w-]+) -->\n+(.*?)\n+<!-- end -->")
SHOWN = re.compile(r"(?s)(<!-- table: ([\w-]+/[\w-]+) -->\n+)(.*?)(\n+<!-- end -->)")
QUOTE = re.compile(r"<!--([\w-]+): (.+?)-->")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:,\d{3})*(?:\.\d+)?")
RESULT = re.compile(r"\[[+-]?\d+(?:\.\d+)?, [+-]?\d+(?:\.\d+)?\]|(?<![\w.])\d+\.\d ?%")  # an interval, a measured share
DATED = re.compile(r"\bon \d\d? [A-Z]\w+ 20\d\d at commit [0-9a-f]{8}\b")


class Wrong(NamedTuple):
    page: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.what}"


def pages(root: Path) -> dict[str, str]:
    """README, the pages and the tables below docs/, by path."""
    files = sorted((root / TABLES).glob("*/*.tsv"))
    paths = [root / "README.md", *sorted((root / "docs").rglob("*.md")), *files]
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}


def printed(name: str) -> str | None:
    """The printed text of a home's command; None where it needs data that is not here.

    In this process: commands of one study ask for the same kept scores and comparisons.
    """
    command = COMMANDS[name]
    if "DATA" in command and not SHARED.is_dir():
        return None
    before, sys.argv = sys.argv, [str(SHARED) if word == "DATA" else word for word in command.split()[1:]]
    try:
        with redirect_stdout(StringIO()) as out:
            import_module(sys.argv[0]).main()
    finally:
        sys.argv = before
    return out.getvalue().strip("\n")


def of_lane(names: Sequence[str]) -> dict[str, str]:
    return {name: out for name in names if (out := printed(name)) is not None}


def homes(texts: Mapping[str, str]) -> dict[str, str]:
    """Every home by name: its tables, or its blocks."""
    by_name: dict[str, list[str]] = {}
    for page, text in texts.items():
        if page.endswith(".tsv"):
            by_name.setdefault(Path(page).parent.name, []).append(read_tsv(text))
            continue
        for block in HOME.finditer(text):
            if block[1] not in FOLDERS:
                by_name.setdefault(block[1], []).append(block[2])
    return {name: "\n\n".join(blocks) for name, blocks in by_name.items()}


@lru_cache(64)
def rows(home: str) -> list[tuple[list[str], list[str]]]:
    """(the heads of its table, its cells) of every row. Hundreds of quotes ask for them."""
    heads: list[str] = []
    listed = []
    lines = home.replace("`", "").splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if after.startswith("| ---"):
            heads = cells(line)
        elif line.startswith("|") and not line.startswith("| ---"):
            listed.append((heads, cells(line)))
    return listed


def quoted(home: str, about: str) -> list[str]:
    """The numbers that a quote names; ValueError where it names none, or several."""
    where, *how = about.replace("`", "").split("; ")
    *labels, column = where.split(" > ")
    named = []
    for heads, row in rows(home):
        for path in (row, [heads[0], *row]):
            if path[: len(labels)] == labels and (column == "*" or column in heads):
                skipped = len(labels) - (path is not row)
                named.append(" ".join(row[skipped:]) if column == "*" else row[heads.index(column)])
    if len(named) != 1:
        raise ValueError(f"{where!r} names {len(named)} cells of its home, not one")
    value, _, p = named[0].partition(" (p = ")
    numbers = NUMBER.findall(value)
    if "lost" in how:
        numbers = [turned(number) for number in numbers]
        numbers[1:] = reversed(numbers[1:])  # the ends of the interval change places
    if chosen := [int(word) for word in how if word.isdigit()]:
        numbers = [numbers[place - 1] for place in chosen]
    said = [word == "significant" for word in how if word.endswith("significant")]
    if said and said[0] != ("\\*" in named[0]):
        raise ValueError(f"the page says {'' if said[0] else 'not '}significant, its home says otherwise: {named[0]}")
    if said and bool(p) != ("p" in how):
        raise ValueError(f"a quote has `; p` and the corrected p where its home has it, and only there: {named[0]}")
    return [*numbers, p.rstrip(")")] if p and said else numbers


def turned(number: str) -> str:
    return number[1:] if number[0] == "-" else f"-{number.lstrip('+')}"


def plain(number: str) -> str:
    return "0.0" if number == "-0.0" else number.lstrip("+")


def rewritten(text: str, known: Mapping[str, str], page: str, menu: bool) -> tuple[str, list[Wrong]]:
    """The page with the numbers that its quotes name, and where it had others; on the menu, a result must be quoted."""
    wrong: list[Wrong] = []
    pieces, done, covered = [], 0, set()
    for quote in QUOTE.finditer(text):
        line = text.count("\n", 0, quote.start()) + 1
        if quote[1] not in known:
            wrong.append(Wrong(page, line, f"no page is the home of {quote[1]!r}"))
            continue
        try:
            wanted = quoted(known[quote[1]], quote[2])
        except ValueError as error:
            wrong.append(Wrong(page, line, str(error)))
            continue
        numbers = [match for _, match in zip(wanted, NUMBER.finditer(text, quote.end()), strict=False)]
        if len(numbers) < len(wanted):
            wrong.append(Wrong(page, line, f"no number after this comment ({quote[2]})"))
            continue
        for match, value in zip(numbers, wanted, strict=True):
            covered.add(match.start())
            if plain(match[0]) != plain(value):
                where = text.count("\n", 0, match.start()) + 1
                wrong.append(Wrong(page, where, f"the page says {match[0]}, {quote[1]} says {value} ({quote[2]})"))
                signed = "+" * (value[0] not in "+-") + value
                pieces += [text[done : match.start()], signed if match[0][0] in "+-" else plain(value)]
                done = match.end()
    for match in RESULT.finditer(shown(text)) if menu else ():
        first = NUMBER.search(text, match.start())
        if first and first.start() not in covered:
            where = text.count("\n", 0, match.start()) + 1
            wrong.append(Wrong(page, where, f"{match[0]} has no home: quote it from one"))
    return "".join([*pieces, text[done:]]), wrong


def shown(text: str) -> str:
    """The text alone: homes, comments and code are blanks of the same length."""
    for hidden in (HOME, SHOWN, re.compile(r"(?s)<!--.*?-->"), re.compile(r"(?s)```.*?```|`[^`\n]*`")):
        text = hidden.sub(lambda match: re.sub(r"\S", " ", match[0]), text)
    return text


def compared(text: str, page: str, outputs: Mapping[str, str]) -> tuple[str, list[Wrong]]:
    """The page with its homes as their commands print them, and the lines that differ."""
    wrong: list[Wrong] = []

    def block(match: re.Match[str]) -> str:
        name, body = match[1], match[2]
        start = text.count("\n", 0, match.start(2)) + 1
        if not (name in COMMANDS and "DATA" not in COMMANDS[name]) and not DATED.search(body):
            wrong.append(
                Wrong(page, start, f"{name} is not computed in CI: say on which day and at which commit it was")
            )
        if name not in outputs:
            return match[0]
        out = without_tables(outputs[name]) if name in FOLDERS else outputs[name]
        wanted, kept = out.splitlines(), body.splitlines()
        if DATED.search(kept[-1]):
            wanted += ["", kept[-1]]
        for place in range(max(len(kept), len(wanted))):
            here, there = (own[place] if place < len(own) else "nothing" for own in (kept, wanted))
            if here != there:
                wrong.append(Wrong(page, start + place, f"the page says\n{here}\n{COMMANDS[name]} prints\n{there}"))
        if wanted == kept:
            return match[0]
        wanted[-1] = DATED.sub(lambda _: f"on {today()}", wanted[-1])  # a copy without git has no commit
        return match[0].replace(body, "\n".join(wanted))

    return HOME.sub(block, text), wrong


def without_tables(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?m)^\|.*\n?", "", text)).strip()


def files_of(name: str, output: str) -> dict[str, str]:
    """The tables that a command prints, by the path of their files."""
    return {f"{TABLES}/{name}/{file_name(rows[0][0])}": tsv(rows) for rows in tables_in(output)}


def differing(texts: dict[str, str], outputs: Mapping[str, str]) -> Iterator[Wrong]:
    """The errors in the tables that are files, which are put right in `texts`."""
    for name in (name for name in FOLDERS if name in outputs):
        wanted = files_of(name, outputs[name])
        start = f"{TABLES}/{name}/"
        for path in sorted({path for path in texts if path.startswith(start)} | wanted.keys()):
            here, there = (own.get(path, "").splitlines() for own in (texts, wanted))
            for line, pair in enumerate(zip_longest(here, there, fillvalue="nothing"), 1):
                if pair[0] != pair[1]:
                    yield Wrong(path, line, f"the file says\n{pair[0]}\n{COMMANDS[name]} prints\n{pair[1]}")
            texts.pop(path, None)
        texts |= wanted
    linked = "".join(text for page, text in texts.items() if page.endswith(".md"))
    for path in texts:
        if path.endswith(".tsv") and f"tables/{'/'.join(Path(path).parts[-2:])})" not in linked:
            yield Wrong(path, 1, "no page links to it")


def with_tables(text: str, page: str, files: Mapping[str, str]) -> tuple[str, list[Wrong]]:
    """The page with the tables that it shows as their files have them."""
    wrong = []

    def block(shown: re.Match[str]) -> str:
        table = read_tsv(files[f"{TABLES}/{shown[2]}.tsv"])
        for line, pair in enumerate(zip_longest(shown[3].splitlines(), table.splitlines(), fillvalue="nothing")):
            if pair[0] != pair[1]:
                where = text.count("\n", 0, shown.start(3)) + 1 + line
                wrong.append(Wrong(page, where, f"the page says\n{pair[0]}\n{shown[2]}.tsv says\n{pair[1]}"))
        return f"{shown[1]}{table}{shown[4]}"

    return SHOWN.sub(block, text), wrong


def check(texts: Mapping[str, str], outputs: Mapping[str, str]) -> tuple[dict[str, str], list[Wrong]]:
    """All pages as they should be, and what is wrong with them. `outputs` are of the commands that ran."""
    corrected = dict(texts)
    wrong = list(differing(corrected, outputs))
    for page in (page for page in texts if page.endswith(".md")):
        corrected[page], errors = with_tables(corrected[page], page, corrected)
        corrected[page], printed = compared(corrected[page], page, outputs)
        wrong += errors + printed
    known = homes(corrected) | {name: outputs[name] for name in ON_NO_PAGE if name in outputs}
    menu = {"README.md", *(f"docs/{page}" for page in re.findall(r": (\S+\.md)$", MENU.read_text(), re.MULTILINE))}
    for page, text in [own for own in corrected.items() if own[0].endswith(".md")]:
        corrected[page], errors = rewritten(text, known, page, page in menu)
        wrong += errors
    return corrected, wrong


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--write", action="store_true", help="write the numbers into the pages")
    options = parser.parse_args()
    outputs = {name: out for lane in each(of_lane, LANES, len(LANES), "fork") for name, out in lane.items()}
    before = pages(ROOT)
    corrected, wrong = check(before, outputs)
    if options.write:
        for page in before.keys() - corrected.keys():
            (ROOT / page).unlink()
        for page, text in corrected.items():
            if text != before.get(page):
                (ROOT / page).parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(ROOT / page) as handle:
                    handle.write(text)
        wrong = check(corrected, outputs)[1]  # what writing cannot put right
    for error in wrong:
        print(error, file=sys.stderr)
    missing = ", ".join(sorted(COMMANDS.keys() - outputs.keys()))
    print(f"{len(wrong)} numbers differ" + f" (not computed again, for want of {SHARED}: {missing})" * bool(missing))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
